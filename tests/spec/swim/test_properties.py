"""What breaks each property: a table of `tests/spec/test_properties.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.support.swim_nodes import NOW, A, B, C, D, E, ack, data, member, members, node, ping, place, row, said

from peerproof.spec.core import Expired, Received, Send
from peerproof.spec.properties import Cluster, InFlight, Taken
from peerproof.spec.swim import Incarnation, Message, Payload, Quantum, State, Uuid
from peerproof.spec.swim.state import Queued


def of(uuid: Uuid, state: State) -> State:
    """The same node by another name."""
    return replace(state, self_id=place(uuid), config=replace(state.config, uuid=uuid))


def cluster(*states: State, under_way: tuple[Message, ...] = ()) -> Cluster:
    """These nodes, and what is under way from B to A."""
    return Cluster({state.self_id: state for state in states}, tuple(InFlight(place(B), place(A), m) for m in under_way))


def heard(before: State, message: Message, after: State | None = None, *answers: Message) -> Taken:
    """A step that a message leads to."""
    event = Received(NOW, place(B), message)
    return Taken(before, event, after or before, tuple(Send(place(B), answer) for answer in answers))


def quantum(before: State, after: State, *sent: Message) -> Taken:
    """A step that a quantum leads to."""
    return Taken(before, Expired(NOW, Quantum()), after, tuple(Send(place(B), message) for message in sent))


def queued(state: State, *texts: str, to: frozenset[Uuid] = frozenset()) -> State:
    """The node with these events in its queue."""
    return replace(state, queue=tuple(Queued(said(text), to) for text in texts))


def at(state: State, restart: int, tx: int) -> State:
    """The node at this incarnation."""
    return replace(state, incarnation=Incarnation(restart, tx))


ONE = node({B: "normal 2 5", C: "normal 1 7"})
DYING = node({B: row(B, "suspicious 1 7", indirect_misses=1, indirect_asked=True)})
SILENT = node({B: "normal 1 1", C: "normal 1 1"}, pinged=frozenset({B, C}))
GONE = node({B: "leave 1 7"})
PAID = node({B: row(B, "normal 1 7", payload=data(x=1))})

BAD: dict[str, Mapping[str, Any]] = {
    "TypeOK": {"itself": node({A: "normal 1 1"}), "answered without a ping": replace(ONE, answered=frozenset({B}))},
    "OwnAhead": {"ahead": cluster(node(), of(B, node({A: "normal 1 11"})))},
    "NothingInvented": {
        "in an event": cluster(node(), under_way=(ping(B, 1, 1, said("dead A 1 11")),)),
        "in anti-entropy": cluster(node(), under_way=(ack(B, 1, 1, 1, members(member(A, 2, 0))),)),
        "in a header": cluster(node(), of(B, node()), under_way=(ping(B, 2, 1),)),
    },
    "Monotone": {
        "a smaller tx": heard(ONE, ping(B, 2, 6), node({B: "normal 2 4", C: "normal 1 7"})),
        "a better status": heard(GONE, ping(B, 1, 8), node({B: "normal 1 8"})),
        "a row is gone": heard(ONE, ping(B, 2, 6), node({B: "normal 2 6"})),
    },
    "QueueLast": {
        "another status": heard(ONE, ping(B, 2, 6), queued(ONE, "dead C")),
        "another life": heard(ONE, ping(B, 2, 6), queued(ONE, "normal B 1 9")),
        "twice": heard(ONE, ping(B, 2, 6), queued(ONE, "normal C", "normal C")),
        "what it said before": heard(queued(ONE, "normal C"), ping(B, 2, 6), queued(node({C: "dead 1 7"}), "normal C")),
    },
    "FairRound": {"again": replace(ONE, vector=(B,), pinged=frozenset({B})), "twice": replace(ONE, vector=(B, B))},
    "DeadOnlyAfterSuspicious": {
        "out of the blue": quantum(ONE, node({B: "normal 2 5", C: "dead 1 7"})),
        "after one": quantum(node({B: row(B, "suspicious 1 7", indirect_asked=True)}), node({B: "dead 1 7"})),
        "unasked": quantum(node({B: row(B, "suspicious 1 7", indirect_misses=1)}), node({B: "dead 1 7"})),
    },
    "PastIgnored": {
        "an ack is answered": heard(ONE, ack(B, 2, 4, 1), at(ONE, 1, 11), ack(A, 1, 11, 4, target=B)),
        "a ping is not": heard(ONE, ping(B, 2, 4), at(ONE, 1, 11)),
        "with another incarnation": heard(ONE, ping(B, 2, 4), at(ONE, 1, 11), ack(A, 1, 11, 4, said("dead B 2 4"), target=B)),
        "with more": heard(ONE, ping(B, 2, 4), at(ONE, 1, 11), ack(A, 1, 11, 4, said("dead B 2 5"), said("normal C"), target=B)),
        "a row changes": heard(
            ONE,
            ping(B, 2, 4),
            node({B: "normal 2 5"}, incarnation=Incarnation(1, 11)),
            ack(A, 1, 11, 4, said("dead B 2 5"), target=B),
        ),
        "isolation ends": heard(replace(ONE, isolated=True), ack(B, 2, 4, 1), ONE),
    },
    "PayloadLife": {
        "it survives": heard(PAID, ping(B, 2, 1), node({B: row(B, "normal 2 1", payload=data(x=1))})),
        "it comes from nowhere": heard(PAID, ping(B, 1, 8), node({B: row(B, "normal 1 8", payload=data(x=2))})),
        "it is somebody else's": heard(
            PAID, ping(C, 1, 8, Payload(data(x=2))), node({B: row(B, "normal 1 7", payload=data(x=2))})
        ),
    },
    "IsolationQuiet": {
        "somebody": quantum(SILENT, node({B: "suspicious 1 1", C: "normal 1 1"}, isolated=True)),
        "it does not notice": quantum(SILENT, SILENT),
    },
    "RecipientBound": {
        "enough": quantum(queued(ONE, "normal C", to=frozenset({B})), queued(ONE, "normal C", to=frozenset({B, D})))
    },
    "StaleRumourHarmless": {
        "in an event": heard(ONE, ping(B, 2, 5, said("dead C 1 6")), node({B: "normal 2 5", C: "dead 1 7"})),
        "in anti-entropy": heard(ONE, ping(B, 2, 5, members(member(C, 1, 6))), node({B: "normal 2 5", C: "normal 1 6"})),
    },
    "LeaveSticky": {"back": heard(GONE, ping(B, 1, 8), node({B: "normal 1 8"}))},
    "DatagramBounded": {"large": heard(ONE, ping(B, 2, 5), at(ONE, 1, 11), ack(A, 1, 11, 5, *[said("normal C")] * 60, target=B))},
    "CounterGrows": {
        "not counted": quantum(ONE, ONE, ping(A, 1, 10, target=B)),
        "two with one number": quantum(ONE, at(ONE, 1, 12), ping(A, 1, 12, target=B), ping(A, 1, 12, target=C)),
    },
    "CounterCounts": {
        "not counted": quantum(ONE, ONE, ping(A, 1, 11, target=B)),
        "counted twice": quantum(ONE, at(ONE, 1, 12), ping(A, 1, 12, target=B)),
        "none counted": quantum(ONE, at(ONE, 1, 11)),
        "back": quantum(ONE, at(ONE, 1, 9)),
    },
    "SomebodySuspicious": {"nobody": cluster(ONE)},
    "SomebodyDead": {"nobody": cluster(ONE)},
    "PastArrives": {"the present": heard(ONE, ping(B, 2, 5)), "a stranger": heard(ONE, ping(E, 0, 0))},
    "SomebodyRefuted": {"a joiner": heard(node({B: "joining 1 7"}), ping(B, 2, 8), node({B: "normal 2 8"}))},
    "BecomesIsolated": {"still": quantum(replace(SILENT, isolated=True), replace(SILENT, isolated=True))},
    "AllNormal": {
        "not yet": cluster(node({B: "joining 1 1"}), of(B, node({A: "normal 1 1"}))),
        "a stranger": cluster(node(), of(B, node({A: "normal 1 1"}))),
    },
}
