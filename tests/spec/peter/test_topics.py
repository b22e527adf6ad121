"""Which topic is which, and what a node keeps of one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import id_of_topic


@given(st.text(min_size=16, max_size=40), st.text(max_size=9))
def test_what_follows_the_16th_byte_has_no_influence(topic: str, more: str) -> None:
    """[P-04, PA-01]"""
    assert id_of_topic(topic) == id_of_topic(topic + more)
    assert id_of_topic(topic).to_bytes(16, "big") == topic.encode()[:16]


def test_a_text_that_has_no_bytes_is_refused() -> None:
    """[PA-03]"""
    with pytest.raises(NotEnabled, match="UTF-8") as refused:
        id_of_topic("\ud800" * 16)

    assert refused.value.reason == "bad_value"
