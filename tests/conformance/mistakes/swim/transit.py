"""Mistakes in how Transit is written and read."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID

import msgpack
from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.naive import Keyword, Pairs, Writer, written

from peerproof.spec.errors import MalformedMessage


class _Written(Wrong):
    """Writes with another writer."""

    Writes: ClassVar[type[Writer]] = Writer

    def encode(self, message: Any) -> bytes:
        """With that writer."""
        return written(message, self.Writes)


class UuidsAsStrings(_Written):
    """Writes uuids as strings, as in JSON."""

    caught_by: ClassVar = ("uuid-of-zeros", "ack-to-an-expired-sender")

    class Writes(Writer):
        """Knows one form."""

        def uuid(self, uuid: UUID, *, is_key: bool) -> None:
            """A string."""
            self.text(f"~u{uuid}", cached=is_key)


class UuidsAreUnsigned(_Written):
    """Writes the halves of a uuid as unsigned integers."""

    caught_by: ClassVar = ("ack-to-an-expired-sender", "counters-around-63-bits")

    class Writes(Writer):
        """Forgets the sign."""

        def half(self, half: int) -> None:
            """Unsigned."""
            self.integer(half)


class UuidsAreWide(_Written):
    """Writes the halves of a uuid in eight bytes each, whatever they are."""

    caught_by: ClassVar = ("uuid-of-zeros", "uuid-of-ones")

    class Writes(Writer):
        """Knows one form."""

        def half(self, half: int) -> None:
            """Eight bytes."""
            self.out += b"\xd3" + half.to_bytes(8) if half >= 2**63 else b"\xcf" + half.to_bytes(8)


class NoCache(_Written):
    """Writes everything in full."""

    caught_by: ClassVar = ("event-names-are-cached", "vectors-beyond-15")

    class Writes(Writer):
        """Has no cache."""

        cacheable = 2**31


class DoesNotEscape(_Written):
    """Writes strings as they are."""

    caught_by: ClassVar = ("host-like-a-keyword", "host-of-one-tilde")

    class Writes(Writer):
        """Escapes nothing."""

        def escaped(self, text: str) -> str:
            """The same."""
            return text


class EscapesTildesOnly(_Written):
    """Escapes what begins with a tilde, and forgets the other two."""

    caught_by: ClassVar = ("host-that-begins-with-a-backquote", "host-that-begins-with-a-caret")

    class Writes(Writer):
        """Escapes one of three."""

        def escaped(self, text: str) -> str:
            """Perhaps the same."""
            return f"~{text}" if text[:1] == "~" else text


class SignedIntegers(_Written):
    """Writes positive integers in signed forms."""

    caught_by: ClassVar = ("ack-to-an-expired-sender", "counters-around-63-bits")

    class Writes(Writer):
        """Prefers signs."""

        def integer(self, value: int) -> None:
            """The shortest signed form."""
            for form, head, limit in (("h", 0xD1, 2**15), ("i", 0xD2, 2**31), ("q", 0xD3, 2**63)):
                if 128 <= value < limit:
                    self.out += bytes((head,)) + struct.pack(f">{form}", value)
                    return
            super().integer(value)


class WideIntegers(_Written):
    """Writes integers that do not fit into a byte in eight."""

    caught_by: ClassVar = ("counters-around-16-bits", "counters-around-32-bits")

    class Writes(Writer):
        """Knows two forms."""

        def integer(self, value: int) -> None:
            """One byte or nine."""
            if 128 <= value < 2**64:
                self.out += b"\xcf" + value.to_bytes(8)
            else:
                super().integer(value)


class OldStrings(_Written):
    """Writes strings of 32 bytes and more with the header that MessagePack had before 2013."""

    caught_by: ClassVar = ("payload-with-long-strings", "host-of-255-bytes")

    class Writes(Writer):
        """Has no header for 255 bytes."""

        def sized(self, size: int) -> None:
            """One or three bytes."""
            if 32 <= size < 256:
                self.out += b"\xda" + size.to_bytes(2)
            else:
                super().sized(size)


class CountsLetters(_Written):
    """Puts the number of letters in front of a string instead of the number of bytes."""

    caught_by: ClassVar = ("host-in-cyrillic",)

    class Writes(Writer):
        """Miscounts."""

        def string(self, raw: bytes, text: str) -> None:
            """The length of the text."""
            self.sized(len(text))
            self.out += raw


class MapsAreSorted(_Written):
    """Writes the entries of maps in the order of their keys."""

    caught_by: ClassVar = ("payload-in-the-order-given", "ack-normal-and-anti-entropy")

    class Writes(Writer):
        """Sorts."""

        def entries(self, pairs: Pairs) -> list[tuple[Any, Any]]:
            """By key."""
            return sorted(pairs, key=lambda entry: str(entry[0]))


class KeywordsAreStrings(_Written):
    """Writes names as plain strings."""

    caught_by: ClassVar = ("last-message-of-all", "tx-at-its-end", "counters-around-7-bits")

    class Writes(Writer):
        """Loses the kind."""

        def value(self, value: Any, *, is_key: bool = False) -> None:
            """Without a tilde and a colon."""
            super().value(value[2:] if isinstance(value, Keyword) else value, is_key=is_key)


class LongCountsInOneByte(_Written):
    """Writes arrays and maps of sixteen with the short header, where there is no room for it."""

    caught_by: ClassVar = ("payload-with-sixteen-entries", "vectors-beyond-15")

    class Writes(Writer):
        """Overflows."""

        def header(self, length: int, short: int, long: int) -> None:
            """One byte."""
            if length == 16:
                self.out.append(short | 15)
            else:
                super().header(length, short, long)


class _Refusing(Wrong):
    """Refuses some legal forms."""

    def decode(self, data: bytes) -> Any:
        """Looks first."""
        message = super().decode(data)
        if self.refuses(data, message):
            raise MalformedMessage("bad_type", 0, "a form that this one does not know")
        return message

    def refuses(self, data: bytes, message: Any) -> bool:
        """Whether these bytes, which are legal, are too much."""
        raise NotImplementedError


def parts(data: bytes) -> Iterator[Any]:
    """Every part of a MessagePack value, maps as `Pairs`."""
    return _parts(msgpack.unpackb(data, strict_map_key=False, object_pairs_hook=Pairs))


def _parts(value: Any) -> Iterator[Any]:
    yield value
    for part in value if isinstance(value, (list, tuple)) else ():
        yield from _parts(part)


class RefusesUuidStrings(_Refusing):
    """Knows uuids as tagged arrays only."""

    caught_by: ClassVar = ("uuid-as-a-string", "uuid-in-upper-case")

    def refuses(self, data: bytes, message: Any) -> bool:  # noqa: ARG002
        """A string that is a uuid."""
        return any(isinstance(part, str) and part[:2] == "~u" for part in parts(data))


class RefusesUuidMaps(_Refusing):
    """Does not know a tag in a map."""

    caught_by: ClassVar = ("uuid-as-a-map",)

    def refuses(self, data: bytes, message: Any) -> bool:  # noqa: ARG002
        """A map with a tag."""
        return any(isinstance(part, Pairs) and part[0][0] == "~#u" for part in parts(data) if part)


class RefusesLists(_Refusing):
    """Knows vectors, and no lists."""

    caught_by: ClassVar = ("vectors-as-lists", "payload-with-forms-of-transit")

    def refuses(self, data: bytes, message: Any) -> bool:  # noqa: ARG002
        """A list."""
        return "~#list" in parts(data)


class RefusesWhatIsNotShortest(_Refusing):
    """Takes only what it would have written itself, but for strings."""

    caught_by: ClassVar = ("integers-of-16-bits", "integers-of-32-bits")

    def refuses(self, data: bytes, message: Any) -> bool:  # noqa: ARG002
        """Packed again it is longer or shorter."""
        value = msgpack.unpackb(data, strict_map_key=False)
        return bytes(msgpack.packb(value)) != data


class RefusesUntaggedAntiEntropy(_Refusing):
    """Takes a vector without a keyword for malformed, except from a seed."""

    caught_by: ClassVar = ("anti-entropy-untagged-and-empty", "joiner-learns-from-the-first-answer")

    def refuses(self, data: bytes, message: Any) -> bool:  # noqa: ARG002
        """Anti-entropy without its keyword, in a ping."""
        return any(getattr(vector, "tagged", True) is False for vector in getattr(message, "vectors", ()))
