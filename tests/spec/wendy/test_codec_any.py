"""Any of Wendy's messages are read as they were written, and whatever else is read, reading ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.wendy import (
    MESSAGE,
    Application,
    Entry,
    Header,
    Heartbeat,
    Id,
    LeafSet,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    StateData,
    StateRequest,
    Tables,
    Versions,
)
from peerproof.spec.wendy.codec import ENVELOPE, MOST_BYTES
from peerproof.spec.wendy.messages import MOST_HOPS, MOST_VERSION

from .test_codec import SAMPLES

IDS = st.integers(0, 2**128 - 1).map(Id)
TEXTS = st.text(max_size=60)
NODES = st.builds(Node, IDS, TEXTS, TEXTS, st.integers(0, 65535), TEXTS)
CELLS = st.dictionaries(st.tuples(st.integers(0, 31), st.integers(0, 15)), NODES, max_size=8)
TABLES = st.builds(
    Tables,
    st.none() | CELLS.map(lambda cells: tuple(Entry(*cell, cells[cell]) for cell in sorted(cells))),
    st.none() | st.builds(LeafSet, *[st.lists(NODES, max_size=4).map(tuple)] * 2),
    st.none() | st.lists(NODES, max_size=4).map(tuple),
)
PLACES = [st.frozensets(st.integers(0, most), max_size=4).map(lambda places: tuple(sorted(places))) for most in (31, 15)]
MASKS = st.builds(Mask, st.booleans(), st.booleans(), st.booleans(), *PLACES)
VERSIONS = st.builds(Versions, *[st.integers(0, MOST_VERSION)] * 3)
HEADERS = st.builds(Header, NODES, IDS, VERSIONS, st.none() | st.binary(max_size=9), st.integers(0, MOST_HOPS))
MESSAGES = (
    st.builds(Application, HEADERS, st.integers(8, 255), st.none() | st.binary(max_size=99))
    | st.sampled_from([NodeJoin, NodeExit, Heartbeat]).flatmap(lambda kind: st.builds(kind, HEADERS))
    | st.sampled_from([StateRequest, NodeRepair]).flatmap(lambda kind: st.builds(kind, HEADERS, MASKS))
    | st.sampled_from([NodeRace, NodeAnnouncement]).flatmap(lambda kind: st.builds(kind, HEADERS, TABLES))
    | st.builds(StateData, HEADERS, TABLES, st.booleans())
)


@given(MESSAGES)
def test_what_is_written_is_read_again(message: Message) -> None:
    data = MESSAGE.encode(message)

    assert MESSAGE.decode(data) == message
    assert MESSAGE.value(json.loads(json.dumps(MESSAGE.plain(message)))) == message
    assert json.loads(data)["Hop"] == message.header.hop


def outcome(data: bytes) -> Message | MalformedMessage:
    """The message, or why it is none."""
    try:
        return MESSAGE.decode(data)
    except MalformedMessage as error:
        return error


@given(st.binary(max_size=200) | st.text('[]{}",:0123456789.eE+-\\untfrulas ', max_size=200).map(str.encode))
def test_any_bytes_are_a_message_or_none(data: bytes) -> None:
    read = outcome(data)

    if isinstance(read, MalformedMessage):
        assert 0 <= read.offset <= len(data)
    else:
        assert MESSAGE.decode(MESSAGE.encode(read)) == read


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=9,
)


@given(MESSAGES, st.sampled_from(ENVELOPE), JSON)
def test_any_member_may_be_anything(message: Message, name: str, value: Any) -> None:
    """A message with one member replaced is another message, or none; nothing else happens."""
    data = json.dumps({**json.loads(MESSAGE.encode(message)), name: value}).encode()

    read = outcome(data)

    assert isinstance(read, MalformedMessage) or MESSAGE.decode(MESSAGE.encode(read)) == read


@given(MESSAGES, st.data())
def test_a_message_with_a_byte_changed_is_another_or_none(message: Message, data: st.DataObject) -> None:
    written = bytearray(MESSAGE.encode(message))
    written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))

    read = outcome(bytes(written))

    assert isinstance(read, MalformedMessage) or MESSAGE.decode(MESSAGE.encode(read)) == read


def of_size(shape: str, size: int) -> bytes:
    """A text of about this size that is made to be slow to read."""
    join = SAMPLES["join"][1]
    match shape:
        case "digits":
            return join.replace('"Hop":0', f'"Hop":0,"x":{"9" * size}').encode()
        case "fraction":
            return join.replace('"Hop":0', f'"Hop":0,"x":0.{"9" * size}e{"9" * 9}').encode()
        case "arrays":
            return join.replace('"Hop":0', f'"Hop":0,"x":[{"[]," * (size // 3)}[]]').encode()
        case "members":
            members = ",".join(f'"{number}":{{}}' for number in range(size // 13))
            return join.replace('"Hop":0', f'"Hop":0,"x":{{{members}}}').encode()
        case "same names":
            return join.replace('"Hop":0', f'"Hop":0,{",".join([chr(34) + "x" + chr(34) + ":1"] * (size // 6))}').encode()
        case "backslashes":
            return join.replace('"eu"', '"' + "\\\\" * (size // 2) + '"').encode()
        case "base64":
            return join.replace('"Value":""', f'"Value":"{"A" * (size // 4 * 4)}"').encode()
        case "brackets":
            return b"[" * size
        case "open strings":
            return b'{"' + b'\\"' * (size // 2)
        case _:
            raise ValueError(shape)


# shape: why a text of this shape is no message; None if it is one
SHAPES: dict[str, str | None] = {
    "digits": None,
    "fraction": None,
    "arrays": None,
    "members": None,
    "same names": None,
    "backslashes": "bad_value",
    "base64": "too_large",
    "brackets": "too_large",
    "open strings": "truncated",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_largest_messages_made_to_be_slow_are_read(shape: str) -> None:
    """Each in a fraction of a second; if the time grew faster than the length, the test would run into its limit."""
    read = outcome(of_size(shape, MOST_BYTES - 2000))

    assert (read.reason if isinstance(read, MalformedMessage) else None) == SHAPES[shape]
