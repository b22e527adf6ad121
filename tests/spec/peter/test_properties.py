"""What is said of trees does not hold of wrong ones; that it holds of right ones is found wherever nodes run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.peter_nodes import CHAIN

from peerproof.spec.core import Asked, NodeId, Notify, Received, Send, Table
from peerproof.spec.model.bounded import NOW
from peerproof.spec.peter import PROPERTIES, Row, Update, id_of_topic
from peerproof.spec.peter.messages import NotifyMessage, SubscribeMessage, UnsubscribeMessage
from peerproof.spec.peter.model.abstract_router import addr, node_id, node_of, topic_text
from peerproof.spec.peter.model.bounded import Model, ModelNode, Todo
from peerproof.spec.properties import Cluster, InFlight, Taken, find_violations
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import Header, Heartbeat, Node, NodeJoined

NAMED = {prop.name: prop for prop in PROPERTIES}
TOPIC, OTHER = id_of_topic(Model(CHAIN).texts[1]), id_of_topic(topic_text(2))


def place(number: int) -> NodeId:
    return addr(node_id(number))


def peer(number: int) -> Node:
    return node_of(node_id(number))


def nodes(**changes: Any) -> dict[NodeId, Any]:
    """Of the chain 1, 2, 3 the first two are subscribed, 3 is the meeting point."""
    return dict(Model(CHAIN | {"Subscribed": [[1, 1], [2, 1]]} | changes).nodes)


def with_row(state: ModelNode, topic: Id = TOPIC, **changes: Any) -> ModelNode:
    """A node that keeps something else of a topic, whether or not that is right."""
    row = state.upper.row(topic)._replace(**changes)
    return replace(state, upper=replace(state.upper, topics=state.upper.topics.put({topic: row})))


def children(*numbers: int) -> Table[Id, Any]:
    return Table({node_id(number): peer(number) for number in numbers})


def broken(cluster: Cluster) -> set[str]:
    return {p.name for p in find_violations(PROPERTIES, "cluster", cluster)}


def spoiled(number: int, **changes: Any) -> set[str]:
    """What is broken at rest if a node keeps something else of the topic."""
    states = nodes()
    return broken(Cluster(states | {place(number): with_row(states[place(number)], **changes)}))


@pytest.mark.parametrize(
    ("number", "change", "names"),
    [
        (3, {"children": children()}, {"Mutual", "TreeOfInterested", "NoOrphan"}),
        (3, {"children": children(1, 2)}, {"Mutual", "OneParent"}),
        (3, {"children": children(2, 3)}, {"Mutual", "OneParent"}),
        (1, {"parent": None}, {"Mutual", "OneRoot"}),
        (2, {"parent": peer(1)}, {"Mutual", "OneRoot"}),
        (1, {"children": children(2)}, {"Mutual", "OneParent"}),
        (2, {"children": children(), "is_local": False}, {"Mutual", "TreeOfInterested", "NoOrphan"}),
    ],
)
def test_tree_at_rest_that_is_wrong_breaks_what_it_should(number: int, change: dict[str, Any], names: set[str]) -> None:
    assert spoiled(number, **change) == names


def test_child_that_wants_nothing_is_in_the_tree_for_nothing() -> None:
    states = nodes(Subscribed=[[2, 1]])
    states[place(2)] = with_row(states[place(2)], children=children(1))

    assert broken(Cluster(states)) == {"Mutual", "TreeOfInterested"}


def wrong() -> dict[NodeId, Any]:
    states = nodes()
    return states | {place(3): with_row(states[place(3)], children=children())}


def crashed(states: dict[NodeId, Any]) -> dict[NodeId, Any]:
    return states | {place(2): replace(states[place(2)], up=False)}


def without_way(states: dict[NodeId, Any]) -> dict[NodeId, Any]:
    first = states[place(1)]
    return states | {place(1): replace(first, lower=replace(first.lower, view=frozenset()))}


@pytest.mark.parametrize("change", [crashed, without_way])
def test_nothing_is_said_of_a_tree_that_is_not_at_rest(change: Callable[[dict[NodeId, Any]], dict[NodeId, Any]]) -> None:
    assert broken(Cluster(wrong()))
    assert not broken(Cluster(change(wrong())))


def test_rest_is_when_nothing_but_heartbeats_is_under_way() -> None:
    header = Header(peer(1), TOPIC)
    subscribe, heartbeat = SubscribeMessage(header), Heartbeat(header)

    assert not broken(Cluster(wrong(), (InFlight(place(1), place(2), subscribe),)))
    assert broken(Cluster(wrong(), (InFlight(place(1), place(2), heartbeat),)))


def test_rows_that_nobody_wants_are_wrong() -> None:
    assert NAMED["RowsRight"].holds(nodes()[place(3)])
    assert not NAMED["RowsRight"].holds(with_row(nodes()[place(3)], children=children()))
    assert not NAMED["RowsRight"].holds(with_row(nodes()[place(3)], children=children(3)))


def sends(kind: Any, to: int, topic: Id = TOPIC, *more: Any) -> Send[Any]:
    return Send(place(to), kind(Header(peer(2), topic), *more))


#: Node 2 with 3 as its parent, and without a row, both for the topic.
ASKED = nodes()[place(2)]
FREE = replace(ASKED, upper=replace(ASKED.upper, topics=Table()))
EVENT = Asked(NOW, Todo("subscribe", 1, 0))
JOINS = Notify(NodeJoined(peer(3)))


@pytest.mark.parametrize(
    ("before", "after", "effects", "is_right"),
    [
        (FREE, ASKED, [], False),
        (FREE, FREE, [sends(SubscribeMessage, 3)], False),
        (FREE, FREE, [sends(UnsubscribeMessage, 3)], False),
        (ASKED, FREE, [sends(UnsubscribeMessage, 1)], False),
        (ASKED, FREE, [], False),
        (ASKED, ASKED, [sends(SubscribeMessage, 3)], False),
        (ASKED, ASKED, [JOINS, sends(SubscribeMessage, 3)], True),
        (ASKED, with_row(ASKED, parent=peer(1)), [sends(UnsubscribeMessage, 3), sends(SubscribeMessage, 1)], True),
        (ASKED, with_row(ASKED, parent=peer(1)), [sends(SubscribeMessage, 1), sends(UnsubscribeMessage, 3)], False),
        (ASKED, with_row(ASKED, parent=peer(1)), [sends(SubscribeMessage, 1)], False),
    ],
)
def test_what_a_node_asks_for_alternates(before: Any, after: Any, effects: list[Any], is_right: bool) -> None:
    assert NAMED["Alternate"].holds(Taken(before, EVENT, after, tuple(effects))) == is_right


def test_parent_that_has_departed_is_not_told() -> None:
    without = replace(ASKED, lower=replace(ASKED.lower, view=frozenset()))
    gone = with_row(without, parent=None)

    assert NAMED["Alternate"].holds(Taken(ASKED, EVENT, gone, ()))
    elsewhere = with_row(without, parent=peer(1))
    assert NAMED["Alternate"].holds(Taken(ASKED, EVENT, elsewhere, (sends(SubscribeMessage, 1),)))


def test_message_of_one_topic_changes_nothing_of_another() -> None:
    message = SubscribeMessage(Header(peer(1), TOPIC))
    event = Received(NOW, place(1), message)
    other = with_row(ASKED, OTHER, is_local=True)

    independent = NAMED["Independent"].holds
    assert not independent(Taken(FREE, event, with_row(FREE, OTHER, is_local=True), ()))
    assert not independent(Taken(FREE, event, FREE, (sends(SubscribeMessage, 3, OTHER),)))
    assert not independent(Taken(FREE, EVENT, other, ()))
    assert independent(Taken(FREE, EVENT, with_row(FREE, OTHER, is_local=True), ()))


def test_events_are_delivered_to_subscribers_once_and_copied_once() -> None:
    copy = Received(NOW, place(3), NotifyMessage(Header(peer(3), TOPIC), b"1"))
    update, down, back = Notify(Update(TOPIC, b"1")), sends(NotifyMessage, 1, TOPIC, b"1"), sends(NotifyMessage, 3, TOPIC, b"1")

    right = NAMED["DeliveredToSubscribers"].holds
    assert not right(Taken(ASKED, copy, ASKED, (update, update)))
    assert not right(Taken(ASKED, copy, ASKED, (down, down)))
    assert not right(Taken(ASKED, copy, ASKED, (back,)))
    assert not right(Taken(FREE, copy, FREE, (update,)))


def test_each_thing_that_should_happen_is_seen_when_it_does() -> None:
    elsewhere = with_row(ASKED, parent=peer(1))
    seen = [
        Taken(FREE, EVENT, ASKED, (sends(SubscribeMessage, 3),)),
        Taken(ASKED, EVENT, FREE, (sends(UnsubscribeMessage, 3),)),
        Taken(ASKED, EVENT, ASKED, (sends(NotifyMessage, 1, TOPIC, b""),)),
        Taken(ASKED, EVENT, elsewhere, ()),
    ]
    names = ["SomebodySubscribes", "SomebodyUnsubscribes", "SomebodyCopies", "SomebodyTurns"]

    for taken, name in zip(seen, names, strict=True):
        assert [other for other in names if NAMED[other].holds(taken)] == [name]
    assert ASKED.upper.row(TOPIC) != Row()
