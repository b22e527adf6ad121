"""
Downloads: transfer of a DistKV node's data to another node, over a TCP connection of its own. [D-122, DA-71, DA-93]

Each side sends one frame: the size in four bytes, big-endian, and a map in MessagePack. The request has `peerproof`, the version
of this format; `root`, the root of the events, so that networks on the same Serf cluster stay separate; `node`, the node that is
to answer; and `want`, "state" or "name". The answer has `node`, and either `state`, the bytes of an `inventory`, if it was
requested, or `refused`, a reason. A node with another name or root than those requested refuses.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from peerproof.reference.protocols.distkv.inventory import bytes_of, loaded_of
from peerproof.reference.runtime.live_node import logger
from peerproof.spec.connections import parse_address
from peerproof.spec.core import NodeId
from peerproof.spec.distkv import Loaded
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import pack, unpack

VERSION: Final = 1

#: Seconds without progress after which a transfer fails.
PATIENCE: Final = 10.0

#: Maximum bytes of a request, and of an answer.
MOST_ASKED: Final = 2**12
MOST_GIVEN: Final = 2**30

#: Maximum connections that a node serves at once.
MOST_GUESTS: Final = 64

_SIZE: Final = struct.Struct(">I")
_PIECE: Final = 2**16


class DownloadError(Exception):
    """A download failed; the message says why."""


class Service:
    """The server side of downloads."""

    def __init__(self, node: NodeId, root: str, give: Callable[[], Loaded | None]) -> None:
        """`give` returns the node's data; None refuses the download."""
        self._node: Final = node
        self._root: Final = root
        self._give: Final = give
        self._server: asyncio.Server | None = None
        self._guests: Final[set[asyncio.StreamWriter]] = set()

    async def open(self, host: str, port: int) -> int:
        """Starts to listen; port 0 takes any free port. Returns the port. Raises OSError."""
        self._server = await asyncio.start_server(self._serve, host, port)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        """Stops listening and aborts all connections."""
        if self._server:
            self._server.close()
        for writer in self._guests:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._guests.add(writer)
        try:
            if len(self._guests) > MOST_GUESTS:
                return
            answer = self._answer(await _receive(reader, MOST_ASKED))
            await _send(writer, [("node", self._node), *answer])
        except (OSError, EOFError, TimeoutError, MalformedMessage) as error:
            logger.info("a download request failed: %r", error)
        finally:
            self._guests.discard(writer)
            writer.close()

    def _answer(self, request: dict[str, Any]) -> list[tuple[str, Any]]:
        match request:
            case {"peerproof": version, "root": root, "node": node, "want": ("state" | "name") as want}:
                if version != VERSION:
                    return [("refused", f"the node has version {VERSION} of downloads")]
                if (root, node) != (self._root, self._node):
                    return [("refused", "this is another node")]
                if want == "name":
                    return []
                loaded = self._give()
                return [("refused", "the node has no data to give")] if loaded is None else [("state", bytes_of(loaded))]
        raise MalformedMessage("bad_value", 0, f"not a request: {request!r:.200}")


async def download(address: NodeId, root: str, node: NodeId) -> Loaded:
    """Downloads the data of the node at an address. Raises DownloadError."""
    try:
        answer = await _request(address, root, node, "state")
        if type(answer.get("state")) is bytes:
            return loaded_of(node, answer["state"])
    except (OSError, EOFError, TimeoutError, MalformedMessage) as error:
        raise DownloadError(f"cannot download from {node} at {address}: {error!r}") from None
    raise DownloadError(f"{node} at {address} refuses: {answer.get('refused')}")


async def is_there(address: NodeId, root: str, node: NodeId) -> bool:
    """Returns whether a node of this name runs at an address. A timeout counts as yes, because the node may be busy."""
    try:
        return "refused" not in await _request(address, root, node, "name")
    except TimeoutError:
        return True
    except (OSError, EOFError, MalformedMessage):
        return False


async def _request(address: NodeId, root: str, node: NodeId, want: str) -> dict[str, Any]:
    try:
        host, port = parse_address(address)
    except ValueError as error:
        raise MalformedMessage("bad_value", 0, str(error)) from None
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(host, port)
    try:
        await _send(writer, [("peerproof", VERSION), ("root", root), ("node", node), ("want", want)])
        answer = await _receive(reader, MOST_GIVEN)
    finally:
        with suppress(OSError):
            writer.close()
    if answer.get("node") != node and "refused" not in answer:
        raise MalformedMessage("bad_value", 0, f"{answer.get('node')!a:.80} answers for {node!a}")
    return answer


async def _send(writer: asyncio.StreamWriter, members: list[tuple[str, Any]]) -> None:
    data = pack(members)
    writer.write(_SIZE.pack(len(data)) + data)
    while writer.transport.get_write_buffer_size() > _PIECE:
        size = writer.transport.get_write_buffer_size()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await writer.drain()
        if writer.transport.get_write_buffer_size() >= size:
            raise TimeoutError


async def _receive(reader: asyncio.StreamReader, most: int) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    if size > most:
        raise MalformedMessage("too_large", 0, f"a frame of {size} bytes; at most {most} are allowed")
    data = bytearray()
    while len(data) < size:
        async with asyncio.timeout(PATIENCE):
            piece = await reader.read(min(_PIECE, size - len(data)))
        if not piece:
            raise EOFError(f"{len(data)} of {size} bytes")
        data += piece
    members = unpack(bytes(data))
    if type(members) is not list:
        raise MalformedMessage("bad_type", 0, "not a map")
    return {name: value for name, value in members if type(name) is str}
