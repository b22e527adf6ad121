"""Counterexamples, and ITF, in which other tools read them."""

from __future__ import annotations

import json

import pytest

from peerproof.tla.output.counterexample import Counterexample, TraceState, dumps, from_itf, read_state, to_itf
from peerproof.tla.output.values import ModelValue, Value, function, parse

PLACE = "line 3, col 1 to line 4, col 9 of module M"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (f"2: <Grow {PLACE}>\n/\\ x = 1\n/\\ y = {{}}\n", TraceState("Grow", {"x": 1, "y": frozenset()})),
        (f"2: <Grow(1,2) {PLACE}>\nx = 1", TraceState("Grow", {"x": 1})),
        ("1: <Initial predicate>\nx = 1\n", TraceState(None, {"x": 1})),
    ],
    ids=["action", "action with arguments", "first state"],
)
def test_state_has_its_action_and_its_variables(text: str, state: TraceState) -> None:
    assert read_state(text) == state


@pytest.mark.parametrize("text", ["", "x = 1", "2: Stuttering", "2: <Something else>\nx = 1"])
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a counterexample"):
        read_state(text)


VALUES: list[Value] = [
    *(5, -(2**60), True, "text", frozenset({1, 2}), (), (1, ("a",))),
    function({"version": 1, "pairs": frozenset()}),
    function({2: function({"a": ()})}),
    function({"#set": 1}),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_come_back_from_itf(value: Value) -> None:
    example = Counterexample((TraceState(None, {"x": value}), TraceState("Next", {"x": 0})))

    assert from_itf(json.loads(dumps(to_itf(example, {})))) == example


@pytest.mark.parametrize(("loop", "stutters"), [(None, False), (0, False), (None, True)])
def test_what_goes_on_for_ever_is_kept(loop: int | None, stutters: bool) -> None:
    example = Counterexample((TraceState(None, {"x": 0}), TraceState("Next", {"x": 1})), loop, stutters)

    assert from_itf(to_itf(example, {})) == example
    assert (example.steps, example.actions) == (1, ("Next",))


def test_itf_has_the_documented_forms() -> None:
    state = {"x": parse('<<{1}, (2 :> [a |-> "s"]), 9007199254740992>>'), "y": ModelValue("p")}

    trace = to_itf(Counterexample((TraceState(None, state),), loop=0), {"description": "why"})

    assert (trace["#meta"]["format"], trace["#meta"]["description"]) == ("ITF", "why")
    assert (trace["vars"], trace["loop"]) == (["x", "y"], 0)
    assert trace["states"][0]["x"] == {"#tup": [{"#set": [1]}, {"#map": [[2, {"a": "s"}]]}, {"#bigint": "9007199254740992"}]}
    assert trace["states"][0]["y"] == "p"
