"""How crashes are detected: runs of SWIM made by hand, whose figures are known."""

from __future__ import annotations

from functools import partial

import pytest
from tests.pipeline.handmade import Log, happens, ticks

from peerproof.conformance.traces.events import Event

quantum = partial(ticks, timer="quantum")


def uuid(node: str) -> str:
    return f"{node * 8}-0000-4000-8000-{node * 12}"


def starts(node: str, at: float = 0) -> Event:
    config = {"uuid": uuid(node), "restart_counter": "0", "seeds": [], "interval": 1000, "ae_size": 2, "max_datagram": 1432,
              "emit_incarnation": False, "cluster_events": ["dead"]}  # fmt: skip
    return happens(node, at, "start", config)


def reports(node: str, at: float, about: str, status: str) -> Event:
    """A node reports the status of another to its application."""
    notice = {"type": "cluster_event", "node": uuid(about), "event_type": status}
    return happens(node, at, "timer", {"type": "quantum"}, {"notify": notice})


def pings(node: str, at: float, target: str, dead: str) -> Event:
    """A node sends a ping that calls a node dead."""
    vectors = [{"type": "dead", "node": uuid(dead), "incarnation": None}]
    message = {"type": "ping", "sender": uuid(node), "incarnation": {"restart": "0", "tx": "1"}, "target": uuid(target),
               "vectors": vectors}  # fmt: skip
    return happens(node, at, "timer", {"type": "quantum"}, {"send": {"to": target, "message": message}})


def cluster(nodes: str, crashed: str, *events: Event) -> Log:
    """Nodes that start at 0 s; those that crash have their last event at 4 s, the others at 20 s."""
    alive = {event.node for event in events} | {*nodes}
    last = quantum("".join(sorted(alive - {*crashed})), 20)
    return Log("swim", [*map(starts, nodes), *events, *quantum(crashed, 4), *last])


CRASHES = {
    "by all": (
        "abc",
        [reports("a", 6, "c", "suspicious"), reports("a", 9, "c", "dead"), reports("b", 11, "c", "dead")],
        {"detected": 1, "detection_first": 5000, "detection_last": 7000},
    ),
    "by one of two": ("abc", [reports("b", 11, "c", "dead")], {"detected": 0.5, "detection_first": 7000}),
    "by none": ("abc", [], {"detected": 0}),
    "by all but one that started after the crash": (
        "ac",
        [reports("a", 9, "c", "dead"), starts("b", 10)],
        {"detected": 1, "detection_first": 5000, "detection_last": 5000},
    ),
}


@pytest.mark.parametrize(("nodes", "events", "detected"), CRASHES.values(), ids=CRASHES)
def test_a_crash_is_detected_by_the_first_and_by_the_last(nodes: str, events: list[Event], detected: dict[str, float]) -> None:
    found = dict(cluster(nodes, "c", *events).metrics())

    assert {name: value for (name, at, node), value in found.items() if (at, node) == (4, "c") and "detect" in name} == detected
    assert {found[name, None, node] for name in ("false_positives", "false_suspicions") for node in nodes} == {0}


@pytest.mark.parametrize(
    ("events", "detected"),
    [([], {"detected": 1, "detection_first": 0, "detection_last": 0}), ([reports("a", 3, "b", "normal")], {"detected": 0})],
    ids=["still called dead", "called normal again"],
)
def test_a_node_that_is_called_dead_when_it_crashes_is_detected_at_once(events: list[Event], detected: dict[str, float]) -> None:
    found = dict(cluster("ab", "b", reports("a", 2, "b", "dead"), *events).metrics())

    assert {name: value for (name, at, _), value in found.items() if at == 4 and "detect" in name} == detected
    assert found["false_positives", None, "b"] == 1


B_IS_UP = [reports("a", 5, "b", "dead"), reports("a", 6, "b", "normal"), reports("a", 7, "b", "dead")]


@pytest.mark.parametrize(
    ("events", "positives", "suspicions"),
    [
        ([*B_IS_UP, reports("c", 7, "b", "suspicious")], {"b": 2}, {"b": 1}),
        ([pings("a", 5, "b", dead="b"), pings("a", 6, "b", dead="c")], {"c": 1}, {}),
    ],
    ids=["reported", "sent, also to the node itself"],
)
def test_a_false_positive_is_a_node_that_is_up_and_called_dead(
    events: list[Event], positives: dict[str, int], suspicions: dict[str, int]
) -> None:
    """`dead` to the node itself says what is remembered of it. [S-21]"""
    found = dict(cluster("abc", "", *events).metrics())

    for name, expected in (("false_positives", positives), ("false_suspicions", suspicions)):
        assert {node: found[name, None, node] for node in "abc"} == dict.fromkeys("abc", 0) | expected
    assert not [name for name, _, _ in found if name == "detected"]


@pytest.mark.parametrize(("last", "is_crashed"), [(17, False), (16, True)])
def test_three_silent_rounds_at_the_end_are_no_crash_and_four_are(last: int, is_crashed: bool) -> None:
    log = Log("swim", [starts("a"), starts("b"), *quantum("b", last), *quantum("a", 20)])

    assert ("detected" in log.values()) == is_crashed
