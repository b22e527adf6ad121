"""
A node on a UDP socket, in real time.

A node's address is the text of its socket address, `127.0.0.1:8119` or `[::1]:8119`, as its peers see the source of its
datagrams. Only names that the operator has typed are resolved. An address from a peer is used if it is numeric and ignored
otherwise, so that no peer makes this machine query DNS.
"""

from __future__ import annotations

import logging
import socket
from ipaddress import ip_address
from typing import Any, Final

from peerproof.reference.runtime.live_node import Parts, RealTimeNode
from peerproof.spec.connections import AddressError, parse_address
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage, NotEnabled

logger: Final = logging.getLogger("peerproof.node")

#: More bytes than any datagram has.
MAX_DATAGRAM: Final = 2**16


def format_address(endpoint: tuple[Any, ...]) -> NodeId:
    """Formats a socket address."""
    host, port = endpoint[:2]
    return NodeId(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def resolve_address(address: str) -> NodeId:
    """Resolves an address that the operator has typed to its numeric form. Raises AddressError."""
    host, port = parse_address(address)
    try:
        return format_address(socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][4])
    except (OSError, UnicodeError) as error:
        raise AddressError(f"{address!r}: {getattr(error, 'strerror', None) or error}") from None


def bind_socket(address: NodeId, kind: socket.SocketKind = socket.SOCK_DGRAM) -> socket.socket:
    """Binds a socket to a numeric address. Raises AddressError."""
    host, port = parse_address(address)
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
    try:
        if kind is socket.SOCK_STREAM:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # bind in spite of old connections
        opened.setblocking(False)
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise AddressError(f"cannot listen at {address}: {error.strerror}") from None
    return opened


def is_wildcard(address: NodeId) -> bool:
    """Whether this is the wildcard address, which names no node."""
    return ip_address(parse_address(address)[0]).is_unspecified


class UdpNode(RealTimeNode):
    """A node on a bound UDP socket."""

    def __init__(self, parts: Parts, opened: socket.socket) -> None:
        super().__init__(parts)
        self._socket: Final = opened

    async def listen(self) -> None:
        """Starts to receive. The driver must have been started."""
        self._loop.add_reader(self._socket, self._readable)
        self._await_timer()

    def close(self) -> None:
        """See `RealTimeNode`."""
        super().close()
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def send(self, to: NodeId, message: Any) -> None:
        """Sends one datagram; it is lost if the address is not numeric or the network refuses it."""
        try:
            host, port = parse_address(to)
            if ip_address(host).version != (6 if self._socket.family == socket.AF_INET6 else 4):
                raise AddressError(f"{to!a} has another address family than this node's socket")
            self._socket.sendto(self._specification.MESSAGE.encode(message), (host, port))
        except (ValueError, NotEnabled, OSError, OverflowError) as error:
            logger.info("nothing sent to %a: %s", to, error)

    def _readable(self) -> None:
        """Handles one datagram per call, so that timers run during a flood of datagrams."""
        try:
            data, address = self._socket.recvfrom(MAX_DATAGRAM)
        except OSError as error:  # about an earlier datagram: its port is closed
            logger.info("network error: %s", error)
            return
        try:
            self.driver.datagram(format_address(address), data)
        except MalformedMessage as error:
            self._note_malformed("datagram", format_address(address), error)
            self._listener.malformed(error)
        except Exception:
            logger.exception("internal error: the datagram %s from %s is ignored", data.hex(), format_address(address))
        else:
            self._settle()
