"""
Compares plain data with a vector's expectation: a closed list of matchers, without computations.

A literal matches an equal value; its parts may be matchers. An integer also matches the string of its decimal digits, which
is how plain data holds integers of 64 bits. An object has exactly the named members. An object whose only member is the name
of a matcher is that matcher:

    {any: true}           anything
    {u64: "14"}           this integer, as a number or as a string of digits
    {multiset: […]}       a list of these in any order
    {subset_of: […]}      a list of some of these in any order, each at most once
    {contains: […]}       a list with these in it, in any order, and maybe others
    {contains: {…}}       an object with these members, and maybe others
    {one_of: […]}         one of these
    {bind: x}             anything, which is called x from now on
    {ref: x}              what was called x
    {between: [a, b]}     an integer from a to b
    {absent: true}        for a member: there is none
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

Bound = Mapping[str, Any]
ABSENT: Final = {"absent": True}
_NOTHING: Final = object()
_MAX_DIGITS: Final = 20  #: digits of an integer of 64 bits


@dataclass(frozen=True)
class Difference:
    """The first difference between expectation and outcome. `None` means that there is no value, or JSON's null."""

    where: str
    expected: Any
    actual: Any
    expected_read: Any = None  #: of bytes: the message as the specification's codec decodes it
    actual_read: Any = None
    nulls: tuple[str, ...] = ()  #: the sides, `expected` or `actual`, whose `None` is JSON's null
    has_same_meaning: bool = False  #: whether all that differs is parts of messages that mean nothing

    @property
    def is_other_form(self) -> bool:
        """Whether the specification's codec decodes these bytes to the expected message."""
        return self.expected_read is not None and self.expected_read == self.actual_read

    def plain(self) -> dict[str, Any]:
        """Plain data for reports."""
        shown = {"where": self.where, "expected": self.expected, "actual": self.actual}
        read = {"expected_read": self.expected_read, "actual_read": self.actual_read}
        nulls = {"nulls": list(self.nulls)} if self.nulls else {}
        return shown | {name: value for name, value in read.items() if value is not None} | nulls


def bindings(expected: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    """Yields the bindings of every way in which `actual` matches; none if it does not."""
    if isinstance(expected, dict):
        if len(expected) == 1:
            ((name, argument),) = expected.items()
            if matcher := MATCHERS.get(name):
                yield from matcher(argument, actual, bound)
                return
        if isinstance(actual, dict):
            yield from _members(expected, actual, bound)
    elif isinstance(expected, list):
        if isinstance(actual, list) and len(actual) == len(expected):
            yield from _in_order(expected, actual, bound)
    elif _equal(expected, actual):
        yield bound


def is_literally(expected: Any, actual: Any) -> bool:
    """Whether it matches without any matcher: the usual case, ten times as fast as `bindings`."""
    kind = type(expected)
    if kind is not type(actual):
        return False
    if kind is dict:
        if expected.keys() != actual.keys() or (len(expected) == 1 and not MATCHERS.keys().isdisjoint(expected)):
            return False
        return all(is_literally(wanted, actual[name]) for name, wanted in expected.items())
    if kind is list:
        return len(expected) == len(actual) and all(map(is_literally, expected, actual))
    return bool(expected == actual)


def fits(expected: Any, actual: Any, bound: Bound | None = None) -> bool:
    """Whether it matches."""
    return is_literally(expected, actual) or next(bindings(expected, actual, bound or {}), None) is not None


def first_difference(expected: Any, actual: Any, bound: Bound, where: str = "") -> Difference | None:
    """The first place where `actual` does not match, as deep as possible; None if it matches."""
    if fits(expected, actual, bound):
        return None
    name = next(iter(expected)) if isinstance(expected, dict) and len(expected) == 1 else None
    if name in ("multiset", "contains", "subset_of") and isinstance(actual, list) and isinstance(expected[name], list):
        return _pairing_difference(name, expected[name], actual, bound, where)
    if name == "contains" and isinstance(expected[name], dict) and isinstance(actual, dict):
        return first_difference(expected[name], _select_members(expected[name], actual), bound, where)
    if name in MATCHERS:
        shown = {"ref": expected.get("ref"), "is": bound.get(expected["ref"])} if name == "ref" else expected
        return Difference(where, shown, actual)
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (wanted, found) in enumerate(zip(expected, actual, strict=False)):
            if difference := first_difference(wanted, found, bound, f"{where}[{index}]"):
                return difference
            bound = next(bindings(wanted, found, bound))
        return _beyond(expected, actual, where)
    if isinstance(expected, dict) and isinstance(actual, dict):
        for member in [*expected, *(member for member in actual if member not in expected)]:
            wanted, found = expected.get(member, ABSENT), actual.get(member, _NOTHING)
            if difference := first_difference(wanted, found, bound, f"{where}.{member}".lstrip(".")):
                return replace(
                    difference,
                    expected=None if difference.expected == ABSENT else difference.expected,
                    actual=None if difference.actual is _NOTHING else difference.actual,
                )
            bound = next(bindings(wanted, found, bound))
    nulls = tuple(side for side, value in (("expected", expected), ("actual", actual)) if value is None)
    return Difference(where, expected, actual, nulls=nulls)


def _beyond(expected: Sequence[Any], actual: Sequence[Any], where: str) -> Difference:
    """The difference of two lists, one of which begins with the other."""
    index = min(len(expected), len(actual))
    wanted, found = (items[index] if index < len(items) else None for items in (expected, actual))
    return Difference(f"{where}[{index}]", wanted, found)


def _pairing_difference(name: str, expected: list[Any], actual: list[Any], bound: Bound, where: str) -> Difference:
    """The first unmatched item, taking items in their order."""
    left = list(range(len(actual)))
    missing = []
    for wanted in expected:
        index = next((index for index in left if fits(wanted, actual[index], bound)), None)
        if index is None:
            missing.append(wanted)
        else:
            left.remove(index)
    surplus = [actual[index] for index in left] if name != "contains" else []
    if name == "subset_of":
        missing = []
    place = f"{where}[{left[0]}]" if surplus else where
    return Difference(place, missing[0] if missing else None, surplus[0] if surplus else None)


def _equal(expected: Any, actual: Any) -> bool:
    if type(expected) is type(actual):
        return bool(expected == actual)
    return type(expected) is int and isinstance(actual, str) and actual == str(expected)


def _in_order(expected: Sequence[Any], actual: Sequence[Any], bound: Bound) -> Iterator[Bound]:
    """Matches items in order, depth first and without recursion, since lists may be longer than Python's stack is deep."""
    ways = [iter((bound,))]  # in which the first 0, 1, 2 … items match
    while ways:
        found = next(ways[-1], None)
        if found is None:
            ways.pop()
        elif (index := len(ways) - 1) == len(expected):
            yield found
        else:
            ways.append(bindings(expected[index], actual[index], found))


def _members(expected: Mapping[str, Any], actual: Mapping[str, Any], bound: Bound) -> Iterator[Bound]:
    if any(member not in expected for member in actual):
        return
    values = [actual.get(member, _NOTHING) for member in expected]
    yield from _in_order(list(expected.values()), values, bound)


def _pairings(expected: Sequence[Any], actual: Sequence[Any], bound: Bound) -> Iterator[Bound]:
    """Yields every assignment of items to expected items; without names to bind, only one."""
    if not any(map(_names, expected)):
        if _each_has_its_own([[fits(wanted, item, bound) for item in actual] for wanted in expected]):
            yield bound
        return
    for index, item in enumerate(actual):
        for first in bindings(expected[0], item, bound):
            yield from _pairings(expected[1:], [*actual[:index], *actual[index + 1 :]], first)


def _names(expected: Any) -> bool:
    """Whether it binds names."""
    if isinstance(expected, dict):
        return "bind" in expected or any(map(_names, expected.values()))
    return isinstance(expected, list) and any(map(_names, expected))


def _each_has_its_own(suits: Sequence[Sequence[bool]]) -> bool:
    """Whether every row can have its own matching column (augmenting paths)."""
    owner: dict[int, int] = {}

    def settle(row: int, tried: set[int]) -> bool:
        for column, suiting in enumerate(suits[row]):
            if suiting and column not in tried:
                tried.add(column)
                if column not in owner or settle(owner[column], tried):
                    owner[column] = row
                    return True
        return False

    return all(settle(row, set()) for row in range(len(suits)))


def _any(_: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    if actual is not _NOTHING:
        yield bound


def _u64(argument: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    if _integer(actual) == int(argument):
        yield bound


def _multiset(argument: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    if is_literally(argument, actual):  # the usual case: the items are in the order of the vector, and bind nothing
        yield bound
    elif isinstance(actual, list) and len(actual) == len(argument):
        yield from _pairings(argument, actual, bound)


def _subset_of(argument: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    if isinstance(actual, list) and len(actual) <= len(argument):
        for some in combinations(argument, len(actual)) if any(map(_names, argument)) else ():
            yield from _pairings(some, actual, bound)
        if not any(map(_names, argument)) and _each_has_its_own(
            [[fits(wanted, item, bound) for wanted in argument] for item in actual]
        ):
            yield bound


def _contains(argument: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    if isinstance(argument, dict):
        if isinstance(actual, dict):
            yield from _members(argument, _select_members(argument, actual), bound)
    elif isinstance(actual, list) and len(actual) >= len(argument):
        yield from _pairings(argument, actual, bound)


def _select_members(wanted: Mapping[str, Any], actual: Mapping[str, Any]) -> Mapping[str, Any]:
    return {member: value for member, value in actual.items() if member in wanted}


def _one_of(argument: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    for wanted in argument:
        yield from bindings(wanted, actual, bound)


def _bind(argument: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    if actual is not _NOTHING:
        yield {**bound, argument: actual}


def _ref(argument: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    if argument in bound and bound[argument] == actual:
        yield bound


def _between(argument: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    number = _integer(actual)
    low, high = (int(limit["u64"]) if isinstance(limit, dict) else limit for limit in argument)
    if number is not None and low <= number <= high:
        yield bound


def _absent(_: Any, actual: Any, bound: Bound) -> Iterator[Bound]:
    if actual is _NOTHING:
        yield bound


def _integer(value: Any) -> int | None:
    if type(value) is int:
        return value
    digits = isinstance(value, str) and len(value) <= _MAX_DIGITS and value.isascii() and value.isdigit()
    return int(value) if digits else None


MATCHERS: Final[Mapping[str, Callable[[Any, Any, Bound], Iterator[Bound]]]] = {
    "any": _any,
    "u64": _u64,
    "multiset": _multiset,
    "subset_of": _subset_of,
    "contains": _contains,
    "one_of": _one_of,
    "bind": _bind,
    "ref": _ref,
    "between": _between,
    "absent": _absent,
}
