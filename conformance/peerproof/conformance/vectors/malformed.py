"""
Families of malformed datagrams: one datagram, and a way to spoil it.

A variant can happen to be a legal message, as the prefix of a list is where an entry ends. Those are no malformed datagrams
and are left out; what is legal is asked of the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from peerproof.spec.errors import MalformedMessage


class Variant(NamedTuple):
    """One spoilt datagram."""

    name: str  #: what was done to it: `truncate 3`, `flip 5.0`
    data: bytes


def variants(family: Mapping[str, Any]) -> list[Variant]:
    """Every spoilt datagram of a family as a vector gives it, without those that are as they were, and each once."""
    (kind, how), *_ = family.items()
    whole = bytes.fromhex(how["bytes"])
    unlike: dict[bytes, Variant] = {}
    for variant in _MADE[kind](whole, how):
        if variant.data != whole:
            unlike.setdefault(variant.data, variant)
    return list(unlike.values())


def malformed(family: Mapping[str, Any], decode: Callable[[bytes], Any]) -> list[Variant]:
    """The variants of a family that the specification's `decode` rejects."""
    return [variant for variant in variants(family) if rejection(variant.data, decode)]


def rejection(data: bytes, decode: Callable[[bytes], Any]) -> MalformedMessage | None:
    """Why the specification's `decode` rejects a datagram; None if it is a message."""
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
