"""Mistakes about anti-entropy, payloads and what subscribers are told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.beliefs import APPLIED, WITH_MEMBER
from tests.support.variant import variants

from peerproof.reference.divergences.swim import MERGED, ON_VECTOR
from peerproof.spec.core import Step
from peerproof.spec.swim import transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import Ack, AntiEntropy, Joining, Leave, Payload, Ping, Vector
from peerproof.spec.swim.state import Row, State, Status
from peerproof.spec.swim.table import Claim


def _anti_entropy_makes_joining(state: State, claim: Claim) -> State:
    after = WITH_MEMBER(state, claim)
    if claim.node in state.rows or claim.node not in after.rows:
        return after
    return with_row(after, claim.node, replace(after.rows[claim.node], status=Status.JOINING))


def _anti_entropy_of_itself(state: State, claim: Claim) -> State:
    if claim.node == state.uuid and claim.place:
        return with_row(state, claim.node, Row(*claim.place, Status.NORMAL, claim.incarnation))
    return WITH_MEMBER(state, claim)


def _payload_in_its_place(state: State, message: Ping | Ack) -> State:
    first = tuple(v for v in message.vectors if isinstance(v, Payload))
    if not first or message.sender not in state.rows:
        return APPLIED(state, message)
    at = message.vectors.index(first[0])
    state = APPLIED(state, replace(message, vectors=message.vectors[: at + 1]))
    return APPLIED(state, replace(message, vectors=message.vectors[at + 1 :]))


def _payloads_are_merged(state: State, message: Ping | Ack) -> State:
    after = APPLIED(state, message)
    if message.sender not in state.rows or message.sender not in after.rows:
        return after
    old, new = state.rows[message.sender].payload, after.rows[message.sender].payload
    if not old or not new or old == new:
        return after
    both = json.dumps(json.loads(old) | json.loads(new), separators=(",", ":"))
    return with_row(after, message.sender, replace(after.rows[message.sender], payload=both))


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


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "AntiEntropyAtEqual": (
            "Merges an entry of anti-entropy whatever its incarnation.",
            {
                "transitions.with_member": lambda state, claim: (
                    with_row(
                        state,
                        claim.node,
                        replace(state.rows[claim.node], status=Status.NORMAL, host=claim.place[0], port=claim.place[1]),
                    )
                    if claim.node in state.rows and claim.incarnation == state.rows[claim.node].incarnation
                    else WITH_MEMBER(state, claim)
                )
            },
            "anti-entropy-at-the-incarnation-known suspicion-is-refuted-by-anti-entropy",
        ),
        "AntiEntropyForTheUnknownOnly": (
            "Ignores entries about nodes that it knows.",
            {"transitions.with_member": lambda state, claim: state if claim.node in state.rows else WITH_MEMBER(state, claim)},
            "anti-entropy-brings-the-dead-back anti-entropy-that-is-newer",
        ),
        "AntiEntropyMakesJoining": (
            "Makes rows of anti-entropy that are joining.",
            {"transitions.with_member": _anti_entropy_makes_joining},
            "both-counters-at-their-end joiner-learns-from-the-first-answer",
        ),
        "AntiEntropyOfItself": (
            "Makes a row of itself, if it is told so.",
            {"transitions.with_member": _anti_entropy_of_itself},
            "anti-entropy-makes-a-row",
        ),
        "OneAntiEntropy": (
            "Reads one vector of anti-entropy in a message.",
            {
                "transitions.apply_message": lambda state, message: (
                    APPLIED(
                        state, replace(message, vectors=tuple({type(v): v for v in reversed(message.vectors)}.values())[::-1])
                    )
                    if sum(isinstance(v, AntiEntropy) for v in message.vectors) > 1
                    else APPLIED(state, message)
                )
            },
            "anti-entropy-in-two-vectors",
        ),
        "PayloadInItsPlace": (
            "Applies a payload where it stands.",
            {"transitions.apply_message": _payload_in_its_place},
            "payload-is-applied-last",
        ),
        "FirstPayloadCounts": (
            "Takes the first of two payloads.",
            {
                "transitions.apply_message": lambda state, message: APPLIED(
                    state,
                    replace(
                        message,
                        vectors=tuple(
                            v
                            for i, v in enumerate(message.vectors)
                            if not isinstance(v, Payload) or not any(isinstance(o, Payload) for o in message.vectors[:i])
                        ),
                    ),
                )
            },
            "payload-twice-in-a-message",
        ),
        "PayloadsAreMerged": (
            "Adds the entries of a payload to those that it has.",
            {"transitions.apply_message": _payloads_are_merged},
            "payload-is-replaced-whole nested-64-deep",
        ),
        "PayloadStaysForEver": (
            "Keeps a payload over a restart that it hears of from others.",
            {"gossip.merge": lambda row, claim: replace(MERGED(row, claim), payload=row.payload)},
            "payload-is-stale-after-a-restart joining-brings-a-dead-node-back",
        ),
        "NoPayloads": (
            "Keeps no payloads of others.",
            {
                "transitions.apply_message": lambda state, message: APPLIED(
                    state, replace(message, vectors=tuple(v for v in message.vectors if not isinstance(v, Payload)))
                )
            },
            "node-info payload-is-applied-last",
        ),
    },
)
__getattr__ = MISTAKES.find
