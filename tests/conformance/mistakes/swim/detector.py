"""Mistakes in what a round has shown when it closes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.swim import CLOSED, ON_QUANTUM
from peerproof.spec.core import Pick, Send
from peerproof.spec.swim import transitions
from peerproof.spec.swim.messages import IndirectPing, Ping
from peerproof.spec.swim.state import State, address
from peerproof.spec.swim.transitions import Sends

PINGED_FOR = transitions.relay_ping


def _pinging_itself(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = ON_QUANTUM(state, pick)
    if not state.rows:
        return after, (*sends, Send(state.self_id, Ping(state.uuid, state.incarnation, state.uuid, ())))
    return after, sends


def _forgiving(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = CLOSED(state, pick)
    if after.isolated:
        after = replace(after, rows=after.rows.put({node: replace(row, misses=0) for node, row in after.rows.items()}))
    return after, sends


def _uncounted(state: State, wanted: IndirectPing, pick: Pick) -> tuple[State, Sends]:
    after, sends = PINGED_FOR(state, wanted, pick)
    where = address(wanted.host, wanted.port)
    return after, sends or (Send(where, Ping(state.uuid, state.incarnation, wanted.target)),)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "PingsItself": (
            "Pings itself where it knows nobody else.",
            {"rounds.on_quantum": _pinging_itself},
            "alone-nobody-is-pinged",
        ),
        "OneMissIsEnough": (
            "Suspects whoever has missed once, and calls it dead after one indirect ping.",
            {"detector.MISSES": 1},
            "payload-changed relay-remembers-over-one-close",
        ),
        "ThreeMisses": ("Waits for three misses.", {"detector.MISSES": 3}, "isolation-asks-nobody tx-at-its-end-in-a-quantum"),
        "OneIsIsolation": (
            "Looks for the fault in itself if its only neighbour is silent.",
            {"detector.SILENT_FOR_ISOLATION": 1},
            "tx-at-its-end-in-a-quantum suspicious-node-that-answers",
        ),
        "ThreeAreIsolation": (
            "Looks for the fault in itself only if three neighbours are silent.",
            {"detector.SILENT_FOR_ISOLATION": 3},
            "isolation-ends-with-the-first-message isolation-asks-nobody",
        ),
        "IsolationForgets": (
            "Forgets all misses when it finds itself isolated.",
            {"rounds.close_round": _forgiving},
            "misses-before-isolation-still-count",
        ),
        "RelaysWithoutANumber": (
            "Pings on behalf of another also where it has no number left for its own datagrams.",
            {"transitions.relay_ping": _uncounted},
            "both-counters-at-their-end-no-relay",
        ),
    },
)
__getattr__ = MISTAKES.find
