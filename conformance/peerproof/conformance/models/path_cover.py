"""
Paths through a state graph that together take every edge, or every local step.

The search is greedy with look-ahead: a path continues as long as there is an untaken edge here or up to three edges away. Then it
ends, and the next path goes the shortest way to the nearest state with an untaken edge. The number of paths is small but not
minimal, which would be infeasible. The result is deterministic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, TypeAlias

from peerproof.conformance.models.local_steps import LocalSteps, Tokens

LOOK_AHEAD: Final = 3
LONGEST: Final = 50

Way: TypeAlias = list[tuple[int, int]]  #: states, and the positions of the edges taken from them


@dataclass
class StateGraph:
    """States by number, nearest first, and the edges that leave each: tokens and targets."""

    edges: list[list[tuple[Tokens, int]]] = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)
    parents: list[tuple[int, int] | None] = field(default_factory=list)  #: a shortest path: the state before, and which edge

    @property
    def count(self) -> int:
        """The number of edges."""
        return sum(map(len, self.edges))

    def way(self, world: int) -> Way:
        """Returns a shortest path to a state."""
        backwards: Way = []
        while (parent := self.parents[world]) is not None:
            backwards.append(parent)
            world = parent[0]
        return backwards[::-1]


def state_graph(local: LocalSteps) -> StateGraph:
    """Builds the graph with the edges of these steps; walking it finds the steps."""
    first = local.initial()
    graph, numbers, worlds = StateGraph(parents=[None]), {first: 0}, deque([first])
    while worlds:
        world = worlds.popleft()
        here, leaving, labels = len(graph.edges), list[tuple[Tokens, int]](), list[str]()
        for label, target, tokens in local.moves(world):
            number = numbers.setdefault(target, len(numbers))
            if number == len(graph.parents):
                graph.parents.append((here, len(leaving)))
                worlds.append(target)
            leaving.append((tokens, number))
            labels.append(label)
        graph.edges.append(leaving)
        graph.labels.append(tuple(labels))
    return graph


def covering(graph: StateGraph, *, every_edge: bool) -> Iterator[list[Tokens]]:
    """Yields paths that take every edge of the graph, or only every local step; each has at most `LONGEST` edges."""
    yield from _Cover(graph, _edge_goals(graph) if every_edge else _step_goals(graph)).paths()


#: The goals that an edge reaches, by number.
Goals: TypeAlias = tuple[int, ...]


def _edge_goals(graph: StateGraph) -> list[list[Goals]]:
    numbers = count()
    return [[(next(numbers),) for _ in leaving] for leaving in graph.edges]


def _step_goals(graph: StateGraph) -> list[list[Goals]]:
    return [[tuple(token >> 1 for token in tokens if token >= 0) for tokens, _ in leaving] for leaving in graph.edges]


class _Cover:
    """The goals that are still to be reached."""

    def __init__(self, graph: StateGraph, goals: Sequence[Sequence[Goals]]) -> None:
        self.graph = graph
        self.goals = goals
        all_goals = [goal for of_world in goals for of_edge in of_world for goal in of_edge]
        self.left = bytearray(1 + max(all_goals, default=-1))
        for goal in all_goals:
            self.left[goal] = 1
        self.first = [0] * len(goals)  #: state -> all edges before this position are taken, for ever
        self.done = bytearray(len(goals))  #: state -> whether all edges that leave it are taken, if that is known

    def paths(self) -> Iterator[list[Tokens]]:
        for world in range(len(self.goals)):
            while self.open(world) is not None:
                yield self.path(world)

    def open(self, world: int) -> int | None:
        """Returns the position of the first untaken edge that leaves this state; None if there is none."""
        if self.done[world]:
            return None
        at = next(self.all_open(world), None)
        if at is None:
            self.done[world] = 1
        else:
            self.first[world] = at
        return at

    def all_open(self, world: int) -> Iterator[int]:
        """Yields the positions of all untaken edges that leave this state."""
        left, goals = self.left, self.goals[world]
        for at in range(self.first[world], len(goals)):
            for goal in goals[at]:
                if left[goal]:
                    yield at
                    break

    def path(self, start: int) -> list[Tokens]:
        """Returns a path through this state, as long as there are untaken edges."""
        path: list[Tokens] = []
        world = self.take(self.graph.way(start), path, 0)
        assert len(path) < LONGEST, "a state further away needs longer paths"
        while len(path) < LONGEST and (ahead := self.ahead(world)):
            if len(path) + len(ahead) > LONGEST:
                break
            world = self.take(ahead, path, world)
        return path

    def take(self, way: Way, path: list[Tokens], world: int) -> int:
        """Takes the edges of a way and returns the state at its end."""
        for at, position in way:
            assert at == world, "the edges of a way are connected"
            for goal in self.goals[world][position]:
                self.left[goal] = 0
            tokens, world = self.graph.edges[world][position]
            path.append(tokens)
        return world

    def ahead(self, world: int) -> Way:
        """Returns the way to the nearest untaken edge, with that edge; prefers an edge that another one follows."""
        if (here := self.open(world)) is not None:
            for at in self.all_open(world):
                if self.open(self.graph.edges[world][at][1]) is not None:
                    return [(world, at)]
            return [(world, here)]
        edges, done = self.graph.edges, self.done
        ways: list[tuple[Way, int]] = [([], world)]
        for further in range(LOOK_AHEAD - 1):
            if further:
                ways = [([*way, (end, at)], target) for way, end in ways for at, (_, target) in enumerate(edges[end])]
            for way, end in ways:
                for at, (_, target) in enumerate(edges[end]):
                    if not done[target] and (there := self.open(target)) is not None:
                        return [*way, (end, at), (target, there)]
        return []
