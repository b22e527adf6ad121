"""What a node of a tree does about those who come and go, clause by clause. It is b0; its parent is mostly c0."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spec.wendy.nodes import h, header, peer

from peerproof.spec.core import Notify, Table
from peerproof.spec.peter import Row
from peerproof.spec.peter.messages import Rerouted
from peerproof.spec.wendy import Heartbeat, Joined, NodeExited, NodeJoined

from .nodes import (
    T,
    U,
    arrived,
    b,
    failed,
    notify,
    publish,
    row,
    said,
    subscribe,
    to,
    told,
    tree_of,
    unsubscribe,
)

C, NOWHERE = to("c0"), to()


def rest(effects: tuple[Any, ...], notice: Any) -> list[str]:
    """What is done, after the application was told the same."""
    assert effects[0] == Notify(notice)
    return said(effects[1:])


def test_whose_parent_has_gone_asks_its_next_hop() -> None:
    """[P-14, P-15, PA-14]"""
    for state in (b(local=True, par="c0"), b(ch="a0", par="c0")):
        after, effects = told(state, NodeExited(peer("c0")), to("d0"))
        assert after == b(state.row(T).is_local, "a0" if state.row(T).children else "", "d0")
        assert rest(effects, NodeExited(peer("c0"))) == ["d0 SUBSCRIBE"]


def test_whose_parent_has_gone_may_be_the_meeting_point() -> None:
    """[PA-14]"""
    after, effects = told(b(local=True, par="c0"), NodeExited(peer("c0")), NOWHERE)

    assert after == b(local=True)
    assert rest(effects, NodeExited(peer("c0"))) == []


def test_who_is_no_parent_and_no_child_is_not_missed() -> None:
    """[P-16]"""
    state = b(local=True, ch="a0", par="c0")

    after, effects = told(state, NodeExited(peer("e0")), to("d0"))

    assert after is state
    assert rest(effects, NodeExited(peer("e0"))) == []


def test_a_child_that_has_gone_is_taken_out() -> None:
    """[PA-14]"""
    gone = NodeExited(peer("a0"))

    assert told(b(ch="90 a0", par="c0"), gone, C) == (b(ch="90", par="c0"), (Notify(gone),))
    assert told(b(local=True, ch="a0", par="c0"), gone, C) == (b(local=True, par="c0"), (Notify(gone),))
    after, effects = told(b(ch="a0", par="c0"), gone, to("d0"))
    assert after == b()
    assert rest(effects, gone) == ["c0 UNSUBSCRIBE"]


def test_who_was_child_and_parent_is_told_nothing() -> None:
    """It has gone. [PA-14]"""
    gone = NodeExited(peer("c0"))

    assert told(b(ch="c0", par="c0"), gone, to("d0")) == (b(), (Notify(gone),))
    after, effects = told(b(ch="a0 c0", par="c0"), gone, to("d0"))
    assert after == b(ch="a0", par="d0")
    assert rest(effects, gone) == ["d0 SUBSCRIBE"]


def test_only_topics_whose_parent_has_gone_are_subscribed_again() -> None:
    """One SUBSCRIBE for each. [P-14…P-16, PA-22, PA-33]"""
    both = tree_of({T: row(True, par="c0"), U: row(ch="a0", par="e0")})

    after, effects = told(both, NodeExited(peer("c0")), to("f0"))
    assert after == tree_of({T: row(True, par="f0"), U: row(ch="a0", par="e0")})
    assert rest(effects, NodeExited(peer("c0"))) == ["f0 SUBSCRIBE"]
    _, effects = told(tree_of({U: row(True, par="c0"), T: row(True, par="c0")}), NodeExited(peer("c0")), to(t="d0", u="f0"))
    assert rest(effects, NodeExited(peer("c0"))) == ["d0 SUBSCRIBE", "f0 SUBSCRIBE of U"]


def test_who_has_joined_and_is_the_next_hop_becomes_the_parent() -> None:
    """First the old one is told, and not by routing. [P-17, P-18, PA-10, PA-33]"""
    after, effects = told(b(local=True, par="c0"), NodeJoined(peer("d0")), to("d0"))

    assert after == b(local=True, par="d0")
    assert rest(effects, NodeJoined(peer("d0"))) == ["c0 UNSUBSCRIBE", "d0 SUBSCRIBE"]


def test_the_old_meeting_point_goes_below_the_new_one() -> None:
    """[PA-11]"""
    after, effects = told(b(ch="a0"), NodeJoined(peer("d0")), to("d0"))

    assert after == b(ch="a0", par="d0")
    assert rest(effects, NodeJoined(peer("d0"))) == ["d0 SUBSCRIBE"]


@pytest.mark.parametrize("hop", ["c0", "e0", ""])
def test_who_has_joined_and_is_not_the_next_hop_changes_nothing(hop: str) -> None:
    """Nor does one that leaves the meeting point what it is. [P-19, PA-13]"""
    for state in (b(local=True, par="c0"), b(ch="a0", par="c0")):
        after, effects = told(state, NodeJoined(peer("d0")), to(hop))
        assert after is state
        assert rest(effects, NodeJoined(peer("d0"))) == []


def test_only_topics_that_lead_to_the_joined_node_move() -> None:
    """[P-17…P-19, PA-11]"""
    both = tree_of({T: row(True, par="c0"), U: row(True, par="c0")})

    after, effects = told(both, NodeJoined(peer("d0")), to(t="d0", u="c0"))

    assert after == tree_of({T: row(True, par="d0"), U: row(True, par="c0")})
    assert rest(effects, NodeJoined(peer("d0"))) == ["c0 UNSUBSCRIBE", "d0 SUBSCRIBE"]


def test_a_parent_that_announces_itself_is_asked_again() -> None:
    """It may have been away, and be elsewhere now. [PA-12]"""
    state = b(local=True, par="c0")
    moved = peer("c0")._replace(local_ip="elsewhere")

    after, effects = told(state, NodeJoined(peer("c0")), to("d0"))
    assert after == state
    assert rest(effects, NodeJoined(peer("c0"))) == ["c0 SUBSCRIBE"]
    assert told(state, NodeJoined(moved), to("d0")).state.row(T).parent == moved


@pytest.mark.parametrize("news", [Joined(), Rerouted(frozenset({peer("d0").id}))])
def test_whoever_has_another_parent_goes_over_to_a_next_hop_that_is_new(news: Any) -> None:
    """And not to one that is not. [P-19, PA-27]"""
    after, effects = told(b(local=True, par="c0"), news, to("d0"))

    assert after == b(local=True, par="d0")
    assert said(tuple(e for e in effects if e != Notify(news))) == ["c0 UNSUBSCRIBE", "d0 SUBSCRIBE"]
    assert told(b(local=True, par="c0"), Rerouted(frozenset({peer("f0").id})), to("d0")) == (b(local=True, par="c0"), ())


@pytest.mark.parametrize("news", [Joined(), Rerouted()])
def test_who_is_not_the_meeting_point_any_more_asks_its_next_hop(news: Any) -> None:
    """For each topic that has no parent. [PA-27, PA-33]"""
    state = tree_of({T: row(ch="a0"), U: row(True, par="c0")})

    after, effects = told(state, news, to(t="d0", u="c0"))

    assert after == tree_of({T: row(ch="a0", par="d0"), U: row(True, par="c0")})
    assert said(tuple(e for e in effects if e != Notify(news))) == ["d0 SUBSCRIBE"]
    assert told(state, news, NOWHERE).state == state


def test_a_tree_message_that_did_not_arrive_tells_who_has_gone() -> None:
    """Whoever is at that address, also if Wendy did not know. [PA-28]"""
    after, effects = failed(b(local=True, ch="a0", par="c0"), "c0", subscribe("b0"), to("d0"))
    assert after == b(local=True, ch="a0", par="d0")
    assert said(effects) == ["d0 SUBSCRIBE"]
    after, effects = failed(b(ch="a0", par="c0"), "a0", notify("b0"), to("d0"))
    assert after == b()
    assert said(effects) == ["c0 UNSUBSCRIBE"]
    assert failed(b(ch="a0", par="c0"), "a0", publish("f0"), C).state == b()


def test_whoever_is_at_the_address_has_gone() -> None:
    """By whatever id it was known. [PA-28]"""
    there = peer("90")._replace(local_ip=peer("a0").local_ip)
    state = tree_of({T: Row(children=Table({h("90"): there, h("a0"): peer("a0")}), parent=peer("c0"))})

    assert failed(state, "a0", notify("b0"), C).state == b()


def test_other_messages_that_did_not_arrive_are_wendys() -> None:
    """[PA-28]"""
    state = b(ch="a0", par="c0")

    assert failed(state, "a0", Heartbeat(header("b0")), C) == (state, ())


def test_what_this_node_has_sent_and_is_offered_again_is_declined() -> None:
    """[PA-28]"""
    state = b(local=True, ch="a0", par="c0")
    for message in (subscribe("b0"), unsubscribe("b0"), notify("b0")):
        for seek in (C, NOWHERE):
            assert arrived(state, message, seek) == (state, ())
