"""Mistakes amid something else: a new life in a round, news between ping and ack, a second seed, more than usual of something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, after, around, configured, received

from peerproof.spec.core import Pick, Table
from peerproof.spec.swim import gossip, transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import (
    Ack,
    AddNode,
    AntiEntropy,
    EventType,
    IndirectAck,
    Joining,
    Ping,
    Uuid,
    Vector,
)
from peerproof.spec.swim.state import Exchange, Relay, Row, State, Status, active_size

wrong = Variants(__name__, Wrong)
INDIRECT = transitions.indirect_answer
WITH_VECTOR = transitions.with_vector


def every_row(state: State, change: Callable[[Row], Row]) -> State:
    """The node with all its rows changed."""
    return replace(state, rows=Table({node: change(row) for node, row in state.rows.items()}))


def untold_of(*states: Status) -> dict[str, Any]:
    """No change of incarnation with these."""

    def changes(right: Any, before: State, after: State) -> Any:
        happened = right(before, after)
        return [(n, kind) for n, kind in happened if kind is not EventType.INCARNATION or after.rows[n].status not in states]

    return around("transitions.changes", changes)


def new_life(change: Callable[[State], State]) -> dict[str, Any]:
    """Something more at a new life."""
    return after(
        "transitions.refute",
        lambda after, state, *_: change(after) if after.incarnation.restart > state.incarnation.restart else after,
    )


@wrong("transitions.request_relays", "relay-asked-again-remembers-it-anew")
def AskedAgainIsAsOld(right: Any, state: State, ping: Ping, pick: Pick) -> Any:
    """Remembers a request that is repeated no longer than the first. [SA-55]"""
    after, sends = right(state, ping, pick)
    fresh = {(relay.target, relay.requester): relay.fresh for relay in state.relays}
    relays = tuple(relay._replace(fresh=fresh.get((relay.target, relay.requester), relay.fresh)) for relay in after.relays)
    return replace(after, relays=relays), sends


def reports_unless(status: Status) -> dict[str, Any]:
    """No report to such a node."""

    def forward_ack(right: Any, state: State, ack: Ack, done: tuple[Relay, ...], pick: Pick) -> Any:
        rows = state.rows
        told = tuple(relay for relay in done if relay.requester not in rows or rows[relay.requester].status is not status)
        return right(state, ack, told, pick)

    return around("transitions.forward_ack", forward_ack)


def all_at(exchange: Exchange, before: Exchange) -> dict[str, Any]:
    """All others are as far as the one that has just come so far."""

    def advance_introduction(right: Any, state: State, ack: Ack) -> Any:
        after = right(state, ack)
        if after.rows[ack.sender].exchange is not exchange or state.rows[ack.sender].exchange is exchange:
            return after
        return every_row(after, lambda row: replace(row, exchange=exchange) if row.exchange is before else row)

    return around("transitions.advance_introduction", advance_introduction)


def merged(change: Callable[[Row, Row], Row]) -> dict[str, Any]:
    """Something more in a row that has changed."""
    return after("gossip.merge", lambda after, row, *_: after if after is row else change(row, after))


def added(change: Callable[[Row], Row]) -> dict[str, Any]:
    """Something more in a row that is added again."""

    def on_add_node(right: Any, state: State, command: AddNode) -> Any:
        step = right(state, command)
        is_known = command.uuid in state.rows
        return (
            step._replace(state=with_row(step.state, command.uuid, change(step.state.rows[command.uuid]))) if is_known else step
        )

    return around("transitions.on_add_node", on_add_node)


class _Room:
    """What else fits, and no more than so many."""

    def __init__(self, room: Any, most: int) -> None:
        self._room = room
        self._left = most

    def takes(self, vector: Vector) -> bool:
        """Whether this fits too."""
        takes: bool = self._left > 0 and self._room.takes(vector)
        self._left -= takes
        return takes


def sending_up_to(most: int) -> dict[str, Any]:
    """What is replaced to send no datagram that is larger."""
    return configured(max_datagram=lambda configured: min(configured, most))


@wrong.after("step", "unknown-sender-relays-no-answer")
def TakesIndirectAcksOfStrangers(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Applies indirect acks, whoever sends them. [SA-21]"""
    is_strange = received(event, Ping) and event.message.sender not in state.rows
    answers = [vector for vector in event.message.vectors if isinstance(vector, IndirectAck)] if is_strange else []
    for answer in answers:
        step = step._replace(state=INDIRECT(step.state, answer.target, answer.incarnation))
    return step


def room_for(most: int) -> Callable[..., State]:
    """No new row beyond so many."""

    def with_vector(state: State, message: Ping | Ack, vector: Vector) -> State:
        is_new = isinstance(vector, Joining) and vector.node not in state.rows
        return state if is_new and len(state.rows) >= most else WITH_VECTOR(state, message, vector)

    return with_vector


@wrong("gossip._members", "ack-of-who-has-left-carries-anti-entropy")
def NoAntiEntropyOnceItHasLeft(right: Any, state: State, receiver: Uuid, pick: Pick, *, tagged: bool, room: Any) -> Any:
    """Sends no anti-entropy once it has left. [SA-59]"""
    found: AntiEntropy | None = None if state.left else right(state, receiver, pick, tagged=tagged, room=room)
    return found


@wrong("gossip._events", "event-waits-for-a-datagram-that-carries-it")
def DropsWhatEnoughWereTold(right: Any, state: State, receiver: Uuid, said: list[Vector], room: Any) -> Any:
    """Drops events that enough have been told by now before it sends a datagram. [SA-25]"""
    enough = gossip.fanout(active_size(state))
    left = tuple(queued for queued in state.queue if len(queued.recipients - {queued.event.node}) < max(1, enough))
    sent: tuple[State, list[Vector]] = right(replace(state, queue=left), receiver, said, room)
    return sent


@wrong("rounds.close_round", "first-quantum-asks-for-the-suspicious")
def ClosesOnlyWhereItPinged(right: Any, state: State, pick: Pick) -> Any:
    """Asks for nobody at the close of a round in which it pinged nobody. [SA-53]"""
    closed: tuple[State, tuple[Any, ...]] = right(state, pick) if state.pinged else (state, ())
    return closed


wrong |= {
    # Sends no datagrams of more than 9,000 bytes. [SA-32]
    "SendsALargeFrame: datagram-of-65507-bytes-is-sent": sending_up_to(9_000),
    # Sends no datagrams of more than 32,767 bytes. [SA-32]
    "SendsASignedShort: datagram-of-65507-bytes-is-sent": sending_up_to(32_767),
    # Sends no datagrams of more than 65,506 bytes. [SA-32]
    "SendsNearlyAll: datagram-of-65507-bytes-is-sent": sending_up_to(65_506),
    # Puts no more than 16 rows into anti-entropy. [SA-28]
    "SixteenRowsAtMost: anti-entropy-of-twenty-rows": around(
        "initial", lambda right, self_id, config: right(self_id, replace(config, ae_size=min(config.ae_size, 16)))
    ),
    # Tells no change of incarnation with a suspicion. [SA-06]
    "TellsNoRestartOfTheSuspicious: told-of-an-incarnation-with-each-status": untold_of(Status.SUSPICIOUS),
    # Tells no change of incarnation with a death. [SA-06]
    "TellsNoRestartOfTheDead: told-of-an-incarnation-with-each-status": untold_of(Status.DEAD),
    # Tells no change of incarnation with a leave. [SA-06]
    "TellsNoRestartOfTheGone: told-of-an-incarnation-with-each-status": untold_of(Status.LEAVE),
    # Takes an indirect ack for an answer of all who are asked for. [SA-03]
    "OneIndirectAckForAll: indirect-ack-answers-for-its-target-only": around(
        "transitions.indirect_answer",
        lambda right, state, node, incarnation: every_row(
            right(state, node, incarnation), lambda row: replace(row, indirect_asked=False)
        ),
    ),
    # Does not tell a suspicious node of the answer that it has asked for. [SA-55]
    "ReportsNothingToTheSuspicious: relay-reports-to-one-who-is-suspicious": reports_unless(Status.SUSPICIOUS),
    # Does not tell a dead node of the answer that it has asked for. [SA-55]
    "ReportsNothingToTheDead: relay-reports-to-one-who-is-dead": reports_unless(Status.DEAD),
    # Does not tell a joining node of the answer that it has asked for. [SA-55]
    "ReportsNothingToJoiners: relay-for-one-who-is-joining": reports_unless(Status.JOINING),
    # Begins a round with a new life. [S-45]
    "NewLifeNewRound: told-dead-goes-on-with-its-round": new_life(lambda state: replace(state, vector=())),
    # Sets all misses to 0 with a new life. [SA-02]
    "NewLifeForgivesMisses: told-dead-keeps-misses": new_life(lambda state: every_row(state, lambda row: replace(row, misses=0))),
    # Forgets indirect pings with a new life. [SA-03]
    "NewLifeForgivesIndirectMisses: told-dead-keeps-what-indirect-pings-missed": new_life(
        lambda state: every_row(state, lambda row: replace(row, indirect_misses=0, indirect_asked=False))
    ),
    # Takes the introduction to one seed for that to all. [SA-57]
    "OneSeedIsAll: each-seed-is-introduced-to-by-itself": all_at(Exchange.DONE, Exchange.FIRST),
    # Takes the first answer of one seed for that of all. [SA-57]
    "OneStepIsAll: each-seed-is-introduced-to-by-itself": all_at(Exchange.SECOND, Exchange.FIRST),
    # Forgets the payload of a node that leaves. [SA-34]
    "LeaversHaveNoPayload: payload-stays-when-its-node-leaves": merged(
        lambda _, row: replace(row, payload=None) if row.status is Status.LEAVE else row
    ),
    # Forgets the payload of a node that joins again. [SA-34]
    "JoinersHaveNoPayload: payload-stays-when-its-node-joins-again": merged(
        lambda _, row: replace(row, payload=None) if row.status is Status.JOINING else row
    ),
    # Forgets its pings to a node that becomes suspicious. [SA-42]
    "SuspicionForgetsPings: suspicion-heard-of-forgets-no-ping": merged(
        lambda _, row: replace(row, unanswered=()) if row.status is Status.SUSPICIOUS else row
    ),
    # Forgets its pings to a node that leaves. [SA-42]
    "LeaveForgetsPings: leave-heard-of-forgets-no-ping": merged(
        lambda _, row: replace(row, unanswered=()) if row.status is Status.LEAVE else row
    ),
    # Takes the introduction to a node that leaves for ended. [SA-57]
    "LeaveEndsTheIntroduction: introduction-goes-on-after-a-leave": merged(
        lambda _, row: replace(row, exchange=Exchange.DONE) if row.status is Status.LEAVE else row
    ),
    # Begins its introduction again when the other node restarts. [SA-57]
    "RestartBeginsTheIntroduction: introduction-goes-on-after-a-restart": merged(
        lambda before, row: (
            replace(row, exchange=Exchange.FIRST)
            if row.exchange is Exchange.SECOND and row.incarnation.restart > before.incarnation.restart
            else row
        )
    ),
    # Begins its introduction again to a node that is added again. [SA-38]
    "AddedAgainBeginsAnew: add-node-again-keeps-the-introduction": added(
        lambda row: row if row.exchange is Exchange.DONE else replace(row, exchange=Exchange.FIRST)
    ),
    # Sets the misses of a node that is added again to 0. [SA-38]
    "AddedAgainHasMissedNothing: add-node-again-keeps-misses": added(lambda row: replace(row, misses=0)),
    # Forgets its pings to a node that is added again. [SA-38]
    "AddedAgainForgetsPings: add-node-again-keeps-pings": added(lambda row: replace(row, unanswered=())),
    # Puts no more than 16 events into a datagram. [SA-32]
    "SixteenEventsADatagram: datagram-of-65507-bytes-is-sent": around(
        "gossip._events", lambda right, state, receiver, said, room: right(state, receiver, said, _Room(room, 16))
    ),
    # Keeps no more than 100 events. [S-35]
    "QueueOf100: datagram-of-65507-bytes-is-sent": around(
        "gossip.enqueue", lambda right, state, said: (kept := right(state, said)) and replace(kept, queue=kept.queue[-100:])
    ),
    # Makes no more than 100 rows of joinings. [S-36]
    "TableOf100: datagram-of-65507-bytes-is-sent": {"transitions.with_vector": room_for(100)},
    # Makes no more than 1,000 rows of anti-entropy. [S-36]
    "TableOf1000: anti-entropy-of-a-thousand": around(
        "transitions.with_member",
        lambda right, state, claim: state if claim.node not in state.rows and len(state.rows) >= 1000 else right(state, claim),
    ),
}
__getattr__ = wrong.find
