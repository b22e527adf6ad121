"""Declared forms: values as plain data and back, and the place where plain data does not fit."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.sample_forms import FORM, PAIR, SHAPE, Colour, Nothing, Pair, Shape

from peerproof.conformance.fuzz.strategies import spellings, values
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms import form
from peerproof.spec.forms.form import U64, Form, Integer, ListOf, OneOf, Optional, Record, Text, encode_string, octets, text

# (form, value, plain): both ways
BOTH_WAYS: list[tuple[Form, Any, Any]] = [
    (U64(), 0, "0"),
    (U64(), 2**53 + 1, "9007199254740993"),
    (U64(), form.U64_MAX, "18446744073709551615"),
    (Integer(), 0, 0),
    (Integer(), 2**53, 2**53),
    (Integer(3, 5), 3, 3),
    (Integer(3, 5), 5, 5),
    (Text(most=4), "", ""),
    (Text(most=4), "abcd", "abcd"),
    (Text(most=4), "éé", "éé"),
    (Text(most=4), "\udcff\udcfe", {"hex": "fffe"}),
    (Text(most=4), "a\udcc3", {"hex": "61c3"}),
    (Text(most=4), "\x00", "\x00"),
    (OneOf(Colour), Colour.BLUE, "blue"),
    (Optional(U64()), None, None),
    (Optional(U64()), 7, "7"),
    (ListOf(Integer()), (), []),
    (ListOf(Integer()), (2, 1, 2), [2, 1, 2]),
    (PAIR, Pair("a", 1), {"left": "a", "right": "1"}),
    (SHAPE, Shape(Colour.RED, (Pair("a", 1),)), {"colour": "red", "corners": [{"left": "a", "right": "1"}], "label": None}),
    (FORM, Nothing(), {"type": "nothing"}),
    (FORM, Pair("a", 1), {"type": "pair", "left": "a", "right": "1"}),
]


@pytest.mark.parametrize(("form", "value", "plain"), BOTH_WAYS)
def test_a_value_and_its_plain_data_are_each_others(form: Form, value: Any, plain: Any) -> None:
    assert form.plain(value) == plain
    assert form.value(plain) == value


def test_members_of_plain_data_come_in_the_order_of_the_fields_with_the_type_in_front() -> None:
    assert list(FORM.plain(Shape(Colour.RED))) == ["type", "colour", "corners", "label"]


@pytest.mark.parametrize(
    ("form", "plain", "value"),
    [
        (U64(), 7, 7),
        (U64(), {"u64": "7"}, 7),
        (U64(), {"u64": 7}, 7),
        (U64(), "007", 7),
        (U64(), MappingProxyType({"u64": "7"}), 7),
        (Text(most=4), {"hex": "6162"}, "ab"),
        (Text(most=4), {"hex": "61 FF"}, "a\udcff"),
        (SHAPE, {"colour": "red"}, Shape(Colour.RED)),
        (FORM, {"left": "a", "right": 1, "type": "pair"}, Pair("a", 1)),
    ],
)
def test_plain_data_may_be_written_in_other_ways_too(form: Form, plain: Any, value: Any) -> None:
    assert form.value(plain) == value


def misfits(form: Form, expected: str, *wrong: Any) -> list[tuple[Form, Any, str]]:
    """What is expected instead of each of these, which are shown as they are."""
    return [(form, plain, f"expected {expected}, found {plain!r}") for plain in wrong]


NUMBER, TEXT = "an unsigned 64-bit integer", 'a string, or {"hex": …} for bytes that are not UTF-8'
SMALL, KINDS = "an integer from 0 to 9007199254740992", "type: expected one of pair, shape, nothing, found"

# (form, plain, what the message says)
MISFITS: list[tuple[Form, Any, str]] = [
    *misfits(U64(), NUMBER, -1, 2**64, "", "+1", " 1", "1_0", "٣", True, 1.0, None, {"u64": "1", "more": 1}),
    *(
        (U64(), plain, f"expected {NUMBER}, found 18446744073709551616")
        for plain in ("18446744073709551616", "9" * 5000, {"u64": "18446744073709551616"})
    ),
    (U64(), {"u64": {"u64": "1"}}, f"expected {NUMBER}, found {{'u64': '1'}}"),
    *misfits(Integer(), SMALL, 2**53 + 1, "1", False),
    *misfits(Integer(3, 5), "an integer from 3 to 5", 2, 6),
    *misfits(Text(most=4), "at most 4 bytes", "abcde", "ééé", {"hex": "0102030405"}),
    *misfits(Text(most=4), TEXT, 5, None, b"a", {"hex": "6"}, {"hex": 6}, {}, "\udcff", "\ud800"),
    *misfits(OneOf(Colour), "one of red, blue", "green", []),
    *misfits(Optional(Integer()), SMALL, ""),
    *misfits(ListOf(Integer()), "a list", (1,), "12"),
    (ListOf(Integer()), [1, 2, "3"], f"[2]: expected {SMALL}, found '3'"),
    *misfits(PAIR, "an object with left, right", []),
    *misfits(PAIR, "a member 'right'", {"left": "a"}),
    (PAIR, {"left": "a", "right": 1, "up": 2}, "up: expected one of left, right, found 'up'"),
    (PAIR, {"left": "a", "right": 1, 2: 2}, "2: expected one of left, right, found 2"),
    (PAIR, {"left": 1, "right": 1}, f"left: expected {TEXT}, found 1"),
    *misfits(SHAPE, "a member 'colour'", {"corners": []}),
    *misfits(Record(Nothing), "an object with no members", []),
    (Record(Nothing), {"a": 1}, "a: expected one of no members, found 'a'"),
    (SHAPE, {"colour": "red", "corners": [{"left": "a", "right": -1}]}, f"corners[0].right: expected {NUMBER}, found -1"),
    (FORM, {"left": "a", "right": 1}, f"{KINDS} None"),
    (FORM, {"type": "Pair"}, f"{KINDS} 'Pair'"),
    (FORM, {"type": ["pair"]}, f"{KINDS} ['pair']"),
    (FORM, "pair", f"{KINDS} 'pair'"),
    (FORM, {"type": "pair", "left": "a"}, "expected a member 'right', found {'left': 'a'}"),
]


@pytest.mark.parametrize(("form", "plain", "message"), MISFITS)
def test_plain_data_that_does_not_fit_is_named_with_its_place(form: Form, plain: Any, message: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        form.value(plain)

    assert (caught.value.reason, caught.value.offset, caught.value.detail) == ("bad_value", 0, message)


def test_the_place_starts_where_the_caller_says() -> None:
    with pytest.raises(MalformedMessage, match=r"^steps\[3\].message.type: expected one of pair, shape, nothing, found None"):
        FORM.value({}, "steps[3].message")


@pytest.mark.parametrize(("length", "shown"), [(58, "x" * 58 + "'"), (59, "x" * 56 + "…"), (10_000, "x" * 56 + "…")])
def test_a_long_misfit_is_shown_by_its_beginning(length: int, shown: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        Integer(0, 9).value("x" * length)

    assert caught.value.detail == f"expected an integer from 0 to 9, found '{shown}"


@pytest.mark.parametrize("raw", [b"", b"a", "ключ".encode(), b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", bytes(range(256))])
def test_any_bytes_have_a_text_that_gives_them_back(raw: bytes) -> None:
    assert octets(text(raw)) == raw


@pytest.mark.parametrize(
    ("string", "most", "expected"),
    [
        ("", 0, b""),
        ("abc", 3, b"abc"),
        ("é", 2, b"\xc3\xa9"),
        ("\udcff", 1, b"\xff"),
        ("abc", 2, ("too_large", "a key takes at most 2 bytes, not 3")),
        ("é", 1, ("too_large", "a key takes at most 1 bytes, not 2")),
        ("\ud800", 9, ("bad_value", "a key must be the text of some bytes, not '\\ud800'")),
        ("\udcc3\udca9", 9, ("bad_value", "a key must be the text of its bytes, '\\xe9', not '\\udcc3\\udca9'")),
    ],
)
def test_a_string_of_the_application_must_be_the_text_of_bytes_that_fit(string: str, most: int, expected: Any) -> None:
    found: Any
    try:
        found = encode_string("key", string, most)
    except NotEnabled as error:
        found = (error.reason, str(error))

    assert found == expected


class Typed(NamedTuple):
    """Its field has the name of the tag."""

    type: int


class Kind(NamedTuple):
    """Its field has the name that the record's class has in the declaration."""

    kind: int


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Record(Pair, right=U64(), left=Text(most=4)),
        lambda: Record(Pair, left=Text(most=4)),
        lambda: Record(Shape, colour=OneOf(Colour)),
        lambda: form.Tagged(typed=(1, Record(Typed, type=U64()))),
    ],
    ids=["another order", "a field left out", "a field with a default left out", "a field named type"],
)
def test_a_declaration_must_agree_with_its_class(declare: Callable[[], Form]) -> None:
    with pytest.raises(AssertionError):
        declare()
    assert Record(Kind, kind=U64()).value({"kind": 3}) == Kind(3), "a field may have any other name"


@pytest.mark.slow
@given(st.data())
def test_every_spelling_of_a_value_is_read_as_the_value(data: st.DataObject) -> None:
    value = data.draw(values(FORM))
    spelling = data.draw(spellings(FORM, value))

    assert FORM.value(spelling) == value
    assert FORM.value(FORM.plain(value)) == value


@pytest.mark.parametrize("plain", [2**63, str(2**63), "9999999999999999999", {"u64": str(2**63)}])
def test_an_integer_of_fewer_bits_keeps_to_them_however_it_is_written(plain: Any) -> None:
    form = U64(most=2**63 - 1)

    with pytest.raises(MalformedMessage, match="from 0 to 9223372036854775807"):
        form.value(plain)
    assert form.value(str(2**63 - 1)) == 2**63 - 1
