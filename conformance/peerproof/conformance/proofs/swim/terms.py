"""
What the statements about SWIM need on Z3 terms: statuses, incarnations, and numbers that become part of a text.

A text of Python holds no terms. So a term that is formatted leaves a mark in the text, a character of its own that no protocol
uses, and `Marks` says afterwards which terms the text holds, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import choice
from peerproof.spec.swim import Incarnation, Row, Status
from peerproof.spec.swim.messages import COUNTER_MAX, Uuid
from peerproof.spec.swim.table import Claim

B: Final = Uuid("bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb")
C: Final = Uuid("cccccccc-cccc-4ccc-8ccc-cccccccccccc")
D: Final = Uuid("dddddddd-dddd-4ddd-8ddd-dddddddddddd")

Place: Final = z3.DeclareSort("Place")
Data: Final = z3.DeclareSort("Data")

FIRST_MARK: Final = 0xE000  #: private use


def any_status(path: Path, name: str, among: Sequence[Status] = tuple(Status)) -> Status:
    """Any of these statuses."""
    return among[choice(path, f"{name} {[status.value for status in among]}", len(among))]


def any_incarnation(path: Path, name: str) -> Incarnation:
    """Any incarnation."""
    return Incarnation(path.integer(f"{name}.restart", 0, COUNTER_MAX), path.integer(f"{name}.tx", 0, COUNTER_MAX))


def any_row(path: Path, name: str, among: Sequence[Status] = tuple(Status)) -> Row:
    """What is known of a node; its payload is anything."""
    status, incarnation = any_status(path, f"{name}.status", among), any_incarnation(path, name)
    where = path.any_of(f"{name}.place", Place)
    return Row(where, where, status, incarnation, payload=path.any_of(f"{name}.payload", Data))


def any_claim(path: Path, name: str, among: Sequence[Status] = tuple(Status)) -> Claim:
    """What is said of a node, and where it is."""
    status, incarnation = any_status(path, f"{name}.status", among), any_incarnation(path, name)
    where = path.any_of(f"{name}.place", Place)
    return Claim(B, status, incarnation, (where, where))


def at_least(one: Incarnation, other: Incarnation) -> Term:
    """That an incarnation is not below another, by restart and then by tx."""
    return z3.Or(one.restart > other.restart, z3.And(one.restart == other.restart, one.tx >= other.tx))


class Marks:
    """The terms that have become part of texts."""

    def __init__(self) -> None:
        self._terms: list[Any] = []

    def mark(self, term: Any) -> str:
        """The character that stands for a term."""
        self._terms.append(term)
        return chr(FIRST_MARK + len(self._terms) - 1)

    def pieces(self, text: str) -> list[Any]:
        """The characters of a text and the terms in it, in their order."""
        return [self._terms[ord(c) - FIRST_MARK] if ord(c) >= FIRST_MARK else c for c in text]


class Bits:
    """A number below 2^64 whose bits are counted, as of `int`."""

    def __init__(self, path: Path, term: Term, halves: list[Term] | None = None) -> None:
        self._path = path
        self.term = term
        self.halves: list[Term] = [] if halves is None else halves  #: for each n that was counted, 2 to the power of n-1

    def __gt__(self, other: int) -> bool:
        return bool(self.term > other)

    def __sub__(self, other: int) -> Bits:
        return Bits(self._path, self.term - other, self.halves)

    def bit_length(self) -> Term:
        """Of a number above 0: the n for which it is at least 2^(n-1) and below 2^n."""
        half = z3.Int(self._path.fresh("half"))
        self._path.know(z3.Or(*(half == 2**power for power in range(64))), self.term >= half, self.term < 2 * half)
        self.halves.append(half)
        return z3.Int(self._path.fresh("bits"))


class Index:
    """A number above -1 that is divided with a remainder, as of `int`."""

    def __init__(self, term: Term) -> None:
        self.term = term

    def __lt__(self, other: int) -> bool:
        return bool(self.term < other)

    def __radd__(self, other: int) -> Term:
        return other + self.term

    def __floordiv__(self, other: int) -> Term:
        return self.term / other

    def __mod__(self, other: int) -> Term:
        return self.term % other


class Half:
    """Half a uuid, or the whole, as of `int`; written in hexadecimal it leaves a mark for each digit, `digits` of which it is."""

    def __init__(self, path: Path, term: Term, marks: Marks) -> None:
        self.term = term
        self._path, self._marks = path, marks

    def __ge__(self, other: int) -> bool:
        return bool(self.term >= other)

    def __lt__(self, other: int) -> bool:
        return bool(self.term < other)

    def __mod__(self, other: int) -> Half:
        return self._of(self.term % other)

    def __lshift__(self, bits: int) -> Half:
        return self._of(self.term * 2**bits)

    def __or__(self, other: Half) -> Half:
        """Where no bit is in both, it is the sum."""
        low = 2**64
        self._path.claim("no bit is in both halves", z3.And(self.term % low == 0, other.term >= 0, other.term < low))
        return self._of(self.term + other.term)

    def __format__(self, form: str) -> str:
        width = int(form.removeprefix("0").removesuffix("x"))
        self._path.claim("it has so many digits", z3.And(self.term >= 0, self.term < 16**width))
        return "".join(self._marks.mark((self.term, place)) for place in range(width))

    def _of(self, term: Term) -> Half:
        return Half(self._path, term, self._marks)


class AnyString:
    """A string of which the first character is known, if there is one; formatted it leaves a mark."""

    def __init__(self, path: Path, name: str, marks: Marks) -> None:
        self.filled = path.any_of(f"{name} is not empty", z3.BoolSort())
        self.first = path.integer(f"first of {name}", 0, 0x10FFFF)
        self.rest = path.any_of(f"rest of {name}", Data)
        self._marks = marks

    def __getitem__(self, part: slice) -> Letter:
        return Letter(self.filled, self.first)

    def __bool__(self) -> bool:
        return bool(self.filled)

    def __format__(self, _: str) -> str:
        return self._marks.mark(self)


class Letter:
    """The first character of a string, or nothing."""

    def __init__(self, filled: Term, code: Term) -> None:
        self._filled, self._code = filled, code

    def __eq__(self, other: object) -> Any:
        return z3.And(self._filled, self._code == ord(str(other)))

    __hash__ = None  # type: ignore[assignment]  # nothing may look it up by its identity


def packer(form: Any) -> Callable[[Term], tuple[Term, ...]]:
    """The one function of a `struct.Struct` with one integer: its bytes as one number, and how many they are."""
    width, is_signed = form.size, form.format[-1:].islower()

    def pack(value: Term) -> tuple[Term, ...]:
        whole = value + z3.If(value < 0, 2 ** (8 * width), 0) if is_signed else value
        return (whole, z3.IntVal(width))

    return pack
