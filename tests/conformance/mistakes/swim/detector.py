"""Mistakes in what a round has shown when it closes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants

from peerproof.spec.core import Pick, Send
from peerproof.spec.swim.messages import Ping
from peerproof.spec.swim.state import State

wrong = Variants(__name__, Wrong)


@wrong("rounds.on_quantum", "alone-nobody-is-pinged")
def PingsItself(right: Any, state: State, pick: Pick) -> Any:
    """Pings itself where it knows nobody else."""
    after, sends = right(state, pick)
    if not state.rows:
        return after, (*sends, Send(state.self_id, Ping(state.uuid, state.incarnation, state.uuid, ())))
    return after, sends


@wrong("rounds.close_round", "misses-before-isolation-still-count")
def IsolationForgets(right: Any, state: State, pick: Pick) -> Any:
    """Forgets all misses when it finds itself isolated."""
    after, sends = right(state, pick)
    if after.isolated:
        after = replace(after, rows=after.rows.put({node: replace(row, misses=0) for node, row in after.rows.items()}))
    return after, sends


wrong |= {
    # Suspects whoever has missed once, and calls it dead after one indirect ping.
    "OneMissIsEnough: payload-changed relay-remembers-over-one-close": {"detector.MISSES": 1},
    # Waits for three misses.
    "ThreeMisses: isolation-asks-nobody tx-at-its-end-in-a-quantum": {"detector.MISSES": 3},
    # Looks for the fault in itself if its only neighbour is silent.
    "OneIsIsolation: tx-at-its-end-in-a-quantum suspicious-node-that-answers": {"detector.SILENT_FOR_ISOLATION": 1},
    # Looks for the fault in itself only if three neighbours are silent.
    "ThreeAreIsolation: isolation-ends-with-the-first-message isolation-asks-nobody": {"detector.SILENT_FOR_ISOLATION": 3},
}
__getattr__ = wrong.find
