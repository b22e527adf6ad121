"""What TLC finds, the explorer finds too, at the same depth; and what TLC found is a run of the Python specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from peerproof.conformance.models import counterexamples
from peerproof.conformance.models.counterexamples import Unlike, ask_explorer, is_asked, load_counterexample, replay, surprise
from peerproof.tla.manifest import Model, models
from peerproof.tla.output.counterexample import Counterexample
from peerproof.tla.output.values import Function

#: The small models of nodes; in other modules, walks through rings and nodes with a clock, and no counterpart in Python.
SMALL = [
    model
    for protocol in ("scuttlebutt", "wendy", "peter", "distkv")
    for model in models(protocol)
    if model.size == "small" and model.module not in ("Routing", "MCPinging", "MCRecovering")
]
ASKED = [model for model in SMALL if is_asked(model)]

#: Python has no unfair losses, no versions that come later than their tables, and no scores that change.
NOT_ASKED = {"BL-01-unfair-losses", "WX-04-late-versions", "WX-13-scores-change"}

#: A graph of so many states takes no more than a second or two.
FEW = 3_000


def named(name: str) -> Model:
    return next(model for model in SMALL if model.name == name)


def each(chosen: Iterable[Model]) -> pytest.MarkDecorator:
    """A test for each of these models, slow if its graph is large."""

    def marks(model: Model) -> list[pytest.MarkDecorator]:
        distinct = model.configuration.expected.get("distinct", model.expected_counts.get("distinct", 0))
        return [pytest.mark.slow] if distinct > FEW else []

    return pytest.mark.parametrize(
        "model", [pytest.param(one, id=f"{one.protocol}-{one.name}", marks=marks(one)) for one in chosen]
    )


@each(ASKED)
def test_explorer_gives_the_expected_answer(model: Model) -> None:
    """The expectation is TLC's: the violated property and the depth, or the size of the graph."""
    assert surprise(model, ask_explorer(model)) is None


def test_explorer_is_asked_of_every_negative_model_and_of_its_mended_one() -> None:
    questions = {model.name for model in SMALL if not model.name.startswith(("tiny", "small"))}

    assert questions - {model.name for model in ASKED} == NOT_ASKED


@each(model for model in [*ASKED, named("BL-01-unfair-losses")] if model.counterexample_path)
def test_stored_counterexample_is_a_run_in_python_that_violates_the_same(model: Model) -> None:
    graph, path = replay(model, load_counterexample(model))

    assert model.steps in (len(path), None)
    assert (model.steps is None) == (model.verdict == "temporal property")
    assert len(counterexamples.draw_path(graph, path).happenings) >= len(path)


def with_state(example: Counterexample, at: int, **change: Any) -> Counterexample:
    """A counterexample in which a state has another action, or other variables beside its own."""
    states = list(example.states)
    variables = {**states[at].variables, **change.pop("variables", {})}
    states[at] = replace(states[at], variables=variables, **change)
    return replace(example, states=tuple(states))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda example: replace(example, states=example.states[:-1]), "NoGap holds in Python"),
        (lambda example: with_state(example, -1, action="Lose"), "no Lose in Python makes step 6"),
        (lambda example: with_state(example, -1, variables={"net": frozenset()}), "no Receive in Python makes step 6"),
        (lambda example: with_state(example, 0, variables={"restarts": 7}), "the first state is"),
    ],
)
def test_counterexample_that_is_no_run_is_refused(change: Callable[[Counterexample], Counterexample], problem: str) -> None:
    model = named("BX-05-newest-first")

    with pytest.raises(Unlike, match=problem):
        replay(model, change(load_counterexample(model)))


def test_lasso_that_does_not_close_is_refused() -> None:
    model = named("BL-01-unfair-losses")
    example = load_counterexample(model)
    assert example.loop is not None

    with pytest.raises(Unlike, match="goes back to state 0"):
        replay(model, replace(example, loop=0))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("BX-03-owner-restart", "BX-05-newest-first", "BX-06-oversize-starves", "BL-02-unless-empty"),
        *("PX-01-literal", "PX-04-routed"),
        *("DX-01-letter", "DX-04-own", "DX-04-later", "DX-04-anew", "DX-05-left-out"),
    ],
)
def test_flaw_is_what_breaks_the_property(name: str) -> None:
    """Without it, or mended, the same question has no counterexample."""
    model = named(name)
    mended = {"Remembered": "OwnRecord"} if name == "BX-03-owner-restart" else {}

    assert ask_explorer(model).broken == model.violated
    assert ask_explorer(replace(model, replace=mended)).broken is None


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("BX-05-newest-first", {"steps": 5}, "the explorer's counterexample has 6 steps, not 5"),
        ("BX-05-newest-first", {"violated": "OwnerDominates"}, "says that NoGap is violated, not OwnerDominates"),
        ("BX-04-mended", {"counts": {"distinct": 3865, "generated": 13714, "depth": 24, "initial": 1}}, "expected depth = 24"),
        ("BX-04-mended", {"counts": {}}, "expected initial = None"),
    ],
)
def test_answer_that_is_not_the_expected_one_is_a_surprise(name: str, change: dict[str, Any], said: str) -> None:
    model = named(name)

    assert said in str(surprise(replace(model, **change), ask_explorer(model)))


def test_values_are_those_of_the_module_also_of_what_a_monitor_remembers() -> None:
    model = named("BX-01-round-sync")
    graph, path = replay(model, load_counterexample(model))
    values = counterexamples.values(graph, path[-1].target)

    assert values["exchange"] == (2, 1, frozenset({2}))
    assert values["net"] == frozenset()
    assert isinstance(values["store"], tuple)
    assert isinstance(values["store"][1], Function)
