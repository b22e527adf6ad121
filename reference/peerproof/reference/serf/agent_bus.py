"""
The bus on a Serf agent.

Serf loses events in large bursts, so events are sent at a limited rate [DA-88]. If the connection to the agent is lost, the bus
reconnects; until then lasting events are queued and others are dropped.

The address of a node is a tag of its agent, named `purpose:node`: its value is `host:port`, or `:port` for the host of the agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final

from peerproof.reference.serf.bus import BusError, Heard, Parcel, Waiting, logger
from peerproof.reference.serf.client import Agent, AgentGone, SerfError
from peerproof.spec.core import NodeId

#: Seconds between two events. In a small cluster, an agent passes on about forty events per second, each several times.
GAP: Final = 0.02

#: Seconds until the bus reconnects: first and maximum delay.
SOON: Final = 0.2
LATER: Final = 5.0


class SerfBus:
    """The bus of one agent's cluster."""

    def __init__(self, address: NodeId, purpose: str, *, auth_key: str | None = None) -> None:
        self._address: Final = address
        self._purpose: Final = purpose
        self._auth_key: Final = auth_key
        self._agent: Agent | None = None
        self._heard: Heard = lambda _name, _payload: None
        self._waiting: Final = Waiting()
        self._wake: Final = asyncio.Event()
        self._tags: Final[dict[str, str]] = {}
        self._tasks: Final[set[asyncio.Task[None]]] = set()

    async def open(self, heard: Heard) -> None:
        """See `Bus`."""
        self._heard = heard
        try:
            await self._connect()
        except SerfError as error:
            raise BusError(str(error)) from None
        self._begin(self._pump())

    def put(self, parcel: Parcel) -> None:
        """See `Bus`."""
        if self._agent or parcel.lasts:
            self._waiting.put(parcel)
            self._wake.set()

    async def host(self) -> str:
        """Returns the host of the agent, as its cluster knows it."""
        try:
            name = await self._there().name()
            return next(member.host for member in await self._there().members() if member.name == name)
        except (SerfError, StopIteration) as error:
            raise BusError(f"cannot find the address of the agent at {self._address}: {error}") from None

    async def announce(self, node: NodeId, address: str) -> None:
        """See `Bus`."""
        self._tags[self._tag(node)] = address
        try:
            await self._there().tag(self._tags)
        except SerfError as error:
            raise BusError(f"cannot announce the address of {node}: {error}") from None

    async def locate(self, node: NodeId) -> list[NodeId]:
        """See `Bus`."""
        try:
            members = await self._there().members()
        except SerfError as error:
            raise BusError(str(error)) from None
        tag = self._tag(node)
        found = [member for member in members if tag in member.tags]
        found.sort(key=lambda member: member.status != "alive")
        return [_whole(member.tags[tag], member.host) for member in found]

    async def close(self) -> None:
        """See `Bus`."""
        for task in self._tasks:
            task.cancel()
        agent, self._agent = self._agent, None
        if agent:
            with suppress(SerfError):
                if self._tags:
                    await agent.untag(*self._tags)
            await agent.close()

    def _tag(self, node: NodeId) -> str:
        return f"{self._purpose}:{node}"

    def _there(self) -> Agent:
        if self._agent is None:
            raise AgentGone(f"not connected to the agent at {self._address}")
        return self._agent

    async def _connect(self) -> None:
        agent = await Agent.connect(self._address, auth_key=self._auth_key, arrived=self._heard, ended=self._lose_agent)
        try:
            await agent.follow("user")
            if self._tags:
                await agent.tag(self._tags)
        except SerfError:
            await agent.close()
            raise
        self._agent = agent
        self._wake.set()

    def _lose_agent(self, error: AgentGone) -> None:
        if self._agent:
            logger.warning("%s; reconnecting", error)
            self._agent = None
            self._waiting.keep_lasting()
            self._begin(self._reconnect())

    async def _reconnect(self) -> None:
        pause = SOON
        while True:
            await asyncio.sleep(pause)
            try:
                await self._connect()
            except SerfError as error:
                logger.info("%s", error)
                pause = min(2 * pause, LATER)
            else:
                logger.warning("reconnected to the agent at %s", self._address)
                return

    async def _pump(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting and self._agent:
                await self._send(self._agent, self._waiting.popleft())
                await asyncio.sleep(GAP)

    async def _send(self, agent: Agent, parcel: Parcel) -> None:
        try:
            await agent.event(parcel.name, parcel.payload)
        except AgentGone:
            if parcel.lasts:
                self._waiting.appendleft(parcel)
        except SerfError as error:
            logger.error("cannot send %s of %d bytes: %s", parcel.name, len(parcel.payload), error)
        else:
            parcel.taken()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _whole(address: str, host: str) -> NodeId:
    """Completes an address that may lack its host."""
    if not address.startswith(":"):
        return NodeId(address)
    return NodeId(f"[{host}]{address}" if ":" in host else f"{host}{address}")
