"""The queue of messages to be sent over connections, in order for each address."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from peerproof.spec.core import NodeId


class Parcel(NamedTuple):
    """A message to be sent, and its bytes; None for a message that cannot be sent."""

    to: NodeId
    message: Any
    data: bytes | None
    since: float  #: when it was queued


class Outbox:
    """A queue for each address, of which one message at a time is in flight."""

    def __init__(self) -> None:
        self.size = 0  #: bytes of the queued messages
        self._count = 0
        self._lines: Final[dict[NodeId, deque[Parcel]]] = {}  #: by address; empty while only a message in flight is left
        self._ready: Final[deque[NodeId]] = deque()  #: addresses with a queued message and none in flight

    def __len__(self) -> int:
        return self._count

    def put(self, parcel: Parcel) -> None:
        """Appends a message to the queue of its address."""
        line = self._lines.get(parcel.to)
        if line is None:
            line = self._lines[parcel.to] = deque()
            self._ready.append(parcel.to)
        line.append(parcel)
        self._count += 1
        self.size += len(parcel.data or b"")

    def take(self) -> Parcel | None:
        """Returns the next message to an address with none in flight, which lasts until `finish`; None if there is none."""
        return self._pop(self._lines[self._ready.popleft()]) if self._ready else None

    def finish(self, to: NodeId) -> None:
        """Ends the message in flight to an address, delivered or failed: the next one may be taken."""
        if self._lines[to]:
            self._ready.append(to)
        else:
            del self._lines[to]

    def behind(self, to: NodeId, before: float) -> Iterator[Parcel]:
        """Removes and yields the messages that wait behind the one in flight to an address and were queued before that time."""
        line = self._lines[to]
        while line and line[0].since < before:
            yield self._pop(line)

    def clear(self) -> None:
        """Removes all queued messages."""
        self.size = self._count = 0
        self._ready.clear()
        for line in self._lines.values():
            line.clear()

    def _pop(self, line: deque[Parcel]) -> Parcel:
        parcel = line.popleft()
        self._count -= 1
        self.size -= len(parcel.data or b"")
        return parcel
