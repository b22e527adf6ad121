"""Bytes that are nearly messages: what is known, with something cut, flipped, inserted, repeated, or put in from another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

#: Bytes and numbers at which something ends or begins.
_BYTES: Final = bytes.fromhex("00 01 02 20 22 30 39 5b 5d 7b 7d 7f 80 90 a0 bf c0 c1 d9 df fe ff")
_NUMBERS: Final = tuple(sorted({(1 << bits) + more for bits in (0, 7, 8, 15, 16, 31, 32, 53, 63, 64) for more in (-1, 0, 1)}))
_WIDTHS: Final = (1, 2, 4, 8)

#: So many changes at most are made to one input.
MOST_CHANGES: Final = 4
MOST_INSERTED: Final = 8

Change = Callable[[Random, bytes, Sequence[bytes]], bytes]


def mutate(lot: Random, known: Sequence[bytes], longest: int) -> bytes:
    """One of the known inputs, changed in one place or a few; at most `longest` bytes of it."""
    data = lot.choice(known)
    for _ in range(lot.randint(1, MOST_CHANGES)):
        data = lot.choice(_CHANGES)(lot, data, known)
    return data[:longest]


def _truncate(lot: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: lot.randint(0, len(data))]


def _flip(lot: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = lot.randrange(len(data))
    return data[:at] + bytes((data[at] ^ 1 << lot.randrange(8),)) + data[at + 1 :]


def _set(lot: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = lot.randrange(len(data))
    near = (data[at] + lot.choice((-1, 1))) % 256
    return data[:at] + bytes((lot.choice((near, near, *_BYTES)),)) + data[at + 1 :]


def _number(lot: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    width = lot.choice(_WIDTHS)
    number = lot.choice(_NUMBERS) % (1 << 8 * width)
    at = lot.randint(0, len(data))
    return data[:at] + number.to_bytes(width, lot.choice(("big", "little"))) + data[at + width :]


def _insert(lot: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = lot.randint(0, len(data))
    return data[:at] + lot.randbytes(lot.randint(1, MOST_INSERTED)) + data[at:]


def _delete(lot: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _span(lot, data)
    return data[:start] + data[end:]


def _repeat(lot: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _span(lot, data)
    return data[:end] + data[start:end] * lot.choice((1, 1, 2, 16)) + data[end:]


def _splice(lot: Random, data: bytes, known: Sequence[bytes]) -> bytes:
    other = lot.choice(known)
    start, end = _span(lot, other)
    at = lot.randint(0, len(data))
    over = lot.choice((0, end - start))
    return data[:at] + other[start:end] + data[at + over :]


def _span(lot: Random, data: bytes) -> tuple[int, int]:
    start = lot.randint(0, len(data))
    return start, min(len(data), start + lot.choice((1, 1, 2, 8, len(data))))


_CHANGES: Final[tuple[Change, ...]] = (_truncate, _flip, _set, _number, _insert, _delete, _repeat, _splice)
