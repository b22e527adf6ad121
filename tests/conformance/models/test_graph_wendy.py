"""Wendy's ways through rings at rest: the walks of TLC and those of the specification's own next hops are the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from peerproof.spec.wendy.model.walks import QUESTIONS, Walk, Walks, lacking, literal_next_hop
from peerproof.tla.manifest import Configuration, Model, configurations, models, root
from peerproof.tla.output.counterexample import from_itf
from peerproof.tla.output.dot import State, read
from peerproof.tla.tools.installation import find
from peerproof.tla.tools.tlc import Run, run

ROUTING = [model for model in models("wendy") if model.module == "Routing" and model.init == "Anywhere"]

#: What TLA+ definitions are replaced by -> the walks that have the same done to them.
VARIANTS: Mapping[frozenset[str], Callable[[Any], Walks]] = {
    frozenset(): Walks,
    frozenset({"Inconsistent"}): lambda constants: Walks(constants, leaf_sets=lacking),
    frozenset({"Literally"}): lambda constants: Walks(constants, next_hop=literal_next_hop),
}


def walks_of(model: Model) -> Walks:
    return VARIANTS[frozenset(model.replace.values())](model.configuration.constants)


def explored(walks: Walks, model: Model) -> tuple[dict[Walk, int], Counter[tuple[Walk, Walk]], str | None]:
    """Walks with their depths, edges, and the first invariant that is broken, which ends it."""
    depths = dict.fromkeys(walks.initial(), 1)
    edges = Counter[tuple[Walk, Walk]]()
    level = list(depths)
    while level:
        for walk in level:
            if broken := next((name for name in model.invariants if not QUESTIONS.get(name, holds)(walks, walk)), None):
                return depths, edges, broken
        before, level = level, []
        for walk in before:
            for target in walks.moves(walk):
                edges[walk, target] += 1
                if target not in depths:
                    depths[target] = depths[walk] + 1
                    level.append(target)
    return depths, edges, None


def holds(_walks: Walks, _walk: Walk) -> bool:
    """Types, which Python has its own ways to look at."""
    return True


@pytest.mark.slow
@pytest.mark.parametrize("model", [m for m in ROUTING if m.size == "small"], ids=lambda model: model.name)
def test_explorer_answers_what_is_asked_of_walks_as_tlc_does(model: Model) -> None:
    depths, edges, broken = explored(walks_of(model), model)

    assert broken == model.violated
    if broken:
        assert max(depths.values()) - 1 == model.steps
    else:
        initial = sum(depth == 1 for depth in depths.values())
        found = {"initial": initial, "distinct": len(depths), "generated": initial + edges.total(), "depth": max(depths.values())}
        assert found == model.counts


@pytest.mark.slow
@pytest.mark.parametrize("model", [m for m in ROUTING if m.violated], ids=lambda model: model.name)
def test_counterexample_of_tlc_is_a_walk(model: Model) -> None:
    walks = walks_of(model)
    assert model.counterexample_path
    example = from_itf(json.loads(model.counterexample_path.read_bytes()))
    steps = [of_variables(state.variables) for state in example.states]

    assert steps[0] in set(walks.initial())
    assert all(after in set(walks.moves(before)) for before, after in pairwise(steps))
    assert model.violated
    assert not QUESTIONS[model.violated](walks, steps[-1])


def of_variables(variables: object) -> Walk:
    """A state of TLC as a walk."""
    assert isinstance(variables, dict)
    return Walk(tuple(sorted(variables["ring"])), variables["key"], variables["path"], variables["done"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["routing", "routing-skewed"])
def test_graph_of_walks_is_that_of_tlc(name: str, tmp_path: Path) -> None:
    constants = configurations("wendy")[name].constants
    configuration = Configuration("wendy", name, "", constants, {})
    model = Model(name, "wendy", "", "small", configuration, (), (), (), "Routing", "Anywhere", "Hop")
    dump = tmp_path / "walks.dot"
    run(find(), Run(module=model.module_path, configuration=model.cfg(), library=(root(),), dump=dump, brief=True))

    states: dict[int, Walk] = {}
    initial, ends = set[Walk](), list[tuple[int, int]]()
    for element in read(dump):
        if isinstance(element, State):
            states[element[0]] = of_variables(dict(element[1]))
            if element[2]:
                initial.add(states[element[0]])
        else:
            ends.append((element[0], element[1]))

    depths, edges, _ = explored(Walks(constants), model)
    assert initial == set(Walks(constants).initial())
    assert set(states.values()) == depths.keys()
    assert Counter((states[source], states[target]) for source, target in ends) == edges
