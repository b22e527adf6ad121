"""The proofs of Wendy are about the code that runs; what stands in for Python's own is like it."""

from __future__ import annotations

import operator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import z3  # type: ignore[import-untyped]  # it has no types
from tests.support.refuting import Mistake, each_of, is_refuted

from peerproof.conformance.proofs.paths import Path, follow
from peerproof.conformance.proofs.terms import Number, choice
from peerproof.conformance.proofs.wendy import tables as wendy_tables
from peerproof.conformance.proofs.wendy.terms import BITS, AnyTable, Place, Word, any_ring, either, is_between
from peerproof.spec.core import Notify, Step
from peerproof.spec.wendy import Delivered, Id, LeafSet, Node, State, joining, proximity, repair, routing, tables, transitions
from peerproof.spec.wendy.ids import REAL, Ring


def number(word: Any) -> int:
    """The number that a word is."""
    found: int = z3.simplify(word.term).as_long()
    return found


def prefix(ring: Any, one: Any, other: Any) -> Any:
    """The position of the first bit that differs, in digits, and one digit too many after the first."""
    return (ring.bits - (one ^ other).bit_length() + 1) // ring.digit_bits


def cell(ring: Any, own: Any, other: Any) -> Any:
    """Column by the first digit."""
    return ring.prefix(own, other), ring.digit(other, 0)


def in_side(config: Any, side: tuple[Node, ...], node: Node, away: object) -> tuple[Node, ...]:
    """First come, first served, as long as there is room."""
    return (*side, node) if len(side) < config.leaf_set_side else side


def on_node_announcement(state: State, announcement: Any) -> Any:
    """Everybody is taken in."""
    return Step(*joining.learn_tables(state, announcement.header.sender, announcement.tables))  # type: ignore[attr-defined]


def closest(state: State, key: Id, nodes: tuple[Node, ...]) -> Node | None:
    """The first one."""
    return nodes[0] if nodes else None


def moves_all(state: State, node: Node) -> State:
    """Every neighbour has the addresses of the node that has moved."""
    moved = tuple(node._replace(id=other.id) for other in state.neighborhood_set)
    return replace(state, neighborhood_set=moved)


def takes_own_address(state: State, node: Node, _: int) -> State:
    """A node is inserted with the addresses of this one."""
    return tables.insert_node(state, node._replace(local_ip=state.node.local_ip))


def keeps_neighbours(state: State, gone: Id) -> State:
    """A node that goes stays a neighbour."""
    return replace(REMOVED(state, gone), neighborhood_set=state.neighborhood_set)


def forgives(state: State, data: Any) -> Any:
    """A departed node that sends its tables is back."""
    return LEARNT(replace(state, departed=state.departed - {data.header.sender.id}), data)


def forgets_leaves(state: State, _: object, __: int) -> State:
    """A score empties the leaf set."""
    return replace(state, leaf_set=LeafSet())


def delivered(state: State, message: Any) -> Any:
    """Every message is delivered."""
    return Step(state, (Notify(Delivered(message)),))


def without_limit(_: object, side: Any, node: Node, away: Any) -> Any:
    """A side has as many nodes as there are."""
    place = vars(tables)["bisect_left"](side, away(node), key=away)
    return (*side[:place], node, *side[place:])


def at_the_front(config: Any, side: Any, node: Node, away: Any) -> Any:
    """A new node is the first one."""
    place = vars(tables)["bisect_left"](side, away(node), key=away)
    return (node, *side[:place], *side[place:])[: config.leaf_set_side]


REMOVED, LEARNT = tables.remove_node, joining.on_state_data

#: Where, name, what it is replaced by, the item that must fail.
MISTAKES: list[Mistake] = [
    (Ring, "distance", lambda ring, one, other: ring.clockwise(one, other), "WZ-02"),  # going up only
    (Ring, "rank", lambda ring, node, key: ring.distance(node, key), "WZ-07"),  # two that are equally far have the same
    (Ring, "is_right", lambda ring, own, other: 0 < ring.clockwise(own, other) < ring.size // 2, "WZ-12"),  # opposite: lower
    (Ring, "prefix", prefix, "WZ-13"),
    (Ring, "prefix", prefix, "WZ-18"),
    (Ring, "cell", cell, "WZ-15"),
    (Ring, "cell", cell, "WZ-19"),
    (Ring, "cell", cell, "WZ-24"),
    (tables, "in_side", in_side, "WZ-21"),
    # What is said last is kept.
    (joining, "with_versions", lambda state, by, said: replace(state, stored=state.stored.put({by.id: said})), "WZ-23"),
    (joining, "is_newer", lambda own, its: all(mine > theirs for mine, theirs in zip(own, its, strict=True)), "WZ-25"),
    (joining, "on_node_announcement", on_node_announcement, "WZ-25"),
    (routing, "closest", closest, "WZ-11"),
    (routing, "closest", closest, "WZ-24"),
    # Every key is within the leaf set, next to the nearest leaves.
    (routing, "leaf_span", lambda state, key: tuple(side[0] for side in state.leaf_set if side), "WZ-11"),
    # The node of each message is met as any other, although it is this one, or has departed.
    (proximity, "is_passed_over", lambda state, node: node.id in state.departed, "WZ-26"),
    (proximity, "is_passed_over", lambda state, node: node.id == state.id, "WZ-27"),
    (tables, "update_address", moves_all, "WZ-26"),
    (proximity, "record_score", takes_own_address, "WZ-26"),
    (tables, "remove_node", keeps_neighbours, "WZ-27"),
    (joining, "on_state_data", forgives, "WZ-27"),
    (proximity, "refresh_score", forgets_leaves, "WZ-27"),
    (repair, "on_departure", lambda state, gone: Step(state), "WZ-27"),  # a node that leaves stays
    (routing, "closest", closest, "WZ-28"),
    (routing, "leaf_ends", lambda state: tuple(side[0] for side in state.leaf_set if side), "WZ-28"),
    (transitions, "route_message", lambda state, message, **_: delivered(state, message), "WZ-28"),
    (routing, "closest", closest, "WZ-29"),
    (routing, "leaf_span", lambda state, key: tuple(side[0] for side in state.leaf_set if side), "WZ-29"),
    (tables, "in_side", without_limit, "WZ-30"),
    (tables, "in_side", at_the_front, "WZ-30"),
    (Ring, "is_right", lambda ring, own, other: 0 < ring.clockwise(own, other), "WZ-30"),  # all are greater
    # Who comes last has the cell.
    (
        wendy_tables,
        "in_routing_table",
        lambda state, node: state.routing_table.put({state.config.ring.cell(state.id, node.id): node}),
        "WZ-22",
    ),
]


@pytest.mark.slow
@each_of(MISTAKES)
def test_a_mistake_in_the_code_fails_its_proof(mistake: Mistake) -> None:
    assert is_refuted("wendy", mistake)


def test_versions_that_do_not_count_fail_their_proof() -> None:
    assert is_refuted("wendy", (tables, "_next", lambda version, *, changed: version, "WZ-25"))


NUMBERS = (0, 1, 2, 15, 16, 2**64 - 1, 2**64, 2**127, 2**128 - 1, 0x0123456789ABCDEFFEDCBA9876543210)


@pytest.mark.parametrize("one", NUMBERS)
def test_words_are_like_integers(one: int) -> None:
    word = Word(z3.BitVecVal(one, BITS + 8))
    for other in NUMBERS:
        its = Word(z3.BitVecVal(other, BITS + 8))
        assert number((word - its) % 2**BITS) == (one - other) % 2**BITS
        assert number(its + word) == other + one
        for compute in (operator.xor, operator.and_, operator.add):
            assert number(compute(word, its)) == compute(one, other)
        for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
            assert z3.is_true(z3.simplify(compare(word, its))) is compare(one, other)
    assert number(word.bit_length()) == one.bit_length()
    assert number(word // 16) == number(word >> 4) == one // 16
    assert number(2 * word) == number(word * 2) == 2 * one
    assert number(2**BITS - word) == 2**BITS - one
    assert number(1 << Word(z3.BitVecVal(100, BITS + 8))) == 1 << 100
    assert number(either(z3.BoolVal(val=True), word, 1)) == one


@pytest.mark.slow
def test_the_real_ring_on_words_is_like_on_numbers() -> None:
    for one, other in product(NUMBERS, repeat=2):
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
