"""Mistakes of a reader that makes something of what is no message, no value, no path or no set of ticks."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any, ClassVar

import msgpack
from tests.conformance.mistakes.distkv import Reading

from peerproof.spec.distkv import chains, codec, paths, ranges, values
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Info, Ping
from peerproof.spec.distkv.ranges import TICK_MAX, of_range, of_ticks
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import Extension, read

ELEMENT = codec._element
FIELDS = codec._fields
NODE = codec._node
NUMBER = codec.read_number
OF_PAYLOAD = codec.of_payload
SENDER = codec._sender


class ReadsAnyRoot(Reading):
    """Does not look at the root of an event."""

    caught_by: ClassVar = ("reject-foreign-root", "reject-longer-root", "an-event-under-another-root")

    def decode(self, data: bytes) -> Any:
        """Under its own."""
        name, at = read(data, 0) if data else ("", 0)
        kind = str(name).rpartition(".")[2]
        return codec.of_payload(kind, data, at) if kind in ("update", "info", "ping") else super().decode(data)


class IgnoresCapitalsOfEvents(Reading):
    """Does not look at capital letters in the name of an event."""

    caught_by: ClassVar = ("reject-type-in-capitals",)

    def decode(self, data: bytes) -> Any:
        """In small letters."""
        at = read(data, 0)[1] if data else 0
        return super().decode(data[:at].lower() + data[at:])


class GuessesTheType(Reading):
    """Takes an event whose type it does not know for a ping."""

    caught_by: ClassVar = ("reject-another-type", "reject-the-root-alone", "reject-foreign-event")

    def decode(self, data: bytes) -> Any:
        """A ping, maybe."""
        name, at = read(data, 0) if data else ("", 0)
        is_known = name in ("distkv.update", "distkv.info", "distkv.ping", ":distkv.ping", "x.distkv.ping", "distkv.PING")
        return super().decode(data) if is_known else codec.of_payload("ping", data, at)


class PassesOverTheRest(Reading):
    """Passes over bytes that are left."""

    caught_by: ClassVar = ("reject-update-with-a-byte-left-over", "reject-ping-with-a-byte-left-over", "reject-info-twice")
    instead: ClassVar = {"codec.of_payload": lambda kind, data, at=0: OF_PAYLOAD(kind, data[: read(data, at)[1]], at)}

    def decode(self, data: bytes) -> Any:
        """Without them."""
        at = read(data, 0)[1] if data else 0
        return super().decode(data[: read(data, at)[1]] if at < len(data) else data)


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


def fields_of(repair: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """What is replaced to fill in members of maps."""
    return {"codec._fields": lambda raw: repair(FIELDS(raw))}


class NeedsNoTock(Reading):
    """Takes 0 for a tock that is not there."""

    caught_by: ClassVar = ("reject-update-without-a-tock", "reject-info-without-a-tock", "reject-ping-with-a-tock-of-null")
    instead: ClassVar = {"codec._tock": lambda fields: NUMBER(fields.get("tock") or 0)}


class NeedsNoValue(Reading):
    """Takes an update without a value for a deletion."""

    caught_by: ClassVar = ("reject-update-without-a-value",)
    instead: ClassVar = fields_of(lambda fields: {"value": None, **fields} if "path" in fields else fields)


class NeedsNoPath(Reading):
    """Takes an update without a path for one of the root."""

    caught_by: ClassVar = ("reject-update-without-a-path",)
    instead: ClassVar = fields_of(lambda fields: {"path": (), **fields} if "value" in fields else fields)


class NeedsNoTick(Reading):
    """Takes an update without a tick."""

    caught_by: ClassVar = (
        *("reject-update-without-a-tick", "reject-update-with-a-tick-of-null", "reject-update-with-null-in-its-chain"),
        "reject-update-without-a-tick-in-its-chain",
    )
    instead: ClassVar = {
        "codec.is_change_chain": lambda chain: all(tick != 0 for _, tick in chain.elements) and not chain.has_twice()
    }


class TakesTheTickZero(Reading):
    """Takes the tick 0 for one of a change."""

    caught_by: ClassVar = (
        "reject-update-with-the-tick-zero",
        "reject-update-with-zero-in-its-chain",
        "an-update-with-the-tick-zero",
    )
    instead: ClassVar = {
        "codec.is_change_chain": lambda chain: all(tick is not None for _, tick in chain.elements) and not chain.has_twice()
    }


class TakesNodesTwice(Reading):
    """Takes a chain of changes that names a node twice."""

    caught_by: ClassVar = (
        "reject-update-with-a-node-twice",
        "reject-update-with-a-node-twice-behind",
        "an-update-whose-chain-names-a-node-twice",
    )
    instead: ClassVar = {"codec.is_change_chain": lambda chain: all(tick for _, tick in chain.elements)}


class NeedsNoSender(Reading):
    """Takes an info, or a change that is sent again, of nobody in particular."""

    caught_by: ClassVar = (
        *("reject-info-without-a-tick", "reject-info-with-a-tick-of-null", "reject-nested-form-without-a-sender"),
        "reject-nested-form-of-a-sender-without-a-tick",
    )
    instead: ClassVar = {
        "codec._sender": lambda fields: SENDER(
            {**fields, "node": fields.get("node") or "nobody", "tick": fields.get("tick") or 0}
        )
    }


def _clamped(raw: Any) -> int:
    return NUMBER(min(max(raw, 0), TICK_MAX) if type(raw) is int else raw)


class ClampsNumbers(Reading):
    """Takes the nearest number for one that is out of range."""

    caught_by: ClassVar = (
        *(
            "reject-tick-negative",
            "reject-tick-too-great",
            "reject-tick-greatest",
            "reject-tock-negative",
            "reject-ticks-negative",
        ),
        *("reject-tick-negative-in-a-chain", "reject-ticks-too-great"),
    )
    instead: ClassVar = {"codec.read_number": _clamped}


def _converted(raw: Any) -> int:
    try:
        return NUMBER(raw) if type(raw) is int else NUMBER(int(raw))
    except (TypeError, ValueError):
        raise MalformedMessage("bad_value", 0, "no number") from None


class ConvertsNumbers(Reading):
    """Makes numbers of floats, strings and truth."""

    caught_by: ClassVar = (
        "reject-tick-float",
        "reject-tick-string",
        "reject-tick-truth",
        "reject-tock-float",
        "reject-update-with-a-tock-in-words",
    )
    instead: ClassVar = {"codec.read_number": _converted}


class TakesAnyName(Reading):
    """Takes names of any length."""

    caught_by: ClassVar = ("reject-node-empty", "reject-node-long", "reject-node-long-in-a-chain", "reject-node-long-in-ticks")
    instead: ClassVar = {"codec._node": lambda raw: raw if type(raw) is str else NODE(raw)}


class CountsLetters(Reading):
    """Counts the letters of a name, not its bytes."""

    caught_by: ClassVar = ("reject-node-long-in-bytes", "reject-node-of-17-letters")
    instead: ClassVar = {"codec._node": lambda raw: raw if type(raw) is str and 0 < len(raw) <= 64 else NODE(raw)}


class ConvertsNames(Reading):
    """Makes names of numbers, bytes and Null."""

    caught_by: ClassVar = ("reject-node-bytes", "reject-node-number", "reject-node-null", "reject-ticks-with-a-number-for-a-node")
    instead: ClassVar = {
        "codec._node": lambda raw: NODE(raw.decode() if isinstance(raw, bytes) else str(raw)),
        "codec._fields": lambda raw: FIELDS(
            [(key if isinstance(key, str) else str(key), value) for key, value in raw] if isinstance(raw, list) else raw
        ),
    }


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


def _as_far_as_it_goes(fields: dict[str, Any]) -> Chain:
    elements: list[Element] = [ELEMENT(fields)]
    while (prev := fields.get("prev")) is not None:
        try:
            fields = FIELDS(prev)
            elements.append(ELEMENT(fields))
        except MalformedMessage:
            return Chain(tuple(elements))
    return Chain(tuple(elements), cut="prev" not in fields)


class EndsAtTheUnknown(Reading):
    """Ends a chain where it does not understand it."""

    caught_by: ClassVar = (
        *("reject-prev-in-a-list", "reject-prev-that-is-a-number", "reject-prev-without-a-node", "reject-prev-that-is-empty"),
        "reject-tick-negative-in-a-chain",
    )
    instead: ClassVar = {"codec.read_chain": _as_far_as_it_goes}


class PassesOverReasons(Reading):
    """Passes over a reason that is none."""

    caught_by: ClassVar = ("reject-reason-in-a-list", "reject-reason-without-a-node")
    instead: ClassVar = fields_of(
        lambda fields: (
            fields | {"reason": None}
            if "reason" in fields and not (isinstance(fields["reason"], list) and any(k == "node" for k, _ in fields["reason"]))
            else fields
        )
    )


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


class CountsTheTock(Reading):
    """Takes over the tock of what is malformed otherwise."""

    caught_by: ClassVar = ("tock-of-what-is-malformed", "an-update-with-the-tick-zero")

    def decode(self, data: bytes) -> Any:
        """As if it was an info."""
        try:
            return super().decode(data)
        except MalformedMessage:
            raw = dict(read(data, read(data, 0)[1])[0])
            if b"distkv." not in data[:9]:
                raise
            return Info(Chain((Element("nobody", 0),), cut=True), NUMBER(raw.get("tock")))  # type: ignore[arg-type]  # a name


# -- values, paths and sets of ticks -----------------------------------------------------------------------------------

READ_PATH = paths.read
READ_RANGES = ranges.read


class LastKeyCounts(Reading):
    """Takes the last of equal keys in a value."""

    caught_by: ClassVar = ("reject-key-twice-in-a-value", "reject-key-twice-in-two-forms")
    instead: ClassVar = {"codec.value_of": lambda raw: values.value_of(list(dict(raw).items()) if isinstance(raw, list) else raw)}


class TakesAnyPath(Reading):
    """Makes a path of whatever there is."""

    caught_by: ClassVar = ("reject-path-string", "reject-path-null", "reject-path-with-list", "reject-path-with-extension")
    instead: ClassVar = {
        "paths.read": lambda raw: READ_PATH(
            tuple(str(name) if isinstance(name, (tuple, list, dict, Extension)) else name for name in raw or ())
        )
    }


class TakesNullWithin(Reading):
    """Takes Null for a name anywhere."""

    caught_by: ClassVar = ("reject-path-with-null-inside", "reject-path-with-two-nulls")
    instead: ClassVar = {
        "paths.read": lambda raw: READ_PATH(
            (*raw[:1], *("" if name is None else name for name in raw[1:])) if isinstance(raw, tuple) else raw
        )
    }


class TakesNoNumbers(Reading):
    """Takes what is no number for a name."""

    caught_by: ClassVar = ("reject-path-with-no-number",)
    instead: ClassVar = {
        "paths.read": lambda raw: READ_PATH(
            tuple("NaN" if isinstance(name, float) and isnan(name) else name for name in raw) if isinstance(raw, tuple) else raw
        )
    }


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


class TakesEmptyRanges(Reading):
    """Passes over ranges that are empty."""

    caught_by: ClassVar = (
        "reject-ranges-empty-range",
        "reject-ranges-empty-range-among-others",
        "reject-ranges-backward-range",
        "a-question-with-bad-ranges",
    )
    instead: ClassVar = ranged(lambda items: READ_RANGES(tuple(item for item in items if not _is_empty(item))))


def _is_empty(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and all(type(bound) is int for bound in item) and item[0] >= item[1]


class TakesAnyBounds(Reading):
    """Cuts ranges to what can be a tick."""

    caught_by: ClassVar = (
        "reject-ranges-negative",
        "reject-ranges-negative-begin",
        "reject-ranges-beyond-the-last",
        "reject-ranges-beyond-the-last-among-others",
        "reject-ranges-tick-beyond-the-last",
    )
    instead: ClassVar = ranged(
        lambda items: READ_RANGES(
            tuple(
                found
                for begin, end in map(_bounds, items)
                if _is_empty(found := (begin, end) if begin >= end else (max(begin, 0), min(end, TICK_MAX + 1))) <= (begin >= end)
            )
        )
    )


class PassesOverOtherItems(Reading):
    """Passes over items of a set that are no ticks."""

    caught_by: ClassVar = (
        *(
            "reject-ranges-words",
            "reject-ranges-null",
            "reject-ranges-float",
            "reject-ranges-three-bounds",
            "reject-ranges-one-bound",
        ),
        *("reject-ranges-no-bounds", "reject-ranges-truth", "reject-ranges-float-as-a-begin", "reject-ranges-float-as-an-end"),
    )
    instead: ClassVar = ranged(
        lambda items: READ_RANGES(
            tuple(
                item
                for item in items
                if type(item) is int or (isinstance(item, tuple) and len(item) == 2 and all(type(bound) is int for bound in item))
            )
        )
    )
