"""What an application sends straight to a node, past routing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import Application, Delivered, Forwarding, NodeExited, SendTo
from peerproof.spec.wendy.messages import MOST_VALUE

from .nodes import asked, h, header, node, notices, peer, received, sends, sent

STATE = node("40", right="50 60", cells="50")


def test_it_goes_to_that_node_wherever_routing_leads() -> None:
    """Also to one that is in no table; the application is not told. [WA-73]"""
    for to in ("60", "99"):
        after, effects = asked(STATE, SendTo(peer(to), h("51"), b"x", 20))
        assert after is STATE
        assert sends(effects) == [(to, Application(header("40", "51"), 20, b"x"))]
        assert notices(effects) == []


def test_it_says_how_many_hops_it_has_had() -> None:
    """[WA-73, WA-56]"""
    ((_, message),) = sends(asked(STATE, SendTo(peer("60"), h("51"), None, 20, 7)).effects)

    assert message.header.hop == 7


def test_it_has_the_nodes_versions_and_credentials() -> None:
    """As its other messages. [WA-53]"""
    state = replace(STATE, config=replace(STATE.config, credentials=b"pw"), versions=STATE.versions._replace(leaf_set=3))

    ((_, message),) = sends(asked(state, SendTo(peer("60"), h("51"), None, 20)).effects)

    assert message.header.credentials == b"pw"
    assert message.header.versions == state.versions


def test_who_receives_it_treats_it_as_any_other() -> None:
    """[WA-73]"""
    ((_, message),) = sends(asked(node("10"), SendTo(peer("40"), h("51"), b"x", 20, 7)).effects)

    assert [type(notice) for notice in notices(received(STATE, message).effects)] == [Forwarding]
    assert [notice.message.header.hop for notice in notices(received(node("40"), message).effects)] == [8]


def test_if_it_does_not_arrive_it_is_routed() -> None:
    """And whoever was there has gone. [WA-24, WA-33, WA-73]"""
    state = node("40", right="50 60", cells="50")
    _, (effect,) = asked(state, SendTo(peer("60"), h("51"), b"x", 20))

    after, effects = sent(state, effect, took=None)

    assert h("60") not in after.known
    assert notices(effects) == [NodeExited(peer("60")), Forwarding(Application(header("40", "51"), 20, b"x"), peer("50"))]


def test_an_application_that_is_asked_may_decline_the_other_way() -> None:
    """[WA-58, WA-73]"""
    state = replace(STATE, config=replace(STATE.config, is_consulted=True))
    _, (effect,) = asked(state, SendTo(peer("99"), h("51"), b"x", 20))

    _, effects = sent(state, effect, took=None)

    assert sends(effects) == []
    assert [type(notice) for notice in notices(effects)] == [Forwarding]


def test_at_the_destination_of_its_key_it_is_delivered_after_all() -> None:
    """[WA-33, WA-73]"""
    _, (effect,) = asked(STATE, SendTo(peer("99"), h("41"), b"x", 20))

    assert notices(sent(STATE, effect, took=None).effects) == [Delivered(Application(header("40", "41"), 20, b"x"))]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (SendTo(peer("60")._replace(port=0), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("60")._replace(local_ip="", global_ip=""), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("40"), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("60"), h("51"), b"x", 7), "bad_value"),
        (SendTo(peer("60"), h("51"), b"x" * (MOST_VALUE + 1), 20), "too_large"),
    ],
    ids=["no port", "no host", "itself", "purpose", "value"],
)
def test_what_cannot_be_sent_is_refused(command: SendTo, reason: str) -> None:
    """[WA-55, WA-66, WA-73]"""
    with pytest.raises(NotEnabled) as refused:
        asked(STATE, command)

    assert refused.value.reason == reason
