"""What a message makes of the table: the header, the past, events, anti-entropy, payloads, and what is said of oneself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerproof.spec.swim import (
    Dead,
    EventType,
    Exchange,
    Incarnation,
    Joining,
    Leave,
    Message,
    NodeEvent,
    Normal,
    Payload,
    Suspicious,
)
from peerproof.spec.swim.messages import COUNTER_MAX

from .nodes import (
    NAMES,
    A,
    B,
    C,
    D,
    E,
    ack,
    data,
    member,
    members,
    messages,
    node,
    ping,
    place,
    queue,
    received,
    row,
    rows,
    said,
    sent,
    told,
)

# id: (rows, message, rows afterwards, queue afterwards)
MERGED: dict[str, tuple[dict[str, str], Message, dict[str, str], list[str]]] = {
    "SC-16 a new life of the sender": ({"B": "normal 1 999"}, ping(B, 2, 0), {"B": "normal 2 0"}, ["normal B"]),
    "SC-19 the same again": ({"B": "normal 2 5"}, ping(B, 2, 5), {"B": "normal 2 5"}, []),
    "a larger tx": ({"B": "normal 2 5"}, ping(B, 2, 6), {"B": "normal 2 6"}, []),
    "SC-20 news of a suspicion": (
        {"B": "normal 1 1", "C": "normal 1 7"},
        ping(B, 1, 1, said("suspicious C")),
        {"B": "normal 1 1", "C": "suspicious 1 7"},
        ["suspicious C"],
    ),
    "SC-21 that somebody is well refutes no suspicion": (
        {"B": "normal 1 1", "C": "suspicious 1 7"},
        ping(B, 1, 1, said("normal C")),
        {"B": "normal 1 1", "C": "suspicious 1 7"},
        [],
    ),
    "SC-22 the next message does": ({"B": "suspicious 1 7"}, ping(B, 1, 8), {"B": "normal 1 8"}, ["normal B"]),
    "the same message does not": ({"B": "suspicious 1 7"}, ping(B, 1, 7), {"B": "suspicious 1 7"}, []),
    "SC-23 anti-entropy with a larger incarnation": (
        {"B": "normal 1 1", "C": "suspicious 1 7"},
        ping(B, 1, 1, members(member(C, 1, 8))),
        {"B": "normal 1 1", "C": "normal 1 8"},
        ["normal C"],
    ),
    "SC-23 with the same": (
        {"B": "normal 1 1", "C": "suspicious 1 7"},
        ping(B, 1, 1, members(member(C, 1, 7))),
        {"B": "normal 1 1", "C": "suspicious 1 7"},
        [],
    ),
    "anti-entropy makes nobody normal at the same incarnation": (
        {"B": "normal 1 1", "C": "joining 1 7"},
        ping(B, 1, 1, members(member(C, 1, 7))),
        {"B": "normal 1 1", "C": "joining 1 7"},
        [],
    ),
    "SC-24 death at a smaller incarnation": (
        {"B": "normal 1 1", "C": "normal 1 7"},
        ping(B, 1, 1, said("dead C 1 6")),
        {"B": "normal 1 1", "C": "normal 1 7"},
        [],
    ),
    "SC-24 death at the same": (
        {"B": "normal 1 1", "C": "normal 1 7"},
        ping(B, 1, 1, said("dead C 1 7")),
        {"B": "normal 1 1", "C": "dead 1 7"},
        ["dead C"],
    ),
    "SC-25 the dead come back": ({"B": "dead 1 7"}, ping(B, 1, 8), {"B": "normal 1 8"}, ["normal B"]),
    "who has left does not": ({"B": "leave 1 7"}, ping(B, 1, 8), {"B": "leave 1 8"}, []),
    "who has left does in another life": ({"B": "leave 1 7"}, ping(B, 2, 1), {"B": "normal 2 1"}, ["normal B"]),
    "who is joining stays so in this life": ({"B": "joining 1 7"}, ping(B, 1, 8), {"B": "joining 1 8"}, []),
    "and is normal in another": ({"B": "joining 1 7"}, ping(B, 2, 1), {"B": "normal 2 1"}, ["normal B"]),
    "a joining about the sender counts in place of the header": (
        {"B": "normal 1 7"},
        ping(B, 2, 1, said("joining B 2 1")),
        {"B": "joining 2 1"},
        ["joining B 2 1"],
    ),
    "SC-28 anti-entropy about a stranger and about oneself": (
        {"B": "normal 1 1"},
        ping(B, 1, 1, members(member(D, 1, 3), member(A, 9, 9))),
        {"B": "normal 1 1", "D": "normal 1 3"},
        [],
    ),
    "events about strangers": (
        {"B": "normal 1 1"},
        ping(B, 1, 1, said("normal D 1 1"), said("dead C"), said("suspicious D"), said("leave D 1 1")),
        {"B": "normal 1 1"},
        [],
    ),
    "a joining about a stranger": (
        {"B": "normal 1 1"},
        ping(B, 1, 1, said("joining D 1 1")),
        {"B": "normal 1 1", "D": "joining 1 1"},
        ["joining D 1 1"],
    ),
    "vectors in their order": (
        {"B": "normal 1 1", "C": "normal 1 7"},
        ping(B, 1, 1, said("suspicious C"), said("normal C 1 8"), said("dead C")),
        {"B": "normal 1 1", "C": "dead 1 8"},
        ["dead C"],
    ),
    "death of the sender, by itself": ({"B": "normal 1 7"}, ping(B, 1, 8, said("dead B")), {"B": "dead 1 8"}, ["dead B"]),
    "SC-29 to somebody else": ({"B": "normal 1 1"}, ping(B, 1, 2, said("dead B"), target=C), {"B": "normal 1 1"}, []),
    "SC-30 of a stranger": (
        {"C": "normal 1 1"},
        ping(B, 1, 1, said("dead C"), members(member(D, 1, 1))),
        {"C": "normal 1 1"},
        [],
    ),
    "an ack of a stranger": ({"C": "normal 1 1"}, ack(B, 1, 1, 10, said("dead C")), {"C": "normal 1 1"}, []),
    "an ack says the same as a ping": (
        {"B": "normal 1 1", "C": "normal 1 7"},
        ack(B, 1, 2, 10, said("dead C")),
        {"B": "normal 1 2", "C": "dead 1 7"},
        ["dead C"],
    ),
}


@pytest.mark.parametrize("case", MERGED)
def test_what_is_accepted_is_merged(case: str) -> None:
    known, message, expected, events = MERGED[case]
    others = {"E": "normal 1 1"}  # so that what is queued is not all told already by the answer

    after = received(node({NAMES[name]: text for name, text in (known | others).items()}), message).state

    assert rows(after) == expected | others
    assert queue(after) == [said(text) for text in events]


def test_sc_17_a_ping_from_the_past_is_answered_with_what_is_remembered_and_changes_nothing() -> None:
    state = replace(node({B: row(B, "normal 2 5", payload=data(v=1)), C: "normal 1 1"}, {"ae_size": 2}), isolated=True)
    past = ping(B, 2, 4, said("dead C"), said("joining B 3 1"), Payload(data(v=0)))

    taken = received(state, past)

    assert messages(taken) == [ack(A, 1, 11, 4, said("dead B 2 5"), target=B)]
    assert taken.state == replace(state, incarnation=Incarnation(1, 11))


@pytest.mark.parametrize("status", ["dead", "leave", "suspicious", "joining"])
def test_it_is_so_answered_whatever_the_sender_is_thought_to_be(status: str) -> None:
    (answer,) = messages(received(node({B: f"{status} 2 5"}), ping(B, 1, 99)))

    assert answer.vectors == (said("dead B 2 5"),)


def test_sc_18_an_ack_from_the_past_is_dropped() -> None:
    state = node({B: row(B, "normal 2 5", unanswered=(3,))})

    taken = received(state, ack(B, 2, 4, 3, said("dead B")))

    assert taken == (state, ())


def test_sc_19_twice_the_same_ping_gets_two_acks() -> None:
    once = received(node({B: "normal 2 5"}), ping(B, 2, 5))
    twice = received(once.state, ping(B, 2, 5))

    assert [m.incarnation for m in (*messages(once), *messages(twice))] == [Incarnation(1, 11), Incarnation(1, 12)]
    assert replace(twice.state, incarnation=once.state.incarnation) == once.state


def test_a_joining_takes_over_host_and_port_with_its_incarnation() -> None:
    state = node({B: "normal 1 1", C: row(C, "dead 1 7", payload=data(x=1))})

    after = received(state, ping(B, 1, 1, Joining(C, Incarnation(2, 0), "10.0.0.9", 9))).state

    assert (after.rows[C].host, after.rows[C].port, after.rows[C].payload) == ("10.0.0.9", 9, None)  # SC-26
    assert queue(after) == [Joining(C, Incarnation(2, 0), "10.0.0.9", 9)]
    same = received(after, ping(B, 1, 1, Joining(C, Incarnation(2, 0), "10.0.0.8", 8))).state
    assert same.rows[C].host == "10.0.0.9"


def test_anti_entropy_takes_over_host_and_port_if_it_is_strictly_newer() -> None:
    state = node({B: "normal 1 1", C: "normal 1 7"})

    for incarnation, host in (((1, 8), "10.0.0.9"), ((1, 7), "127.0.0.1")):
        after = received(state, ping(B, 1, 1, members(member(C, *incarnation)._replace(host="10.0.0.9")))).state
        assert after.rows[C].host == host


def test_sc_27_a_payload_lives_as_long_as_the_restart_counter() -> None:
    state = node({B: row(B, "normal 1 7", payload=data(x=1))})

    assert received(state, ping(B, 1, 8)).state.rows[B].payload == data(x=1)
    assert received(state, ping(B, 2, 1)).state.rows[B].payload is None
    assert received(state, ping(B, 2, 1, Payload(data(x=2)))).state.rows[B].payload == data(x=2)


def test_the_last_of_several_payloads_counts_wherever_they_stand() -> None:
    state = node({B: "normal 1 7"})
    message = ping(B, 2, 1, Payload(data(x=1)), said("joining B 2 1"), Payload(data(x=2)), said("normal B"))

    assert received(state, message).state.rows[B].payload == data(x=2)


def test_a_payload_of_a_joiner_is_kept() -> None:
    after = received(node(), ping(B, 1, 1, said("joining B 1 1"), Payload(data(x=1)))).state

    assert after.rows[B].payload == data(x=1)


# id: (what is said of A, which is at [1,10]; A's incarnation afterwards)
SAID_OF_ONESELF = {
    "dead, above": (said("dead A 1 11"), (2, 0)),
    "dead, in a later life": (said("dead A 5 3"), (6, 0)),
    "suspicious, above": (said("suspicious A 2 0"), (3, 0)),
    "dead, as it is": (said("dead A 1 10"), (1, 10)),
    "dead, below": (said("dead A 1 9"), (1, 10)),
    "dead, without an incarnation": (said("dead A"), (1, 10)),
    "suspicious, without an incarnation": (said("suspicious A"), (1, 10)),
    "normal, above": (said("normal A 9 9"), (1, 10)),
    "left, above": (said("leave A 9 9"), (1, 10)),
    "joining, above": (said("joining A 9 9"), (1, 10)),
    "live, above": (members(member(A, 9, 9)), (1, 10)),
    "dead, where nothing can be above": (said(f"dead A {COUNTER_MAX} 1"), (1, 10)),
    "dead, where one can just be": (said(f"dead A {COUNTER_MAX - 1} 1"), (COUNTER_MAX, 0)),
}


@pytest.mark.parametrize("case", SAID_OF_ONESELF)
def test_sa_17_only_a_death_or_suspicion_above_the_own_incarnation_makes_a_new_life(case: str) -> None:
    vector, (restart, tx) = SAID_OF_ONESELF[case]
    state = node({B: row(B, "normal 1 1", unanswered=(9, 10)), C: "normal 1 1"})

    after = received(state, ack(B, 1, 2, 9, vector)).state

    assert after.incarnation == Incarnation(restart, tx)
    is_new = (restart, tx) != (1, 10)
    assert after.rows[B].unanswered == (() if is_new else (10,))
    assert after.rows[B].exchange is (Exchange.FIRST if is_new else Exchange.DONE)
    assert after.rows[C].exchange is Exchange.DONE


def test_told_by_a_node_that_has_left_it_introduces_itself_to_all_live_ones() -> None:
    state = node({B: "leave 1 1", C: "normal 1 1", D: "suspicious 1 1", E: "dead 1 1"})

    after = received(state, ping(B, 1, 2, said("dead A 7 7"))).state

    assert after.incarnation == Incarnation(8, 1)  # its ack
    assert {n: r.exchange for n, r in after.rows.items()} == {
        B: Exchange.DONE,
        C: Exchange.FIRST,
        D: Exchange.FIRST,
        E: Exchange.DONE,
    }


def test_it_takes_one_answer_to_be_believed_again() -> None:
    """A forgot its counter: B remembers [3,90], answers so, and accepts what A says next. [S-30, SX-09]"""
    b = replace(node({A: "normal 3 90"}), self_id=place(B), config=replace(node().config, uuid=B))
    a = node({B: "normal 1 1"})

    answer = messages(received(b, ping(A, 1, 11, target=B)))[0]
    a = received(a, answer).state

    assert a.incarnation == Incarnation(4, 0)
    taken = received(b, ping(A, 4, 1, said("joining A 4 1"), target=B))
    assert taken.state.rows[A].incarnation == Incarnation(4, 1)
    assert messages(taken)[0].vectors[0] == said("joining A 4 1")


def test_sc_43_subscribers_are_told_after_the_whole_datagram_once_for_each_change() -> None:
    subscribed = frozenset({(C, EventType.SUSPICIOUS), (C, EventType.DEAD), (B, EventType.INCARNATION)})
    state = replace(node({B: "normal 1 1", C: "normal 1 7"}), node_subscriptions=subscribed)

    assert told(received(state, ping(B, 1, 1, said("suspicious C")))) == [NodeEvent(C, EventType.SUSPICIOUS)]
    taken = received(state, ping(B, 2, 1, said("suspicious C"), said("dead C")))
    assert told(taken) == [NodeEvent(B, EventType.INCARNATION), NodeEvent(C, EventType.DEAD)]
    assert told(received(taken.state, ping(B, 2, 1, said("suspicious C")))) == []
    assert told(received(state, ping(B, 1, 1, said("suspicious C"), said("normal C 1 8")))) == []


def test_a_flood_of_pings_from_strangers_makes_no_rows_and_remembers_nothing() -> None:
    state = before = node({B: "normal 1 1"}, {"ae_size": 2})
    for number in range(1000):
        stranger = replace(ping(B, number, 1), sender=f"{number:08}-0000-4000-8000-000000000000")  # type: ignore[arg-type]  # a uuid
        taken = received(state, replace(stranger, vectors=(said("dead B"), members(member(D, 1, 1)))), sender=place(E))
        assert [(to, m.vectors) for to, m in sent(taken)] == [(place(E), ())]  # type: ignore[union-attr]  # an ack
        state = taken.state

    assert state == replace(before, incarnation=Incarnation(1, 1010))


def test_every_event_has_the_vector_that_says_it() -> None:
    state = node({B: "normal 1 1", C: "normal 1 7", D: "normal 1 1"})
    for vector in (Suspicious(C), Dead(C), Leave(C, Incarnation(1, 7)), said("joining C 2 0")):
        assert queue(received(state, ping(B, 1, 1, vector)).state) == [vector]
    assert queue(received(state, ping(B, 1, 1, said("normal C 2 0"))).state) == [Normal(C)]
