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
    ending = Ending("Goal", "", (), goal.__contains__, more.pop("ended", frozenset()), **more)
    caught = trap(graph, graph.worlds, ending)
    return (caught.entrance[0], caught.size) if caught else None


def a(*targets: int) -> list[tuple[str, int]]:
    return [("a", target) for target in targets]


def test_goal_that_every_fair_run_reaches_for_good() -> None:
    assert found({0: a(0, 1), 1: a(2), 2: a(1, 3), 3: a(3)}, {3}) is None


def test_run_that_may_leave_a_loop_leaves_it_if_it_is_fair() -> None:
    assert found({0: a(1), 1: a(0, 2)}, {2}) is None
    assert found({0: a(1), 1: a(0)}, {2}) == (0, 2)


def test_loop_without_a_way_out_is_a_trap_and_the_nearest_one_is_told() -> None:
    assert found({0: a(1, 2), 1: a(1), 2: a(3), 3: a(2), 4: a(4)}, {1}) == (2, 2)


def test_goal_that_is_left_again_is_not_reached_for_good_but_again_and_again() -> None:
    edges = {0: a(1), 1: a(2), 2: a(1)}

    assert found(edges, {1}) == (1, 2)
    assert found(edges, {1}, returns=True) is None
    assert found(edges, {0}, returns=True) == (1, 2)


def test_what_has_ended_does_not_help() -> None:
    edges = {0: a(0), 1: a(1)} | {0: [("a", 0), ("update", 1)]}

    assert found(edges, {1}) is None
    assert found(edges, {1}, ended=frozenset({"update"})) == (0, 1)


def test_world_without_edges_is_where_a_run_ends() -> None:
    assert found({0: a(1)}, {1}) is None
    assert found({0: a(1)}, {0}) == (1, 1)


def test_something_leads_to_a_goal_only_if_no_way_avoids_it_for_ever() -> None:
    edges = {0: a(1, 3), 1: a(2), 2: a(0), 3: a(3)}

    assert found(edges, {2}, since={1}.__contains__) is None
    assert found(edges, {2}, since={0}.__contains__) == (3, 1)
    assert found(edges, {3}, since={4}.__contains__) is None


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
