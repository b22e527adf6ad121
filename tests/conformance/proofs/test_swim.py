"""The proofs of SWIM are about the code that runs; what stands in for Python's own is like it."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
import z3  # type: ignore[import-untyped]  # it has no types
from tests.support.refuting import Mistake, each_of, is_refuted

from peerproof.conformance.proofs.paths import Path, follow
from peerproof.conformance.proofs.swim.proofs import Bits
from peerproof.conformance.proofs.swim.transit import Half, Index, Marks, packer
from peerproof.spec.swim import Status, gossip, rounds, table, transit, transitions


def base_43(index: int) -> str:
    """Codes to a smaller base."""
    letter = vars(transit)["chr"]
    if index < transit.CODE_BASE:
        return f"^{letter(transit.CODE_FIRST + index)}"
    return f"^{letter(transit.CODE_FIRST + index // 43)}{letter(transit.CODE_FIRST + index % 44)}"


MERGED = table.merge

MISTAKES: list[Mistake] = [
    # A payload survives a restart (SD-16).
    (table, "merge", lambda row, claim: replace(MERGED(row, claim), payload=row.payload), "SZ-04"),
    # tx counts before the restart counter.
    (table, "key", lambda status, of: (of.tx, status is Status.LEAVE, of.restart, table.RANK[status]), "SZ-04"),
    # The past is told by the restart counter alone (SD-06).
    (
        transitions,
        "is_past",
        lambda state, message: message.incarnation.restart < state.rows[message.sender].incarnation.restart,
        "SZ-04",
    ),
    # A node takes over what it is told of itself.
    (
        transitions,
        "refute",
        lambda state, teller, said: replace(state, incarnation=said.incarnation or state.incarnation),
        "SZ-10",
    ),
    (gossip, "fanout", lambda nodes: nodes.bit_length(), "SZ-06"),  # the logarithm rounded down
    (transit, "escape", lambda string: string, "SZ-09"),
    (transit, "cache_code", base_43, "SZ-08"),
    (rounds, "still_live", lambda state: tuple(state.live), "SZ-07"),  # nobody is taken out of the vector
]


@pytest.mark.slow
@each_of(MISTAKES)
def test_a_mistake_in_the_code_fails_its_proof(mistake: Mistake) -> None:
    assert is_refuted("swim", mistake)


def test_numbers_on_terms_are_like_those_of_python() -> None:
    marks = Marks()

    def statement(path: Path) -> None:
        for number in (1, 2, 3, 4, 7, 8, 9, 2**40):
            bits = Bits(path, z3.IntVal(number + 1)) - 1
            bits.bit_length()
            path.claim("bits", bits.halves[-1] == 2 ** (number.bit_length() - 1))
        for number in (0, 43, 44, 1935):
            index = Index(z3.IntVal(number))
            path.claim("division", z3.And(index // 44 == number // 44, index % 44 == number % 44, 48 + index == 48 + number))
        for high, low in ((0, 1), (2**63, 2**64 - 1)):
            whole = Half(path, z3.IntVal(high), marks) << 64 | Half(path, z3.IntVal(low), marks)
            path.claim("both halves", whole.term == (high << 64 | low))
            path.claim("a mark for each digit", z3.BoolVal(len(f"{whole:032x}") == 32))
            path.claim("the remainder", (Half(path, z3.IntVal(-high), marks) % 2**64).term == -high % 2**64)

    outcome = follow(statement, 30)

    assert (outcome.verdict, outcome.claims) == ("proved", 8 + 4 + 2 * 5)


@pytest.mark.parametrize("form", [">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q"])
def test_packing_on_terms_is_like_that_of_python(form: str) -> None:
    kind = struct.Struct(form)
    bits = 8 * kind.size - form[-1].islower()
    least = -(2**bits) if form[-1].islower() else 0
    for value in (least, least + 1, 0, 1, 2**bits - 1):
        whole, width = packer(kind)(z3.IntVal(value))
        expected = kind.pack(value)
        assert z3.simplify(whole).as_long() == int.from_bytes(expected)
        assert width.as_long() == len(expected)


def test_marks_are_found_again_in_a_text() -> None:
    marks = Marks()

    assert marks.pieces(f"^{marks.mark('a')}-{marks.mark('b')}") == ["^", "a", "-", "b"]
