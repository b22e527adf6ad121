"""
Monitors of runs: they restrict a state graph to certain steps, and remember what a single world does not show.

A question such as "do both nodes agree when the round is over?" is about a run, not about a world. A `Monitor` selects the
steps to follow, and remembers as much of the past as the question needs. A watched world is a world with the number of the memory
in front; `search` explores watched worlds nearest first, and `liveness` accepts them too.
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
    """Worlds and the edges between them: a `System` or a `Monitored`."""

    def initial(self) -> World:
        """The first world."""

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        """Yields every edge that leaves a world."""

    def cluster(self, world: World) -> Any:
        """Returns a world in the form that properties check."""


class Monitor(Protocol):
    """The steps to follow, and the memory of them."""

    start: Hashable  #: the memory before the first step
    names: Mapping[str, str]  #: labels -> names of the actions in the TLA+ module that watches, where they differ

    def allows(self, before: Cluster, label: str, after: Cluster) -> bool:
        """Whether to follow a step with this label."""

    def remembers(self, memory: Hashable, label: str, after: Cluster) -> Hashable:
        """Returns the memory after a step."""

    def values(self, memory: Any) -> Mapping[str, Any]:
        """Returns the memory as variables of the equivalent TLA+ module."""


class Watched(NamedTuple):
    """A cluster, and the memory of the run that led to it."""

    nodes: Mapping[NodeId, Any]
    in_flight: Iterable[InFlight]
    memory: Any


class Monitored:
    """A system restricted to the steps that a monitor follows, with its memory."""

    def __init__(self, system: System, monitor: Monitor) -> None:
        self.system = system
        self.monitor = monitor
        self.memories: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}

    def initial(self) -> World:
        """Returns the initial world, with the initial memory."""
        return (self._number(self.monitor.start), *self.system.initial())

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        """Yields the edges that the monitor follows."""
        memory, before = self.memories[world[0]], self.system.cluster(world[1:])
        for label, target in self.system.moves(world[1:]):
            after = self.system.cluster(target)
            if self.monitor.allows(before, label, after):
                remembered = self.monitor.remembers(memory, label, after)
                yield self.monitor.names.get(label, label), (self._number(remembered), *target)

    def cluster(self, world: World) -> Watched:
        """Returns a watched world in the form that properties check."""
        return Watched(*self.system.cluster(world[1:]), self.memories[world[0]])

    def bare(self, path: Iterable[Edge]) -> tuple[Edge, ...]:
        """Returns the same path in the underlying system."""
        labels = {name: label for label, name in self.monitor.names.items()}
        return tuple(Edge(labels.get(name, name), target[1:]) for name, target in path)

    def _number(self, memory: Hashable) -> int:
        if memory not in self._numbers:
            self._numbers[memory] = len(self.memories)
            self.memories.append(memory)
        return self._numbers[memory]


@dataclass
class Search:
    """The result of a search, nearest first; `broken` names the invariant that does not hold in the last world."""

    graph: Graph
    parents: dict[World, World | None] = field(default_factory=dict)
    edges: int = 0
    depth: int = 0  #: steps to the farthest world
    broken: str | None = None

    def path(self, world: World | None = None) -> tuple[Edge, ...]:
        """Returns a shortest path to a world, by default the last one."""
        return path_to(next(reversed(self.parents)) if world is None else world, self.parents, self.graph.moves)


def search(
    graph: Graph, invariants: Mapping[str, Callable[[Any], bool]], progress: Callable[[int, int, int], None] = lambda *_: None
) -> Search:
    """
    Explores every reachable world, breadth first; ends at the first one in which an invariant does not hold.

    `progress` is called for each depth, with the worlds seen, the worlds waiting and the depth.
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
