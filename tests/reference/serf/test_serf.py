"""What the client says to agents of Serf, real ones and such as there are not, and what it makes of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgpack
import pytest
from tests.reference.agents import Agents
from tests.reference.ring import eventually
from tests.support.waiting import until

from peerproof.reference.serf.client import Agent, AgentGone, EventTooLarge, SerfError
from peerproof.spec.core import NodeId

PAYLOADS = [b"", b"x", bytes(range(256)), b"\xa5hello", b"x" * 460]


@pytest.mark.slow
async def test_events_of_any_bytes_reach_the_own_agent_and_others_in_both_directions(agents: Agents) -> None:
    one, other = agents("one"), agents("other")
    other.join(one)
    heard: list[list[tuple[str, bytes]]] = [[], []]
    clients = [
        await Agent.connect(process.rpc, arrived=lambda *event, at=at: heard[at].append(event))
        for at, process in enumerate((one, other))
    ]
    for client in clients:
        await client.follow("user")
    for number, payload in enumerate(PAYLOADS):
        await clients[0].event(f"from.one.{number}", payload)
    await clients[1].event("from.other é", b"\xff")
    told = {*((f"from.one.{number}", payload) for number, payload in enumerate(PAYLOADS)), ("from.other é", b"\xff")}
    await eventually(lambda: all(set(events) == told for events in heard), "told everybody")
    for client in clients:
        await client.close()


@pytest.mark.slow
async def test_an_event_over_the_limit_is_refused_before_anybody_hears_it(agents: Agents) -> None:
    process, large = agents("small"), agents("large", user_event_size_limit=9216)
    heard: list[bytes] = []
    agent = await Agent.connect(process.rpc, arrived=lambda _, payload: heard.append(payload))
    await agent.follow("user:distkv.update")
    for size in (480, 600, 100_000):
        with pytest.raises(EventTooLarge, match=r"limit of 512 bytes .*user_event_size_limit"):
            await agent.event("distkv.update", b"x" * size)
    await agent.event("distkv.update", b"x" * 459)
    await agent.event("distkv.other", b"not followed")
    await eventually(lambda: bool(heard), "heard")
    assert heard == [b"x" * 459]
    await agent.close()
    agent = await Agent.connect(large.rpc)
    await agent.event("distkv.update", b"x" * 9000)
    await agent.close()


@pytest.mark.slow
async def test_members_and_their_tags_are_known_to_all(agents: Agents) -> None:
    one, other = agents("one", tags={"role": "test"}), agents("other")
    other.join(one)
    first, second = await Agent.connect(one.rpc), await Agent.connect(other.rpc)
    await first.tag({"peerproof:n1": "127.0.0.1:1", "peerproof:n2": "127.0.0.1:2"})
    await first.untag("peerproof:n2", "never there")
    tags = {"role": "test", "peerproof:n1": "127.0.0.1:1"}
    for _ in range(600):
        members = {member.name: member for member in await second.members()}
        if "one" in members and members["one"].tags == tags:
            break
        await asyncio.sleep(0.1)
    assert (await first.name(), await second.name()) == ("one", "other")
    assert (members["one"].tags, members["other"].tags) == (tags, {})
    assert (members["one"].host, members["one"].status) == ("127.0.0.1", "alive")
    assert members["one"].port == int(one.bind.partition(":")[2])
    with pytest.raises(SerfError, match="tags exceeds limit of 512 bytes"):
        await first.tag({"long": "x" * 600})
    for agent in (first, second):
        await agent.close()


@pytest.mark.slow
async def test_an_agent_with_a_key_wants_that_key(agents: Agents) -> None:
    process = agents("locked", rpc_auth="secret")
    with pytest.raises(SerfError, match="requires a key"):
        await Agent.connect(process.rpc)
    with pytest.raises(SerfError, match="rejects the key"):
        await Agent.connect(process.rpc, auth_key="guess")
    agent = await Agent.connect(process.rpc, auth_key="secret")
    assert await agent.name() == "locked"
    await agent.close()


@pytest.mark.slow
async def test_it_is_told_when_an_agent_dies_and_what_was_asked_then_fails(agents: Agents) -> None:
    process = agents("mortal")
    ends: list[AgentGone] = []
    agent = await Agent.connect(process.rpc, ended=ends.append)
    await agent.follow("user")
    process.kill()
    await eventually(lambda: bool(ends), "noticed")
    with pytest.raises(AgentGone, match="is gone"):
        await agent.event("x", b"")
    await agent.close()
    assert len(ends) == 1
    with pytest.raises(AgentGone, match=f"no Serf agent at {process.rpc}: .*start one with: serf agent -rpc-addr="):
        await Agent.connect(process.rpc)


@pytest.mark.slow
async def test_an_agent_that_is_told_to_leaves_and_ends(agents: Agents) -> None:
    process = agents("leaver")
    agent = await Agent.connect(process.rpc)
    await agent.leave()
    await agent.close()
    until(lambda: process.process.poll() is not None, "ended")


Answers = Callable[[dict[bytes, Any]], bytes]


@asynccontextmanager
async def against(answers: Answers) -> AsyncIterator[NodeId]:
    """The address of an agent that answers each header like this, or breaks off without an answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        unpacker = msgpack.Unpacker(raw=True)
        while data := await reader.read(1000):
            unpacker.feed(data)
            for value in unpacker:
                if b"Command" not in value:
                    continue
                answer = answers(value)
                if not answer:
                    writer.transport.abort()
                writer.write(answer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield NodeId(f"{host}:{port}")
    finally:
        server.close()


def reply(header: dict[bytes, Any], error: str = "", *more: Any) -> bytes:
    """An answer of an old agent, which knows no bytes but strings."""
    values = ({"Seq": header[b"Seq"], "Error": error}, *more)
    return b"".join(msgpack.packb(value, use_bin_type=False) for value in values)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda header: reply(header, "Unsupported IPC version"), "does not speak version 1 of Serf's RPC: .*Unsupported"),
        (lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n", "is not a Serf agent .*invalid reply"),
        (lambda _: b"\xc1", "is not a Serf agent .*invalid reply"),
        (lambda _: b"", "is not a Serf agent"),
        (lambda _: msgpack.packb({"Error": ""}), "is not a Serf agent .*invalid reply"),
    ],
)
async def test_whatever_else_listens_there_is_named(answer: Answers, complaint: str) -> None:
    async with against(answer) as address:
        with pytest.raises(SerfError, match=complaint):
            await Agent.connect(address)


async def test_an_agent_that_knows_only_strings_brings_any_bytes_and_addresses_of_both_kinds() -> None:
    body = {"Event": "user", "LTime": 1, "Name": "n", "Payload": b"\xff\x00", "Coalesce": False}
    mapped = bytes(10) + b"\xff\xff" + bytes((10, 1, 2, 3))
    member = {"Name": b"a\xff", "Addr": mapped, "Port": 7946, "Tags": None, "Status": "alive"}

    def answer(header: dict[bytes, Any]) -> bytes:
        match header[b"Command"]:
            case b"stream":
                other = {**body, "Event": "member-join"}
                return reply(header) + b"".join(reply(header, "", one) for one in (body, other, {**body, "Payload": None}))
            case b"stats":
                return reply(header, "", {"agent": {"name": "a"}})
            case b"members":
                six = {**member, "Addr": bytes(15) + b"\1", "Tags": {"t": b"\xfe"}}
                return reply(header, "", {"Members": [member, six]})
            case b"event":
                return reply({b"Seq": 77}) + reply(header, "agent: something strange")
        return reply(header)

    async with against(answer) as address:
        heard: list[tuple[str, bytes]] = []
        agent = await Agent.connect(address, arrived=lambda *event: heard.append(event))
        await agent.follow("user")
        await eventually(lambda: len(heard) == 2, "heard")
        assert heard == [("n", b"\xff\x00"), ("n", b"")]
        first, second = await agent.members()
        assert (first.name, first.host, first.tags, second.host, second.tags) == (
            "a\udcff",
            "10.1.2.3",
            {},
            "::1",
            {"t": "\udcfe"},
        )
        with pytest.raises(SerfError, match=r"error of the agent at .*: agent: something strange"):
            await agent.event("n", b"")
        await agent.close()
