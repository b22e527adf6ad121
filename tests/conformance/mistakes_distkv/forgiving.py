"""Mistakes of a reader that makes values, paths and sets of ticks of what is none."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any, ClassVar

from tests.conformance.mistakes_distkv import Reading

from peerproof.spec.distkv import paths, ranges, values
from peerproof.spec.distkv.ranges import TICK_MAX, of_range, of_ticks
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.messagepack import Extension

READ_PATH = paths.read
READ_RANGES = ranges.read


class LastKeyCounts(Reading):
    """Takes the last of equal keys in a value."""

    caught_by: ClassVar = ("reject-key-twice-in-a-value", "reject-key-twice-in-two-forms")
    instead: ClassVar = {"codec.value_of": lambda raw: values.value_of(list(dict(raw).items()) if isinstance(raw, list) else raw)}


class TakesAnyPath(Reading):
    """Makes a path of whatever there is."""

    caught_by: ClassVar = ("reject-path-string", "reject-path-null", "reject-path-with-list", "reject-path-with-extension")
    instead: ClassVar = {
        "paths.read": lambda raw: READ_PATH(
            tuple(str(name) if isinstance(name, (tuple, list, dict, Extension)) else name for name in raw or ())
        )
    }


class TakesNullWithin(Reading):
    """Takes Null for a name anywhere."""

    caught_by: ClassVar = ("reject-path-with-null-inside", "reject-path-with-two-nulls")
    instead: ClassVar = {
        "paths.read": lambda raw: READ_PATH(
            (*raw[:1], *("" if name is None else name for name in raw[1:])) if isinstance(raw, tuple) else raw
        )
    }


class TakesNoNumbers(Reading):
    """Takes what is no number for a name."""

    caught_by: ClassVar = ("reject-path-with-no-number",)
    instead: ClassVar = {
        "paths.read": lambda raw: READ_PATH(
            tuple("NaN" if isinstance(name, float) and isnan(name) else name for name in raw) if isinstance(raw, tuple) else raw
        )
    }


def ranged(repair: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to make sets of ticks of other lists."""
    return {"codec.read_ranges": lambda items: repair(items) if isinstance(items, tuple) else READ_RANGES(items)}


def _bounds(item: Any) -> tuple[int, int]:
    if type(item) is int:
        return item, item + 1
    if isinstance(item, tuple) and len(item) == 2 and all(type(bound) is int for bound in item):
        return item[0], item[1]
    raise MalformedMessage("bad_value", 0, "no range")


def _in_any_order(items: Any) -> Any:
    found = of_ticks(())
    for begin, end in map(_bounds, items):
        if not 0 <= begin < end <= TICK_MAX + 1:
            raise MalformedMessage("bad_value", 0, "no range")
        found = found.union(of_range(max(begin, 1), end))
    return found


class TakesRangesInAnyOrder(Reading):
    """Sorts and joins what is out of order, or overlaps."""

    caught_by: ClassVar = (
        *("reject-ranges-unsorted", "reject-ranges-overlap", "reject-ranges-tick-twice", "reject-ranges-ranges-out-of-order"),
        *("reject-ranges-tick-within-a-range", "reject-known-out-of-order"),
    )
    instead: ClassVar = ranged(_in_any_order)


class TakesEmptyRanges(Reading):
    """Passes over ranges that are empty."""

    caught_by: ClassVar = (
        "reject-ranges-empty-range",
        "reject-ranges-empty-range-among-others",
        "reject-ranges-backward-range",
        "a-question-with-bad-ranges",
    )
    instead: ClassVar = ranged(lambda items: READ_RANGES(tuple(item for item in items if not _is_empty(item))))


def _is_empty(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and all(type(bound) is int for bound in item) and item[0] >= item[1]


class TakesAnyBounds(Reading):
    """Cuts ranges to what can be a tick."""

    caught_by: ClassVar = (
        "reject-ranges-negative",
        "reject-ranges-negative-begin",
        "reject-ranges-beyond-the-last",
        "reject-ranges-beyond-the-last-among-others",
        "reject-ranges-tick-beyond-the-last",
    )
    instead: ClassVar = ranged(
        lambda items: READ_RANGES(
            tuple(
                found
                for begin, end in map(_bounds, items)
                if _is_empty(found := (begin, end) if begin >= end else (max(begin, 0), min(end, TICK_MAX + 1))) <= (begin >= end)
            )
        )
    )


class PassesOverOtherItems(Reading):
    """Passes over items of a set that are no ticks."""

    caught_by: ClassVar = (
        *(
            "reject-ranges-words",
            "reject-ranges-null",
            "reject-ranges-float",
            "reject-ranges-three-bounds",
            "reject-ranges-one-bound",
        ),
        *("reject-ranges-no-bounds", "reject-ranges-truth", "reject-ranges-float-as-a-begin", "reject-ranges-float-as-an-end"),
    )
    instead: ClassVar = ranged(
        lambda items: READ_RANGES(
            tuple(
                item
                for item in items
                if type(item) is int or (isinstance(item, tuple) and len(item) == 2 and all(type(bound) is int for bound in item))
            )
        )
    )
