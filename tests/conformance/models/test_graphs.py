"""The worlds of Peter and DistKV: the same graphs as TLC's, also of what is changed on both sides, and with messages in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.graphs import compared, dumped

from peerproof.conformance.models.counterexample_vectors import vector_models
from peerproof.conformance.models.counterexamples import variants_of
from peerproof.conformance.models.graph_check import GraphVerdict, compare_graphs
from peerproof.spec.core import Step
from peerproof.spec.peter.model.bounded import Model as World
from peerproof.tla.manifest import Model, models
from peerproof.tla.tools.installation import find

SMALL = {(protocol, model.name): model for protocol in ("peter", "distkv") for model in models(protocol) if model.size == "small"}

#: Those that TLC explores as well; `peerproof model graph` takes all of them.
BY_BOTH = [
    *(("peter", f"small-{name}") for name in ("topics", "late", "churn", "bag", "hops", "astray")),
    *(("distkv", f"small-{name}") for name in ("loss", "split", "settling", "restart", "old", "greeting")),
    ("peter", "tiny"),
    ("distkv", "tiny"),
]
#: No module with time has a counterpart in Python.
BY_ONE = [
    named
    for named, model in SMALL.items()
    if model.is_whole_graph and model.name == model.configuration.name and model.module in ("MCPeter", "MCDistKV")
]
CHANGED = [
    *(("peter", f"PX-{name}") for name in ("01-literal", "04-routed")),
    *(("distkv", f"DX-{name}") for name in ("01-letter", "04-own", "04-later", "05-left-out")),
    *(("distkv", f"DX-{name}") for name in ("13-silenced", "14-unrepaired", "15-short")),
]


@pytest.mark.slow  # some of the graphs have tens of thousands of states
@pytest.mark.parametrize(("protocol", "name"), [named for named in BY_ONE if named not in BY_BOTH])
def test_graph_of_the_specification_is_what_is_written_down(protocol: str, name: str) -> None:
    check = compare_graphs(SMALL[protocol, name])

    assert check.verdict is GraphVerdict.NOT_COMPARED, check.text


@pytest.mark.slow  # runs TLC, and so needs Java
@pytest.mark.parametrize(("protocol", "name"), BY_BOTH)
def test_graphs_of_the_module_and_of_the_specification_are_equal_and_what_is_written_down(protocol: str, name: str) -> None:
    check = compare_graphs(SMALL[protocol, name], find())

    assert check.verdict is GraphVerdict.EQUAL, check.text


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), CHANGED)
def test_graphs_of_what_is_changed_on_both_sides_are_equal(protocol: str, name: str, tmp_path: Path) -> None:
    model = SMALL[protocol, name]
    variants, constants = variants_of(protocol).VARIANTS, model.configuration.constants
    dump = dumped(tmp_path, model)

    assert compared(dump, variants[frozenset(model.replace.values())](constants))[0].equal
    assert not compared(dump, variants[frozenset()](constants))[0].equal


def test_vectors_are_made_of_counterexamples_of_peter_in_which_nobody_comes_or_goes() -> None:
    peter = [model for (protocol, _), model in SMALL.items() if protocol == "peter"]

    assert {model.name for model in vector_models(peter)} == {"PX-01-literal", "PX-02-overtaken"}


def backwards(step: Any, state: Any, event: Any, seek: Any) -> Any:
    """What a node sends at once it sends in the opposite order."""
    after, effects = step(state, event, seek)
    return Step(after, effects[::-1])


class Backwards(World):
    """A world of nodes with another order."""

    changes = (backwards,)


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
    tiny: Model = SMALL["peter", "tiny"]
    constants = {**tiny.configuration.constants, **BOTH}
    dump = dumped(tmp_path, replace(tiny, configuration=replace(tiny.configuration, constants=constants)))

    assert compared(dump, World(constants))[0].equal
    for changed in (Backwards(constants), World({**constants, "Fifo": False})):
        assert not compared(dump, changed)[0].equal
