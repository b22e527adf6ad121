"""
A node on a UDP socket, in real time.

A node's address is the text of its socket address, `127.0.0.1:8119` or `[::1]:8119`: that is how its peers see where its
datagrams come from. Names are looked up only for what the operator has typed; an address that a peer has named is sent to
if it is numeric and passed over if it is not, so that no stranger makes this machine ask the name service.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final

from peerproof.reference.driver import Driver
from peerproof.reference.recorder import Recorder
from peerproof.spec.core import Instant, NodeId, Pick, Specification
from peerproof.spec.errors import MalformedMessage, NotEnabled

logger: Final = logging.getLogger("peerproof.node")

MAX_PORT: Final = 65_535

#: More than any datagram holds.
MAX_DATAGRAM: Final = 2**16

#: Seconds between two warnings about malformed datagrams, or a flood of them would become a flood of warnings.
QUIET: Final = 10.0


class AddressError(ValueError):
    """An address that cannot be used, with what to do about it."""


def parsed(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[host]:port`. Raises AddressError."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError(f"{address!r}: write an IPv6 address as [::1]:8119")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port[:6]) > MAX_PORT:
        raise AddressError(f"{address!r} is not an address: expected host:port with a port up to {MAX_PORT}")
    return host, int(port)


def named(endpoint: tuple[Any, ...]) -> NodeId:
    """The address of a socket address."""
    host, port = endpoint[:2]
    return NodeId(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def resolved(address: str) -> NodeId:
    """The numeric form of an address that the operator has typed. Raises AddressError."""
    host, port = parsed(address)
    try:
        return named(socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0][4])
    except (OSError, UnicodeError) as error:
        raise AddressError(f"{address!r}: {getattr(error, 'strerror', None) or error}") from None


def bound(address: NodeId) -> socket.socket:
    """A UDP socket at a numeric address. Raises AddressError."""
    host, port = parsed(address)
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        opened.setblocking(False)
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise AddressError(f"cannot listen at {address}: {error.strerror}") from None
    return opened


def is_wildcard(address: NodeId) -> bool:
    """Whether this stands for every address of the machine, and so names no node."""
    return ip_address(parsed(address)[0]).is_unspecified


class UdpNode:
    """A node on a bound socket, and what `Driver` calls its environment."""

    def __init__(
        self,
        specification: Specification,
        self_id: NodeId,
        opened: socket.socket,
        pick: Pick,
        *,
        recorder: Recorder | None = None,
        told: Callable[[Any], None] = lambda _: None,
        stepped: Callable[[], None] = lambda: None,
    ) -> None:
        self.driver: Final = Driver(specification, self_id, self, pick, recorder=recorder)
        self.malformed = 0  #: datagrams that were no message
        self._specification: Final = specification
        self._told: Final = told
        self._stepped: Final = stepped
        self._loop: Final = asyncio.get_running_loop()
        self._epoch: Final = self._loop.time()
        self._socket: Final = opened
        self._wake: asyncio.TimerHandle | None = None
        self._warned: tuple[float, int] | None = None

    def listen(self) -> None:
        """Take part. The node must have been started."""
        self._loop.add_reader(self._socket, self._readable)
        self._await_timer()

    def close(self) -> None:
        """Leave, without a word: what a protocol has to say before, the driver must have been asked for."""
        if self._wake:
            self._wake.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def ask(self, command: Any) -> None:
        """The application wants something. Raises NotEnabled."""
        self.driver.asked(command)
        self._await_timer()
        self._stepped()

    def now(self) -> Instant:
        """Milliseconds since this object was made."""
        return Instant(int((self._loop.time() - self._epoch) * 1000))

    def send(self, to: NodeId, message: Any) -> None:
        """One datagram, or none if the address is not numeric or the network does not take it now: it is lost then."""
        try:
            host, port = parsed(to)
            if ip_address(host).version != (6 if self._socket.family == socket.AF_INET6 else 4):
                raise AddressError(f"{to!a} is of another family than this node's socket")
            self._socket.sendto(self._specification.MESSAGE.encode(message), (host, port))
        except (ValueError, NotEnabled, OSError, OverflowError) as error:
            logger.info("nothing sent to %a: %s", to, error)

    def notify(self, notice: Any) -> None:
        """To whoever made this object."""
        self._told(notice)

    def _readable(self) -> None:
        """One datagram, so that a flood of them leaves the timers their turn."""
        try:
            data, address = self._socket.recvfrom(MAX_DATAGRAM)
        except OSError as error:  # what the network says of an earlier datagram: that nobody listens there
            logger.info("the network says: %s", error)
            return
        try:
            self.driver.datagram(named(address), data)
        except MalformedMessage as error:
            self._note_malformed(named(address), error)
        except Exception:
            logger.exception("a fault of this program: the datagram %s from %s is passed over", data.hex(), named(address))
        else:
            self._await_timer()
            self._stepped()

    def _note_malformed(self, sender: NodeId, error: MalformedMessage) -> None:
        self.malformed += 1
        logger.debug("malformed datagram from %s: %s", sender, error)
        since, count = self._warned or (-QUIET, 0)
        if (now := self._loop.time() - self._epoch) - since >= QUIET:
            more = self.malformed - count - 1
            logger.warning(
                "malformed datagram from %s, passed over: %s%s",
                sender,
                error,
                f"; {more} more since the last warning" * (more > 0),
            )
            self._warned = now, self.malformed

    def _await_timer(self) -> None:
        if self._wake:
            self._wake.cancel()
        due = self.driver.next_timer()
        self._wake = None if due is None else self._loop.call_at(self._epoch + due / 1000, self._expire)

    def _expire(self) -> None:
        if (due := self.driver.next_timer()) is not None and due <= self.now():
            self.driver.expire_next()
            self._stepped()
        self._await_timer()
