"""Mistakes about anti-entropy, payloads and what subscribers are told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.beliefs import APPLIED, WITH_MEMBER

from peerproof.reference.divergences.swim import MERGED, ON_VECTOR
from peerproof.spec.core import Step
from peerproof.spec.swim import transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import Ack, AntiEntropy, Joining, Leave, Payload, Ping, Vector
from peerproof.spec.swim.state import Row, State, Status
from peerproof.spec.swim.table import Claim


class AntiEntropyAtEqual(Wrong):
    """Merges an entry of anti-entropy whatever its incarnation."""

    caught_by: ClassVar = ("anti-entropy-at-the-incarnation-known", "suspicion-is-refuted-by-anti-entropy")
    instead: ClassVar = {
        "transitions.with_member": lambda state, claim: (
            with_row(
                state,
                claim.node,
                replace(state.rows[claim.node], status=Status.NORMAL, host=claim.place[0], port=claim.place[1]),
            )
            if claim.node in state.rows and claim.incarnation == state.rows[claim.node].incarnation
            else WITH_MEMBER(state, claim)
        )
    }


class AntiEntropyForTheUnknownOnly(Wrong):
    """Ignores entries about nodes that it knows."""

    caught_by: ClassVar = ("anti-entropy-brings-the-dead-back", "anti-entropy-that-is-newer")
    instead: ClassVar = {
        "transitions.with_member": lambda state, claim: state if claim.node in state.rows else WITH_MEMBER(state, claim)
    }


def _anti_entropy_makes_joining(state: State, claim: Claim) -> State:
    after = WITH_MEMBER(state, claim)
    if claim.node in state.rows or claim.node not in after.rows:
        return after
    return with_row(after, claim.node, replace(after.rows[claim.node], status=Status.JOINING))


class AntiEntropyMakesJoining(Wrong):
    """Makes rows of anti-entropy that are joining."""

    caught_by: ClassVar = ("both-counters-at-their-end", "joiner-learns-from-the-first-answer")
    instead: ClassVar = {"transitions.with_member": _anti_entropy_makes_joining}


def _anti_entropy_of_itself(state: State, claim: Claim) -> State:
    if claim.node == state.uuid and claim.place:
        return with_row(state, claim.node, Row(*claim.place, Status.NORMAL, claim.incarnation))
    return WITH_MEMBER(state, claim)


class AntiEntropyOfItself(Wrong):
    """Makes a row of itself, if it is told so."""

    caught_by: ClassVar = ("anti-entropy-makes-a-row",)
    instead: ClassVar = {"transitions.with_member": _anti_entropy_of_itself}


class OneAntiEntropy(Wrong):
    """Reads one vector of anti-entropy in a message."""

    caught_by: ClassVar = ("anti-entropy-in-two-vectors",)
    instead: ClassVar = {
        "transitions.apply_message": lambda state, message: (
            APPLIED(state, replace(message, vectors=tuple({type(v): v for v in reversed(message.vectors)}.values())[::-1]))
            if sum(isinstance(v, AntiEntropy) for v in message.vectors) > 1
            else APPLIED(state, message)
        )
    }


def _payload_in_its_place(state: State, message: Ping | Ack) -> State:
    first = tuple(v for v in message.vectors if isinstance(v, Payload))
    if not first or message.sender not in state.rows:
        return APPLIED(state, message)
    at = message.vectors.index(first[0])
    state = APPLIED(state, replace(message, vectors=message.vectors[: at + 1]))
    return APPLIED(state, replace(message, vectors=message.vectors[at + 1 :]))


class PayloadInItsPlace(Wrong):
    """Applies a payload where it stands."""

    caught_by: ClassVar = ("payload-is-applied-last",)
    instead: ClassVar = {"transitions.apply_message": _payload_in_its_place}


class FirstPayloadCounts(Wrong):
    """Takes the first of two payloads."""

    caught_by: ClassVar = ("payload-twice-in-a-message",)
    instead: ClassVar = {
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
    }


def _payloads_are_merged(state: State, message: Ping | Ack) -> State:
    after = APPLIED(state, message)
    if message.sender not in state.rows or message.sender not in after.rows:
        return after
    old, new = state.rows[message.sender].payload, after.rows[message.sender].payload
    if not old or not new or old == new:
        return after
    both = json.dumps(json.loads(old) | json.loads(new), separators=(",", ":"))
    return with_row(after, message.sender, replace(after.rows[message.sender], payload=both))


class PayloadsAreMerged(Wrong):
    """Adds the entries of a payload to those that it has."""

    caught_by: ClassVar = ("payload-is-replaced-whole", "nested-64-deep")
    instead: ClassVar = {"transitions.apply_message": _payloads_are_merged}


class PayloadStaysForEver(Wrong):
    """Keeps a payload over a restart that it hears of from others."""

    caught_by: ClassVar = ("payload-is-stale-after-a-restart", "joining-brings-a-dead-node-back")
    instead: ClassVar = {"gossip.merge": lambda row, claim: replace(MERGED(row, claim), payload=row.payload)}


class NoPayloads(Wrong):
    """Keeps no payloads of others."""

    caught_by: ClassVar = ("node-info", "payload-is-applied-last")
    instead: ClassVar = {
        "transitions.apply_message": lambda state, message: APPLIED(
            state, replace(message, vectors=tuple(v for v in message.vectors if not isinstance(v, Payload)))
        )
    }


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
