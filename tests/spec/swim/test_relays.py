"""Indirect pings, seen from the relay."""

from __future__ import annotations

from dataclasses import replace

from peerproof.spec.core import NodeId
from peerproof.spec.swim import Exchange, Incarnation, IndirectAck, IndirectPing, Joining
from peerproof.spec.swim.state import Queued, Relay

from .nodes import HOST, A, B, C, D, ack, messages, node, ping, place, port, quantum, received, row, said, sent

WANTED = IndirectPing(C, HOST, port(C))


def test_the_whole_way() -> None:
    """B asks, A pings C, C answers, A tells B. [SA-55]"""
    asked = received(node({B: "normal 1 1", C: "suspicious 1 7"}), ping(B, 1, 2, WANTED))

    (to, answer), (where, request) = sent(asked)
    assert (to, answer) == (place(B), ack(A, 1, 11, 2, target=B))
    assert (where, request) == (place(C), ping(A, 1, 12, target=C))

    told = received(asked.state, ack(C, 1, 8, 12))

    assert sent(told) == [(place(B), ping(A, 1, 13, IndirectAck(C, Incarnation(1, 8)), said("normal C"), target=B))]
    assert told.state.relays == ()
    assert messages(received(told.state, ack(C, 1, 9, 12))) == []  # once


def test_the_vector_stands_straight_after_the_header() -> None:
    queued = (Queued(said("dead D 1 1"), frozenset({C})),)
    state = replace(node({B: "normal 1 1", C: "normal 1 1"}, queue=queued), relays=(Relay(C, B, 9, True),))

    ((_, message),) = sent(received(state, ack(C, 1, 2, 9)))

    assert message.vectors == (IndirectAck(C, Incarnation(1, 2)), said("dead D 1 1"))  # type: ignore[union-attr]  # a ping


def test_a_relay_pings_the_address_that_it_was_given_with_a_bare_ping_if_it_does_not_know_better() -> None:
    elsewhere = replace(WANTED, host="10.0.0.9", port=9)
    for known in (None, "dead 1 7", "leave 1 7"):
        rows = {B: "normal 1 1", **({C: known} if known else {})}
        state = node(rows, queue=(Queued(said("dead D 1 1"), frozenset()),))
        *_, (to, message) = sent(received(state, ping(B, 1, 2, elsewhere)))
        assert (to, message) == (NodeId("10.0.0.9:9"), ping(A, 1, 12, target=C))
    state = node({B: "normal 1 1", C: "normal 1 7"}, queue=(Queued(said("dead D 1 1"), frozenset()),))
    *_, (to, message) = sent(received(state, ping(B, 1, 2, elsewhere)))
    assert (to, message) == (NodeId("10.0.0.9:9"), ping(A, 1, 12, said("dead D 1 1"), target=C))


def test_a_live_target_that_is_still_to_be_introduced_to_is_sent_just_that() -> None:
    """Requests to it hold exactly what S-24 says, whoever has wanted them. [SA-57]"""
    state = node({B: "normal 1 1", C: row(C, "joining 0 0", exchange=Exchange.FIRST)})

    *_, (_, message) = sent(received(state, ping(B, 1, 2, WANTED)))

    assert message == ping(A, 1, 12, Joining(A, Incarnation(1, 12), HOST, port(A)), target=C)


def test_a_relay_that_is_still_to_be_introduced_to_is_asked_and_told_nothing_else() -> None:
    rows = {B: row(B, "joining 0 0", exchange=Exchange.FIRST), C: row(C, "suspicious 1 7")}

    indirect, *_ = messages(quantum(node(rows, queue=(Queued(said("dead D 1 1"), frozenset()),))))

    assert indirect == ping(A, 1, 11, WANTED, target=B)


def test_a_request_of_a_stranger_is_ignored() -> None:
    assert messages(received(node({C: "normal 1 1"}), ping(B, 1, 2, WANTED))) == [ack(A, 1, 11, 2, target=B)]


def test_a_joiner_is_no_stranger_any_more() -> None:
    taken = received(node(), ping(B, 1, 1, said("joining B 1 1"), WANTED))

    assert [m.target for m in messages(taken)] == [B, C]


def test_requests_about_the_relay_itself_are_ignored() -> None:
    taken = received(node({B: "normal 1 1"}), ping(B, 1, 2, IndirectPing(A, HOST, port(A))))

    assert len(messages(taken)) == 1
    assert taken.state.relays == ()


def test_a_request_is_remembered_once_per_requester_and_target_the_last_ping_counts() -> None:
    state = node({B: "normal 1 1", C: "normal 1 7"})

    once = received(state, ping(B, 1, 2, WANTED))
    twice = received(once.state, ping(B, 1, 3, WANTED))

    assert twice.state.relays == (Relay(C, B, 14, True),)
    assert messages(received(twice.state, ack(C, 1, 8, 12))) == []
    assert len(messages(received(twice.state, ack(C, 1, 8, 14)))) == 1


def test_a_request_is_remembered_over_one_close_of_a_round() -> None:
    state = received(node({B: "normal 1 1", C: "normal 1 7", D: "normal 1 1"}), ping(B, 1, 2, WANTED)).state

    state = quantum(state).state  # closes what was before
    assert [relay.fresh for relay in state.relays] == [False]
    state = quantum(state).state
    assert len(state.relays) == 1
    state = quantum(replace(state, heard=True)).state

    assert state.relays == ()


def test_of_an_unknown_target_the_ack_is_used_for_this_alone() -> None:
    state = received(node({B: "normal 1 1"}), ping(B, 1, 2, WANTED)).state

    taken = received(state, ack(C, 5, 8, 12, said("dead B")))

    assert [m.vectors for m in messages(taken)] == [(IndirectAck(C, Incarnation(5, 8)),)]
    assert set(taken.state.rows) == {B}
    assert not taken.state.heard


def test_an_ack_from_the_past_answers_no_request() -> None:
    state = replace(node({B: "normal 1 1", C: "normal 1 7"}), relays=(Relay(C, B, 9, True),))

    assert received(state, ack(C, 1, 6, 9)) == (state, ())


def test_several_can_wait_for_the_same_node() -> None:
    state = node({B: "normal 1 1", D: "normal 1 1"})
    state = received(state, ping(B, 1, 2, WANTED)).state
    state = received(state, ping(D, 1, 2, WANTED)).state

    assert [m.target for tx in (12, 14) for m in messages(received(state, ack(C, 1, 8, tx)))] == [B, D]


def test_who_has_gone_meanwhile_is_told_nothing() -> None:
    state = replace(node({C: "normal 1 7"}), relays=(Relay(C, B, 9, True),))

    assert messages(received(state, ack(C, 1, 8, 9))) == []
