"""
Python types on Z3 terms: integers that can be compared with anything, byte strings and texts of any length, tables of any number
of rows, 64-bit integers as digits.

Each stands for one Python type, as far as the specification uses it; tests compare the two on all small inputs.
"""

from __future__ import annotations

import builtins
import operator
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term

BYTE_MAX: Final = 255
U64_DIGITS: Final = 8  #: to the base 256


def _operator(combine: Callable[[Term, Term], Term]) -> Callable[[Number, object], Number]:
    return lambda number, other: Number(combine(number.term, term_of(other)))


def _comparison(compare: Callable[[Term, Term], Term]) -> Callable[[Number, object], Any]:
    return lambda number, other: compare(number.term, term_of(other))


class Number:
    """An integer that can be compared with other types, like `int`; also used for names, of which only the order matters."""

    def __init__(self, term: Term) -> None:
        self.term = term

    def __bool__(self) -> bool:
        return bool(self.term != 0)

    def __eq__(self, other: object) -> Any:
        return self.term == term_of(other) if isinstance(other, (Number, int)) else False

    def __ne__(self, other: object) -> Any:
        return self.term != term_of(other) if isinstance(other, (Number, int)) else True

    __lt__, __le__, __gt__, __ge__ = map(_comparison, (operator.lt, operator.le, operator.gt, operator.ge))
    __add__, __sub__, __mul__ = map(_operator, (operator.add, operator.sub, operator.mul))

    def __neg__(self) -> Number:
        return Number(-self.term)

    def __floordiv__(self, divisor: int) -> Number:
        return Number(self.term / divisor)  # rounded down, for a divisor above 0

    def __rshift__(self, bits: int) -> Number:
        return self // (1 << bits)

    def __hash__(self) -> int:
        return 0  # equal numbers may be different terms, so each is compared


def term_of(value: Any) -> Term:
    """Returns the term of a number."""
    return cast("Term", value.term) if isinstance(value, Number) else smt.IntVal(value) if isinstance(value, int) else value


def choice(path: Path, name: str, options: int) -> int:
    """Returns any number from 0 below `options`; follows one path for each."""
    return which(path.integer(name, 0, options - 1), options)


def which(number: Term, options: int) -> int:
    """Returns a number from 0 below `options`; follows one path for each that is possible."""
    least, most = 0, options - 1
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if bool(number <= middle) else (middle + 1, most)
    return least


def truth(fact: Any) -> Term:
    """Converts a Python bool to a formula, for a claim."""
    return smt.BoolVal(bool(fact))


class Octets:
    """A byte string as pieces, each with its length and a function from index to byte."""

    def __init__(self, *pieces: tuple[Term, Callable[[Term], Term]]) -> None:
        self.pieces = pieces
        self.length = smt.simplify(smt.Sum([length for length, _ in pieces]))

    def at(self, index: Term) -> Term:
        """Returns the byte at an index; 0 past the end."""
        if not self.pieces:
            return smt.IntVal(0)
        (length, first), *others = self.pieces
        # From the left, so that a known index in a first piece of known length gives one byte without case distinction.
        return smt.If(index < length, first(index), Octets(*others).at(index - length)) if others else first(index)

    def __bool__(self) -> bool:
        return bool(self.length != 0)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):  # supports only slices within the string, without a step
            start, stop = index.start, index.stop
            return Octets((stop - start, lambda i: self.at(i + start)))
        if index >= self.length:
            raise IndexError
        return concrete(self.at(index))

    def __add__(self, other: Octets) -> Octets:
        return Octets(*self.pieces, *other.pieces)


def concrete(term: Term) -> Any:
    """Returns the integer value of a term, or the term if it has none."""
    simple = smt.simplify(term)
    return simple.as_long() if smt.is_int_value(simple) else simple


def octets_of(values: Iterable[Term]) -> Octets:
    """Returns a byte string of a known length."""
    items = [smt.IntVal(value) if isinstance(value, int) else value for value in values]

    def at(index: Term) -> Term:
        found = smt.IntVal(0)
        for place, item in reversed(list(enumerate(items))):
            found = smt.If(index == place, item, found)
        return found

    return Octets((smt.IntVal(builtins.len(items)), at))


def any_octets(path: Path, name: str, most: int | None = None) -> Octets:
    """Returns any byte string."""
    byte = smt.Function(name, smt.IntSort(), smt.IntSort())

    def at(index: Term) -> Term:
        found = byte(index)
        path.know(found >= 0, found <= BYTE_MAX)
        return found

    return Octets((path.integer(f"|{name}|", 0, most), at))


def same_octets(path: Path, one: Octets, other: Octets) -> Term:
    """States that two byte strings are equal, for a claim: an arbitrary index stands for all."""
    place = smt.Int(path.fresh("place"))
    return smt.And(
        one.length == other.length, smt.Implies(smt.And(place >= 0, place < one.length), one.at(place) == other.at(place))
    )


@dataclass(frozen=True, eq=False)
class AnyText:
    """The text of some bytes; it has as many characters as bytes if it is ASCII, else at most as many."""

    octets: Octets
    ascii: Term
    characters: Term

    def isascii(self) -> bool:
        """Like `str`."""
        return bool(self.ascii)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.octets is other.octets

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong


def text_of(path: Path, octets: Octets) -> AnyText:
    """Returns the text of these bytes."""
    ascii_only, characters = smt.Bool(path.fresh("ascii")), smt.Int(path.fresh("characters"))
    path.know(characters >= 0, characters <= octets.length, smt.Implies(ascii_only, characters == octets.length))
    return AnyText(octets, ascii_only, characters)


def any_text(path: Path, name: str, most: int = BYTE_MAX) -> AnyText:
    """Returns any text of at most this many bytes."""
    return text_of(path, any_octets(path, name, most))


class Writable:
    """A byte array that is written from start to end; it refuses values above a byte."""

    def __init__(self, values: Iterable[int] = ()) -> None:
        self.octets = octets_of(values)

    def append(self, value: Term) -> None:
        """Like `bytearray`."""
        if value < 0 or value > BYTE_MAX:
            raise ValueError("byte must be in range(0, 256)")
        self.octets += octets_of([value])

    def extend(self, octets: Octets) -> None:
        """Like `bytearray`."""
        self.octets += octets


@dataclass(frozen=True)
class BigEndian:
    """`struct.Struct(">Q")`: eight digits to the base 256, the highest first."""

    path: Path
    size: int = U64_DIGITS
    read: list[tuple[Term, list[Term]]] = field(default_factory=list)  #: numbers and the digits they were read from

    def pack(self, value: Term) -> Octets:
        """Returns the digits of a number, which are unique (BZ-05); for a number that was read, the same digits."""
        if value < 0 or value >= 256**U64_DIGITS:
            raise struct.error("int too large to convert")
        if known := [digits for number, digits in self.read if number is value]:
            return octets_of(known[0])
        digits = [smt.Int(self.path.fresh("digit")) for _ in range(U64_DIGITS)]
        self.path.know(*(smt.And(digit >= 0, digit <= BYTE_MAX) for digit in digits), number(digits) == value)
        return octets_of(digits)

    def unpack_from(self, data: Octets, at: Term) -> tuple[Term]:
        """Returns the number at an offset."""
        if at + U64_DIGITS > data.length:
            raise struct.error("unpack_from requires a buffer of at least 8 bytes")
        digits = [data.at(at + place) for place in range(U64_DIGITS)]
        self.read.append((number(digits), digits))
        return (self.read[-1][0],)


def number(digits: list[Term]) -> Term:
    """Returns the number with these digits to the base 256, the highest first."""
    return smt.simplify(smt.Sum([digit * 256**place for place, digit in enumerate(reversed(digits))]))


def byte_names(path: Path) -> dict[str, Any]:
    """Returns the versions for terms of the names that `packing` and `wire` look up."""

    def length(value: Any) -> Any:
        if isinstance(value, AnyText):
            return value.characters
        return value.length if isinstance(value, Octets) else builtins.len(value)

    def string(value: Any, *coding: str) -> Any:
        return text_of(path, value) if isinstance(value, Octets) else builtins.str(value, *coding)

    return {
        "len": length,
        "str": string,
        "bytes": lambda out: out.octets,
        "bytearray": Writable,
        "octets": lambda text: text.octets,
        "text": lambda octets: text_of(path, octets),
        "_u64": BigEndian(path),
    }


class Rows:
    """A table with any number of rows: which keys it has, and the row of each."""

    def __init__(self, has: Callable[[Term], Term], row: Callable[[Term], Any]) -> None:
        self.has = has
        self.row = row

    def __contains__(self, key: Term) -> bool:
        return bool(self.has(key))

    def __getitem__(self, key: Term) -> Any:
        if key not in self:
            raise KeyError(key)
        return self.row(key)

    def __setitem__(self, key: Term, row: Any) -> None:
        changed = self.put({key: row})
        self.has, self.row = changed.has, changed.row

    def put(self, rows: Mapping[Term, Any]) -> Rows:
        """Like `core.Table`."""
        has, row = self.has, self.row
        for key, new in rows.items():
            has, row = _having(has, key), _with_row(row, key, new)
        return Rows(has, row)


def copy_rows(rows: Rows) -> Rows:
    """Copies a table, like `dict` of a table and `Table` of a dict."""
    return Rows(rows.has, rows.row)


def _having(has: Callable[[Term], Term], key: Term) -> Callable[[Term], Term]:
    return lambda k: smt.Or(k == key, has(k))


def _with_row(row: Callable[[Term], Any], key: Term, new: Any) -> Callable[[Term], Any]:
    return lambda k: type(new)(*(smt.If(k == key, mine, other) for mine, other in zip(new, row(k), strict=True)))


def any_rows(name: str, key: Term, kind: type[Any], **sorts: Term) -> Rows:
    """Returns any table whose rows are named tuples with fields of these sorts."""
    has = smt.Function(f"{name}.has", key, smt.BoolSort())
    fields = [smt.Function(f"{name}.{field}", key, sort) for field, sort in sorts.items()]
    return Rows(has, lambda k: kind(*(field(k) for field in fields)))


def no_rows(kind: type[Any], **sorts: Term) -> Rows:
    """Returns an empty table; its row function is arbitrary."""
    nothing = kind(*(smt.Const(f"nothing.{name}", sort) for name, sort in sorts.items()))
    return Rows(lambda _: smt.BoolVal(False), lambda _: nothing)


def same_row(one: Any, other: Any) -> Term:
    """States that two rows, or other tuples of one type, are equal, field by field."""
    return smt.And(*(mine == its for mine, its in zip(one, other, strict=True)))


def same_at(one: Rows, other: Rows, key: Term) -> Term:
    """States that two tables agree about a key."""
    return smt.And(one.has(key) == other.has(key), smt.Implies(one.has(key), same_row(one.row(key), other.row(key))))
