"""What vectors take of a state graph is found by walking them; a table that says otherwise is not believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support.catching import suite
from tests.support.model_tables import kept

from peerproof.cli.main import main
from peerproof.conformance.models.edge_coverage import EdgeCoverage, as_text, coverage
from peerproof.conformance.models.generation import select_configurations
from peerproof.conformance.vectors.model_table import table_of
from peerproof.conformance.vectors.suite import Vector, load
from peerproof.spec.protocols import PROTOCOLS

pytestmark = pytest.mark.slow

Spoil = Callable[[dict[str, Any]], None]


def of(name: str, root: Path | None = None, protocol: str = "scuttlebutt") -> EdgeCoverage:
    vectors = load(root).vectors if root else suite().vectors
    (found,) = coverage(protocol, [vector for vector in vectors if f"{protocol}/model/{name}-" in vector.id])
    return found


@pytest.mark.parametrize(("protocol", "size", "moving"), [("scuttlebutt", (1125, 5681), 3663), ("swim", (1496, 3196), 1714)])
def test_every_edge_of_tiny_is_exercised_both_ways_and_walked(protocol: str, size: tuple[int, int], moving: int) -> None:
    found = of("tiny", protocol=protocol)

    assert (found.worlds, found.edges) == size
    assert found.loaded == found.on_paths == found.steps
    assert found.edges_loaded == found.edges_on_paths == found.moving == moving
    assert found.walked == found.edges
    assert found.complete


def test_an_edge_that_no_program_notices_is_no_edge_in_which_a_node_moves() -> None:
    """What comes after a crash is as lost as what gets lost."""
    found = of("small-relay", protocol="swim")
    table = table_of(json.loads(kept("small-relay", "swim").read_bytes()))

    assert {label for label, _ in table.unnoticed} == {"Command", "Receive"}
    assert found.moving < found.edges
    assert found.complete


#: The crashes among the commands of a configuration: no program notices its own, nor what is sent to it afterwards.
CRASHES: Final = {"small-crash": 57, "small-cell": 4, "small-route": 34, "small-reason": 509 + 1255}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        (protocol, one.name)
        for protocol in PROTOCOLS
        for one in select_configurations(protocol)
        if one.name not in ("tiny", "small-relay")
    ],
)
def test_every_edge_of_the_small_graphs_in_which_a_node_moves_is_exercised_both_ways(protocol: str, name: str) -> None:
    found = of(name, protocol=protocol)
    expected = next(one.expected for one in select_configurations(protocol) if one.name == name)

    assert (found.worlds, found.edges) == (expected["distinct"], expected["generated"] - 1)
    assert found.moving == found.edges - expected["actions"].get("Lose", 0) - CRASHES.get(name, 0)
    assert found.loaded == found.steps
    assert found.edges_loaded == found.moving
    assert found.complete
    if protocol == "distkv":  # its nodes have timers of several lengths, which a clock lets run out in one order only
        assert found.steps // 5 < found.on_paths <= found.steps
        return
    assert found.on_paths == found.steps
    assert found.edges_on_paths == found.moving


def test_every_edge_is_walked_by_the_paths_that_are_made_on_demand(tmp_path: Path) -> None:
    assert main(["vectors", "generate", "scuttlebutt", "--only", "tiny", "--every-edge", str(tmp_path)]) == 0

    found = of("tiny", tmp_path)

    assert found.walked == found.edges == 5681
    assert found.complete


def another_state(plain: dict[str, Any]) -> None:
    """A node stays as it is where it should change."""
    step = next(step for step in plain["steps"] if step[0] != step[3])
    step[3] = step[0]


def no_message(plain: dict[str, Any]) -> None:
    """A message is left out."""
    next(step for step in plain["steps"] if step[4])[4].clear()


def another_message(plain: dict[str, Any]) -> None:
    """A message has other bytes."""
    step = next(step for step in plain["steps"] if step[4])
    plain["messages"][step[4][0]][2] = "03"


def no_notice(plain: dict[str, Any]) -> None:
    """What the application is told is left out."""
    next(step for step in plain["steps"] if step[6])[6].clear()


def another_datagram(plain: dict[str, Any]) -> None:
    """A datagram comes in that nobody sends."""
    next(event for event in plain["events"] if event[0] == "send")[2] = "0101390000000000000009"


def another_refusal(plain: dict[str, Any]) -> None:
    """A call is said to be refused that is carried out."""
    plain["refusals"].append([0, [next(at for at, event in enumerate(plain["events"]) if event[0] == "call")]])


@pytest.mark.parametrize("spoil", [another_state, no_message, another_message, no_notice, another_datagram, another_refusal])
def test_a_vector_that_is_not_of_the_graph_is_found(tmp_path: Path, spoil: Spoil) -> None:
    found = spoilt(tmp_path, spoil)

    assert found.wrong
    assert not found.complete
    assert "not of the graph: scuttlebutt/model/tiny-" in as_text([found])


def without_a_step(plain: dict[str, Any]) -> None:
    """A step is there for paths only: its vector is that of another."""
    plain["refusals"], plain["paths"], plain["walks"] = [], [], []
    plain["steps"].pop()


def without_paths(plain: dict[str, Any]) -> None:
    """Nothing is walked."""
    plain["paths"], plain["walks"] = [], []


def with_one_walk(plain: dict[str, Any]) -> None:
    """The paths are there, but only one is walked, by one node."""
    plain["walks"] = plain["walks"][:1]


@pytest.mark.parametrize(
    ("spoil", "loaded", "walked"),
    [(without_a_step, 128, range(1)), (without_paths, 129, range(1)), (with_one_walk, 129, range(1, 400))],
)
def test_an_edge_that_no_vector_takes_is_not_counted(tmp_path: Path, spoil: Spoil, loaded: int, walked: range) -> None:
    found = spoilt(tmp_path, spoil)

    assert not found.wrong
    assert found.loaded == loaded
    assert found.walked in walked
    assert not found.complete


def spoilt(tmp_path: Path, spoil: Spoil) -> EdgeCoverage:
    file = tmp_path / "scuttlebutt" / "model" / "tiny.json"
    file.parent.mkdir(parents=True)
    plain = json.loads(kept("tiny").read_bytes())
    spoil(plain)
    file.write_text(json.dumps(plain), encoding="utf-8")
    vectors: list[Vector] = list(load(tmp_path).vectors)
    (found,) = coverage("scuttlebutt", vectors)
    return found
