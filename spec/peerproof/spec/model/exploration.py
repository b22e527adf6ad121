"""The explored part of a state graph, with a shortest path to each world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from peerproof.spec.model.bounded import System, World
from peerproof.spec.model.graph_digest import GraphDigest
from peerproof.spec.properties import Property


class Edge(NamedTuple):
    """A step from one world: its label, and the world it leads to."""

    label: str
    target: World


def path_to(
    world: World, parents: Mapping[World, World | None], moves: Callable[[World], Iterable[tuple[str, World]]]
) -> tuple[Edge, ...]:
    """The way to a world on which each world has this parent, if it has one."""
    backwards = []
    while (parent := parents.get(world)) is not None:
        backwards.append(Edge(next(label for label, target in moves(parent) if target == world), world))
        world = parent
    return tuple(reversed(backwards))


class Counterexample(NamedTuple):
    """A shortest path to a world in which a property does not hold: edges from the initial world."""

    property: Property
    path: tuple[Edge, ...]


@dataclass
class Exploration:
    """
    The explored part of a state graph: `explore` fills it, queries come afterwards.

    Worlds are identified by their own numbers, not by fingerprints: two different worlds are never confused.
    """

    system: System
    depths: dict[World, int] = field(default_factory=dict)  #: every world, in breadth-first order, with its distance
    parents: dict[World, World] = field(default_factory=dict)
    edges: Counter[str] = field(default_factory=Counter)  #: number of edges by label
    counterexample: Counterexample | None = None
    digest: GraphDigest | None = None  #: of the whole graph, if requested

    def path(self, world: World) -> tuple[Edge, ...]:
        """Returns a shortest path to a world."""
        return path_to(world, self.parents, self.system.moves)
