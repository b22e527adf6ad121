"""Scuttlebutt's datagrams are those of their messages, to the byte; any messages are in `tests/spec/test_codecs.py`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.any_messages import MESSAGES

from peerproof.conformance.fuzz.strategies import datagrams
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.scuttlebutt import MESSAGE, DigestEntry, Message
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
