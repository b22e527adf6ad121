"""Ids, the ring and its digits: the design's cases, and arithmetic against the definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import Id, Ring, id_of_bytes, id_of_text, id_text

from .nodes import h

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


def test_an_id_is_written_with_32_digits_and_read_in_any_case() -> None:
    """WC-04. [WA-49]"""
    assert id_text(id_of_text("000102030405060708090A0B0C0D0E0F")) == "000102030405060708090a0b0c0d0e0f"
    assert id_text(Id(0)) == "0" * 32


@pytest.mark.parametrize(
    "text", ["", "0" * 31, "0" * 33, "0x" + "0" * 30, "0" * 31 + "g", " " + "0" * 31, "0" * 15 + "_" + "0" * 16, "٠" * 32]
)
def test_anything_but_32_digits_is_no_id(text: str) -> None:
    with pytest.raises(NotEnabled):
        id_of_text(text)


def test_row_is_the_common_prefix_and_column_the_first_other_digit() -> None:
    """WC-05: the document's example, whose column is 14. [W-15…W-17, WA-01]"""
    assert RING.cell(h("1a2bc3d"), h("1a2bc3e")) == (6, 14)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (h("0"), Id(1), 31),
        (h("abc"), h("abc"), 32),
        (h("0"), h("1"), 0),
        (h("0"), h("00000000001"), 10),
        (h("0"), h("000000000001"), 11),
    ],
)
def test_common_prefix(one: Id, other: Id, expected: int) -> None:
    """WC-06, WC-07. [W-15]"""
    assert RING.prefix(one, other) == expected


def test_digits_are_counted_from_the_most_significant() -> None:
    """WC-08. [W-14]"""
    number = h("0123456789abcdeffedcba9876543210")

    assert [RING.digit(number, index) for index in (0, 15, 16, 31)] == [0, 15, 15, 0]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (h("0"), h("f~"), 1),
        (h("0"), h("8"), 2**127),
        (h("0"), h("f" * 16), 2**64),
        (h("1234567890abcdef1111111111111111"), h("f234567890abcdef1111111111111111"), 2**125),
    ],
)
def test_distance_is_the_shorter_way_round(one: Id, other: Id, expected: int) -> None:
    """WC-09, WC-10, WC-11. [W-02, WA-02]"""
    assert RING.distance(one, other) == expected
    assert RING.distance(other, one) == expected


@pytest.mark.parametrize(
    ("own", "other", "is_right"), [("8", "9", True), ("8", "7", False), ("f", "08", True), ("01", "ff", False)]
)
def test_greater_is_what_is_nearer_going_up(own: str, other: str, is_right: bool) -> None:
    """WC-12. [W-03, WA-03]"""
    assert RING.is_right(h(own), h(other)) is is_right


def test_the_opposite_end_is_greater_from_both_sides() -> None:
    """WA-04."""
    assert RING.is_right(h("0"), h("8"))
    assert RING.is_right(h("8"), h("0"))


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
