"""
A node on a TCP socket, in real time: one message on each connection, and its acknowledgement on the way back.

Strangers may connect, as often and as slowly as they like, so that everything is bounded: connections in both directions, the
time that each may take, bytes of messages that are not whole, and messages that wait for a connection of their own. If there are
too many connections the oldest is cut off, because an honest message is whole in the next moment. If too much waits to be sent,
nothing more is read until it is less.

How long a message takes is a matter of how busy both ends are as well as of how far apart, and who is busy only makes it longer.
So the time that the node is told is the shortest of the last hour. If it were the last one, nodes that are equally far away would
drive each other out of the routing table again and again, each time with a new version, and with many nodes somebody would always
have to announce itself once more.

A message that does not get through is held against whoever it was for; so nothing that this node has to send is dropped because
there is too much of it.

Messages to one address go one after the other, so that they arrive in the order in which they were sent [PA-19]; those to others
do not wait for them. If one takes longer than it may, those behind it have failed with it, and so has what waits too long for its
turn: who is slow takes one connection of this node, and not its time.
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
from peerproof.reference.runtime.udp import UdpNode, format_address, parse_address
from peerproof.spec.core import Duration, NodeId
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.bounded import BoundedDict

logger: Final = logging.getLogger("peerproof.node")

#: Connections at once: from others, and to others. Together fewer than the 1,024 files that a process often may have open.
MOST_INCOMING: Final = 512
MOST_OUTGOING: Final = 256

#: Bytes of messages that are not whole yet, of all connections together.
MOST_HELD: Final = 2**26

#: Messages that wait to be sent, and their bytes, until nothing more is read.
MOST_WAITING: Final = 4096
MOST_WAITING_BYTES: Final = 2**26

#: Timeouts for which a message waits for those before it to the same address.
MOST_TIMEOUTS: Final = 4

#: Seconds for which the shortest time that a message to somebody took is remembered, and how many of these times.
REMEMBERED: Final = 3600.0
MOST_REMEMBERED: Final = 4096

#: What keeps this machine from connecting to anybody, and seconds until it is tried again.
_OWN_FAULTS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL)
_AGAIN: Final = 0.1

#: Bytes that are read at once of what should be an acknowledgement.
_PIECE: Final = 2**10


def make_node(parts: Parts, protocol: Runtime, config: Any, opened: socket.socket) -> UdpNode | TcpNode:
    """A node on a bound socket of the kind that its protocol is carried by."""
    if protocol.connected is None:
        return UdpNode(parts, opened)
    return TcpNode(parts, opened, protocol.connected, protocol.connected.timeout(config))


class TcpNode(RealTimeNode):
    """A node on a bound socket."""

    def __init__(self, parts: Parts, opened: socket.socket, connected: Connected, timeout: Duration) -> None:
        """`timeout`: milliseconds that a connection may take."""
        super().__init__(parts)
        self.connected: Final = connected
        self.timeout: Final = timeout / 1000  #: seconds
        self._opened: Final = opened
        self._server: asyncio.Server | None = None
        self._incoming: Final[dict[Incoming, None]] = {}  #: the oldest first
        self._held = 0
        self._waiting: Final = Outbox()
        self._outgoing: Final[set[asyncio.Task[None]]] = set()
        self._shortest: Final = BoundedDict[NodeId, tuple[int, float]](MOST_REMEMBERED)  #: microseconds, since when
        self._is_full = False
        self._has_left = self._is_closed = False

    async def listen(self) -> None:
        """Take part. The node must have been started."""
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
        """As soon as there is a connection to spare; what can be sent to nobody has failed, in a moment."""
        try:
            ip_address(parse_address(to)[0])
            data = self._specification.MESSAGE.encode(message)
        except (ValueError, NotEnabled) as error:
            logger.info("nothing sent to %a: %s", to, error)
            data = None
        self._waiting.put(Parcel(to, message, data, self._loop.time()))

    def receive(self, incoming: Incoming, data: bytes) -> None:
        """A whole message is there: it is confirmed, and taken in. Raises MalformedMessage if it is none."""
        message = self._specification.MESSAGE.decode(data)
        if not self.connected.admits(self.driver.state, message):
            self._warn("refused", f"a message from {incoming.peer}: it has not the credentials that are wanted here")
            incoming.cut_off()
            return
        incoming.confirm(self.connected.framing.ACKNOWLEDGEMENT)
        if remark := self.connected.remark(message):
            self._warn("strange:", f"{remark}; it came from {incoming.peer}")
        try:
            self.driver.receive(incoming.peer, message)
        except Exception:
            logger.exception("a fault of this program: the message %r from %s is passed over", data[:2000], incoming.peer)
        self._settle()

    def add_connection(self, incoming: Incoming) -> None:
        """Somebody has connected."""
        self._incoming[incoming] = None
        if self._is_full:
            incoming.transport.pause_reading()
        if len(self._incoming) > MOST_INCOMING:
            oldest = next(iter(self._incoming))
            self._warn("too many connections:", f"cut off that from {oldest.peer}, of {MOST_INCOMING} the oldest")
            oldest.cut_off()

    def remove_connection(self, incoming: Incoming) -> None:
        """A connection is over."""
        if self._incoming.pop(incoming, self) is not self:
            self._held -= incoming.size

    def hold_bytes(self, incoming: Incoming, size: int) -> None:
        """A connection holds so many bytes more of a message that is not whole."""
        incoming.size += size
        self._held += size
        if self._held > MOST_HELD:
            largest = max(self._incoming, key=lambda one: one.size)
            self._warn("too many bytes:", f"cut off the connection from {largest.peer}, which holds {largest.size}, the most")
            largest.cut_off()

    def report_malformed(self, incoming: Incoming, error: MalformedMessage) -> None:
        """A connection has brought no message."""
        self.reject(incoming, error)
        self._listener.malformed(error)

    def reject(self, incoming: Incoming, error: MalformedMessage) -> None:
        """A connection has ended before there was a message; whether it would have been one nobody knows."""
        self._note_malformed("message", incoming.peer, error)
        incoming.cut_off()

    def slow(self, incoming: Incoming) -> None:
        """A message was not whole in time."""
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
        """Nobody can connect any more."""
        if self._server:
            self._server.close()
        for incoming in list(self._incoming):
            if self._is_closed or not incoming.is_confirmed:
                incoming.cut_off()

    def _pump(self) -> None:
        """Sends what waits, as far as there are connections to spare."""
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
                self._warn("too much to send:", f"{len(self._waiting)} messages wait, until some are sent nothing is read")
            for incoming in self._incoming:
                incoming.transport.pause_reading() if is_full else incoming.transport.resume_reading()

    def _finish_delivery(self, to: NodeId, task: asyncio.Task[None]) -> None:
        self._outgoing.discard(task)
        if not self._is_closed:
            self._waiting.finish(to)
            self._pump()

    async def _deliver(self, parcel: Parcel) -> None:
        begun, took, to = self._loop.time(), None, parcel.to
        given_up = begun - MOST_TIMEOUTS * self.timeout  #: what has waited since then
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
            logger.info("not sent to %s: %d messages that waited for others too long", to, len(behind))
        self._finish_send(parcel, took)
        for late in behind:
            self._finish_send(late, None)
        self._settle()

    def _finish_send(self, parcel: Parcel, took: int | None) -> None:
        """What has become of a message."""
        try:
            self.driver.finish_send(parcel.to, parcel.message, took)
        except Exception:
            logger.exception("a fault of this program: what became of a message to %s is passed over", parcel.to)

    def _least(self, to: NodeId, took: int) -> int:
        """The shortest time that a message to somebody took, for a while."""
        now = self._loop.time()
        least, since = self._shortest.get(to, (took, now))
        if took <= least or now - since > REMEMBERED:
            least, since = took, now
        self._shortest[to] = least, since
        return least

    async def _exchange(self, to: NodeId, data: bytes) -> bool:
        """Whether the peer has confirmed the message."""
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
        """A connection. Tries again as long as it is this machine that has none to spare, for which the peer is not to blame."""
        while True:
            try:
                return await asyncio.open_connection(*parse_address(to), limit=_PIECE)
            except OSError as error:
                if error.errno not in _OWN_FAULTS:
                    raise
                self._warn("no connection to spare:", f"{error.strerror}; trying again")
                await asyncio.sleep(_AGAIN)


class Incoming(asyncio.Protocol):
    """A connection that somebody has made, with its one message."""

    __slots__ = ("_inbound", "_node", "_timer", "is_confirmed", "peer", "size", "transport")

    transport: asyncio.Transport  #: this one and the timer are there as soon as the connection is
    _timer: asyncio.TimerHandle

    def __init__(self, node: TcpNode) -> None:
        self.peer = NodeId("")
        self.size = 0  #: bytes held
        self.is_confirmed = False
        self._node: Final = node
        self._inbound: Final = node.connected.framing.Inbound()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`, as for the others."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.peer = format_address(transport.get_extra_info("peername") or ("unknown", 0))
        self._timer = asyncio.get_running_loop().call_later(self._node.timeout, self._expire)
        self._node.add_connection(self)

    def data_received(self, data: bytes) -> None:
        """Part of a message, or what follows it and is not looked at."""
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
        """The peer says no more."""
        if self.size and not self.is_confirmed:
            self._node.reject(self, self._inbound.end())

    def connection_lost(self, _: Exception | None) -> None:
        """It is over."""
        self._timer.cancel()
        self._node.remove_connection(self)

    def confirm(self, acknowledgement: bytes) -> None:
        """Say that the message is there; then the peer is to close, or what it still sends might make it lose that."""
        self.is_confirmed = True
        self.transport.write(acknowledgement)
        if not self.transport.is_closing():
            with suppress(OSError):  # the peer has closed already
                self.transport.write_eof()

    def cut_off(self) -> None:
        """End it at once."""
        self.transport.abort()
        self._node.remove_connection(self)

    def _expire(self) -> None:
        if self.is_confirmed:
            self.cut_off()
        else:
            self._node.slow(self)
