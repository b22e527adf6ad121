"""Forms as bytes: both ways, and the place and reason of every way to be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import make_dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from tests.support.sample_forms import Colour, Nothing, Pair

from peerproof.conformance.fuzz.strategies import datagrams, values
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import U64, U64_MAX, Form, Integer, ListOf, OneOf, Optional, Record, Tagged, Text
from peerproof.spec.forms.packing import binary, size


class Nested(NamedTuple):
    """A record in a record, and something after it."""

    item: Pair
    last: str


class Items(NamedTuple):
    """A list at the end."""

    label: str
    items: tuple[Pair, ...]


class Ranks(NamedTuple):
    """A list of no records."""

    ranks: tuple[int, ...]


ITEM = Record(Pair, left=Text(most=255), right=U64())
SHORT = Text(most=3)
NESTED = Record(Nested, item=ITEM, last=SHORT)
CODEC = binary(
    Tagged(
        nested=(1, NESTED),
        items=(2, Record(Items, label=SHORT, items=ListOf(ITEM))),
        nothing=(7, Record(Nothing)),
        ranks=(255, Record(Ranks, ranks=ListOf(U64()))),
    )
)

# (message, bytes): both ways
BOTH_WAYS = [
    (Nothing(), "07"),
    (Ranks(()), "ff"),
    (Ranks((1, U64_MAX)), "ff 0000000000000001 ffffffffffffffff"),
    (Ranks((0x0102030405060708,)), "ff 0102030405060708"),
    (Nested(Pair("", 0), ""), "01 00 0000000000000000 00"),
    (Nested(Pair("é", 256), "abc"), "01 02c3a9 0000000000000100 03616263"),
    (Items("", ()), "02 00"),
    (Nested(Pair("x" * 255, 0), ""), f"01 ff {'78' * 255} 0000000000000000 00"),
    (Items("a", (Pair("b", 2), Pair("\udcff", 3))), "02 0161 0162 0000000000000002 01ff 0000000000000003"),
]


@pytest.mark.parametrize(("message", "raw"), BOTH_WAYS)
def test_a_message_and_its_bytes_are_each_others(message: Any, raw: str) -> None:
    assert CODEC.encode(message) == bytes.fromhex(raw)
    assert CODEC.decode(bytes.fromhex(raw)) == message
    assert type(CODEC.decode(bytes.fromhex(raw))) is type(message)


# (bytes, reason, offset, detail)
MALFORMED = [
    ("", "truncated", 0, "an empty datagram has no message type"),
    ("00", "bad_type", 0, "0 is no message type; there are 1, 2, 7, 255"),
    ("03 0000", "bad_type", 0, "3 is no message type; there are 1, 2, 7, 255"),
    ("01", "truncated", 1, "need the size of a string, have nothing"),
    ("01 02", "truncated", 2, "need 2 bytes, have 0"),
    ("01 02 61", "truncated", 2, "need 2 bytes, have 1"),
    ("01 01 61", "truncated", 3, "need 8 bytes, have 0"),
    ("01 01 61 00000000000001", "truncated", 3, "need 8 bytes, have 7"),
    ("01 01 61 0000000000000001", "truncated", 11, "need the size of a string, have nothing"),
    ("01 01 61 0000000000000001 01", "truncated", 12, "need 1 bytes, have 0"),
    ("01 01 61 0000000000000001 00 00", "trailing", 12, "1 bytes follow the message"),
    ("01 01 61 0000000000000001 00 0000", "trailing", 12, "2 bytes follow the message"),
    ("07 00", "trailing", 1, "1 bytes follow the message"),
    ("ff 0000000000000001 00", "truncated", 9, "need 8 bytes, have 1"),
    ("02 00 01", "truncated", 3, "need 1 bytes, have 0"),
    ("02 00 00 0000000000000001 ff", "truncated", 12, "need 255 bytes, have 0"),
    ("02 04 61626364", "bad_length", 1, "a string takes at most 3 bytes here, not 4"),
]


@pytest.mark.parametrize(("raw", "reason", "offset", "detail"), MALFORMED)
def test_what_is_wrong_with_bytes_is_named_with_its_place(raw: str, reason: str, offset: int, detail: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        CODEC.decode(bytes.fromhex(raw))

    assert (caught.value.reason, caught.value.offset, caught.value.detail) == (reason, offset, detail)
    assert str(caught.value) == f"{detail} ({f'at byte {offset}: ' if offset else ''}{reason})"


# (message, reason)
NOT_ENCODED = [
    (Items("abcd", ()), "too_large"),
    (Items("éé", ()), "too_large"),
    (Nested(Pair("x" * 256, 0), ""), "too_large"),
    (Nested(Pair("", U64_MAX + 1), ""), "bad_value"),
    (Nested(Pair("", -1), ""), "bad_value"),
    (Nested(Pair("", "1"), ""), "bad_value"),  # type: ignore[arg-type]  # that is the point
    (Nested(Pair("\ud800", 0), ""), "bad_value"),
    (Nested(Pair("\udcc3\udca9", 0), ""), "bad_value"),
]


@pytest.mark.parametrize(("message", "reason"), NOT_ENCODED)
def test_what_bytes_cannot_hold_is_refused(message: Any, reason: str) -> None:
    with pytest.raises(NotEnabled) as caught:
        CODEC.encode(message)

    assert caught.value.reason == reason


def made(**forms: Form) -> Tagged:
    """A message of one kind, with these fields."""
    return Tagged(made=(1, Record(make_dataclass("Made", forms), **forms)))


@pytest.mark.parametrize(
    "declare",
    [
        lambda: binary(made(field=OneOf(Colour))),
        lambda: binary(made(field=Optional(U64()))),
        lambda: binary(made(field=Integer())),
        lambda: binary(made(field=Text(most=256))),
        lambda: binary(made(items=ListOf(ITEM), label=SHORT)),
        lambda: binary(made(field=ListOf(ListOf(U64())))),
        lambda: binary(made(field=ListOf(Record(Nothing)))),
        lambda: binary(Tagged(a=(1, Record(Nothing)), b=(1, Record(Ranks, ranks=ListOf(U64()))))),
        lambda: binary(Tagged(a=(256, Record(Nothing)))),
        lambda: size(ListOf(U64())),
    ],
    ids=["enum", "maybe", "whole", "size of two bytes", "list not last", "list of lists", "list of nothing", "one tag twice",
         "tag above a byte", "size of a list"],
)  # fmt: skip
def test_a_declaration_that_bytes_cannot_tell_apart_is_refused(declare: Callable[[], Any]) -> None:
    assert binary(made(field=U64(), label=SHORT)), "such a message may be declared"
    with pytest.raises(TypeError):
        declare()


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        (U64(), 0, 8),
        (SHORT, "", 1),
        (SHORT, "abc", 4),
        (SHORT, "é", 3),
        (SHORT, "\udcff", 2),
        (ITEM, Pair("é", 5), 11),
        (NESTED, Nested(Pair("abcd", 5), "ab"), 16),
    ],
)
def test_the_size_of_a_value_is_the_number_of_its_bytes(form: Form, value: Any, expected: int) -> None:
    assert size(form)(value) == expected


@given(values(CODEC.form))
def test_decoding_gives_back_what_was_encoded(message: Any) -> None:
    assert CODEC.decode(CODEC.encode(message)) == message


@given(values(NESTED))
def test_size_agrees_with_encoding(message: Nested) -> None:
    assert 1 + size(NESTED)(message) == len(CODEC.encode(message))


def fault(raw: bytes) -> MalformedMessage | None:
    """What is wrong with these bytes; None for a message."""
    try:
        CODEC.decode(raw)
    except MalformedMessage as error:
        return error
    return None


@given(datagrams(CODEC))
def test_bytes_are_malformed_at_a_place_inside_or_those_of_their_message(raw: bytes) -> None:
    wrong = fault(raw)

    assert 0 <= wrong.offset <= len(raw) if wrong else CODEC.encode(CODEC.decode(raw)) == raw


@pytest.mark.slow
def test_the_strategies_reach_every_reason_and_every_message() -> None:
    seen: set[object] = set()

    @settings(max_examples=1300)
    @given(datagrams(CODEC))
    def look(raw: bytes) -> None:
        wrong = fault(raw)
        seen.add(wrong.reason if wrong else type(CODEC.decode(raw)))

    look()

    assert seen == {"truncated", "trailing", "bad_type", "bad_length", Items, Nested, Nothing, Ranks}
