"""Events on their way, and what applications have to do with it, clause by clause. The node is b0."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spec.wendy.nodes import header, peer, place

from peerproof.spec.core import Notify
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Publish, Subscribe, Unsubscribe
from peerproof.spec.stack import Request
from peerproof.spec.wendy import Application, Delivered, Forward, Forwarding, Join, JoinFailed, Leave, NodeExited, Route

from .nodes import (
    OTHER,
    TEXT,
    T,
    U,
    arrived,
    asked,
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


# -- publishing --------------------------------------------------------------------------------------------------------


def test_to_publish_is_to_route_towards_the_topic() -> None:
    """Whether or not one is subscribed. [P-24, P-28, PA-16]"""
    for state in (b(), b(local=True, par="c0"), b(ch="a0")):
        assert asked(state, Publish(TEXT, b"rain"), C) == (state, (Request(Route(T, b"rain", 19)),))


def test_on_its_way_an_event_is_passed_on_and_nothing_else() -> None:
    """[P-24, PA-16]"""
    message = publish("f0")
    state = b(local=True, ch="a0", par="c0")

    after, (effect,) = arrived(state, message, C)

    assert after is state
    assert effect == Request(Forward(Application(message.header, 19, b"rain")))


def test_the_meeting_point_delivers_and_copies_to_each_child() -> None:
    """[P-25, PA-15, PA-17]"""
    assert said(arrived(b(local=True, ch="90 a0"), publish("f0", hop=2), NOWHERE).effects) == [
        "update rain",
        "90 NOTIFY rain 2",
        "a0 NOTIFY rain 2",
    ]
    assert said(arrived(b(ch="a0"), publish("f0"), NOWHERE).effects) == ["a0 NOTIFY rain 2"]


def test_a_publisher_that_is_subscribed_gets_its_own_event() -> None:
    """Also from the meeting point, and if it is that itself. [PA-17, PA-26]"""
    assert said(arrived(b(local=True, ch="a0"), publish("b0", hop=0), NOWHERE).effects) == ["update rain", "a0 NOTIFY rain 0"]
    assert said(arrived(b(ch="a0"), publish("a0", hop=1), NOWHERE).effects) == ["a0 NOTIFY rain 1"]


def test_an_event_that_nobody_wants_ends_at_the_meeting_point() -> None:
    """[P-28]"""
    assert arrived(b(), publish("f0"), NOWHERE) == (b(), ())


def test_a_copy_is_delivered_and_copied_on() -> None:
    """Wherever routing leads, to children only, with the hops that it has had. [P-26, PA-17, PA-25]"""
    state = b(local=True, ch="90 a0", par="c0")

    for seek in (C, NOWHERE):
        after, effects = arrived(state, notify("c0", hop=3), seek)
        assert after is state
        assert said(effects) == ["update rain", "90 NOTIFY rain 3", "a0 NOTIFY rain 3"]


def test_who_only_has_children_delivers_nothing() -> None:
    """[P-28]"""
    assert said(arrived(b(ch="a0", par="c0"), notify("c0"), C).effects) == ["a0 NOTIFY rain 2"]


def test_a_copy_of_what_nobody_wants_is_dropped() -> None:
    """[PA-18]"""
    assert arrived(b(), notify("c0"), C) == (b(), ())
    assert arrived(tree_of({U: row(local=True, ch="a0")}), notify("c0"), C).effects == ()


def test_a_copy_comes_from_anybody() -> None:
    """[PA-17]"""
    assert said(arrived(b(local=True, par="c0"), notify("f0"), C).effects) == ["update rain"]


def test_a_copy_never_goes_back() -> None:
    """To a parent that is a child as well. [PA-26]"""
    assert said(arrived(b(local=True, ch="90 c0", par="c0"), notify("c0"), C).effects) == ["update rain", "90 NOTIFY rain 2"]


def test_a_copy_from_another_than_the_parent_goes_no_further() -> None:
    """[PA-34]"""
    assert said(arrived(b(local=True, ch="90 a0", par="c0"), notify("a0"), C).effects) == ["update rain"]
    assert said(arrived(b(local=True, ch="90 a0"), notify("a0"), NOWHERE).effects) == ["update rain"]


@pytest.mark.parametrize(("hop", "copies"), [(254, ["a0 NOTIFY rain 254"]), (255, [])])
def test_the_255th_who_receives_an_event_copies_it_no_more(hop: int, copies: list[str]) -> None:
    """[PA-25]"""
    assert said(arrived(b(local=True, ch="a0", par="c0"), notify("c0", hop=hop), C).effects) == ["update rain", *copies]
    assert said(arrived(b(local=True, ch="a0"), publish("c0", hop=hop), NOWHERE).effects) == ["update rain", *copies]


# -- the application, and Wendy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("purpose", [17, 18, 19, 20])
def test_purposes_of_trees_are_not_the_applications(purpose: int) -> None:
    """[PA-31]"""
    with pytest.raises(NotEnabled, match="17 to 20") as refused:
        asked(b(), Route(T, b"x", purpose), C)

    assert refused.value.reason == "reserved"


@pytest.mark.parametrize("purpose", [16, 21, 255])
def test_other_messages_pass_and_the_application_is_told(purpose: int) -> None:
    """[PA-31]"""
    message = Application(header("f0", hop=1), purpose, b"x")

    assert asked(b(), Route(T, b"x", purpose), C).effects == (Request(Route(T, b"x", purpose)),)
    assert told(b(), Delivered(message), C).effects == (Notify(Delivered(message)),)
    forwarding = Forwarding(message, peer("c0"))
    assert told(b(), forwarding, C).effects == (Notify(forwarding), Request(Forward(message)))


def test_messages_of_trees_are_not_told_to_the_application() -> None:
    """[PA-31]"""
    for message in (subscribe("a0"), unsubscribe("a0"), publish("a0"), notify("a0")):
        for seek in (C, NOWHERE):
            for effect in arrived(b(ch="90", par="c0"), message, seek).effects:
                assert isinstance(effect, Request)


def test_to_join_is_wendys() -> None:
    """[P-01]"""
    join = Join(place("c0"))

    assert asked(b(), join, C) == (b(), (Request(join),))
    assert told(b(), JoinFailed(join.contact), C) == (b(), (Notify(JoinFailed(join.contact)),))


def test_who_leaves_says_nothing_to_its_trees() -> None:
    """[PA-32]"""
    state = b(local=True, ch="a0", par="c0")

    after, effects = asked(state, Leave(), C)

    assert effects == (Request(Leave()),)
    assert after == replace(state, has_left=True)


def test_who_has_left_does_nothing_any_more() -> None:
    """[PA-32]"""
    left = replace(b(local=True, ch="a0", par="c0"), has_left=True)

    for command in (Subscribe(TEXT), Unsubscribe(OTHER), Publish(TEXT, b"rain"), Leave()):
        with pytest.raises(NotEnabled) as refused:
            asked(left, command, C)
        assert refused.value.reason == "left"
    for message in (subscribe("a0"), notify("c0")):
        assert arrived(left, message, C) == (left, ())
    assert told(left, NodeExited(peer("c0")), to("d0")) == (left, ())
    assert failed(left, "c0", subscribe("b0"), to("d0")) == (left, ())
