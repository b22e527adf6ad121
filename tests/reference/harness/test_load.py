"""A node that is loaded with a state is that node: what it is asked, what it does next, and what cannot be loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from peerproof.reference.harness.harness import Harness

STATE: dict[str, Any] = {
    "store": [
        {"addr": "a:1", "version": "3", "pairs": [{"key": "k", "value": "v", "version": "3"}]},
        {"addr": "b:1", "version": "0", "pairs": []},
    ],
    "liveness": [{"addr": "a:1", "status": "down", "last": 5, "intervals": [2000, 70], "digest_sent": None}],
}

Ask = Callable[..., dict[str, Any]]


def taking_the_first(question: dict[str, Any]) -> list[int]:
    return list(range(len(question["of"]))) if question["kind"] == "permutation" else [0]


@pytest.fixture
def ask() -> Ask:
    """A request to one harness; its choices are the first of what there is."""
    harness = Harness()

    def ask(op: str, **members: Any) -> dict[str, Any]:
        return harness.handle({"id": 1, "op": op, **members}, taking_the_first)

    return ask


def load(ask: Ask, **members: Any) -> dict[str, Any]:
    return ask("load", **({"protocol": "scuttlebutt", "addr": "b:1", "now_ms": 10, "state": STATE} | members))


def test_a_loaded_node_is_in_its_state_and_has_done_nothing(ask: Ask) -> None:
    reply = load(ask)

    assert reply == {"id": 1, "ok": True, "handle": 1, "effects": [], "next_timer_ms": None}
    assert ask("query", handle=1, what="state")["value"] == STATE
    assert ask("query", handle=1, what="status")["value"] == [{"addr": "a:1", "status": "down"}]


def test_the_timers_of_a_load_run_and_no_others(ask: Ask) -> None:
    assert load(ask, timers=[{"timer": {"type": "round"}, "due_ms": 12}])["next_timer_ms"] == 12

    assert ask("advance", handle=1, now_ms=11)["effects"] == []
    reply = ask("advance", handle=1, now_ms=12)

    assert [effect["send"]["to"] for effect in reply["effects"] if "send" in effect] == ["a:1"]
    assert reply["next_timer_ms"] == 1012


def test_a_restart_forgets_what_was_loaded(ask: Ask) -> None:
    load(ask)

    ask("crash", handle=1)
    reply = ask("restart", handle=1, now_ms=20)

    assert reply["next_timer_ms"] == 1020
    assert ask("query", handle=1, what="state")["value"] == {"store": [{"addr": "b:1", "version": "0", "pairs": []}]}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"state": {}}, "expected a member 'store'"),
        ({"state": None}, "state: expected an object, found null"),
        ({"state": {"store": [{"addr": "a:1", "version": "0", "pairs": []}]}}, "store: expected the node's own record, 'b:1'"),
        ({"state": {"store": STATE["store"] * 2}}, "store: expected each peer once"),
        ({"state": {"store": [{"addr": "b:1", "version": "-1", "pairs": []}]}}, "store[0].version: expected an unsigned"),
        ({"timers": [{"timer": {"type": "round"}, "due_ms": 9}]}, "timers[0].due_ms: 9 is before 10"),
        (
            {"timers": [{"timer": {"type": "flight"}, "due_ms": 12}]},
            "timers[0].timer.type: expected one of round, found 'flight'",
        ),
        ({"timers": [{"type": "round"}]}, "timers[0]: expected an object with timer and due_ms"),
        ({"timers": 7}, "timers[0]: expected an object with timer and due_ms, found 7"),
    ],
)
def test_what_cannot_be_loaded_is_a_bad_request_that_says_why(ask: Ask, members: dict[str, Any], message: str) -> None:
    error = load(ask, **members)["error"]

    assert error["code"] == "bad_request"
    assert message in error["message"]


def test_a_question_in_a_batch_is_about_the_item_that_asks() -> None:
    harness, questions = Harness(), list[tuple[Any, int]]()

    def choose(question: dict[str, Any]) -> list[int]:
        questions.append((question["for"], question["n"]))
        return taking_the_first(question)

    timers = [{"timer": {"type": "round"}, "due_ms": 10}]
    loads = [{"op": "load", "protocol": "scuttlebutt", "addr": "b:1", "now_ms": 10, "state": STATE, "timers": timers}] * 2
    harness.handle({"id": 7, "op": "batch", "items": loads}, choose)

    rounds = [{"id": 100 + handle, "op": "advance", "handle": handle, "now_ms": 10} for handle in (1, 2)]
    reply = harness.handle({"id": 8, "op": "batch", "items": rounds}, choose)

    assert questions == [(101, 1), (102, 1)]
    assert [result["id"] for result in reply["results"]] == [101, 102]


UUID = "11111111-1111-4111-8111-111111111111"


def opened_swim(ask: Ask) -> None:
    config = {"uuid": UUID, "restart_counter": 3}
    assert ask("open", protocol="swim", addr="a:1", now_ms=0, config=config)["ok"]


def restarted(ask: Ask) -> str:
    value: str = ask("query", handle=1, what="own")["value"]["restart"]
    return value


def test_what_a_node_keeps_comes_with_its_restart_and_is_not_remembered(ask: Ask) -> None:
    opened_swim(ask)

    assert ask("restart", handle=1, now_ms=5, config={"restart_counter": "4"}) == {
        "id": 1,
        "ok": True,
        "effects": [],
        "next_timer_ms": 305,
    }
    assert restarted(ask) == "4"
    assert ask("restart", handle=1, now_ms=5)["ok"]
    assert restarted(ask) == "3"


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ([], "config: expected an object, found []"),
        ({"restart_counter": -1}, "config: restart_counter: expected"),
        ({"favourite_colour": "blue"}, "config: favourite_colour: expected one of"),
    ],
)
def test_a_node_that_cannot_be_restarted_like_that_goes_on(ask: Ask, config: Any, problem: str) -> None:
    opened_swim(ask)

    error = ask("restart", handle=1, now_ms=5, config=config)["error"]

    assert error["code"] == "bad_request"
    assert error["message"].startswith(problem)
    assert restarted(ask) == "3"
