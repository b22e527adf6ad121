"""
Families of malformed datagrams: a datagram, and ways to damage it.

A variant can be a legal message by chance, such as the prefix of a list that ends with an entry. These are left out; the
specification decides which are legal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from peerproof.spec.errors import MalformedMessage


class Variant(NamedTuple):
    """One damaged datagram."""

    name: str  #: how it was damaged: `truncate 3`, `flip 5.0`
    data: bytes


def variants(family: Mapping[str, Any]) -> list[Variant]:
    """Returns every damaged datagram of a family, without duplicates and unchanged ones."""
    (kind, how), *_ = family.items()
    whole = bytes.fromhex(how["bytes"])
    unlike: dict[bytes, Variant] = {}
    for variant in _MADE[kind](whole, how):
        if variant.data != whole:
            unlike.setdefault(variant.data, variant)
    return list(unlike.values())


def malformed(family: Mapping[str, Any], decode: Callable[[bytes], Any]) -> list[Variant]:
    """Returns the variants of a family that the specification's `decode` rejects."""
    return [variant for variant in variants(family) if rejection(variant.data, decode)]


def rejection(data: bytes, decode: Callable[[bytes], Any]) -> MalformedMessage | None:
    """Returns why the specification's `decode` rejects a datagram; None if it is a message."""
    try:
        decode(data)
    except MalformedMessage as error:
        return error
    return None


def _truncate(whole: bytes, _: Mapping[str, Any]) -> Iterator[Variant]:
    for size in range(len(whole)):
        yield Variant(f"truncate {size}", whole[:size])


def _flip(whole: bytes, how: Mapping[str, Any]) -> Iterator[Variant]:
    for offset in how["at"]:
        for bit in range(8):
            yield Variant(f"flip {offset}.{bit}", _with(whole, offset, whole[offset] ^ 1 << bit))


def _insert(whole: bytes, how: Mapping[str, Any]) -> Iterator[Variant]:
    for offset in range(len(whole) + 1):
        yield Variant(f"insert {offset}", whole[:offset] + bytes.fromhex(how["byte"]) + whole[offset:])


def _oversize(whole: bytes, how: Mapping[str, Any]) -> Iterator[Variant]:
    for offset in how["at"]:
        for size in range(whole[offset] + 1, 256):
            yield Variant(f"oversize {offset}={size:02x}", _with(whole, offset, size))


def _with(whole: bytes, offset: int, byte: int) -> bytes:
    return whole[:offset] + bytes((byte,)) + whole[offset + 1 :]


_MADE: Final[Mapping[str, Callable[[bytes, Mapping[str, Any]], Iterator[Variant]]]] = {
    "truncate": _truncate,
    "flip": _flip,
    "insert": _insert,
    "oversize": _oversize,
}
