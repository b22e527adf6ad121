"""Mistakes in what is believed of other nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.swim import Wrong

from peerproof.reference.divergences.swim import CLAIMED, IS_PAST, MERGED, ON_VECTOR
from peerproof.spec.core import Pick, Received, Step
from peerproof.spec.swim import table, transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import Ack, Dead, Incarnation, Joining, Normal, Payload, Ping, Suspicious, Vector
from peerproof.spec.swim.state import Row, State, Status
from peerproof.spec.swim.table import Claim

APPLIED = transitions.apply_message
OF_SENDER = transitions.of_sender  # type: ignore[attr-defined]  # the name that is replaced there
WITH_MEMBER = transitions.with_member


def merging(accepts: Callable[[Row, Claim], bool]) -> dict[str, Any]:
    """What is replaced for a merge that takes less."""
    return {"gossip.merge": lambda row, claim: MERGED(row, claim) if accepts(row, claim) else row}


def keyed(key: Callable[[Status, Incarnation], Any]) -> dict[str, Any]:
    """What is replaced for another order of claims."""
    return {"table.key": key}


class TxBeforeRestart(Wrong):
    """Compares tx first."""

    caught_by: ClassVar = ("payload-is-applied-last", "death-in-another-life")
    instead: ClassVar = {
        **keyed(lambda status, said: (said.tx, status is Status.LEAVE, said.restart, table.RANK[status])),
        "transitions.is_past": lambda state, message: (
            message.sender in state.rows and message.incarnation[::-1] < state.rows[message.sender].incarnation[::-1]
        ),
    }


class LeaveIsLikeDeath(Wrong):
    """Lets a larger tx bring back who has left."""

    caught_by: ClassVar = ("leave-of-the-past", "leave-of-its-own-sender")
    instead: ClassVar = keyed(lambda status, said: (*said, 4 if status is Status.LEAVE else table.RANK[status]))


class LeaveIsForEver(Wrong):
    """Lets nothing bring back who has left."""

    caught_by: ClassVar = ("late-ack-of-a-node-that-left", "dead-sender-gets-an-ack-alone")
    instead: ClassVar = merging(lambda row, _: row.status is not Status.LEAVE)


class LeaveNeedsItsTx(Wrong):
    """Ignores a leave that is not newer."""

    caught_by: ClassVar = ("leave-of-the-past", "leave-of-its-own-sender")
    instead: ClassVar = merging(lambda row, claim: claim.status is not Status.LEAVE or claim.incarnation >= row.incarnation)


class DeathIsFinal(Wrong):
    """Lets nothing but a restart bring a dead node back."""

    caught_by: ClassVar = ("dead-node-comes-back-by-an-ack", "anti-entropy-brings-the-dead-back")
    instead: ClassVar = merging(
        lambda row, claim: row.status is not Status.DEAD or claim.incarnation.restart > row.incarnation.restart
    )


class SuspicionIsSticky(Wrong):
    """Lets nothing but death or a restart end suspicion."""

    caught_by: ClassVar = ("a-larger-tx-counts-more-than-the-worse", "suspicion-is-refuted-by-anti-entropy")
    instead: ClassVar = merging(
        lambda row, claim: (
            row.status is not Status.SUSPICIOUS
            or claim.status in (Status.SUSPICIOUS, Status.DEAD, Status.LEAVE)
            or claim.incarnation.restart > row.incarnation.restart
        )
    )


class TheBetterCounts(Wrong):
    """At one incarnation believes the better of two claims."""

    caught_by: ClassVar = ("ack-of-an-unknown-sender", "late-ack-of-a-dead-node")
    instead: ClassVar = keyed(lambda status, said: (said.restart, status is Status.LEAVE, said.tx, -table.RANK[status]))


class TheFirstCounts(Wrong):
    """At one incarnation believes what came first."""

    caught_by: ClassVar = ("ack-of-an-unknown-sender", "ack-for-another-is-ignored")
    instead: ClassVar = keyed(lambda status, said: (said.restart, status is Status.LEAVE, said.tx))


def _overwritten(state: State, message: Ping | Ack, vector: Vector) -> State:
    if isinstance(vector, (Normal, Suspicious, Dead)) and vector.incarnation is None and vector.node in state.rows:
        row = state.rows[vector.node]
        return with_row(state, vector.node, replace(row, status=table.GIVES[type(vector)]))
    return ON_VECTOR(state, message, vector)


class OverwritesWithoutIncarnation(Wrong):
    """Believes whatever comes without an incarnation."""

    caught_by: ClassVar = ("normal-does-not-clear-suspicion", "not-subscribed")
    instead: ClassVar = {"transitions.with_vector": _overwritten}


class NeedsAnIncarnation(Wrong):
    """Believes nothing that comes without an incarnation."""

    caught_by: ClassVar = ("ack-of-an-unknown-sender", "ack-for-another-is-ignored")
    instead: ClassVar = {
        "transitions.with_vector": lambda state, message, vector: (
            state
            if isinstance(vector, (Normal, Suspicious, Dead)) and not vector.incarnation
            else ON_VECTOR(state, message, vector)
        )
    }


def headers(status: Callable[[Row, Incarnation], Status]) -> dict[str, Any]:
    """What is replaced for another meaning of headers."""
    return {
        "transitions.of_sender": lambda state, node, said: OF_SENDER(state, node, said)._replace(
            status=status(state.rows[node], said)
        )
    }


class HeaderEndsJoining(Wrong):
    """Takes every header for a sign that its sender is normal."""

    caught_by: ClassVar = ("joining-stays-until-the-second-request", "nested-64-deep")
    instead: ClassVar = headers(lambda row, _: Status.LEAVE if row.status is Status.LEAVE else Status.NORMAL)


class HeaderKeepsJoining(Wrong):
    """Leaves who is joining joining, over restarts too."""

    caught_by: ClassVar = ("joiner-learns-from-the-first-answer", "joining-node-that-restarts-is-normal")
    instead: ClassVar = headers(lambda row, _: row.status if row.status in (Status.JOINING, Status.LEAVE) else Status.NORMAL)


class HeaderKeepsStatus(Wrong):
    """Takes a header for news of tx, not of status."""

    caught_by: ClassVar = ("joiner-learns-from-the-first-answer", "dead-node-comes-back-by-an-ack")
    instead: ClassVar = headers(lambda row, _: row.status)


class HeaderBringsBackWhoLeft(Wrong):
    """Takes the next message of a node that has left for its return."""

    caught_by: ClassVar = ("late-ack-of-a-node-that-left", "joiner-learns-from-the-first-answer")
    instead: ClassVar = {
        **headers(lambda row, _: Status.JOINING if row.status is Status.JOINING else Status.NORMAL),
        **keyed(lambda status, said: (*said, table.RANK[status])),
    }


def _header_too(state: State, message: Ping | Ack) -> State:
    if message.sender in state.rows:
        state = CLAIMED(state, OF_SENDER(state, message.sender, message.incarnation))
    return APPLIED(state, message)


class HeaderAndJoining(Wrong):
    """Merges the header of a message with a joining too."""

    caught_by: ClassVar = ("joining-older-than-its-header", "joining-at-the-known-restart-counter")
    instead: ClassVar = {"transitions.apply_message": _header_too}


def _backwards(state: State, message: Ping | Ack) -> State:
    return APPLIED(state, replace(message, vectors=message.vectors[::-1]))


class VectorsBackwards(Wrong):
    """Applies the last vector first."""

    caught_by: ClassVar = ("told-dead-twice", "sizes")
    instead: ClassVar = {"transitions.apply_message": _backwards}


def _header_comes_last(state: State, message: Ping | Ack) -> State:
    if message.sender not in state.rows:
        return APPLIED(state, message)
    for vector in message.vectors:
        state = ON_VECTOR(state, message, vector)
    return APPLIED(state, replace(message, vectors=tuple(v for v in message.vectors if isinstance(v, Payload))))


class HeaderComesLast(Wrong):
    """Applies the vectors first and the header then."""

    caught_by: ClassVar = ("joining-older-than-its-header", "event-about-its-own-sender")
    instead: ClassVar = {"transitions.apply_message": _header_comes_last}


class AcksBringNoNews(Wrong):
    """Takes of an ack only that its sender is there."""

    caught_by: ClassVar = ("told-dead-in-an-ack", "joiner-learns-from-the-first-answer")
    instead: ClassVar = {
        "transitions.apply_message": lambda state, message: APPLIED(
            state, replace(message, vectors=()) if isinstance(message, Ack) else message
        )
    }


class KeepsAddresses(Wrong):
    """Does not take over the address of a node that it knows."""

    caught_by: ClassVar = ("anti-entropy-that-is-newer", "joining-after-a-restart")
    instead: ClassVar = {"gossip.merge": lambda row, claim: MERGED(row, claim._replace(place=None))}


class TakesAnyAddress(Wrong):
    """Takes over an address from whatever comes."""

    caught_by: ClassVar = ("joining-of-the-past-changes-no-address",)
    instead: ClassVar = {
        "gossip.merge": lambda row, claim: (
            replace(MERGED(row, claim), host=claim.place[0], port=claim.place[1]) if claim.place else MERGED(row, claim)
        )
    }


class TakesAddressesFromDatagrams(Wrong):
    """Sends pings to where the last datagram came from."""

    caught_by: ClassVar = ("node-info", "answer-goes-to-where-the-ping-came-from")

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Changes the row."""
        step = super().step(state, event, pick)
        sender = getattr(event.message, "sender", None) if isinstance(event, Received) else None
        if sender is None or sender not in step.state.rows:
            return step
        host, _, port = event.sender.rpartition(":")
        row = replace(step.state.rows[sender], host=host, port=int(port))
        return step._replace(state=with_row(step.state, sender, row))


def _row_of_anything(state: State, message: Ping | Ack, vector: Vector) -> State:
    node = getattr(vector, "node", None)
    if node is not None and node != state.uuid and node not in state.rows and not isinstance(vector, Joining):
        state = with_row(state, node, Row("", 0, Status.JOINING, Incarnation(0, 0)))
    return ON_VECTOR(state, message, vector)


class AnyEventMakesARow(Wrong):
    """Makes a row of a node that it only hears of."""

    caught_by: ClassVar = ("events-about-unknown-nodes", "first-answer-holds-no-events")
    instead: ClassVar = {"transitions.with_vector": _row_of_anything}


def _stranger_applied(state: State, message: Ping | Ack) -> State:
    if message.sender not in state.rows and message.sender != state.uuid:
        state = with_row(state, message.sender, Row("", 0, Status.NORMAL, message.incarnation))
    return APPLIED(state, message)


class StrangersGetRows(Wrong):
    """Makes a row of whoever sends a message."""

    caught_by: ClassVar = ("reject-empty-datagram", "reject-huge-array")
    instead: ClassVar = {"transitions.apply_message": _stranger_applied}


def _stranger_believed(state: State, message: Ping | Ack) -> State:
    if message.sender not in state.rows:
        for vector in message.vectors:
            if not isinstance(vector, Payload):
                state = ON_VECTOR(state, message, vector)
        return state
    return APPLIED(state, message)


class StrangersAreBelieved(Wrong):
    """Applies what an unknown sender says of others."""

    caught_by: ClassVar = ("node-info", "told-dead-by-an-unknown-node")
    instead: ClassVar = {"transitions.apply_message": _stranger_believed}


class OtherTargetsCount(Wrong):
    """Does not look at the target of a message."""

    caught_by: ClassVar = ("ack-for-another-is-ignored", "ping-for-another-is-ignored")

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Takes it for its own."""
        if isinstance(event, Received) and isinstance(event.message, (Ping, Ack)):
            event = replace(event, message=replace(event.message, target=state.uuid))
        return super().step(state, event, pick)


class EqualIsPast(Wrong):
    """Takes the incarnation that it knows for one of the past."""

    caught_by: ClassVar = ("join-first-request-twice", "equal-incarnation-is-accepted")
    instead: ClassVar = {
        "transitions.is_past": lambda state, message: (
            message.sender in state.rows and message.incarnation <= state.rows[message.sender].incarnation
        )
    }


class AcksAreNeverPast(Wrong):
    """Looks at the incarnation of pings only."""

    caught_by: ClassVar = ("expired-ack-is-dropped", "ack-from-the-past-is-no-answer")
    instead: ClassVar = {"transitions.is_past": lambda state, message: isinstance(message, Ping) and IS_PAST(state, message)}


class NothingIsPast(Wrong):
    """Accepts every message, and takes of it what is newer."""

    caught_by: ClassVar = ("expired-ack-is-dropped", "expired-ping-asks-nobody-else")
    instead: ClassVar = {"transitions.is_past": lambda *_: False}


class JoiningIsNeverPast(Wrong):
    """Accepts a message of the past that wants to join."""

    caught_by: ClassVar = ("expired-ping-with-a-joining", "expired-ping-with-a-joining-of-now")
    instead: ClassVar = {
        "transitions.is_past": lambda state, message: (
            IS_PAST(state, message) and not any(isinstance(vector, Joining) for vector in message.vectors)
        )
    }
