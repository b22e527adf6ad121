"""What stands for Python's types in a proof does what they do, on all small inputs; and how paths are followed."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import permutations, product
from typing import Any, NamedTuple

import pytest
import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, follow
from peerproof.conformance.proofs.terms import BigEndian, Octets, Rows, Writable, any_rows, number, octets_of
from peerproof.spec.core import Table
from peerproof.spec.forms import packing
from peerproof.spec.forms.form import U64_MAX, octets, text

#: Every byte in every place, among zeros and among ones, and the ends.
NUMBERS = sorted(
    {byte << shift | rest for byte in range(256) for shift in range(0, 64, 8) for rest in (0, U64_MAX & ~(255 << shift))}
    | {0, 1, 2**63, U64_MAX}
)

SMALL = [bytes(values) for length in range(4) for values in product((0, 1, 255), repeat=length)]


def on_a_path(check: Callable[[Path], None]) -> None:
    """Runs a check where formulas have a truth."""

    def statement(path: Path) -> None:
        check(path)
        path.claim("it came to its end", smt.BoolVal(True))

    found = follow(statement, 60.0)
    assert (found.verdict, found.paths) == ("proved", 1), found.detail


def read(octets: Octets) -> bytes:
    """The bytes of a string on terms that has no symbols."""
    return bytes(smt.simplify(octets.at(smt.IntVal(at))).as_long() for at in range(smt.simplify(octets.length).as_long()))


@pytest.mark.slow
def test_digits_are_the_bytes_of_struct() -> None:
    """`BigEndian` and `struct.Struct(">Q")` agree about every byte in every place, both ways, and about what does not fit."""
    packed, unpacked = bytearray(), []
    for value in NUMBERS:
        packing._pack_u64(value, packed)
        unpacked.append(packing._unpack_u64(bytes(packed), len(packed) - 8)[0])
    by_digits = [smt.simplify(number([smt.IntVal(byte) for byte in value.to_bytes(8, "big")])).as_long() for value in NUMBERS]

    assert unpacked == by_digits == NUMBERS
    assert bytes(packed) == b"".join(value.to_bytes(8, "big") for value in NUMBERS)


def test_big_endian_refuses_what_struct_refuses() -> None:
    """Numbers below zero and above 2^64 - 1, and less than eight bytes."""

    def check(path: Path) -> None:
        for value in (-1, 2**64):
            with pytest.raises(struct.error):
                BigEndian(path).pack(smt.IntVal(value))
        for length in range(8):
            with pytest.raises(struct.error):
                BigEndian(path).unpack_from(octets_of([0] * length), smt.IntVal(0))
        assert BigEndian(path).unpack_from(octets_of([9, *[0] * 7, 3]), smt.IntVal(1))[0].as_long() == 3

    on_a_path(check)


@pytest.mark.slow
def test_octets_are_bytes() -> None:
    """Length, truth, index, slice and sum of all byte strings of up to three bytes."""

    def check(path: Path) -> None:
        for one in SMALL:
            term = octets_of(one)
            assert read(term) == one
            assert bool(term) == bool(one)
            assert [term[at] for at in range(len(one))] == list(one)
            with pytest.raises(IndexError):
                term[len(one)]
            for start, stop in ((a, b) for a in range(len(one) + 1) for b in range(a, len(one) + 1)):
                assert read(term[smt.IntVal(start) : smt.IntVal(stop)]) == one[start:stop]
        for one, other in product(SMALL[:20], repeat=2):
            assert read(octets_of(one) + octets_of(other)) == one + other

    on_a_path(check)


def test_writable_is_a_bytearray() -> None:
    """What it is made of, what is appended, and that no more than a byte is."""

    def check(path: Path) -> None:
        for one in SMALL:
            term, real = Writable((1,)), bytearray((1,))
            term.append(255)
            real.append(255)
            term.extend(octets_of(one))
            real.extend(one)
            assert read(term.octets) == bytes(real)
        for value in (-1, 256):
            for out in (Writable(), bytearray()):
                with pytest.raises(ValueError, match="byte must be in range"):
                    out.append(value)

    on_a_path(check)


def test_a_text_is_that_of_its_bytes() -> None:
    """What `AnyText` takes for granted: one text for each byte string, and no more characters than bytes, as many if ASCII."""
    for raw in (bytes(values) for length in range(3) for values in product(range(256), repeat=length)):
        string = text(raw)
        assert octets(string) == raw
        assert len(string) == len(raw) if string.isascii() else 0 < len(string) <= len(raw)


class Row(NamedTuple):
    """A row of the tables below."""

    number: Any


def test_rows_are_a_table() -> None:
    """Membership, rows, and what `put` adds and replaces, for all tables over three keys."""

    def check(path: Path) -> None:
        for present in product((False, True), repeat=3):
            real: Table[int, Row] = Table({key: Row(key * 10) for key in range(3) if present[key]})
            term = Rows(
                lambda k, real=real: smt.Or(*(k == key for key in real), smt.BoolVal(False)),  # type: ignore[misc]
                lambda k: Row(k * 10),
            )
            for key in range(3):
                changed, expected = term.put({smt.IntVal(key): Row(smt.IntVal(7))}), real.put({key: Row(7)})
                for k in range(3):
                    assert (smt.IntVal(k) in changed) == (k in expected)
                    if k in expected:
                        assert smt.simplify(changed[smt.IntVal(k)].number).as_long() == expected[k].number
                    else:
                        with pytest.raises(KeyError):
                            changed[smt.IntVal(k)]

    on_a_path(check)


# -- paths ------------------------------------------------------------------------------------------------------------


def test_every_path_is_followed() -> None:
    """Each way through `if`, `and`, `max` and `sorted` is a path; those that no value takes are not."""
    seen = []

    def statement(path: Path) -> None:
        a, b, c = (path.integer(name) for name in "abc")
        order = sorted([a, b, c])
        seen.append([str(term) for term in order])
        path.claim("sorted", smt.And(order[0] <= order[1], order[1] <= order[2]))
        path.claim("the greatest is last", smt.And(*(max(a, b, c) >= term for term in order)))

    found = follow(statement, 60.0)

    assert found.verdict == "proved"
    assert {tuple(order) for order in seen} == set(permutations("abc"))


def test_mistake_on_one_path_of_many_is_found() -> None:
    """The counterexample leads there."""

    def statement(path: Path) -> None:
        a = path.integer("a", 0, 1000)
        path.claim("half of twice", (a * 2 / 2 if a != 613 else a + 1) == a)

    found = follow(statement, 60.0)

    assert (found.verdict, found.detail) == ("refuted", "false: half of twice; a = 613")


def test_formulas_have_their_own_truth_again_afterwards() -> None:
    """Outside of a path, only the same terms are equal, even after a path that failed; no other formula has a truth."""

    def statement(path: Path) -> None:
        raise RuntimeError

    assert follow(statement, 60.0).verdict == "unknown"
    assert smt.Int("a") == smt.Int("a")
    assert not smt.Int("a") == smt.Int("b")  # noqa: SIM201  # it is a formula
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(smt.Int("a") > 0)


def test_interrupt_of_the_solver_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z3 takes Ctrl-C for itself and says that it was canceled; that is no verdict."""

    def statement(path: Path) -> None:
        path.claim("anything", path.integer("a") > 0)

    monkeypatch.setattr(z3.Solver, "check", lambda *_: z3.unknown)
    monkeypatch.setattr(z3.Solver, "reason_unknown", lambda _: "canceled")

    with pytest.raises(KeyboardInterrupt):
        follow(statement, 60.0)


def test_any_rows_are_any_rows() -> None:
    """Two tables of different names may differ, and a table of one name is itself."""
    sort = smt.DeclareSort("K")

    def statement(path: Path, *, other: str = "a") -> None:
        one, two = (any_rows(name, sort, Row, number=smt.IntSort()) for name in ("a", other))
        key = path.any_of("key", sort)
        path.claim("equal", smt.And(one.has(key) == two.has(key), one.row(key).number == two.row(key).number))

    assert follow(statement, 60.0).verdict == "proved"
    assert follow(lambda path: statement(path, other="b"), 60.0).verdict == "refuted"
