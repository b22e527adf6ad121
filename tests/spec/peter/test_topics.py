"""Which topic is which, and what a node keeps of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spec.wendy.nodes import NOW, h, no_choice, place

from peerproof.spec import peter
from peerproof.spec.core import Asked
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Publish, Subscribe, Unsubscribe, id_of_topic
from peerproof.spec.wendy import Config


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
