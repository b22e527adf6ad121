"""Where the same vectors come out otherwise over a real socket than under virtual time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from peerproof.conformance.runner.result import Result

#: What says nothing about the implementation.
_SILENT = ("skipped", "undetermined")


class TransportDifference(NamedTuple):
    """One vector that does."""

    vector: str
    virtual: Result
    over: str  #: the transport
    socket: Result

    def plain(self) -> dict[str, Any]:
        """For reports."""
        return {"vector": self.vector, "virtual": self.virtual.status, self.over: self.socket.status}

    def text(self) -> str:
        """In words."""
        return f"{self.vector}: {_outcome(self.virtual)} under virtual time, {_outcome(self.socket)} over {self.over}"


def compare(results: Iterable[Result]) -> tuple[int, list[TransportDifference]]:
    """How many vectors came out both ways, and those that came out differently; skipped and undetermined ones did not."""
    every = {result.id: result for result in results}
    both = list(_both(every))
    return len(both), [pair for pair in both if pair.virtual.status != pair.socket.status]


def _both(every: Mapping[str, Result]) -> Iterator[TransportDifference]:
    for name, socket in every.items():
        base, at, over = name.partition("@")
        virtual = every.get(base)
        if at and virtual and virtual.status not in _SILENT and socket.status not in _SILENT:
            yield TransportDifference(base, virtual, over, socket)


def lines(results: Iterable[Result]) -> Iterator[str]:
    """For people; nothing if nothing was tried both ways."""
    count, otherwise = compare(results)
    yield from (f"otherwise: {each.text()}" for each in otherwise)
    if count:
        agree = "all agree" if not otherwise else f"{len(otherwise)} disagree"
        yield f"virtual time and real sockets: {count} vectors came out both ways, {agree}"


def _outcome(result: Result) -> str:
    return f"{result.status} ({result.failure})" if result.failure else result.status
