"""
Serf's RPC for the original, in the place of its own client, none of whose releases runs with the trio that its server needs.

`serf_client` gives what the server uses of one: `spawn`, `event` and `stream`. What the agent refuses is raised, as there.
"""

# What is imported is in another environment than the checker's.
# mypy: disable-error-code="import-not-found, untyped-decorator"

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgpack
import trio
from async_generator import asynccontextmanager

#: Events that may wait to be looked at.
WAITING = 10_000


class SerfError(Exception):
    """What the agent has not done, and why."""


@dataclass
class SerfEvent:
    """A user event."""

    payload: bytes


class Serf:
    """A connection to an agent."""

    def __init__(self, stream: Any, nursery: Any) -> None:
        self._stream, self._nursery = stream, nursery
        self._sending = trio.Lock()
        self._number = 0
        self._answers: dict[int, Any] = {}  #: by Seq: who waits for the header
        self._streams: dict[int, Any] = {}  #: by Seq: where events go

    async def spawn(self, task: Callable[..., Awaitable[Any]], *args: Any, **named: Any) -> Any:
        """Runs a task until it ends or the connection does; what cancels it."""
        scope = trio.CancelScope()

        async def run() -> None:
            with scope:
                await task(*args, **named)

        self._nursery.start_soon(run)
        return scope

    async def event(self, name: str, payload: bytes, coalesce: bool = True) -> None:
        """Tells everybody."""
        await self.asked("event", {"Name": name, "Payload": payload, "Coalesce": coalesce})

    @asynccontextmanager
    async def stream(self, types: str) -> AsyncIterator[Any]:
        """The events of these types, from now on."""
        into, events = trio.open_memory_channel(WAITING)
        await self.asked("stream", {"Type": types}, into)
        yield events

    async def asked(self, command: str, body: Any, into: Any = None) -> None:
        """A request, and that it was answered. Raises SerfError."""
        self._number += 1
        number = self._number
        answers, answer = trio.open_memory_channel(1)
        self._answers[number] = answers
        if into is not None:
            self._streams[number] = into
        parts = [{"Command": command, "Seq": number}, body]
        async with self._sending:
            await self._stream.send_all(b"".join(msgpack.packb(part, use_bin_type=False) for part in parts))
        if error := await answer.receive():
            raise SerfError(error.decode())

    async def read(self) -> None:
        """What the agent says, to whom it is for. Raises SerfError when the agent is gone."""
        unpacker = msgpack.Unpacker(raw=True)
        number = None  #: the Seq whose body comes next
        while data := await self._stream.receive_some(65536):
            unpacker.feed(data)
            for value in unpacker:
                if number is not None:
                    await self._streams[number].send(SerfEvent(value.get(b"Payload") or b""))
                    number = None
                elif value[b"Seq"] in self._answers:
                    await self._answers.pop(value[b"Seq"]).send(value[b"Error"])
                else:
                    number = value[b"Seq"]
        raise SerfError("the agent is gone")


@asynccontextmanager
async def serf_client(host: str, port: int) -> AsyncIterator[Serf]:
    """A connection to the agent there, after the handshake."""
    stream = await trio.open_tcp_stream(host, port)
    async with trio.open_nursery() as nursery:
        serf = Serf(stream, nursery)
        nursery.start_soon(serf.read)
        await serf.asked("handshake", {"Version": 1})
        yield serf
        nursery.cancel_scope.cancel()
