"""DistKV's worlds: the same graphs as TLC's, the same answers, and what TLC found is a run of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.graphs import compared, dumped

from peerproof.conformance.models.counterexamples import ask_explorer, draw_path, is_asked, load_counterexample, replay, surprise
from peerproof.spec.core import Step
from peerproof.spec.distkv import election, entries
from peerproof.spec.distkv.model.bounded import Model as World
from peerproof.spec.distkv.model.variants import VARIANTS
from peerproof.spec.model.explorer import explore
from peerproof.spec.overrides import names_in
from peerproof.tla.manifest import Model, models

#: Those about the whole node; two other modules have time, and no counterpart in Python.
SMALL = [model for model in models("distkv") if model.size == "small" and model.module == "MCDistKV"]
GRAPHS = [model for model in SMALL if model.is_whole_graph and model.name == model.configuration.name]
ASKED = [model for model in SMALL if is_asked(model)]

#: What takes no more than a second or two.
FEW = 3_000


def by_name(model: Model) -> str:
    return model.name


def named(name: str) -> Model:
    return next(model for model in SMALL if model.name == name)


def marked(model: Model) -> Any:
    """A parameter, slow if its graph is large."""
    is_large = model.configuration.expected.get("distinct", model.expected_counts.get("distinct", 0)) > FEW
    return pytest.param(model, id=model.name, marks=[pytest.mark.slow] if is_large else [])


@pytest.mark.parametrize("model", [marked(model) for model in GRAPHS])
def test_explorer_counts_what_is_written_down(model: Model) -> None:
    found = explore(World(model.configuration.constants), digest=True)

    counts = {"distinct": len(found.depths), "generated": found.edges.total() + 1, "depth": max(found.depths.values()) + 1}
    assert {**counts, "digest": str(found.digest)}.items() <= model.configuration.expected.items()


@pytest.mark.parametrize("model", [marked(model) for model in ASKED])
def test_explorer_gives_the_expected_answer(model: Model) -> None:
    assert surprise(model, ask_explorer(model)) is None


def test_explorer_is_asked_of_every_negative_model_and_of_its_mended_one() -> None:
    questions = [model for model in SMALL if not model.name.startswith(("tiny", "small"))]

    assert questions
    assert {model.name for model in questions} == {model.name for model in ASKED}


@pytest.mark.parametrize("model", [model for model in ASKED if model.counterexample_path], ids=by_name)
def test_stored_counterexample_is_a_run_in_python_that_violates_the_same(model: Model) -> None:
    graph, path = replay(model, load_counterexample(model))

    assert model.steps in (len(path), None)
    assert len(draw_path(graph, path).happenings) >= len(path)


@pytest.mark.parametrize("name", ["DX-01-letter", "DX-04-own", "DX-04-later", "DX-04-anew", "DX-05-left-out"])
def test_flaw_is_what_breaks_the_property(name: str) -> None:
    assert ask_explorer(named(name)).broken == named(name).violated
    assert ask_explorer(replace(named(name), replace={})).broken is None


@pytest.mark.slow  # runs TLC, and so needs Java; `peerproof graph distkv` takes all of them
@pytest.mark.parametrize(
    "name", ["tiny", "small-loss", "small-split", "small-settling", "small-restart", "small-old", "small-greeting"]
)
def test_graphs_of_the_module_and_of_the_specification_are_equal(tmp_path: Path, name: str) -> None:
    model = named(name)

    comparison, exploration = compared(dumped(tmp_path, model), World(model.configuration.constants))

    assert comparison.equal
    assert comparison.labels == exploration.edges
    assert str(comparison.digest) == str(exploration.digest)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["DX-01-letter", "DX-04-own", "DX-04-later", "DX-05-left-out", "DX-13-silenced", "DX-14-unrepaired", "DX-15-short"]
)
def test_graphs_of_what_is_changed_on_both_sides_are_equal(tmp_path: Path, name: str) -> None:
    model = named(name)
    dump = dumped(tmp_path, model)

    assert compared(dump, VARIANTS[frozenset(model.replace.values())](model.configuration.constants))[0].equal
    assert not compared(dump, World(model.configuration.constants))[0].equal


def loses(_: Any) -> bool:
    """Nobody is told the ticks of a start-up ping."""
    return False


def unseen(sets: Any, _: Any) -> Any:
    """What stands on chains behind the head is not noticed."""
    return sets


class Ungreeted(World):
    """A world in which nobody answers start-up pings."""

    overrides = names_in(election, is_startup=loses)


class Unseen(World):
    """A world of nodes that overlook what chains say."""

    overrides = names_in(entries, with_elements=unseen)


def doubled(step: Any) -> Any:
    """As the specification, and its tock is one above what it was."""

    def changed(state: Any, event: Any, pick: Any) -> Step[Any, Any]:
        after, effects = step(state, event, pick)
        return Step(replace(after, tock=after.tock + (after.tock > state.tock)), effects)

    return changed


class Doubled(World):
    """A world of nodes that set out a tock too high."""

    changes = (doubled,)


@pytest.mark.slow
def test_what_one_side_does_otherwise_is_found(tmp_path: Path) -> None:
    model = named("small-greeting")
    dump, constants = dumped(tmp_path, model), model.configuration.constants

    assert compared(dump, World(constants))[0].equal
    for changed in (Ungreeted(constants), Unseen(constants), Doubled(constants)):
        assert not compared(dump, changed)[0].equal
