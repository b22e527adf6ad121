"""Peter's worlds: the same graphs as TLC's, with messages in order too, the same answers, and what TLC found is a run of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.graphs import compared, dumped

from peerproof.conformance.models.counterexample_vectors import vector_models
from peerproof.conformance.models.counterexamples import ask_explorer, draw_path, is_asked, load_counterexample, replay, surprise
from peerproof.spec.core import Step
from peerproof.spec.model.explorer import explore
from peerproof.spec.overrides import names_in
from peerproof.spec.peter import tree
from peerproof.spec.peter.model.bounded import Model as World
from peerproof.spec.peter.model.variants import VARIANTS
from peerproof.tla.manifest import Model, models

SMALL = [model for model in models("peter") if model.size == "small"]
GRAPHS = [model for model in SMALL if model.is_whole_graph and model.name == model.configuration.name]
ASKED = [model for model in SMALL if is_asked(model)]


def by_name(model: Model) -> str:
    return model.name


def named(name: str) -> Model:
    return next(model for model in SMALL if model.name == name)


@pytest.mark.parametrize("model", GRAPHS, ids=by_name)
def test_explorer_counts_what_is_written_down(model: Model) -> None:
    found = explore(World(model.configuration.constants), digest=True)

    counts = {"distinct": len(found.depths), "generated": found.edges.total() + 1, "depth": max(found.depths.values()) + 1}
    assert {**counts, "digest": str(found.digest)}.items() <= model.configuration.expected.items()


@pytest.mark.parametrize("model", ASKED, ids=by_name)
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


@pytest.mark.parametrize(("name", "without"), [("PX-01-literal", {}), ("PX-04-routed", {})])
def test_flaw_is_what_breaks_the_property(name: str, without: dict[str, str]) -> None:
    assert ask_explorer(named(name)).broken == named(name).violated
    assert ask_explorer(replace(named(name), replace=without)).broken is None


def test_vectors_are_made_of_counterexamples_in_which_nobody_comes_or_goes() -> None:
    assert {model.name for model in vector_models(SMALL)} == {"PX-01-literal", "PX-02-overtaken"}


@pytest.mark.slow  # runs TLC, and so needs Java; `peerproof graph peter` takes all of them
@pytest.mark.parametrize("name", ["tiny", "small-topics", "small-late", "small-churn", "small-bag", "small-hops", "small-astray"])
def test_graphs_of_the_module_and_of_the_specification_are_equal(tmp_path: Path, name: str) -> None:
    model = named(name)

    comparison, exploration = compared(dumped(tmp_path, model), World(model.configuration.constants))

    assert comparison.equal
    assert comparison.labels == exploration.edges
    assert str(comparison.digest) == str(exploration.digest)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PX-01-literal", "PX-04-routed"])
def test_graphs_of_what_is_changed_on_both_sides_are_equal(tmp_path: Path, name: str) -> None:
    model = named(name)
    dump = dumped(tmp_path, model)

    assert compared(dump, VARIANTS[frozenset(model.replace.values())](model.configuration.constants))[0].equal
    assert not compared(dump, World(model.configuration.constants))[0].equal


def backwards(step: Any) -> Any:
    """What a node sends at once it sends in the opposite order."""

    def changed(state: Any, event: Any, seek: Any) -> Any:
        after, effects = step(state, event, seek)
        return Step(after, effects[::-1])

    return changed


def kept(state: Any, topic: Any, row: Any, _seek: Any) -> Any:
    """Whoever is not wanted any more is not told."""
    return Step(state.with_row(topic, row))


class Backwards(World):
    """A world of nodes with another order."""

    changes = (backwards,)


class Kept(World):
    """A world of nodes that stay children."""

    overrides = names_in(tree, update_row=kept)


#: The meeting point of two topics leaves, and who is subscribed to both asks the same next hop for both in one step.
BOTH = {
    "Topic": [1, 2],
    "Order": [[1, 3, 2, 1], [2, 3, 2, 1]],
    "Knows": [[1, 2], [1, 3], [2, 3], [3, 1]],
    "Subscribed": [[1, 1], [1, 2]],
    "Todo": [[1, 1, "unsubscribe", 1, 0], [3, 1, "leave", 0, 0]],
}


@pytest.mark.slow
def test_what_one_side_does_otherwise_is_found_also_if_it_is_only_the_order(tmp_path: Path) -> None:
    tiny = named("tiny")
    constants = {**tiny.configuration.constants, **BOTH}
    dump = dumped(tmp_path, replace(tiny, configuration=replace(tiny.configuration, constants=constants)))

    assert compared(dump, World(constants))[0].equal
    for changed in (Backwards(constants), Kept(constants), World({**constants, "Fifo": False})):
        assert not compared(dump, changed)[0].equal
