"""
Watching the runs of a world: only some of them, and with a memory of what no single world shows.

A question such as "do both nodes agree when the round is over?" is about a run and not about a world. A `Monitor` says
which steps to look at, and remembers as much of the past as the question needs. A watched world is a world with what is
remembered, as one more number in front; `search` goes through them nearest first, and `liveness` takes them too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from peerproof.spec.core import NodeId
from peerproof.spec.model.bounded import System, World
from peerproof.spec.model.exploration import Edge, path_to
from peerproof.spec.properties import Cluster, InFlight


class Graph(Protocol):
    """Worlds and the edges between them; a `System` is one, and so is a `Monitored` one."""

    def initial(self) -> World:
        """The first world."""
        ...

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        """Every edge that leaves a world."""
        ...

    def cluster(self, world: World) -> Any:
        """A world as properties see it."""
        ...


class Monitor(Protocol):
    """Which steps to look at, and what to remember of them."""

    start: Hashable  #: what is remembered before the first step
    names: Mapping[str, str]  #: labels -> what the actions are called in the TLA+ module that watches, where it has its own

    def allows(self, before: Cluster, label: str, after: Cluster) -> bool:
        """Whether to look at a step with this label."""
        ...

    def remembers(self, memory: Hashable, label: str, after: Cluster) -> Hashable:
        """What is remembered after a step."""
        ...

    def values(self, memory: Any) -> Mapping[str, Any]:
        """What is remembered, as variables of the TLA+ module that watches the same."""
        ...


class Watched(NamedTuple):
    """A cluster and what is remembered of how it came about."""

    nodes: Mapping[NodeId, Any]
    in_flight: Iterable[InFlight]
    memory: Any


class Monitored:
    """A system in the eyes of a monitor."""

    def __init__(self, system: System, monitor: Monitor) -> None:
        self.system = system
        self.monitor = monitor
        self.memories: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}

    def initial(self) -> World:
        """The first world, with the first memory."""
        return (self._number(self.monitor.start), *self.system.initial())

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        """The edges that the monitor looks at."""
        memory, before = self.memories[world[0]], self.system.cluster(world[1:])
        for label, target in self.system.moves(world[1:]):
            after = self.system.cluster(target)
            if self.monitor.allows(before, label, after):
                remembered = self.monitor.remembers(memory, label, after)
                yield self.monitor.names.get(label, label), (self._number(remembered), *target)

    def cluster(self, world: World) -> Watched:
        """A watched world as properties see it."""
        return Watched(*self.system.cluster(world[1:]), self.memories[world[0]])

    def bare(self, path: Iterable[Edge]) -> tuple[Edge, ...]:
        """The same path of the system that is watched."""
        labels = {name: label for label, name in self.monitor.names.items()}
        return tuple(Edge(labels.get(name, name), target[1:]) for name, target in path)

    def _number(self, memory: Hashable) -> int:
        if memory not in self._numbers:
            self._numbers[memory] = len(self.memories)
            self.memories.append(memory)
        return self._numbers[memory]


@dataclass
class Search:
    """What has been seen of a graph, nearest first; `broken` is the name of what does not hold in the last world."""

    graph: Graph
    parents: dict[World, World | None] = field(default_factory=dict)
    edges: int = 0
    depth: int = 0  #: steps to the farthest world
    broken: str | None = None

    def path(self, world: World | None = None) -> tuple[Edge, ...]:
        """A shortest way to a world; without one, to the last."""
        return path_to(next(reversed(self.parents)) if world is None else world, self.parents, self.graph.moves)


def search(
    graph: Graph, invariants: Mapping[str, Callable[[Any], bool]], progress: Callable[[int, int, int], None] = lambda *_: None
) -> Search:
    """
    Every world that can be reached, breadth first; ends at the first one in which an invariant does not hold.

    `progress` is called for each depth, with worlds seen, worlds waiting and the depth.
    """
    first = graph.initial()
    found = Search(graph, {first: None})
    found.broken = _find_violation(graph, invariants, first)
    level = [first]
    while level and not found.broken:
        progress(len(found.parents), len(level), found.depth)
        level = _next_level(found, invariants, level)
        found.depth += bool(level)
    return found


def _next_level(found: Search, invariants: Mapping[str, Callable[[Any], bool]], level: list[World]) -> list[World]:
    targets = []
    for world in level:
        for _, target in found.graph.moves(world):
            found.edges += 1
            if target not in found.parents:
                found.parents[target] = world
                targets.append(target)
                found.broken = _find_violation(found.graph, invariants, target)
                if found.broken:
                    return targets
    return targets


def _find_violation(graph: Graph, invariants: Mapping[str, Callable[[Any], bool]], world: World) -> str | None:
    cluster = graph.cluster(world) if invariants else None
    return next((name for name, holds in invariants.items() if not holds(cluster)), None)
