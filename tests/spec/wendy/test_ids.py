"""Ids, the ring and its digits: the design's cases, and arithmetic against the definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import Id, Ring, id_of_bytes, id_of_text, id_text

RING = Ring()
SMALL = Ring(digits=2, digit_bits=2)
IDS = st.integers(0, 2**128 - 1).map(Id)


def test_first_16_bytes_are_an_id_and_fewer_are_none() -> None:
    """WC-01, WC-02, WC-03. [WA-49]"""
    expected = "30313233343536373839616263646566"

    assert id_text(id_of_bytes(b"0123456789abcdef")) == expected
    assert id_text(id_of_bytes(b"0123456789abcdefXYZ")) == expected
    with pytest.raises(NotEnabled):
        id_of_bytes(b"0123456789abcde")


@pytest.mark.parametrize(
    "text", ["", "0" * 31, "0" * 33, "0x" + "0" * 30, "0" * 31 + "g", " " + "0" * 31, "0" * 15 + "_" + "0" * 16, "٠" * 32]
)
def test_anything_but_32_digits_is_no_id(text: str) -> None:
    with pytest.raises(NotEnabled):
        id_of_text(text)


@given(IDS, IDS, IDS)
def test_distance_is_a_metric(a: Id, b: Id, c: Id) -> None:
    assert RING.distance(a, b) == RING.distance(b, a) <= 2**127
    assert (RING.distance(a, b) == 0) == (a == b)
    assert RING.distance(a, c) <= RING.distance(a, b) + RING.distance(b, c)
    assert RING.clockwise(a, b) + RING.clockwise(b, a) == (0 if a == b else 2**128)


@given(IDS, IDS)
def test_prefix_and_digits_are_those_of_the_text(a: Id, b: Id) -> None:
    common = next((i for i in range(32) if id_text(a)[i] != id_text(b)[i]), 32)

    assert RING.prefix(a, b) == common
    assert "".join(f"{RING.digit(a, index):x}" for index in range(32)) == id_text(a)
    assert id_of_text(id_text(a)) == a


def test_rank_orders_by_distance_and_never_ties() -> None:
    """All of a small ring: nearer first, of two equally near the one below the key. [W-37, WA-09]"""
    for key in range(SMALL.size):
        ids = [Id(i) for i in range(SMALL.size)]
        ordered = sorted(ids, key=lambda node: SMALL.rank(node, Id(key)))

        assert len({SMALL.rank(node, Id(key)) for node in ids}) == SMALL.size
        assert ordered[:3] == [key, (key - 1) % 16, (key + 1) % 16]
        distances = [SMALL.distance(node, Id(key)) for node in ordered]
        assert distances == sorted(distances)


@pytest.mark.parametrize(("digits", "bits"), [(0, 4), (32, 0), (33, 4), (32, 5)])
def test_an_id_has_some_bits_and_at_most_128(digits: int, bits: int) -> None:
    with pytest.raises(ValueError, match="at most 128 bits"):
        Ring(digits, bits)
