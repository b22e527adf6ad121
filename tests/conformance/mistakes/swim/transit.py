"""Transit over MessagePack written once more, in the plainest way, with each rule where it can be broken; and those mistakes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgpack
from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, around, refusing

from peerproof.spec import swim
from peerproof.spec.forms.form import octets

wrong = Variants(__name__, Wrong)


ESCAPED = ("~", "^", "`")
MEMBER = ("host", "port", "uuid", "restart_counter", "tx_counter")


class Pairs(list[tuple[Any, Any]]):
    """A map."""


class Keyword(str):
    """A keyword, tag or other text of Transit's own writing."""


def values(message: Any) -> list[Any]:
    """A message as Transit values."""
    plain = swim.MESSAGE.plain(message)
    return [list(_elements(plain)), *(list(_elements(vector)) for vector in plain.get("vectors", ()))]


def _elements(plain: dict[str, Any]) -> Iterator[Any]:
    if plain["type"] != "anti_entropy" or plain["tagged"]:
        yield Keyword(f"~:{plain['type'].replace('_', '-')}")
    for name, value in plain.items():
        match name, value:
            case ("sender" | "target" | "node", str()):
                yield UUID(value)
            case "incarnation", {"restart": restart, "tx": tx}:
                yield int(restart)
                yield int(tx)
            case "members", list():
                yield from (
                    Pairs((Keyword(f"~:{k.replace('_', '-')}"), _of_member(k, member[k])) for k in MEMBER) for member in value
                )
            case "data", dict():
                yield _of_json(value)
            case (("target_tx" | "probe_tx" | "host" | "port"), _):
                yield int(value) if name.endswith("tx") else value


def _of_member(name: str, value: Any) -> Any:
    return UUID(value) if name == "uuid" else int(value) if name.endswith("counter") else value


def _of_json(value: Any) -> Any:
    match value:
        case dict():
            return Pairs((_of_text(key), _of_json(item)) for key, item in value.items())
        case list():
            return [_of_json(item) for item in value]
        case str():
            return _of_text(value)
    return value


def _of_text(text: str) -> Any:
    if text[:2] in ("~i", "~n"):
        return int(text[2:])
    if text[:2] == "~u":
        return UUID(text[2:])
    return text[1:] if text[:2] in ("~~", "~^", "~`") else Keyword(text) if text[:1] == "~" else text


class Writer:
    """Writes values; a mistake is a method replaced."""

    cacheable = 4
    cache_most = 1936

    def __init__(self) -> None:
        self.out = bytearray()
        self.cache: dict[str, int] = {}

    def value(self, value: Any, *, is_key: bool = False) -> None:
        """One value."""
        match value:
            case Keyword():
                self.text(value, cached=is_key or value[:2] in ("~:", "~$", "~#"))
            case str():
                self.text(self.escaped(value), cached=is_key)
            case UUID():
                self.uuid(value, is_key=is_key)
            case bool() | None:
                self.out += {True: b"\xc3", False: b"\xc2", None: b"\xc0"}[value]
            case int():
                self.integer(value)
            case Pairs() if len(value) == 1 and isinstance(value[0][0], Keyword) and value[0][0][:2] == "~#":
                self.value([*value[0]])
            case Pairs():
                self.header(len(value), 0x80, 0xDE)
                for key, item in self.entries(value):
                    self.value(key, is_key=True)
                    self.value(item)
            case list():
                self.header(len(value), 0x90, 0xDC)
                for item in value:
                    self.value(item)
            case _:
                self.out += b"\xcb" + struct.pack(">d", value)

    def entries(self, pairs: Pairs) -> list[tuple[Any, Any]]:
        """The entries of a map in the order in which they are written."""
        return pairs

    def escaped(self, text: str) -> str:
        """A plain string in Transit's writing."""
        return f"~{text}" if text[:1] in ESCAPED and text else text

    def uuid(self, uuid: UUID, *, is_key: bool) -> None:
        """A uuid as an element or as a key."""
        if is_key:
            self.text(f"~u{uuid}", cached=True)
            return
        self.out += b"\x92\xa3~#u\x92"
        for half in (uuid.int >> 64, uuid.int & 2**64 - 1):
            self.half(half)

    def half(self, half: int) -> None:
        """Half a uuid."""
        self.integer(half if half < 2**63 else half - 2**64)

    def integer(self, value: int) -> None:
        """The shortest form that holds it."""
        if 0 <= value < 128 or -32 <= value < 0:
            self.out += struct.pack(">b", value)
            return
        forms = (
            (("B", 0xCC), ("H", 0xCD), ("I", 0xCE), ("Q", 0xCF))
            if value >= 0
            else (("b", 0xD0), ("h", 0xD1), ("i", 0xD2), ("q", 0xD3))
        )
        for form, head in forms:
            try:
                self.out += bytes((head,)) + struct.pack(f">{form}", value)
            except struct.error:
                continue
            return

    def text(self, text: str, *, cached: bool) -> None:
        """A text, or its code."""
        if cached and len(text) >= self.cacheable:
            if text in self.cache:
                text = self.code(self.cache[text])
            else:
                if len(self.cache) == self.cache_most:
                    self.cache.clear()
                self.cache[text] = len(self.cache)
        self.string(octets(text), text)

    def code(self, index: int) -> str:
        """The code of an entry of the cache."""
        return f"^{chr(48 + index)}" if index < 44 else f"^{chr(48 + index // 44)}{chr(48 + index % 44)}"

    def string(self, raw: bytes, text: str) -> None:  # noqa: ARG002  # for those who count letters
        """A string with its header."""
        self.sized(len(raw))
        self.out += raw

    def sized(self, size: int) -> None:
        """The header of a string."""
        if size < 32:
            self.out.append(0xA0 | size)
        else:
            self.out += bytes((0xD9, size)) if size < 256 else b"\xda" + struct.pack(">H", size)

    def header(self, length: int, short: int, long: int) -> None:
        """The header of an array or a map."""
        self.out += bytes((short | length,)) if length < 16 else bytes((long,)) + struct.pack(">H", length)


def written(message: Any, writer: type[Writer]) -> bytes:
    """The bytes of a message."""
    made = writer()
    made.value(values(message))
    return bytes(made.out)


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
