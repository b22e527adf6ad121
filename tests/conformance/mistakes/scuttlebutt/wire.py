"""Mistakes in what bytes mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.scuttlebutt import Wrong

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt.messages import DigestRequest, DigestResponse


class LittleEndian(Wrong):
    """Sends versions least significant byte first, and reads them so."""

    caught_by: ClassVar = ("digest-request-most-significant-byte-first", "delta-document-example")

    def encode(self, message: Any) -> bytes:
        """Turns versions around."""
        return super().encode(_turned(message))

    def decode(self, data: bytes) -> Any:
        """Turns versions around."""
        return _turned(super().decode(data))


def _turned(message: Any) -> Any:
    def turned(version: int) -> int:
        return int.from_bytes(version.to_bytes(8, "big"), "little")

    return replace(message, entries=tuple(entry._replace(version=turned(entry.version)) for entry in message.entries))


class VersionsAreDoubles(Wrong):
    """Keeps versions as floating-point numbers."""

    caught_by: ClassVar = (
        "digest-request-version-above-2-53",
        "delta-version-above-2-53",
        "versions-around-2-53-are-told-apart",
        "versions-above-2-53-replace-one-another",
        "difference-beyond-2-53-keeps-its-last-bit",
    )

    def decode(self, data: bytes) -> Any:
        """Loses the last bits."""
        message = super().decode(data)
        entries = tuple(entry._replace(version=min(int(float(entry.version)), 2**64 - 1)) for entry in message.entries)
        return replace(message, entries=entries)


class SizesAreSigned(Wrong):
    """Takes a size byte above 127 for a negative one."""

    caught_by: ClassVar = (
        "digest-request-address-of-128",
        "digest-request-address-of-255",
        "delta-largest-key",
        "delta-largest-value",
        "delta-largest-entry",
        "peer-with-the-largest-address",
    )

    def decode(self, data: bytes) -> Any:
        """Refuses long strings."""
        message = super().decode(data)
        if any(len(octets(part)) > 127 for entry in message.entries for part in entry[:-1]):
            raise MalformedMessage("bad_length", 1, "a negative size")
        return message


class SizesCountLetters(Wrong):
    """Puts the number of letters in front of a string instead of the number of bytes."""

    caught_by: ClassVar = ("delta-of-cyrillic", "delta-of-four-byte-letters")

    def encode(self, message: Any) -> bytes:
        """Miscounts."""
        out = bytearray(super().encode(replace(message, entries=())))
        for entry in message.entries:
            for part in entry[:-1]:
                out += bytes((len(part),)) + octets(part)
            out += entry.version.to_bytes(8, "big")
        return bytes(out)


class StringsAreUnicode(Wrong):
    """Puts a replacement character where bytes are not UTF-8."""

    caught_by: ClassVar = (
        "digest-request-address-not-utf-8",
        "digest-request-address-encoded-surrogate",
        "delta-key-not-utf-8",
        "delta-value-not-utf-8",
        "peer-with-an-address-that-is-not-utf-8",
        "strings-that-are-not-utf-8-are-stored",
    )

    def decode(self, data: bytes) -> Any:
        """Replaces."""
        message = super().decode(data)
        return replace(
            message, entries=tuple(_each_text(entry, lambda raw: raw.decode(errors="replace")) for entry in message.entries)
        )


class StringsEndAtZero(Wrong):
    """Keeps strings up to their first zero byte."""

    caught_by: ClassVar = (
        "digest-request-address-with-zero-byte",
        "delta-value-that-looks-like-an-entry",
    )

    def decode(self, data: bytes) -> Any:
        """Cuts strings."""
        message = super().decode(data)
        return replace(
            message,
            entries=tuple(
                _each_text(entry, lambda raw: raw.split(b"\0")[0].decode(errors="surrogateescape")) for entry in message.entries
            ),
        )


def _each_text(entry: Any, change: Callable[[bytes], str]) -> Any:
    return type(entry)(*(change(octets(part)) for part in entry[:-1]), entry.version)


class EmptyStringsAreRefused(Wrong):
    """Takes an empty string for a malformed one."""

    caught_by: ClassVar = (
        "digest-request-empty-address",
        "delta-of-empty-strings",
        "delta-empty-value",
        "peer-with-an-empty-address",
        "empty-key-and-value-are-stored",
    )

    def decode(self, data: bytes) -> Any:
        """Refuses empty strings."""
        message = super().decode(data)
        if any(not part for entry in message.entries for part in entry[:-1]):
            raise MalformedMessage("bad_length", 1, "an empty string")
        return message


class EmptyListsAreRefused(Wrong):
    """Takes a type byte alone for a truncated message."""

    caught_by: ClassVar = (
        "digest-request-empty",
        "digest-response-empty",
        "delta-empty",
    )

    def decode(self, data: bytes) -> Any:
        """Refuses empty lists."""
        if len(data) == 1:
            raise MalformedMessage("truncated", 1, "no entries")
        return super().decode(data)


class EntriesAreAMap(Wrong):
    """Keeps the entries of a message in a map, so that they are sorted and each is there once."""

    caught_by: ClassVar = (
        "digest-request-keeps-order",
        "digest-request-lists-an-address-twice",
        "delta-says-a-key-twice",
        "delta-of-several-peers",
        "address-listed-twice-is-asked-for-twice",
        "address-listed-twice-is-answered-twice",
        "address-listed-behind-and-ahead",
    )

    def decode(self, data: bytes) -> Any:
        """Loses the order, and what is there twice."""
        message = super().decode(data)
        return replace(message, entries=tuple({entry[:-2] or entry[:-1]: entry for entry in sorted(message.entries)}.values()))


class OneEntryAMessage(Wrong):
    """Reads the first entry of a message only."""

    caught_by: ClassVar = ("delta-of-two", "digest-response-of-two")

    def decode(self, data: bytes) -> Any:
        """Loses the rest."""
        message = super().decode(data)
        return replace(message, entries=message.entries[:1])


class ResponsesAreRequests(Wrong):
    """Does not tell the two kinds of digest apart."""

    caught_by: ClassVar = ("digest-response-of-two", "response-ahead-gets-no-digest")

    def decode(self, data: bytes) -> Any:
        """Makes a request of both."""
        message = super().decode(data)
        return DigestRequest(message.entries) if isinstance(message, DigestResponse) else message


class KeepsWhatItCouldRead(Wrong):
    """Takes the whole entries of a malformed datagram for a message."""

    caught_by: ClassVar = (
        "truncate-digest-response",
        "reject-version-of-nine-bytes",
        "reject-two-messages-in-one-datagram",
        "malformed-delta-is-dropped-whole",
        "malformed-digest-is-dropped-whole",
    )

    def decode(self, data: bytes) -> Any:
        """Drops the end."""
        for end in range(len(data), 0, -1):
            try:
                return super().decode(data[:end])
            except MalformedMessage:
                continue
        return super().decode(data)


class UnknownTypesAreDigests(Wrong):
    """Has a default where it should refuse."""

    caught_by: ClassVar = (
        "reject-type-0",
        "reject-type-4",
        "reject-type-4-with-a-digest",
        "unknown-type-is-dropped",
    )

    def decode(self, data: bytes) -> Any:
        """Takes everything that is no delta for a request."""
        return super().decode(b"\1" + data[1:] if data[:1] not in (b"\2", b"\3") else data)


class EmptyDatagramsAreDigests(Wrong):
    """Reads a zero where there is no type byte, and takes it for a request."""

    caught_by: ClassVar = ("reject-empty-datagram", "empty-datagram-is-dropped")

    def decode(self, data: bytes) -> Any:
        """Makes something of nothing."""
        return super().decode(data or b"\1")


class VersionsAreSigned(Wrong):
    """Takes versions with the top bit set for negative ones, and refuses them."""

    caught_by: ClassVar = (
        "digest-request-version-with-the-top-bit",
        "digest-response-largest-version",
        "delta-largest-version",
        "versions-have-no-sign",
        "difference-has-no-sign",
        "largest-version-is-stored",
        "version-with-the-top-bit-replaces",
    )

    def decode(self, data: bytes) -> Any:
        """Refuses large versions."""
        message = super().decode(data)
        if any(entry.version >= 2**63 for entry in message.entries):
            raise MalformedMessage("bad_value", 1, "a negative version")
        return message


class VersionsStartAt1(Wrong):
    """Takes version 0 for a missing one, and refuses it."""

    caught_by: ClassVar = ("digest-request-version-0", "unknown-peer-at-version-0-is-stored")

    def decode(self, data: bytes) -> Any:
        """Refuses 0."""
        message = super().decode(data)
        if not all(entry.version for entry in message.entries):
            raise MalformedMessage("bad_value", 1, "no version")
        return message


class PaddingInFront(Wrong):
    """Skips zero bytes in front of a message."""

    caught_by: ClassVar = ("reject-type-0-with-a-delta",)

    def decode(self, data: bytes) -> Any:
        """Skips them."""
        return super().decode(data.lstrip(b"\0") or data)
