"""Mistakes in answering joiners, strangers and the past, and in what a node does that is told of its own death."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.introductions import ANSWER, REFUTED, answering
from tests.support.variant import variants

from peerproof.reference.divergences.swim import IS_PAST, ON_PING
from peerproof.spec.core import NodeId, Pick, Received, Send, Step
from peerproof.spec.swim import gossip
from peerproof.spec.swim.gossip import Carries, ack_of, datagram, reborn
from peerproof.spec.swim.messages import COUNTER_MAX, Ack, Dead, Incarnation, Joining, Normal, Ping, Suspicious, Uuid
from peerproof.spec.swim.state import Exchange, State, Status
from peerproof.spec.swim.transitions import Sends


def _welcomes_normal(state: State, ping: Ping, to: NodeId, pick: Pick) -> tuple[State, Sends]:
    row = state.rows.get(ping.sender)
    asks = any(isinstance(v, Joining) and v.node == ping.sender for v in ping.vectors)
    if row is None or row.status is not Status.NORMAL or not asks:
        return ANSWER(state, ping, to, pick)
    said = (Joining(ping.sender, row.incarnation, row.host, row.port),)
    state, message = datagram(state, (ping.sender, to), ack_of(state, ping), said, gossip.WELCOME, pick)
    return state, () if message is None else (Send(to, message),)


class AnswersToTheRow(Wrong):
    """Sends an ack to the address in the row."""

    caught_by: ClassVar = ("answer-goes-to-where-the-ping-came-from",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Changes where it came from."""
        if isinstance(event, Received) and isinstance(event.message, Ping) and event.message.sender in state.rows:
            row = state.rows[event.message.sender]
            event = replace(event, sender=NodeId(f"{row.host}:{row.port}"))
        return super().step(state, event, pick)


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


class AcksOfThePastAreAnswered(Wrong):
    """Answers an ack of the past like a ping."""

    caught_by: ClassVar = ("late-ack-of-a-dead-node", "late-ack-of-a-node-that-left")

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Takes it for a ping."""
        message = event.message if isinstance(event, Received) else None
        if isinstance(message, Ack) and message.target == state.uuid and IS_PAST(state, message):
            event = replace(event, message=Ping(message.sender, message.incarnation, message.target))
        return super().step(state, event, pick)


def refuting(refuted: Callable[[State, Uuid, Any], State]) -> dict[str, Any]:
    """What is replaced for another reaction to what others say of the node itself."""
    return {"transitions.refute": refuted}


def _refutes_by_one_more(state: State, teller: Uuid, said: Any) -> State:
    after = REFUTED(state, teller, said)
    if after is state or state.incarnation.restart == COUNTER_MAX:
        return after
    return replace(after, incarnation=Incarnation(state.incarnation.restart + 1, 0))


def _asks_all_again(state: State, teller: Uuid, said: Any) -> State:
    after = REFUTED(state, teller, said)
    if after is state:
        return state
    rows = {node: replace(row, exchange=Exchange.FIRST) for node, row in after.rows.items()}
    return replace(after, rows=after.rows.put(rows))


def _asks_the_teller_only(state: State, teller: Uuid, said: Any) -> State:
    after = REFUTED(state, teller, said)
    if after is state:
        return state
    exchange = {n: Exchange.FIRST if n == teller else state.rows[n].exchange for n in after.rows}
    return replace(after, rows=after.rows.put({n: replace(r, exchange=exchange[n]) for n, r in after.rows.items()}))


def _counters_wrap_around(state: State, teller: Uuid, said: Any) -> State:
    if isinstance(said, Dead) and said.incarnation and said.incarnation.restart == COUNTER_MAX:
        return reborn(state, Incarnation(0, 0))
    return REFUTED(state, teller, said)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "NoNormalAnswer": (
            "Does not tell a joiner that it is normal, but for what is in the queue.",
            answering(lambda _, ping: replace(ping, vectors=tuple(v for v in ping.vectors if not isinstance(v, Normal)))),
            "join-second-request-again events-are-not-lost-on-nobody",
        ),
        "WelcomesWhoIsJoining": (
            "Welcomes whoever is joining, whether it asks or not.",
            answering(
                lambda state, ping: (
                    replace(ping, vectors=(*ping.vectors, Joining(ping.sender, ping.incarnation, "h", 1)))
                    if ping.sender in state.rows and state.rows[ping.sender].status is Status.JOINING
                    else ping
                )
            ),
            "joining-stays-until-the-second-request nested-64-deep",
        ),
        "WelcomesAnyJoining": (
            "Welcomes whoever speaks of a joining, also of another's.",
            answering(
                lambda state, ping: replace(
                    ping,
                    vectors=tuple(
                        replace(v, node=ping.sender) if isinstance(v, Joining) and ping.sender in state.rows else v
                        for v in ping.vectors
                    ),
                )
            ),
            "joining-of-another-is-not-welcomed",
        ),
        "WelcomesWhoIsNormal": (
            "Welcomes whoever asks, also if its joining is old.",
            {"transitions.answer": _welcomes_normal},
            "joining-older-than-its-header",
        ),
        "StrangersGetNothing": (
            "Does not acknowledge pings of unknown senders.",
            {
                "transitions.on_ping": lambda state, sender, ping, pick: (
                    ON_PING(state, sender, ping, pick)
                    if ping.sender in state.rows or any(isinstance(v, Joining) for v in ping.vectors)
                    else (state, ())
                )
            },
            "restart-counter-of-0 restarted-node-has-forgotten",
        ),
        "GoneGetNothing": (
            "Does not acknowledge pings of nodes that are dead or have left.",
            {
                "transitions.on_ping": lambda state, sender, ping, pick: (
                    (state, ())
                    if ping.sender in state.rows and state.rows[ping.sender].status in (Status.DEAD, Status.LEAVE)
                    else ON_PING(state, sender, ping, pick)
                )
            },
            "dead-sender-gets-an-ack-alone dead-node-stays-dead-at-the-same-incarnation",
        ),
        "StrangersGetEverything": (
            "Answers everybody alike.",
            {"gossip.BARE": Carries(events=True, members=True)},
            "unknown-sender-asks-nobody-else unknown-sender-is-told-nothing",
        ),
        "PastGetsNothing": (
            "Does not answer pings of the past.",
            expired(lambda *_: None),
            "expired-ping-asks-nobody-else expired-ping-of-a-node-that-left",
        ),
        "PastGetsAnAck": (
            "Acknowledges pings of the past, and says no more.",
            expired(lambda *_: ((), Carries())),
            "expired-ping-asks-nobody-else expired-ping-of-a-node-that-left",
        ),
        "PastGetsEverything": (
            "Answers a ping of the past like any other, and tells it of its death too.",
            expired(
                lambda state, ping: (
                    (Dead(ping.sender, state.rows[ping.sender].incarnation),),
                    Carries(events=True, members=True, payload=True),
                )
            ),
            "expired-ping-asks-nobody-else expired-answer-holds-nothing-else",
        ),
        "PastGetsNoIncarnation": (
            "Tells a sender of the past that it is dead, and not which incarnation it remembers.",
            expired(lambda _, ping: ((Dead(ping.sender),), Carries())),
            "expired-ping-asks-nobody-else expired-ping-of-a-node-that-left",
        ),
        "AcceptsItsDeath": (
            "Does nothing about its own death.",
            refuting(lambda state, *_: state),
            "told-dead-in-an-ack told-dead-just-below-the-largest-restart-counter",
        ),
        "OnlyDeathCounts": (
            "Does nothing about its own suspicion.",
            refuting(lambda state, teller, said: state if isinstance(said, Suspicious) else REFUTED(state, teller, said)),
            "told-suspicious-above-the-own-incarnation",
        ),
        "AnyNewsOfItselfCounts": (
            "Refutes whatever is said of it above its own incarnation.",
            refuting(lambda state, teller, said: REFUTED(state, teller, Dead(said.node, said.incarnation))),
            "events-about-the-receiver",
        ),
        "EqualIsRefutedToo": (
            "Begins a new life also if its death is said to be at the own incarnation, or has none.",
            refuting(
                lambda state, teller, said: (
                    REFUTED(state, teller, Dead(said.node, Incarnation(state.incarnation.restart, state.incarnation.tx + 1)))
                    if isinstance(said, (Dead, Suspicious)) and (said.incarnation or state.incarnation) == state.incarnation
                    else REFUTED(state, teller, said)
                )
            ),
            "events-about-the-receiver told-dead-twice",
        ),
        "RefutesByTx": (
            "Goes on with a larger tx and the restart counter told.",
            refuting(
                lambda state, teller, said: (
                    replace(REFUTED(state, teller, said), incarnation=said.incarnation)
                    if REFUTED(state, teller, said) is not state
                    else state
                )
            ),
            "told-dead-in-an-ack relay-forgets-with-its-own-restart",
        ),
        "RefutesByOneMore": (
            "Goes on with one restart more than its own, whatever it is told.",
            {"transitions.refute": _refutes_by_one_more},
            "told-dead-just-below-the-largest-restart-counter told-dead-twice",
        ),
        "StaysAsJoined": (
            "Does not introduce itself again after its refutation.",
            refuting(
                lambda state, teller, said: replace(REFUTED(state, teller, said), rows=reborn(state, state.incarnation).rows)
            ),
            "told-dead-in-an-ack told-dead-just-below-the-largest-restart-counter",
        ),
        "AsksAllAgain": (
            "Introduces itself to everybody again, whoever told it.",
            {"transitions.refute": _asks_all_again},
            "told-dead-by-one-of-two",
        ),
        "AsksTheTellerOnly": (
            "Introduces itself to who told it, live or not.",
            {"transitions.refute": _asks_the_teller_only},
            "told-dead-by-one-who-left",
        ),
        "CountersWrapAround": (
            "Begins with 0 again after the largest restart counter.",
            {"transitions.refute": _counters_wrap_around},
            "told-dead-at-the-largest-restart-counter",
        ),
    },
)
__getattr__ = MISTAKES.find
