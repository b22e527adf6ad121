"""What a node on TCP does within its bounds, and at them."""

from __future__ import annotations

import asyncio
import errno
import logging
from contextlib import suppress
from typing import Any

import pytest
from tests.reference.ring import STRANGER, Member, Ring, answered, connected, eventually, outcomes, ring_of, silent_server

from peerproof.reference.runtime import tcp
from peerproof.spec.core import NodeId
from peerproof.spec.wendy import MESSAGE, Application, Header, Heartbeat, Id, Route
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT

BEAT = Heartbeat(Header(STRANGER, Id(5)))
HEARTBEAT = MESSAGE.encode(BEAT)


async def outcome(member: Member, to: str, message: Any) -> int | None:
    """What becomes of a message."""
    with outcomes(member) as known:
        member.node.send(NodeId(to), message)
        member.node._pump()
        await eventually(lambda: bool(known), "known")
    return known[0][1]


async def test_a_message_in_pieces_is_confirmed_and_one_without_an_end_is_not() -> None:
    async with ring_of(1) as ring:
        (member,) = ring.members
        reader, writer = await connected(member, HEARTBEAT[:50])
        await asyncio.sleep(0)
        writer.write(HEARTBEAT[50:])
        assert await reader.read() == ACKNOWLEDGEMENT
        writer.close()

        reader, writer = await connected(member, HEARTBEAT[:50])
        writer.write_eof()
        assert await reader.read() == b""
        assert member.node.malformed == 1


async def test_what_has_not_the_right_credentials_is_closed_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    async with ring_of(0) as ring:
        guarded = Member(ring, 1, credentials=b"pw")
        ring.members.append(guarded)
        await guarded.node.listen()
        right = MESSAGE.encode(Application(Header(STRANGER, guarded.id, credentials=b"pw"), 16, b"in"))

        assert await answered(guarded, MESSAGE.encode(Application(Header(STRANGER, guarded.id), 16, b"out"))) == b""
        assert await answered(guarded, right) == ACKNOWLEDGEMENT
        assert [message.value for message in guarded.delivered] == [b"in"]
        assert "refused a message from 127.0.0.1" in caplog.text


async def test_of_too_many_connections_the_oldest_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tcp, "MOST_INCOMING", 3)
    async with ring_of(1) as ring:
        (member,) = ring.members
        held = [await connected(member, b"{") for _ in range(3)]
        await eventually(lambda: len(member.node._incoming) == 3, "connected")
        assert await answered(member, HEARTBEAT) == ACKNOWLEDGEMENT
        with suppress(ConnectionResetError):
            assert await held[0][0].read() == b""
        assert "cut off the oldest, from 127.0.0.1" in caplog.text
        for _, writer in held:
            writer.close()


async def test_of_too_many_bytes_the_connection_that_holds_the_most_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tcp, "MOST_HELD", 20_000)
    async with ring_of(1) as ring:
        (member,) = ring.members
        large = await connected(member, b'{"' + b"x" * 12_000)
        await eventually(lambda: member.node._held > 12_000, "held")
        small = [await connected(member, b'{"' + b"x" * 3_000) for _ in range(3)]
        await eventually(lambda: "too many bytes: cut off the connection from 127.0.0.1" in caplog.text, "cut off")
        await eventually(lambda: member.node._held == 9_006, "held by those that are left")
        for _, writer in [large, *small]:
            writer.close()
        await eventually(lambda: member.node._held == 0, "held by nobody")


@pytest.mark.slow
async def test_as_long_as_too_much_waits_to_be_sent_nothing_is_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(tcp, "MOST_WAITING", 4)
    monkeypatch.setattr(tcp, "MOST_OUTGOING", 1)
    async with ring_of(1) as ring, silent_server() as (nobody, silent):
        (member,) = ring.members
        for _ in range(8):
            member.node.send(nobody, BEAT)
        member.node._pump()
        await eventually(lambda: bool(silent), "connected")
        reader, writer = await connected(member, HEARTBEAT)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(task := asyncio.ensure_future(reader.read())), 0.3)
        for _ in range(8):
            await eventually(lambda: bool(silent), "connected")
            silent.pop().close()
        assert await task == ACKNOWLEDGEMENT
        assert "too much to send: 7 messages are queued" in caplog.text
        writer.close()


@pytest.mark.parametrize("to", ["somewhere.invalid:1", "127.0.0.1:1", "::1:1", "nonsense", "\udcff:1"])
async def test_what_can_be_sent_to_nobody_has_failed(to: str) -> None:
    async with ring_of(1) as ring:
        assert await outcome(ring.members[0], to, BEAT) is None


async def test_that_this_machine_has_no_connection_to_spare_is_not_held_against_the_peer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    faults, opened = [errno.EMFILE, errno.EADDRNOTAVAIL], asyncio.open_connection

    async def connect(*args: Any, **options: Any) -> Any:
        if faults:
            raise OSError(faults.pop(), "none left")
        return await opened(*args, **options)

    async with ring_of(2) as ring:
        one, other = ring.members
        monkeypatch.setattr(asyncio, "open_connection", connect)
        assert await outcome(one, other.addr, BEAT) is not None
        assert "no connection available: none left; trying again" in caplog.text


async def test_a_connection_that_does_not_come_about_in_time_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ring_of(2) as ring:
        one, other = ring.members
        monkeypatch.setattr(one.node, "timeout", 0.1)
        monkeypatch.setattr(asyncio, "open_connection", lambda *_, **__: asyncio.Event().wait())
        assert await outcome(one, other.addr, BEAT) is None


async def test_what_cannot_be_written_has_failed() -> None:
    async with ring_of(2) as ring:
        one, other = ring.members
        assert await outcome(one, other.addr, Application(Header(STRANGER, Id(5)), 16, b"x" * 2**20)) is None
        assert await outcome(one, other.addr, Application(Header(STRANGER, other.id), 16, b"x" * 2**19)) is not None
        assert [len(message.value) for message in other.delivered] == [2**19]


async def test_the_shortest_time_of_the_last_hour_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "MOST_REMEMBERED", 2)
    async with ring_of(1) as ring:
        (member,) = ring.members
        least = member.node._least
        to = NodeId("a:1")
        assert [least(to, took) for took in (50, 70, 30, 90)] == [50, 50, 30, 30]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tcp, "REMEMBERED", -1.0)
            assert least(to, 80) == 80
        for number in range(3):
            least(NodeId(f"b:{number}"), 5)
        assert list(member.node._shortest) == ["b:1", "b:2"]


async def test_a_fault_of_the_program_is_logged_and_survived(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with ring_of(1) as ring:
        (member,) = ring.members

        def fail(*_: object) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr(type(member.node.driver), "receive", fail)
            assert await answered(member, HEARTBEAT) == ACKNOWLEDGEMENT
        assert "internal error" in caplog.text
        member.node.ask(Route(member.id, b"still there"))
        assert [message.value for message in member.delivered] == [b"still there"]


@pytest.mark.slow
@pytest.mark.kill
async def test_keys_are_delivered_at_the_closest_node_also_after_a_quarter_of_a_ring_was_killed() -> None:
    async with Ring() as ring:
        for _ in range(32):
            await ring.add(1)
            await eventually(ring.at_rest, "at rest")
        await ring.route(200)

        ring.kill(8)
        ring.beat()
        await eventually(ring.at_rest, "repaired")
        await ring.route(200)
