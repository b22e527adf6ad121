"""Mistakes in joining: who introduces itself to whom, and when that is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.core import Pick, Step
from peerproof.spec.swim import gossip
from peerproof.spec.swim.gossip import enqueue, with_row
from peerproof.spec.swim.messages import AddNode, Incarnation, Joining, Ping, Uuid
from peerproof.spec.swim.state import Exchange, Row, State, Status
from peerproof.spec.swim.table import event

wrong = Variants(__name__, Wrong)
INTRODUCTION = gossip.introduction


@wrong("rounds.request", "joiner-is-answered-as-expired joiner-is-not-done-after-a-bare-ack")
def RequestsHoldEverything(right: Any, state: State, node: Uuid, pick: Pick, *purpose: Any) -> Any:
    """Puts events, anti-entropy and payload into the requests of a joiner."""
    exchange = state.rows[node].exchange
    if exchange is Exchange.DONE or purpose:
        return right(state, node, pick, *purpose)
    said = INTRODUCTION(state, state.rows[node])
    done = with_row(state, node, replace(state.rows[node], exchange=Exchange.DONE))
    after, sends = right(done, node, pick, said)
    return with_row(after, node, replace(after.rows[node], exchange=exchange)), sends


def adding(after: Callable[[State, State, AddNode], State]) -> dict[str, Any]:
    """What is replaced for another add-node."""
    return around(
        "transitions.on_add_node", lambda right, state, command: Step(after(state, right(state, command).state, command))
    )


def answering(change: Callable[[State, Ping], Ping]) -> dict[str, Any]:
    """What is replaced to answer as if another ping had come."""
    return around("transitions.answer", lambda right, state, ping, to, pick: right(state, change(state, ping), to, pick))


wrong |= {
    # Introduces itself once, and waits.
    "AsksOnce: joiner-asks-again-until-answered ack-of-an-earlier-life-does-not-match": around(
        "gossip.introduction", lambda right, state, row: () if row.unanswered else right(state, row)
    ),
    # Queues an event about a node that is added.
    "AddingIsNews: add-node-queues-nothing add-node-of-a-known-one-changes-its-address": adding(
        lambda _, after, command: enqueue(after, event(command.uuid, after.rows[command.uuid], emit_incarnation=False))
    ),
    # Forgets what it knows of a node that is added again.
    "AddingBeginsAnew: add-node-of-a-known-one-changes-its-address": adding(
        lambda state, _, command: with_row(
            state,
            command.uuid,
            Row(command.host, command.port, Status.JOINING, Incarnation(0, 0), exchange=Exchange.FIRST),
        )
    ),
    # Does nothing about a node that is added again.
    "AddingAgainIsIgnored: add-node-of-a-known-one-changes-its-address": adding(
        lambda state, after, command: state if command.uuid in state.rows else after
    ),
    # Takes a node that is added for normal, and needs no introduction.
    "AddedAreNormal: told-of-added-nodes add-node-makes-a-joining-row": adding(
        lambda state, after, command: (
            after
            if command.uuid in state.rows
            else with_row(after, command.uuid, replace(after.rows[command.uuid], status=Status.NORMAL, exchange=Exchange.DONE))
        )
    ),
    # Answers a joiner like anybody.
    "NoWelcome: join-first-request-again-with-larger-tx join-first-request-twice": answering(
        lambda _, ping: replace(ping, vectors=tuple(v for v in ping.vectors if not isinstance(v, Joining)))
    ),
}
__getattr__ = wrong.find
