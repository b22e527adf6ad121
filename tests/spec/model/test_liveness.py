"""Bottom components, and what they say of fair runs: on graphs that are small enough to see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.model.bounded import World
from peerproof.spec.model.liveness import Ending, bottom_components, trap

Edges = Mapping[int, list[tuple[str, int]]]


class _Drawn:
    """A graph that is written down; a world is a number, and a property sees the number."""

    def __init__(self, edges: Edges) -> None:
        self.edges = edges

    def initial(self) -> World:
        return (0,)

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        return ((label, (target,)) for label, target in self.edges.get(world[0], []))

    def cluster(self, world: World) -> Any:
        return world[0]

    @property
    def worlds(self) -> list[World]:
        return [(number,) for number in sorted({0, *self.edges, *(t for edges in self.edges.values() for _, t in edges)})]


def found(edges: Edges, goal: set[int], **more: Any) -> tuple[int, int] | None:
    """Entrance and size of the trap."""
    graph = _Drawn(edges)
    ending = Ending("Goal", "", (), goal.__contains__, **{"ended": frozenset(), **more})
    caught = trap(graph, graph.worlds, ending)
    return (caught.entrance[0], caught.size) if caught else None


def a(*targets: int) -> list[tuple[str, int]]:
    return [("a", target) for target in targets]


LOOP = {0: a(1), 1: a(2), 2: a(1)}
UPDATED = {0: [("a", 0), ("update", 1)], 1: a(1)}
FORK = {0: a(1, 3), 1: a(2), 2: a(0), 3: a(3)}


@pytest.mark.parametrize(
    ("edges", "goal", "more", "expected"),
    [
        pytest.param({0: a(0, 1), 1: a(2), 2: a(1, 3), 3: a(3)}, {3}, {}, None, id="every fair run reaches it for good"),
        pytest.param({0: a(1), 1: a(0, 2)}, {2}, {}, None, id="a run that may leave a loop leaves it if it is fair"),
        pytest.param({0: a(1), 1: a(0)}, {2}, {}, (0, 2), id="a loop without a way out is a trap"),
        pytest.param({0: a(1, 2), 1: a(1), 2: a(3), 3: a(2), 4: a(4)}, {1}, {}, (2, 2), id="the nearest trap is told"),
        pytest.param({0: a(3, 1, 2), 1: a(3), 2: a(2), 3: a(1)}, {0}, {}, (1, 2), id="also if its far end is found first"),
        pytest.param(LOOP, {1}, {}, (1, 2), id="a goal that is left again is not reached for good"),
        pytest.param(LOOP, {1}, {"returns": True}, None, id="but again and again"),
        pytest.param(LOOP, {0}, {"returns": True}, (1, 2), id="one that is left once is not"),
        pytest.param(UPDATED, {1}, {}, None, id="an action helps"),
        pytest.param(UPDATED, {1}, {"ended": frozenset({"update"})}, (0, 1), id="one that has ended does not"),
        pytest.param({0: a(1)}, {1}, {}, None, id="a run ends in a world without edges"),
        pytest.param({0: a(1)}, {0}, {}, (1, 1), id="and not before"),
        pytest.param(FORK, {2}, {"since": {1}.__contains__}, None, id="no way from there avoids the goal for ever"),
        pytest.param(FORK, {2}, {"since": {0}.__contains__}, (3, 1), id="one way does"),
        pytest.param(FORK, {3}, {"since": {4}.__contains__}, None, id="nothing is to be reached before it begins"),
    ],
)
def test_trap_is_where_a_fair_run_stays_without_the_goal(edges: Edges, goal: set[int], more: Any, expected: Any) -> None:
    assert found(edges, goal, **more) == expected


@given(st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=12, max_size=12))
def test_bottom_components_are_those_that_nothing_leaves(targets: list[list[int]]) -> None:
    """Against the definition: worlds that reach each other, and nothing else."""

    def reach(start: int) -> frozenset[int]:
        seen, stack = {start}, [start]
        while stack:
            new = set(targets[stack.pop()]) - seen
            seen |= new
            stack += new
        return frozenset(seen)

    reached = [reach(start) for start in range(12)]
    expected = {reached[start] for start in range(12) if all(start in reached[other] for other in reached[start])}

    worlds = [(number,) for number in range(12)]
    components = list(bottom_components(worlds, lambda world: [(target,) for target in targets[world[0]]]))

    assert {frozenset(component) for component in components} == expected
    assert len(components) == len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("length", [200_000])
def test_long_way_needs_no_recursion(length: int) -> None:
    worlds = [(number,) for number in range(length)]

    (component,) = bottom_components(worlds, lambda world: [(min(world[0] + 1, length - 1),)])

    assert component == [length - 1]
