"""What Wendy's messages cannot hold, and texts that are made to be slow; any messages are in `tests/spec/test_codecs.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.any_messages import MESSAGES
from tests.support.wendy_messages import HEADER, OTHER

from peerproof.spec import peter
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.wendy import MESSAGE, Application, Entry, Header, Id, LeafSet, Node, NodeJoin, NodeRace, Tables, Versions
from peerproof.spec.wendy.codec import ENVELOPE, MOST_BYTES
from peerproof.spec.wendy.messages import MOST_CREDENTIALS, MOST_HOPS, MOST_VALUE, MOST_VERSION

CELL = (Entry(8, 15, OTHER),)


def test_whatever_is_read_can_be_sent_on() -> None:
    """Neither the largest tables nor the largest value make a message too large, whatever hosts and regions look like. [WA-66]"""
    wide = Node(Id(2**128 - 1), "\x00" * 42, "<" * 42, 65535, "h" * 255)
    places = [Entry(row, column, wide) for row in range(32) for column in range(16)]
    full = Tables(tuple(places), LeafSet((wide,) * 16, (wide,) * 16), (wide,) * 32)
    header = Header(wide, wide.id, Versions(*[MOST_VERSION] * 3), b"x" * MOST_CREDENTIALS, MOST_HOPS)

    for message in (NodeRace(header, full), Application(header, 255, b"x" * MOST_VALUE)):
        written = MESSAGE.encode(message)
        assert len(written) <= MOST_BYTES
        assert MESSAGE.decode(written) == message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(15, 22) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=9,
)


@pytest.mark.slow
@given(MESSAGES["peter"], st.sampled_from(ENVELOPE), JSON)
def test_any_member_may_be_anything(message: Any, name: str, value: Any) -> None:
    """A message with one member replaced is another message, or none; nothing else happens. Peter's are Wendy's and more."""
    codecs: list[Any] = [MESSAGE, peter.MESSAGE]
    for codec in codecs:
        data = json.dumps({**json.loads(peter.MESSAGE.encode(message)), name: value}).encode()
        try:
            read = codec.decode(data)
        except MalformedMessage:
            continue
        assert codec.decode(codec.encode(read)) == read


def of_size(shape: str, size: int) -> bytes:
    """A text of about this size that is made to be slow to read."""
    join = MESSAGE.encode(NodeJoin(HEADER)).decode()
    more: dict[str, str] = {
        "digits": f'"x":{"9" * size}',
        "fraction": f'"x":0.{"9" * size}e{"9" * 9}',
        "arrays": f'"x":[{"[]," * (size // 3)}[]]',
        "members": f'"x":{{{",".join(f"{chr(34)}{number}{chr(34)}:{{}}" for number in range(size // 13))}}}',
        "same names": ",".join(['"x":1'] * (size // 6)),
    }
    if shape in more:
        return join.replace('"Hop":0', f'"Hop":0,{more[shape]}').encode()
    whole = {
        "backslashes": join.replace('"eu"', '"' + "\\\\" * (size // 2) + '"'),
        "base64": join.replace('"Value":""', f'"Value":"{"A" * (size // 4 * 4)}"'),
        "brackets": "[" * size,
        "open strings": '{"' + '\\"' * (size // 2),
    }
    return whole[shape].encode()


# shape: why a text of this shape is no message; None if it is one
SHAPES: dict[str, str | None] = {
    **dict.fromkeys(["digits", "fraction", "arrays", "members", "same names"]),
    "backslashes": "bad_value",
    "base64": "too_large",
    "brackets": "too_large",
    "open strings": "truncated",
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_largest_messages_made_to_be_slow_are_read(shape: str) -> None:
    """Each in a fraction of a second; if the time grew faster than the length, the test would run into its limit."""
    reason = None
    try:
        MESSAGE.decode(of_size(shape, MOST_BYTES - 2000))
    except MalformedMessage as refused:
        reason = refused.reason

    assert reason == SHAPES[shape]
