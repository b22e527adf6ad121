"""Random mutations of known inputs: bytes are cut, flipped, inserted, repeated, or spliced in from another input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

#: Boundary values of bytes and numbers.
_BYTES: Final = bytes.fromhex("00 01 02 20 22 30 39 5b 5d 7b 7d 7f 80 90 a0 bf c0 c1 d9 df fe ff")
_NUMBERS: Final = tuple(sorted({(1 << bits) + more for bits in (0, 7, 8, 15, 16, 31, 32, 53, 63, 64) for more in (-1, 0, 1)}))
_WIDTHS: Final = (1, 2, 4, 8)

#: Maximum number of changes to one input.
MOST_CHANGES: Final = 4
MOST_INSERTED: Final = 8

Change = Callable[[Random, bytes, Sequence[bytes]], bytes]


def mutate(rng: Random, known: Sequence[bytes], longest: int) -> bytes:
    """Returns a random known input with one to `MOST_CHANGES` changes, cut to `longest` bytes."""
    data = rng.choice(known)
    for _ in range(rng.randint(1, MOST_CHANGES)):
        data = rng.choice(_CHANGES)(rng, data, known)
    return data[:longest]


def _truncate(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: rng.randint(0, len(data))]


def _flip(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]


def _set(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    near = (data[at] + rng.choice((-1, 1))) % 256
    return data[:at] + bytes((rng.choice((near, near, *_BYTES)),)) + data[at + 1 :]


def _number(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    width = rng.choice(_WIDTHS)
    number = rng.choice(_NUMBERS) % (1 << 8 * width)
    at = rng.randint(0, len(data))
    return data[:at] + number.to_bytes(width, rng.choice(("big", "little"))) + data[at + width :]


def _insert(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.randbytes(rng.randint(1, MOST_INSERTED)) + data[at:]


def _delete(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def _repeat(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 16)) + data[end:]


def _splice(rng: Random, data: bytes, known: Sequence[bytes]) -> bytes:
    other = rng.choice(known)
    start, end = _span(rng, other)
    at = rng.randint(0, len(data))
    over = rng.choice((0, end - start))
    return data[:at] + other[start:end] + data[at + over :]


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(len(data), start + rng.choice((1, 1, 2, 8, len(data))))


_CHANGES: Final[tuple[Change, ...]] = (_truncate, _flip, _set, _number, _insert, _delete, _repeat, _splice)
