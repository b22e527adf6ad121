"""Mistakes in what is believed of other nodes, in what is told of that, and in answering joiners, strangers and the past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.introductions import answering
from tests.support.variant import Variants, around

from peerproof.reference.divergences.swim import CLAIMED, ON_VECTOR
from peerproof.spec.core import NodeId, Pick, Received, Send, Step
from peerproof.spec.swim import gossip, table, transitions
from peerproof.spec.swim.gossip import Carries, ack_of, datagram, with_row
from peerproof.spec.swim.messages import (
    Ack,
    AntiEntropy,
    Dead,
    Incarnation,
    Joining,
    Leave,
    Normal,
    Payload,
    Ping,
    Suspicious,
    Vector,
)
from peerproof.spec.swim.state import Row, State, Status
from peerproof.spec.swim.table import Claim

wrong = Variants(__name__, Wrong)
OF_SENDER = table.of_sender
TOLD = transitions.notify_subscribers


def merging(accepts: Callable[[Row, Claim], bool]) -> dict[str, Any]:
    """What is replaced for a merge that takes less."""
    return around("gossip.merge", lambda right, row, claim: right(row, claim) if accepts(row, claim) else row)


def keyed(key: Callable[[Status, Incarnation], Any]) -> dict[str, Any]:
    """What is replaced for another order of claims."""
    return {"table.key": key}


@wrong("transitions.with_vector", "normal-does-not-clear-suspicion not-subscribed")
def OverwritesWithoutIncarnation(right: Any, state: State, message: Ping | Ack, vector: Vector) -> Any:
    """Believes whatever comes without an incarnation."""
    if isinstance(vector, (Normal, Suspicious, Dead)) and vector.incarnation is None and vector.node in state.rows:
        row = state.rows[vector.node]
        return with_row(state, vector.node, replace(row, status=table.GIVES[type(vector)]))
    return right(state, message, vector)


def headers(status: Callable[[Row, Incarnation], Status]) -> dict[str, Any]:
    """What is replaced for another meaning of headers."""
    return around(
        "transitions.of_sender",
        lambda right, state, node, said: right(state, node, said)._replace(status=status(state.rows[node], said)),
    )


@wrong("transitions.apply_message", "joining-older-than-its-header joining-at-the-known-restart-counter")
def HeaderAndJoining(right: Any, state: State, message: Ping | Ack) -> Any:
    """Merges the header of a message with a joining too."""
    if message.sender in state.rows:
        state = CLAIMED(state, OF_SENDER(state, message.sender, message.incarnation))
    return right(state, message)


@wrong("transitions.apply_message", "joining-older-than-its-header event-about-its-own-sender")
def HeaderComesLast(right: Any, state: State, message: Ping | Ack) -> Any:
    """Applies the vectors first and the header then."""
    if message.sender not in state.rows:
        return right(state, message)
    for vector in message.vectors:
        state = ON_VECTOR(state, message, vector)
    return right(state, replace(message, vectors=tuple(v for v in message.vectors if isinstance(v, Payload))))


@wrong.after("step", "node-info answer-goes-to-where-the-ping-came-from")
def TakesAddressesFromDatagrams(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Sends pings to where the last datagram came from."""
    sender = getattr(event.message, "sender", None) if isinstance(event, Received) else None
    if sender is None or sender not in step.state.rows:
        return step
    host, _, port = event.sender.rpartition(":")
    row = replace(step.state.rows[sender], host=host, port=int(port))
    return step._replace(state=with_row(step.state, sender, row))


@wrong("transitions.apply_message", "reject-empty-datagram reject-huge-array")
def StrangersGetRows(right: Any, state: State, message: Ping | Ack) -> Any:
    """Makes a row of whoever sends a message."""
    if message.sender not in state.rows and message.sender != state.uuid:
        state = with_row(state, message.sender, Row("", 0, Status.NORMAL, message.incarnation))
    return right(state, message)


@wrong.after("transitions.with_member", "both-counters-at-their-end joiner-learns-from-the-first-answer")
def AntiEntropyMakesJoining(after: Any, state: State, claim: Claim) -> Any:
    """Makes rows of anti-entropy that are joining."""
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


@wrong("transitions.answer", "joining-older-than-its-header")
def WelcomesWhoIsNormal(right: Any, state: State, ping: Ping, to: NodeId, pick: Pick) -> Any:
    """Welcomes whoever asks, also if its joining is old."""
    row = state.rows.get(ping.sender)
    asks = any(isinstance(v, Joining) and v.node == ping.sender for v in ping.vectors)
    if row is None or row.status is not Status.NORMAL or not asks:
        return right(state, ping, to, pick)
    said = (Joining(ping.sender, row.incarnation, row.host, row.port),)
    state, message = datagram(state, (ping.sender, to), ack_of(state, ping), said, gossip.WELCOME, pick)
    return state, () if message is None else (Send(to, message),)


@wrong("step", "answer-goes-to-where-the-ping-came-from")
def AnswersToTheRow(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Sends an ack to the address in the row."""
    if isinstance(event, Received) and isinstance(event.message, Ping) and event.message.sender in state.rows:
        row = state.rows[event.message.sender]
        event = replace(event, sender=NodeId(f"{row.host}:{row.port}"))
    return right(state, event, pick)


wrong |= {
    # Lets nothing bring back who has left.
    "LeaveIsForEver: late-ack-of-a-node-that-left dead-sender-gets-an-ack-alone": merging(
        lambda row, _: row.status is not Status.LEAVE
    ),
    # Ignores a leave that is not newer.
    "LeaveNeedsItsTx: leave-of-the-past leave-of-its-own-sender": merging(
        lambda row, claim: claim.status is not Status.LEAVE or claim.incarnation >= row.incarnation
    ),
    # Lets nothing but a restart bring a dead node back.
    "DeathIsFinal: dead-node-comes-back-by-an-ack anti-entropy-brings-the-dead-back": merging(
        lambda row, claim: row.status is not Status.DEAD or claim.incarnation.restart > row.incarnation.restart
    ),
    # At one incarnation believes the better of two claims.
    "TheBetterCounts: ack-of-an-unknown-sender late-ack-of-a-dead-node": keyed(
        lambda status, said: (said.restart, status is Status.LEAVE, said.tx, -table.RANK[status])
    ),
    # At one incarnation believes what came first.
    "TheFirstCounts: ack-of-an-unknown-sender ack-for-another-is-ignored": keyed(
        lambda status, said: (said.restart, status is Status.LEAVE, said.tx)
    ),
    # Believes nothing that comes without an incarnation.
    "NeedsAnIncarnation: ack-of-an-unknown-sender ack-for-another-is-ignored": around(
        "transitions.with_vector",
        lambda right, state, message, vector: (
            state if isinstance(vector, (Normal, Suspicious, Dead)) and not vector.incarnation else right(state, message, vector)
        ),
    ),
    # Takes every header for a sign that its sender is normal.
    "HeaderEndsJoining: joining-stays-until-the-second-request nested-64-deep": headers(
        lambda row, _: Status.LEAVE if row.status is Status.LEAVE else Status.NORMAL
    ),
    # Leaves who is joining joining, over restarts too.
    "HeaderKeepsJoining: joiner-learns-from-the-first-answer joining-node-that-restarts-is-normal": headers(
        lambda row, _: row.status if row.status in (Status.JOINING, Status.LEAVE) else Status.NORMAL
    ),
    # Takes a header for news of tx, not of status.
    "HeaderKeepsStatus: joiner-learns-from-the-first-answer dead-node-comes-back-by-an-ack": headers(lambda row, _: row.status),
    # Applies the last vector first.
    "VectorsBackwards: told-dead-twice sizes": around(
        "transitions.apply_message", lambda right, state, message: right(state, replace(message, vectors=message.vectors[::-1]))
    ),
    # Does not take over the address of a node that it knows.
    "KeepsAddresses: anti-entropy-that-is-newer joining-after-a-restart": around(
        "gossip.merge", lambda right, row, claim: right(row, claim._replace(place=None))
    ),
    # Takes over an address from whatever comes.
    "TakesAnyAddress: joining-of-the-past-changes-no-address": around(
        "gossip.merge",
        lambda right, row, claim: (
            replace(right(row, claim), host=claim.place[0], port=claim.place[1]) if claim.place else right(row, claim)
        ),
    ),
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
    # Does not tell a joiner that it is normal, but for what is in the queue.
    "NoNormalAnswer: join-second-request-again events-are-not-lost-on-nobody": answering(
        lambda _, ping: replace(ping, vectors=tuple(v for v in ping.vectors if not isinstance(v, Normal)))
    ),
    # Welcomes whoever is joining, whether it asks or not.
    "WelcomesWhoIsJoining: joining-stays-until-the-second-request nested-64-deep": answering(
        lambda state, ping: (
            replace(ping, vectors=(*ping.vectors, Joining(ping.sender, ping.incarnation, "h", 1)))
            if ping.sender in state.rows and state.rows[ping.sender].status is Status.JOINING
            else ping
        )
    ),
    # Answers everybody alike.
    "StrangersGetEverything: unknown-sender-asks-nobody-else unknown-sender-is-told-nothing": {
        "gossip.BARE": Carries(events=True, members=True)
    },
}
__getattr__ = wrong.find
