"""Mistakes of a reader that makes something of what is no message, no value, no path or no set of ticks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack
from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.distkv import chains, codec
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Ping
from peerproof.spec.distkv.ranges import TICK_MAX, of_range, of_ticks
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import Extension

wrong = Variants(__name__, Wrong)
FIELDS = codec._fields
NODE = codec._node


@wrong("decode", "reject-ping-cut reject-update-cut reject-info-cut")
def ReadsBeginnings(right: Any, data: bytes) -> Any:
    """Fills up with Null what ends too early."""
    for _ in range(40):
        try:
            return right(data)
        except MalformedMessage as error:
            if error.reason != "truncated" or not data[13:]:
                raise
            data += b"\x01"
    return right(data)


def _own_form(value: Any) -> Any:
    """A value as `messagepack.read` gives it."""
    if isinstance(value, msgpack.ExtType):
        return Extension(value.code, value.data)
    if isinstance(value, list):  # a map, as pairs
        return [(_own_form(key), _own_form(item)) for key, item in value]
    return tuple(map(_own_form, value)) if isinstance(value, tuple) else value


@wrong(
    "codec.read",
    "reject-string-that-is-no-utf-8 reject-string-with-a-surrogate reject-value-that-is-no-utf-8 "
    "reject-path-that-is-no-utf-8 reject-key-that-is-no-utf-8 reject-unknown-member-too-deep",
)
def ReadsAnyText(right: Any, data: bytes, at: int) -> Any:
    """Replaces what is no UTF-8, and has another bound for what nests."""
    unpacker = msgpack.Unpacker(
        use_list=False, object_pairs_hook=list, strict_map_key=False, unicode_errors="replace", max_buffer_size=0
    )
    unpacker.feed(data[at:])
    try:
        return _own_form(unpacker.unpack()), at + unpacker.tell()
    except (ValueError, msgpack.exceptions.UnpackException, RecursionError) as error:
        raise MalformedMessage("truncated", at, str(error)) from None


@wrong(
    "decode",
    "reject-nothing reject-no-payload reject-update-of-null reject-info-of-nothing reject-thousands-of-lists "
    "reject-byte-that-is-nothing reject-list-longer-than-the-event reject-update-with-bits-turned garbage",
)
def ReadsAnything(right: Any, data: bytes) -> Any:
    """Takes what it does not understand for a ping of nobody."""
    try:
        return right(data)
    except MalformedMessage:
        return Ping(Chain((Element(chains.Element("nobody", None).node, None),)), 0)


# type: ignore[arg-type]  # a name


@wrong("decode", "reject-nothing reject-ping-without-a-node garbage an-event-of-another-program tock-of-what-is-malformed")
def DiesOfGarbage(right: Any, data: bytes) -> Any:
    """Ends at what is no message."""
    try:
        return right(data)
    except MalformedMessage as error:
        raise RuntimeError(str(error)) from None


# -- values, paths and sets of ticks -----------------------------------------------------------------------------------


def ranged(repair: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to make sets of ticks of other lists."""
    return around("codec.read_ranges", lambda right, items: repair(items) if isinstance(items, tuple) else right(items))


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


wrong |= {
    # Counts the letters of a name, not its bytes.
    "CountsLetters: reject-node-long-in-bytes reject-node-of-17-letters": around(
        "codec._node", lambda right, raw: raw if type(raw) is str and 0 < len(raw) <= 64 else right(raw)
    ),
    # Takes the last of members with the same name.
    "LastMemberCounts: reject-member-twice reject-unknown-member-twice reject-member-twice-in-a-chain "
    "reject-ticks-with-a-node-twice reject-missing-with-a-node-twice": around(
        "codec._fields", lambda right, raw: right(list(dict(raw).items()) if isinstance(raw, list) else raw)
    )
    | {"codec._by_node": lambda raw, row: {NODE(n): row(v) for n, v in dict(raw).items()}},
    # Takes an empty map for what is none.
    "TakesWhatIsNoMap: reject-ticks-in-a-list reject-missing-in-a-list": {
        "codec._by_node": lambda raw, row: {NODE(n): row(v) for n, v in FIELDS(raw).items()} if isinstance(raw, list) else {}
    },
    # Sorts and joins what is out of order, or overlaps.
    "TakesRangesInAnyOrder: reject-ranges-unsorted reject-ranges-overlap reject-ranges-tick-twice "
    "reject-ranges-ranges-out-of-order reject-ranges-tick-within-a-range reject-known-out-of-order": ranged(_in_any_order),
}
__getattr__ = wrong.find
