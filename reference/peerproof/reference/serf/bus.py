"""The interface of buses, which broadcast events to all listeners: a Serf agent, or a folder on one machine."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from peerproof.spec.core import NodeId

logger: Final = logging.getLogger("peerproof.node")

#: Maximum queued events; when there are more, the oldest are lost, as Serf does it.
MOST_WAITING: Final = 4096

#: Called with the name and payload of each event.
Heard = Callable[[str, bytes], None]


class BusError(ValueError):
    """A bus that cannot be used; the message says what to do."""


class Parcel(NamedTuple):
    """An event to be sent."""

    name: str
    payload: bytes
    lasts: bool  #: whether it is kept while the bus is disconnected
    taken: Callable[[], None]  #: called when the bus has it, so that its sender may exit


class Bus(Protocol):
    """Broadcasts events, and maps names of nodes to addresses."""

    async def open(self, heard: Heard) -> None:
        """Starts to listen: `heard` is called with all events, including those sent here. Raises BusError."""

    def put(self, parcel: Parcel) -> None:
        """Queues an event. Events are sent in order."""

    async def host(self) -> str:
        """Returns the host at which others reach this machine. Raises BusError."""

    async def announce(self, node: NodeId, address: str) -> None:
        """Publishes the address of a node, until `close`. Raises BusError."""

    async def locate(self, node: NodeId) -> list[NodeId]:
        """Returns the possible addresses of a node, the likeliest first; none if it is unknown. Raises BusError."""

    async def close(self) -> None:
        """Stops listening and removes the announced addresses."""


class Waiting(deque[Parcel]):
    """A bounded queue of events, oldest first."""

    def put(self, parcel: Parcel) -> None:
        """Appends an event; drops the oldest if the queue is full."""
        if len(self) >= MOST_WAITING:
            lost = self.popleft()
            logger.warning("%d events are queued: %s is dropped", MOST_WAITING, lost.name)
        self.append(parcel)

    def keep_lasting(self) -> None:
        """Removes the events that do not last."""
        kept = [parcel for parcel in self if parcel.lasts]
        self.clear()
        self.extend(kept)
