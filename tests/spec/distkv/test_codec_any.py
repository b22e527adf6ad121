"""DistKV's events, whatever is drawn: messages go through bytes and plain data, and any bytes are a message or refused."""

from __future__ import annotations

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import Chain, Element, is_change_chain
from peerproof.spec.distkv.codec import MESSAGE, of_payload, payload
from peerproof.spec.distkv.messages import Info, Message, Ping, Update
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.ranges import TICK_MAX, of_ticks
from peerproof.spec.distkv.serf_events import TYPES
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import pack, unpack

from .test_codec import SAMPLES

NODES = st.text(min_size=1, max_size=2).map(NodeId)
TICKS = st.integers(1, 5) | st.sampled_from([2**31, 2**53 + 1, TICK_MAX])
SENDERS = st.builds(Element, NODES, TICKS)
ELEMENTS = st.builds(Element, NODES, TICKS | st.sampled_from([0, None]))
CHAINED = st.builds(Chain, st.lists(ELEMENTS, min_size=1, max_size=5).map(tuple), st.booleans())
CHANGED = st.builds(Chain, st.lists(st.builds(Element, NODES, TICKS), min_size=1, max_size=5).map(tuple), st.booleans())
SETS = st.dictionaries(NODES, st.sets(TICKS, min_size=1, max_size=5).map(of_ticks), max_size=3).map(Table)
PLAINS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=5,
)
PATHS = st.lists(st.text(max_size=2) | st.binary(max_size=2) | st.integers(0, 300), max_size=3).map(path_of)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(
        Update,
        CHANGED.filter(is_change_chain),
        PATHS,
        PLAINS.map(lambda plain: value_of_plain({"v": plain})),
        TICKS,
        st.none() | SENDERS,
    ),
    st.builds(Ping, CHAINED, TICKS),
    st.builds(
        Info,
        st.builds(lambda head, rest: Chain((head, *rest.elements), rest.cut), SENDERS, CHAINED),
        TICKS,
        SETS,
        st.dictionaries(NODES, TICKS, max_size=3).map(Table),
        SETS,
        st.none() | CHAINED,
    ),
)


@given(MESSAGES)
def test_any_message_is_read_as_it_was_written_and_the_library_reads_the_same(message: Message) -> None:
    data = payload(message)

    assert MESSAGE.decode(MESSAGE.encode(message)) == message
    assert MESSAGE.value(MESSAGE.plain(message)) == message
    assert msgpack.packb(msgpack.unpackb(data, strict_map_key=False)) == data
    assert pack(unpack(data)) == pack(unpack(msgpack.packb(msgpack.unpackb(data, strict_map_key=False))))


@given(st.binary(max_size=60))
def test_any_payload_is_a_message_or_refused(data: bytes) -> None:
    for kind in TYPES:
        try:
            message = of_payload(kind, data)
        except MalformedMessage:
            continue
        assert of_payload(kind, payload(message)) == message


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_a_message_with_some_bytes_changed_is_another_message_or_none(name: str, data: st.DataObject) -> None:
    changed = bytearray(MESSAGE.encode(SAMPLES[name][1]))
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))

    try:
        message = MESSAGE.decode(bytes(changed))
    except MalformedMessage:
        return

    assert MESSAGE.decode(MESSAGE.encode(message)) == message
    assert MESSAGE.value(MESSAGE.plain(message)) == message
