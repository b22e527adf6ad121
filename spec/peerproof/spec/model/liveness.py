"""
Liveness: temporal properties of every fair run of a finite state graph, decided by its bottom components.

Certain actions are assumed to have ended, such as changes of the application and restarts. Of the rest, a run is fair if it
infinitely often takes each edge that is enabled infinitely often; so a message that is sent again and again arrives
eventually, and every choice of partners occurs. A fair run ends in a *bottom component*, a set of worlds with paths
between all of them and no edge out of it, and visits all of its worlds for ever. So, without the edges of the ended actions:

- A goal holds for good in every fair run exactly if every bottom component lies within it.
- A goal can always be reached again exactly if every bottom component has a world of it.
- A condition always leads to a goal exactly if, with the edges of the goal's worlds removed, no other bottom component can be
  reached from a world of the condition.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from peerproof.spec.model.bounded import World
from peerproof.spec.model.run_monitor import Graph

Says = Callable[[Any], bool]

_UNSEEN: Final = -1


@dataclass(frozen=True)
class Ending:
    """
    A temporal property of every fair run.

    The goal is reached for good; if it `returns`, again and again; with `since`, after each such world.
    """

    name: str
    about: str
    clauses: tuple[str, ...]
    goal: Says
    ended: frozenset[str]  #: labels of actions that no longer happen
    returns: bool = False
    since: Says | None = None


class Trap(NamedTuple):
    """A bottom component that misses the goal: its world nearest to the initial one, and its number of worlds."""

    entrance: World
    size: int


def trap(graph: Graph, worlds: Iterable[World], ending: Ending) -> Trap | None:
    """Returns the nearest component that violates the ending and in which a fair run can end; `worlds` are all, nearest first."""
    goal = ending.goal

    def goes_on(world: World) -> Iterator[World]:
        if ending.since and goal(graph.cluster(world)):
            return iter(())
        return (target for label, target in graph.moves(world) if label not in ending.ended)

    starts = list(worlds)
    if ending.since:
        starts = _reachable_worlds((world for world in starts if ending.since(graph.cluster(world))), goes_on)
    enough = any if ending.returns else all
    nearest: list[int] | None = None
    for component in bottom_components(starts, goes_on):
        if (nearest is None or min(component) < min(nearest)) and not enough(
            goal(graph.cluster(starts[number])) for number in component
        ):
            nearest = component
    return Trap(starts[min(nearest)], len(nearest)) if nearest else None


def _reachable_worlds(starts: Iterable[World], goes_on: Callable[[World], Iterator[World]]) -> list[World]:
    """Returns these worlds, and those that can be reached from them."""
    found = dict.fromkeys(starts)
    level = list(found)
    while level:
        level = [
            target for target in dict.fromkeys(target for world in level for target in goes_on(world)) if target not in found
        ]
        found |= dict.fromkeys(level)
    return list(found)


def bottom_components(worlds: Sequence[World], targets_of: Callable[[World], Iterable[World]]) -> Iterator[list[int]]:
    """
    Yields the strongly connected components that no edge leaves, as indexes into `worlds`, which must be all worlds.

    Tarjan's algorithm, without recursion. The edges are not stored; `targets_of` runs once for each world.
    """
    search = _DepthFirst(worlds, targets_of)
    for start in range(len(worlds)):
        if search.seen_at[start] == _UNSEEN:
            yield from search.bottoms_from(start)


class _DepthFirst:
    """The position and the visited worlds of a search."""

    def __init__(self, worlds: Sequence[World], targets_of: Callable[[World], Iterable[World]]) -> None:
        self.worlds, self.targets_of = worlds, targets_of
        self.number = {world: index for index, world in enumerate(worlds)}
        self.seen = 0
        self.seen_at = array("q", [_UNSEEN]) * len(worlds)  # order of the first visit
        self.low = array("q", [0]) * len(worlds)  # the earliest world on the stack that is known to be in the same component
        self.on_stack, self.leads_out = bytearray(len(worlds)), bytearray(len(worlds))
        self.stack: list[int] = []
        self.path: list[tuple[int, Iterator[int]]] = []  # from the start of the search to its position

    def bottoms_from(self, start: int) -> Iterator[list[int]]:
        """Yields the bottom components that can be reached from here and have not been seen before."""
        seen_at, low, path = self.seen_at, self.low, self.path
        self.enter(start)
        while path:
            index, targets = path[-1]
            for target in targets:
                if seen_at[target] == _UNSEEN:
                    self.enter(target)
                    break
                if self.on_stack[target]:
                    low[index] = min(low[index], seen_at[target])
                else:
                    self.leads_out[index] = True
            else:
                path.pop()
                before = path[-1][0] if path else index
                if low[index] < seen_at[index]:
                    low[before] = min(low[before], low[index])
                    continue
                component = self.pop_component(index)
                if not any(self.leads_out[member] for member in component):
                    yield component
                self.leads_out[before] = True

    def enter(self, index: int) -> None:
        """Visits a new world."""
        self.seen_at[index] = self.low[index] = self.seen
        self.seen += 1
        self.stack.append(index)
        self.on_stack[index] = True
        self.path.append((index, iter([self.number[target] for target in self.targets_of(self.worlds[index])])))

    def pop_component(self, root: int) -> list[int]:
        """Returns the component whose first world is this one."""
        at = len(self.stack) - 1
        while self.stack[at] != root:
            at -= 1
        component = self.stack[at:]
        del self.stack[at:]
        for member in component:
            self.on_stack[member] = False
        return component
