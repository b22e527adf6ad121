"""
A client of Serf's agents. Their RPC consists of requests, replies and events in MessagePack, over one TCP connection.

A request is a header, {Command, Seq}, and for most commands a body. The reply is a header, {Seq, Error}, and for some commands a
body. A stream sends further replies to its request, a header and a body for each event. Agents use the strings of an older
MessagePack, which are arbitrary bytes, so they are unpacked as bytes and decoded here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

import msgpack

from peerproof.spec.connections import parse_address
from peerproof.spec.core import NodeId
from peerproof.spec.distkv import serf_events

#: The version of the RPC.
VERSION: Final = 1

#: Timeout of a request in seconds.
PATIENCE: Final = 10.0

#: Maximum bytes of a value, more than any reply of an agent has.
MOST: Final = 2**26

_PIECE: Final = 2**16


class SerfError(Exception):
    """A request failed; the message says why."""


class AgentGone(SerfError):
    """The agent is not running, or the connection is lost; it may come back."""


class EventTooLarge(SerfError):
    """An event exceeds the agent's size limit."""


@dataclass(frozen=True, slots=True)
class Member:
    """An agent of the cluster, as another agent knows it."""

    name: str
    host: str
    port: int
    tags: Mapping[str, str]
    status: str  #: "alive", "leaving", "left" or "failed"


class Agent:
    """A connection to an agent. Several requests may be pending at the same time."""

    def __init__(
        self,
        address: NodeId,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        arrived: Callable[[str, bytes], None],
        ended: Callable[[AgentGone], None],
    ) -> None:
        self.address: Final = address
        self._writer: Final = writer
        self._arrived: Final = arrived
        self._ended: Final = ended
        self._sequence = 0
        self._waiting: Final[dict[int, tuple[asyncio.Future[Any], bool]]] = {}  #: by Seq; whether a body follows the reply
        self._streams: Final[set[int]] = set()
        self._gone: AgentGone | None = None
        self._reading: Final = asyncio.get_running_loop().create_task(self._read(reader))

    @classmethod
    async def connect(
        cls,
        address: NodeId,
        *,
        auth_key: str | None = None,
        arrived: Callable[[str, bytes], None] = lambda _name, _payload: None,
        ended: Callable[[AgentGone], None] = lambda _: None,
    ) -> Agent:
        """
        Connects to the agent at a numeric address, with handshake and, if there is a key, authentication.

        `arrived` is called with the events that `follow` requests, `ended` when the connection is lost, but not on `close`.
        Raises AgentGone, and SerfError if the server is no compatible agent or refuses the key.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection(*parse_address(address))
        except (OSError, TimeoutError) as error:
            number = getattr(error, "errno", None)
            why = os.strerror(number) if number else "it does not answer"
            raise AgentGone(f"no Serf agent at {address}: {why}; start one with: serf agent -rpc-addr={address}") from None
        agent = cls(address, reader, writer, arrived=arrived, ended=ended)
        try:
            await agent._greet(auth_key)
        except BaseException:
            await agent.close()
            raise
        return agent

    async def follow(self, types: str) -> None:
        """Subscribes to events of these types, in Serf's syntax: "user", or "user:deploy,member-join"."""
        number = self._next()
        self._streams.add(number)
        await self._request("stream", {"Type": types}, number=number)

    async def event(self, name: str, payload: bytes) -> None:
        """Broadcasts an event. Raises EventTooLarge; the event is not sent then."""
        number = self._next()
        await self._exchange("event", number, serf_events.request(number, name, payload))

    async def members(self) -> tuple[Member, ...]:
        """Returns the agents of the cluster."""
        found = await self._request("members", has_body=True)
        try:
            return tuple(_member(one) for one in found[b"Members"] or ())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SerfError(f"the agent at {self.address} sends an invalid list of members: {error!r}") from None

    async def name(self) -> str:
        """Returns the name of this agent."""
        stats = await self._request("stats", has_body=True)
        try:
            name: str = stats[b"agent"][b"name"].decode()
        except (KeyError, TypeError, ValueError, AttributeError):
            raise SerfError(f"the agent at {self.address} does not report its name") from None
        return name

    async def tag(self, tags: Mapping[str, str]) -> None:
        """Adds tags to the agent. Raises SerfError if there are too many."""
        await self._request("tags", {"Tags": dict(tags)})

    async def untag(self, *names: str) -> None:
        """Removes tags of the agent."""
        await self._request("tags", {"DeleteTags": list(names)})

    async def leave(self) -> None:
        """Makes the agent leave its cluster and exit."""
        await self._request("leave")

    async def close(self) -> None:
        """Closes the connection; pending requests fail."""
        self._lose(AgentGone(f"the connection to the agent at {self.address} was closed"), is_own=True)
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading

    async def _greet(self, auth_key: str | None) -> None:
        try:
            await self._request("handshake", {"Version": VERSION})
        except AgentGone as error:
            raise SerfError(f"the server at {self.address} is not a Serf agent ({error})") from None
        except SerfError as error:
            raise SerfError(f"the agent at {self.address} does not speak version {VERSION} of Serf's RPC: {error}") from None
        if auth_key is not None:
            await self._request("auth", {"AuthKey": auth_key})
        await self._request("stats", has_body=True)  # fails if a key is required and was not given

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    async def _request(self, command: str, body: Any = None, *, number: int | None = None, has_body: bool = False) -> Any:
        """Sends a request and returns the body of the reply, if it has one. Raises SerfError."""
        number = number or self._next()
        parts = [{"Command": command, "Seq": number}, *([] if body is None else [body])]
        data = b"".join(msgpack.packb(part, use_bin_type=False, unicode_errors="surrogateescape") for part in parts)
        return await self._exchange(command, number, data, has_body=has_body)

    async def _exchange(self, command: str, number: int, data: bytes, *, has_body: bool = False) -> Any:
        if self._gone:
            raise self._gone
        future = asyncio.get_running_loop().create_future()
        self._waiting[number] = future, has_body
        self._writer.write(data)
        try:
            async with asyncio.timeout(PATIENCE):
                return await future
        except TimeoutError:
            gone = AgentGone(f"the agent at {self.address} has not answered {command} in {PATIENCE:g} s")
            self._lose(gone)
            raise gone from None
        finally:
            self._waiting.pop(number, None)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        unpacker = msgpack.Unpacker(raw=True, max_buffer_size=MOST, strict_map_key=False)
        bodies: list[int] = []  #: the Seq of the next body
        try:
            while data := await reader.read(_PIECE):
                unpacker.feed(data)
                for value in unpacker:
                    self._take(value, bodies)
            why = "it has closed the connection"
        except OSError as error:
            why = error.strerror or repr(error)
        except (msgpack.UnpackException, ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"it sends an invalid reply: {error!r}"
        self._lose(AgentGone(f"the agent at {self.address} is gone: {why}"))

    def _take(self, value: Any, bodies: list[int]) -> None:
        """Handles a header or a body."""
        if bodies:
            number = bodies.pop()
            if number in self._streams:
                self._event(value)
            elif waiting := self._waiting.get(number):
                _settle(waiting[0], value)
            return
        number, error = value[b"Seq"], value[b"Error"].decode(errors="replace")
        waiting = self._waiting.get(number)
        if waiting is None:
            if number in self._streams:
                bodies.append(number)
            return
        future, has_body = waiting
        if error:
            self._streams.discard(number)
            if not future.done():
                future.set_exception(_refusal(self.address, error))
        elif has_body:
            bodies.append(number)
        else:
            del self._waiting[number]  # of a stream: events follow
            _settle(future, None)

    def _event(self, body: Mapping[bytes, Any]) -> None:
        if body.get(b"Event") == b"user":
            self._arrived(body[b"Name"].decode(errors="surrogateescape"), body.get(b"Payload") or b"")

    def _lose(self, error: AgentGone, *, is_own: bool = False) -> None:
        if self._gone:
            return
        self._gone = error
        self._writer.transport.abort()
        for future, _ in self._waiting.values():
            if not future.done():
                future.set_exception(error)
        if not is_own:
            self._ended(error)


def _settle(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _refusal(address: NodeId, error: str) -> SerfError:
    if "user event" in error and "exceeds" in error:
        return EventTooLarge(f"{error}; raise user_event_size_limit in the file of -config-file, at most to 9216 bytes")
    if "Authentication required" in error:
        return SerfError(f"the agent at {address} requires a key (rpc_auth in its configuration)")
    if "Invalid authentication token" in error:
        return SerfError(f"the agent at {address} rejects the key (rpc_auth in its configuration)")
    return SerfError(f"error of the agent at {address}: {error}")


def _member(raw: Mapping[bytes, Any]) -> Member:
    host = ip_address(raw[b"Addr"])
    mapped = getattr(host, "ipv4_mapped", None)
    tags = {_text(name): _text(value) for name, value in (raw.get(b"Tags") or {}).items()}
    return Member(_text(raw[b"Name"]), str(mapped or host), raw[b"Port"], tags, _text(raw[b"Status"]))


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")
