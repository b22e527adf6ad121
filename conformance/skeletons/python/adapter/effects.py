"""What a node does: written down, not done."""

from __future__ import annotations

from typing import Any


class Effects:
    """What a node does about one request, in the order in which it does it. Nothing is sent for real."""

    def __init__(self, transport: str) -> None:
        self.done: list[dict[str, Any]] = []
        self._transport = transport

    def send(self, to: Any, data: bytes) -> None:
        """A message to an address, which looks as it did in the request."""
        sent = {"via": self._transport, "to": to, "bytes": data.hex()}
        self.done.append({"send": sent})

    def reply(self, conn: str, data: bytes) -> None:
        """Bytes on a connection that a peer has opened."""
        sent = {"conn": conn, "event": "data", "bytes": data.hex()}
        self.done.append({"stream": sent})

    def close(self, conn: str) -> None:
        """The node closes such a connection."""
        self.done.append({"stream": {"conn": conn, "event": "close"}})

    def tell(self, event: str, **members: Any) -> None:
        """Something that the application is told; claim `events` then."""
        self.done.append({"event": {"name": event, **members}})
