"""The failure detector: misses, suspicion, death, and when the fault is one's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.swim import Ack, Dead, IndirectAck, IndirectPing, Normal, Ping, State, Suspicious, Uuid
from peerproof.spec.swim.messages import Incarnation

from .nodes import HOST, B, C, D, ack, first, messages, node, ping, port, quantum, queue, received, row, rows, said

ALL = (B, C, D)


def round_of(state: State, answering: Collection[Uuid] = (), pick: Any = first) -> tuple[State, list[Any]]:
    """A round with its pings, acks of these, and the quantum that closes it; its messages, the first of the next round too."""
    taken = quantum(state, pick)
    sent = messages(taken)
    while True:
        for message in messages(taken):
            if isinstance(message, Ping) and message.target in answering:
                known = taken.state.rows[message.target].incarnation
                answer = ack(message.target, known.restart, known.tx + 1, message.incarnation.tx)
                taken = taken._replace(state=received(taken.state, answer).state)
        if not taken.state.vector:
            return taken.state, sent
        taken = quantum(taken.state, pick)
        sent += messages(taken)


def rounds(state: State, *answering: Collection[Uuid], pick: Any = first) -> tuple[State, list[list[Any]]]:
    """So many rounds, and who answers in each; the next one's first quantum closes the last."""
    sent = []
    for answers in answering:
        state, messages_sent = round_of(state, answers, pick)
        sent.append(messages_sent)
    return state, sent


def three(**config: Any) -> State:
    """A with three neighbours."""
    return node(dict.fromkeys(ALL, "normal 1 1"), config)


def status(state: State) -> Mapping[str, str]:
    """Statuses by name."""
    return {name: text.split()[0] for name, text in rows(state).items()}


def test_sc_33_two_misses_in_a_row_make_suspicious_and_an_answer_between_makes_none() -> None:
    state, _ = rounds(three(), {C, D})
    state = quantum(state).state  # closes the round, and begins the second
    assert state.rows[B].misses == 1
    assert status(state)["B"] == "normal"

    state, _ = rounds(three(), {C, D}, {B, C, D}, {C, D})
    state = quantum(state).state
    assert (state.rows[B].misses, status(state)["B"]) == (1, "normal")

    state, _ = rounds(three(), {C, D}, {B, C, D}, {C, D}, {C, D})
    state = quantum(state).state
    assert (state.rows[B].misses, status(state)["B"]) == (2, "suspicious")
    assert queue(state) == [Suspicious(B)]


def test_sc_34_two_indirect_pings_through_others_and_then_dead() -> None:
    relays = iter((C, D))

    def pick(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:
        if why == "indirect.relay":
            assert set(among) == {C, D}
            return (next(relays, C),)
        return first(why, among, some)

    state, sent = rounds(three(), *[{C, D}] * 4, pick=pick)
    taken = quantum(state, pick)

    asked = [(m.target, v) for m in [*sent[2], *sent[3]] for v in m.vectors if isinstance(v, IndirectPing)]
    assert asked == [(C, IndirectPing(B, HOST, port(B))), (D, IndirectPing(B, HOST, port(B)))]
    assert all(
        m.vectors[0] == IndirectPing(B, HOST, port(B))
        for m in [*sent[2], *sent[3]]
        if IndirectPing(B, HOST, port(B)) in m.vectors
    )
    assert status(taken.state)["B"] == "dead"
    assert [Dead(B) in m.vectors for m in messages(taken)] == [True, True]
    assert not [m for m in messages(taken) if m.target == B]


def test_sc_35_an_indirect_ack_makes_normal_again_and_forgets_the_misses() -> None:
    state, _ = rounds(three(), {C, D}, {C, D}, {C, D})
    assert state.rows[B].indirect_asked

    state = received(state, ping(C, 1, 99, IndirectAck(B, Incarnation(1, 8)))).state

    assert rows(state)["B"] == "normal 1 8"
    assert (state.rows[B].misses, state.rows[B].indirect_misses, state.rows[B].indirect_asked) == (0, 0, False)


def test_an_indirect_ack_at_the_known_incarnation_answers_without_making_normal() -> None:
    """Suspicion at an incarnation is refuted by a larger one only; but the node is there. [SA-03]"""
    state = node({B: row(B, "suspicious 1 7", indirect_misses=1, indirect_asked=True), C: "normal 1 1"})

    state = received(state, ping(C, 1, 2, IndirectAck(B, Incarnation(1, 7)))).state

    assert rows(state)["B"] == "suspicious 1 7"
    assert (state.rows[B].indirect_misses, state.rows[B].indirect_asked) == (0, False)


def test_sc_36_of_two_nodes_neither_ever_finds_the_other_dead() -> None:
    state, _ = rounds(node({B: "normal 1 1"}), (), ())
    state = quantum(state).state
    assert status(state) == {"B": "suspicious"}

    state, sent = rounds(state, *[()] * 10)

    assert status(state) == {"B": "suspicious"}
    assert not [v for sent_in in sent for m in sent_in for v in m.vectors if isinstance(v, (Dead, IndirectPing))]


def test_a_relay_is_neither_suspicious_nor_dead_nor_the_target() -> None:
    rows_known = {B: "suspicious 1 1", C: "suspicious 1 1", D: "dead 1 1"}

    assert not [v for m in messages(quantum(node(rows_known))) for v in m.vectors if isinstance(v, IndirectPing)]


def test_sa_54_who_is_suspicious_by_hearsay_gets_two_indirect_pings_of_this_node_too() -> None:
    state, _ = rounds(three(), ALL)
    state = received(state, ping(C, 1, 9, said("suspicious B"))).state

    state, _ = rounds(state, {C, D}, {C, D})
    assert status(state)["B"] == "suspicious"
    state = quantum(state).state

    assert status(state)["B"] == "dead"


def test_sa_07_if_nobody_is_heard_the_fault_is_here_and_nobody_is_blamed() -> None:
    state, sent = rounds(three(), *[()] * 8)
    state = quantum(state).state

    assert state.isolated
    assert set(status(state).values()) == {"normal"}
    assert [state.rows[other].misses for other in ALL] == [0, 0, 0]
    assert queue(state) == []
    assert not [v for sent_in in sent for m in sent_in for v in m.vectors]


def test_isolated_no_indirect_ping_is_sent_and_none_is_missed() -> None:
    state = three()
    state = replace(state, rows=state.rows.put({B: row(B, "suspicious 1 1", indirect_misses=1, indirect_asked=True)}))
    state = replace(state, pinged=frozenset({C, D}))

    taken = quantum(state)

    assert taken.state.isolated
    assert taken.state.rows[B].indirect_misses == 1
    assert taken.state.rows[B].indirect_asked
    assert not [v for m in messages(taken) for v in m.vectors if isinstance(v, IndirectPing)]


def test_one_node_pinged_is_not_enough_for_isolation() -> None:
    state, _ = rounds(node({B: "normal 1 1"}), (), ())
    state = quantum(state).state

    assert not state.isolated
    assert status(state) == {"B": "suspicious"}


ENDS_ISOLATION: dict[str, tuple[Ping | Ack, bool]] = {
    "a ping": (ping(B, 1, 2), True),
    "an ack, whatever it answers": (ack(B, 1, 2, 99), True),
    "a stranger who speaks of a joiner": (ping(Uuid("99999999-9999-4999-8999-999999999999"), 1, 1, said("joining D 1 2")), False),
    "a ping from the past": (ping(B, 0, 9), False),
    "an ack from the past": (ack(B, 0, 9, 1), False),
    "a ping to somebody else": (ping(B, 1, 2, target=C), False),
    "an ack of a stranger": (ack(Uuid("99999999-9999-4999-8999-999999999999"), 1, 2, 1), False),
    "a ping of a stranger": (ping(Uuid("99999999-9999-4999-8999-999999999999"), 1, 1), False),
}


@pytest.mark.parametrize("what", ENDS_ISOLATION)
def test_what_is_accepted_ends_isolation_and_what_is_not_does_not(what: str) -> None:
    message, ends = ENDS_ISOLATION[what]

    after = received(replace(three(), isolated=True), message).state

    assert after.isolated != ends


def test_a_joiner_ends_isolation() -> None:
    state = replace(node(), isolated=True)

    assert not received(state, ping(B, 1, 1, said("joining B 1 1"))).state.isolated


def test_an_ack_matches_a_ping_of_this_life_to_its_sender_only() -> None:
    state = quantum(node({B: "normal 1 1", C: "normal 1 1"})).state  # tx 11 to B, 12 to C
    state = replace(state, rows=state.rows.put({B: replace(state.rows[B], misses=1), C: replace(state.rows[C], misses=1)}))

    wrong = received(state, ack(B, 1, 2, 12)).state
    right = received(state, ack(B, 1, 2, 11)).state

    assert (wrong.rows[B].misses, wrong.answered, wrong.heard) == (1, frozenset(), True)
    assert (right.rows[B].misses, right.answered, right.heard) == (0, frozenset({B}), True)
    assert right.rows[C].misses == 1


def test_a_matching_ack_forgets_its_ping_and_older_ones_and_matches_once() -> None:
    state = node({B: row(B, "normal 1 1", unanswered=(3, 5, 9))})

    once = received(state, ack(B, 1, 2, 5)).state
    twice = received(once, ack(B, 1, 3, 5)).state

    assert once.rows[B].unanswered == (9,)
    assert twice.rows[B].unanswered == (9,)


def test_sa_52_the_last_sixteen_unanswered_pings_are_remembered() -> None:
    state = node({B: "normal 1 1"})
    for _ in range(20):
        state = quantum(state).state

    assert state.rows[B].unanswered == tuple(range(15, 31))


def test_a_late_ack_of_an_earlier_round_is_an_answer() -> None:
    state, _ = rounds(three(), {C, D})
    late = state.rows[B].unanswered[0]
    state = quantum(state).state
    assert state.rows[B].misses == 1

    state = received(state, ack(B, 1, 2, late)).state

    assert state.rows[B].misses == 0


def test_misses_stop_at_two() -> None:
    state, _ = rounds(node({B: "normal 1 1"}), *[()] * 6)

    assert quantum(state).state.rows[B].misses == 2


@pytest.mark.parametrize("vector", [said("normal B 1 9"), said("joining B 1 9")])
def test_news_of_others_that_makes_well_again_forgets_the_misses(vector: Any) -> None:
    state = node({B: row(B, "suspicious 1 7", misses=2), C: "normal 1 1"})

    state = received(state, ping(C, 1, 2, vector)).state

    assert state.rows[B].misses == 0


def test_a_dead_node_is_not_pinged_and_comes_back_by_any_message_with_a_larger_tx() -> None:
    state = node({B: "dead 1 7", C: "normal 1 1"})
    assert B not in [m.target for m in messages(quantum(state))]

    state = received(state, ping(B, 1, 8)).state

    assert rows(state)["B"] == "normal 1 8"
    assert queue(state) == [Normal(B)]
