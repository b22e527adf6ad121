"""Messages to one address go one after the other, and nobody else waits for them. [PA-19]"""

from __future__ import annotations

from typing import Any

import pytest
from tests.reference.ring import STRANGER, Member, eventually, outcomes, ring_of, silent_server

from peerproof.reference.runtime import tcp
from peerproof.reference.runtime.outbox import Outbox, Parcel
from peerproof.spec.core import NodeId
from peerproof.spec.wendy import Application, Header

A, B = NodeId("a:1"), NodeId("b:1")


def parcel(to: NodeId, number: int, since: float = 0.0) -> Parcel:
    return Parcel(to, number, bytes(number), since)


def said(to: Member, value: bytes) -> Application:
    return Application(Header(STRANGER, to.id), 16, value)


def arrivals(known: list[tuple[Any, int | None]]) -> list[tuple[bytes, bool]]:
    """Values of messages, and whether they arrived."""
    return [(message.value, took is not None) for message, took in known]


def test_of_an_address_one_is_taken_at_a_time_and_in_order() -> None:
    box = Outbox()
    for number, to in enumerate((A, A, B, A), start=1):
        box.put(parcel(to, number))

    first, second = box.take(), box.take()
    assert (first, second, box.take()) == (parcel(A, 1), parcel(B, 3), None)
    assert (len(box), box.size) == (2, 6)
    box.finish(B)
    assert box.take() is None
    box.finish(A)
    box.put(parcel(B, 5))
    assert [box.take(), box.take(), box.take()] == [parcel(A, 2), parcel(B, 5), None]
    box.finish(A)
    box.clear()
    box.finish(B)
    assert (len(box), box.size, box.take()) == (0, 0, None)


def test_those_that_have_waited_too_long_are_taken_out() -> None:
    box = Outbox()
    for number in range(1, 5):
        box.put(parcel(A, number, float(number)))

    assert box.take() == parcel(A, 1, 1.0)
    assert list(box.behind(A, 3.0)) == [parcel(A, 2, 2.0)]
    assert (len(box), box.size) == (2, 7)
    box.finish(A)
    assert box.take() == parcel(A, 3, 3.0)


async def test_a_large_message_is_not_overtaken_by_small_ones() -> None:
    async with ring_of(2) as ring:
        one, other = ring.members
        values = [bytes([number]) * (2**19 if number % 8 == 0 else 1) for number in range(24)]
        for value in values:
            one.node.send(NodeId(other.addr), said(other, value))
        one.node._pump()
        await eventually(lambda: len(other.delivered) == len(values), "delivered")
        assert [message.value for message in other.delivered] == values


@pytest.mark.slow
async def test_who_is_silent_does_not_stop_messages_to_others_and_fails_with_all_that_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp, "MOST_OUTGOING", 2)
    async with ring_of(2) as ring, silent_server() as (nobody, silent):
        one, other = ring.members
        monkeypatch.setattr(one.node, "timeout", 1.5)
        with outcomes(one) as known:
            for number in range(10):
                one.node.send(nobody, said(other, bytes([number])))
                one.node.send(NodeId(other.addr), said(other, bytes([100 + number])))
            one.node._pump()
            await eventually(lambda: len(other.delivered) == 10, "delivered to the other one")
            assert len(silent) == 1
            await eventually(lambda: len(known) == 20, "known")
        assert [value for value, arrived in arrivals(known) if not arrived] == [bytes([number]) for number in range(10)]
        assert len(silent) == 1
        assert len(one.node._waiting) == 0


async def test_who_is_refused_is_tried_with_each_message() -> None:
    """It takes no time, and it may be there again."""
    async with ring_of(1) as ring:
        (one,) = ring.members
        with outcomes(one) as known:
            for number in range(3):
                one.node.send(NodeId("127.0.0.1:1"), said(one, bytes([number])))
            one.node.send(NodeId(one.addr), said(one, b"here"))
            one.node._pump()
            await eventually(lambda: len(known) == 4, "known")
        assert sorted(arrivals(known)) == [(b"\0", False), (b"\1", False), (b"\2", False), (b"here", True)]


async def test_who_confirms_slowly_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "MOST_TIMEOUTS", 0)
    async with ring_of(2) as ring:
        one, other = ring.members
        with outcomes(one) as known:
            for number in range(3):
                one.node.send(NodeId(other.addr), said(other, bytes([number])))
            one.node._pump()
            await eventually(lambda: len(known) == 3, "known")
        assert arrivals(known) == [(b"\0", True), (b"\1", False), (b"\2", False)]
