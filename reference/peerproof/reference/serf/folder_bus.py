"""
The bus in a folder, for nodes on one machine and without Serf.

Each node has a Unix datagram socket in the folder, and sends events to all sockets there, so that any node may exit. Events for a
node that does not read are queued and sent again.

An event is its name as a string in MessagePack, followed by its payload.
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

#: Maximum bytes of a socket's path that all systems support.
LONGEST_PATH: Final = 103

#: More bytes than any event has.
MAX_EVENT: Final = 2**16

#: Seconds until queued events are sent again.
AGAIN: Final = 0.01


def default_folder() -> Path:
    """Returns the default folder, one for each user."""
    from os import getuid

    return Path(gettempdir()) / f"peerproof-{getuid()}"


class LoopbackBus:
    """The bus of the nodes that use the same folder."""

    def __init__(self, folder: Path, purpose: str, node: NodeId) -> None:
        self._folder: Final = folder
        self._purpose: Final = purpose
        self._node: Final = node
        self._path: Final = folder / f"{self._key(node)}.bus"
        self._announced: Final[set[Path]] = set()
        self._waiting: Final[dict[Path, Waiting]] = {}  #: by socket, for nodes that do not read
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
        """Removes a stale socket of this name. Raises BusError if a node still listens at it."""
        try:
            opened.connect(bytes(self._path))
        except FileNotFoundError:
            pass
        except ConnectionRefusedError:
            self._path.unlink()
        else:
            opened.close()
            raise BusError(f"a node {self._node} is already running; each node needs its own name")

    def put(self, parcel: Parcel) -> None:
        """See `Bus`."""
        data = string_bytes(parcel.name) + parcel.payload
        for path in sorted(self._folder.glob("*.bus")):
            if path in self._waiting or not self._try_send(path, data):
                self._waiting.setdefault(path, Waiting()).put(Parcel(parcel.name, data, parcel.lasts, lambda: None))
        self._try_again()
        asyncio.get_running_loop().call_soon(parcel.taken)

    async def host(self) -> str:
        """Returns the loopback address."""
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
        """Returns a valid file name for a node."""
        return sha256(f"{self._purpose}\0{node}".encode()).hexdigest()[:20]

    def _try_send(self, path: Path, data: bytes) -> bool:
        """Sends an event. Returns whether it is done: the receiver has the event, or has exited."""
        assert self._socket
        try:
            self._socket.sendto(data, bytes(path))
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return False
            if error.errno not in (errno.ECONNREFUSED, errno.ENOENT):  # a node that was killed leaves its socket
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
        """Handles one event per call, so that timers run during a flood of events."""
        assert self._socket
        try:
            data = self._socket.recv(MAX_EVENT)
            name, at = read(data, 0)
        except BlockingIOError:
            return
        except (OSError, MalformedMessage) as error:
            logger.info("ignored: invalid event at %s: %s", self._path, error)
            return
        self._heard(str(name), data[at:])
