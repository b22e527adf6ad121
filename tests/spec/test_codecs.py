"""The codec of every protocol: messages go through bytes and plain data, and any bytes are a message or refused for a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.any_messages import IDS, MESSAGES, NODES, SPECIFICATIONS

from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.strategies import Named, datagrams, spellings, values
from peerproof.spec.distkv.chains import Element
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Form
from peerproof.spec.forms.json_text import dumps, writer
from peerproof.spec.protocols import PROTOCOLS

for_each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)

NOISE = st.binary(max_size=300) | st.text('[]{}",:0123456789.eE+-\\untfrulas ', max_size=200).map(str.encode)


def read(protocol: str, data: bytes) -> MalformedMessage | None:
    """Why these bytes are no message; what is one is written and read again."""
    codec = SPECIFICATIONS[protocol].MESSAGE
    try:
        message = codec.decode(data)
    except MalformedMessage as error:
        return error
    assert codec.decode(codec.encode(message)) == message
    assert codec.value(codec.plain(message)) == message
    return None


def is_written_as_its_plain_data(form: Form, value: Any) -> None:
    """At once as JSON text, also when some of it is remembered."""
    for sort in (False, True):
        write = writer(form, sort=sort)
        assert write(value) == write(value) == dumps(form.plain(value), sort=sort)


@pytest.mark.slow
@for_each_protocol
@given(data=st.data())
def test_any_message_is_the_same_after_bytes_and_after_plain_data(protocol: str, data: st.DataObject) -> None:
    codec, message = SPECIFICATIONS[protocol].MESSAGE, data.draw(MESSAGES[protocol])

    written = codec.encode(message)

    assert codec.decode(written) == message
    assert codec.encode(codec.decode(written)) == written
    assert codec.value(json.loads(json.dumps(codec.plain(message)))) == message
    assert codec.value(data.draw(spellings(codec.form, message))) == message
    is_written_as_its_plain_data(codec.form, message)


@pytest.mark.slow
@for_each_protocol
@given(data=st.data())
def test_any_bytes_are_a_message_or_malformed_at_a_place_inside(protocol: str, data: st.DataObject) -> None:
    codec = SPECIFICATIONS[protocol].MESSAGE

    noise = data.draw(NOISE | datagrams(codec, inputs_of(protocol).named(NODES)))
    refused = read(protocol, noise)

    if refused:
        assert 0 <= refused.offset <= len(noise)
        assert len(str(refused)) < 300


@for_each_protocol
@given(data=st.data())
def test_a_message_with_some_bytes_changed_is_another_message_or_malformed(protocol: str, data: st.DataObject) -> None:
    changed = bytearray(SPECIFICATIONS[protocol].MESSAGE.encode(data.draw(MESSAGES[protocol])))
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))

    read(protocol, bytes(changed))


@pytest.mark.slow
@for_each_protocol
@given(data=st.data())
def test_a_message_cut_anywhere_is_truncated_there_and_one_byte_more_is_left_over(protocol: str, data: st.DataObject) -> None:
    """In Scuttlebutt a datagram cut between entries is a shorter message, and what is left over begins another entry."""
    written = SPECIFICATIONS[protocol].MESSAGE.encode(data.draw(MESSAGES[protocol])).rstrip(b"\n" if is_text(protocol) else b"")
    length = data.draw(st.integers(0, len(written) - 1))

    cut, longer = read(protocol, written[:length]), read(protocol, written + b"1")

    assert longer is not None
    if protocol == "scuttlebutt":
        assert cut is None or cut.reason == "truncated"
        assert longer.reason == "truncated"
    else:
        assert cut is not None
        assert cut.reason == "truncated"
        assert cut.offset == length or (is_text(protocol) and cut.offset > length - 4)  # within a character
        assert (longer.reason, longer.offset) == ("trailing", len(written))


def is_text(protocol: str) -> bool:
    """Whether messages are JSON text, which a line feed may follow."""
    return SPECIFICATIONS[protocol].TRANSPORT == "tcp"


def fields(protocol: str) -> Named:
    """As the fuzzer draws them, and those of notices, which nobody forges."""
    named = inputs_of(protocol).named(NODES)
    return {
        **named,
        "Forwarding.next_hop": named.get("node", st.nothing()),
        "Update.topic": IDS,
        "Contradiction.change": st.builds(Element, st.sampled_from(NODES), st.integers(1, TICK_MAX)),
    }


FORMS = [(protocol, name) for protocol in PROTOCOLS for name in ("COMMAND", "TIMER", "NOTICE")]


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), FORMS)
@given(data=st.data())
def test_any_value_is_read_from_its_plain_data_however_that_is_written(protocol: str, name: str, data: st.DataObject) -> None:
    form = getattr(SPECIFICATIONS[protocol], name)
    value = data.draw(values(form, fields(protocol)))

    assert form.value(json.loads(json.dumps(form.plain(value)))) == value
    assert form.value(data.draw(spellings(form, value))) == value
    is_written_as_its_plain_data(form, value)


@pytest.mark.slow
@for_each_protocol
@given(data=st.data())
def test_any_configuration_is_the_same_after_plain_data(protocol: str, data: st.DataObject) -> None:
    form = SPECIFICATIONS[protocol].CONFIG

    for config in data.draw(inputs_of(protocol).configs(NODES)):
        assert form.value(json.loads(json.dumps(form.plain(config)))) == config


def nested(protocol: str) -> bytes:
    """More levels than anybody reads."""
    return {"swim": b"\x91", "distkv": b"\x91", "wendy": b"[", "peter": b"["}[protocol] * 1400


SWIM_PING = bytes.fromhex("9195a67e3a70696e67")
DISTKV_PING = b"\xabdistkv.ping"
JSON_JOIN = b'{"Purpose":0,"Sender":{"ID":"%s"},"Key":"%s"}' % (b"0" * 32, b"0" * 32)

#: What is no message, and for which reason; which bytes are none, vectors say.
REASONS: list[tuple[str, bytes, str]] = [
    ("scuttlebutt", b"", "truncated"),
    ("scuttlebutt", b"\x04", "bad_type"),
    ("swim", b"\x01", "bad_type"),
    ("swim", b"\x91\x90", "bad_type"),
    ("swim", b"\xc1", "bad_type"),
    ("swim", bytes.fromhex("9194a67e3a70696e67010101"), "bad_length"),
    ("swim", SWIM_PING + bytes.fromhex("01010101"), "bad_value"),
    ("swim", b"\xdd\xff\xff\xff\xff", "truncated"),
    ("distkv", b"\xa6deploy", "bad_type"),
    ("distkv", b"\x07", "bad_type"),
    ("distkv", DISTKV_PING + b"\x91\x01", "bad_type"),
    ("distkv", DISTKV_PING + b"\x80", "bad_value"),
    ("wendy", b"[]", "bad_type"),
    ("wendy", b" \n", "truncated"),
    ("wendy", b'{"Hop":01}', "bad_value"),
    ("wendy", JSON_JOIN[:-1] + b',"Hop":-1}', "bad_value"),
    ("wendy", JSON_JOIN + b" " * 2**21, "too_large"),
    ("peter", JSON_JOIN.replace(b":0,", b":17,", 1)[:-1] + b',"Value":"*"}', "bad_value"),
    *((protocol, nested(protocol), "too_large") for protocol in ("swim", "wendy", "peter")),
]


@pytest.mark.parametrize(("protocol", "data", "reason"), REASONS, ids=lambda value: ascii(value[:30]))
def test_what_is_no_message_is_refused_for_a_reason(protocol: str, data: bytes, reason: str) -> None:
    refused = read(protocol, data)

    assert refused is not None
    assert refused.reason == reason


@pytest.mark.parametrize("size", [1432, 65_507])
@pytest.mark.parametrize("protocol", ["swim", "distkv", "scuttlebutt"])
@pytest.mark.parametrize(
    "piece", ["91", "81", "dcffff", "de7fff00", "dd0000ff00", "a25e30", "a57e3a616263", "92a67e236c697374", "00"]
)
def test_a_datagram_made_of_one_piece_alone_is_malformed(protocol: str, piece: str, size: int) -> None:
    """Nothing that promises more than there is takes memory for it: with 64 kB this would be half a gigabyte."""
    data: Any = bytes.fromhex(piece) * size

    assert read(protocol, data[:size]) is not None
