"""Scuttlebutt's datagrams are those of their messages, to the byte; any messages are in `tests/spec/test_codecs.py`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spec.any_messages import MESSAGES

from peerproof.conformance.fuzz.strategies import datagrams
from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.scuttlebutt import CONFIG, MESSAGE, Config, Delta, DeltaEntry, Detector, DigestEntry, Message
from peerproof.spec.scuttlebutt.codec import delta_entry_size, digest_entry_size


@given(MESSAGES["scuttlebutt"])
def test_a_datagram_cut_between_entries_is_a_shorter_message(message: Message) -> None:
    """The sizes of entries say where that is."""
    raw, end = MESSAGE.encode(message), 1

    for count, entry in enumerate(message.entries):
        assert MESSAGE.decode(raw[:end]).entries == message.entries[:count]
        end += digest_entry_size(entry) if isinstance(entry, DigestEntry) else delta_entry_size(entry)
    assert end == len(raw)


@given(st.binary(max_size=2000) | datagrams(MESSAGE))
def test_any_bytes_are_a_message_of_these_very_bytes_or_malformed(raw: bytes) -> None:
    try:
        message = MESSAGE.decode(raw)
    except MalformedMessage:
        return
    assert MESSAGE.encode(message) == raw


@pytest.mark.parametrize(
    "entry", [("é" * 128, "k", "v", 1), ("a", "é" * 128, "v", 1), ("a", "k", "é" * 128, 1)], ids=["addr", "key", "value"]
)
def test_a_string_of_256_bytes_cannot_be_encoded(entry: tuple[str, str, str, int]) -> None:
    with pytest.raises(NotEnabled) as caught:
        MESSAGE.encode(Delta((DeltaEntry(NodeId(entry[0]), *entry[1:]),)))

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


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        *((Config, {"interval": wrong}) for wrong in (0, -1)),
        *((Config, {"max_payload": wrong}) for wrong in (0, 65_508)),
        *((Detector, fields) for fields in ({"window": 0}, {"bootstrap": 0}, {"critical": -1}, {"down": -1})),
    ],
    ids=str,
)
def test_a_configuration_made_in_python_has_the_same_bounds(kind: type[Any], fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        kind(**fields)
