"""A state graph, as far as it has been explored, and the shortest way to each of its worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from peerproof.spec.model.bounded import System, World
from peerproof.spec.model.graph_digest import GraphDigest
from peerproof.spec.properties import Property


class Edge(NamedTuple):
    """One step of one world: what happened, and where it led."""

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
    digest: GraphDigest | None = None  #: of the whole graph, if it was asked for

    def path(self, world: World) -> tuple[Edge, ...]:
        """A shortest way to a world."""
        return path_to(world, self.parents, self.system.moves)
