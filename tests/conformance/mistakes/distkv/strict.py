"""Mistakes of a reader that refuses what is legal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around, refusing

from peerproof.spec.distkv import codec, paths
from peerproof.spec.distkv.messages import Info, Ping, Update
from peerproof.spec.distkv.ranges import Ranges
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import pack, read

wrong = Variants(__name__, Wrong)


def refusing_maps(is_wrong: Callable[[Any], bool]) -> dict[str, Any]:
    """What is replaced to refuse some maps."""

    def fields(right: Any, raw: Any) -> Any:
        found: dict[str, Any] = right(raw)
        if is_wrong(found):
            raise MalformedMessage("bad_value", 0, "not like that")
        return found

    return around("codec._fields", fields)


_MEMBERS = frozenset(["node", "tick", "prev", "tock", "path", "value", "chain", "known", "ticks", "missing", "reason"])


@wrong("decode", "update-with-unknown-members ping-with-unknown-members member-replace replace-within-the-reason")
def RefusesUnknownMembers(right: Any, data: bytes) -> Any:
    """Refuses a message with members that it does not know."""
    message = right(data)
    raw, _ = read(data, read(data, 0)[1])
    if _has_others(raw, 0):
        raise MalformedMessage("bad_value", 0, "other members")
    return message


def _has_others(raw: Any, depth: int) -> bool:
    return any(
        key not in _MEMBERS or (key in ("prev", "reason", "chain") and isinstance(value, list) and _has_others(value, depth + 1))
        for key, value in raw
    )


@wrong("decode", "update-in-another-order ping-in-another-order info-in-another-order")
def RefusesAnotherOrder(right: Any, data: bytes) -> Any:
    """Refuses members in another order."""
    message = right(data)
    order = [key for key, _ in read(data, read(data, 0)[1])[0]]
    written = codec.encode(message)
    if sorted(order, key=str) == sorted(after := [key for key, _ in read(written, read(written, 0)[1])[0]]) and order != after:
        raise MalformedMessage("bad_value", 0, "another order")
    return message


def _apart(found: Ranges, items: Any) -> Ranges:
    if len(found.begins) < len(items):
        raise MalformedMessage("bad_value", 0, "ranges touch")
    return found


@wrong("decode", "info-of-a-node-with-the-tick-zero nested-form-of-a-sender-with-the-tick-zero")
def RefusesSendersWithZero(right: Any, data: bytes) -> Any:
    """Refuses an info of a node with the tick 0."""
    message = right(data)
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


@wrong("decode", "path-that-ends-with-nothing empty-name-at-the-end")
def DropsEmptyNames(right: Any, data: bytes) -> Any:
    """Passes over empty names."""
    message = right(data)
    if not isinstance(message, Update):
        return message
    return replace(message, path=paths.path_of([name for name in paths.names_of(message.path) if name != ""]))


wrong |= {
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
}
__getattr__ = wrong.find
