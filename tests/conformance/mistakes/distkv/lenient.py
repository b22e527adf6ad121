"""Mistakes of a reader that makes something of what is no message, no value, no path or no set of ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgpack
from tests.conformance.mistakes.distkv import Reading

from peerproof.spec.distkv import chains, codec, ranges
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Ping
from peerproof.spec.distkv.ranges import TICK_MAX, of_range, of_ticks
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import Extension

FIELDS = codec._fields
NODE = codec._node


class ReadsBeginnings(Reading):
    """Fills up with Null what ends too early."""

    caught_by: ClassVar = ("reject-ping-cut", "reject-update-cut", "reject-info-cut")

    def decode(self, data: bytes) -> Any:
        """As long as it takes."""
        for _ in range(40):
            try:
                return super().decode(data)
            except MalformedMessage as error:
                if error.reason != "truncated" or not data[13:]:
                    raise
                data += b"\x01"
        return super().decode(data)


class CountsLetters(Reading):
    """Counts the letters of a name, not its bytes."""

    caught_by: ClassVar = ("reject-node-long-in-bytes", "reject-node-of-17-letters")
    instead: ClassVar = {"codec._node": lambda raw: raw if type(raw) is str and 0 < len(raw) <= 64 else NODE(raw)}


def _last_counts(raw: Any) -> dict[str, Any]:
    return FIELDS(list(dict(raw).items()) if isinstance(raw, list) else raw)


class LastMemberCounts(Reading):
    """Takes the last of members with the same name."""

    caught_by: ClassVar = (
        *(
            "reject-member-twice",
            "reject-unknown-member-twice",
            "reject-member-twice-in-a-chain",
            "reject-ticks-with-a-node-twice",
        ),
        "reject-missing-with-a-node-twice",
    )
    instead: ClassVar = {
        "codec._fields": _last_counts,
        "codec._by_node": lambda raw, row: {NODE(n): row(v) for n, v in dict(raw).items()},
    }


class TakesWhatIsNoMap(Reading):
    """Takes an empty map for what is none."""

    caught_by: ClassVar = ("reject-ticks-in-a-list", "reject-missing-in-a-list")
    instead: ClassVar = {
        "codec._by_node": lambda raw, row: {NODE(n): row(v) for n, v in FIELDS(raw).items()} if isinstance(raw, list) else {}
    }


def _own_form(value: Any) -> Any:
    """A value as `messagepack.read` gives it."""
    if isinstance(value, msgpack.ExtType):
        return Extension(value.code, value.data)
    if isinstance(value, list):  # a map, as pairs
        return [(_own_form(key), _own_form(item)) for key, item in value]
    return tuple(map(_own_form, value)) if isinstance(value, tuple) else value


def library_read(data: bytes, at: int) -> tuple[Any, int]:
    """The value that begins here, read by the usual library."""
    unpacker = msgpack.Unpacker(
        use_list=False, object_pairs_hook=list, strict_map_key=False, unicode_errors="replace", max_buffer_size=0
    )
    unpacker.feed(data[at:])
    try:
        return _own_form(unpacker.unpack()), at + unpacker.tell()
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as error:
        raise MalformedMessage("truncated", at, str(error)) from None


class ReadsAnyText(Reading):
    """Replaces what is no UTF-8, and has another bound for what nests."""

    caught_by: ClassVar = (
        *("reject-string-that-is-no-utf-8", "reject-string-with-a-surrogate", "reject-value-that-is-no-utf-8"),
        *("reject-path-that-is-no-utf-8", "reject-key-that-is-no-utf-8", "reject-unknown-member-too-deep"),
    )
    instead: ClassVar = {"codec.read": library_read}


class ReadsAnything(Reading):
    """Takes what it does not understand for a ping of nobody."""

    caught_by: ClassVar = (
        *("reject-nothing", "reject-no-payload", "reject-update-of-null", "reject-info-of-nothing", "reject-thousands-of-lists"),
        *("reject-byte-that-is-nothing", "reject-list-longer-than-the-event", "reject-update-with-bits-turned", "garbage"),
    )

    def decode(self, data: bytes) -> Any:
        """Something."""
        try:
            return super().decode(data)
        except MalformedMessage:
            return Ping(Chain((Element(chains.Element("nobody", None).node, None),)), 0)  # type: ignore[arg-type]  # a name


class DiesOfGarbage(Reading):
    """Ends at what is no message."""

    caught_by: ClassVar = (
        "reject-nothing",
        "reject-ping-without-a-node",
        "garbage",
        "an-event-of-another-program",
        "tock-of-what-is-malformed",
    )

    def decode(self, data: bytes) -> Any:
        """Dies."""
        try:
            return super().decode(data)
        except MalformedMessage as error:
            raise RuntimeError(str(error)) from None


# -- values, paths and sets of ticks -----------------------------------------------------------------------------------

READ_RANGES = ranges.read


def ranged(repair: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to make sets of ticks of other lists."""
    return {"codec.read_ranges": lambda items: repair(items) if isinstance(items, tuple) else READ_RANGES(items)}


def _bounds(item: Any) -> tuple[int, int]:
    if type(item) is int:
        return item, item + 1
    if isinstance(item, tuple) and len(item) == 2 and all(type(bound) is int for bound in item):
        return item[0], item[1]
    raise MalformedMessage("bad_value", 0, "no range")


def _in_any_order(items: Any) -> Any:
    found = of_ticks(())
    for begin, end in map(_bounds, items):
        if not 0 <= begin < end <= TICK_MAX + 1:
            raise MalformedMessage("bad_value", 0, "no range")
        found = found.union(of_range(max(begin, 1), end))
    return found


class TakesRangesInAnyOrder(Reading):
    """Sorts and joins what is out of order, or overlaps."""

    caught_by: ClassVar = (
        *("reject-ranges-unsorted", "reject-ranges-overlap", "reject-ranges-tick-twice", "reject-ranges-ranges-out-of-order"),
        *("reject-ranges-tick-within-a-range", "reject-known-out-of-order"),
    )
    instead: ClassVar = ranged(_in_any_order)
