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
from typing import Final, TypeAlias

from peerproof.conformance.local_steps import LocalSteps, Token

LOOK_AHEAD: Final = 3
LONGEST: Final = 50

Way: TypeAlias = list[tuple[int, int]]  #: worlds, and the positions of the edges that leave them


@dataclass
class StateGraph:
    """Worlds by number, nearest first, and the edges that leave each: tokens and targets."""

    edges: list[list[tuple[Token, int]]] = field(default_factory=list)
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
        here, leaving, labels = len(graph.edges), list[tuple[Token, int]](), list[str]()
        for label, target, token in local.moves(world):
            number = numbers.setdefault(target, len(numbers))
            if number == len(graph.parents):
                graph.parents.append((here, len(leaving)))
                worlds.append(target)
            leaving.append((token, number))
            labels.append(label)
        graph.edges.append(leaving)
        graph.labels.append(tuple(labels))
    return graph


def step_of(token: Token) -> int | None:
    """The number of the local step in an edge; None where no node moves."""
    return token >> 1 if token >= 0 else None


def covering(graph: StateGraph, *, every_edge: bool) -> Iterator[list[Token]]:
    """Paths that take every edge of the graph, or only every local step; each no longer than `LONGEST`."""
    yield from _Cover(graph, _edge_goals(graph) if every_edge else _step_goals(graph)).paths()


def _edge_goals(graph: StateGraph) -> list[list[int]]:
    goals, count = [], 0
    for leaving in graph.edges:
        goals.append(list(range(count, count + len(leaving))))
        count += len(leaving)
    return goals


def _step_goals(graph: StateGraph) -> list[list[int]]:
    return [[-1 if token < 0 else token >> 1 for token, _ in leaving] for leaving in graph.edges]


class _Cover:
    """What is left to take: each edge has a goal, or none (-1)."""

    def __init__(self, graph: StateGraph, goals: Sequence[Sequence[int]]) -> None:
        self.graph = graph
        self.goals = goals
        self.left = bytearray(1 + max((goal for of_world in goals for goal in of_world), default=-1))
        for of_world in goals:
            for goal in of_world:
                if goal >= 0:
                    self.left[goal] = 1

    def paths(self) -> Iterator[list[Token]]:
        for world in range(len(self.goals)):
            while self.open(world) is not None:
                yield self.path(world)

    def open(self, world: int) -> int | None:
        """The position of an edge that leaves this world and is still to be taken."""
        left = self.left
        return next((at for at, goal in enumerate(self.goals[world]) if goal >= 0 and left[goal]), None)

    def path(self, start: int) -> list[Token]:
        """A path by way of this world, as long as there is something to take."""
        tokens: list[Token] = []
        world = self.take(self.graph.way(start), tokens, 0)
        assert len(tokens) < LONGEST, "a world further away needs longer paths"
        while len(tokens) < LONGEST and (ahead := self.ahead(world)):
            if len(tokens) + len(ahead) > LONGEST:
                break
            world = self.take(ahead, tokens, world)
        return tokens

    def take(self, way: Way, tokens: list[Token], world: int) -> int:
        """Goes a way; gives where it leads."""
        for at, position in way:
            assert at == world, "a way hangs together"
            if (goal := self.goals[world][position]) >= 0:
                self.left[goal] = 0
            token, world = self.graph.edges[world][position]
            tokens.append(token)
        return world

    def ahead(self, world: int) -> Way:
        """The nearest edge that is still to be taken, with the way there; of those here, one after which there is another."""
        if (here := self.open(world)) is not None:
            for at, goal in enumerate(self.goals[world]):
                if goal >= 0 and self.left[goal] and self.open(self.graph.edges[world][at][1]) is not None:
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
