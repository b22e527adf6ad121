"""Interfaces of message framing on TCP connections, which a protocol over TCP offers besides its specification."""

from __future__ import annotations

from typing import Protocol

from peerproof.spec.errors import MalformedMessage


class Inbound(Protocol):
    """The receiving side of a connection."""

    def feed(self, data: bytes) -> bytes | None:
        """Takes the next bytes. Returns the bytes of the message once it is complete, None before. Raises MalformedMessage."""

    def end(self) -> MalformedMessage:
        """Returns the error for a connection that was closed before the message was complete."""


class Confirmation(Protocol):
    """The sending side of a connection, after it has sent the message."""

    def feed(self, data: bytes) -> bool | None:
        """Takes the next bytes. Returns whether they confirm the message, None while that is undecided."""


class Framing(Protocol):
    """The framing of messages on connections: `peerproof.spec.wendy.framing` is one."""

    ACKNOWLEDGEMENT: bytes  #: the bytes that confirm a message

    def Inbound(self) -> Inbound:  # noqa: N802  # a class
        """Returns the receiving side of a connection that a peer has opened."""

    def Confirmation(self) -> Confirmation:  # noqa: N802  # a class
        """Returns the sending side of a connection of this node, after its message."""
