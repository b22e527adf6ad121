"""Mistakes in what bytes mean, and those that a language makes by itself: in JavaScript they are the usual way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, around, hearing, reading, refusing

from peerproof.spec.core import Pick
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt.messages import Delta, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.state import State

wrong = Variants(__name__, Wrong)
#: What every object has there.
_OF_OBJECTS = ("__proto__", "constructor")


def _turned(message: Any) -> Any:
    def turned(version: int) -> int:
        return int.from_bytes(version.to_bytes(8, "big"), "little")

    return replace(message, entries=tuple(entry._replace(version=turned(entry.version)) for entry in message.entries))


@wrong("encode", "delta-of-cyrillic delta-of-four-byte-letters")
def SizesCountLetters(right: Any, message: Any) -> Any:
    """Puts the number of letters in front of a string instead of the number of bytes."""
    out = bytearray(right(replace(message, entries=())))
    for entry in message.entries:
        for part in entry[:-1]:
            out += bytes((len(part),)) + octets(part)
        out += entry.version.to_bytes(8, "big")
    return bytes(out)


@wrong.after("decode", "digest-request-address-with-zero-byte delta-value-that-looks-like-an-entry")
def StringsEndAtZero(message: Any, data: bytes) -> Any:
    """Keeps strings up to their first zero byte."""
    return replace(
        message,
        entries=tuple(
            _each_text(entry, lambda raw: raw.split(b"\0")[0].decode(errors="surrogateescape")) for entry in message.entries
        ),
    )


def _each_text(entry: Any, change: Callable[[bytes], str]) -> Any:
    return type(entry)(*(change(octets(part)) for part in entry[:-1]), entry.version)


@wrong("decode", "digest-request-empty digest-response-empty delta-empty")
def EmptyListsAreRefused(right: Any, data: bytes) -> Any:
    """Takes a type byte alone for a truncated message."""
    if len(data) == 1:
        raise MalformedMessage("truncated", 1, "no entries")
    return right(data)


@wrong(
    "decode",
    "truncate-digest-response reject-version-of-nine-bytes reject-two-messages-in-one-datagram "
    "malformed-delta-is-dropped-whole malformed-digest-is-dropped-whole",
)
def KeepsWhatItCouldRead(right: Any, data: bytes) -> Any:
    """Takes the whole entries of a malformed datagram for a message."""
    for end in range(len(data), 0, -1):
        try:
            return right(data[:end])
        except MalformedMessage:
            continue
    return right(data)


@wrong.after("decode", "delta-of-a-byte-order-mark")
def ByteOrderMarksAreEaten(message: Any, data: bytes) -> Any:
    """Takes a byte order mark at the beginning of a text for a remark about the text."""
    if not isinstance(message, Delta):
        return message
    return Delta(
        tuple(
            entry._replace(key=entry.key.removeprefix("\ufeff"), value=entry.value.removeprefix("\ufeff"))
            for entry in message.entries
        )
    )


@wrong("step", "round-trip-from-a-digest-at-0")
def NoughtIsNoTime(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes a digest that was sent at the time 0 for none."""
    known = {addr: replace(known, digest_sent=known.digest_sent or None) for addr, known in state.liveness.items()}
    return right(replace(state, liveness=state.liveness.put(known)), event, pick)


wrong |= {
    # Finds whatever every object has in the store too, and so takes such a peer for known, at no version.
    "ObjectsAreStores: words-of-a-language-are-addresses": hearing(
        (DigestRequest, DigestResponse),
        lambda digest, _: replace(digest, entries=tuple(entry for entry in digest.entries if entry.addr not in _OF_OBJECTS)),
    ),
    # Keeps versions as floating-point numbers.
    "VersionsAreDoubles: digest-request-version-above-2-53 delta-version-above-2-53 versions-around-2-53-are-told-apart "
    "versions-above-2-53-replace-one-another difference-beyond-2-53-keeps-its-last-bit": reading(
        lambda message: replace(
            message,
            entries=tuple(entry._replace(version=min(int(float(entry.version)), 2**64 - 1)) for entry in message.entries),
        )
    ),
    # Takes a size byte above 127 for a negative one.
    "SizesAreSigned: digest-request-address-of-128 digest-request-address-of-255 delta-largest-key delta-largest-value "
    "delta-largest-entry peer-with-the-largest-address": refusing(
        lambda message, _: any(len(octets(part)) > 127 for entry in message.entries for part in entry[:-1])
    ),
    # Puts a replacement character where bytes are not UTF-8.
    "StringsAreUnicode: digest-request-address-not-utf-8 digest-request-address-encoded-surrogate delta-key-not-utf-8 "
    "delta-value-not-utf-8 peer-with-an-address-that-is-not-utf-8 strings-that-are-not-utf-8-are-stored": reading(
        lambda message: replace(
            message, entries=tuple(_each_text(entry, lambda raw: raw.decode(errors="replace")) for entry in message.entries)
        )
    ),
    # Takes an empty string for a malformed one.
    "EmptyStringsAreRefused: digest-request-empty-address delta-of-empty-strings delta-empty-value "
    "peer-with-an-empty-address empty-key-and-value-are-stored": refusing(
        lambda message, _: any(not part for entry in message.entries for part in entry[:-1])
    ),
    # Keeps the entries of a message in a map, so that they are sorted and each is there once.
    "EntriesAreAMap: digest-request-keeps-order digest-request-lists-an-address-twice delta-says-a-key-twice "
    "delta-of-several-peers address-listed-twice-is-asked-for-twice address-listed-twice-is-answered-twice "
    "address-listed-behind-and-ahead": reading(
        lambda message: replace(
            message, entries=tuple({entry[:-2] or entry[:-1]: entry for entry in sorted(message.entries)}.values())
        )
    ),
    # Reads the first entry of a message only.
    "OneEntryAMessage: delta-of-two digest-response-of-two": reading(
        lambda message: replace(message, entries=message.entries[:1])
    ),
    # Does not tell the two kinds of digest apart.
    "ResponsesAreRequests: digest-response-of-two response-ahead-gets-no-digest": reading(
        lambda message: DigestRequest(message.entries) if isinstance(message, DigestResponse) else message
    ),
    # Takes versions with the top bit set for negative ones, and refuses them.
    "VersionsAreSigned: digest-request-version-with-the-top-bit digest-response-largest-version delta-largest-version "
    "versions-have-no-sign difference-has-no-sign largest-version-is-stored version-with-the-top-bit-replaces": refusing(
        lambda message, _: any(entry.version >= 2**63 for entry in message.entries)
    ),
    # Takes version 0 for a missing one, and refuses it.
    "VersionsStartAt1: digest-request-version-0 unknown-peer-at-version-0-is-stored": refusing(
        lambda message, _: not all(entry.version for entry in message.entries)
    ),
    # Sends versions least significant byte first, and reads them so.
    "LittleEndian: digest-request-most-significant-byte-first delta-document-example": around(
        "encode", lambda right, message: right(_turned(message))
    )
    | around("decode", lambda right, data: _turned(right(data))),
    # Has a default where it should refuse.
    "UnknownTypesAreDigests: reject-type-0 reject-type-4 reject-type-4-with-a-digest unknown-type-is-dropped": around(
        "decode", lambda right, data: right(b"\1" + data[1:] if data[:1] not in (b"\2", b"\3") else data)
    ),
    # Reads a zero where there is no type byte, and takes it for a request.
    "EmptyDatagramsAreDigests: reject-empty-datagram empty-datagram-is-dropped": around(
        "decode", lambda right, data: right(data or b"\1")
    ),
    # Skips zero bytes in front of a message.
    "PaddingInFront: reject-type-0-with-a-delta": around("decode", lambda right, data: right(data.lstrip(b"\0") or data)),
}
__getattr__ = wrong.find
