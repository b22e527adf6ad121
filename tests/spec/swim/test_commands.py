"""What an application asks of a node, and what it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.core import Received
from peerproof.spec.errors import NotEnabled
from peerproof.spec.swim import (
    COMMAND,
    MESSAGE,
    AddNode,
    ClusterEvent,
    EventType,
    Incarnation,
    LeaveNode,
    NodeEvent,
    OnClusterEvent,
    OnNodeEvent,
    Probe,
    ProbeNode,
    RemoveNode,
    SetPayload,
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
    received,
    said,
    told,
)


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


def test_to_subscribe_twice_is_to_subscribe_once_and_both_kinds_are_told() -> None:
    state = node({B: "normal 1 1", C: "normal 1 7"})
    for _ in range(2):
        state = asked(state, OnNodeEvent(C, EventType.SUSPICIOUS)).state
        state = asked(state, OnClusterEvent(EventType.SUSPICIOUS)).state

    taken = received(state, ping(B, 1, 1, said("suspicious C")))

    assert told(taken) == [NodeEvent(C, EventType.SUSPICIOUS), ClusterEvent(C, EventType.SUSPICIOUS)]


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
