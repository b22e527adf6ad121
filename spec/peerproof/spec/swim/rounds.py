"""Rounds: each quantum pings a few nodes of a shuffled vector; when the vector is empty, the round is over."""

from __future__ import annotations

from peerproof.spec.core import Pick, Send, Step, replace
from peerproof.spec.swim.detector import close_round
from peerproof.spec.swim.gossip import fanout, request
from peerproof.spec.swim.messages import Message, Uuid
from peerproof.spec.swim.state import State, active_size


def on_quantum(state: State, pick: Pick) -> Step[State, Send[Message]]:
    """
    Pings the next few nodes of the round. [S-43…S-46, SA-24, SA-26]

    If the vector is empty, the round is closed first [SA-53] and a new one begins in this same quantum. Nodes that are not live
    any more are skipped. A node that has left continues only to announce that [SA-59].
    """
    if state.left and not any(entry.event.node == state.uuid for entry in state.queue):
        return Step(state)
    sends: tuple[Send[Message], ...] = ()
    vector = still_live(state)
    if not vector:
        state, sends = close_round(state, pick)
        live = state.live
        vector = pick("round.order", live, len(live)) if live else ()
        state = replace(state, pinged=frozenset(), answered=frozenset(), heard=False)
    count = fanout(active_size(state))
    state = replace(state, vector=vector[count:])
    for node in vector[:count]:
        state, sent = request(state, node, pick)
        if sent:  # otherwise the counters are exhausted, and a missing answer is no miss [SA-47]
            state = replace(state, pinged=state.pinged | {node})
        sends += sent
    return Step(state, sends)


def still_live(state: State) -> tuple[Uuid, ...]:
    """Returns the nodes that the round has still to ping. [SA-26]"""
    live = frozenset(state.live)
    return tuple(node for node in state.vector if node in live)
