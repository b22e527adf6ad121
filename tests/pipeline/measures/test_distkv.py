"""What is measured of DistKV: runs made by hand, whose figures are known."""

from __future__ import annotations

from typing import Any

from tests.pipeline.handmade import SECOND, Log, log_of

CONFIG: dict[str, Any] = {
    "clock": 5000, "ping_length": 4, "change_length": 5, "max_payload": 459, "start": None, "root": None, "stored": None,
}  # fmt: skip


def chain(*elements: str, cut: bool = False) -> dict[str, Any]:
    """Of elements like `a3`."""
    return {"elements": [{"node": element[0], "tick": element[1:]} for element in elements], "cut": cut}


def update(*elements: str, path: str = "x") -> dict[str, Any]:
    return {"type": "update", "chain": chain(*elements), "path": [path], "value": 1, "tock": "1", "sender": None}


def info(of: str, **members: Any) -> dict[str, Any]:
    return {
        "type": "info",
        "chain": chain(of, cut=True),
        "tock": "2",
        "known": {},
        "ticks": {},
        "missing": {},
        "reason": None,
        **members,
    }


def send(message: Any) -> dict[str, Any]:
    return {"send": {"to": "*", "message": message}}


def cluster(nodes: str = "abc", stored: Any = None) -> Log:
    """Nodes that are up from 0 s on."""
    log = Log("distkv")
    for node in nodes:
        log.add(node, 0, "start", CONFIG | {"stored": stored})
    return log


def change(log: Log, node: str, at: float, message: Any) -> None:
    command = {"type": "set_value", "path": ["x"], "value": 1}
    log.add(node, int(at * SECOND), "api", command, [send(message)])


def receive(log: Log, node: str, at: float, message: Any, *effects: Any, peer: str = "a") -> None:
    log.add(node, int(at * SECOND), "recv", message, effects, peer=peer)


def found(log: Log, nodes: str = "abc") -> dict[str, list[float]]:
    for node in nodes:
        log.add(node, 20 * SECOND, "timer", {"type": "ping_due"})
    return log_of(log.metrics())


def test_change_has_spread_when_all_know_it_by_whatever_message() -> None:
    log = cluster()
    change(log, "a", 1, update("a1"))
    receive(log, "b", 2, update("a1"))
    change(log, "a", 3, update("a2"))
    receive(log, "b", 4, update("a2"))
    receive(log, "c", 4.5, update("a2"))
    receive(log, "c", 6, info("b0", known={"a": ["1"]}), peer="b")

    figures = found(log)

    assert sorted(figures["convergence"]) == [1500, 5000]
    assert figures["coverage"] == [1, 1]
    assert sorted(figures["hops"]) == [1, 2]


def test_change_spreads_by_chains_and_downloads_too() -> None:
    log = cluster()
    change(log, "a", 1, update("a1"))
    receive(log, "b", 2, update("a1"))
    change(log, "b", 3, update("b1", "a1"))
    receive(log, "a", 4, update("b1", "a1"), peer="b")
    entries = [{name: value for name, value in update("b1").items() if name != "type"}]
    loaded = {
        "type": "loaded",
        "node": "b",
        "entries": entries,
        "superseded": {"a": ["1"]},
        "ticks": {"a": "1", "b": "1"},
        "tock": "9",
    }
    log.add("c", 7 * SECOND, "api", loaded, [{"notify": {"type": "ready"}}])

    figures = found(log)

    assert sorted(figures["convergence"]) == [4000, 6000]
    assert figures["ready_time"] == [7000]


def test_what_was_on_disk_is_no_news_and_ticks_go_on() -> None:
    entries = [{name: value for name, value in update("a2").items() if name != "type"}]
    log = cluster("ab", {"tock": "5", "entries": entries, "superseded": {"a": ["1"]}, "ticks": {"a": "2"}})
    receive(log, "b", 1, update("a2"))
    change(log, "a", 2, update("a3"))
    receive(log, "b", 3, update("a3"))

    assert found(log, "ab")["convergence"] == [1000]


def test_what_was_asked_for_is_mended_when_it_is_known() -> None:
    log = cluster()
    for number in (1, 2, 3):
        change(log, "a", number, update(f"a{number}"))
    log.add("b", 5 * SECOND, "timer", {"type": "repair_due"}, [send(info("b0", missing={"a": [["1", "4"]]}))])
    receive(log, "b", 7, update("a3"))
    receive(log, "b", 8, info("a3", known={"a": [["1", "3"]]}))
    log.add("a", 9 * SECOND, "timer", {"type": "recovery_due", "step": "known"}, [send(update("a3")), send(update("a3"))])

    figures = found(log)

    assert sorted(figures["mend_time"]) == [2000, 3000]
    assert sorted(figures["updates_again"]) == [0, 0, 2]


def test_message_that_cannot_be_read_is_counted() -> None:
    log = cluster()
    log.add("b", 2 * SECOND, "recv", {"type": "update"}, peer="a", bytes=20)

    assert found(log)["unreadable"] == [1]
