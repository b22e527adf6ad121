"""Mistakes in how Transit is written and read."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgpack
from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.naive import Keyword, Pairs, Writer, written
from tests.support.variant import Variants, around, refusing

wrong = Variants(__name__, Wrong)


def writing(**definitions: Any) -> dict[str, Any]:
    """What is replaced to write with other definitions in the writer."""
    other = type("Other", (Writer,), definitions)
    return around("encode", lambda _, message: written(message, other))


@wrong(lambda function: writing(integer=function), "ack-to-an-expired-sender counters-around-63-bits")
def SignedIntegers(self: Any, value: int) -> None:
    """Writes positive integers in signed forms."""
    for form, head, limit in (("h", 0xD1, 2**15), ("i", 0xD2, 2**31), ("q", 0xD3, 2**63)):
        if 128 <= value < limit:
            self.out += bytes((head,)) + struct.pack(f">{form}", value)
            return
    Writer.integer(self, value)


def parts(data: bytes) -> Iterator[Any]:
    """Every part of a MessagePack value, maps as `Pairs`."""
    return _parts(msgpack.unpackb(data, strict_map_key=False, object_pairs_hook=Pairs))


def _parts(value: Any) -> Iterator[Any]:
    yield value
    for part in value if isinstance(value, (list, tuple)) else ():
        yield from _parts(part)


wrong |= {
    # Takes only what it would have written itself, but for strings.
    "RefusesWhatIsNotShortest: integers-of-16-bits integers-of-32-bits": refusing(
        lambda message, data: bytes(msgpack.packb(msgpack.unpackb(data, strict_map_key=False))) != data
    ),
    # Writes uuids as strings, as in JSON.
    "UuidsAsStrings: uuid-of-zeros ack-to-an-expired-sender": writing(
        uuid=lambda self, uuid, *, is_key: self.text(f"~u{uuid}", cached=is_key)
    ),
    # Writes the halves of a uuid as unsigned integers.
    "UuidsAreUnsigned: ack-to-an-expired-sender counters-around-63-bits": writing(half=Writer.integer),
    # Writes the halves of a uuid in eight bytes each, whatever they are.
    "UuidsAreWide: uuid-of-zeros uuid-of-ones": writing(
        half=lambda self, half: self.out.extend((b"\xd3" if half >= 2**63 else b"\xcf") + half.to_bytes(8))
    ),
    # Writes everything in full.
    "NoCache: event-names-are-cached vectors-beyond-15": writing(cacheable=2**31),
    # Writes strings as they are.
    "DoesNotEscape: host-like-a-keyword host-of-one-tilde": writing(escaped=lambda _, text: text),
    # Escapes what begins with a tilde, and forgets the other two.
    "EscapesTildesOnly: host-that-begins-with-a-backquote host-that-begins-with-a-caret": writing(
        escaped=lambda _, text: f"~{text}" if text[:1] == "~" else text
    ),
    # Writes integers that do not fit into a byte in eight.
    "WideIntegers: counters-around-16-bits counters-around-32-bits": writing(
        integer=lambda self, value: (
            self.out.extend(b"\xcf" + value.to_bytes(8)) if 128 <= value < 2**64 else Writer.integer(self, value)
        )
    ),
    # Writes strings of 32 bytes and more with the header that MessagePack had before 2013.
    "OldStrings: payload-with-long-strings host-of-255-bytes": writing(
        sized=lambda self, size: self.out.extend(b"\xda" + size.to_bytes(2)) if 32 <= size < 256 else Writer.sized(self, size)
    ),
    # Puts the number of letters in front of a string instead of the number of bytes.
    "CountsLetters: host-in-cyrillic": writing(string=lambda self, raw, text: (self.sized(len(text)), self.out.extend(raw))),
    # Writes the entries of maps in the order of their keys.
    "MapsAreSorted: payload-in-the-order-given ack-normal-and-anti-entropy": writing(
        entries=lambda _, pairs: sorted(pairs, key=lambda entry: str(entry[0]))
    ),
    # Writes names as plain strings.
    "KeywordsAreStrings: last-message-of-all tx-at-its-end counters-around-7-bits": writing(
        value=lambda self, value, *, is_key=False: Writer.value(
            self, value[2:] if isinstance(value, Keyword) else value, is_key=is_key
        )
    ),
    # Writes arrays and maps of sixteen with the short header, where there is no room for it.
    "LongCountsInOneByte: payload-with-sixteen-entries vectors-beyond-15": writing(
        header=lambda self, length, short, long: (
            self.out.append(short | 15) if length == 16 else Writer.header(self, length, short, long)
        )
    ),
    # Knows uuids as tagged arrays only.
    "RefusesUuidStrings: uuid-as-a-string uuid-in-upper-case": refusing(
        lambda message, data: any(isinstance(part, str) and part[:2] == "~u" for part in parts(data))
    ),
    # Does not know a tag in a map.
    "RefusesUuidMaps: uuid-as-a-map": refusing(
        lambda message, data: any(isinstance(part, Pairs) and part[0][0] == "~#u" for part in parts(data) if part)
    ),
    # Knows vectors, and no lists.
    "RefusesLists: vectors-as-lists payload-with-forms-of-transit": refusing(lambda message, data: "~#list" in parts(data)),
    # Takes a vector without a keyword for malformed, except from a seed.
    "RefusesUntaggedAntiEntropy: anti-entropy-untagged-and-empty joiner-learns-from-the-first-answer": refusing(
        lambda message, data: any(getattr(vector, "tagged", True) is False for vector in getattr(message, "vectors", ()))
    ),
}
__getattr__ = wrong.find
