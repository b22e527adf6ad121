"""Mistakes in how Transit is written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import msgpack
from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, around, refusing

from peerproof.spec.forms.form import octets
from peerproof.spec.forms.messagepack import integer_bytes, string_bytes
from peerproof.spec.swim.messages import AntiEntropy
from peerproof.spec.swim.transit import Pairs, escape, is_tagged

wrong = Variants(__name__, Wrong)
PACKING = "peerproof.spec.forms.messagepack"


def writing(function: str, change: Callable[..., Any]) -> dict[str, Any]:
    """What is replaced to write a part of MessagePack otherwise."""
    return around(f"{PACKING}.{function}", change)


def halves(half_bytes: Callable[[int], bytes]) -> dict[str, Any]:
    """What is replaced to write the halves of uuids otherwise."""
    return {
        "transit.uuid_bytes": lambda uuid: (
            b"\x92\xa3~#u\x92" + half_bytes(UUID(uuid).int >> 64) + half_bytes(UUID(uuid).int & 2**64 - 1)
        )
    }


@wrong(lambda function: writing("integer_bytes", function), "ack-to-an-expired-sender counters-around-63-bits")
def SignedIntegers(right: Any, value: int) -> Any:
    """Writes positive integers in signed forms."""
    for head, size in ((b"\xd1", 2), (b"\xd2", 4), (b"\xd3", 8)):
        if 128 <= value < 2 ** (8 * size - 1):
            return head + value.to_bytes(size)
    return right(value)


def in_order(right: Any, writer: Any, value: Any) -> None:
    """A value whose entries are in the order of their keys."""
    right(writer, Pairs(sorted(value, key=str)) if type(value) is Pairs and not is_tagged(value) else value)


@wrong(
    lambda members: {"codec._write_members": members} | around("transit.Writer.value", in_order),
    "payload-in-the-order-given ack-normal-and-anti-entropy",
)
def MapsAreSorted(writer: Any, vector: AntiEntropy) -> None:
    """Writes the entries of maps in the order of their keys."""
    writer.array(len(vector.members) + vector.tagged)
    if vector.tagged:
        writer.write_cacheable("~:anti-entropy")
    for host, port, uuid, restart, tx in vector.members:
        member = {"~:host": escape(host), "~:port": port, "~:uuid": f"~u{uuid}", "~:restart-counter": restart, "~:tx-counter": tx}
        writer.value(Pairs(member.items()))


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
    "UuidsAsStrings: uuid-of-zeros ack-to-an-expired-sender": {"transit.uuid_bytes": lambda uuid: string_bytes(f"~u{uuid}")},
    # Writes the halves of a uuid as unsigned integers.
    "UuidsAreUnsigned: ack-to-an-expired-sender counters-around-63-bits": halves(integer_bytes),
    # Writes the halves of a uuid in eight bytes each, whatever they are.
    "UuidsAreWide: uuid-of-zeros uuid-of-ones": halves(lambda half: (b"\xd3" if half >= 2**63 else b"\xcf") + half.to_bytes(8)),
    # Writes everything in full.
    "NoCache: event-names-are-cached vectors-beyond-15": {
        "transit.Writer.write_cacheable": lambda self, text: self.out.extend(string_bytes(text))
    },
    # Writes strings as they are.
    "DoesNotEscape: host-like-a-keyword host-of-one-tilde": {"transit.escape": str},
    # Escapes what begins with a tilde, and forgets the other two.
    "EscapesTildesOnly: host-that-begins-with-a-backquote host-that-begins-with-a-caret": {
        "transit.escape": lambda text: f"~{text}" if text[:1] == "~" else text
    },
    # Writes integers that do not fit into a byte in eight.
    "WideIntegers: counters-around-16-bits counters-around-32-bits": writing(
        "integer_bytes", lambda right, value: b"\xcf" + value.to_bytes(8) if value >= 128 else right(value)
    ),
    # Writes strings of 32 bytes and more with the header that MessagePack had before 2013.
    "OldStrings: payload-with-long-strings host-of-255-bytes": writing(
        "string_header", lambda right, size: b"\xda" + size.to_bytes(2) if 32 <= size < 256 else right(size)
    ),
    # Puts the number of letters in front of a string instead of the number of bytes.
    "CountsLetters: host-in-cyrillic": writing(
        "string_bytes", lambda right, text: right("-" * len(text)).rstrip(b"-") + octets(text)
    ),
    # Writes names as plain strings.
    "KeywordsAreStrings: last-message-of-all tx-at-its-end counters-around-7-bits": around(
        "transit.Writer.write_cacheable",
        lambda right, self, text: self.out.extend(string_bytes(text[2:])) if text[:2] == "~:" else right(self, text),
    ),
    # Writes arrays and maps of sixteen with the short header, where there is no room for it.
    "LongCountsInOneByte: payload-with-sixteen-entries vectors-beyond-15": (
        writing("array_header", lambda right, length: right(15 if length == 16 else length))
        | writing("map_header", lambda right, length: right(15 if length == 16 else length))
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
