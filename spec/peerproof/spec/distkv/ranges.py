"""
Sets of ticks, stored as ranges. [D-28…D-31, DA-24]

Each set has exactly one form: ranges are half-open, ascending, and do not touch. Operations on whole sets take time linear in the
number of ranges, not of ticks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain as one_after_another
from itertools import compress, pairwise
from operator import gt, lt
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.spec.errors import MalformedMessage

#: The largest tick. [D-26]
TICK_MAX: Final = 2**63 - 1

#: A set as in messages: single ticks and pairs of begin and end. [D-30]
RangeList: TypeAlias = tuple[int | tuple[int, int], ...]

#: Bounds below and above all others; an exclusive end may be 2^63. [DA-17]
_BELOW: Final = -1
_ABOVE: Final = TICK_MAX + 2


class Ranges(NamedTuple):
    """
    A set of ticks: from `begins[i]` up to and without `ends[i]`, for each i.

    Make one with `of_ticks`, `of_range`, `up_to` or `read`. It is a tuple of bounds, and equal to another one with the same
    ticks; `tick in ranges` would test the bounds, `ranges.has(tick)` tests the ticks.
    """

    begins: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def has(self, tick: int) -> bool:
        """Whether a tick is in the set."""
        place = bisect_right(self.begins, tick)
        return place > 0 and tick < self.ends[place - 1]

    def ticks(self) -> Iterator[int]:
        """Yields the ticks, ascending."""
        return one_after_another.from_iterable(map(range, self.begins, self.ends))

    def size(self) -> int:
        """Returns the number of ticks in the set."""
        return sum(self.ends) - sum(self.begins)

    def is_empty(self) -> bool:
        """Whether the set is empty."""
        return not self.begins

    def with_tick(self, tick: int) -> Ranges:
        """Returns the set with one more tick; fast if the tick is in the set already, or follows the last one."""
        if self.ends and self.ends[-1] == tick:
            return Ranges(self.begins, (*self.ends[:-1], tick + 1))
        return self if self.has(tick) else self.union(Ranges((tick,), (tick + 1,)))

    def union(self, other: Ranges) -> Ranges:
        """
        Returns the union of both sets. [DA-24]

        Sorting two ascending runs is a merge.
        """
        if not other.begins:
            return self
        if not self.begins:
            return other
        return _merge(sorted(self.begins + other.begins), sorted(self.ends + other.ends))

    def difference(self, other: Ranges) -> Ranges:
        """Returns the ticks of this set that are not in the other one."""
        if not self.begins or not other.begins:
            return self
        return _between(_rest(self).union(other))

    def intersection(self, other: Ranges) -> Ranges:
        """Returns the ticks in both sets."""
        return _between(_rest(self).union(_rest(other)))

    def wire(self) -> RangeList:
        """Returns the set as in messages: one tick alone, several as a pair. [D-30, DA-24]"""
        return tuple([begin if end == begin + 1 else (begin, end) for begin, end in zip(self.begins, self.ends, strict=True)])


NONE: Final = Ranges()


def _merge(begins: list[int], ends: list[int]) -> Ranges:
    """
    Returns the union of ranges, from all their begins and all their ends, each ascending.

    If the k-th end comes before the (k+1)-th begin, then as many ranges have ended as have begun: exactly there is a gap.
    """
    gaps = list(map(gt, begins[1:], ends))
    return Ranges((begins[0], *compress(begins[1:], gaps)), (*compress(ends, gaps), ends[-1]))


def _rest(ranges: Ranges) -> Ranges:
    """Returns the complement of a set, from below all ticks to above them."""
    return Ranges((_BELOW, *ranges.ends), (*ranges.begins, _ABOVE))


def _between(ranges: Ranges) -> Ranges:
    """Returns the complement of a set that has the bounds below and above all ticks."""
    return Ranges(ranges.ends[:-1], ranges.begins[1:])


def of_ticks(ticks: Iterable[int]) -> Ranges:
    """Returns the set of these ticks, in any order."""
    ordered = sorted(ticks)
    if not ordered:
        return NONE
    gaps = [later > earlier + 1 for earlier, later in pairwise(ordered)]
    ends = [*compress(ordered, gaps), ordered[-1]]
    return Ranges((ordered[0], *compress(ordered[1:], gaps)), tuple([last + 1 for last in ends]))


def of_range(begin: int, end: int) -> Ranges:
    """Returns the ticks from `begin` up to and without `end`."""
    return Ranges((begin,), (end,)) if begin < end else NONE


def up_to(tick: int) -> Ranges:
    """Returns the ticks of all changes of a node with this tick: 1 to `tick`. [D-09, D-21]"""
    return of_range(1, tick + 1)


def missing(tick: int, known: Ranges) -> Ranges:
    """Returns the unknown changes of a node with this tick. [D-21, D-67]"""
    return up_to(tick).difference(known)


def read(items: Any) -> Ranges:
    """
    Returns the set of a received list. [D-29…D-31, DA-24, DA-90]

    Items may touch, and a pair may hold a single tick; the tick 0, which belongs to no change, is left out. Raises
    MalformedMessage for items that are no ticks or pairs, or not ascending, for an empty range and for ranges that overlap.
    """
    if type(items) is not tuple:
        raise MalformedMessage("bad_type", 0, f"a set of ticks is a list, not {items!r}")
    begins, ends = [], []
    for item in items:
        begin, end = (item, item + 1) if type(item) is int else _pair(item)
        begins.append(begin)
        ends.append(end)
    if not begins:
        return NONE
    if not all(map(lt, begins, ends)):
        raise MalformedMessage("bad_value", 0, "an empty range")
    if not all(map(lt, begins, begins[1:])):
        raise MalformedMessage("bad_value", 0, "ranges are not sorted")
    if any(map(lt, begins[1:], ends)):
        raise MalformedMessage("bad_value", 0, "ranges overlap")
    if begins[0] < 0 or ends[-1] > TICK_MAX + 1:
        raise MalformedMessage("bad_value", 0, "a tick is a number from 0 to 2^63-1")
    found = _merge(begins, ends)
    return found if begins[0] > 0 else found.difference(of_range(0, 1))


def _pair(item: Any) -> tuple[int, int]:
    if type(item) is not tuple or len(item) != 2 or type(item[0]) is not int or type(item[1]) is not int:  # noqa: PLR2004
        raise MalformedMessage("bad_type", 0, f"{item!r} is neither a tick nor a pair of ticks")
    return item
