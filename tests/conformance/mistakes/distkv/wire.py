"""Mistakes in writing messages."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.distkv import Reading

from peerproof.spec.distkv.messages import Ping, Update
from peerproof.spec.forms.messagepack import array_header, map_header, pack, read, string_bytes


def writing(**functions: Callable[..., bytes]) -> Mapping[str, Any]:
    """What is replaced to write parts of messages otherwise."""
    return {f"codec.{name}": function for name, function in functions.items()}


class WritesRangesOfOne(Reading):
    """Writes a single tick as a pair."""

    caught_by: ClassVar = ("ranges-one-tick", "info-with-known", "ranges-five-ticks")
    instead: ClassVar = writing(
        ranges_bytes=lambda found: _listed([(b, e) for b, e in zip(found.begins, found.ends, strict=True)])
    )


def _listed(items: list[Any]) -> bytes:
    return array_header(len(items)) + b"".join(pack(item) for item in items)


class WritesTicksSingly(Reading):
    """Writes every tick by itself."""

    caught_by: ClassVar = ("ranges-one-two-three", "info-with-missing", "ranges-two-ticks-in-a-row")
    instead: ClassVar = writing(ranges_bytes=lambda found: _listed(list(found.ticks()) if found.size() < 99 else []))


class WritesLastTicks(Reading):
    """Writes a range with its last tick, not with its end."""

    caught_by: ClassVar = ("ranges-one-two-three", "info-with-missing", "ranges-to-the-last-tick")
    instead: ClassVar = writing(
        ranges_bytes=lambda found: _listed(
            [b if e == b + 1 else (b, e - 1) for b, e in zip(found.begins, found.ends, strict=True)]
        )
    )


class WritesNodesInAnyOrder(Reading):
    """Writes nodes in the order of their letters by units of 16 bits."""

    caught_by: ClassVar = ("nodes-in-order",)
    instead: ClassVar = writing(
        _ticks_bytes=lambda ticks: (
            map_header(len(ticks))
            + b"".join(pack(node) + pack(ticks[node]) for node in sorted(ticks, key=lambda name: name.encode("utf-16-be")))
        )
    )


class WritesEightBytes(Reading):
    """Writes every number in eight bytes."""

    caught_by: ClassVar = ("update", "ping", "tick-of-32-bits", "tick-of-zero")
    instead: ClassVar = writing(number_bytes=lambda number: struct.pack(">BQ", 0xCF, number))


class WritesSignedNumbers(Reading):
    """Writes numbers in signed forms."""

    caught_by: ClassVar = ("tick-of-beyond-7-bits", "tick-of-16-bits", "tick-of-63-bits")
    instead: ClassVar = writing(number_bytes=lambda number: pack(number) if number < 128 else struct.pack(">Bq", 0xD3, number))


class WritesNullTicks(Reading):
    """Writes a tick that is not there as Null."""

    caught_by: ClassVar = ("ping-of-a-node-that-is-not-initialised", "ping-behind-one-without-a-tick")

    def encode(self, message: Any) -> bytes:
        """With more members."""
        if not isinstance(message, Ping) or all(tick is not None for _, tick in message.chain.elements):
            return super().encode(message)
        prev: Any = None
        *others, last = message.chain.elements
        shown: Any = [("node", last.node), ("tick", last.tick), *([] if message.chain.cut else [("prev", prev)])]
        for element in reversed(others):
            shown = [("node", element.node), ("tick", element.tick), ("prev", shown)]
        return string_bytes("distkv.ping") + pack([*shown, ("tock", message.tock)])


class WritesTheOrderOfTheAlphabet(Reading):
    """Writes members in the order of their names."""

    caught_by: ClassVar = ("update", "ping", "info-with-ticks", "info-with-everything")

    def encode(self, message: Any) -> bytes:
        """In that order."""
        data = super().encode(message)
        at = read(data, 0)[1]
        return data[:at] + pack(sorted(read(data, at)[0], key=lambda pair: str(pair[0])))


class WritesFloatsShortly(Reading):
    """Writes a float in four bytes where that is enough."""

    caught_by: ClassVar = ("update", "value-float", "value-whole-float")

    def encode(self, message: Any) -> bytes:
        """With shorter ones."""
        data = super().encode(message)
        for number in (2.5, 1.5, 1.0, 0.5):
            data = data.replace(struct.pack(">Bd", 0xCB, number), struct.pack(">Bf", 0xCA, number))
        return data


class WritesStringsForBytes(Reading):
    """Writes byte strings as an older MessagePack did."""

    caught_by: ClassVar = ("value-bytes", "value-empty-bytes", "path-of-three-kinds", "path-of-a-byte-string")

    def encode(self, message: Any) -> bytes:
        """Without a form of their own."""
        data = super().encode(message)
        for value in (b"", b"\x00\xff", b"\xff", b"a"):
            data = data.replace(pack(value), bytes((0xA0 | len(value),)) + value)
        return data


class NestsWhatItSendsAgain(Reading):
    """Writes each update in the form in which the original sends changes again."""

    caught_by: ClassVar = ("update", "update-that-deletes", "sets-a-value")

    def encode(self, message: Any) -> bytes:
        """Nested."""
        if isinstance(message, Update) and message.sender is None:
            message = replace(message, sender=message.chain.head)
        return super().encode(message)
