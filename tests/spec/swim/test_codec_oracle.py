"""
The same bytes as transit-python2 reads and writes them, an implementation that nobody here has written.

It is asked about messages, and about values that it handles: no integers as keys of maps, no lists, and nothing that nests
deep, because it reads the first element of each array twice.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from tests.support.any_messages import MESSAGES
from transit.reader import Reader as OtherReader  # type: ignore[import-untyped]  # it has no types
from transit.transit_types import Boolean, Keyword  # type: ignore[import-untyped]
from transit.writer import Writer as OtherWriter  # type: ignore[import-untyped]

from peerproof.spec.swim import MESSAGE, Message
from peerproof.spec.swim.transit import Pairs, Reader, Writer, escape, unescape, unpack


def other_read(data: bytes) -> Any:
    """What transit-python2 makes of bytes."""
    return OtherReader("msgpack").read(io.BytesIO(data))


def other_written(value: Any) -> bytes:
    """The bytes that transit-python2 makes of a value."""
    out = io.BytesIO()
    OtherWriter(out, "msgpack").write(value)
    return out.getvalue()


def theirs(value: Any) -> Any:
    """A value of ours as one of theirs."""
    if isinstance(value, Pairs):
        return {theirs(key): theirs(item) for key, item in value}
    if isinstance(value, list):
        return tuple(map(theirs, value))
    if not isinstance(value, str):
        return value
    if value[:2] == "~:":
        return Keyword(value[2:])
    return UUID(value[2:]) if value[:2] == "~u" else unescape(value)


def ours(value: Any) -> Any:
    """A value of theirs as one of ours."""
    if isinstance(value, Mapping):
        return Pairs((ours(key), ours(item)) for key, item in value.items())
    if isinstance(value, (tuple, list)):
        return list(map(ours, value))
    if isinstance(value, Boolean):
        return value.v
    if isinstance(value, Keyword):
        return f"~:{value.str}"
    if isinstance(value, UUID):
        return f"~u{value}"
    return escape(value) if isinstance(value, str) else value


def read(data: bytes) -> Any:
    """What we make of bytes, before it is a message."""
    return Reader().value(unpack(data))


def wrote(value: Any) -> bytes:
    """The bytes that we make of a value."""
    writer = Writer()
    writer.value(value)
    return bytes(writer.out)


STRINGS = st.text("ab~^`:#", max_size=8) | st.text(max_size=8)
KEYWORDS = st.text("abc-/", min_size=1, max_size=6).map("~:{}".format)
UUIDS = st.uuids().map("~u{}".format)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
SCALARS = st.one_of(INTEGERS, st.floats(allow_nan=False, allow_infinity=False), st.none(), STRINGS.map(escape), KEYWORDS, UUIDS)
KEYS = STRINGS.map(escape) | KEYWORDS


def pairs(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Maps; with one entry at least two others, because a map of one may be a tagged value."""
    return st.dictionaries(KEYS, items, max_size=4).map(lambda plain: Pairs(plain.items()))


VALUES = st.lists(
    st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | pairs(inner), max_leaves=12), min_size=1, max_size=4
)


@given(VALUES)
def test_both_write_any_value_as_the_same_bytes_and_read_these_as_the_same(value: Any) -> None:
    data = wrote(value)

    assert other_written(theirs(value)) == data
    assert ours(other_read(data)) == read(data) == value


@given(MESSAGES["swim"])
def test_any_message_of_ours_is_read_by_the_other_and_written_back_as_it_was(message: Message) -> None:
    data = MESSAGE.encode(message)

    assert ours(other_read(data)) == read(data)
    assert other_written(other_read(data)) == data
