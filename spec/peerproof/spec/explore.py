"""Breadth-first exploration of a world into its state graph, and the shortest way to what should not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from peerproof.spec.properties import Property
from peerproof.spec.world import Model, System, World


class Edge(NamedTuple):
    """One step of one world: what happened, and where it led."""

    label: str
    target: World


class Counterexample(NamedTuple):
    """The shortest run to a world in which a property does not hold: edges, from the initial world."""

    property: Property
    path: tuple[Edge, ...]


@dataclass
class Exploration:
    """
    A state graph, as far as it has been explored: run it with `explore`, ask it afterwards.

    Worlds are identified by their own numbers and not by fingerprints: two different worlds are never taken for one.
    """

    system: System
    depths: dict[World, int] = field(default_factory=dict)  #: every world, in breadth-first order, and its distance
    parents: dict[World, World] = field(default_factory=dict)
    edges: Counter[str] = field(default_factory=Counter)  #: how many, by label
    counterexample: Counterexample | None = None

    def path(self, world: World) -> tuple[Edge, ...]:
        """A shortest way to a world."""
        backwards = []
        while (parent := self.parents.get(world)) is not None:
            backwards.append(Edge(next(label for label, target in self.system.moves(parent) if target == world), world))
            world = parent
        return tuple(reversed(backwards))


def explore(
    model: Model,
    properties: Iterable[Property] = (),
    *,
    visit: Callable[[World, list[Edge]], None] | None = None,
    progress: Callable[[int, int, int], None] | None = None,
) -> Exploration:
    """
    Every world that can be reached, nearest first; stops at the first that violates an `always` property.

    `visit` is called for every world with all its edges, in breadth-first order: a state graph need not be kept to be
    compared or written. `progress` is called now and then with worlds seen, worlds waiting and depth.
    """
    chosen = tuple(p for p in properties if p.when == "always")
    of_clusters = tuple(p for p in chosen if p.of == "cluster")
    exploration = Exploration(System(model, chosen))
    system, depths, parents = exploration.system, exploration.depths, exploration.parents
    first = system.initial()
    depths[first] = 0
    for world in _breadth_first(first, depths, progress):
        edges = [Edge(label, target) for label, target in system.moves(world)]
        exploration.edges.update(label for label, _ in edges)
        if visit:
            visit(world, edges)
        for _, target in edges:
            if target not in depths:
                depths[target] = depths[world] + 1
                parents[target] = world
                if broken := next((p for p in of_clusters if not p.holds(system.cluster(target))), None):
                    exploration.counterexample = Counterexample(broken, exploration.path(target))
                    return exploration
        if system.violations:
            exploration.counterexample = Counterexample(system.violations[0].property, exploration.path(world))
            return exploration
    return exploration


PROGRESS_EVERY = 10_000


def _breadth_first(first: World, depths: dict[World, int], progress: Callable[[int, int, int], None] | None) -> Iterator[World]:
    level, count = [first], 0
    while level:
        seen = len(depths)
        for world in level:
            count += 1
            if progress and count % PROGRESS_EVERY == 0:
                progress(len(depths), len(depths) - count, depths[world])
            yield world
        level = list(_newest(depths, seen))


def _newest(depths: dict[World, int], after: int) -> Iterator[World]:
    worlds = reversed(depths)
    return reversed([next(worlds) for _ in range(len(depths) - after)])
