"""The proofs of Wendy are about the code that runs; what stands in for Python's own is like it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import z3  # type: ignore[import-untyped]  # it has no types
from tests.conformance.proofs.refuting import is_refuted

from peerproof.conformance.proofs.paths import Path, follow
from peerproof.conformance.proofs.terms import Number, choice
from peerproof.conformance.proofs.wendy import tables as wendy_tables
from peerproof.conformance.proofs.wendy.terms import BITS, AnyTable, Place, Word, any_ring, either, is_between
from peerproof.spec.core import Step
from peerproof.spec.wendy import Id, Node, State, Versions, joining, routing, tables
from peerproof.spec.wendy.ids import REAL, Ring


def number(word: Any) -> int:
    """The number that a word is."""
    found: int = z3.simplify(word.term).as_long()
    return found


def distance(ring: Ring, one: Id, other: Id) -> Any:
    """Going up only."""
    return ring.clockwise(one, other)


def rank(ring: Ring, node: Id, key: Id) -> Any:
    """Two that are equally far away have the same."""
    return ring.distance(node, key)


def is_right(ring: Ring, own: Id, other: Id) -> bool:
    """The opposite end of the ring is lower."""
    return 0 < ring.clockwise(own, other) < ring.size // 2


def prefix(ring: Ring, one: Id, other: Id) -> Any:
    """The position of the first bit that differs, in digits, and one digit too many after the first."""
    return (ring.bits - (one ^ other).bit_length() + 1) // ring.digit_bits


def cell(ring: Ring, own: Id, other: Id) -> tuple[Any, Any]:
    """Column by the first digit."""
    return ring.prefix(own, other), ring.digit(other, 0)


def in_side(config: Any, side: tuple[Node, ...], node: Node, away: Callable[[Node], Any]) -> tuple[Node, ...]:
    """First come, first served, as long as there is room."""
    return (*side, node) if len(side) < config.leaf_set_side else side


def with_versions(state: State, sender: Node, versions: Versions) -> State:
    """What is said last is kept."""
    return replace(state, stored=state.stored.put({sender.id: versions}))


def is_newer(own: Versions, included: Versions) -> bool:
    """Whether all tables have changed."""
    return all(mine > theirs for mine, theirs in zip(own, included, strict=True))


def on_node_announcement(state: State, announcement: Any) -> Any:
    """Everybody is taken in."""
    return Step(*joining.learn_tables(state, announcement.header.sender, announcement.tables))  # type: ignore[attr-defined]


def unchanged(version: Any, *, changed: bool) -> Any:
    """Versions do not count."""
    return version


def closest(state: State, key: Id, nodes: tuple[Node, ...]) -> Node | None:
    """The first one."""
    return nodes[0] if nodes else None


def leaf_span(state: State, key: Id) -> tuple[Node, ...] | None:
    """Every key is within the leaf set, next to the nearest leaves."""
    return tuple(side[0] for side in state.leaf_set if side)


def in_routing_table(state: State, node: Node) -> Any:
    """Who comes last has the cell."""
    return state.routing_table.put({state.config.ring.cell(state.id, node.id): node})


#: (where, what it is replaced by, the item that must fail)
MISTAKES: list[tuple[Any, Callable[..., Any], str]] = [
    (Ring, distance, "WZ-02"),
    (Ring, rank, "WZ-07"),
    (Ring, is_right, "WZ-12"),
    (Ring, prefix, "WZ-13"),
    (Ring, prefix, "WZ-18"),
    (Ring, cell, "WZ-15"),
    (Ring, cell, "WZ-19"),
    (Ring, cell, "WZ-24"),
    (tables, in_side, "WZ-21"),
    (joining, with_versions, "WZ-23"),
    (joining, is_newer, "WZ-25"),
    (joining, on_node_announcement, "WZ-25"),
    (routing, closest, "WZ-11"),
    (routing, closest, "WZ-24"),
    (routing, leaf_span, "WZ-11"),
    (wendy_tables, in_routing_table, "WZ-22"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("where", "wrong", "item"), MISTAKES, ids=lambda value: getattr(value, "__name__", value))
def test_a_mistake_in_the_code_fails_its_proof(where: Any, wrong: Callable[..., Any], item: str) -> None:
    assert is_refuted("wendy", item, where, **{wrong.__name__: wrong})


def test_versions_that_do_not_count_fail_their_proof() -> None:
    assert is_refuted("wendy", "WZ-25", tables, _next=unchanged)


NUMBERS = (0, 1, 2, 15, 16, 2**64 - 1, 2**64, 2**127, 2**128 - 1, 0x0123456789ABCDEFFEDCBA9876543210)


@pytest.mark.parametrize("one", NUMBERS)
def test_words_are_like_integers(one: int) -> None:
    word = Word(z3.BitVecVal(one, BITS + 8))
    for other in NUMBERS:
        its = Word(z3.BitVecVal(other, BITS + 8))
        assert number((word - its) % 2**BITS) == (one - other) % 2**BITS
        assert number(word ^ its) == one ^ other
        assert number(word & its) == one & other
        assert number(word + its) == number(its + word) == one + other
        for holds, expected in (
            (word < its, one < other),
            (word <= its, one <= other),
            (word > its, one > other),
            (word >= its, one >= other),
            (word == its, one == other),
            (word != its, one != other),
        ):
            assert z3.is_true(z3.simplify(holds)) is expected
    assert number(word.bit_length()) == one.bit_length()
    assert number(word // 16) == number(word >> 4) == one // 16
    assert number(2 * word) == number(word * 2) == 2 * one
    assert number(2**BITS - word) == 2**BITS - one
    assert number(1 << Word(z3.BitVecVal(100, BITS + 8))) == 1 << 100
    assert number(either(z3.BoolVal(val=True), word, 1)) == one


@pytest.mark.slow
def test_the_real_ring_on_words_is_like_on_numbers() -> None:
    for one in NUMBERS:
        for other in NUMBERS:
            a, b = (Word(z3.BitVecVal(value, BITS + 8)) for value in (one, other))
            assert number(REAL.prefix(a, b)) == REAL.prefix(Id(one), Id(other))  # type: ignore[arg-type]  # as of `Id`
            if one != other:
                found = tuple(number(part) for part in REAL.cell(a, b))  # type: ignore[arg-type]
                assert found == REAL.cell(Id(one), Id(other))


def test_a_ring_of_any_size_is_like_those_of_some_size() -> None:
    """For all ids of a ring of 16: the same distances, ranks and sides."""
    small = Ring(digits=2, digit_bits=2)

    def statement(path: Path) -> None:
        ring: Any = any_ring(path)
        path.know(ring.size.half == small.size // 2)
        for one in range(0, 16, 3):
            for other in range(16):
                a, b = (Place(z3.IntVal(value)) for value in (one, other))
                path.claim("distance", ring.distance(a, b) == small.distance(Id(one), Id(other)))
                path.claim("rank", ring.rank(a, b) == small.rank(Id(one), Id(other)))
                path.claim("side", z3.BoolVal(ring.is_right(a, b) == small.is_right(Id(one), Id(other))))

    outcome = follow(statement, 60)

    assert (outcome.verdict, outcome.paths, outcome.claims) == ("proved", 1, 3 * 6 * 16)


def test_who_is_between_two_ids() -> None:
    ring = Ring(digits=1, digit_bits=3)

    def between(low: int, high: int) -> list[int]:
        return [id for id in range(8) if z3.is_true(z3.simplify(is_between(ring, *(Id(z3.IntVal(i)) for i in (low, id, high)))))]

    assert between(6, 1) == [0, 7]
    assert between(3, 3) == [0, 1, 2, 4, 5, 6, 7]
    assert between(3, 4) == []


def test_scores_are_like_integers() -> None:
    seven = Number(z3.IntVal(7))

    def statement(path: Path) -> None:
        assert bool(seven)
        assert not Number(z3.IntVal(0))
        known, better, unknown = ((False, seven), (False, Number(z3.IntVal(6))), (True, 0))
        assert sorted([unknown, known, better], key=lambda score: score) == [better, known, unknown]
        assert 0 < seven <= Number(z3.IntVal(7)) >= 7
        assert seven == 7
        path.claim("all of it", z3.BoolVal(val=True))

    assert follow(statement, 30).verdict == "proved"


def test_a_choice_is_any_of_its_options() -> None:
    seen: set[int] = set()

    def statement(path: Path) -> None:
        seen.add(choice(path, "some", 4))
        path.claim("one of them", z3.BoolVal(val=True))

    assert follow(statement, 30).paths == 4
    assert seen == {0, 1, 2, 3}


def test_any_table_is_empty_or_not_where_it_is_asked() -> None:
    seen: set[tuple[bool, int]] = set()

    def statement(path: Path) -> None:
        table = AnyTable(path, (1, 2), lambda name, _: Node(Id(3), name, name, 1))
        seen.add((table.get((0, 0)) is not None, len(list(table.items()))))
        path.claim("it is asked", z3.BoolVal(val=True))

    assert follow(statement, 30).verdict == "proved"
    assert seen == {(False, 0), (False, 1), (True, 0), (True, 1)}
