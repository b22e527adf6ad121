"""Peter on Wendy: what one makes of what the other does, on whole nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.spec.wendy.nodes import NOW, h, header, no_choice, node, notices, peer, place, sends, tables

from peerproof.spec import peter
from peerproof.spec.core import Asked, Expired, NodeId, Received, Send, Sent, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import NotifyMessage, Publish, PublishMessage, Row, Subscribe, SubscribeMessage, UnsubscribeMessage
from peerproof.spec.peter import State as Integer
from peerproof.spec.peter.topics import State as Tree
from peerproof.spec.stack import Stacked
from peerproof.spec.wendy import (
    Announce,
    Application,
    Delivered,
    Forwarding,
    Header,
    Id,
    Join,
    NodeAnnouncement,
    NodeExited,
    NodeJoined,
    Route,
    Stage,
    StateData,
    Versions,
)

from .nodes import TEXT, T, notify, publish, row, subscribe, unsubscribe

NEAR = f"{T:032x}"[:4]  #: the first digits of an id beside the topic's


def whole(router: Any, kept: Row | None = None) -> Integer:
    """A node of both with these tables, which keeps this of the topic T."""
    consulted = replace(router, config=replace(router.config, is_consulted=True))
    return Stacked(consulted, Tree(router.self_id, consulted.config, Table({T: kept} if kept else {})))


def took(state: Integer, event: Any) -> Step[Any, Any]:
    """A step of both."""
    return peter.step(state, event, no_choice)


def received(state: Integer, message: Any) -> Step[Any, Any]:
    """A message comes."""
    return took(state, Received(NOW, NodeId("somewhere:9"), message))


def lost(state: Integer, effect: Send[Any]) -> Step[Any, Any]:
    """A message did not arrive."""
    return took(state, Sent(NOW, effect.to, effect.message, None))


def mine(hop: int = 0, key: Id = T) -> Header:
    """What messages of node 40 begin with."""
    return Header(peer("40"), key, Versions(), hop=hop)


EDGE = node("40", right="50 60 70")  #: on the way to T: 70 is its next hop


def test_who_subscribes_asks_the_next_hop_that_wendy_has() -> None:
    """[P-07, PA-08, PA-09]"""
    after, effects = took(whole(EDGE), Asked(NOW, Subscribe(TEXT)))

    assert sends(effects) == [("70", SubscribeMessage(mine()))]
    assert after.upper.row(T) == row(True, par="70")


def test_the_message_of_a_child_ends_and_one_of_the_nodes_own_goes_on() -> None:
    """[P-08, P-11, PA-08]"""
    _, effects = received(whole(EDGE), replace(subscribe("30"), header=Header(peer("30"), T)))

    assert sends(effects) == [("70", SubscribeMessage(mine()))]
    assert notices(effects) == []


def test_an_event_is_passed_on_as_the_publishers() -> None:
    """With one hop more. [P-24, PA-16]"""
    _, effects = received(whole(EDGE, row(True, "30", "70")), publish("20", hop=1))

    assert sends(effects) == [("70", PublishMessage(Header(peer("20"), T, hop=2), b"rain"))]
    assert notices(effects) == []


def test_at_the_meeting_point_an_event_becomes_copies_of_the_nodes_own() -> None:
    """Which go on counting. [P-25, PA-15, PA-17, PA-25]"""
    state = whole(node(NEAR, right="80", left="70"), row(True, "20 30"))

    _, effects = received(state, publish("20", hop=1))

    own = Header(peer(NEAR), T, hop=2)
    assert sends(effects) == [("20", NotifyMessage(own, b"rain")), ("30", NotifyMessage(own, b"rain"))]
    assert notices(effects) == [peter.Update(T, b"rain")]


def test_a_publisher_at_the_meeting_point_sends_copies_at_once() -> None:
    """[PA-17]"""
    _, effects = took(whole(node(NEAR), row(ch="30")), Asked(NOW, Publish(TEXT, b"rain")))

    assert sends(effects) == [("30", NotifyMessage(Header(peer(NEAR), T), b"rain"))]


def test_a_copy_is_copied_also_where_routing_leads_on() -> None:
    """[P-26, PA-17]"""
    _, effects = received(whole(EDGE, row(True, "20 30", "70")), notify("70", hop=2))

    assert [(to, message.header.hop) for to, message in sends(effects, NotifyMessage)] == [("20", 3), ("30", 3)]


def test_an_event_whose_next_hop_has_gone_takes_another_way_and_the_tree_too() -> None:
    """[P-15, PA-14, PA-28, WA-33]"""
    state = whole(EDGE, row(True, par="70"))
    state, (effect,) = took(state, Asked(NOW, Publish(TEXT, b"rain")))

    after, effects = lost(state, effect)

    own = Header(peer("40"), T, Versions(leaf_set=1))
    assert sends(effects, SubscribeMessage) == [("60", SubscribeMessage(own))]
    assert sends(effects, PublishMessage) == [("60", PublishMessage(mine(), b"rain"))]
    assert notices(effects) == [NodeExited(peer("70"))]
    assert after.upper.row(T).parent == peer("60")


def test_a_tree_message_that_did_not_arrive_goes_nowhere_else() -> None:
    """Whoever was at that address is a child no more, though Wendy did not know it. [PA-28]"""
    state = whole(EDGE, row(ch="20 99", par="70"))
    _, effects = received(state, notify("70"))
    (effect,) = [e for e in effects if isinstance(e, Send) and e.to == place("99")]

    after, effects = lost(state, effect)

    assert effects == ()
    assert after.upper.row(T) == row(ch="20", par="70")


def test_of_a_copy_that_did_not_arrive_nothing_is_left() -> None:
    """The last child has gone, so that the node unsubscribes. [PA-14, PA-28]"""
    state = whole(EDGE, row(ch="99", par="70"))
    _, (effect,) = received(state, notify("70"))

    after, effects = lost(state, effect)

    assert sends(effects) == [("70", UnsubscribeMessage(mine()))]
    assert not after.upper.topics


def test_other_messages_of_applications_pass_and_are_told() -> None:
    """[PA-31]"""
    message = Application(header("20", "51", hop=1), 16, b"x")
    counted = replace(message, header=replace(message.header, hop=2))

    _, effects = received(whole(EDGE), message)
    assert sends(effects) == [("50", counted)]
    assert notices(effects) == [Forwarding(counted, peer("50"))]
    assert notices(took(whole(EDGE), Asked(NOW, Route(h("41"), b"x"))).effects) == [
        Delivered(Application(mine(key=h("41")), 16, b"x"))
    ]


def announcement(sender: str) -> NodeAnnouncement:
    """This node announces itself, and has nobody else in its tables."""
    return NodeAnnouncement(Header(peer(sender), h(sender), Versions(9, 9, 9)), tables("", ("", ""), "", sender))


def test_who_joins_between_this_node_and_the_topic_becomes_the_parent() -> None:
    """[P-17, P-18, PA-10]"""
    state = whole(node("60", right="70"), row(True, par="70"))

    after, effects = received(state, announcement("75"))

    own = Header(peer("60"), T, state.lower.versions._replace(leaf_set=after.lower.versions.leaf_set))
    assert sends(effects, UnsubscribeMessage) == [("70", UnsubscribeMessage(own))]
    assert sends(effects, SubscribeMessage) == [("75", SubscribeMessage(own))]
    assert notices(effects) == [NodeJoined(peer("75"))]
    assert after.upper.row(T).parent == peer("75")


def test_a_meeting_point_that_hears_of_a_closer_node_asks_it() -> None:
    """From a third, and not of its joining. [PA-27]"""
    state = whole(node("60", left="50"), row(True))
    hearsay = StateData(Header(peer("50"), h("50")), tables(ls=("", "75"), owner="50"))

    after, effects = received(state, hearsay)

    assert [to for to, _ in sends(effects, SubscribeMessage)] == ["75"]
    assert after.upper.row(T).parent == peer("75")


@pytest.mark.parametrize("stage", [Stage.JOINING, Stage.WAITING])
def test_who_has_not_joined_yet_does_not_act_on_hearsay(stage: Stage) -> None:
    """But when it has. [PA-27]"""
    state = whole(replace(node("60", left="50"), stage=stage), row(True))
    hearsay = StateData(Header(peer("50"), h("50")), tables(ls=("", "75"), owner="50"))

    after, effects = received(state, hearsay)

    assert sends(effects, SubscribeMessage) == []
    assert after.upper.row(T).parent is None
    joined = took(replace(after, lower=replace(after.lower, stage=Stage.WAITING)), Expired(NOW, Announce()))
    assert [to for to, _ in sends(joined.effects, SubscribeMessage)] == ["75"]


def test_tables_that_stay_the_same_are_no_news() -> None:
    """A meeting point of many topics does not look at them for each message. [PA-27]"""
    state = whole(node("60", right="75", cells="75"), row(True))  # not as it should be: it would have asked 75

    _, effects = received(state, StateData(Header(peer("75"), h("75")), tables(ls=("", ""), owner="75")))

    assert sends(effects, SubscribeMessage) == []


def test_what_wendy_refuses_changes_nothing() -> None:
    """[PA-31]"""
    state = whole(EDGE)

    with pytest.raises(NotEnabled):
        took(state, Asked(NOW, Join(NodeId("n70:4000"))))

    assert took(state, Asked(NOW, Subscribe(TEXT))) == took(whole(EDGE), Asked(NOW, Subscribe(TEXT)))


def test_messages_without_the_right_credentials_change_no_tree() -> None:
    """[WA-53]"""
    guarded = replace(EDGE, config=replace(EDGE.config, credentials=b"pw"))

    for message in (subscribe("30"), notify("70"), unsubscribe("30")):
        state = whole(guarded, row(True, "20", "70"))
        assert received(state, message) == (state, ())
