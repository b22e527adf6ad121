"""Joining: two exchanges, whatever is lost, and who is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerproof.spec.core import NodeId
from peerproof.spec.errors import NotEnabled
from peerproof.spec.swim import AddNode, Config, Exchange, Incarnation, Joining, Normal, Seed, State, Status, initial

from .nodes import (
    HOST,
    A,
    B,
    C,
    D,
    ack,
    asked,
    member,
    members,
    messages,
    node,
    ping,
    place,
    port,
    quantum,
    queue,
    received,
    row,
    rows,
    said,
)


def joiner(**config: object) -> State:
    """B, whose seed is A."""
    usual = {"seeds": (Seed(A, HOST, port(A)),), "ae_size": 2, "restart_counter": 1}
    return initial(place(B), Config(B, **{**usual, **config})).state  # type: ignore[arg-type]  # a configuration's members


def test_the_whole_exchange() -> None:
    b, a = joiner(), node({C: "normal 1 1", D: "normal 1 2"}, {"ae_size": 2})

    first = quantum(b)
    (request,) = messages(first)
    assert request == ping(B, 1, 1, said("joining B 1 1"))  # S-24

    welcomed = received(a, request)
    (welcome,) = messages(welcomed)
    assert welcome == ack(
        A, 1, 11, 1, said("joining B 1 1"), members(member(C, 1, 1), member(D, 1, 2), tagged=False), target=B
    )  # S-25
    assert rows(welcomed.state)["B"] == "joining 1 1"
    assert queue(welcomed.state) == [said("joining B 1 1")]  # S-26

    second = received(first.state, welcome).state
    assert second.rows[A].exchange is Exchange.SECOND
    assert rows(second) == {"A": "normal 1 11", "C": "normal 1 1", "D": "normal 1 2"}

    again = quantum(second)
    (request,) = [m for m in messages(again) if m.target == A]
    assert request.vectors == (Normal(B),)  # S-27

    accepted = received(welcomed.state, request)
    (answer,) = messages(accepted)
    assert answer.vectors[0] == Normal(B)  # S-28
    assert answer.vectors[1].tagged
    assert rows(accepted.state)["B"].startswith("normal 1")
    assert queue(accepted.state) == [Normal(B)]  # it has replaced the joining

    after = received(again.state, answer).state
    assert after.rows[A].exchange is Exchange.DONE  # S-29


@pytest.mark.parametrize("exchange", [Exchange.FIRST, Exchange.SECOND])
def test_a_request_is_repeated_until_its_answer_comes_and_holds_nothing_else(exchange: Exchange) -> None:
    b = joiner()
    b = replace(b, rows=b.rows.put({A: replace(b.rows[A], exchange=exchange), C: row(C, "normal 1 1")}), payload='{"k":1}')

    for _ in range(3):
        taken = quantum(b)
        (request,) = [m for m in messages(taken) if m.target == A]
        expected = Joining(B, request.incarnation, HOST, port(B)) if exchange is Exchange.FIRST else Normal(B)
        assert request.vectors == (expected,)
        b = taken.state


def test_an_answer_that_was_lost_is_given_again() -> None:
    """The joiner asks once more, with a larger tx; and once it is normal it may still ask for that. [SA-58]"""
    a = received(node(), ping(B, 1, 1, said("joining B 1 1"))).state

    again = received(a, ping(B, 1, 2, said("joining B 1 2")))
    assert messages(again)[0].vectors == (said("joining B 1 2"),)
    a = received(again.state, ping(B, 1, 3, said("normal B"))).state
    assert messages(received(a, ping(B, 1, 4, said("normal B"))))[0].vectors == (Normal(B),)


def test_the_second_request_alone_is_an_ordinary_ping_to_who_has_forgotten_the_joiner() -> None:
    (answer,) = messages(received(node({C: "normal 1 1"}, {"ae_size": 2}), ping(B, 1, 2, said("normal B"))))

    assert answer.vectors == ()  # SA-21


ANSWERS = {
    "an ack alone": (Exchange.FIRST, ack(A, 1, 11, 1, target=B), Exchange.FIRST),
    "a joining about somebody else": (Exchange.FIRST, ack(A, 1, 11, 1, said("joining C 1 1"), target=B), Exchange.FIRST),
    "normal while the first answer is out": (Exchange.FIRST, ack(A, 1, 11, 1, said("normal B"), target=B), Exchange.FIRST),
    "joining while the second answer is out": (
        Exchange.SECOND,
        ack(A, 1, 11, 1, said("joining B 1 1"), target=B),
        Exchange.SECOND,
    ),
    "normal about somebody else": (Exchange.SECOND, ack(A, 1, 11, 1, said("normal C"), target=B), Exchange.SECOND),
    "the first answer": (Exchange.FIRST, ack(A, 1, 11, 1, said("joining B 1 1"), target=B), Exchange.SECOND),
    "the second": (Exchange.SECOND, ack(A, 1, 11, 2, said("normal B"), target=B), Exchange.DONE),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_only_the_right_answer_goes_on_with_the_exchange(case: str) -> None:
    before, message, after = ANSWERS[case]
    b = joiner()
    b = replace(b, rows=b.rows.put({A: replace(b.rows[A], exchange=before)}))

    assert received(b, message).state.rows[A].exchange is after


def test_a_ping_with_the_same_words_does_not() -> None:
    """Only an ack is an answer. [SA-57]"""
    b = joiner()

    assert received(b, ping(A, 1, 11, said("joining B 1 1"), target=B)).state.rows[A].exchange is Exchange.FIRST


def test_seeds_are_rows_of_their_own_and_one_is_not_ones_own_seed() -> None:
    b = initial(place(B), Config(B, seeds=(Seed(A, HOST, 5001), Seed(B, HOST, 5002), Seed(C, HOST, 5003)))).state

    assert rows(b) == {"A": "joining 0 0", "C": "joining 0 0"}
    assert queue(b) == []


def test_sa_38_add_node_makes_a_row_and_queues_nothing() -> None:
    after = asked(node(), AddNode(B, "10.0.0.9", 9)).state

    assert (after.rows[B].status, after.rows[B].incarnation, after.rows[B].exchange) == (
        Status.JOINING,
        Incarnation(0, 0),
        Exchange.FIRST,
    )
    assert queue(after) == []
    (request,) = messages(quantum(after))
    assert request.vectors == (said("joining A 1 11"),)


def test_of_a_known_node_add_node_changes_the_address_only_and_the_own_id_is_an_error() -> None:
    state = node({B: row(B, "dead 1 7", misses=2)})

    after = asked(state, AddNode(B, "10.0.0.9", 9)).state

    assert after.rows[B] == replace(state.rows[B], host="10.0.0.9", port=9)
    with pytest.raises(NotEnabled):
        asked(state, AddNode(A, "10.0.0.9", 9))


def test_with_emit_incarnation_the_exchange_says_incarnations() -> None:
    a = node({B: "joining 1 1"}, {"emit_incarnation": True})

    (answer,) = messages(received(a, ping(B, 1, 2, said("normal B 1 2"))))

    assert answer.vectors[0] == said("normal B 1 2")
    b = joiner(emit_incarnation=True)
    b = replace(b, rows=b.rows.put({A: replace(b.rows[A], exchange=Exchange.SECOND)}))
    assert messages(quantum(b))[0].vectors == (said("normal B 1 1"),)


@pytest.mark.parametrize("self_id", ["", "b", "b:", ":1", "b:0", "b:65536", "b:x", "b:١", f"{'x' * 256}:1", "\udcff:1"])
def test_a_node_needs_an_address_that_others_can_send_to(self_id: str) -> None:
    with pytest.raises(NotEnabled):
        initial(NodeId(self_id), Config(B))
