"""The effects of a node: they are recorded, and nothing is sent."""

from __future__ import annotations

from typing import Any


class Effects:
    """The effects of one request, in order. Nothing is sent for real."""

    def __init__(self, transport: str) -> None:
        self.done: list[dict[str, Any]] = []
        self._transport = transport

    def send(self, to: Any, data: bytes) -> None:
        """Sends a message. The address has the form that addresses have in requests."""
        sent = {"via": self._transport, "to": to, "bytes": data.hex()}
        self.done.append({"send": sent})

    def reply(self, conn: str, data: bytes) -> None:
        """Sends bytes on a connection that a peer has opened."""
        sent = {"conn": conn, "event": "data", "bytes": data.hex()}
        self.done.append({"stream": sent})

    def close(self, conn: str) -> None:
        """Closes such a connection."""
        self.done.append({"stream": {"conn": conn, "event": "close"}})

    def tell(self, event: str, **members: Any) -> None:
        """Reports an event to the application. Claim `events` if you use it."""
        self.done.append({"event": {"name": event, **members}})
