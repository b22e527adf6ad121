"""What an application sends, gets, and has a say in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import Application, Config, Delivered, Forward, Forwarding, NodeExited, Route, State
from peerproof.spec.wendy.messages import MOST_HOPS, MOST_VALUE

from .nodes import asked, h, header, node, notices, peer, received, sends, sent

STATE = node("40", right="50 60", cells="50")


def message(key: str, hop: int = 0, sender: str = "40", value: bytes | None = b"hello") -> Application:
    """A message of some node."""
    return Application(header(sender, key, hop=hop), 16, value)


def test_a_message_goes_to_the_next_node_and_the_application_knows() -> None:
    """[W-37…W-39]"""
    after, effects = asked(STATE, Route(h("51"), b"hello"))

    assert sends(effects) == [("50", message("51"))]
    assert notices(effects) == [Forwarding(message("51"), peer("50"))]
    assert after == STATE


def test_a_message_for_this_node_is_delivered_to_its_application() -> None:
    """[W-43]"""
    assert asked(STATE, Route(h("41"), b"hello")).effects == asked(STATE, Route(h("41"), b"hello", 16)).effects
    assert notices(asked(STATE, Route(h("41"), b"hello")).effects) == [Delivered(message("41"))]


def test_a_message_that_comes_by_has_made_one_hop_more() -> None:
    """Up to a bound. [WA-56]"""
    assert sends(received(STATE, message("51", sender="10")).effects) == [("50", message("51", 1, sender="10"))]
    assert notices(received(STATE, message("41", 3)).effects) == [Delivered(message("41", 4))]
    assert sends(received(STATE, message("51", MOST_HOPS)).effects) == [("50", message("51", MOST_HOPS))]


def test_an_application_that_wants_to_be_asked_may_send_on_change_or_drop() -> None:
    """[WA-58]"""
    state: State = replace(STATE, config=replace(STATE.config, is_consulted=True))

    _, effects = received(state, message("51", sender="10"))
    assert sends(effects) == []
    ((notice),) = notices(effects)
    assert notice == Forwarding(message("51", 1, sender="10"), peer("50"))
    changed = replace(notice.message, value=b"bye")
    assert sends(asked(state, Forward(changed)).effects) == [("50", changed)]
    assert notices(asked(state, Forward(changed)).effects) == []


def test_a_message_whose_next_node_has_gone_takes_another_way() -> None:
    """Here it is delivered, since nobody else is closer. [WA-33]"""
    state = node("40", right="50", cells="50")
    _, effects = asked(state, Route(h("51"), b"hello"))

    after, told = sent(state, effects[1], took=None)

    assert notices(told) == [NodeExited(peer("50")), Delivered(message("51"))]
    assert not after.known


def test_a_message_that_has_arrived_changes_only_the_score() -> None:
    _, effects = asked(STATE, Route(h("51"), None))

    after, told = sent(STATE, effects[1], took=7)

    assert told == ()
    assert after.scores[h("50")] == 7


@pytest.mark.parametrize("purpose", [-1, 0, 7, 256])
def test_purposes_of_the_protocol_are_not_the_applications(purpose: int) -> None:
    """[WA-55]"""
    with pytest.raises(NotEnabled, match="from 8 to 255"):
        asked(STATE, Route(h("51"), None, purpose))


def test_what_is_too_large_to_be_sent_on_is_refused() -> None:
    """From the application itself, too. [WA-66]"""
    large = b"x" * MOST_VALUE
    assert sends(asked(STATE, Route(h("50"), large)).effects)

    with pytest.raises(NotEnabled, match="at most 524288 bytes"):
        asked(STATE, Route(h("50"), large + b"x"))
    with pytest.raises(NotEnabled, match="at most 1024 bytes"):
        asked(STATE, Forward(replace(message("51"), header=replace(header("41"), credentials=b"x" * 1025))))
    with pytest.raises(ValueError, match="credentials have at most 1024 bytes"):
        Config(h("40"), credentials=b"x" * 1025)


@pytest.mark.parametrize(
    ("wanted", "given", "is_taken"),
    [(None, None, True), (None, b"x", True), (b"x", b"x", True), (b"x", None, False), (b"x", b"y", False)],
)
def test_a_message_without_the_right_credentials_is_not_taken(wanted: Any, given: Any, is_taken: bool) -> None:
    """A node that wants none takes any. [WA-53]"""
    state = replace(STATE, config=replace(STATE.config, credentials=wanted))
    comes = message("41")

    _, effects = received(state, replace(comes, header=replace(comes.header, credentials=given)))

    assert bool(effects) is is_taken


def test_messages_have_the_nodes_credentials() -> None:
    """[WA-53]"""
    state = replace(STATE, config=replace(STATE.config, credentials=b"pw"))

    ((_, comes),) = sends(asked(state, Route(h("51"), None)).effects)

    assert comes.header.credentials == b"pw"
