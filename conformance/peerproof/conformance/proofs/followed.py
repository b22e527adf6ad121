"""Steps that are proved in parts: while a path is followed, functions of the specification are methods of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from peerproof.spec.overrides import overriding

Parts = TypeVar("Parts")


class Followed(Generic[Parts]):
    """The parts of the path that is followed. A part may run another one, which is then the innermost."""

    def __init__(self) -> None:
        self._all: list[Parts] = []

    @property
    def innermost(self) -> Parts:
        """The parts that functions of the specification belong to now."""
        return self._all[-1]

    def method(self, name: str) -> Callable[..., Any]:
        """Returns a function that is the method with this name of the innermost parts, for an override."""

        def call(*args: Any, **named: Any) -> Any:
            return getattr(self.innermost, name)(*args, **named)

        return call

    @contextmanager
    def within(self, parts: Parts, overrides: overriding) -> Iterator[None]:
        """Makes these parts the innermost ones, with the overrides, while the block runs."""
        self._all.append(parts)
        try:
            with overrides:
                yield
        finally:
            self._all.pop()
