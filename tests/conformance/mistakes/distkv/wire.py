"""Mistakes in writing messages, and of readers that refuse what is legal or make something of what is not."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgpack
from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around, despite, refusing

from peerproof.spec.core import NodeId
from peerproof.spec.distkv import codec, paths
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Info, Ping, Update
from peerproof.spec.distkv.ranges import TICK_MAX, Ranges, of_range, of_ticks
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import Extension, pack, read

wrong = Variants(__name__, Wrong)
_MEMBERS = frozenset(["node", "tick", "prev", "tock", "path", "value", "chain", "known", "ticks", "missing", "reason"])
FIELDS = codec._fields
NODE = codec._node


def writing(**functions: Callable[..., bytes]) -> Mapping[str, Any]:
    """What is replaced to write parts of messages otherwise."""
    return {f"codec.{name}": function for name, function in functions.items()}


@wrong("encode", "update update-that-deletes sets-a-value")
def NestsWhatItSendsAgain(right: Any, message: Any) -> Any:
    """Writes each update in the form in which the original sends changes again."""
    if isinstance(message, Update) and message.sender is None:
        message = replace(message, sender=message.chain.head)
    return right(message)


def refusing_maps(is_wrong: Callable[[Any], bool]) -> dict[str, Any]:
    """What is replaced to refuse some maps."""

    def fields(right: Any, raw: Any) -> Any:
        found: dict[str, Any] = right(raw)
        if is_wrong(found):
            raise MalformedMessage("bad_value", 0, "not like that")
        return found

    return around("codec._fields", fields)


@wrong.after("decode", "update-with-unknown-members ping-with-unknown-members member-replace replace-within-the-reason")
def RefusesUnknownMembers(message: Any, data: bytes) -> Any:
    """Refuses a message with members that it does not know."""
    raw, _ = read(data, read(data, 0)[1])
    if _has_others(raw, 0):
        raise MalformedMessage("bad_value", 0, "other members")
    return message


def _has_others(raw: Any, depth: int) -> bool:
    return any(
        key not in _MEMBERS or (key in ("prev", "reason", "chain") and isinstance(value, list) and _has_others(value, depth + 1))
        for key, value in raw
    )


@wrong.after("decode", "update-in-another-order ping-in-another-order info-in-another-order")
def RefusesAnotherOrder(message: Any, data: bytes) -> Any:
    """Refuses members in another order."""
    order = [key for key, _ in read(data, read(data, 0)[1])[0]]
    written = codec.encode(message)
    if sorted(order, key=str) == sorted(after := [key for key, _ in read(written, read(written, 0)[1])[0]]) and order != after:
        raise MalformedMessage("bad_value", 0, "another order")
    return message


def _apart(found: Ranges, items: Any) -> Ranges:
    if len(found.begins) < len(items):
        raise MalformedMessage("bad_value", 0, "ranges touch")
    return found


@wrong.after("decode", "info-of-a-node-with-the-tick-zero nested-form-of-a-sender-with-the-tick-zero")
def RefusesSendersWithZero(message: Any, data: bytes) -> Any:
    """Refuses an info of a node with the tick 0."""
    sender = message.chain.head if isinstance(message, Info) else getattr(message, "sender", None)
    if sender is not None and not sender.tick:
        raise MalformedMessage("bad_value", 0, "no tick")
    return message


@wrong("decode", "composed-letters")
def NormalisesNames(right: Any, data: bytes) -> Any:
    """Normalises the letters of a path."""
    from unicodedata import normalize

    message = right(data)
    if not isinstance(message, Update):
        return message
    names = [normalize("NFC", name) if isinstance(name, str) else name for name in paths.names_of(message.path)]
    return replace(message, path=paths.path_of(names))


@wrong.after("decode", "path-that-ends-with-nothing empty-name-at-the-end")
def DropsEmptyNames(message: Any, data: bytes) -> Any:
    """Passes over empty names."""
    if not isinstance(message, Update):
        return message
    return replace(message, path=paths.path_of([name for name in paths.names_of(message.path) if name != ""]))


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


@wrong(despite, "reject-nothing reject-ping-without-a-node garbage an-event-of-another-program tock-of-what-is-malformed")
def DiesOfGarbage(_: bytes, error: MalformedMessage) -> None:
    """Ends at what is no message."""
    raise RuntimeError(str(error))


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
    # Takes what it does not understand for a ping of nobody.
    "ReadsAnything: reject-nothing reject-no-payload reject-update-of-null reject-info-of-nothing reject-thousands-of-lists "
    "reject-byte-that-is-nothing reject-list-longer-than-the-event reject-update-with-bits-turned garbage": despite(
        lambda *_: Ping(Chain((Element(NodeId("nobody"), None),)), 0)
    ),
    # Writes every number in eight bytes.
    "WritesEightBytes: update ping tick-of-32-bits tick-of-zero": writing(
        number_bytes=lambda number: struct.pack(">BQ", 0xCF, number)
    ),
    # Writes numbers in signed forms.
    "WritesSignedNumbers: tick-of-beyond-7-bits tick-of-16-bits tick-of-63-bits": writing(
        number_bytes=lambda number: pack(number) if number < 128 else struct.pack(">Bq", 0xD3, number)
    ),
    # Refuses what is longer than it needs to be.
    "RefusesLongForms: tick-in-64-bits strings-with-longer-headers maps-with-longer-headers lists-with-longer-headers "
    "ranges-with-longer-headers float-of-four-bytes value-in-a-longer-form path-in-a-longer-form": refusing(
        lambda _, data: pack(read(data, at := read(data, 0)[1])[0]) != data[at:]
    ),
    # Refuses ticks in signed forms.
    "RefusesSignedNumbers: tick-in-signed-8-bits tick-in-signed-64-bits": refusing(
        lambda _, data: any(b"tick" + bytes((head,)) in data for head in (0xD0, 0xD1, 0xD2, 0xD3))
    ),
    # Refuses a chain of pings that names a node twice.
    "RefusesPingsThatRepeat: ping-with-the-same-node-twice ping ping-chain-of-64-that-repeats": refusing(
        lambda message, _: isinstance(message, Ping) and message.chain.has_twice()
    ),
    # Knows names that are strings only.
    "RefusesOtherNames: path-of-three-kinds path-of-truth path-of-numbers path-about-the-system path-of-a-byte-string": refusing(
        lambda message, _: isinstance(message, Update) and not all(isinstance(name, str) for name in paths.names_of(message.path))
    ),
    # Refuses a tick that is Null.
    "RefusesNullTicks: tick-that-is-null tick-that-is-null-in-a-chain": refusing_maps(
        lambda fields: "tick" in fields and fields["tick"] is None
    ),
    # Refuses a map without nodes.
    "RefusesEmptyMaps: maps-without-nodes": refusing_maps(lambda fields: not fields),
    # Refuses ranges that touch.
    "RefusesTouchingRanges: ranges-that-touch": around("codec.read_ranges", lambda right, items: _apart(right(items), items)),
    # Refuses a pair of one tick.
    "RefusesRangesOfOne: range-of-one-tick": around(
        "codec.read_ranges",
        lambda right, items: right(
            tuple(-1 if isinstance(item, tuple) and item[1:] == (item[0] + 1,) else item for item in items)
        ),
    ),
    # Refuses a reason that is Null.
    "RefusesNullReasons: reason-that-is-null": refusing_maps(lambda fields: "reason" in fields and fields["reason"] is None),
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
