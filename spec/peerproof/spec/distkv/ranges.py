"""
Sets of ticks, as the ranges that they consist of. [D-28…D-31, DA-24]

There is one form for each set: ranges are half-open, ascending, and two of them never touch. All that is done with whole sets
takes time linear in their ranges, however many ticks are in these.
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

#: A set as it is sent: single ticks and pairs of begin and end. [D-30]
RangeList: TypeAlias = tuple[int | tuple[int, int], ...]

#: Below and above all that can be a bound; an exclusive end may be 2^63. [DA-17]
_BELOW: Final = -1
_ABOVE: Final = TICK_MAX + 2


class Ranges(NamedTuple):
    """
    A set of ticks: from `begins[i]` up to and without `ends[i]`, for each i.

    Make one with `of_ticks`, `of_range`, `up_to` or `read`. It is a tuple of bounds, and equal to another that holds the same
    ticks; `tick in ranges` would ask about the bounds, `ranges.has(tick)` asks about the ticks.
    """

    begins: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def has(self, tick: int) -> bool:
        """Whether a tick is in the set."""
        place = bisect_right(self.begins, tick)
        return place > 0 and tick < self.ends[place - 1]

    def ticks(self) -> Iterator[int]:
        """The ticks themselves, ascending."""
        return one_after_another.from_iterable(map(range, self.begins, self.ends))

    def size(self) -> int:
        """How many ticks are in the set."""
        return sum(self.ends) - sum(self.begins)

    def is_empty(self) -> bool:
        """Whether there is no tick in the set."""
        return not self.begins

    def with_tick(self, tick: int) -> Ranges:
        """The set with one tick more; quick where it is there already, or follows the last one."""
        if self.ends and self.ends[-1] == tick:
            return Ranges(self.begins, (*self.ends[:-1], tick + 1))
        return self if self.has(tick) else self.union(Ranges((tick,), (tick + 1,)))

    def union(self, other: Ranges) -> Ranges:
        """
        What is in one of the sets, or in both. [DA-24]

        Sorting two ascending runs is a merge.
        """
        if not other.begins:
            return self
        if not self.begins:
            return other
        return _merge(sorted(self.begins + other.begins), sorted(self.ends + other.ends))

    def difference(self, other: Ranges) -> Ranges:
        """What is in this set and not in the other."""
        if not self.begins or not other.begins:
            return self
        return _between(_rest(self).union(other))

    def intersection(self, other: Ranges) -> Ranges:
        """What is in both sets."""
        return _between(_rest(self).union(_rest(other)))

    def wire(self) -> RangeList:
        """As it is sent: one tick alone, several as a pair. [D-30, DA-24]"""
        return tuple([begin if end == begin + 1 else (begin, end) for begin, end in zip(self.begins, self.ends, strict=True)])


NONE: Final = Ranges()


def _merge(begins: list[int], ends: list[int]) -> Ranges:
    """
    What is in at least one of some ranges, from all their begins and all their ends, each ascending.

    When the k-th end comes before the (k+1)-th begin, then as many ranges have ended as have begun: there, and only there,
    nothing covers what is between.
    """
    gaps = list(map(gt, begins[1:], ends))
    return Ranges((begins[0], *compress(begins[1:], gaps)), (*compress(ends, gaps), ends[-1]))


def _rest(ranges: Ranges) -> Ranges:
    """What is not in a set, from below all ticks to above them."""
    return Ranges((_BELOW, *ranges.ends), (*ranges.begins, _ABOVE))


def _between(ranges: Ranges) -> Ranges:
    """What is not in a set that holds what is below all ticks and above them."""
    return Ranges(ranges.ends[:-1], ranges.begins[1:])


def of_ticks(ticks: Iterable[int]) -> Ranges:
    """The set of these ticks, in any order."""
    ordered = sorted(ticks)
    if not ordered:
        return NONE
    gaps = [later > earlier + 1 for earlier, later in pairwise(ordered)]
    ends = [*compress(ordered, gaps), ordered[-1]]
    return Ranges((ordered[0], *compress(ordered[1:], gaps)), tuple([last + 1 for last in ends]))


def of_range(begin: int, end: int) -> Ranges:
    """The ticks from `begin` up to and without `end`."""
    return Ranges((begin,), (end,)) if begin < end else NONE


def up_to(tick: int) -> Ranges:
    """The ticks of all changes of a node whose tick this is: 1 and so on. [D-09, D-21]"""
    return of_range(1, tick + 1)


def missing(tick: int, known: Ranges) -> Ranges:
    """Which of a node's changes are not known, if its tick is this. [D-21, D-67]"""
    return up_to(tick).difference(known)


def read(items: Any) -> Ranges:
    """
    The set of a received list. [D-29…D-31, DA-24, DA-90]

    What stands in it may touch, and a pair may hold a single tick; the tick 0, which is of no change, is left out. Raises
    MalformedMessage for what is no list of ticks and pairs, or not ascending, for an empty range and for ranges that overlap.
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
