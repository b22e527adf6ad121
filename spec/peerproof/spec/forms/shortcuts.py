"""
Shortcuts: a faster way from bytes to messages and back, beside the codec that a protocol declares.

The declared codec is the authority, and the only one that describes what is wrong. A shortcut handles messages in their usual
form, and gives all others, malformed ones included, to the declared codec. Both give the same messages and the same bytes. While
overrides are in force, even empty ones, a shortcut is not taken: it would pass by the functions that are replaced.

This module has what the shortcuts of several protocols need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

#: Maximum number of results in a cache.
MOST_KNOWN: Final = 4096

#: What operations on data in an unusual form raise: MalformedMessage and NotEnabled are values' errors, too.
UNUSUAL: Final = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


class Known(dict[K, V]):
    """
    A cache of results, emptied when it is full; a subclass computes a missing one in `__missing__`.

    To Python, 1, 1.0 and true are equal, but messages are not. So a key must not have numbers, unless it is known to be of
    integers that no float and no boolean is equal to.
    """

    __slots__ = ()

    def keep(self, key: K, result: V) -> V:
        """Adds a result and returns it."""
        if len(self) >= MOST_KNOWN:
            self.clear()
        self[key] = result
        return result


def maker(kind: type[T]) -> Callable[..., T]:
    """
    Returns a function that makes a value of a frozen dataclass with slots from all its fields, in their order.

    It takes half the time of the class, which calls a function for each field: the fields are set in a value of another class,
    which has the same slots and is not frozen, and that value then changes its class.

    >>> from dataclasses import dataclass
    >>> Point = dataclass(frozen=True, slots=True)(type("Point", (), {"__annotations__": {"x": int, "y": int}}))
    >>> maker(Point)(1, 2) == Point(1, 2)
    True
    """
    assert not hasattr(kind, "__post_init__"), f"{kind.__name__} checks its fields"
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    thawed = type(kind.__name__, (), {"__slots__": tuple(names)})
    lines = [f"def make({', '.join(names)}):", "    made = new(thawed)"]
    lines += [f"    made.{name} = {name}" for name in names]
    lines += ["    made.__class__ = kind", "    return made"]
    scope: dict[str, Any] = {"new": object.__new__, "thawed": thawed, "kind": kind}
    exec("\n".join(lines), scope)
    make: Callable[..., T] = scope["make"]
    return make
