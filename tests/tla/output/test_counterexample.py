"""Counterexamples, and ITF, in which other tools read them."""

from __future__ import annotations

import json

import pytest

from peerproof.tla.output.counterexample import Counterexample, TraceState, dumps, from_itf, read_state, to_itf
from peerproof.tla.output.values import ModelValue, Value, function, parse

VALUES = [
    5,
    -(2**60),
    True,
    "text",
    frozenset({1, 2}),
    (),
    (1, ("a",)),
    function({"version": 1, "pairs": frozenset()}),
    function({2: function({"a": ()})}),
    function({"#set": 1}),
]


def test_state_has_its_action_and_its_variables() -> None:
    text = "2: <Grow line 3, col 1 to line 4, col 9 of module M>\n/\\ x = 1\n/\\ y = {}\n"

    assert read_state(text) == TraceState("Grow", {"x": 1, "y": frozenset()})


def test_action_with_arguments_is_its_name() -> None:
    assert read_state("2: <Grow(1,2) line 3, col 1 to line 4, col 9 of module M>\nx = 1").action == "Grow"


def test_first_state_has_no_action() -> None:
    assert read_state("1: <Initial predicate>\nx = 1\n") == TraceState(None, {"x": 1})


@pytest.mark.parametrize("text", ["", "x = 1", "2: Stuttering", "2: <Something else>\nx = 1"])
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a counterexample"):
        read_state(text)


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_come_back_from_itf(value: Value) -> None:
    example = Counterexample((TraceState(None, {"x": value}), TraceState("Next", {"x": 0})))

    text = dumps(to_itf(example, {}))

    assert from_itf(json.loads(text)) == example


def test_itf_has_the_documented_forms() -> None:
    value = parse('<<{1}, (2 :> [a |-> "s"]), 9007199254740992>>')

    trace = to_itf(Counterexample((TraceState(None, {"x": value}),), loop=0), {"description": "why"})

    assert trace["#meta"]["format"] == "ITF"
    assert trace["#meta"]["description"] == "why"
    assert trace["vars"] == ["x"]
    assert trace["loop"] == 0
    assert trace["states"][0]["x"] == {
        "#tup": [{"#set": [1]}, {"#map": [[2, {"a": "s"}]]}, {"#bigint": "9007199254740992"}],
    }


def test_model_values_are_written_as_their_names() -> None:
    trace = to_itf(Counterexample((TraceState(None, {"x": ModelValue("p")}),)), {})

    assert trace["states"][0]["x"] == "p"


@pytest.mark.parametrize(("loop", "stutters"), [(None, False), (0, False), (None, True)])
def test_what_goes_on_for_ever_is_kept(loop: int | None, stutters: bool) -> None:
    example = Counterexample((TraceState(None, {"x": 0}), TraceState("Next", {"x": 1})), loop, stutters)

    assert from_itf(to_itf(example, {})) == example
    assert example.steps == 1
    assert example.actions == ("Next",)
