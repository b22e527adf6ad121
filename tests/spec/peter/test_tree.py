"""Subscribing and unsubscribing, clause by clause. The node is b0; its parent is mostly c0, its children are a0 and 90."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spec.wendy.nodes import h, peer

from peerproof.spec.core import Table
from peerproof.spec.peter import Row, Subscribe, Unsubscribe, tree
from peerproof.spec.peter.messages import SubscribeMessage
from peerproof.spec.peter.topics import MOST_CHILDREN, State
from peerproof.spec.stack import Request
from peerproof.spec.wendy import Forward, Header

from .nodes import (
    TEXT,
    T,
    U,
    arrived,
    asked,
    b,
    row,
    said,
    subscribe,
    to,
    tree_of,
    unsubscribe,
)

C, NOWHERE = to("c0"), to()


# -- subscribing -------------------------------------------------------------------------------------------------------


def test_who_subscribes_asks_its_next_hop_which_becomes_the_parent() -> None:
    """[P-06, P-07, PA-09]"""
    after, effects = asked(b(), Subscribe(TEXT), C)

    assert after == b(local=True, par="c0")
    assert said(effects) == ["c0 SUBSCRIBE"]


def test_the_meeting_point_has_nobody_to_ask() -> None:
    """[P-12, P-13, PA-09]"""
    after, effects = asked(b(), Subscribe(TEXT), NOWHERE)

    assert after == b(local=True)
    assert said(effects) == []


def test_who_subscribes_twice_asks_once() -> None:
    """[PA-04]"""
    assert asked(b(local=True, par="c0"), Subscribe(TEXT), to("d0")) == (b(local=True, par="c0"), ())


def test_who_has_children_need_not_ask_when_it_subscribes() -> None:
    """[PA-04]"""
    assert asked(b(ch="a0", par="c0"), Subscribe(TEXT), C) == (b(local=True, ch="a0", par="c0"), ())


def test_a_receiver_without_children_adds_the_child_and_asks_on() -> None:
    """[P-09, P-11, P-12]"""
    after, effects = arrived(b(), subscribe("a0"), C)

    assert after == b(ch="a0", par="c0")
    assert said(effects) == ["c0 SUBSCRIBE"]


def test_the_meeting_point_only_adds_the_child() -> None:
    """[P-12]"""
    assert arrived(b(), subscribe("a0"), NOWHERE) == (b(ch="a0"), ())


def test_a_subscribe_message_is_never_passed_on() -> None:
    """What is sent instead is a message of the receiver's own; its sender is written by Wendy. [P-08, PA-08]"""
    _, effects = arrived(b(), subscribe("a0"), C)

    assert not any(isinstance(effect, Request) and isinstance(effect.command, Forward) for effect in effects)


def test_a_receiver_with_children_adds_another_and_says_nothing() -> None:
    """[P-10]"""
    assert arrived(b(ch="a0", par="c0"), subscribe("90"), C) == (b(ch="90 a0", par="c0"), ())


def test_who_is_subscribed_says_nothing_when_it_gets_its_first_child() -> None:
    """[PA-05]"""
    assert arrived(b(local=True, par="c0"), subscribe("a0"), C) == (b(local=True, ch="a0", par="c0"), ())


def test_a_child_that_subscribes_again_changes_nothing() -> None:
    """[PA-06]"""
    state = b(ch="a0", par="c0")

    assert arrived(state, subscribe("a0"), to("d0")).state is state
    assert arrived(state, subscribe("a0"), to("d0")).effects == ()


def test_a_child_at_a_new_address_is_kept_there() -> None:
    """[PA-30]"""
    moved = peer("a0")._replace(local_ip="elsewhere")
    about = Header(moved, T, hop=1)

    after, effects = arrived(b(ch="a0", par="c0"), SubscribeMessage(about), C)

    assert after.row(T) == Row(children=Table({h("a0"): moved}), parent=peer("c0"))
    assert effects == ()


@pytest.mark.parametrize("child", [peer("b0"), peer("a0")._replace(port=0), peer("b0")._replace(id=h("a0"))])
def test_a_child_that_cannot_be_reached_is_none(child: Any) -> None:
    """Nor is the node itself. [PA-30]"""
    assert arrived(b(), SubscribeMessage(Header(child, T, hop=1)), C) == (b(), ())


def test_of_too_many_children_one_more_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted over all topics; who is a child already may still move. [PA-29]"""
    assert MOST_CHILDREN == 65_536
    monkeypatch.setattr(tree, "MOST_CHILDREN", 2)
    full = tree_of({T: row(ch="a0", par="c0"), U: row(ch="a0", par="c0")})
    moved = Header(peer("a0")._replace(local_ip="elsewhere"), T, hop=1)

    assert arrived(full, subscribe("90"), C) == (full, ())
    assert arrived(full, SubscribeMessage(moved), C).state.row(T).children[h("a0")] == moved.sender
    assert arrived(tree_of({T: row(ch="a0")}), subscribe("90"), C).state.children() == 2


# -- unsubscribing -----------------------------------------------------------------------------------------------------


def test_who_unsubscribes_tells_its_parent_and_forgets_the_topic() -> None:
    """Wherever routing leads now. [P-20, PA-04, PA-10]"""
    after, effects = asked(b(local=True, par="c0"), Unsubscribe(TEXT), to("d0"))

    assert after == b()
    assert said(effects) == ["c0 UNSUBSCRIBE"]


def test_who_has_children_stays_in_the_tree() -> None:
    """[PA-04]"""
    assert asked(b(local=True, ch="a0", par="c0"), Unsubscribe(TEXT), C) == (b(ch="a0", par="c0"), ())


@pytest.mark.parametrize("state", [b(), b(ch="a0", par="c0")])
def test_who_is_not_subscribed_unsubscribes_in_vain(state: State) -> None:
    """[PA-04]"""
    assert asked(state, Unsubscribe(TEXT), C) == (state, ())


def test_the_meeting_point_has_nobody_to_tell() -> None:
    """[PA-10]"""
    assert asked(b(local=True), Unsubscribe(TEXT), NOWHERE) == (b(), ())
    assert asked(b(local=True), Unsubscribe(TEXT), C) == (b(), ())
    assert arrived(b(ch="a0"), unsubscribe("a0"), NOWHERE) == (b(), ())


def test_a_child_that_unsubscribes_is_taken_out() -> None:
    """As long as there are others nothing is said. [P-21, P-23]"""
    assert arrived(b(ch="90 a0", par="c0"), unsubscribe("a0"), C) == (b(ch="90", par="c0"), ())


def test_when_the_last_child_unsubscribes_so_does_the_node() -> None:
    """At its parent, wherever routing leads now. [P-22, PA-10]"""
    after, effects = arrived(b(ch="a0", par="c0"), unsubscribe("a0"), to("d0"))

    assert after == b()
    assert said(effects) == ["c0 UNSUBSCRIBE"]


def test_who_is_subscribed_stays_when_the_last_child_goes() -> None:
    """[PA-04]"""
    assert arrived(b(local=True, ch="a0", par="c0"), unsubscribe("a0"), C) == (b(local=True, par="c0"), ())


@pytest.mark.parametrize("state", [b(), b(local=True, par="c0"), b(ch="a0", par="c0")])
def test_who_is_no_child_unsubscribes_in_vain(state: State) -> None:
    """[PA-07]"""
    assert arrived(state, unsubscribe("f0"), C) == (state, ())


def test_topics_have_nothing_to_do_with_each_other() -> None:
    """[PI-09]"""
    both = tree_of({T: row(ch="a0", par="c0"), U: row(ch="90", par="d0")})

    after, effects = arrived(both, unsubscribe("90", U), C)
    assert after == b(ch="a0", par="c0")
    assert said(effects) == ["d0 UNSUBSCRIBE of U"]
    assert arrived(both, unsubscribe("90"), C) == (both, ())
    assert asked(both, Unsubscribe(TEXT), C) == (both, ())
