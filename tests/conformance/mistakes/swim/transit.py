"""Mistakes in how Transit is written and read, and in what is kept of numbers, hosts, texts and payloads."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgpack
from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, around, reading, refusing

from peerproof.spec.forms.form import octets
from peerproof.spec.forms.messagepack import integer_bytes, string_bytes
from peerproof.spec.swim import transit, transit_json
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AntiEntropy,
    Dead,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    Normal,
    Ping,
    Probe,
    ProbeAck,
    Suspicious,
)
from peerproof.spec.swim.transit import Pairs, escape, is_tagged

wrong = Variants(__name__, Wrong)
RENDERED = transit_json.render_json
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


def reading_vectors(change: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to make something else of headers and vectors that it reads."""

    def read(message: Any) -> Any:
        message = change(message)
        return replace(message, vectors=tuple(map(change, message.vectors))) if isinstance(message, (Ping, Ack)) else message

    return reading(read)


def double(number: int) -> int:
    """What is left of a counter in a double."""
    return min(int(float(number)), COUNTER_MAX)


def in_doubles(vector: Any) -> Any:
    """A header or vector with doubles for counters."""
    if isinstance(vector, AntiEntropy):
        members = [m._replace(restart_counter=double(m.restart_counter), tx_counter=double(m.tx_counter)) for m in vector.members]
        return replace(vector, members=tuple(members))
    if getattr(vector, "incarnation", None) is not None:
        vector = replace(vector, incarnation=Incarnation(*map(double, vector.incarnation)))
    for name in ("target_tx", "probe_tx"):
        if hasattr(vector, name):
            vector = replace(vector, **{name: double(getattr(vector, name))})
    return vector


def doubles_in(*kinds: type[Any]) -> dict[str, Any]:
    """What is replaced to read the counters of some headers or vectors as doubles."""
    return reading_vectors(lambda vector: in_doubles(vector) if isinstance(vector, kinds) else vector)


def reading_hosts(change: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to make another name of each host that it reads."""

    def read(vector: Any) -> Any:
        if isinstance(vector, (Joining, IndirectPing)):
            return replace(vector, host=change(vector.host))
        if isinstance(vector, AntiEntropy):
            return replace(vector, members=tuple(member._replace(host=change(member.host)) for member in vector.members))
        return vector

    return reading_vectors(read)


def rendering(change: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to make something else of the texts of a payload."""

    def render(value: Any, depth: int = transit_json.PAYLOAD_DEPTH) -> str:
        return RENDERED(change(value) if type(value) is str else value, depth)

    return {"transit_json.render_json": render, "codec.render_json": render}


@wrong("transit_json._object", "reject-payload-with-a-key-twice-within")
def KeysTwiceWithin(right: Any, pairs: Any, depth: int) -> Any:
    """Takes the last of two entries of one key in a map within a payload. [SA-64]"""
    last = dict(pairs)
    return right(transit.Pairs(last.items()) if depth > transit_json.PAYLOAD_DEPTH else pairs, depth)


def _keys_by_form(right: Any, pairs: Any, depth: int) -> Any:
    if len({(type(key), key) for key, _ in pairs}) < len(pairs):
        return right(pairs, depth)
    return right(transit.Pairs({transit_json._key(key): value for key, value in pairs}.items()), depth)


def reading_up_to(most: int) -> dict[str, Any]:
    """What is replaced to read no datagram that is longer."""
    return refusing(lambda _, data: len(data) > most)


def _empty_at_any_depth(right: Any, value: Any, depth: int = transit_json.PAYLOAD_DEPTH) -> Any:
    return "[]" if value == [] else right(value, depth)


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
    # Knows vectors, and no lists.
    "RefusesLists: vectors-as-lists payload-with-forms-of-transit": refusing(lambda message, data: "~#list" in parts(data)),
    # Takes a vector without a keyword for malformed, except from a seed.
    "RefusesUntaggedAntiEntropy: anti-entropy-untagged-and-empty joiner-learns-from-the-first-answer": refusing(
        lambda message, data: any(getattr(vector, "tagged", True) is False for vector in getattr(message, "vectors", ()))
    ),
    # Has room for 255 vectors, and 100 maps of anti-entropy. [SA-31, SA-63]
    "ReadsFewVectors: datagrams-with-much-in-them": refusing(
        lambda message, _: (
            len(vectors := getattr(message, "vectors", ())) > 2**8
            or any(isinstance(vector, AntiEntropy) and len(vector.members) > 100 for vector in vectors)
        )
    ),
    # Reads the counters of a joining as doubles. [SA-47]
    "DoublesInJoinings: counters-beyond-53-bits": doubles_in(Joining),
    # Reads the counters of a normal, a suspicious and a dead as doubles. [SA-12, SA-47]
    "DoublesInEvents: counters-beyond-53-bits": doubles_in(Normal, Suspicious, Dead),
    # Reads the counters of anti-entropy as doubles. [S-22, SA-47]
    "DoublesInAntiEntropy: counters-beyond-53-bits anti-entropy-that-is-newer-beyond-53-bits": doubles_in(AntiEntropy),
    # Reads the counters of a leave as doubles. [SA-05, SA-47]
    "DoublesInLeaves: counters-of-our-vectors-beyond-53-bits": doubles_in(Leave),
    # Reads the counters of an indirect ack as doubles. [SA-04, SA-47]
    "DoublesInIndirectAcks: counters-of-our-vectors-beyond-53-bits": doubles_in(IndirectAck),
    # Reads the counters of an ack as doubles. [S-17, SA-47]
    "DoublesInAcks: counters-of-an-ack-beyond-53-bits": doubles_in(Ack),
    # Reads the counters of a probe and of its answer as doubles. [SA-41, SA-47]
    "DoublesInProbes: counters-of-a-probe-beyond-53-bits counters-of-the-answer-to-a-probe-beyond-53-bits": doubles_in(
        Probe, ProbeAck
    ),
    # Reads hosts in small letters. [SA-61, SA-65]
    "HostsInSmallLetters: hosts-as-they-are-written": reading_hosts(lambda host: host.lower()),
    # Cuts blanks off the ends of hosts. [SA-61, SA-65]
    "HostsWithoutBlanks: hosts-as-they-are-written": reading_hosts(lambda host: host.strip()),
    # Composes letters and marks in hosts. [SA-61, SA-65]
    "HostsComposed: hosts-as-they-are-written": reading_hosts(lambda host: unicodedata.normalize("NFC", host)),
    # Ends a host at a character U+0000. [SA-61, SA-65]
    "HostsEndAtZero: hosts-as-they-are-written": reading_hosts(lambda host: host.partition("\0")[0]),
    # Takes brackets off a host, and the dot from its end. [SA-61, SA-65]
    "HostsWithoutBrackets: hosts-as-they-are-written": reading_hosts(lambda host: host.strip("[]").rstrip(".")),
    # Has room for datagrams of 16384 bytes. [SA-32]
    "ReadsUpTo16384: datagrams-of-all-sizes datagrams-with-much-in-them": reading_up_to(16384),
    # Has room for datagrams of 32767 bytes. [SA-32]
    "ReadsUpTo32767: datagrams-of-all-sizes datagrams-with-much-in-them": reading_up_to(32767),
    # Has room for datagrams of 65506 bytes. [SA-32]
    "ReadsUpTo65506: datagrams-of-all-sizes": reading_up_to(65506),
    # Does not count how deep an array without elements nests in the text of a payload.
    "CountsNoEmptyArrays: reject-payload-of-composite-keys-too-deep-around-nothing": around(
        "transit_json.render_json", _empty_at_any_depth
    )
    | around("codec.render_json", _empty_at_any_depth),
    # Cuts blanks off the ends of strings in a payload. [S-23, SA-63]
    "TextsWithoutBlanks: payload-with-texts-as-they-are-written": rendering(str.strip),
    # Composes letters and marks in strings of a payload. [S-23, SA-63]
    "TextsComposed: payload-with-texts-as-they-are-written": rendering(lambda text: unicodedata.normalize("NFC", text)),
    # Ends strings in a payload at a character U+0000. [S-23, SA-63]
    "TextsEndAtZero: payload-with-texts-as-they-are-written": rendering(lambda text: text.partition("\0")[0]),
    # Makes one character of the two at the end of a line in a payload. [S-23, SA-63]
    "TextsWithOtherLines: payload-with-texts-as-they-are-written": rendering(lambda text: text.replace("\r\n", "\n")),
    # Puts no key that is a number into its cache when it reads. [SA-62]
    "NumbersForKeysAreNotCached: payload-with-keys-of-other-kinds-again": around(
        "transit.Reader.text",
        lambda right, self, raw, *, is_key=False: right(self, raw, is_key=is_key and raw[:2] not in ("~i", "~d")),
    ),
    # Puts no key with an escape into its cache when it reads. [SA-62]
    "EscapedKeysAreNotCached: payload-with-keys-of-other-kinds-again": around(
        "transit.Reader.text",
        lambda right, self, raw, *, is_key=False: right(self, raw, is_key=is_key and raw[:2] not in ("~~", "~^", "~`")),
    ),
    # Takes two forms of one key for two keys, and the last of them. [SA-64, SA-66]
    "KeysTwiceInTwoForms: reject-payload-with-a-key-twice-in-two-forms": around("transit_json._object", _keys_by_form)
    | around(
        "transit.Reader.key",
        lambda right, self, raw, depth: raw if type(raw) is str and raw[:2] == "~i" else right(self, raw, depth),
    ),
}
__getattr__ = wrong.find
