"""Wendy nodes, and Peter nodes, on real sockets of the loopback, all in one event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from random import Random
from typing import Any, ClassVar, Self, cast

import pytest

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.protocols.wendy.runtime import digest, is_member
from peerproof.reference.runtime.driver import random_pick
from peerproof.reference.runtime.live_node import Listener, Parts
from peerproof.reference.runtime.protocol import Connected
from peerproof.reference.runtime.tcp import TcpNode
from peerproof.reference.runtime.udp import bind_socket, format_address
from peerproof.spec.core import Duration, NodeId
from peerproof.spec.peter import Row, Update, id_of_topic
from peerproof.spec.wendy import Config, Delivered, HeartbeatDue, Id, Join, JoinFailed, Node, Route, State, id_of_text
from peerproof.spec.wendy.ids import REAL

from .conftest import PATIENCE

#: Milliseconds: half of what a joiner waits, and what a connection may take: so much because all nodes share one processor,
#: where a node that is only busy is not to be taken for dead. Who is dead refuses at once. For the same reason heartbeats are
#: rare; a test that needs one has `Ring.beat`.
WAIT = Duration(100)
PATIENT = Duration(120_000)

#: A node that is not there.
STRANGER = Node(Id(5), "127.0.0.1", "127.0.0.1", 1)


class Member:
    """A node of the ring, and what was delivered to it."""

    protocol: ClassVar = RUNTIMES["wendy"]

    def __init__(self, ring: Ring, number: int, **config: Any) -> None:
        opened = bind_socket(NodeId("127.0.0.1:0"), socket.SOCK_STREAM)
        self.addr = format_address(opened.getsockname())
        self.id = id_of_text(digest(f"member {number}"))
        self.delivered: list[Any] = []
        self.updates: list[bytes] = []  #: of Peter
        self._ring = ring
        parts = Parts(self.protocol.specification(), self.addr, random_pick(str(number)), listener=Listener(told=self._told))
        self.node = TcpNode(parts, opened, cast("Connected", self.protocol.connected), PATIENT)
        self.node.driver.start(Config(self.id, network_timeout=WAIT, **config))

    @property
    def state(self) -> State:
        """What it knows."""
        state: State = self.node.driver.state
        return state

    def _told(self, notice: Any) -> None:
        assert not isinstance(notice, JoinFailed)
        if isinstance(notice, Delivered):
            self.delivered.append(notice.message)
        elif isinstance(notice, Update):
            self.updates.append(notice.value)


class TreeMember(Member):
    """A node of Peter's."""

    protocol: ClassVar = RUNTIMES["peter"]

    @property
    def state(self) -> State:
        """What Wendy's part of it knows."""
        state: State = self.node.driver.state.lower
        return state

    def row(self, topic: str) -> Row:
        """What it keeps of a topic."""
        row: Row = self.node.driver.state.upper.row(id_of_topic(topic))
        return row

    @property
    def itself(self) -> Node:
        """As others know it."""
        return self.state.node


class Ring:
    """A ring; `async with` it."""

    def __init__(self, kind: type[Member] = Member) -> None:
        self._kind = kind
        self.members: list[Member] = []
        self.random = Random("ring")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for member in self.members:
            member.node.close()
        await asyncio.sleep(0)

    async def add(self, count: int) -> None:
        """So many nodes join at once, by members that are there."""
        old = list(self.members)
        new = [self._kind(self, len(old) + number) for number in range(count)]
        for member in new:
            await member.node.listen()
            if old:
                member.node.ask(Join(self.random.choice(old).addr))
        self.members += new
        await eventually(lambda: all(is_member(member.state) for member in new), "joined")

    def kill(self, count: int) -> None:
        """So many nodes are gone without a word."""
        for member in self.random.sample(self.members, count):
            self.members.remove(member)
            member.node.close()

    def beat(self) -> None:
        """It is time for everybody to ask everybody."""
        for member in self.members:
            driver = member.node.driver
            driver._timers[HeartbeatDue()] = member.node.now(), 0
            member.node._await_timer()

    def at_rest(self) -> bool:
        """Whether everybody knows those next to it, and nobody who is gone."""
        ids = sorted(member.id for member in self.members)
        for member in self.members:
            at = ids.index(member.id)
            beside = {ids[at - 1], ids[(at + 1) % len(ids)]}
            leaves = {node.id for side in member.state.leaf_set for node in side}
            if not beside <= leaves | {member.id} or not set(member.state.known) <= set(ids):
                return False
        return True

    def owner(self, key: Id) -> Member:
        """The node that is closest to a key."""
        return min(self.members, key=lambda member: REAL.rank(member.id, key))

    async def route(self, count: int) -> None:
        """So many random keys, each from a random node; each is delivered once, at the closest node."""
        for member in self.members:
            member.delivered.clear()
        keys = {Id(self.random.getrandbits(128)): bytes([number % 256]) for number in range(count)}
        for key, value in keys.items():
            self.random.choice(self.members).node.ask(Route(key, value))
        await eventually(lambda: sum(len(member.delivered) for member in self.members) >= count, "delivered")
        for member in self.members:
            for message in member.delivered:
                assert self.owner(message.header.key) is member
                assert keys.pop(message.header.key) == message.value
        assert keys == {}


@asynccontextmanager
async def ring_of(size: int, kind: type[Member] = Member) -> AsyncIterator[Ring]:
    """So many nodes that are alone."""
    async with Ring(kind) as ring:
        for number in range(size):
            ring.members.append(kind(ring, number))
            await ring.members[-1].node.listen()
        yield ring


@contextmanager
def outcomes(member: Member) -> Iterator[list[tuple[Any, int | None]]]:
    """What becomes of a node's messages: these, and how long they took if they arrived."""
    known: list[tuple[Any, int | None]] = []

    def finish(_: Any, __: NodeId, message: Any, took: int | None) -> None:
        known.append((message, took))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(member.node.driver), "finish_send", finish)
        yield known


@asynccontextmanager
async def silent_server() -> AsyncIterator[tuple[NodeId, list[asyncio.StreamWriter]]]:
    """The address of somebody who accepts connections and says nothing, and these connections."""
    accepted: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: accepted.append(writer), "127.0.0.1", 0)
    yield NodeId(f"127.0.0.1:{server.sockets[0].getsockname()[1]}"), accepted
    for writer in accepted:
        writer.close()
    server.close()


async def connected(member: Member, data: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which this was sent."""
    host, _, port = member.addr.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    return reader, writer


async def answered(member: Member, data: bytes) -> bytes:
    """The answer to these bytes, to its end."""
    reader, writer = await connected(member, data)
    try:
        return await reader.read()
    finally:
        writer.close()


async def eventually(fact: Callable[[], bool], what: str) -> None:
    """Waits until something is so, for a bounded time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + 10 * PATIENCE
    while not fact():
        assert loop.time() < deadline, f"not {what} in {10 * PATIENCE:g} s"
        await asyncio.sleep(0.02)
