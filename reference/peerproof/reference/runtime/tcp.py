"""
A node on a TCP socket, in real time: one message per connection, and its acknowledgement.

Any host may connect, as often and as slowly as it likes, so all resources are bounded: connections in both directions, the
duration of each, bytes of incomplete messages, and messages that wait for a connection. If there are too many connections the
oldest is cut off, because a well-behaved peer sends its message at once. If too much waits to be sent, reading stops until there
is less.

The duration of a send depends on the distance and on the load of both ends, and load only makes it longer. So the node gets the
shortest duration of the last hour. With the latest one, nodes at equal distances would replace each other in the routing table
again and again, each time with a new version, and in a large ring some node would always have to announce itself again.

The node takes a failed message as a failure of its receiver, so no message is dropped because the queue is too long.

Messages to the same address are sent one after the other, so that they arrive in order [PA-19]; messages to different addresses
do not wait for each other. If a message times out, those queued behind it fail too, and so does a message that waits too long:
a slow peer occupies one connection of this node and delays no other peer.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from typing import Any, Final

from peerproof.reference.runtime.live_node import Parts, RealTimeNode
from peerproof.reference.runtime.outbox import Outbox, Parcel
from peerproof.reference.runtime.protocol import Connected, Runtime
from peerproof.reference.runtime.udp import UdpNode, format_address
from peerproof.spec.connections import parse_address
from peerproof.spec.core import Duration, NodeId
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.bounded import BoundedDict

logger: Final = logging.getLogger("peerproof.node")

#: Maximum open connections, incoming and outgoing. Their sum is below 1,024, a common limit of open files per process.
MOST_INCOMING: Final = 512
MOST_OUTGOING: Final = 256

#: Maximum bytes of incomplete messages, over all connections.
MOST_HELD: Final = 2**26

#: Messages that wait to be sent, and their bytes, above which reading stops.
MOST_WAITING: Final = 4096
MOST_WAITING_BYTES: Final = 2**26

#: How long a message may wait behind others to the same address, in timeouts.
MOST_TIMEOUTS: Final = 4

#: Seconds for which the shortest duration of a send to an address is kept, and the maximum number of addresses.
REMEMBERED: Final = 3600.0
MOST_REMEMBERED: Final = 4096

#: Connection errors that are local to this machine, and seconds until the next attempt.
_OWN_FAULTS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL)
_AGAIN: Final = 0.1

#: Bytes of an acknowledgement that are read at once.
_PIECE: Final = 2**10


def make_node(parts: Parts, protocol: Runtime, config: Any, opened: socket.socket) -> UdpNode | TcpNode:
    """Creates a node on a bound socket of its protocol's transport."""
    if protocol.connected is None:
        return UdpNode(parts, opened)
    return TcpNode(parts, opened, protocol.connected, protocol.connected.timeout(config))


class TcpNode(RealTimeNode):
    """A node on a bound TCP socket."""

    def __init__(self, parts: Parts, opened: socket.socket, connected: Connected, timeout: Duration) -> None:
        """`timeout`: maximum milliseconds of a connection."""
        super().__init__(parts)
        self.connected: Final = connected
        self.timeout: Final = timeout / 1000  #: seconds
        self._opened: Final = opened
        self._server: asyncio.Server | None = None
        self._incoming: Final[dict[Incoming, None]] = {}  #: oldest first
        self._held = 0
        self._waiting: Final = Outbox()
        self._outgoing: Final[set[asyncio.Task[None]]] = set()
        self._shortest: Final = BoundedDict[NodeId, tuple[int, float]](MOST_REMEMBERED)  #: microseconds, when measured
        self._is_full = False
        self._has_left = self._is_closed = False

    async def listen(self) -> None:
        """Starts to accept and to send. The driver must have been started."""
        self._server = await self._loop.create_server(lambda: Incoming(self), sock=self._opened, backlog=MOST_INCOMING)
        self._await_timer()
        self._pump()

    def close(self) -> None:
        """See `RealTimeNode`."""
        super().close()
        self._is_closed = True
        self._waiting.clear()
        self._deaf()
        self._opened.close()
        for task in self._outgoing:
            task.cancel()

    def send(self, to: NodeId, message: Any) -> None:
        """Queues a message. One with an invalid address, or that cannot be encoded, fails as soon as its turn comes."""
        try:
            ip_address(parse_address(to)[0])
            data = self._specification.MESSAGE.encode(message)
        except (ValueError, NotEnabled) as error:
            logger.info("nothing sent to %a: %s", to, error)
            data = None
        self._waiting.put(Parcel(to, message, data, self._loop.time()))

    def receive(self, incoming: Incoming, data: bytes) -> None:
        """Confirms and processes a complete message. Raises MalformedMessage."""
        message = self._specification.MESSAGE.decode(data)
        if not self.connected.admits(self.driver.state, message):
            self._warn("refused", f"a message from {incoming.peer}: wrong credentials")
            incoming.cut_off()
            return
        incoming.confirm(self.connected.framing.ACKNOWLEDGEMENT)
        if remark := self.connected.remark(message):
            self._warn("suspicious message:", f"{remark}; received from {incoming.peer}")
        try:
            self.driver.receive(incoming.peer, message)
        except Exception:
            logger.exception("internal error: the message %r from %s is ignored", data[:2000], incoming.peer)
        self._settle()

    def add_connection(self, incoming: Incoming) -> None:
        """Adds an incoming connection; cuts off the oldest if there are too many."""
        self._incoming[incoming] = None
        if self._is_full:
            incoming.transport.pause_reading()
        if len(self._incoming) > MOST_INCOMING:
            oldest = next(iter(self._incoming))
            self._warn("too many connections:", f"more than {MOST_INCOMING}; cut off the oldest, from {oldest.peer}")
            oldest.cut_off()

    def remove_connection(self, incoming: Incoming) -> None:
        """Removes a closed connection."""
        if self._incoming.pop(incoming, self) is not self:
            self._held -= incoming.size

    def hold_bytes(self, incoming: Incoming, size: int) -> None:
        """Counts more bytes of an incomplete message; cuts off the largest connection if there are too many."""
        incoming.size += size
        self._held += size
        if self._held > MOST_HELD:
            largest = max(self._incoming, key=lambda one: one.size)
            self._warn("too many bytes:", f"cut off the connection from {largest.peer}, the largest, with {largest.size} bytes")
            largest.cut_off()

    def report_malformed(self, incoming: Incoming, error: MalformedMessage) -> None:
        """Rejects a connection with malformed bytes, and reports them."""
        self.reject(incoming, error)
        self._listener.malformed(error)

    def reject(self, incoming: Incoming, error: MalformedMessage) -> None:
        """Cuts off a connection without a valid message; a truncated one is not reported as malformed."""
        self._note_malformed("message", incoming.peer, error)
        incoming.cut_off()

    def slow(self, incoming: Incoming) -> None:
        """Cuts off a connection whose message was incomplete at the timeout."""
        self._warn("slow connection", f"from {incoming.peer}, cut off after {self.timeout:g} s with {incoming.size} bytes")
        incoming.cut_off()

    def _settle(self) -> None:
        super()._settle()
        if not self._has_left and self.connected.has_left(self.driver.state):
            self._has_left = True
            self._deaf()
        self._pump()

    def _expire(self) -> None:
        super()._expire()
        self._pump()

    def _deaf(self) -> None:
        """Stops accepting connections; cuts off those without a confirmed message, or all if the node is closed."""
        if self._server:
            self._server.close()
        for incoming in list(self._incoming):
            if self._is_closed or not incoming.is_confirmed:
                incoming.cut_off()

    def _pump(self) -> None:
        """Starts sending queued messages, up to the limit of connections; pauses or resumes reading."""
        while len(self._outgoing) < MOST_OUTGOING and (parcel := self._waiting.take()):
            task = self._loop.create_task(self._deliver(parcel))
            self._outgoing.add(task)
            task.add_done_callback(partial(self._finish_delivery, parcel.to))
        if self._has_left and not self._outgoing:
            self._loop.call_soon(self._listener.left)
        is_full = len(self._waiting) > MOST_WAITING or self._waiting.size > MOST_WAITING_BYTES
        if is_full is not self._is_full:
            self._is_full = is_full
            if is_full:
                self._warn("too much to send:", f"{len(self._waiting)} messages are queued; reading stops until there are fewer")
            for incoming in self._incoming:
                incoming.transport.pause_reading() if is_full else incoming.transport.resume_reading()

    def _finish_delivery(self, to: NodeId, task: asyncio.Task[None]) -> None:
        self._outgoing.discard(task)
        if not self._is_closed:
            self._waiting.finish(to)
            self._pump()

    async def _deliver(self, parcel: Parcel) -> None:
        begun, took, to = self._loop.time(), None, parcel.to
        given_up = begun - MOST_TIMEOUTS * self.timeout  #: messages queued before this time fail
        try:
            async with asyncio.timeout(self.timeout):
                if parcel.data is not None and await self._exchange(to, parcel.data):
                    took = self._least(to, int((self._loop.time() - begun) * 1_000_000))
        except TimeoutError:
            logger.info("not sent to %s: not confirmed in %g s", to, self.timeout)
            given_up = begun + self.timeout
        except (OSError, OverflowError) as error:
            logger.info("not sent to %s: %s", to, error)
        if self._is_closed:
            return
        behind = list(self._waiting.behind(to, given_up))
        if behind:
            logger.info("not sent to %s: %d messages that waited too long for others", to, len(behind))
        self._finish_send(parcel, took)
        for late in behind:
            self._finish_send(late, None)
        self._settle()

    def _finish_send(self, parcel: Parcel, took: int | None) -> None:
        """Reports the outcome of a message to the driver."""
        try:
            self.driver.finish_send(parcel.to, parcel.message, took)
        except Exception:
            logger.exception("internal error: the outcome of a message to %s is ignored", parcel.to)

    def _least(self, to: NodeId, took: int) -> int:
        """Returns the shortest duration of a send to an address in the last `REMEMBERED` seconds, this one included."""
        now = self._loop.time()
        least, since = self._shortest.get(to, (took, now))
        if took <= least or now - since > REMEMBERED:
            least, since = took, now
        self._shortest[to] = least, since
        return least

    async def _exchange(self, to: NodeId, data: bytes) -> bool:
        """Sends a message. Returns whether the peer has confirmed it."""
        reader, writer = await self._connect(to)
        try:
            writer.write(data)
            confirmation = self.connected.framing.Confirmation()
            while piece := await reader.read(_PIECE):
                answer = confirmation.feed(piece)
                if answer is not None:
                    return answer
        finally:
            writer.transport.abort()
        return False

    async def _connect(self, to: NodeId) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects. Retries as long as the error is local to this machine, because it says nothing about the peer."""
        while True:
            try:
                return await asyncio.open_connection(*parse_address(to), limit=_PIECE)
            except OSError as error:
                if error.errno not in _OWN_FAULTS:
                    raise
                self._warn("no connection available:", f"{error.strerror}; trying again")
                await asyncio.sleep(_AGAIN)


class Incoming(asyncio.Protocol):
    """An incoming connection, with its one message."""

    __slots__ = ("_inbound", "_node", "_timer", "is_confirmed", "peer", "size", "transport")

    transport: asyncio.Transport  #: set with `_timer` when the connection is made
    _timer: asyncio.TimerHandle

    def __init__(self, node: TcpNode) -> None:
        self.peer = NodeId("")
        self.size = 0  #: bytes held
        self.is_confirmed = False
        self._node: Final = node
        self._inbound: Final = node.connected.framing.Inbound()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.peer = format_address(transport.get_extra_info("peername") or ("unknown", 0))
        self._timer = asyncio.get_running_loop().call_later(self._node.timeout, self._expire)
        self._node.add_connection(self)

    def data_received(self, data: bytes) -> None:
        """Feeds the bytes to the message; ignores bytes after it."""
        if self.is_confirmed:
            return
        try:
            whole = self._inbound.feed(data)
            if whole is None:
                self._node.hold_bytes(self, len(data))
            else:
                self._node.receive(self, whole)
        except MalformedMessage as error:
            self._node.report_malformed(self, error)

    def eof_received(self) -> None:
        """Rejects an incomplete message."""
        if self.size and not self.is_confirmed:
            self._node.reject(self, self._inbound.end())

    def connection_lost(self, _: Exception | None) -> None:
        """Stops the timer and removes the connection."""
        self._timer.cancel()
        self._node.remove_connection(self)

    def confirm(self, acknowledgement: bytes) -> None:
        """
        Sends the acknowledgement and half-closes the connection. The peer has to close it.

        To close it here would reset it if the peer still sends, and the peer might lose the acknowledgement.
        """
        self.is_confirmed = True
        self.transport.write(acknowledgement)
        if not self.transport.is_closing():
            with suppress(OSError):  # the peer has closed already
                self.transport.write_eof()

    def cut_off(self) -> None:
        """Aborts the connection."""
        self.transport.abort()
        self._node.remove_connection(self)

    def _expire(self) -> None:
        if self.is_confirmed:
            self.cut_off()
        else:
            self._node.slow(self)
