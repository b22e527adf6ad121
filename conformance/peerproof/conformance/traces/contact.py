"""
Which nodes of a cluster heard each other when, from their traces.

The time is cut into windows. In a window, nodes of which one received a message of the other belong together, and so do nodes
that are connected by others: that makes groups. A node without a line in a window is silent there. Neighbouring windows with the
same groups are one interval. The first window and the last, of which the traces may have a part only, are joined to those beside
them. The nodes' times are compared as they stand in the traces, so that their clocks must be synchronized.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

#: The names of nodes that heard each other, in order.
Group: TypeAlias = tuple[str, ...]


class Interval(NamedTuple):
    """A time in which the same nodes heard each other. Times are those of the traces, in microseconds."""

    begin: int
    end: int
    groups: tuple[Group, ...]
    silent: Group
    last_across: int | None = None  #: of several groups: when the last message between two of them arrived before
    first_across: int | None = None  #: and when the first one arrived afterwards


@dataclass
class Contact:
    """The messages that arrived, by window and pair. `add` takes the lines in any order."""

    window: int  #: microseconds
    nodes: set[str] = field(default_factory=set)
    protocols: set[str] = field(default_factory=set)
    lines: int = 0
    _active: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    _heard: dict[int, dict[tuple[str, str], tuple[int, int]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, line: bytes) -> None:
        """Adds a line of a trace. Raises ValueError if it is none."""
        try:
            row = json.loads(line)
            protocol, node, at, kind, peer = row["protocol"], row["node"], row["t_us"], row["kind"], row["peer"]
        except (TypeError, KeyError, RecursionError):
            raise ValueError("not a trace line") from None
        if not isinstance(protocol, str) or not isinstance(node, str) or not isinstance(at, int):
            raise ValueError("not a trace line")  # noqa: TRY004  # as for any other line
        self.protocols.add(protocol)
        place = at // self.window
        self.lines += 1
        self.nodes.add(node)
        self._active[place].add(node)
        if kind == "recv" and isinstance(peer, str) and peer != node:
            pair = (min(node, peer), max(node, peer))
            first, last = self._heard[place].get(pair, (at, at))
            self._heard[place][pair] = min(first, at), max(last, at)

    def intervals(self) -> list[Interval]:
        """Returns the intervals in order, without gaps from the first window to the last."""
        found: list[Interval] = []
        for places in _join_ends(sorted(self._active)):
            begin, end = places[0] * self.window, (places[-1] + 1) * self.window
            if found and found[-1].end < begin:
                found.append(Interval(found[-1].end, begin, (), tuple(sorted(self.nodes))))
            active = set[str]().union(*(self._active[place] for place in places))
            groups = tuple(_groups(active, [pair for place in places for pair in self._heard.get(place, ())]))
            silent = tuple(sorted(self.nodes - active))
            if found and (found[-1].groups, found[-1].silent) == (groups, silent):
                found[-1] = found[-1]._replace(end=end)
            else:
                found.append(Interval(begin, end, groups, silent))
        return [self._with_messages_across(each) if len(each.groups) > 1 else each for each in found]

    def _with_messages_across(self, interval: Interval) -> Interval:
        group_of = {node: group for group in interval.groups for node in group}
        before: list[int] = []
        after: list[int] = []
        for place, heard in self._heard.items():
            known = ((pair, times) for pair, times in heard.items() if group_of.keys() >= {*pair})
            across = [times for (one, other), times in known if group_of[one] != group_of[other]]
            if place * self.window < interval.begin:
                before += [last for _, last in across]
            elif place * self.window >= interval.end:
                after += [first for first, _ in across]
        return interval._replace(last_across=max(before, default=None), first_across=min(after, default=None))


def _join_ends(places: Iterable[int]) -> list[list[int]]:
    """Returns windows one by one, but the first joined to the second, and the last to the one before."""
    found = [[place] for place in places]
    if len(found) > 2 and found[1] == [found[0][0] + 1]:  # noqa: PLR2004  # of two, one is the last
        found[:2] = [found[0] + found[1]]
    if len(found) > 1 and found[-1] == [found[-2][-1] + 1]:
        found[-2:] = [found[-2] + found[-1]]
    return found


def _groups(active: Iterable[str], pairs: Iterable[tuple[str, str]]) -> Iterator[Group]:
    """Yields the nodes that are connected by pairs, each group and all of them in order of their names."""
    group = {node: {node} for node in active}
    for one, other in pairs:
        if one in group and other in group and group[one] is not group[other]:
            group[one] |= group[other]
            for node in group[other]:
                group[node] = group[one]
    yield from sorted({tuple(sorted(nodes)) for nodes in group.values()})
