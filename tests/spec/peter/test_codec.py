"""Peter's messages as bytes: those of the specification both ways, and whatever else is read, reading ends."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spec.wendy.nodes import h
from tests.spec.wendy.test_codec_any import HEADERS, JSON
from tests.spec.wendy.test_codec_any import MESSAGES as WENDYS

from peerproof.spec import wendy
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.peter import MESSAGE, Message, NotifyMessage, PublishMessage, SubscribeMessage, UnsubscribeMessage
from peerproof.spec.peter.messages import lift_message, lower_message
from peerproof.spec.wendy import Header, Node, Versions
from peerproof.spec.wendy.codec import ENVELOPE
from peerproof.spec.wendy.messages import MOST_CREDENTIALS, MOST_VALUE

from .nodes import T

SENDER = Node(h("40"), "10.0.0.1", "203.0.113.1", 8080, "eu")
HEADER = Header(SENDER, T, Versions(1, 1, 1))


def envelope(purpose: int, value: str, hop: int = 0) -> str:
    """A message as it is written."""
    return (
        f'{{"Purpose":{purpose},"Sender":{{"LocalIP":"10.0.0.1","GlobalIP":"203.0.113.1","Port":8080,"Region":"eu"'
        f',"ID":"4{"0" * 31}"}},"Key":"776561746865722f6c6f6e646f6e2f74","Value":{value},"Credentials":null'
        f',"LSVersion":1,"RTVersion":1,"NSVersion":1,"Hop":{hop}}}\n'
    )


def test_a_value_that_is_not_looked_at_must_still_be_one() -> None:
    """[PA-24, WA-63]"""
    with pytest.raises(MalformedMessage):
        MESSAGE.decode(envelope(17, '"*"').encode())


def test_what_is_too_large_is_neither_written_nor_read() -> None:
    """[WA-66]"""
    large = PublishMessage(HEADER, b"x" * MOST_VALUE)
    assert MESSAGE.decode(MESSAGE.encode(large)) == large

    with pytest.raises(NotEnabled):
        MESSAGE.encode(replace(large, value=large.value + b"x"))
    with pytest.raises(NotEnabled):
        MESSAGE.encode(SubscribeMessage(replace(HEADER, credentials=b"x" * (MOST_CREDENTIALS + 1))))


def as_peters(message: Any) -> Message:
    """A message of Wendy as Peter names it."""
    return lift_message(message)


EVENTS = st.binary(max_size=40)
MESSAGES: st.SearchStrategy[Any] = (
    st.sampled_from([SubscribeMessage, UnsubscribeMessage]).flatmap(lambda kind: st.builds(kind, HEADERS))
    | st.sampled_from([PublishMessage, NotifyMessage]).flatmap(lambda kind: st.builds(kind, HEADERS, EVENTS))
    | WENDYS.map(as_peters)
)


@given(MESSAGES)
def test_what_is_written_is_read_again(message: Any) -> None:
    assert MESSAGE.decode(MESSAGE.encode(message)) == message
    assert MESSAGE.value(json.loads(json.dumps(MESSAGE.plain(message)))) == message
    assert lift_message(lower_message(message)) == message
    assert wendy.MESSAGE.decode(MESSAGE.encode(message)) == lower_message(message)


def outcome(data: bytes) -> Message | MalformedMessage:
    """The message, or why it is none."""
    try:
        return MESSAGE.decode(data)
    except MalformedMessage as error:
        return error


def read(data: bytes) -> None:
    """The bytes are a message or none, and nothing else happens."""
    found = outcome(data)
    if isinstance(found, MalformedMessage):
        assert 0 <= found.offset <= len(data)
    else:
        assert MESSAGE.decode(MESSAGE.encode(found)) == found


@given(st.binary(max_size=200) | st.text('[]{}",:0123456789.eE+-\\untfrulas ', max_size=200).map(str.encode))
def test_any_bytes_are_a_message_or_none(data: bytes) -> None:
    read(data)


@given(MESSAGES, st.sampled_from(ENVELOPE), JSON | st.integers(15, 22))
def test_any_member_may_be_anything(message: Any, name: str, value: Any) -> None:
    read(json.dumps({**json.loads(MESSAGE.encode(message)), name: value}).encode())


@given(MESSAGES, st.data())
def test_a_message_with_a_byte_changed_is_another_or_none(message: Any, data: st.DataObject) -> None:
    written = bytearray(MESSAGE.encode(message))
    written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))

    read(bytes(written))
