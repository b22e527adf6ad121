"""Each property holds of something good and is violated by something bad, so that none of them is empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from peerproof.spec.core import Asked, Expired, Received, Send
from peerproof.spec.properties import Cluster, InFlight, Property, Taken, find_violations
from peerproof.spec.swim import PROPERTIES, Incarnation, Message, Payload, Quantum, RemoveNode, State, Uuid
from peerproof.spec.swim.state import Queued

from .nodes import NOW, A, B, C, D, E, ack, data, member, members, node, ping, place, row, said

PROPERTY: Mapping[str, Property] = {p.name: p for p in PROPERTIES}


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


@dataclass(frozen=True)
class Cases:
    """What a property must hold of, and what it must not hold of."""

    good: Mapping[str, Any]
    bad: Mapping[str, Any]


ONE = node({B: "normal 2 5", C: "normal 1 7"})
DYING = node({B: row(B, "suspicious 1 7", indirect_misses=1, indirect_asked=True)})
SILENT = node({B: "normal 1 1", C: "normal 1 1"}, pinged=frozenset({B, C}))
GONE = node({B: "leave 1 7"})
PAID = node({B: row(B, "normal 1 7", payload=data(x=1))})

CASES: dict[str, Cases] = {
    "TypeOK": Cases(
        good={"others": ONE, "answered of the pinged": replace(ONE, pinged=frozenset({B}), answered=frozenset({B}))},
        bad={"itself": node({A: "normal 1 1"}), "answered without a ping": replace(ONE, answered=frozenset({B}))},
    ),
    "OwnAhead": Cases(
        good={"behind": cluster(node(), of(B, node({A: "normal 1 10"}))), "not there": cluster(ONE)},
        bad={"ahead": cluster(node(), of(B, node({A: "normal 1 11"})))},
    ),
    "NothingInvented": Cases(
        good={"as it is": cluster(node(), under_way=(ping(B, 9, 9, said("dead A 1 10")),))},
        bad={
            "in an event": cluster(node(), under_way=(ping(B, 1, 1, said("dead A 1 11")),)),
            "in anti-entropy": cluster(node(), under_way=(ack(B, 1, 1, 1, members(member(A, 2, 0))),)),
            "in a header": cluster(node(), of(B, node()), under_way=(ping(B, 2, 1),)),
        },
    ),
    "Monotone": Cases(
        good={
            "growth": heard(ONE, ping(B, 2, 6), node({B: "normal 2 6", C: "dead 1 7", D: "normal 1 1"})),
            "removal": Taken(ONE, Asked(NOW, RemoveNode(C)), node({B: "normal 2 5"}), ()),
        },
        bad={
            "a smaller tx": heard(ONE, ping(B, 2, 6), node({B: "normal 2 4", C: "normal 1 7"})),
            "a better status": heard(GONE, ping(B, 1, 8), node({B: "normal 1 8"})),
            "a row is gone": heard(ONE, ping(B, 2, 6), node({B: "normal 2 6"})),
        },
    ),
    "QueueLast": Cases(
        good={
            "what the row says": heard(ONE, ping(B, 2, 6), queued(ONE, "normal C", "normal B 2 3")),
            "of a row that was removed": heard(ONE, ping(B, 2, 6), queued(ONE, "leave D 1 1")),
            "of a row that was removed and is back": heard(
                queued(ONE, "leave D 1 1"), ping(B, 2, 6), queued(node({B: "normal 2 5", D: "normal 1 1"}), "leave D 1 1")
            ),
        },
        bad={
            "another status": heard(ONE, ping(B, 2, 6), queued(ONE, "dead C")),
            "another life": heard(ONE, ping(B, 2, 6), queued(ONE, "normal B 1 9")),
            "twice": heard(ONE, ping(B, 2, 6), queued(ONE, "normal C", "normal C")),
            "what it said before": heard(queued(ONE, "normal C"), ping(B, 2, 6), queued(node({C: "dead 1 7"}), "normal C")),
        },
    ),
    "FairRound": Cases(
        good={"each once": replace(ONE, vector=(B,), pinged=frozenset({C}))},
        bad={"again": replace(ONE, vector=(B,), pinged=frozenset({B})), "twice": replace(ONE, vector=(B, B))},
    ),
    "DeadOnlyAfterSuspicious": Cases(
        good={
            "after two indirect pings": quantum(DYING, node({B: "dead 1 7"})),
            "by hearsay": heard(ONE, ping(B, 2, 6, said("dead C")), node({B: "normal 2 6", C: "dead 1 7"})),
        },
        bad={
            "out of the blue": quantum(ONE, node({B: "normal 2 5", C: "dead 1 7"})),
            "after one": quantum(node({B: row(B, "suspicious 1 7", indirect_asked=True)}), node({B: "dead 1 7"})),
            "unasked": quantum(node({B: row(B, "suspicious 1 7", indirect_misses=1)}), node({B: "dead 1 7"})),
        },
    ),
    "PastIgnored": Cases(
        good={
            "an ack is dropped": heard(ONE, ack(B, 2, 4, 1)),
            "a ping is answered": heard(ONE, ping(B, 2, 4), at(ONE, 1, 11), ack(A, 1, 11, 4, said("dead B 2 5"), target=B)),
            "the present": heard(ONE, ping(B, 2, 5), at(ONE, 1, 11), ack(A, 1, 11, 5, target=B)),
        },
        bad={
            "an ack is answered": heard(ONE, ack(B, 2, 4, 1), at(ONE, 1, 11), ack(A, 1, 11, 4, target=B)),
            "a ping is not": heard(ONE, ping(B, 2, 4), at(ONE, 1, 11)),
            "with another incarnation": heard(ONE, ping(B, 2, 4), at(ONE, 1, 11), ack(A, 1, 11, 4, said("dead B 2 4"), target=B)),
            "with more": heard(
                ONE, ping(B, 2, 4), at(ONE, 1, 11), ack(A, 1, 11, 4, said("dead B 2 5"), said("normal C"), target=B)
            ),
            "a row changes": heard(
                ONE,
                ping(B, 2, 4),
                node({B: "normal 2 5"}, incarnation=Incarnation(1, 11)),
                ack(A, 1, 11, 4, said("dead B 2 5"), target=B),
            ),
            "isolation ends": heard(replace(ONE, isolated=True), ack(B, 2, 4, 1), ONE),
        },
    ),
    "PayloadLife": Cases(
        good={
            "it stays": heard(PAID, ping(B, 1, 8), node({B: row(B, "normal 1 8", payload=data(x=1))})),
            "it goes": heard(PAID, ping(B, 2, 1), node({B: "normal 2 1"})),
            "another comes": heard(PAID, ping(B, 2, 1, Payload(data(x=2))), node({B: row(B, "normal 2 1", payload=data(x=2))})),
        },
        bad={
            "it survives": heard(PAID, ping(B, 2, 1), node({B: row(B, "normal 2 1", payload=data(x=1))})),
            "it comes from nowhere": heard(PAID, ping(B, 1, 8), node({B: row(B, "normal 1 8", payload=data(x=2))})),
            "it is somebody else's": heard(
                PAID, ping(C, 1, 8, Payload(data(x=2))), node({B: row(B, "normal 1 7", payload=data(x=2))})
            ),
        },
    ),
    "IsolationQuiet": Cases(
        good={
            "nobody": quantum(SILENT, replace(SILENT, isolated=True)),
            "somebody was heard": quantum(replace(SILENT, heard=True), node({B: "suspicious 1 1", C: "normal 1 1"})),
            "one alone": quantum(replace(SILENT, pinged=frozenset({B})), node({B: "suspicious 1 1", C: "normal 1 1"})),
        },
        bad={
            "somebody": quantum(SILENT, node({B: "suspicious 1 1", C: "normal 1 1"}, isolated=True)),
            "it does not notice": quantum(SILENT, SILENT),
        },
    ),
    "RecipientBound": Cases(
        good={
            "not enough yet": quantum(queued(ONE, "normal C"), queued(ONE, "normal C", to=frozenset({B}))),
            "the one that it is about": quantum(queued(ONE, "normal C"), queued(ONE, "normal C", to=frozenset({B, C}))),
            "since then there are fewer nodes": quantum(
                queued(ONE, "normal C", to=frozenset({B, D})), queued(ONE, "normal C", to=frozenset({B, D}))
            ),
        },
        bad={"enough": quantum(queued(ONE, "normal C", to=frozenset({B})), queued(ONE, "normal C", to=frozenset({B, D})))},
    ),
    "StaleRumourHarmless": Cases(
        good={
            "below": heard(ONE, ping(B, 2, 5, said("dead C 1 6"))),
            "as it is": heard(ONE, ping(B, 2, 5, said("dead C 1 7")), node({B: "normal 2 5", C: "dead 1 7"})),
            "without an incarnation": heard(ONE, ping(B, 2, 5, said("dead C")), node({B: "normal 2 5", C: "dead 1 7"})),
            "leaving": heard(ONE, ping(B, 2, 5, said("leave C 1 3")), node({B: "normal 2 5", C: "leave 1 3"})),
        },
        bad={
            "in an event": heard(ONE, ping(B, 2, 5, said("dead C 1 6")), node({B: "normal 2 5", C: "dead 1 7"})),
            "in anti-entropy": heard(ONE, ping(B, 2, 5, members(member(C, 1, 6))), node({B: "normal 2 5", C: "normal 1 6"})),
        },
    ),
    "LeaveSticky": Cases(
        good={
            "it stays": heard(GONE, ping(B, 1, 8), node({B: "leave 1 8"})),
            "a new life": heard(GONE, ping(B, 2, 1), node({B: "normal 2 1"})),
        },
        bad={"back": heard(GONE, ping(B, 1, 8), node({B: "normal 1 8"}))},
    ),
    "DatagramBounded": Cases(
        good={"small": heard(ONE, ping(B, 2, 5), at(ONE, 1, 11), ack(A, 1, 11, 5, target=B))},
        bad={"large": heard(ONE, ping(B, 2, 5), at(ONE, 1, 11), ack(A, 1, 11, 5, *[said("normal C")] * 60, target=B))},
    ),
    "CounterGrows": Cases(
        good={
            "one more": quantum(ONE, at(ONE, 1, 11), ping(A, 1, 11, target=B)),
            "a new life": heard(ONE, ack(B, 2, 5, 1), at(ONE, 7, 0)),
            "nothing sent": quantum(ONE, ONE),
        },
        bad={
            "not counted": quantum(ONE, ONE, ping(A, 1, 10, target=B)),
            "counted twice": quantum(ONE, at(ONE, 1, 12), ping(A, 1, 12, target=B)),
            "two with one number": quantum(ONE, at(ONE, 1, 12), ping(A, 1, 12, target=B), ping(A, 1, 12, target=C)),
            "back": quantum(ONE, at(ONE, 1, 9)),
        },
    ),
    "SomebodySuspicious": Cases(good={"one": cluster(node({B: "suspicious 1 1"}))}, bad={"nobody": cluster(ONE)}),
    "SomebodyDead": Cases(good={"one": cluster(node({B: "dead 1 1"}))}, bad={"nobody": cluster(ONE)}),
    "PastArrives": Cases(
        good={"a ping": heard(ONE, ping(B, 2, 4))},
        bad={"the present": heard(ONE, ping(B, 2, 5)), "a stranger": heard(ONE, ping(E, 0, 0))},
    ),
    "SomebodyRefuted": Cases(
        good={"one": heard(node({B: "dead 1 7"}), ping(B, 1, 8), node({B: "normal 1 8"}))},
        bad={"a joiner": heard(node({B: "joining 1 7"}), ping(B, 2, 8), node({B: "normal 2 8"}))},
    ),
    "BecomesIsolated": Cases(
        good={"now": quantum(SILENT, replace(SILENT, isolated=True))},
        bad={"still": quantum(replace(SILENT, isolated=True), replace(SILENT, isolated=True))},
    ),
    "AllNormal": Cases(
        good={"all": cluster(node({B: "normal 1 1"}), of(B, node({A: "normal 1 1"})))},
        bad={
            "not yet": cluster(node({B: "joining 1 1"}), of(B, node({A: "normal 1 1"}))),
            "a stranger": cluster(node(), of(B, node({A: "normal 1 1"}))),
        },
    ),
}


def test_every_property_has_its_cases() -> None:
    assert set(CASES) == set(PROPERTY)


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases.good])
def test_it_holds_of_what_is_good(name: str, case: str) -> None:
    assert PROPERTY[name].holds(CASES[name].good[case])


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases.bad])
def test_it_does_not_hold_of_what_is_bad(name: str, case: str) -> None:
    assert not PROPERTY[name].holds(CASES[name].bad[case])


def test_what_is_violated_is_told_by_name() -> None:
    bad = CASES["CounterGrows"].bad["back"]

    assert [broken.name for broken in find_violations(PROPERTIES, "step", bad)] == ["CounterGrows"]
