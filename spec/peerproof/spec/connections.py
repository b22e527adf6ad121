"""Addresses of nodes on sockets; and the framing of messages on TCP connections, which a protocol over TCP offers."""

from __future__ import annotations

from typing import Final, Protocol

from peerproof.spec.errors import MalformedMessage

MAX_PORT: Final = 65_535


class AddressError(ValueError):
    """An address that cannot be used; the message says what to do."""


def parse_address(address: str) -> tuple[str, int]:
    """
    Parses host and port; port 0 stands for any free port. Raises AddressError.

    >>> parse_address("127.0.0.1:8119"), parse_address("[::1]:0")
    (('127.0.0.1', 8119), ('::1', 0))
    """
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError(f"{address!r}: write an IPv6 address as [::1]:8119")
    is_number = port.isascii() and port.isdigit() and len(port) <= len(str(MAX_PORT))
    if not colon or not host or not is_number or int(port) > MAX_PORT:
        raise AddressError(f"{address!r} is not an address: expected host:port with a port up to {MAX_PORT}")
    return host, int(port)


def parse_endpoint(address: str) -> tuple[str, int]:
    """Parses host and port of a node that can be reached. Raises AddressError."""
    host, port = parse_address(address)
    if port == 0:
        raise AddressError(f"{address!r}: port 0 is not the address of a node")
    return host, port


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
