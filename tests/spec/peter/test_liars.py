"""Peers that lie about trees: what follows is bounded, and no other topic is disturbed."""

from __future__ import annotations

import pytest
from tests.spec.wendy.nodes import NOW

from peerproof.spec.core import NodeId, Received
from peerproof.spec.peter import NotifyMessage, Subscribe, SubscribeMessage, UnsubscribeMessage, id_of_topic
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.wendy import Header, Id, Node, Versions

from .ring import Ring

TOPIC, OTHER = "weather/london/today", "~" * 16
T = id_of_topic(TOPIC)


@pytest.fixture
def ring() -> Ring:
    """Four nodes at rest, all of them subscribed to both topics."""
    ring = Ring(1)
    for number in (1, 5, 9, 13):
        ring.join(Id(number << 124))
        ring.settle()
    for who in ring.nodes:
        for topic in (TOPIC, OTHER):
            ring.ask(who, Subscribe(topic))
    ring.settle()
    return ring


def node_at(ring: Ring, who: NodeId) -> Node:
    """A node as others know it."""
    return ring.nodes[who].lower.node


def lied(ring: Ring, to: NodeId, sender: Node, kind: type = SubscribeMessage) -> None:
    """Somebody says something in another's name."""
    ring.did(to, Received(NOW, NodeId("liar:1"), kind(Header(sender, T, Versions(), hop=1))))


def test_an_event_goes_a_bounded_number_of_times_round_a_circle(ring: Ring) -> None:
    """Of three that a liar has made each other's children, and which have each other's copies, too. [PA-25, PX-03]"""
    a, b, c, _ = ring.nodes
    for child, parent in ((a, b), (b, c), (c, a)):
        lied(ring, parent, node_at(ring, child))
    ring.settle()

    got = ring.publish(a, TOPIC, b"rain")

    assert set(got) == ring.subscribers(T)
    assert ring.copies <= len(ring.nodes) * MOST_HOPS
    assert ring.publish(a, OTHER, b"sun") == dict.fromkeys(ring.nodes, 1)


def test_everybody_as_a_child_of_everybody_starts_no_storm(ring: Ring) -> None:
    """Each node copies on what its own parent sends, and that is one. [PA-34]"""
    for parent in ring.nodes:
        for child in ring.nodes:
            if child != parent:
                lied(ring, parent, node_at(ring, child))
    ring.settle()

    got = ring.publish(next(iter(ring.nodes)), TOPIC, b"rain")

    assert set(got) == ring.subscribers(T)
    assert ring.copies <= len(ring.nodes) * (len(ring.nodes) - 1)
    assert ring.publish(next(iter(ring.nodes)), OTHER, b"sun") == dict.fromkeys(ring.nodes, 1)


def test_a_child_that_never_was_one_is_noticed_by_the_first_event(ring: Ring) -> None:
    """[PA-28]"""
    (root,) = [who for who in ring.nodes if ring.parent(who, T) is None]
    nobody = Node(Id(7), "nobody", "nobody", 1)
    lied(ring, root, nobody)
    assert nobody.id in ring.nodes[root].upper.row(T).children

    assert ring.publish(root, TOPIC, b"rain") == dict.fromkeys(ring.nodes, 1)

    assert nobody.id not in ring.nodes[root].upper.row(T).children


def test_a_copy_from_a_liar_goes_down_the_tree_once(ring: Ring) -> None:
    """As if it came from a parent: who is interested takes it from anybody. [PA-17]"""
    a, *_ = ring.nodes
    ring.did(a, Received(NOW, NodeId("liar:1"), NotifyMessage(Header(Node(Id(7), "l", "l", 1), T), b"lie")))
    ring.settle()

    assert set(ring.got.values()) == {1}


def test_a_subscriber_that_is_unsubscribed_by_a_liar_gets_nothing_until_it_asks_again(ring: Ring) -> None:
    """The document has nothing against it; other topics are as they were."""
    a, *_ = ring.nodes
    parent = ring.parent(a, T)
    if parent is None:
        a = next(who for who in ring.nodes if ring.parent(who, T))
        parent = ring.parent(a, T)
    assert parent is not None
    lied(ring, parent, node_at(ring, a), UnsubscribeMessage)
    ring.settle()

    assert a not in ring.publish(parent, TOPIC, b"rain")
    assert ring.publish(parent, OTHER, b"sun") == dict.fromkeys(ring.nodes, 1)
