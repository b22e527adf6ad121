"""Mistakes of decoders that take too much, or die of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack
from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, despite, mending

from peerproof.reference.divergences.swim import NAMES
from peerproof.spec import swim
from peerproof.spec.errors import MalformedMessage

wrong = Variants(__name__, Wrong)


def mending_parts(change: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to take one value for another, wherever it stands in a malformed message."""
    return mending(lambda data: bytes(msgpack.packb(everywhere(msgpack.unpackb(data, strict_map_key=False), change))))


def everywhere(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with a change to each of its parts."""
    if isinstance(value, list):
        return change([everywhere(part, change) for part in value])
    if isinstance(value, dict):
        return change({change(name): everywhere(part, change) for name, part in value.items()})
    return change(value)


@wrong(mending, "reject-byte-left-over reject-byte-put-in")
def IgnoresWhatIsLeftOver(data: bytes) -> bytes:
    """Reads one value and looks no further."""
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(data)
    unpacker.unpack()
    return data[: unpacker.tell()]


@wrong(mending_parts, "reject-counter-that-is-a-large-string reject-counter-that-is-a-negative-string")
def DigitsAreIntegers(value: Any) -> Any:
    """Takes a string of digits for the integer."""
    digits = value.removeprefix("~i").removeprefix("~n").partition(".")[0] if isinstance(value, str) else ""
    return (
        min(abs(int(digits or 0)), 2**63 - 1)
        if (isinstance(value, str) and digits.lstrip("-").isdigit()) or value == "~i"
        else value
    )


@wrong(mending_parts, "reject-anti-entropy-with-port-0 reject-port-0")
def AnyPort(value: Any) -> Any:
    """Cuts ports to sixteen bits."""
    if isinstance(value, list) and len(value) == 6 and type(value[5]) is int:
        return [*value[:5], value[5] % 2**16 or 1]
    if isinstance(value, dict) and value.get("~:port") == 0:
        return {**value, "~:port": 1}
    return value


@wrong(mending_parts, "reject-anti-entropy-with-strings-for-keys reject-event-name-that-is-a-string")
def NamesAreNames(value: Any) -> Any:
    """Takes strings and symbols for keywords."""
    bare = value.removeprefix("~$") if isinstance(value, str) else ""
    known = {name[2:] for name in NAMES} | {"host", "port", "uuid", "restart-counter", "tx-counter"}
    return f"~:{bare}" if bare in known else value


@wrong(mending_parts, "reject-ack-of-7-elements reject-ping-of-6-elements")
def ExtraElementsAreIgnored(value: Any) -> Any:
    """Looks at the elements of a vector that it knows, and not at the others."""
    arity = {"~:ping": 5, "~:ack": 6, "~:joining": 6, "~:payload": 2, "~:probe": 4}
    status = ("~:normal", "~:suspicious", "~:dead")
    if isinstance(value, list) and value and isinstance(value[0], str):
        if value[0] in status:
            return value[:4] if len(value) > 4 else value[:2]
        return value[: arity.get(value[0], len(value))]
    return value


@wrong(mending_parts, "reject-ping-of-4-elements reject-probe-ack-of-4-elements")
def MissingElementsAreNothing(value: Any) -> Any:
    """Takes an element that is missing for 0, an empty map or the node itself."""
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return value
    a = [*value, *([["~#u", [1, 1]]] if value[0] == "~:ping" else [])]
    wanted = {
        "~:ping": 5, "~:ack": 6, "~:leave": 4, "~:indirect-ack": 4, "~:probe-ack": 5, "~:joining": 6, "~:indirect-ping": 4
    }.get(value[0], 0)  # fmt: skip
    if value[0] in ("~:normal", "~:dead") and len(value) == 1:
        return [*value, ["~#u", [1, 1]]]
    if value == ["~:payload"]:
        return [*value, {}]
    return [*a, *([1] * (wanted - len(a)))][: max(wanted, len(value))]


@wrong(mending_parts, "reject-anti-entropy-without-host reject-anti-entropy-without-port")
def MissingKeysHaveDefaults(value: Any) -> Any:
    """Takes a key that is missing in anti-entropy for an empty value."""
    if not isinstance(value, dict) or ("~:host" not in value and "~:port" not in value):
        return value
    some: dict[str, Any] = {"~:host": "h", "~:port": 1, "~:uuid": ["~#u", [1, 1]], "~:restart-counter": 0, "~:tx-counter": 0}
    return some | value


@wrong(mending, "reject-cache-code-at-the-beginning reject-unknown-header")
def UnknownCodesAreStrings(data: bytes) -> bytes:
    """Takes a cache code that stands for nothing for a string, and a string for an unknown name."""
    header, *vectors = everywhere(
        msgpack.unpackb(data, strict_map_key=False),
        lambda value: f"~:code{value[1:]}" if isinstance(value, str) and value[:1] == "^" else value,
    )
    return bytes(msgpack.packb([["~:ping", *header[1:]], *vectors]))


@wrong(mending_parts, "reject-uuid-of-three-halves reject-uuid-of-wrong-digits")
def AnyUuid(value: Any) -> Any:
    """Makes a uuid of whatever stands in the place of one."""
    if isinstance(value, list) and value[:1] == ["~#u"] and value[1:] != [value[1][:2]]:
        return ["~#u", [1, 1]]
    if isinstance(value, list) and value[:1] == ["~#u"] and any(type(half) is not int for half in value[1]):
        return ["~#u", [1, 1]]
    if isinstance(value, list) and value[:1] == ["~:ping"] and not isinstance(value[1], list):
        return [value[0], ["~#u", [1, 1]], *value[2:]]
    return value


@wrong(mending, "reject-ack-after-ping reject-probe-ack-with-a-vector")
def SecondHeadersAreSkipped(data: bytes) -> bytes:
    """Skips headers that do not come first, and what follows a probe."""
    header, *others = msgpack.unpackb(data, strict_map_key=False)
    if header[0] in ("~:probe", "~:probe-ack"):
        others = []
    return bytes(msgpack.packb([header, *(v for v in others if v[:1] not in (["~:ping"], ["~:ack"], ["^0"]))]))


@wrong(mending, "reject-header-of-nothing reject-header-that-is-no-vector")
def AnyHeader(data: bytes) -> bytes:
    """Takes a message without a header, or with one that it does not know, for a ping of somebody to somebody."""
    value = msgpack.unpackb(data, strict_map_key=False)
    somebody = ["~#u", [1, 1]]
    return bytes(msgpack.packb([["~:ping", somebody, 0, 0, somebody], *(value[1:] if isinstance(value, list) else [])]))


@wrong(mending, "reject-anti-entropy-of-no-maps reject-anti-entropy-untagged-of-no-maps")
def StrangePartsAreSkipped(data: bytes) -> bytes:
    """Skips what is no vector, and what it cannot read of one."""

    def is_legal(vector: Any) -> bool:
        try:
            swim.MESSAGE.decode(msgpack.packb([header, vector]))
        except MalformedMessage:
            return False
        return True

    header, *others = msgpack.unpackb(data, strict_map_key=False)
    return bytes(msgpack.packb([header, *(v for v in others if isinstance(v, list) and is_legal(v))]))


@wrong(mending, "reject-nested-without-end reject-nothing-in-it")
def NoBounds(data: bytes) -> bytes:
    """Knows no bounds of hosts and nesting, and cuts what it is given to size."""

    def cut(value: Any) -> Any:
        is_joining = isinstance(value, list) and len(value) == 6 and value[0] == "~:joining" and isinstance(value[4], str)
        return [*value[:4], value[4][:100] or "h", value[5]] if is_joining else value

    data, deep, _ = data.partition(b"\x91" * 60)
    vectors = [] if deep and not data else everywhere(msgpack.unpackb(data + b"\x90" * bool(deep), strict_map_key=False), cut)
    return bytes(msgpack.packb(vectors or [["~:probe", ["~#u", [1, 1]], 0, 0]]))


@wrong(mending, "reject-host-that-is-no-utf-8 reject-host-that-is-a-keyword")
def HostsOfAnything(data: bytes) -> bytes:
    """Makes a text of whatever stands in the place of a host."""
    header, joining = msgpack.unpackb(data, strict_map_key=False, unicode_errors="replace")
    return bytes(msgpack.packb([header, [*joining[:4], f"h{joining[4]}", joining[5]]]))


@wrong(despite, "reject-empty-datagram reject-ping-cut reject-joining-with-flipped-bits bad-payload-spoils-the-datagram")
def Dies(_: bytes, error: MalformedMessage) -> None:
    """Dies of what is malformed."""
    raise IndexError(error.detail)


wrong |= {
    # Cuts off the fraction of a float.
    "FloatsAreIntegers: reject-counter-that-is-a-float reject-port-that-is-a-float": mending_parts(
        lambda value: int(value) if isinstance(value, float) else value
    ),
    # Takes true for 1.
    "BooleansAreIntegers: reject-counter-that-is-true reject-port-that-is-true": mending_parts(
        lambda value: int(value) if isinstance(value, bool) else value
    ),
    # Takes nil for 0.
    "NilIsZero: reject-counter-that-is-nil": mending_parts(lambda value: 0 if value is None else value),
    # Takes a form of Transit that it does not know for a string.
    "StrangeStringsAreStrings: reject-backquote reject-tilde-alone": mending_parts(
        lambda value: (
            f"~{value}" if isinstance(value, str) and value[:1] in "~`" and value[:2] not in ("~:", "~#", "~u") else value
        )
    ),
}
__getattr__ = wrong.find
