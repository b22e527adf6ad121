"""Messages on connections: one on each, in pieces of any size, and confirmed or not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.wendy_messages import MEANT

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.wendy import MESSAGE
from peerproof.spec.wendy.codec import MOST_BYTES
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT, Confirmation, Inbound

TEXT = MESSAGE.encode(MEANT["7_NODE_ANN"])


@given(st.lists(st.integers(1, len(TEXT)), max_size=9))
def test_a_message_comes_in_any_pieces(cuts: list[int]) -> None:
    inbound = Inbound()
    bounds = [0, *sorted(cuts), len(TEXT)]

    got = [inbound.feed(TEXT[start:end]) for start, end in pairwise(bounds)]

    assert TEXT[:-1] in got
    assert MESSAGE.decode(TEXT[:-1]) == MEANT["7_NODE_ANN"]


def test_a_message_comes_byte_by_byte() -> None:
    """Also with brackets, quotes and backslashes in strings."""
    text = b' \n{"a":"}]\\"\\\\","b":[{}]}'
    inbound = Inbound()

    got = [inbound.feed(text[at : at + 1]) for at in range(len(text))]

    assert got == [None] * (len(text) - 1) + [text.strip()]


def test_what_follows_the_message_is_not_looked_at() -> None:
    """[WA-64]"""
    assert Inbound().feed(TEXT + b"garbage") == TEXT[:-1]


@pytest.mark.parametrize("data", [b"[", b"GET / HTTP/1.1\r\n", b"\x00", b'"', b"\xff"])
def test_what_does_not_begin_like_a_message_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(MalformedMessage) as caught:
        Inbound().feed(data)

    assert caught.value.reason == "bad_type"


@pytest.mark.parametrize("piece", [2**20, 2**16])
def test_no_more_is_kept_than_a_message_may_have(piece: int) -> None:
    """However much comes. [WA-66]"""
    inbound = Inbound()
    assert inbound.feed(b'{"a":"') is None

    for _ in range(MOST_BYTES // piece - 1):
        assert inbound.feed(b"x" * piece) is None
    with pytest.raises(MalformedMessage) as caught:
        inbound.feed(b"x" * piece)

    assert caught.value.reason == "too_large"


def test_a_connection_closed_too_early_is_truncated() -> None:
    inbound = Inbound()
    inbound.feed(TEXT[:100])

    assert (inbound.end().reason, inbound.end().offset) == ("truncated", 100)


def test_a_message_is_confirmed_by_the_acknowledgement_and_nothing_else() -> None:
    """[WA-64]"""
    assert ACKNOWLEDGEMENT == b'{"status": "Received."}'
    assert Confirmation().feed(ACKNOWLEDGEMENT) is True
    assert Confirmation().feed(ACKNOWLEDGEMENT + b"\n") is True
    assert Confirmation().feed(b'{"status": "No."}') is False
    confirmation = Confirmation()
    assert [confirmation.feed(bytes((byte,))) for byte in ACKNOWLEDGEMENT] == [None] * 22 + [True]
