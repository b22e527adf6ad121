"""Scuttlebutt's datagrams: both ways by table, byte by byte, and totality of decoding."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.conformance.fuzz.strategies import datagrams, spellings, values
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import U64_MAX
from peerproof.spec.scuttlebutt import (
    COMMAND,
    CONFIG,
    MESSAGE,
    NOTICE,
    TIMER,
    Config,
    Delta,
    DeltaEntry,
    Detector,
    DigestEntry,
    DigestRequest,
    DigestResponse,
    Message,
)
from peerproof.spec.scuttlebutt.codec import delta_entry_size, digest_entry_size


def digest(*entries: tuple[str, int]) -> tuple[DigestEntry, ...]:
    """Entries of a digest."""
    return tuple(DigestEntry(NodeId(addr), version) for addr, version in entries)


def pairs(*entries: tuple[str, str, str, int]) -> tuple[DeltaEntry, ...]:
    """Entries of a delta."""
    return tuple(DeltaEntry(NodeId(addr), key, value, version) for addr, key, value, version in entries)


DOC = "10.26.104.64:8119"

# id: (message, bytes): both ways
BOTH_WAYS: dict[str, tuple[Message, str]] = {
    "BC-01": (DigestRequest(digest(("n1:1", 14))), "01 046e313a31 000000000000000e"),
    "BC-02": (DigestRequest(()), "01"),
    "no entries in a response": (DigestResponse(()), "02"),
    "BC-03": (Delta(()), "03"),
    "BC-04": (DigestRequest(digest((DOC, 14))), "01 11 31302e32362e3130342e36343a38313139 000000000000000e"),
    "BC-05": (
        Delta(pairs((DOC, "status", "active", 15))),
        "031131302e32362e3130342e36343a383131390673746174757306616374697665000000000000000f",
    ),
    "BC-06": (
        Delta(pairs((DOC, "rpc.addr", "10.26.104.64:7138", 14), (DOC, "status", "active", 15))),
        "031131302e32362e3130342e36343a38313139087270632e616464721131302e32362e3130342e36343a37313338000000000000000e"
        "1131302e32362e3130342e36343a383131390673746174757306616374697665000000000000000f",
    ),
    "BC-07": (
        DigestResponse(digest(("n1:1", 1), ("n2:2", 0x0102030405060708))),
        "02 046e313a31 0000000000000001 046e323a32 0102030405060708",
    ),
    "BC-08": (DigestResponse(digest(("a", U64_MAX))), "02 0161 ffffffffffffffff"),
    "BC-09": (Delta(pairs(("", "", "", 0))), "03 00 00 00 0000000000000000"),
    "an empty address in a digest": (DigestRequest(digest(("", 0))), "01 00 0000000000000000"),
    "BC-10": (DigestRequest(digest(("\udcff\udcfe", 1))), "01 02fffe 0000000000000001"),
    "BC-11": (Delta(pairs(("a", "ключ", "é", 7))), "03 0161 08d0bad0bbd18ed187 02c3a9 0000000000000007"),
    "BC-12": (DigestRequest(digest(("x" * 255, 1))), "01 ff" + "78" * 255 + "0000000000000001"),
    "the largest delta entry": (
        Delta(pairs(("x" * 255, "y" * 255, "z" * 255, U64_MAX))),
        "03 ff" + "78" * 255 + "ff" + "79" * 255 + "ff" + "7a" * 255 + "ff" * 8,
    ),
    "one peer twice": (DigestRequest(digest(("a", 1), ("a", 2))), "01 0161 0000000000000001 0161 0000000000000002"),
    "a version whose bytes look like an entry": (
        DigestRequest(digest(("a", 0x0161_0000_0000_0000), ("b", 1))),
        "01 0161 0161000000000000 0162 0000000000000001",
    ),
    "NUL is a byte like any other": (Delta(pairs(("\x00", "\x00", "", 1))), "03 0100 0100 00 0000000000000001"),
}


def ends_of_entries(message: Message) -> set[int]:
    """Where a datagram of this message may be cut and be a message still."""
    ends = {1}
    for entry in message.entries:
        size = digest_entry_size(entry) if isinstance(entry, DigestEntry) else delta_entry_size(entry)
        ends.add(max(ends) + size)
    return ends


@pytest.mark.parametrize("case", BOTH_WAYS)
def test_a_datagram_cut_inside_an_entry_is_truncated_and_between_entries_is_a_shorter_message(case: str) -> None:
    message, raw = BOTH_WAYS[case][0], bytes.fromhex(BOTH_WAYS[case][1])
    whole = ends_of_entries(message)
    assert max(whole) == len(raw)

    for length in range(len(raw)):
        if length in whole:
            shorter = MESSAGE.decode(raw[:length])
            assert shorter.entries == message.entries[: sorted(whole).index(length)]
        else:
            with pytest.raises(MalformedMessage) as caught:
                MESSAGE.decode(raw[:length])
            assert caught.value.reason == "truncated"
            assert caught.value.offset <= length


@pytest.mark.parametrize("case", BOTH_WAYS)
def test_a_byte_too_many_is_the_begin_of_another_entry_and_truncated(case: str) -> None:
    raw = bytes.fromhex(BOTH_WAYS[case][1])

    for byte in range(256):
        with pytest.raises(MalformedMessage) as caught:
            MESSAGE.decode(raw + bytes((byte,)))
        assert caught.value.reason == "truncated"


@pytest.mark.parametrize("kind", [0, *range(4, 256)])
def test_only_1_2_and_3_are_types_of_messages(kind: int) -> None:
    for entries in (b"", bytes.fromhex("01610000000000000001")):
        with pytest.raises(MalformedMessage) as caught:
            MESSAGE.decode(bytes((kind,)) + entries)
        assert (caught.value.reason, caught.value.offset) == ("bad_type", 0)


# (bytes, reason, offset): BC-13
MALFORMED = [
    ("", "truncated", 0),
    ("00", "bad_type", 0),
    ("04", "bad_type", 0),
    ("0102 61", "truncated", 2),
    ("01 046e313a31 000000000000000e 01", "truncated", 15),
    ("03 0161 016b 0176", "truncated", 7),
    ("03 0161 016b", "truncated", 5),
    ("02 ff", "truncated", 2),
]


@pytest.mark.parametrize(("raw", "reason", "offset"), MALFORMED)
def test_a_malformed_datagram_is_refused_with_its_place(raw: str, reason: str, offset: int) -> None:
    with pytest.raises(MalformedMessage) as caught:
        MESSAGE.decode(bytes.fromhex(raw))

    assert (caught.value.reason, caught.value.offset) == (reason, offset)


@pytest.mark.parametrize(
    "entry", [("é" * 128, "k", "v", 1), ("a", "é" * 128, "v", 1), ("a", "k", "é" * 128, 1)], ids=["addr", "key", "value"]
)
def test_a_string_of_256_bytes_cannot_be_encoded(entry: tuple[str, str, str, int]) -> None:
    with pytest.raises(NotEnabled) as caught:
        MESSAGE.encode(Delta(pairs(entry)))

    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(
    ("plain", "place"),
    [
        ({"interval": 0}, "interval: "),
        ({"max_payload": 0}, "max_payload: "),
        ({"max_payload": 65_508}, "max_payload: "),
        ({"seeds": "a:1"}, "seeds: "),
        ({"seeds": ["a:1", "x" * 256]}, "seeds[1]: "),
        ({"detector": {"window": 0}}, "detector.window: "),
        ({"detector": {"bootstrap": 0}}, "detector.bootstrap: "),
        ({"detector": {"critical": -1}}, "detector.critical: "),
        ({"detector": {"down": 8.0}}, "detector.down: "),
        ({"intervall": 1}, "intervall: "),
    ],
)
def test_a_configuration_out_of_bounds_is_named_with_its_place(plain: Any, place: str) -> None:
    with pytest.raises(MalformedMessage) as caught:
        CONFIG.value(plain)

    assert caught.value.detail.startswith(place)


@pytest.mark.parametrize("fields", [{"interval": 0}, {"interval": -1}, {"max_payload": 0}, {"max_payload": 65_508}], ids=str)
def test_a_configuration_made_in_python_has_the_same_bounds(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Config(**fields)


@pytest.mark.parametrize("fields", [{"window": 0}, {"bootstrap": 0}, {"critical": -1}, {"down": -1}], ids=str)
def test_a_detector_made_in_python_has_the_same_bounds(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        Detector(**fields)


@given(values(MESSAGE.form))
def test_decoding_gives_back_what_was_encoded(message: Message) -> None:
    assert MESSAGE.decode(MESSAGE.encode(message)) == message
    assert MESSAGE.value(MESSAGE.plain(message)) == message


@given(st.binary(max_size=2000) | datagrams(MESSAGE))
def test_any_bytes_are_a_message_of_these_very_bytes_or_malformed(raw: bytes) -> None:
    try:
        message = MESSAGE.decode(raw)
    except MalformedMessage:
        return
    assert MESSAGE.encode(message) == raw


@pytest.mark.parametrize(
    "form", [MESSAGE.form, COMMAND, TIMER, NOTICE, CONFIG], ids=["message", "command", "timer", "notice", "config"]
)
@given(data=st.data())
def test_every_value_can_be_written_as_plain_data_in_several_ways(form: Any, data: st.DataObject) -> None:
    value = data.draw(values(form))

    assert form.value(form.plain(value)) == value
    assert form.value(data.draw(spellings(form, value))) == value
