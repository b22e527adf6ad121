"""Datagram sockets of the runner's own, one for each node that it plays."""

from __future__ import annotations

import errno
import select
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

#: More than any datagram holds.
MAX_DATAGRAM: Final = 2**16

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
