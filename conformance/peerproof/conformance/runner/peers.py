"""
The runner's own sockets for the nodes that it plays: datagrams, or connections.

Over TCP each played node listens, and each message has its own connection. [WA-64] A vector's `stream` steps act on a
connection of the runner's, and the node's reactions are recorded.

A message of the node under test counts as received as soon as its object is complete; the line feed behind it belongs to the
connection and is not awaited. Its connection stays open until the runner settles the message. Other bytes are handed on
unchanged, and their connection is closed.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Any, Final, NamedTuple

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.protocols import PROTOCOLS

MAX_DATAGRAM: Final = 2**16  #: more than any datagram holds
_LINE_FEED: Final = b"\n"  #: ends a message on a connection
_PIECE: Final = 2**16  #: the most bytes that are read at once
_WAITING: Final = 128  #: the backlog of a listening socket
_TRIES: Final = 20  #: the most attempts to find a port that is free on all hosts
_RESET: Final = struct.pack("ii", 1, 0)  #: makes close() reset the connection

Endpoint = tuple[str, int]


class NoSocket(Exception):
    """A socket cannot be opened on this machine; the message says why and what to do."""

    def __init__(self, text: str, *, is_taken: bool) -> None:
        super().__init__(text)
        self.is_taken = is_taken  #: another program uses the port


class Datagram(NamedTuple):
    """A message that has arrived at a played node."""

    to: str  #: the vector's address of the node
    sender: str | None  #: None over a connection, which does not name its sender
    data: bytes
    is_open: bool = False  #: whether the sender waits for the message's outcome


class Datagrams:
    """A UDP socket for each address that the runner plays."""

    is_busy: Final = False  #: datagrams are not acknowledged

    def __init__(self) -> None:
        self._sockets: dict[str, socket.socket] = {}
        self._addresses: dict[int, str] = {}

    def open(self, addresses: Sequence[str], hosts: Sequence[str]) -> Mapping[str, str]:
        """Opens sockets at these hosts; returns their real addresses, in the order of the vector's. Raises NoSocket."""
        opened = sorted(
            (bind_socket(host, socket.SOCK_DGRAM) for host in hosts), key=lambda one: endpoint_text(one.getsockname()).encode()
        )
        self._sockets = dict(zip(addresses, opened, strict=True))
        self._addresses = {one.fileno(): address for address, one in self._sockets.items()}
        return {address: endpoint_text(one.getsockname()) for address, one in self._sockets.items()}

    def send(self, address: str, to: Endpoint, data: bytes) -> None:
        """Sends a datagram from a played address. Ignores network errors, since a sender of datagrams cannot rely on them."""
        with suppress(OSError):
            self._sockets[address].sendto(data, to)

    def receive(self, seconds: float) -> Iterator[Datagram]:
        """Yields all datagrams that are there, or the first that arrive within this time."""
        ready, _, _ = select.select(list(self._sockets.values()), [], [], seconds)
        for opened in ready:
            with suppress(OSError):  # nothing is left, or a receiver does not listen
                while True:
                    data, sender = opened.recvfrom(MAX_DATAGRAM)
                    yield Datagram(self._addresses[opened.fileno()], endpoint_text(sender), data)

    def close(self) -> None:
        """Closes all sockets."""
        for opened in self._sockets.values():
            opened.close()
        self._sockets.clear()


def bind_socket(host: str, kind: socket.SocketKind, port: int = 0) -> socket.socket:
    """Returns a non-blocking socket bound to this host, at any free port unless one is given. Raises NoSocket."""
    opened = socket.socket(socket.AF_INET, kind)
    opened.setblocking(False)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        hint = f"; macOS has only 127.0.0.1; add the address with: ifconfig lo0 alias {host}" if host.startswith("127.") else ""
        text = f"cannot listen at {host}: {error.strerror}{hint}"
        raise NoSocket(text, is_taken=error.errno == errno.EADDRINUSE) from None
    return opened


def own_host(to: Endpoint) -> str:
    """The address of this machine from which it reaches that endpoint."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.connect(to)
        name: str = opened.getsockname()[0]
        return name


def endpoint_text(endpoint: Endpoint) -> str:
    """Host and port as a text."""
    return f"{endpoint[0]}:{endpoint[1]}"


@dataclass(eq=False)
class _Listener:
    """A listening socket of a played address."""

    socket: socket.socket
    address: str


@dataclass(eq=False)
class _Incoming:
    """An incoming connection with a message."""

    socket: socket.socket
    address: str
    inbound: Any
    data: bytearray = field(default_factory=bytearray)
    is_whole: bool = False  #: the message is complete
    is_settled: bool = False  #: the sender has learnt the outcome
    is_at_end: bool = False  #: the peer has closed its side


@dataclass(eq=False)
class _Outgoing:
    """An outgoing connection: of a message until it is acknowledged, or of a vector's `stream` steps."""

    socket: socket.socket
    rest: bytes  #: bytes that are still to be sent
    confirmation: Any = None  #: the parser of the acknowledgement of a message
    name: str = ""  #: the name in the vector
    is_there: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether it waits for anything."""
        return bool(self.rest) or not self.is_there or self.confirmation is not None


class Streams:
    """A listening socket for each played address, all at one port: a node may have two hosts, but has one port."""

    def __init__(self, protocol: str) -> None:
        reference = PROTOCOLS[protocol].framing
        assert reference is not None, f"{protocol} is not over TCP"
        self._framing: Final[Any] = reference.load()
        self._selector: Final = DefaultSelector()
        self._unsettled: Final[dict[str, list[_Incoming]]] = defaultdict(list)  #: messages without an outcome, by address
        self._outgoing: Final[set[_Outgoing]] = set()
        self._named: Final[dict[str, _Outgoing]] = {}  #: connections of `stream` steps, including closed ones
        self._heard: list[dict[str, str]] = []  #: what the node has done with them

    @property
    def is_busy(self) -> bool:
        """Whether bytes are still to be sent, or a message has not been acknowledged."""
        return any(outgoing.is_busy for outgoing in self._outgoing)

    def open(self, addresses: Sequence[str], hosts: Sequence[str]) -> Mapping[str, str]:
        """Opens sockets at these hosts; returns their real addresses, in the order of the vector's. Raises NoSocket."""
        opened = dict(zip(addresses, _at_one_port(hosts), strict=True))
        for address, one in opened.items():
            one.listen(_WAITING)
            self._selector.register(one, EVENT_READ, _Listener(one, address))
        return {address: endpoint_text(one.getsockname()) for address, one in opened.items()}

    def send(self, _: str, to: Endpoint, data: bytes) -> None:
        """Sends a message, which names its sender itself [WA-52]; it is lost if no node listens."""
        self._connect(to, _Outgoing(_stream(), data, self._framing.Confirmation()))

    def stream(self, name: str, event: str, to: Endpoint, data: bytes) -> None:
        """Applies a vector's event to a connection. Does nothing if it is closed."""
        if event == "open":
            self._named[name] = _Outgoing(_stream(), b"", name=name)
            self._connect(to, self._named[name])
        elif (outgoing := self._named[name]) in self._outgoing:
            match event:
                case "data":
                    outgoing.rest += data
                    self._selector.modify(outgoing.socket, EVENT_READ | EVENT_WRITE, outgoing)
                case "eof":
                    with suppress(OSError):  # it is closed already, and that has not been read yet
                        outgoing.socket.shutdown(socket.SHUT_WR)
                case "reset":
                    outgoing.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    self._over(outgoing)

    def take_events(self) -> list[dict[str, str]]:
        """Returns what the node has done with these connections since the last call."""
        heard, self._heard = self._heard, []
        return heard

    def receive(self, seconds: float) -> Iterator[Datagram]:
        """Yields all messages that are there, or the first that arrive within this time."""
        arrived: list[Datagram] = []  # read everything before the caller sees it and has connections closed
        for key, events in self._selector.select(seconds):
            match key.data:
                case _Listener() as listener:
                    self._accept(listener)
                case _Incoming() as incoming:
                    arrived += self._read(incoming)
                case _Outgoing() as outgoing:
                    self._write(outgoing) if events & EVENT_WRITE else self._listen(outgoing)
        return iter(arrived)

    def settle(self, address: str, place: int, *, is_confirmed: bool) -> None:
        """Settles one of the open messages to this address. Its sender may have closed the connection."""
        incoming = self._unsettled[address].pop(place)
        incoming.is_settled = True
        if is_confirmed:
            with suppress(OSError):
                incoming.socket.send(self._framing.ACKNOWLEDGEMENT)
                incoming.socket.shutdown(socket.SHUT_WR)
        if incoming.is_at_end or not is_confirmed:  # else read on to the end: closing earlier could discard the acknowledgement
            self._end(incoming)

    def close(self) -> None:
        """Closes all sockets."""
        watched = [key.data for key in self._selector.get_map().values()]
        at_end = [one for unsettled in self._unsettled.values() for one in unsettled if one.is_at_end]
        for one in [*watched, *at_end]:
            self._end(one)
        self._selector.close()

    def _accept(self, listener: _Listener) -> None:
        with suppress(OSError):  # it is closed again
            opened, _ = listener.socket.accept()
            opened.setblocking(False)
            self._selector.register(opened, EVENT_READ, _Incoming(opened, listener.address, self._framing.Inbound()))

    def _read(self, incoming: _Incoming) -> Iterator[Datagram]:
        """Reads a connection: one message; all later bytes are ignored."""
        piece = _piece(incoming.socket)
        if piece is None:
            return
        if incoming.is_whole:
            if not piece:
                self._at_end(incoming)
            return
        incoming.data += piece
        try:
            whole = incoming.inbound.feed(piece)
        except MalformedMessage:
            whole, piece = None, b""
        if whole is not None:
            incoming.is_whole = True
            self._unsettled[incoming.address].append(incoming)
            yield Datagram(incoming.address, None, whole + _LINE_FEED, is_open=True)
        elif not piece:
            self._end(incoming)
            if incoming.data:
                yield Datagram(incoming.address, None, bytes(incoming.data))

    def _at_end(self, incoming: _Incoming) -> None:
        """Handles the end of the peer's data; the peer may still wait for the acknowledgement."""
        incoming.is_at_end = True
        if incoming.is_settled:
            self._end(incoming)
        else:
            self._selector.unregister(incoming.socket)

    def _connect(self, to: Endpoint, outgoing: _Outgoing) -> None:
        outgoing.socket.connect_ex(to)  # an error shows when it is written to
        self._outgoing.add(outgoing)
        self._selector.register(outgoing.socket, EVENT_WRITE, outgoing)

    def _write(self, outgoing: _Outgoing) -> None:
        try:
            outgoing.rest = outgoing.rest[outgoing.socket.send(outgoing.rest) :]
        except BlockingIOError:
            return
        except OSError:
            self._hear(outgoing, b"")
            return
        outgoing.is_there = True
        if not outgoing.rest:
            self._selector.modify(outgoing.socket, EVENT_READ, outgoing)

    def _listen(self, outgoing: _Outgoing) -> None:
        """Reads what the node sends on a connection of the runner's, until it closes it or has acknowledged the message."""
        if (piece := _piece(outgoing.socket)) is not None:
            self._hear(outgoing, piece)

    def _hear(self, outgoing: _Outgoing, piece: bytes) -> None:
        if outgoing.name:
            what = {"event": "data", "bytes": piece.hex()} if piece else {"event": "close"}
            self._heard.append({"conn": outgoing.name, **what})
        if not piece or (outgoing.confirmation and outgoing.confirmation.feed(piece) is not None):
            self._over(outgoing)

    def _over(self, outgoing: _Outgoing) -> None:
        self._outgoing.discard(outgoing)
        self._end(outgoing)

    def _end(self, connection: _Listener | _Incoming | _Outgoing) -> None:
        with suppress(KeyError):  # it is not registered any more
            self._selector.unregister(connection.socket)
        connection.socket.close()


def _stream() -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setblocking(False)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # send each piece at once
    return opened


def _piece(opened: socket.socket) -> bytes | None:
    """The next bytes; empty at the end or after an error, and None if there are none yet."""
    try:
        return opened.recv(_PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _at_one_port(hosts: Sequence[str]) -> list[socket.socket]:
    """Returns sockets at these hosts, with one common port. Raises NoSocket."""
    for tries_left in reversed(range(_TRIES)):
        opened: list[socket.socket] = []
        try:
            for host in hosts:
                opened.append(bind_socket(host, socket.SOCK_STREAM, opened[0].getsockname()[1] if opened else 0))
        except NoSocket as error:
            for one in opened:
                one.close()
            if not (opened and error.is_taken and tries_left):
                raise
        else:
            return opened
    raise AssertionError("the last try gives them, or raises")
