"""Mistakes about anti-entropy, payloads and what subscribers are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, around

from peerproof.reference.divergences.swim import ON_VECTOR
from peerproof.spec.core import Step
from peerproof.spec.swim import transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import Ack, AntiEntropy, Joining, Leave, Ping, Vector
from peerproof.spec.swim.state import State, Status
from peerproof.spec.swim.table import Claim

wrong = Variants(__name__, Wrong)


@wrong("transitions.with_member", "both-counters-at-their-end joiner-learns-from-the-first-answer")
def AntiEntropyMakesJoining(right: Any, state: State, claim: Claim) -> Any:
    """Makes rows of anti-entropy that are joining."""
    after = right(state, claim)
    if claim.node in state.rows or claim.node not in after.rows:
        return after
    return with_row(after, claim.node, replace(after.rows[claim.node], status=Status.JOINING))


def _tells_each_change_told(before: State, after: State, effects: Any) -> Step[Any, Any]:
    steps, TellsEachChange.seen = [*TellsEachChange.seen, (before, after)], []
    told = [TOLD(one, other, ()).effects for one, other in steps]
    return Step(after, (*effects, *(notice for notices in told for notice in notices)))


def _tells_each_change_on_vector(state: State, message: Ping | Ack, vector: Vector) -> State:
    after = ON_VECTOR(state, message, vector)
    if not isinstance(vector, (AntiEntropy, Joining, Leave)):
        TellsEachChange.seen.append((state, after))
    return after


class TellsEachChange(Wrong):
    """Tells subscribers of each vector, not of each datagram."""

    caught_by: ClassVar = ("joining-at-the-known-restart-counter", "death-in-another-life")
    seen: ClassVar[list[tuple[State, State]]] = []
    instead: ClassVar = {
        "transitions.notify_subscribers": _tells_each_change_told,
        "transitions.with_vector": _tells_each_change_on_vector,
    }


TOLD = transitions.notify_subscribers


wrong |= {
    # Reads one vector of anti-entropy in a message.
    "OneAntiEntropy: anti-entropy-in-two-vectors": around(
        "transitions.apply_message",
        lambda right, state, message: (
            right(state, replace(message, vectors=tuple({type(v): v for v in reversed(message.vectors)}.values())[::-1]))
            if sum(isinstance(v, AntiEntropy) for v in message.vectors) > 1
            else right(state, message)
        ),
    ),
    # Keeps a payload over a restart that it hears of from others.
    "PayloadStaysForEver: payload-is-stale-after-a-restart joining-brings-a-dead-node-back": around(
        "gossip.merge", lambda right, row, claim: replace(right(row, claim), payload=row.payload)
    ),
}
__getattr__ = wrong.find
