"""Messages on connections: what a protocol over TCP offers besides its specification."""

from __future__ import annotations

from typing import Protocol

from peerproof.spec.errors import MalformedMessage


class Inbound(Protocol):
    """The receiving side of a connection."""

    def feed(self, data: bytes) -> bytes | None:
        """The bytes of the message, as soon as they are all there. Raises MalformedMessage."""
        ...

    def end(self) -> MalformedMessage:
        """The error for a connection that was closed before that."""
        ...


class Confirmation(Protocol):
    """The sending side of a connection, after the message."""

    def feed(self, data: bytes) -> bool | None:
        """Whether these bytes confirm the message; None as long as that is open."""
        ...


class Framing(Protocol):
    """How messages are on connections: `peerproof.spec.wendy.framing` is one."""

    ACKNOWLEDGEMENT: bytes  #: what a message is confirmed with

    def Inbound(self) -> Inbound:  # noqa: N802  # a class
        """For a connection that a peer has made."""
        ...

    def Confirmation(self) -> Confirmation:  # noqa: N802  # a class
        """For a connection of this node, after its message."""
        ...
