"""
What happens in the end: of every fair run of a finite state graph, decided by the components that no edge leaves.

Some things are said to have ended: the application changes nothing any more, nobody restarts. Of what goes on, a run is fair
if an edge that could be taken infinitely often is taken infinitely often; so every message that is sent again and again
arrives at last, and every way to pick partners comes up. Such a run ends in a *bottom component*, a set of worlds with
ways from each to each and no way out, and visits all of it for ever. So

- views *converge* in every fair run exactly if every bottom component lies within the worlds where they agree;
- a cluster *can always recover* exactly if every bottom component has such a world: from everywhere there is a way.

Where things end is open: every world that can be reached is a start.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple

from peerproof.spec.monitor import Graph
from peerproof.spec.world import World

Goal = Callable[[Any], bool]

_UNSEEN: Final = -1


class Trap(NamedTuple):
    """A bottom component in which the goal is missed: its world that is nearest to the initial one, and how many it has."""

    entrance: World
    size: int
    missing: World  #: one of its worlds where the goal does not hold


def converges(graph: Graph, worlds: Iterable[World], goal: Goal, ended: Collection[str]) -> Trap | None:
    """The nearest trap that a fair run can end in without being at the goal from some moment on; None if there is none."""
    return _nearest(graph, worlds, goal, ended, all)


def can_recover(graph: Graph, worlds: Iterable[World], goal: Goal, ended: Collection[str]) -> Trap | None:
    """The nearest trap from which no way leads to the goal; None if there is a way from every world."""
    return _nearest(graph, worlds, goal, ended, any)


def _nearest(
    graph: Graph, worlds: Iterable[World], goal: Goal, ended: Collection[str], enough: Callable[[Iterable[bool]], bool]
) -> Trap | None:
    numbered = list(worlds)
    nearest: list[int] | None = None
    for component in bottom_components(graph, numbered, ended):
        if nearest and min(component) > min(nearest):
            continue
        if not enough(goal(graph.cluster(numbered[number])) for number in component):
            nearest = component
    if nearest is None:
        return None
    missing = next(number for number in sorted(nearest) if not goal(graph.cluster(numbered[number])))
    return Trap(numbered[min(nearest)], len(nearest), numbered[missing])


def bottom_components(graph: Graph, worlds: list[World], ended: Collection[str] = ()) -> Iterator[list[int]]:
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
        path.append((index, iter([number[target] for label, target in graph.moves(worlds[index]) if label not in ended])))

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
