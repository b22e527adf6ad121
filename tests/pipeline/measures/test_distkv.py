"""What is measured of DistKV: runs made by hand, whose figures are known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.handmade import Log, happens, ticks

from peerproof.conformance.traces.events import Event


def starts(node: str, stored: Any = None) -> Event:
    config = {"clock": 5000, "ping_length": 4, "change_length": 5, "max_payload": 459, "start": None, "root": None,
              "stored": stored}  # fmt: skip
    return happens(node, 0, "start", config)


def chain(*elements: str, cut: bool = False) -> dict[str, Any]:
    """Of elements like `a3`."""
    return {"elements": [{"node": element[0], "tick": element[1:]} for element in elements], "cut": cut}


def update(*elements: str) -> dict[str, Any]:
    return {"type": "update", "chain": chain(*elements), "path": ["x"], "value": 1, "tock": "1", "sender": None}


def entry(element: str) -> dict[str, Any]:
    """An update as it is kept."""
    return {name: value for name, value in update(element).items() if name != "type"}


def info(of: str, **members: Any) -> dict[str, Any]:
    known: dict[str, Any] = {"tock": "2", "known": {}, "ticks": {}, "missing": {}, "reason": None}
    return {"type": "info", "chain": chain(of, cut=True), **known, **members}


def send(message: Any) -> dict[str, Any]:
    return {"send": {"to": "*", "message": message}}


def changes(node: str, at: float, message: Any) -> Event:
    return happens(node, at, "api", {"type": "set_value", "path": ["x"], "value": 1}, send(message))


def receives(node: str, at: float, message: Any, peer: str = "a") -> Event:
    return happens(node, at, "recv", message, peer=peer)


LOADED = {
    "type": "loaded", "node": "b", "entries": [entry("b1")], "superseded": {"a": ["1"]}, "ticks": {"a": "1", "b": "1"},
    "tock": "9",
}  # fmt: skip
STORED = {"tock": "5", "entries": [entry("a2")], "superseded": {"a": ["1"]}, "ticks": {"a": "2"}}


RUNS: dict[str, Any] = {
    "a change has spread when all know it by whatever message": (
        "abc",
        None,
        [
            changes("a", 1, update("a1")),
            receives("b", 2, update("a1")),
            changes("a", 3, update("a2")),
            receives("b", 4, update("a2")),
            receives("c", 4.5, update("a2")),
            receives("c", 6, info("b0", known={"a": ["1"]}), peer="b"),
        ],
        {"convergence": [1500, 5000], "coverage": [1, 1], "hops": [1, 2]},
    ),
    "a change spreads by chains and downloads too": (
        "abc",
        None,
        [
            changes("a", 1, update("a1")),
            receives("b", 2, update("a1")),
            changes("b", 3, update("b1", "a1")),
            receives("a", 4, update("b1", "a1"), peer="b"),
            happens("c", 7, "api", LOADED, {"notify": {"type": "ready"}}),
        ],
        {"convergence": [4000, 6000], "ready_time": [7000]},
    ),
    "what was on disk is no news, and ticks go on": (
        "ab",
        STORED,
        [receives("b", 1, update("a2")), changes("a", 2, update("a3")), receives("b", 3, update("a3"))],
        {"convergence": [1000]},
    ),
    "what was asked for is mended when it is known": (
        "abc",
        None,
        [
            *(changes("a", number, update(f"a{number}")) for number in (1, 2, 3)),
            happens("b", 5, "timer", {"type": "repair_due"}, send(info("b0", missing={"a": [["1", "4"]]}))),
            receives("b", 7, update("a3")),
            receives("b", 8, info("a3", known={"a": [["1", "3"]]})),
            happens("a", 9, "timer", {"type": "recovery_due", "step": "known"}, send(update("a3")), send(update("a3"))),
        ],
        {"mend_time": [2000, 3000], "updates_again": [0, 0, 2]},
    ),
    "a message that cannot be read is counted": (
        "abc",
        None,
        [happens("b", 2, "recv", {"type": "update"}, peer="a", size=20)],
        {"unreadable": [1]},
    ),
}


@pytest.mark.parametrize(("nodes", "stored", "events", "expected"), RUNS.values(), ids=RUNS)
def test_figures_of_a_run_are_those_that_its_events_make(
    nodes: str, stored: Any, events: list[Event], expected: dict[str, list[float]]
) -> None:
    log = Log("distkv", [*(starts(node, stored) for node in nodes), *events, *ticks(nodes, 20, timer="ping_due")])

    assert {name: values for name, values in log.values().items() if name in expected} == expected
