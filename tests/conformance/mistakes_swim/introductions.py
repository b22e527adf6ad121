"""Mistakes in joining, in answering, and in what a node does that is told of its own death."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.wrong_swim import IS_PAST, ON_PING, Wrong

from peerproof.spec.core import NodeId, Pick, Received, Send, Step
from peerproof.spec.swim import commands, gossip, transitions
from peerproof.spec.swim.gossip import Carries, ack_of, datagram, queued, reborn, with_row
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AddNode,
    Dead,
    Incarnation,
    Joining,
    Normal,
    Ping,
    Suspicious,
    Uuid,
)
from peerproof.spec.swim.state import Config, Exchange, Row, State, Status
from peerproof.spec.swim.table import event
from peerproof.spec.swim.transitions import Sends

ANSWER = gossip.answer
INTRODUCED_BY = transitions.introduced_by
INTRODUCTION = gossip.introduction
ON_ADD_NODE = commands.on_add_node
REFUTED = transitions.refuted
REQUEST = gossip.request


def _first_is_enough(state: State, ack: Ack) -> State:
    after = INTRODUCED_BY(state, ack)
    row = after.rows[ack.sender]
    return with_row(after, ack.sender, replace(row, exchange=Exchange.DONE)) if row.exchange is Exchange.SECOND else after


class OneExchange(Wrong):
    """Takes itself for joined after the first answer."""

    instead: ClassVar = {"transitions.introduced_by": _first_is_enough}


def _any_ack(state: State, ack: Ack) -> State:
    row = state.rows[ack.sender]
    after = {Exchange.FIRST: Exchange.SECOND}.get(row.exchange, Exchange.DONE)
    return with_row(state, ack.sender, replace(row, exchange=after))


class AnyAckMovesOn(Wrong):
    """Takes any ack for the answer that it waits for."""

    instead: ClassVar = {"transitions.introduced_by": _any_ack}


def _either_answer(state: State, ack: Ack) -> State:
    said = any(isinstance(v, (Joining, Normal)) and v.node == state.uuid for v in ack.vectors)
    return _any_ack(state, ack) if said else state


class EitherAnswerMovesOn(Wrong):
    """Does not tell the two answers from each other."""

    instead: ClassVar = {"transitions.introduced_by": _either_answer}


class NeverDone(Wrong):
    """Introduces itself for ever."""

    instead: ClassVar = {"transitions.introduced_by": lambda state, _: state}


def _all_at_once(state: State, ack: Ack) -> State:
    after = INTRODUCED_BY(state, ack)
    exchange = after.rows[ack.sender].exchange
    return replace(after, rows=after.rows.put({n: replace(row, exchange=exchange) for n, row in after.rows.items()}))


class OneIntroductionForAll(Wrong):
    """Keeps for itself, not for each row, how far it has introduced itself."""

    instead: ClassVar = {
        "transitions.introduced_by": _all_at_once,
        "transitions.on_add_node": lambda state, command: Step(
            with_row(
                replace(state, rows=state.rows.put({n: replace(r, exchange=Exchange.FIRST) for n, r in state.rows.items()})),
                command.uuid,
                commands.introduced(state, command),
            )
        ),
    }


def _asks_once(state: State, row: Row) -> tuple[Any, ...]:
    return () if row.unanswered else INTRODUCTION(state, row)


class AsksOnce(Wrong):
    """Introduces itself once, and waits."""

    instead: ClassVar = {"gossip.introduction": _asks_once}


def _before_counting(state: State, row: Row) -> tuple[Any, ...]:
    return tuple(replace(v, incarnation=state.incarnation) if isinstance(v, Joining) else v for v in INTRODUCTION(state, row))


class JoiningWithTheTxBefore(Wrong):
    """Says joining with the tx of the datagram before."""

    instead: ClassVar = {"gossip.introduction": _before_counting}


class JoiningInBoth(Wrong):
    """Says joining in the second request too."""

    instead: ClassVar = {
        "gossip.introduction": lambda state, row: INTRODUCTION(
            state, replace(row, exchange=Exchange.FIRST) if row.exchange is Exchange.SECOND else row
        )
    }


def _with_everything(state: State, node: Uuid, pick: Pick, *purpose: Any) -> tuple[State, Sends]:
    exchange = state.rows[node].exchange
    if exchange is Exchange.DONE or purpose:
        return REQUEST(state, node, pick, *purpose)
    said = INTRODUCTION(state, state.rows[node])
    done = with_row(state, node, replace(state.rows[node], exchange=Exchange.DONE))
    after, sends = REQUEST(done, node, pick, said)
    return with_row(after, node, replace(after.rows[node], exchange=exchange)), sends


class RequestsHoldEverything(Wrong):
    """Puts events, anti-entropy and payload into the requests of a joiner."""

    instead: ClassVar = {"rounds.request": _with_everything}


class SeedsAreNormal(Wrong):
    """Takes its seeds for normal, and needs no introduction."""

    def initial(self, self_id: NodeId, config: Config) -> Step[Any, Any]:
        """Changes the rows."""
        first = super().initial(self_id, config)
        rows = {n: replace(r, status=Status.NORMAL, exchange=Exchange.DONE) for n, r in first.state.rows.items()}
        return first._replace(state=replace(first.state, rows=first.state.rows.put(rows)))


class ItsOwnSeed(Wrong):
    """Asks itself, if it is among its seeds."""

    def initial(self, self_id: NodeId, config: Config) -> Step[Any, Any]:
        """Makes a row."""
        first = super().initial(self_id, config)
        for seed in config.seeds:
            if seed.uuid == config.uuid:
                row = Row(seed.host, seed.port, Status.JOINING, Incarnation(0, 0), exchange=Exchange.FIRST)
                first = first._replace(state=with_row(first.state, seed.uuid, row))
        return first


def adding(after: Callable[[State, State, AddNode], State]) -> dict[str, Any]:
    """What is replaced for another add-node."""
    return {"transitions.on_add_node": lambda state, command: Step(after(state, ON_ADD_NODE(state, command).state, command))}


class AddingIsNews(Wrong):
    """Queues an event about a node that is added."""

    instead: ClassVar = adding(
        lambda _, after, command: queued(after, event(command.uuid, after.rows[command.uuid], emit_incarnation=False))
    )


class AddingBeginsAnew(Wrong):
    """Forgets what it knows of a node that is added again."""

    instead: ClassVar = adding(
        lambda state, _, command: with_row(
            state,
            command.uuid,
            Row(command.host, command.port, Status.JOINING, Incarnation(0, 0), exchange=Exchange.FIRST),
        )
    )


class AddingAgainIsIgnored(Wrong):
    """Does nothing about a node that is added again."""

    instead: ClassVar = adding(lambda state, after, command: state if command.uuid in state.rows else after)


class AddsItself(Wrong):
    """Adds itself, if it is told to."""

    instead: ClassVar = {
        "transitions.on_add_node": lambda state, command: Step(with_row(state, command.uuid, commands.introduced(state, command)))
    }


class AddedAreNormal(Wrong):
    """Takes a node that is added for normal, and needs no introduction."""

    instead: ClassVar = adding(
        lambda state, after, command: (
            after
            if command.uuid in state.rows
            else with_row(after, command.uuid, replace(after.rows[command.uuid], status=Status.NORMAL, exchange=Exchange.DONE))
        )
    )


def answering(change: Callable[[State, Ping], Ping]) -> dict[str, Any]:
    """What is replaced to answer as if another ping had come."""

    def answer(state: State, ping: Ping, to: NodeId, pick: Pick) -> tuple[State, Sends]:
        return ANSWER(state, change(state, ping), to, pick)

    return {"transitions.answer": answer}


class NoWelcome(Wrong):
    """Answers a joiner like anybody."""

    instead: ClassVar = answering(
        lambda _, ping: replace(ping, vectors=tuple(v for v in ping.vectors if not isinstance(v, Joining)))
    )


class NoNormalAnswer(Wrong):
    """Does not tell a joiner that it is normal, but for what is in the queue."""

    instead: ClassVar = answering(
        lambda _, ping: replace(ping, vectors=tuple(v for v in ping.vectors if not isinstance(v, Normal)))
    )


class WelcomesWhoIsJoining(Wrong):
    """Welcomes whoever is joining, whether it asks or not."""

    instead: ClassVar = answering(
        lambda state, ping: (
            replace(ping, vectors=(*ping.vectors, Joining(ping.sender, ping.incarnation, "h", 1)))
            if ping.sender in state.rows and state.rows[ping.sender].status is Status.JOINING
            else ping
        )
    )


class WelcomesAnyJoining(Wrong):
    """Welcomes whoever speaks of a joining, also of another's."""

    instead: ClassVar = answering(
        lambda state, ping: replace(
            ping,
            vectors=tuple(
                replace(v, node=ping.sender) if isinstance(v, Joining) and ping.sender in state.rows else v for v in ping.vectors
            ),
        )
    )


def _welcomes_normal(state: State, ping: Ping, to: NodeId, pick: Pick) -> tuple[State, Sends]:
    row = state.rows.get(ping.sender)
    asks = any(isinstance(v, Joining) and v.node == ping.sender for v in ping.vectors)
    if row is None or row.status is not Status.NORMAL or not asks:
        return ANSWER(state, ping, to, pick)
    said = (Joining(ping.sender, row.incarnation, row.host, row.port),)
    state, message = datagram(state, (ping.sender, to), ack_of(state, ping), said, gossip.WELCOME, pick)
    return state, () if message is None else (Send(to, message),)


class WelcomesWhoIsNormal(Wrong):
    """Welcomes whoever asks, also if its joining is old."""

    instead: ClassVar = {"transitions.answer": _welcomes_normal}


class AnswersToTheRow(Wrong):
    """Sends an ack to the address in the row."""

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Changes where it came from."""
        if isinstance(event, Received) and isinstance(event.message, Ping) and event.message.sender in state.rows:
            row = state.rows[event.message.sender]
            event = replace(event, sender=NodeId(f"{row.host}:{row.port}"))
        return super().step(state, event, pick)


class StrangersGetNothing(Wrong):
    """Does not acknowledge pings of unknown senders."""

    instead: ClassVar = {
        "transitions.on_ping": lambda state, sender, ping, pick: (
            ON_PING(state, sender, ping, pick)
            if ping.sender in state.rows or any(isinstance(v, Joining) for v in ping.vectors)
            else (state, ())
        )
    }


class GoneGetNothing(Wrong):
    """Does not acknowledge pings of nodes that are dead or have left."""

    instead: ClassVar = {
        "transitions.on_ping": lambda state, sender, ping, pick: (
            (state, ())
            if ping.sender in state.rows and state.rows[ping.sender].status in (Status.DEAD, Status.LEAVE)
            else ON_PING(state, sender, ping, pick)
        )
    }


class StrangersGetEverything(Wrong):
    """Answers everybody alike."""

    instead: ClassVar = {"gossip.BARE": Carries(events=True, members=True)}


def expired(answer: Callable[[State, Ping], tuple[tuple[Any, ...], Carries] | None]) -> dict[str, Any]:
    """What is replaced for another answer to a ping of the past."""

    def on_ping(state: State, sender: NodeId, ping: Ping, pick: Pick) -> tuple[State, Sends]:
        if ping.target != state.uuid or not IS_PAST(state, ping):
            return ON_PING(state, sender, ping, pick)
        said = answer(state, ping)
        if said is None:
            return state, ()
        state, message = datagram(state, (ping.sender, sender), ack_of(state, ping), *said, pick)
        return state, () if message is None else (Send(sender, message),)

    return {"transitions.on_ping": on_ping}


class PastGetsNothing(Wrong):
    """Does not answer pings of the past."""

    instead: ClassVar = expired(lambda *_: None)


class PastGetsAnAck(Wrong):
    """Acknowledges pings of the past, and says no more."""

    instead: ClassVar = expired(lambda *_: ((), Carries()))


class PastGetsEverything(Wrong):
    """Answers a ping of the past like any other, and tells it of its death too."""

    instead: ClassVar = expired(
        lambda state, ping: (
            (Dead(ping.sender, state.rows[ping.sender].incarnation),),
            Carries(events=True, members=True, payload=True),
        )
    )


class PastGetsNoIncarnation(Wrong):
    """Tells a sender of the past that it is dead, and not which incarnation it remembers."""

    instead: ClassVar = expired(lambda _, ping: ((Dead(ping.sender),), Carries()))


class AcksOfThePastAreAnswered(Wrong):
    """Answers an ack of the past like a ping."""

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Takes it for a ping."""
        message = event.message if isinstance(event, Received) else None
        if isinstance(message, Ack) and message.target == state.uuid and IS_PAST(state, message):
            event = replace(event, message=Ping(message.sender, message.incarnation, message.target))
        return super().step(state, event, pick)


def refuting(refuted: Callable[[State, Uuid, Any], State]) -> dict[str, Any]:
    """What is replaced for another reaction to what others say of the node itself."""
    return {"transitions.refuted": refuted}


class AcceptsItsDeath(Wrong):
    """Does nothing about its own death."""

    instead: ClassVar = refuting(lambda state, *_: state)


class OnlyDeathCounts(Wrong):
    """Does nothing about its own suspicion."""

    instead: ClassVar = refuting(
        lambda state, teller, said: state if isinstance(said, Suspicious) else REFUTED(state, teller, said)
    )


class AnyNewsOfItselfCounts(Wrong):
    """Refutes whatever is said of it above its own incarnation."""

    instead: ClassVar = refuting(lambda state, teller, said: REFUTED(state, teller, Dead(said.node, said.incarnation)))


class EqualIsRefutedToo(Wrong):
    """Begins a new life also if its death is said to be at the own incarnation, or has none."""

    instead: ClassVar = refuting(
        lambda state, teller, said: (
            REFUTED(state, teller, Dead(said.node, Incarnation(state.incarnation.restart, state.incarnation.tx + 1)))
            if isinstance(said, (Dead, Suspicious)) and (said.incarnation or state.incarnation) == state.incarnation
            else REFUTED(state, teller, said)
        )
    )


class RefutesByTx(Wrong):
    """Goes on with a larger tx and the restart counter told."""

    instead: ClassVar = refuting(
        lambda state, teller, said: (
            replace(REFUTED(state, teller, said), incarnation=said.incarnation)
            if REFUTED(state, teller, said) is not state
            else state
        )
    )


def _refutes_by_one_more(state: State, teller: Uuid, said: Any) -> State:
    after = REFUTED(state, teller, said)
    if after is state or state.incarnation.restart == COUNTER_MAX:
        return after
    return replace(after, incarnation=Incarnation(state.incarnation.restart + 1, 0))


class RefutesByOneMore(Wrong):
    """Goes on with one restart more than its own, whatever it is told."""

    instead: ClassVar = {"transitions.refuted": _refutes_by_one_more}


class StaysAsJoined(Wrong):
    """Does not introduce itself again after its refutation."""

    instead: ClassVar = refuting(
        lambda state, teller, said: replace(REFUTED(state, teller, said), rows=reborn(state, state.incarnation).rows)
    )


def _asks_all_again(state: State, teller: Uuid, said: Any) -> State:
    after = REFUTED(state, teller, said)
    if after is state:
        return state
    rows = {node: replace(row, exchange=Exchange.FIRST) for node, row in after.rows.items()}
    return replace(after, rows=after.rows.put(rows))


class AsksAllAgain(Wrong):
    """Introduces itself to everybody again, whoever told it."""

    instead: ClassVar = {"transitions.refuted": _asks_all_again}


def _asks_the_teller_only(state: State, teller: Uuid, said: Any) -> State:
    after = REFUTED(state, teller, said)
    if after is state:
        return state
    exchange = {n: Exchange.FIRST if n == teller else state.rows[n].exchange for n in after.rows}
    return replace(after, rows=after.rows.put({n: replace(r, exchange=exchange[n]) for n, r in after.rows.items()}))


class AsksTheTellerOnly(Wrong):
    """Introduces itself to who told it, live or not."""

    instead: ClassVar = {"transitions.refuted": _asks_the_teller_only}


def _counters_wrap_around(state: State, teller: Uuid, said: Any) -> State:
    if isinstance(said, Dead) and said.incarnation and said.incarnation.restart == COUNTER_MAX:
        return reborn(state, Incarnation(0, 0))
    return REFUTED(state, teller, said)


class CountersWrapAround(Wrong):
    """Begins with 0 again after the largest restart counter."""

    instead: ClassVar = {"transitions.refuted": _counters_wrap_around}
