"""
Paths through a state graph that together take every edge, or every local step.

Greedy, with look-ahead: a path takes an edge that no path has taken before as long as there is one here or up to three edges
away; then it ends, and the next one goes the shortest way to the nearest world that has one left. Not the fewest paths, which
nobody could find, but few; and the same ones every time.
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

Way: TypeAlias = list[tuple[int, int]]  #: worlds, and the positions of the edges that leave them


@dataclass
class StateGraph:
    """Worlds by number, nearest first, and the edges that leave each: tokens and targets."""

    edges: list[list[tuple[Tokens, int]]] = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)
    parents: list[tuple[int, int] | None] = field(default_factory=list)  #: a shortest way: the world before, and which edge

    @property
    def count(self) -> int:
        """How many edges there are."""
        return sum(map(len, self.edges))

    def way(self, world: int) -> Way:
        """A shortest way to a world."""
        backwards: Way = []
        while (parent := self.parents[world]) is not None:
            backwards.append(parent)
            world = parent[0]
        return backwards[::-1]


def state_graph(local: LocalSteps) -> StateGraph:
    """The graph whose edges these steps make; walking it finds the steps."""
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
    """Paths that take every edge of the graph, or only every local step; each no longer than `LONGEST`."""
    yield from _Cover(graph, _edge_goals(graph) if every_edge else _step_goals(graph)).paths()


#: What an edge is taken for, by number.
Goals: TypeAlias = tuple[int, ...]


def _edge_goals(graph: StateGraph) -> list[list[Goals]]:
    numbers = count()
    return [[(next(numbers),) for _ in leaving] for leaving in graph.edges]


def _step_goals(graph: StateGraph) -> list[list[Goals]]:
    return [[tuple(token >> 1 for token in tokens if token >= 0) for tokens, _ in leaving] for leaving in graph.edges]


class _Cover:
    """What is left to take."""

    def __init__(self, graph: StateGraph, goals: Sequence[Sequence[Goals]]) -> None:
        self.graph = graph
        self.goals = goals
        all_goals = [goal for of_world in goals for of_edge in of_world for goal in of_edge]
        self.left = bytearray(1 + max(all_goals, default=-1))
        for goal in all_goals:
            self.left[goal] = 1

    def paths(self) -> Iterator[list[Tokens]]:
        for world in range(len(self.goals)):
            while self.open(world) is not None:
                yield self.path(world)

    def open(self, world: int) -> int | None:
        """The position of an edge that leaves this world and is still to be taken."""
        return next(self.all_open(world), None)

    def all_open(self, world: int) -> Iterator[int]:
        """The positions of all of them."""
        left = self.left
        for at, goals in enumerate(self.goals[world]):
            for goal in goals:
                if left[goal]:
                    yield at
                    break

    def path(self, start: int) -> list[Tokens]:
        """A path by way of this world, as long as there is something to take."""
        path: list[Tokens] = []
        world = self.take(self.graph.way(start), path, 0)
        assert len(path) < LONGEST, "a world further away needs longer paths"
        while len(path) < LONGEST and (ahead := self.ahead(world)):
            if len(path) + len(ahead) > LONGEST:
                break
            world = self.take(ahead, path, world)
        return path

    def take(self, way: Way, path: list[Tokens], world: int) -> int:
        """Goes a way; gives where it leads."""
        for at, position in way:
            assert at == world, "a way hangs together"
            for goal in self.goals[world][position]:
                self.left[goal] = 0
            tokens, world = self.graph.edges[world][position]
            path.append(tokens)
        return world

    def ahead(self, world: int) -> Way:
        """The nearest edge that is still to be taken, with the way there; of those here, one after which there is another."""
        if (here := self.open(world)) is not None:
            for at in self.all_open(world):
                if self.open(self.graph.edges[world][at][1]) is not None:
                    return [(world, at)]
            return [(world, here)]
        ways: list[tuple[Way, int]] = [([], world)]
        for _ in range(LOOK_AHEAD - 1):
            further = []
            for way, end in ways:
                for at, (_, target) in enumerate(self.graph.edges[end]):
                    gone = [*way, (end, at)]
                    if (there := self.open(target)) is not None:
                        return [*gone, (target, there)]
                    further.append((gone, target))
            ways = further
        return []
