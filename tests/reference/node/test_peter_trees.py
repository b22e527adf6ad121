"""Trees of Peter nodes over real connections in one event loop, and peers that lie about them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from tests.reference.ring import STRANGER, TreeMember, answered, eventually, ring_of

from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import (
    MESSAGE,
    Message,
    NotifyMessage,
    Publish,
    Subscribe,
    SubscribeMessage,
    Unsubscribe,
    id_of_topic,
)
from peerproof.spec.wendy import Header, Join, Node
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT

TOPIC, OTHER = "what is said here", "what is said there"


@asynccontextmanager
async def trees(size: int) -> AsyncIterator[Sequence[TreeMember]]:
    """So many Peter nodes that are alone."""
    async with ring_of(size, TreeMember) as ring:
        yield cast("list[TreeMember]", ring.members)


async def joined(root: TreeMember, others: Sequence[TreeMember]) -> None:
    """All know all."""
    members = [root, *others]
    for other in others:
        other.node.ask(Join(root.addr))
    await eventually(lambda: all(len(member.state.known) == len(others) for member in members), "joined")


def header(sender: Node, topic: str = TOPIC, hop: int = 0) -> Header:
    return Header(sender, id_of_topic(topic), hop=hop)


async def told(member: TreeMember, message: Message) -> None:
    """Somebody sends a message to a node, which confirms it."""
    assert await answered(member, MESSAGE.encode(message)) == ACKNOWLEDGEMENT


def owner_first(members: Sequence[TreeMember], topic: str = TOPIC) -> list[TreeMember]:
    """The meeting point before the others."""
    rank = members[0].state.config.ring.rank
    return sorted(members, key=lambda member: rank(member.state.id, id_of_topic(topic)))


@pytest.mark.slow
async def test_a_child_that_changes_its_mind_often_is_in_the_end_what_it_wants_to_be() -> None:
    """Its messages arrive in the order in which they were sent. [PA-19]"""
    async with trees(3) as members:
        await joined(members[0], members[1:])
        root, one, other = owner_first(members)
        for number in range(61):
            one.node.ask(Unsubscribe(TOPIC) if number % 2 else Subscribe(TOPIC))
            other.node.ask(Subscribe(TOPIC) if number % 2 else Unsubscribe(TOPIC))
        other.node.ask(Unsubscribe(TOPIC))
        one.node.ask(Publish(TOPIC, b"first"))
        await eventually(lambda: one.updates == [b"first"], "told")
        await eventually(lambda: len(other.node._waiting) == 0 == len(other.node._outgoing), "sent")
        assert set(root.row(TOPIC).children) == {one.state.id}
        assert not other.row(TOPIC).is_wanted
        assert other.updates == []


async def test_a_child_that_vanishes_is_forgotten_and_the_others_are_told() -> None:
    async with trees(3) as members:
        await joined(members[0], members[1:])
        root, one, other = owner_first(members)
        for member in (one, other):
            member.node.ask(Subscribe(TOPIC))
        await eventually(lambda: len(root.row(TOPIC).children) == 2, "subscribed")
        one.node.close()
        await told(root, SubscribeMessage(header(STRANGER)))  # who was never there
        root.node.ask(Publish(TOPIC, b"to those who are left"))
        await eventually(lambda: other.updates == [b"to those who are left"], "told")
        await eventually(lambda: set(root.row(TOPIC).children) == {other.state.id}, "forgotten")


async def test_who_lies_nodes_into_a_circle_gets_one_copy_and_disturbs_no_other_topic() -> None:
    """Each of three is told to be the parent of the next one; none believes that it has one. [PA-34]"""
    async with trees(3) as members:
        for at, member in enumerate(members):
            child = members[(at + 1) % 3]
            member.node.ask(Subscribe(TOPIC))
            await told(member, SubscribeMessage(header(child.itself)))
        first, second, third = members
        first.node.ask(Publish(TOPIC, b"round"))
        await eventually(lambda: second.updates == [b"round"], "copied")

        second.node.ask(Subscribe(OTHER))
        await told(first, SubscribeMessage(header(second.itself, OTHER)))
        first.node.ask(Publish(OTHER, b"straight"))  # which comes after whatever else is sent to the second
        await eventually(lambda: second.updates == [b"round", b"straight"], "told")
        assert (first.updates, third.updates) == ([b"round"], [])


async def test_a_copy_that_has_gone_in_circles_is_delivered_and_remarked_on(caplog: pytest.LogCaptureFixture) -> None:
    """[PA-25]"""
    async with trees(1) as members:
        (member,) = members
        member.node.ask(Subscribe(TOPIC))
        await told(member, NotifyMessage(header(STRANGER, hop=253), b"long"))
        assert "the tree has a cycle" not in caplog.text
        await told(member, NotifyMessage(header(STRANGER, hop=254), b"longest"))
        assert member.updates == [b"long", b"longest"]
        assert caplog.text.count("the tree has a cycle") == 1
        assert f"last of {STRANGER.global_ip}:{STRANGER.port}" in caplog.text


async def test_what_to_send_is_refused_if_it_cannot_be_sent() -> None:
    async with trees(1) as members:
        (member,) = members
        before: Any = member.node.driver.state
        with pytest.raises(NotEnabled) as refused:
            member.node.ask(Publish(TOPIC, b"x" * (2**19 + 1)))
        assert refused.value.reason == "too_large"
        assert member.node.driver.state is before
