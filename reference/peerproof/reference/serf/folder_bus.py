"""
A folder as a bus, for nodes on one machine and without Serf.

Each node has a Unix socket for datagrams in the folder, and whoever tells everybody sends to all that are there. So no node is
special, and none is missed when it is gone. If somebody does not read, what is for it waits for a while.

An event is its name as a string of MessagePack, and its payload.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from peerproof.reference.serf.bus import BusError, Heard, Parcel, Waiting, logger
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import read, string_bytes

#: Bytes of a socket's path that all systems allow.
LONGEST_PATH: Final = 103

#: More than any event has.
MAX_EVENT: Final = 2**16

#: Seconds until what somebody could not take is tried again.
AGAIN: Final = 0.01


def default_folder() -> Path:
    """Where nodes of one user meet that were told no other place."""
    from os import getuid

    return Path(gettempdir()) / f"peerproof-{getuid()}"


class LoopbackBus:
    """A bus of those who use the same folder."""

    def __init__(self, folder: Path, purpose: str, node: NodeId) -> None:
        self._folder: Final = folder
        self._purpose: Final = purpose
        self._node: Final = node
        self._path: Final = folder / f"{self._key(node)}.bus"
        self._announced: Final[set[Path]] = set()
        self._waiting: Final[dict[Path, Waiting]] = {}  #: for those who do not read
        self._retry: asyncio.TimerHandle | None = None
        self._heard: Heard = lambda _name, _payload: None
        self._socket: socket.socket | None = None
        if len(bytes(self._path)) > LONGEST_PATH:
            most = LONGEST_PATH - len(self._path.name) - 1
            raise BusError(f"{folder}: the path of the folder is too long for sockets in it, more than {most} bytes")

    async def open(self, heard: Heard) -> None:
        """See `Bus`."""
        self._heard = heard
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            opened.setblocking(False)
            self._make_way(opened)
            opened.bind(bytes(self._path))
        except OSError as error:
            opened.close()
            raise BusError(f"cannot use the folder {self._folder}: {error.strerror}") from None
        self._socket = opened
        asyncio.get_running_loop().add_reader(opened, self._readable)

    def _make_way(self, opened: socket.socket) -> None:
        """Removes the socket that a node of this name has left. Raises BusError if that still listens."""
        try:
            opened.connect(bytes(self._path))
        except FileNotFoundError:
            pass
        except ConnectionRefusedError:
            self._path.unlink()
        else:
            opened.close()
            raise BusError(f"a node {self._node} runs already: each has a name of its own")

    def put(self, parcel: Parcel) -> None:
        """See `Bus`."""
        data = string_bytes(parcel.name) + parcel.payload
        for path in sorted(self._folder.glob("*.bus")):
            if path in self._waiting or not self._try_send(path, data):
                self._waiting.setdefault(path, Waiting()).put(Parcel(parcel.name, data, parcel.lasts, lambda: None))
        self._try_again()
        asyncio.get_running_loop().call_soon(parcel.taken)

    async def host(self) -> str:
        """The loopback."""
        return "127.0.0.1"

    async def announce(self, node: NodeId, address: str) -> None:
        """See `Bus`."""
        path = self._folder / f"{self._key(node)}.at"
        new = path.with_suffix(".new")
        try:
            new.write_text(address, encoding="utf-8")
            new.replace(path)
        except OSError as error:
            raise BusError(f"cannot use the folder {self._folder}: {error.strerror}") from None
        self._announced.add(path)

    async def locate(self, node: NodeId) -> list[NodeId]:
        """See `Bus`."""
        with suppress(OSError, UnicodeDecodeError):
            return [NodeId((self._folder / f"{self._key(node)}.at").read_text(encoding="utf-8"))]
        return []

    async def close(self) -> None:
        """See `Bus`."""
        if self._retry:
            self._retry.cancel()
        if self._socket:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            for path in (self._path, *self._announced):
                with suppress(OSError):
                    path.unlink()

    def _key(self, node: NodeId) -> str:
        """A name for files, which names of nodes need not be."""
        return sha256(f"{self._purpose}\0{node}".encode()).hexdigest()[:20]

    def _try_send(self, path: Path, data: bytes) -> bool:
        """Whether nothing is left to do for somebody: it has the event, or is gone."""
        assert self._socket
        try:
            self._socket.sendto(data, bytes(path))
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return False
            if error.errno not in (errno.ECONNREFUSED, errno.ENOENT):  # of one that is gone the socket stays
                logger.warning("nothing sent to %s: %s", path, error.strerror)
        return True

    def _try_again(self) -> None:
        if self._waiting and not self._retry:
            self._retry = asyncio.get_running_loop().call_later(AGAIN, self._resend)

    def _resend(self) -> None:
        self._retry = None
        for path, waiting in list(self._waiting.items()):
            while waiting and self._try_send(path, waiting[0].payload):
                waiting.popleft()
            if not waiting:
                del self._waiting[path]
        self._try_again()

    def _readable(self) -> None:
        """One event, so that a flood of them leaves timers their turn."""
        assert self._socket
        try:
            data = self._socket.recv(MAX_EVENT)
            name, at = read(data, 0)
        except BlockingIOError:
            return
        except (OSError, MalformedMessage) as error:
            logger.info("what came over %s is no event: %s", self._path, error)
            return
        self._heard(str(name), data[at:])
