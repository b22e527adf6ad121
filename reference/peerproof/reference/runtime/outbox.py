"""Messages that wait to be sent over connections, in the order in which each address is to get them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from peerproof.spec.core import NodeId


class Parcel(NamedTuple):
    """A message to be sent, in both its forms; None for the bytes of one that cannot be sent."""

    to: NodeId
    message: Any
    data: bytes | None
    since: float  #: when it was given to be sent


class Outbox:
    """What waits to be sent: for each address in its order, and one at a time."""

    def __init__(self) -> None:
        self.size = 0  #: bytes
        self._count = 0
        self._lines: Final[dict[NodeId, deque[Parcel]]] = {}  #: by address, also if nothing waits behind one on its way
        self._ready: Final[deque[NodeId]] = deque()  #: where something waits, and nothing is on its way

    def __len__(self) -> int:
        return self._count

    def put(self, parcel: Parcel) -> None:
        """Behind those to the same address."""
        line = self._lines.get(parcel.to)
        if line is None:
            line = self._lines[parcel.to] = deque()
            self._ready.append(parcel.to)
        line.append(parcel)
        self._count += 1
        self.size += len(parcel.data or b"")

    def take(self) -> Parcel | None:
        """The next one that may go, to an address that nothing is on its way to until `finish`; None if there is none."""
        return self._pop(self._lines[self._ready.popleft()]) if self._ready else None

    def finish(self, to: NodeId) -> None:
        """What was on its way to an address has arrived, or not: the next one may go."""
        if self._lines[to]:
            self._ready.append(to)
        else:
            del self._lines[to]

    def behind(self, to: NodeId, before: float) -> Iterator[Parcel]:
        """Takes out what waits behind the one that is on its way to an address, as far as it was put there before that time."""
        line = self._lines[to]
        while line and line[0].since < before:
            yield self._pop(line)

    def clear(self) -> None:
        """Nothing is to be sent any more."""
        self.size = self._count = 0
        self._ready.clear()
        for line in self._lines.values():
            line.clear()

    def _pop(self, line: deque[Parcel]) -> Parcel:
        parcel = line.popleft()
        self._count -= 1
        self.size -= len(parcel.data or b"")
        return parcel
