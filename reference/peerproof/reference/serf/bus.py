"""What carries events to everybody who listens, whoever they are: an agent of Serf does, and a folder on one machine."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from peerproof.spec.core import NodeId

logger: Final = logging.getLogger("peerproof.node")

#: Events that wait to be taken; when there are more, the oldest are lost, as Serf loses them.
MOST_WAITING: Final = 4096

#: Told of an event: its name and payload.
Heard = Callable[[str, bytes], None]


class BusError(ValueError):
    """There is no such bus, with what to do about it."""


class Parcel(NamedTuple):
    """An event on its way to the bus."""

    name: str
    payload: bytes
    lasts: bool  #: whether it is worth sending when the bus was away, and comes back
    taken: Callable[[], None]  #: told when the bus has it, so that its sender may end


class Bus(Protocol):
    """Where nodes tell everybody, and find each other by their names."""

    async def open(self, heard: Heard) -> None:
        """From now on `heard` is told of events, the own ones too. Raises BusError."""

    def put(self, parcel: Parcel) -> None:
        """An event for everybody, as soon as it may go. Events go in the order in which they were put."""

    async def host(self) -> str:
        """Where others reach this machine. Raises BusError."""

    async def announce(self, node: NodeId, address: str) -> None:
        """Whoever asks where a node is reached shall find this, until it is taken back. Raises BusError."""

    async def locate(self, node: NodeId) -> list[NodeId]:
        """Where a node may be reached, the likeliest first; nowhere if the bus does not know. Raises BusError."""

    async def close(self) -> None:
        """Hear nothing any more; what was announced is taken back."""


class Waiting(deque[Parcel]):
    """Events that wait, the oldest first, and not too many of them."""

    def put(self, parcel: Parcel) -> None:
        """Behind the others."""
        if len(self) >= MOST_WAITING:
            lost = self.popleft()
            logger.warning("%d events wait to be sent: %s is lost", MOST_WAITING, lost.name)
        self.append(parcel)

    def keep_lasting(self) -> None:
        """Only those that last."""
        kept = [parcel for parcel in self if parcel.lasts]
        self.clear()
        self.extend(kept)
