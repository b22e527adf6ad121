"""Breadth-first exploration of a model's state graph, with a shortest path to the first violation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeAlias

from peerproof.spec.model import shards
from peerproof.spec.model.bounded import Model, System, World
from peerproof.spec.model.checkpoint import Checkpoint
from peerproof.spec.model.exploration import Counterexample, Edge, Exploration
from peerproof.spec.model.graph_digest import GraphDigest, WorldKeys
from peerproof.spec.properties import Property

#: Called from time to time with the worlds seen, the worlds waiting, and the depth.
Progress: TypeAlias = Callable[[int, int, int], None]


def explore(
    model: Model,
    properties: Iterable[Property] = (),
    *,
    visit: Callable[[World, list[Edge]], None] | None = None,
    progress: Progress | None = None,
    processes: int = 1,
    checkpoint: Path | None = None,
    digest: bool = False,
) -> Exploration:
    """
    Explores every reachable world, nearest first; stops at the first one that violates an `always` property.

    `visit` is called for every world with all its edges, in breadth-first order: a state graph need not be kept to be
    compared or written. The result is the same for any number of `processes`; where a property is violated, several processes
    finish the level.

    `checkpoint` is a folder: each explored level is written there, and levels that are there already are not explored again.
    Raises `checkpoint.BadCheckpoint` for a folder that is damaged or of another model. `visit` cannot be combined with
    several processes or with a checkpoint.
    """
    if visit and (processes > 1 or checkpoint):
        raise ValueError("visit cannot be combined with several processes or with a checkpoint")
    chosen = tuple(p for p in properties if p.when == "always")
    of_clusters = tuple(p for p in chosen if p.of == "cluster")
    exploration, level = _start_exploration(model, chosen, digest=digest)
    if kept := Checkpoint(checkpoint, exploration, chosen) if checkpoint else None:
        level = kept.restore(level)
    expand: Callable[[list[World]], list[World]] = partial(_expand_here, exploration, of_clusters, visit, progress)
    with ExitStack() as stack:
        while level and not exploration.counterexample:
            if processes > 1 and len(level) >= WORTH_SHARING:
                others = stack.enter_context(shards.start_shards(exploration, level, of_clusters, processes))
                expand, processes = partial(_expand_there, exploration, of_clusters, others), 1
            before, level = level, expand(level)
            if kept and not exploration.counterexample:
                kept.save(before, level)
            if progress:
                progress(len(exploration.depths), len(level), exploration.depths[before[0]] + 1)
    return exploration


PROGRESS_EVERY = 10_000

#: The size of a level at which several processes are started.
WORTH_SHARING = 500


def _start_exploration(model: Model, properties: tuple[Property, ...], *, digest: bool) -> tuple[Exploration, list[World]]:
    """Returns an exploration that has seen the initial world, and its first level."""
    exploration = Exploration(System(model, properties), digest=GraphDigest() if digest else None)
    first = exploration.system.initial()
    exploration.depths[first] = 0
    if exploration.digest:
        exploration.digest.begin(WorldKeys(exploration.system)(first))
    return exploration, [first]


def _expand_here(
    exploration: Exploration,
    of_clusters: tuple[Property, ...],
    visit: Callable[[World, list[Edge]], None] | None,
    progress: Progress | None,
    level: list[World],
) -> list[World]:
    """Explores a level in this process and returns the next one; only a part of it if a property is violated."""
    system, depths, parents, counted = exploration.system, exploration.depths, exploration.parents, exploration.edges
    keys, found = WorldKeys(system), list[World]()
    depth = depths[level[0]] + 1
    for number, world in enumerate(level):
        edges = list(system.moves(world))
        counted.update([label for label, _ in edges])
        if visit:
            visit(world, [Edge(label, target) for label, target in edges])
        if exploration.digest:
            exploration.digest.add(keys(world), [(label, keys(target)) for label, target in edges])
        for _, target in edges:
            if target not in depths:
                depths[target] = depth
                parents[target] = world
                found.append(target)
                if broken := next((p for p in of_clusters if not p.holds(system.cluster(target))), None):
                    exploration.counterexample = Counterexample(broken, exploration.path(target))
                    return found
        if system.violations:
            exploration.counterexample = Counterexample(system.violations[0].property, exploration.path(world))
            return found
        if progress and number % PROGRESS_EVERY == PROGRESS_EVERY - 1:
            progress(len(depths), len(level) - number + len(found), depth - 1)
    return found


def _expand_there(
    exploration: Exploration, of_clusters: tuple[Property, ...], others: shards.Shards, level: list[World]
) -> list[World]:
    """Explores levels with several processes, each level completely."""
    system, depths = exploration.system, exploration.depths
    first, violating = len(depths) - len(level), None
    for rank, question in others.questions():
        system.answer(question)
        if system.violations and violating is None:
            violating = rank
    found = others.expand()
    depths.update(dict.fromkeys(found.worlds, depths[level[0]] + 1))
    exploration.parents.update(zip(found.worlds, (level[shards.place_of(p) - first] for p in found.places), strict=True))
    if found.broken and (violating is None or shards.place_of(found.broken[0]) <= violating):
        place, number = found.broken
        path = exploration.path(found.worlds[found.places.index(place)])
        exploration.counterexample = Counterexample(of_clusters[number], path)
    elif violating is not None:
        exploration.counterexample = Counterexample(system.violations[0].property, exploration.path(level[violating - first]))
    return found.worlds
