"""Mistakes in joining: who introduces itself to whom, and when that is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import variants

from peerproof.spec.core import NodeId, Pick, Step
from peerproof.spec.swim import commands, gossip, transitions
from peerproof.spec.swim.gossip import enqueue, with_row
from peerproof.spec.swim.messages import Ack, AddNode, Incarnation, Joining, Ping, Uuid
from peerproof.spec.swim.state import Config, Exchange, Row, State, Status
from peerproof.spec.swim.table import event
from peerproof.spec.swim.transitions import Sends

ANSWER = gossip.answer
INTRODUCED_BY = transitions.advance_introduction
INTRODUCTION = gossip.introduction
ON_ADD_NODE = commands.on_add_node
REQUEST = gossip.request


def _all_at_once(state: State, ack: Ack) -> State:
    after = INTRODUCED_BY(state, ack)
    exchange = after.rows[ack.sender].exchange
    return replace(after, rows=after.rows.put({n: replace(row, exchange=exchange) for n, row in after.rows.items()}))


def _asks_once(state: State, row: Row) -> tuple[Any, ...]:
    return () if row.unanswered else INTRODUCTION(state, row)


def _with_everything(state: State, node: Uuid, pick: Pick, *purpose: Any) -> tuple[State, Sends]:
    exchange = state.rows[node].exchange
    if exchange is Exchange.DONE or purpose:
        return REQUEST(state, node, pick, *purpose)
    said = INTRODUCTION(state, state.rows[node])
    done = with_row(state, node, replace(state.rows[node], exchange=Exchange.DONE))
    after, sends = REQUEST(done, node, pick, said)
    return with_row(after, node, replace(after.rows[node], exchange=exchange)), sends


class ItsOwnSeed(Wrong):
    """Asks itself, if it is among its seeds."""

    caught_by: ClassVar = ("seed-that-is-the-node-itself",)

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


def answering(change: Callable[[State, Ping], Ping]) -> dict[str, Any]:
    """What is replaced to answer as if another ping had come."""

    def answer(state: State, ping: Ping, to: NodeId, pick: Pick) -> tuple[State, Sends]:
        return ANSWER(state, change(state, ping), to, pick)

    return {"transitions.answer": answer}


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "OneIntroductionForAll": (
            "Keeps for itself, not for each row, how far it has introduced itself.",
            {
                "transitions.advance_introduction": _all_at_once,
                "transitions.on_add_node": lambda state, command: Step(
                    with_row(
                        replace(
                            state, rows=state.rows.put({n: replace(r, exchange=Exchange.FIRST) for n, r in state.rows.items()})
                        ),
                        command.uuid,
                        commands.build_row(state, command),
                    )
                ),
            },
            "add-node-of-itself",
        ),
        "AsksOnce": (
            "Introduces itself once, and waits.",
            {"gossip.introduction": _asks_once},
            "joiner-asks-again-until-answered ack-of-an-earlier-life-does-not-match",
        ),
        "RequestsHoldEverything": (
            "Puts events, anti-entropy and payload into the requests of a joiner.",
            {"rounds.request": _with_everything},
            "joiner-is-answered-as-expired joiner-is-not-done-after-a-bare-ack",
        ),
        "AddingIsNews": (
            "Queues an event about a node that is added.",
            adding(
                lambda _, after, command: enqueue(after, event(command.uuid, after.rows[command.uuid], emit_incarnation=False))
            ),
            "add-node-queues-nothing add-node-of-a-known-one-changes-its-address",
        ),
        "AddingBeginsAnew": (
            "Forgets what it knows of a node that is added again.",
            adding(
                lambda state, _, command: with_row(
                    state,
                    command.uuid,
                    Row(command.host, command.port, Status.JOINING, Incarnation(0, 0), exchange=Exchange.FIRST),
                )
            ),
            "add-node-of-a-known-one-changes-its-address",
        ),
        "AddingAgainIsIgnored": (
            "Does nothing about a node that is added again.",
            adding(lambda state, after, command: state if command.uuid in state.rows else after),
            "add-node-of-a-known-one-changes-its-address",
        ),
        "AddsItself": (
            "Adds itself, if it is told to.",
            {
                "transitions.on_add_node": lambda state, command: Step(
                    with_row(state, command.uuid, commands.build_row(state, command))
                )
            },
            "add-node-of-itself",
        ),
        "AddedAreNormal": (
            "Takes a node that is added for normal, and needs no introduction.",
            adding(
                lambda state, after, command: (
                    after
                    if command.uuid in state.rows
                    else with_row(
                        after, command.uuid, replace(after.rows[command.uuid], status=Status.NORMAL, exchange=Exchange.DONE)
                    )
                )
            ),
            "told-of-added-nodes add-node-makes-a-joining-row",
        ),
        "NoWelcome": (
            "Answers a joiner like anybody.",
            answering(lambda _, ping: replace(ping, vectors=tuple(v for v in ping.vectors if not isinstance(v, Joining)))),
            "join-first-request-again-with-larger-tx join-first-request-twice",
        ),
    },
)
__getattr__ = MISTAKES.find
