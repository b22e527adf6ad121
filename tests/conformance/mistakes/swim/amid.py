"""Mistakes amid something else: a new life in a round, news between ping and ack, a second seed, more than usual of something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import received, variants

from peerproof.reference.divergences.swim import CLOSED, MERGED
from peerproof.spec.core import NodeId, Pick, Step, Table
from peerproof.spec.swim import commands, gossip, table, transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import (
    Ack,
    AddNode,
    AntiEntropy,
    Dead,
    EventType,
    Incarnation,
    IndirectAck,
    Joining,
    Leave,
    Message,
    Normal,
    Ping,
    Suspicious,
    Uuid,
    Vector,
)
from peerproof.spec.swim.state import Config, Exchange, Relay, Row, State, Status, active_size
from peerproof.spec.swim.table import Claim

ADDED = commands.on_add_node
ADVANCED = transitions.advance_introduction
CHANGES = table.changes
EVENTS = vars(gossip)["_events"]
FORWARDED = transitions.forward_ack
INDIRECT = transitions.indirect_answer
MEMBERS = vars(gossip)["_members"]
QUEUED = gossip.enqueue
REFUTED = transitions.refute
REQUESTED = transitions.request_relays
WITH_MEMBER = transitions.with_member
WITH_VECTOR = transitions.with_vector


def every_row(state: State, change: Callable[[Row], Row]) -> State:
    """The node with all its rows changed."""
    return replace(state, rows=Table({node: change(row) for node, row in state.rows.items()}))


def untold_of(*states: Status) -> dict[str, Any]:
    """No change of incarnation with these."""

    def changes(before: State, after: State) -> list[tuple[Uuid, EventType]]:
        happened = CHANGES(before, after)
        return [(n, kind) for n, kind in happened if kind is not EventType.INCARNATION or after.rows[n].status not in states]

    return {"transitions.changes": changes}


def answers_all(state: State, node: Uuid, incarnation: Incarnation) -> State:
    """An answer to all that are under way."""
    return every_row(INDIRECT(state, node, incarnation), lambda row: replace(row, indirect_asked=False))


def new_life(change: Callable[[State], State]) -> dict[str, Any]:
    """Something more at a new life."""

    def refute(state: State, teller: Uuid, said: Normal | Suspicious | Dead | Leave) -> State:
        after = REFUTED(state, teller, said)
        return change(after) if after.incarnation.restart > state.incarnation.restart else after

    return {"transitions.refute": refute}


def not_again(state: State, ping: Ping, pick: Pick) -> tuple[State, Any]:
    """A request as old as the one before."""
    after, sends = REQUESTED(state, ping, pick)
    fresh = {(relay.target, relay.requester): relay.fresh for relay in state.relays}
    relays = tuple(relay._replace(fresh=fresh.get((relay.target, relay.requester), relay.fresh)) for relay in after.relays)
    return replace(after, relays=relays), sends


def reports_unless(status: Status) -> dict[str, Any]:
    """No report to such a node."""

    def forward_ack(state: State, ack: Ack, done: tuple[Relay, ...], pick: Pick) -> Any:
        rows = state.rows
        told = tuple(relay for relay in done if relay.requester not in rows or rows[relay.requester].status is not status)
        return FORWARDED(state, ack, told, pick)

    return {"transitions.forward_ack": forward_ack}


def all_at(exchange: Exchange, before: Exchange) -> dict[str, Any]:
    """All others are as far as the one that has just come so far."""

    def advance_introduction(state: State, ack: Ack) -> State:
        after = ADVANCED(state, ack)
        if after.rows[ack.sender].exchange is not exchange or state.rows[ack.sender].exchange is exchange:
            return after
        return every_row(after, lambda row: replace(row, exchange=exchange) if row.exchange is before else row)

    return {"transitions.advance_introduction": advance_introduction}


def merged(change: Callable[[Row, Row], Row]) -> dict[str, Any]:
    """Something more in a row that has changed."""

    def merge(row: Row, claim: Claim) -> Row:
        after = MERGED(row, claim)
        return after if after is row else change(row, after)

    return {"gossip.merge": merge}


def added(change: Callable[[Row], Row]) -> dict[str, Any]:
    """Something more in a row that is added again."""

    def on_add_node(state: State, command: AddNode) -> Any:
        step = ADDED(state, command)
        is_known = command.uuid in state.rows
        return (
            step._replace(state=with_row(step.state, command.uuid, change(step.state.rows[command.uuid]))) if is_known else step
        )

    return {"transitions.on_add_node": on_add_node}


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


class _SendsUpTo(Wrong):
    """Sends no larger datagrams than this, whatever it is told. [SA-32]"""

    most: ClassVar[int]
    caught_by: ClassVar = ("datagram-of-65507-bytes-is-sent",)

    def initial(self, self_id: NodeId, config: Config) -> Step[State, Any]:
        """Is configured with less."""
        return super().initial(self_id, replace(config, max_datagram=min(config.max_datagram, self.most)))


class SendsALargeFrame(_SendsUpTo):
    """Sends no datagrams of more than 9,000 bytes. [SA-32]"""

    most: ClassVar = 9_000


class SendsASignedShort(_SendsUpTo):
    """Sends no datagrams of more than 32,767 bytes. [SA-32]"""

    most: ClassVar = 32_767


class SendsNearlyAll(_SendsUpTo):
    """Sends no datagrams of more than 65,506 bytes. [SA-32]"""

    most: ClassVar = 65_506


class SixteenRowsAtMost(Wrong):
    """Puts no more than 16 rows into anti-entropy. [SA-28]"""

    caught_by: ClassVar = ("anti-entropy-of-twenty-rows",)

    def initial(self, self_id: NodeId, config: Config) -> Step[State, Any]:
        """Is configured with less."""
        return super().initial(self_id, replace(config, ae_size=min(config.ae_size, 16)))


class TakesIndirectAcksOfStrangers(Wrong):
    """Applies indirect acks, whoever sends them. [SA-21]"""

    caught_by: ClassVar = ("unknown-sender-relays-no-answer",)

    def step(self, state: State, event: Any, pick: Pick) -> Any:
        """After the ack."""
        step = super().step(state, event, pick)
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


def without_members(state: State, receiver: Uuid, pick: Pick, *, tagged: bool, room: Any) -> AntiEntropy | None:
    """None of a node that has left."""
    found: AntiEntropy | None = None if state.left else MEMBERS(state, receiver, pick, tagged=tagged, room=room)
    return found


def without_what_enough_were_told(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    """What is left of the queue."""
    enough = gossip.fanout(active_size(state))
    left = tuple(queued for queued in state.queue if len(queued.recipients - {queued.event.node}) < max(1, enough))
    sent: tuple[State, list[Vector]] = EVENTS(replace(state, queue=left), receiver, said, room)
    return sent


def closed_if_pinged(state: State, pick: Pick) -> tuple[State, tuple[Message, ...]]:
    """Nothing, where nobody was pinged."""
    closed: tuple[State, tuple[Any, ...]] = CLOSED(state, pick) if state.pinged else (state, ())
    return closed


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "TellsNoRestartOfTheSuspicious": (
            "Tells no change of incarnation with a suspicion. [SA-06]",
            untold_of(Status.SUSPICIOUS),
            "told-of-an-incarnation-with-each-status",
        ),
        "TellsNoRestartOfTheDead": (
            "Tells no change of incarnation with a death. [SA-06]",
            untold_of(Status.DEAD),
            "told-of-an-incarnation-with-each-status",
        ),
        "TellsNoRestartOfTheGone": (
            "Tells no change of incarnation with a leave. [SA-06]",
            untold_of(Status.LEAVE),
            "told-of-an-incarnation-with-each-status",
        ),
        "OneIndirectAckForAll": (
            "Takes an indirect ack for an answer of all who are asked for. [SA-03]",
            {"transitions.indirect_answer": answers_all},
            "indirect-ack-answers-for-its-target-only",
        ),
        "ClosesOnlyWhereItPinged": (
            "Asks for nobody at the close of a round in which it pinged nobody. [SA-53]",
            {"rounds.close_round": closed_if_pinged},
            "first-quantum-asks-for-the-suspicious",
        ),
        "AskedAgainIsAsOld": (
            "Remembers a request that is repeated no longer than the first. [SA-55]",
            {"transitions.request_relays": not_again},
            "relay-asked-again-remembers-it-anew",
        ),
        "ReportsNothingToTheSuspicious": (
            "Does not tell a suspicious node of the answer that it has asked for. [SA-55]",
            reports_unless(Status.SUSPICIOUS),
            "relay-reports-to-one-who-is-suspicious",
        ),
        "ReportsNothingToTheDead": (
            "Does not tell a dead node of the answer that it has asked for. [SA-55]",
            reports_unless(Status.DEAD),
            "relay-reports-to-one-who-is-dead",
        ),
        "ReportsNothingToJoiners": (
            "Does not tell a joining node of the answer that it has asked for. [SA-55]",
            reports_unless(Status.JOINING),
            "relay-for-one-who-is-joining",
        ),
        "NewLifeNewRound": (
            "Begins a round with a new life. [S-45]",
            new_life(lambda state: replace(state, vector=())),
            "told-dead-goes-on-with-its-round",
        ),
        "NewLifeForgivesMisses": (
            "Sets all misses to 0 with a new life. [SA-02]",
            new_life(lambda state: every_row(state, lambda row: replace(row, misses=0))),
            "told-dead-keeps-misses",
        ),
        "NewLifeForgivesIndirectMisses": (
            "Forgets indirect pings with a new life. [SA-03]",
            new_life(lambda state: every_row(state, lambda row: replace(row, indirect_misses=0, indirect_asked=False))),
            "told-dead-keeps-what-indirect-pings-missed",
        ),
        "OneSeedIsAll": (
            "Takes the introduction to one seed for that to all. [SA-57]",
            all_at(Exchange.DONE, Exchange.FIRST),
            "each-seed-is-introduced-to-by-itself",
        ),
        "OneStepIsAll": (
            "Takes the first answer of one seed for that of all. [SA-57]",
            all_at(Exchange.SECOND, Exchange.FIRST),
            "each-seed-is-introduced-to-by-itself",
        ),
        "NoAntiEntropyOnceItHasLeft": (
            "Sends no anti-entropy once it has left. [SA-59]",
            {"gossip._members": without_members},
            "ack-of-who-has-left-carries-anti-entropy",
        ),
        "LeaversHaveNoPayload": (
            "Forgets the payload of a node that leaves. [SA-34]",
            merged(lambda _, row: replace(row, payload=None) if row.status is Status.LEAVE else row),
            "payload-stays-when-its-node-leaves",
        ),
        "JoinersHaveNoPayload": (
            "Forgets the payload of a node that joins again. [SA-34]",
            merged(lambda _, row: replace(row, payload=None) if row.status is Status.JOINING else row),
            "payload-stays-when-its-node-joins-again",
        ),
        "SuspicionForgetsPings": (
            "Forgets its pings to a node that becomes suspicious. [SA-42]",
            merged(lambda _, row: replace(row, unanswered=()) if row.status is Status.SUSPICIOUS else row),
            "suspicion-heard-of-forgets-no-ping",
        ),
        "LeaveForgetsPings": (
            "Forgets its pings to a node that leaves. [SA-42]",
            merged(lambda _, row: replace(row, unanswered=()) if row.status is Status.LEAVE else row),
            "leave-heard-of-forgets-no-ping",
        ),
        "LeaveEndsTheIntroduction": (
            "Takes the introduction to a node that leaves for ended. [SA-57]",
            merged(lambda _, row: replace(row, exchange=Exchange.DONE) if row.status is Status.LEAVE else row),
            "introduction-goes-on-after-a-leave",
        ),
        "RestartBeginsTheIntroduction": (
            "Begins its introduction again when the other node restarts. [SA-57]",
            merged(
                lambda before, row: (
                    replace(row, exchange=Exchange.FIRST)
                    if row.exchange is Exchange.SECOND and row.incarnation.restart > before.incarnation.restart
                    else row
                )
            ),
            "introduction-goes-on-after-a-restart",
        ),
        "AddedAgainBeginsAnew": (
            "Begins its introduction again to a node that is added again. [SA-38]",
            added(lambda row: row if row.exchange is Exchange.DONE else replace(row, exchange=Exchange.FIRST)),
            "add-node-again-keeps-the-introduction",
        ),
        "AddedAgainHasMissedNothing": (
            "Sets the misses of a node that is added again to 0. [SA-38]",
            added(lambda row: replace(row, misses=0)),
            "add-node-again-keeps-misses",
        ),
        "AddedAgainForgetsPings": (
            "Forgets its pings to a node that is added again. [SA-38]",
            added(lambda row: replace(row, unanswered=())),
            "add-node-again-keeps-pings",
        ),
        "DropsWhatEnoughWereTold": (
            "Drops events that enough have been told by now before it sends a datagram. [SA-25]",
            {"gossip._events": without_what_enough_were_told},
            "event-waits-for-a-datagram-that-carries-it",
        ),
        "SixteenEventsADatagram": (
            "Puts no more than 16 events into a datagram. [SA-32]",
            {"gossip._events": lambda state, receiver, said, room: EVENTS(state, receiver, said, _Room(room, 16))},
            "datagram-of-65507-bytes-is-sent",
        ),
        "QueueOf100": (
            "Keeps no more than 100 events. [S-35]",
            {"gossip.enqueue": lambda state, said: (kept := QUEUED(state, said)) and replace(kept, queue=kept.queue[-100:])},
            "datagram-of-65507-bytes-is-sent",
        ),
        "TableOf100": (
            "Makes no more than 100 rows of joinings. [S-36]",
            {"transitions.with_vector": room_for(100)},
            "datagram-of-65507-bytes-is-sent",
        ),
        "TableOf1000": (
            "Makes no more than 1,000 rows of anti-entropy. [S-36]",
            {
                "transitions.with_member": lambda state, claim: (
                    state if claim.node not in state.rows and len(state.rows) >= 1000 else WITH_MEMBER(state, claim)
                )
            },
            "anti-entropy-of-a-thousand",
        ),
    },
)
__getattr__ = MISTAKES.find
