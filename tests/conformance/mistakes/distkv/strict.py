"""Mistakes of a reader that refuses what is legal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.distkv import Reading

from peerproof.spec.distkv import codec, paths, ranges
from peerproof.spec.distkv.messages import Info, Ping, Update
from peerproof.spec.distkv.ranges import Ranges
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import pack, read

FIELDS = codec._fields
READ_RANGES = ranges.read


def refusing(is_wrong: Callable[[Any], bool]) -> Callable[[Any], dict[str, Any]]:
    """A reader of maps that refuses some."""

    def fields(raw: Any) -> dict[str, Any]:
        found = FIELDS(raw)
        if is_wrong(found):
            raise MalformedMessage("bad_value", 0, "not like that")
        return found

    return fields


_MEMBERS = frozenset(["node", "tick", "prev", "tock", "path", "value", "chain", "known", "ticks", "missing", "reason"])


class RefusesUnknownMembers(Reading):
    """Refuses a message with members that it does not know."""

    caught_by: ClassVar = (
        "update-with-unknown-members",
        "ping-with-unknown-members",
        "member-replace",
        "replace-within-the-reason",
    )

    def decode(self, data: bytes) -> Any:
        """Looks at all maps of the message itself."""
        message = super().decode(data)
        raw, _ = read(data, read(data, 0)[1])
        if _has_others(raw, 0):
            raise MalformedMessage("bad_value", 0, "other members")
        return message


def _has_others(raw: Any, depth: int) -> bool:
    return any(
        key not in _MEMBERS or (key in ("prev", "reason", "chain") and isinstance(value, list) and _has_others(value, depth + 1))
        for key, value in raw
    )


class RefusesAnotherOrder(Reading):
    """Refuses members in another order."""

    caught_by: ClassVar = ("update-in-another-order", "ping-in-another-order", "info-in-another-order")

    def decode(self, data: bytes) -> Any:
        """Looks at the order."""
        message = super().decode(data)
        order = [key for key, _ in read(data, read(data, 0)[1])[0]]
        written = codec.encode(message)
        if (
            sorted(order, key=str) == sorted(right := [key for key, _ in read(written, read(written, 0)[1])[0]])
            and order != right
        ):
            raise MalformedMessage("bad_value", 0, "another order")
        return message


class RefusesLongForms(Reading):
    """Refuses what is longer than it needs to be."""

    caught_by: ClassVar = (
        *("tick-in-64-bits", "strings-with-longer-headers", "maps-with-longer-headers", "lists-with-longer-headers"),
        *("ranges-with-longer-headers", "float-of-four-bytes", "value-in-a-longer-form", "path-in-a-longer-form"),
    )

    def decode(self, data: bytes) -> Any:
        """Packs it again."""
        message = super().decode(data)
        at = read(data, 0)[1]
        if pack(read(data, at)[0]) != data[at:]:
            raise MalformedMessage("bad_value", 0, "a longer form")
        return message


class RefusesSignedNumbers(Reading):
    """Refuses ticks in signed forms."""

    caught_by: ClassVar = ("tick-in-signed-8-bits", "tick-in-signed-64-bits")

    def decode(self, data: bytes) -> Any:
        """Looks for them."""
        message = super().decode(data)
        if any(b"tick" + bytes((head,)) in data for head in (0xD0, 0xD1, 0xD2, 0xD3)):
            raise MalformedMessage("bad_value", 0, "signed")
        return message


class RefusesNullTicks(Reading):
    """Refuses a tick that is Null."""

    caught_by: ClassVar = ("tick-that-is-null", "tick-that-is-null-in-a-chain")
    instead: ClassVar = {"codec._fields": refusing(lambda fields: "tick" in fields and fields["tick"] is None)}


class RefusesEmptyMaps(Reading):
    """Refuses a map without nodes."""

    caught_by: ClassVar = ("maps-without-nodes",)
    instead: ClassVar = {"codec._fields": refusing(lambda fields: not fields)}


class RefusesTouchingRanges(Reading):
    """Refuses ranges that touch."""

    caught_by: ClassVar = ("ranges-that-touch",)
    instead: ClassVar = {"codec.read_ranges": lambda items: _apart(READ_RANGES(items), items)}


def _apart(found: Ranges, items: Any) -> Ranges:
    if len(found.begins) < len(items):
        raise MalformedMessage("bad_value", 0, "ranges touch")
    return found


class RefusesRangesOfOne(Reading):
    """Refuses a pair of one tick."""

    caught_by: ClassVar = ("range-of-one-tick",)
    instead: ClassVar = {
        "codec.read_ranges": lambda items: READ_RANGES(
            tuple(-1 if isinstance(item, tuple) and item[1:] == (item[0] + 1,) else item for item in items)
        )
    }


class RefusesNullReasons(Reading):
    """Refuses a reason that is Null."""

    caught_by: ClassVar = ("reason-that-is-null",)
    instead: ClassVar = {"codec._fields": refusing(lambda fields: "reason" in fields and fields["reason"] is None)}


class RefusesSendersWithZero(Reading):
    """Refuses an info of a node with the tick 0."""

    caught_by: ClassVar = ("info-of-a-node-with-the-tick-zero", "nested-form-of-a-sender-with-the-tick-zero")

    def decode(self, data: bytes) -> Any:
        """Looks at its tick."""
        message = super().decode(data)
        sender = message.chain.head if isinstance(message, Info) else getattr(message, "sender", None)
        if sender is not None and not sender.tick:
            raise MalformedMessage("bad_value", 0, "no tick")
        return message


class RefusesPingsThatRepeat(Reading):
    """Refuses a chain of pings that names a node twice."""

    caught_by: ClassVar = ("ping-with-the-same-node-twice", "ping", "ping-chain-of-64-that-repeats")

    def decode(self, data: bytes) -> Any:
        """Looks at its names."""
        message = super().decode(data)
        if isinstance(message, Ping) and message.chain.has_twice():
            raise MalformedMessage("bad_value", 0, "twice")
        return message


class NormalisesNames(Reading):
    """Normalises the letters of a path."""

    caught_by: ClassVar = ("composed-letters",)

    def decode(self, data: bytes) -> Any:
        """In the composed form."""
        from unicodedata import normalize

        message = super().decode(data)
        if not isinstance(message, Update):
            return message
        names = [normalize("NFC", name) if isinstance(name, str) else name for name in paths.names_of(message.path)]
        return replace(message, path=paths.path_of(names))


class DropsEmptyNames(Reading):
    """Passes over empty names."""

    caught_by: ClassVar = ("path-that-ends-with-nothing", "empty-name-at-the-end")

    def decode(self, data: bytes) -> Any:
        """Without them."""
        message = super().decode(data)
        if not isinstance(message, Update):
            return message
        return replace(message, path=paths.path_of([name for name in paths.names_of(message.path) if name != ""]))


class RefusesOtherNames(Reading):
    """Knows names that are strings only."""

    caught_by: ClassVar = (
        "path-of-three-kinds",
        "path-of-truth",
        "path-of-numbers",
        "path-about-the-system",
        "path-of-a-byte-string",
    )

    def decode(self, data: bytes) -> Any:
        """Looks at them."""
        message = super().decode(data)
        if isinstance(message, Update) and not all(isinstance(name, str) for name in paths.names_of(message.path)):
            raise MalformedMessage("bad_value", 0, "a name is a string")
        return message
