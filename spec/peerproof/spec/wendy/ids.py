"""
The ring of ids, and the digits of an id. [W-01, W-02, WA-02]

Ids of nodes and keys of messages are the same: 128-bit numbers, the last of which is followed by 0. The number of digits and
their size in bits are parameters, so that the same code runs on rings that are small enough to check exhaustively.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, NewType

from peerproof.spec.errors import NotEnabled

#: A position on the ring.
Id = NewType("Id", int)

#: Bytes of an id, and digits of its text. [W-01, WA-49]
ID_BYTES: Final = 16
ID_DIGITS: Final = 32
DIGIT_BITS: Final = 4

_HEX: Final = frozenset("0123456789abcdefABCDEF")


@dataclass(frozen=True)
class Ring:
    """Ids of `digits` digits of `digit_bits` bits each. [W-14]"""

    digits: int = ID_DIGITS
    digit_bits: int = DIGIT_BITS

    def __post_init__(self) -> None:
        if self.digits < 1 or self.digit_bits < 1 or self.digits * self.digit_bits > 8 * ID_BYTES:
            raise ValueError(f"an id has at least one digit of one bit, and at most {8 * ID_BYTES} bits: {self}")

    @cached_property
    def size(self) -> int:
        """The number of ids. [W-02, WA-02]"""
        return 1 << self.bits

    @cached_property
    def bits(self) -> int:
        """Bits of an id. [W-01]"""
        return self.digits * self.digit_bits

    @cached_property
    def base(self) -> int:
        """The number of values of a digit: the columns of a routing table. [W-13, W-14]"""
        return 1 << self.digit_bits

    def clockwise(self, start: Id, end: Id) -> int:
        """Returns the number of steps up the ring from one id to another. [W-02]"""
        return (end - start) % self.size

    def distance(self, one: Id, other: Id) -> int:
        """Returns the distance of two ids, the shorter way round. [W-37]"""
        up = (other - one) % self.size
        return min(up, self.size - up)

    def is_right(self, own: Id, other: Id) -> bool:
        """
        Whether another id is greater than the own one; otherwise it is lower. [W-03, W-25, WA-03, WA-04]

        Modularly: an id is greater if the way up is the shorter one. The opposite end of the ring is greater, from either side.
        """
        return 0 < self.clockwise(own, other) <= self.size // 2

    def rank(self, node: Id, key: Id) -> int:
        """
        Returns a unique number for each id, the smaller the closer the id is to a key. [W-37, WA-09, WA-10]

        Of two ids at the same distance, the one below the key is closer.
        """
        below = (key - node) % self.size
        above = self.size - below
        return 2 * below if below <= above else 2 * above + 1

    def prefix(self, one: Id, other: Id) -> int:
        """Returns the number of leading digits in common: the row of one id in the other's routing table. [W-15, WA-01]"""
        return (self.bits - (one ^ other).bit_length()) // self.digit_bits

    def digit(self, node: Id, index: int) -> int:
        """Returns a digit of an id; index 0 is the most significant one. [W-14, W-16]"""
        return (node >> (self.bits - self.digit_bits * (index + 1))) & (self.base - 1)

    def cell(self, own: Id, other: Id) -> tuple[int, int]:
        """Returns row and column of another id in the own routing table. [W-15…W-17, WA-01]"""
        row = self.prefix(own, other)
        return row, self.digit(other, row)


#: The ring of Wendy. [W-01, W-14]
REAL: Final = Ring()


def id_of_bytes(raw: bytes) -> Id:
    """Returns the id in the first 16 bytes. Raises NotEnabled if there are fewer. [WA-49]"""
    if len(raw) < ID_BYTES:
        raise NotEnabled("bad_value", f"an id is made of at least {ID_BYTES} bytes, not of {len(raw)}")
    return Id(int.from_bytes(raw[:ID_BYTES], "big"))


def id_of_text(text: str) -> Id:
    """Returns the id of 32 hexadecimal digits in any case. Raises NotEnabled for anything else. [WA-49]"""
    if len(text) != ID_DIGITS or not _HEX.issuperset(text):
        raise NotEnabled("bad_value", f"an id is written with {ID_DIGITS} hexadecimal digits, not {text[:40]!a}")
    return Id(int(text, 16))


def id_text(node: Id) -> str:
    """Returns an id as 32 hexadecimal digits. [WA-49]"""
    return f"{node:032x}"
