"""
Sockets of the runner's own for the nodes that it plays: datagrams, or connections.

Over TCP each node that it plays listens, and each message has a connection. [WA-64] What a vector says of a connection itself
(`stream`) is done to one of the runner's, and what the node does with it is heard.

A message of the node under test is there as soon as its object is; the line feed behind it belongs to the connection, and nobody
waits for it. Its connection stays open until the runner says what becomes of the message. What is no message is handed on as it
is, and its connection is over.
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
_LINE_FEED: Final = b"\n"  #: what a message ends with on a connection, and where its bytes are written
_PIECE: Final = 2**16  #: bytes that are read at once
_WAITING: Final = 128  #: connections that may wait to be looked at
_TRIES: Final = 20  #: so many ports are tried that all hosts must have free
_RESET: Final = struct.pack("ii", 1, 0)  #: that a connection is reset when it is closed

Endpoint = tuple[str, int]


class NoSocket(Exception):
    """This machine gives none; the message says why and what to do."""

    def __init__(self, text: str, *, is_taken: bool) -> None:
        super().__init__(text)
        self.is_taken = is_taken  #: the port is somebody else's


class Datagram(NamedTuple):
    """What somebody has sent to a node of ours."""

    to: str  #: the vector's address of the node
    sender: str | None  #: None over a connection, which does not say
    data: bytes
    is_open: bool = False  #: whether who sent it waits to be told what becomes of it


class Datagrams:
    """A socket for each address that the runner plays."""

    is_busy: Final = False  #: nothing is answered

    def __init__(self) -> None:
        self._sockets: dict[str, socket.socket] = {}
        self._addresses: dict[int, str] = {}

    def open(self, addresses: Sequence[str], hosts: Sequence[str]) -> Mapping[str, str]:
        """The real addresses of new sockets at these hosts, in the order of the vector's. Raises NoSocket."""
        opened = sorted(
            (bind_socket(host, socket.SOCK_DGRAM) for host in hosts), key=lambda one: endpoint_text(one.getsockname()).encode()
        )
        self._sockets = dict(zip(addresses, opened, strict=True))
        self._addresses = {one.fileno(): address for address, one in self._sockets.items()}
        return {address: endpoint_text(one.getsockname()) for address, one in self._sockets.items()}

    def send(self, address: str, to: Endpoint, data: bytes) -> None:
        """From one of ours. What the network says of it is nothing that a sender of datagrams can rely on."""
        with suppress(OSError):
            self._sockets[address].sendto(data, to)

    def receive(self, seconds: float) -> Iterator[Datagram]:
        """All that is there, or that comes first within this time."""
        ready, _, _ = select.select(list(self._sockets.values()), [], [], seconds)
        for opened in ready:
            with suppress(OSError):  # nothing is left, or somebody does not listen
                while True:
                    data, sender = opened.recvfrom(MAX_DATAGRAM)
                    yield Datagram(self._addresses[opened.fileno()], endpoint_text(sender), data)

    def close(self) -> None:
        """All of them."""
        for opened in self._sockets.values():
            opened.close()
        self._sockets.clear()


def bind_socket(host: str, kind: socket.SocketKind, port: int = 0) -> socket.socket:
    """A socket of this kind there, at any port that is free unless one is named. Raises NoSocket."""
    opened = socket.socket(socket.AF_INET, kind)
    opened.setblocking(False)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        hint = f"; a Mac has only 127.0.0.1 unless told: ifconfig lo0 alias {host}" if host.startswith("127.") else ""
        text = f"cannot listen at {host}: {error.strerror}{hint}"
        raise NoSocket(text, is_taken=error.errno == errno.EADDRINUSE) from None
    return opened


def own_host(to: Endpoint) -> str:
    """The address of this machine that a node there sees."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.connect(to)
        name: str = opened.getsockname()[0]
        return name


def endpoint_text(endpoint: Endpoint) -> str:
    """Its text."""
    return f"{endpoint[0]}:{endpoint[1]}"


def endpoint(text: str) -> Endpoint:
    """Host and port of a text such as `127.0.0.1:8119`. Raises ValueError."""
    name, colon, port = text.rpartition(":")
    if not colon or not name or not (port.isascii() and port.isdigit()) or not 0 < int(port[:6]) < 2**16:
        raise ValueError(f"{text!r} is no address: expected HOST:PORT")
    return name.strip("[]"), int(port)


@dataclass(eq=False)
class _Listener:
    """Where one of ours can be reached."""

    socket: socket.socket
    address: str


@dataclass(eq=False)
class _Incoming:
    """A connection to one of ours, with a message."""

    socket: socket.socket
    address: str
    inbound: Any
    data: bytearray = field(default_factory=bytearray)
    is_whole: bool = False  #: the message is there
    is_settled: bool = False  #: whoever sent it has been told what became of it
    is_at_end: bool = False  #: nothing more is said


@dataclass(eq=False)
class _Outgoing:
    """A connection of ours, until its message is answered, or one that a vector speaks of."""

    socket: socket.socket
    rest: bytes  #: of what is to be said
    confirmation: Any = None  #: of a message
    name: str = ""  #: in a vector
    is_there: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether it waits for something."""
        return bool(self.rest) or not self.is_there or self.confirmation is not None


class Streams:
    """A listening socket for each address that the runner plays, all at one port: a node may have two hosts, and has one port."""

    def __init__(self, protocol: str) -> None:
        reference = PROTOCOLS[protocol].framing
        assert reference is not None, f"{protocol} is not over TCP"
        self._framing: Final[Any] = reference.load()
        self._selector: Final = DefaultSelector()
        self._unsettled: Final[dict[str, list[_Incoming]]] = defaultdict(list)  #: whose message is there, by address
        self._outgoing: Final[set[_Outgoing]] = set()
        self._named: Final[dict[str, _Outgoing]] = {}  #: those that a vector speaks of, also when they are over
        self._heard: list[dict[str, str]] = []  #: what the node has done with them

    @property
    def is_busy(self) -> bool:
        """Whether something has not been said yet, or a message not been answered."""
        return any(outgoing.is_busy for outgoing in self._outgoing)

    def open(self, addresses: Sequence[str], hosts: Sequence[str]) -> Mapping[str, str]:
        """The real addresses of new sockets at these hosts, in the order of the vector's. Raises NoSocket."""
        opened = dict(zip(addresses, _at_one_port(hosts), strict=True))
        for address, one in opened.items():
            one.listen(_WAITING)
            self._selector.register(one, EVENT_READ, _Listener(one, address))
        return {address: endpoint_text(one.getsockname()) for address, one in opened.items()}

    def send(self, _: str, to: Endpoint, data: bytes) -> None:
        """A message goes out, and says itself who sends it [WA-52]; who is not there misses it."""
        self._connect(to, _Outgoing(_stream(), data, self._framing.Confirmation()))

    def stream(self, name: str, event: str, to: Endpoint, data: bytes) -> None:
        """Something happens to a connection that the vector speaks of. When it is over nothing does."""
        if event == "open":
            self._named[name] = _Outgoing(_stream(), b"", name=name)
            self._connect(to, self._named[name])
        elif (outgoing := self._named[name]) in self._outgoing:
            match event:
                case "data":
                    outgoing.rest += data
                    self._selector.modify(outgoing.socket, EVENT_READ | EVENT_WRITE, outgoing)
                case "eof":
                    with suppress(OSError):  # it is over already, and nobody has looked
                        outgoing.socket.shutdown(socket.SHUT_WR)
                case "reset":
                    outgoing.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    self._over(outgoing)

    def take_events(self) -> list[dict[str, str]]:
        """What the node has done with these connections, since the last time that was asked."""
        heard, self._heard = self._heard, []
        return heard

    def receive(self, seconds: float) -> Iterator[Datagram]:
        """All that is there, or that comes first within this time."""
        arrived: list[Datagram] = []  # all is read before anybody looks at it, and has connections closed
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
        """What becomes of one of the open messages to this address. Whoever has sent it may have given it up."""
        incoming = self._unsettled[address].pop(place)
        incoming.is_settled = True
        if is_confirmed:
            with suppress(OSError):
                incoming.socket.send(self._framing.ACKNOWLEDGEMENT)
                incoming.socket.shutdown(socket.SHUT_WR)
        if incoming.is_at_end or not is_confirmed:  # else it is read to its end: to close it before could take the rest back
            self._end(incoming)

    def close(self) -> None:
        """All of them."""
        watched = [key.data for key in self._selector.get_map().values()]
        at_end = [one for unsettled in self._unsettled.values() for one in unsettled if one.is_at_end]
        for one in [*watched, *at_end]:
            self._end(one)
        self._selector.close()

    def _accept(self, listener: _Listener) -> None:
        with suppress(OSError):  # it is gone again
            opened, _ = listener.socket.accept()
            opened.setblocking(False)
            self._selector.register(opened, EVENT_READ, _Incoming(opened, listener.address, self._framing.Inbound()))

    def _read(self, incoming: _Incoming) -> Iterator[Datagram]:
        """What is said on a connection: a message, and then nothing that matters."""
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
        """Who sends no more may still wait for the acknowledgement."""
        incoming.is_at_end = True
        if incoming.is_settled:
            self._end(incoming)
        else:
            self._selector.unregister(incoming.socket)

    def _connect(self, to: Endpoint, outgoing: _Outgoing) -> None:
        outgoing.socket.connect_ex(to)  # what goes wrong with it is seen when it is written to
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
        """What the node says on a connection of ours, until it closes it, or has answered the message."""
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
        with suppress(KeyError):  # if nobody watches it any more
            self._selector.unregister(connection.socket)
        connection.socket.close()


def _stream() -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setblocking(False)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each piece by itself
    return opened


def _piece(opened: socket.socket) -> bytes | None:
    """What comes next; nothing at the end, however it came, and None if there is nothing yet."""
    try:
        return opened.recv(_PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _at_one_port(hosts: Sequence[str]) -> list[socket.socket]:
    """Sockets at these hosts. Raises NoSocket."""
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
