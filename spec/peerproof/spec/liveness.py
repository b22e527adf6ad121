"""
What happens in the end: of every fair run of a finite state graph, decided by the components that no edge leaves.

Some things are said to have ended: the application changes nothing any more, nobody restarts. Of what goes on, a run is fair
if an edge that could be taken infinitely often is taken infinitely often; so every message that is sent again and again
arrives at last, and every way to pick partners comes up. Such a run ends in a *bottom component*, a set of worlds with
ways from each to each and no way out, and visits all of it for ever. So, with the end of those things left open,

- a goal is reached for good in every fair run exactly if every bottom component lies within it;
- it can always be reached again exactly if every bottom component has a world of it: there is a way from everywhere;
- something always leads to it exactly if, once such worlds have no edges, no other bottom component can be reached from there.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from peerproof.spec.monitor import Graph
from peerproof.spec.world import World

Says = Callable[[Any], bool]

_UNSEEN: Final = -1


@dataclass(frozen=True)
class Ending:
    """What must come of every fair run: the goal for good; if it `returns`, again and again; with `since`, after such worlds."""

    name: str
    about: str
    clauses: tuple[str, ...]
    goal: Says
    ended: frozenset[str]  #: labels of what happens no more
    returns: bool = False
    since: Says | None = None


class Trap(NamedTuple):
    """A bottom component in which the goal is missed: its world that is nearest to the initial one, and how many it has."""

    entrance: World
    size: int


def trap(graph: Graph, worlds: Iterable[World], ending: Ending) -> Trap | None:
    """The nearest component that a fair run can end in against the ending; `worlds` are all, nearest first."""
    goal = ending.goal

    def goes_on(world: World) -> Iterator[World]:
        if ending.since and goal(graph.cluster(world)):
            return iter(())
        return (target for label, target in graph.moves(world) if label not in ending.ended)

    starts = list(worlds)
    if ending.since:
        starts = _reached((world for world in starts if ending.since(graph.cluster(world))), goes_on)
    enough = any if ending.returns else all
    nearest: list[int] | None = None
    for component in bottom_components(starts, goes_on):
        if (nearest is None or min(component) < min(nearest)) and not enough(
            goal(graph.cluster(starts[number])) for number in component
        ):
            nearest = component
    return Trap(starts[min(nearest)], len(nearest)) if nearest else None


def _reached(starts: Iterable[World], goes_on: Callable[[World], Iterator[World]]) -> list[World]:
    """These worlds, and those that can be reached from them."""
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
    The strongly connected components that no edge leaves, as indexes into `worlds`, which must be all worlds there are.

    Tarjan's algorithm, without recursion. The edges are not kept but asked for, each once.
    """
    number = {world: index for index, world in enumerate(worlds)}
    seen_at = array("q", [_UNSEEN]) * len(worlds)  # in which order; also whether
    low = array("q", [0]) * len(worlds)  # the earliest on the stack that is known to be in the same component
    on_stack, leads_out = bytearray(len(worlds)), bytearray(len(worlds))
    stack: list[int] = []
    path: list[tuple[int, Iterator[int]]] = []  # from where the search began to where it is
    seen = 0

    def enter(index: int) -> None:
        nonlocal seen
        seen_at[index] = low[index] = seen
        seen += 1
        stack.append(index)
        on_stack[index] = True
        path.append((index, iter([number[target] for target in targets_of(worlds[index])])))

    for start in range(len(worlds)):
        if seen_at[start] == _UNSEEN:
            enter(start)
        while path:
            index, targets = path[-1]
            for target in targets:
                if seen_at[target] == _UNSEEN:
                    enter(target)
                    break
                if on_stack[target]:
                    low[index] = min(low[index], seen_at[target])
                else:
                    leads_out[index] = True
            else:
                path.pop()
                if low[index] == seen_at[index]:
                    component = _popped(stack, on_stack, index)
                    if not any(leads_out[member] for member in component):
                        yield component
                    if path:
                        leads_out[path[-1][0]] = True
                elif path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[index])


def _popped(stack: list[int], on_stack: bytearray, root: int) -> list[int]:
    at = len(stack) - 1
    while stack[at] != root:
        at -= 1
    component = stack[at:]
    del stack[at:]
    for member in component:
        on_stack[member] = False
    return component
