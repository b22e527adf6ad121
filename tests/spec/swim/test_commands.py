"""What an application asks of a node, and what it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.core import CancelTimer, Expired, Instant, Received, SetTimer
from peerproof.spec.errors import NotEnabled
from peerproof.spec.swim import (
    COMMAND,
    MESSAGE,
    QUERIES,
    AddNode,
    ClusterEvent,
    EventType,
    Incarnation,
    Leave,
    LeaveNode,
    NodeEvent,
    OnClusterEvent,
    OnNodeEvent,
    Payload,
    Probe,
    ProbeAck,
    ProbeNode,
    ProbeTimeout,
    Reachable,
    RemoveNode,
    SetPayload,
    Status,
    Unreachable,
    step,
)
from peerproof.spec.swim.messages import COUNTER_MAX

from .nodes import (
    NOW,
    A,
    B,
    C,
    D,
    E,
    asked,
    data,
    first,
    messages,
    node,
    ping,
    place,
    quantum,
    queue,
    received,
    row,
    rows,
    said,
    sent,
    told,
)


def test_sc_40_sizes() -> None:
    state = node({B: "normal 1 1", C: "suspicious 1 1", D: "dead 1 1", E: "leave 1 1"})

    assert QUERIES["total_size"](state) == 5
    assert QUERIES["active_size"](state) == 3
    assert QUERIES["total_size"](node()) == QUERIES["active_size"](node()) == 1


def test_node_info_is_the_row_or_none() -> None:
    state = node({B: row(B, "normal 1 7", payload=data(x=1))})

    shown = {"uuid": B, "host": "127.0.0.1", "port": 5002, "status": "normal", "restart": "1", "tx": "7", "payload": {"x": 1}}
    assert QUERIES["node_info"](state, B) == shown
    assert QUERIES["node_info"](state, B.upper()) == shown
    assert QUERIES["node_info"](state, C) is None
    assert QUERIES["nodes"](state) == [shown]


def test_sc_41_remove_node_leaves_first_and_then_deletes() -> None:
    state = node({B: "normal 1 1", C: "normal 1 7"}, {"cluster_events": ()})
    state = replace(state, cluster_subscriptions=frozenset({EventType.LEAVE}))

    taken = asked(state, RemoveNode(C))

    assert queue(taken.state) == [Leave(C, Incarnation(1, 7))]
    assert set(taken.state.rows) == {B}
    assert told(taken) == [ClusterEvent(C, EventType.LEAVE)]


def test_who_has_left_already_is_deleted_without_more_ado() -> None:
    taken = asked(replace(node({C: "leave 1 7"}), cluster_subscriptions=frozenset(EventType)), RemoveNode(C))

    assert (queue(taken.state), dict(taken.state.rows), told(taken)) == ([], {}, [])


def test_leave_node_of_another_is_merged_at_its_incarnation_and_queued() -> None:
    taken = asked(node({C: "suspicious 1 7"}), LeaveNode(C))

    assert rows(taken.state) == {"C": "leave 1 7"}
    assert queue(taken.state) == [Leave(C, Incarnation(1, 7))]
    assert asked(taken.state, LeaveNode(C)).state == taken.state


def test_leave_node_of_oneself_is_queued_once() -> None:
    once = asked(node({B: "normal 1 1"}), LeaveNode(A)).state

    assert (once.left, queue(once)) == (True, [Leave(A, Incarnation(1, 10))])
    assert asked(once, LeaveNode(A)).state == once


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (AddNode(A, "h", 1), "own_node"),
        (LeaveNode(D), "unknown_node"),
        (RemoveNode(D), "unknown_node"),
        (RemoveNode(A), "own_node"),
        (SetPayload(B, "{}"), "not_own"),
        (SetPayload(A, data(k="v" * 1500)), "too_large"),
    ],
)
def test_what_makes_no_sense_is_refused(command: Any, reason: str) -> None:
    with pytest.raises(NotEnabled) as caught:
        asked(node({B: "normal 1 1"}), command)

    assert caught.value.reason == reason


def test_sc_42_the_next_pings_carry_the_payload_and_acks_do_not() -> None:
    state = asked(node({B: "normal 1 1"}), SetPayload(A, data(k=1))).state

    assert messages(quantum(state))[0].vectors == (Payload(data(k=1)),)
    assert messages(received(state, ping(B, 1, 2)))[0].vectors == ()
    empty = asked(state, SetPayload(A, "{}")).state
    assert messages(quantum(empty))[0].vectors == ()


def test_to_subscribe_twice_is_to_subscribe_once_and_both_kinds_are_told() -> None:
    state = node({B: "normal 1 1", C: "normal 1 7"})
    for _ in range(2):
        state = asked(state, OnNodeEvent(C, EventType.SUSPICIOUS)).state
        state = asked(state, OnClusterEvent(EventType.SUSPICIOUS)).state

    taken = received(state, ping(B, 1, 1, said("suspicious C")))

    assert told(taken) == [NodeEvent(C, EventType.SUSPICIOUS), ClusterEvent(C, EventType.SUSPICIOUS)]


def test_one_can_wait_for_a_node_that_is_not_known_yet() -> None:
    state = asked(node(), OnNodeEvent(C, EventType.JOINING)).state

    assert told(asked(state, AddNode(C, "h", 1))) == [NodeEvent(C, EventType.JOINING)]


def test_a_probe_is_answered_by_anybody_and_changes_no_row() -> None:
    state = node({B: "normal 1 1"})

    taken = step(state, Received(NOW, place(E), Probe(E, Incarnation(3, 7))), first)

    assert sent(taken) == [(place(E), ProbeAck(A, Incarnation(1, 11), 7))]
    assert taken.state == replace(state, incarnation=Incarnation(1, 11))


def probing() -> Any:
    """A, which has probed 10.0.0.9:9."""
    return asked(node(), ProbeNode("10.0.0.9", 9))


def answer(tx: int, sender: str = "10.0.0.9:9") -> Any:
    """An answer to a probe."""
    return Received(NOW, sender, ProbeAck(E, Incarnation(1, 1), tx))  # type: ignore[arg-type]  # an address


def test_probe_node_sends_one_probe_and_waits_for_two_quanta() -> None:
    taken = probing()

    assert sent(taken) == [("10.0.0.9:9", Probe(A, Incarnation(1, 11)))]
    assert taken.effects[1:] == (SetTimer(ProbeTimeout("10.0.0.9", 9), taken.state.config.interval * 2),)


def test_an_answer_in_time_says_who_is_there_and_only_once() -> None:
    taken = step(probing().state, answer(11), first)

    assert taken.effects[:1] == (CancelTimer(ProbeTimeout("10.0.0.9", 9)),)
    assert told(taken) == [Reachable("10.0.0.9", 9, E)]
    assert step(taken.state, answer(11), first).effects == ()


@pytest.mark.parametrize("wrong", [answer(10), answer(11, "10.0.0.9:8")])
def test_an_answer_to_something_else_is_none(wrong: Any) -> None:
    state = probing().state

    assert step(state, wrong, first) == (state, ())


def test_without_an_answer_the_address_is_unreachable_and_a_late_one_is_ignored() -> None:
    taken = step(probing().state, Expired(Instant(600), ProbeTimeout("10.0.0.9", 9)), first)

    assert told(taken) == [Unreachable("10.0.0.9", 9)]
    assert step(taken.state, answer(11), first).effects == ()


def test_asked_for_again_a_probe_starts_over() -> None:
    taken = asked(probing().state, ProbeNode("10.0.0.9", 9))

    assert step(taken.state, answer(11), first).effects == ()
    assert told(step(taken.state, answer(12), first)) == [Reachable("10.0.0.9", 9, E)]


def test_with_both_counters_at_the_end_a_probe_is_refused_and_not_answered() -> None:
    state = replace(node(), incarnation=Incarnation(COUNTER_MAX, COUNTER_MAX))

    with pytest.raises(NotEnabled):
        asked(state, ProbeNode("h", 1))
    assert step(state, Received(NOW, place(E), Probe(E, Incarnation(1, 1))), first) == (state, ())


PLAIN_REFUSED = {
    "a host without a name": {"type": "add_node", "uuid": B, "host": "", "port": 1},
    "a port that is none": {"type": "probe_node", "host": "h", "port": 0},
    "a uuid that is none": {"type": "leave_node", "uuid": "1_1_1_11-1111-4111-8111-111111111111"},
    "a payload that is no map": {"type": "set_payload", "uuid": A, "data": [1]},
    "a text that nobody could read": {"type": "set_payload", "uuid": A, "data": {"a": "~!"}},
    "a text that is no UTF-8": {"type": "set_payload", "uuid": A, "data": {"a": "\ud800"}},
    "a key twice": {"type": "set_payload", "uuid": A, "data": {"~i10": 1, "~i010": 2}},
    "a payload that is a uuid": {"type": "set_payload", "uuid": A, "data": {"~#u": [1, 2]}},
    "an event that there is not": {"type": "on_cluster_event", "event_type": "birth"},
}


@pytest.mark.parametrize("case", PLAIN_REFUSED)
def test_what_cannot_be_said_is_not_taken_from_plain_data(case: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        COMMAND.value(PLAIN_REFUSED[case])


def test_a_payload_may_nest_so_deep_that_its_receivers_can_read_it() -> None:
    def nested(depth: int) -> Any:
        return {"k": nested(depth - 1)} if depth else 1

    command = COMMAND.value({"type": "set_payload", "uuid": A, "data": nested(62)})
    (message,) = messages(quantum(asked(node({B: "normal 1 1"}), command).state))
    assert MESSAGE.decode(MESSAGE.encode(message)) == message
    with pytest.raises(ValueError, match="nest deeper"):
        COMMAND.value({"type": "set_payload", "uuid": A, "data": nested(63)})


def test_every_status_is_an_event() -> None:
    assert {status.value for status in Status} == {kind.value for kind in EventType} - {"incarnation"}
