"""Which topic is which, and what a node keeps of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spec.wendy.nodes import NOW, h, no_choice, peer, place

from peerproof.spec import peter
from peerproof.spec.core import Asked, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Publish, Row, Subscribe, Unsubscribe, id_of_topic
from peerproof.spec.peter.topics import is_reachable, plain_topics
from peerproof.spec.wendy import Config, id_text

from .nodes import TEXT, T, U, b, row, tree_of


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("0123456789abcdef", "30313233343536373839616263646566"),
        ("weather/london/today", "776561746865722f6c6f6e646f6e2f74"),
        ("p" * 16, "70" * 16),
        ("é" * 9, "c3a9" * 8),
        ("aé" * 8, "61c3a9" * 5 + "61"),
    ],
)
def test_the_id_of_a_topic_is_its_first_16_bytes(topic: str, expected: str) -> None:
    """Of its UTF-8, also within a character. [P-02, P-03, PA-01, PA-03]"""
    assert id_text(id_of_topic(topic)) == expected


def test_topics_with_the_same_first_32_bytes_are_one() -> None:
    """[P-04, P-05]"""
    assert id_of_topic("a" * 32 + "x") == id_of_topic("a" * 32 + "yz") == id_of_topic("a" * 32)


def test_topics_that_differ_in_the_16th_byte_are_two() -> None:
    """[PA-01]"""
    assert id_of_topic("0123456789abcdeF") != id_of_topic("0123456789abcdef")
    assert id_of_topic("0123456789abcdefX") == id_of_topic("0123456789abcdef")


@given(st.text(min_size=16, max_size=40), st.text(max_size=9))
def test_what_follows_the_16th_byte_has_no_influence(topic: str, more: str) -> None:
    """[P-04, PA-01]"""
    assert id_of_topic(topic) == id_of_topic(topic + more)
    assert id_of_topic(topic).to_bytes(16, "big") == topic.encode()[:16]


@pytest.mark.parametrize("topic", ["", "short topic", "123456789012345", "é" * 7])
@pytest.mark.parametrize("command", [Subscribe, Unsubscribe, partial(Publish, value=b"rain")])
def test_a_short_topic_is_refused_whatever_is_asked(topic: str, command: Callable[[str], Any]) -> None:
    """[PA-02]"""
    state = peter.initial(place("b0"), Config(h("b0"))).state

    with pytest.raises(NotEnabled, match="at least 16 bytes") as refused:
        peter.step(state, Asked(NOW, command(topic)), no_choice)

    assert refused.value.reason == "short_topic"


def test_a_text_that_has_no_bytes_is_refused() -> None:
    """[PA-03]"""
    with pytest.raises(NotEnabled, match="UTF-8") as refused:
        id_of_topic("\ud800" * 16)

    assert refused.value.reason == "bad_value"


def test_a_topic_is_wanted_by_subscribers_and_for_children() -> None:
    """[PA-04]"""
    assert row(local=True).is_wanted
    assert row(ch="a0").is_wanted
    assert not Row().is_wanted
    assert not Row(parent=peer("c0")).is_wanted


def test_of_a_topic_that_nobody_wants_nothing_is_kept() -> None:
    """[PA-04]"""
    state = b(local=True, par="c0").with_row(T, Row(parent=peer("c0")))

    assert state == b()
    assert state.row(T) == Row()


def test_children_are_counted_over_all_topics() -> None:
    """[PA-29]"""
    assert tree_of({T: row(ch="a0 90"), U: row(ch="a0", par="c0")}).children() == 3
    assert b().children() == 0


def test_who_can_be_reached() -> None:
    """Somebody else, at an address of its own. [PA-30]"""
    assert is_reachable(b(), peer("a0"))
    assert not is_reachable(b(), peer("b0"))
    assert not is_reachable(b(), peer("a0")._replace(port=0))
    assert not is_reachable(b(), peer("a0")._replace(local_ip="", global_ip=""))
    assert not is_reachable(b(), peer("b0")._replace(id=h("a0")))


def test_topics_are_shown_by_their_ids() -> None:
    state = tree_of({T: row(local=True, ch="a0 90", par="c0"), U: row(ch="a0")})

    found: Any = plain_topics(state)
    assert list(found) == [id_text(T), id_text(U)]
    assert found[id_text(T)] == {"local": True, "children": [id_text(h("90")), id_text(h("a0"))], "parent": id_text(h("c0"))}
    assert found[id_text(U)] == {"local": False, "children": [id_text(h("a0"))], "parent": None}


def test_a_node_that_has_just_started_wants_nothing() -> None:
    state = peter.initial(place("b0"), Config(h("b0"))).state

    assert state.upper.topics == Table()
    assert state.lower.config.is_consulted
    assert state.upper.config == state.lower.config
    assert TEXT.encode()[:16] == T.to_bytes(16, "big")
