"""The proofs of Wendy are about the code that runs; what stands in for Python's own is like it."""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, combinations, product
from typing import Any

import pytest
from tests.support.refuting import Mistake, each_of, is_refuted

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, follow
from peerproof.conformance.proofs.proof import load
from peerproof.conformance.proofs.terms import Number, choice, truth
from peerproof.conformance.proofs.wendy import tables as wendy_tables
from peerproof.conformance.proofs.wendy.any_leaves import Side, no_choice, rank
from peerproof.conformance.proofs.wendy.any_order import Leaves, OrderedSide, id_at, length_of
from peerproof.conformance.proofs.wendy.any_tables import Cells, Departed, Held, Measured, Members
from peerproof.conformance.proofs.wendy.terms import BITS, AnyTable, Place, Word, any_places, any_ring, either, is_between
from peerproof.spec.core import Instant, NodeId, Notify, Received, Step, Table
from peerproof.spec.overrides import overriding
from peerproof.spec.wendy import (
    Config,
    Delivered,
    Header,
    Id,
    LeafSet,
    Node,
    NodeAnnouncement,
    NodeExit,
    State,
    StateData,
    Tables,
    Versions,
    joining,
    proximity,
    repair,
    routing,
    tables,
    transitions,
)
from peerproof.spec.wendy.ids import REAL, Ring
from peerproof.spec.wendy.state import MOST_DEPARTED


def number(word: Any) -> int:
    """The number that a word is."""
    found: int = smt.simplify(word.term).as_long()
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
    (Ring, "is_right", lambda ring, own, other: ring.clockwise(own, other) > 0, "WZ-30"),  # all are greater
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
    assert is_refuted("wendy", mistake, {forgets_leaves})  # what is claimed of it is which function has made a leaf set


def test_versions_that_do_not_count_fail_their_proof() -> None:
    assert is_refuted("wendy", (tables, "_next", lambda version, *, changed: version, "WZ-25"))


NUMBERS = (0, 1, 2, 15, 16, 2**64 - 1, 2**64, 2**127, 2**128 - 1, 0x0123456789ABCDEFFEDCBA9876543210)


@pytest.mark.parametrize("one", NUMBERS)
def test_words_are_like_integers(one: int) -> None:
    word = Word(smt.BitVecVal(one, BITS + 8))
    for other in NUMBERS:
        its = Word(smt.BitVecVal(other, BITS + 8))
        assert number((word - its) % 2**BITS) == (one - other) % 2**BITS
        assert number(its + word) == other + one
        for compute in (operator.xor, operator.and_, operator.add):
            assert number(compute(word, its)) == compute(one, other)
        for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
            assert smt.is_true(smt.simplify(compare(word, its))) is compare(one, other)
    assert number(word.bit_length()) == one.bit_length()
    assert number(word // 16) == number(word >> 4) == one // 16
    assert number(2 * word) == number(word * 2) == 2 * one
    assert number(2**BITS - word) == 2**BITS - one
    assert number(1 << Word(smt.BitVecVal(100, BITS + 8))) == 1 << 100
    assert number(either(smt.BoolVal(val=True), word, 1)) == one


@pytest.mark.slow
def test_the_real_ring_on_words_is_like_on_numbers() -> None:
    for one, other in product(NUMBERS, repeat=2):
        a, b = (Word(smt.BitVecVal(value, BITS + 8)) for value in (one, other))
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
                a, b = (Place(smt.IntVal(value)) for value in (one, other))
                path.claim("distance", ring.distance(a, b) == small.distance(Id(one), Id(other)))
                path.claim("rank", ring.rank(a, b) == small.rank(Id(one), Id(other)))
                path.claim("side", smt.BoolVal(ring.is_right(a, b) == small.is_right(Id(one), Id(other))))

    outcome = follow(statement, 60)

    assert (outcome.verdict, outcome.paths, outcome.claims) == ("proved", 1, 3 * 6 * 16)


def test_who_is_between_two_ids() -> None:
    ring = Ring(digits=1, digit_bits=3)

    def between(low: int, high: int) -> list[int]:
        return [
            id for id in range(8) if smt.is_true(smt.simplify(is_between(ring, *(Id(smt.IntVal(i)) for i in (low, id, high)))))
        ]

    assert between(6, 1) == [0, 7]
    assert between(3, 3) == [0, 1, 2, 4, 5, 6, 7]
    assert between(3, 4) == []


def test_scores_are_like_integers() -> None:
    seven = Number(smt.IntVal(7))

    def statement(path: Path) -> None:
        assert bool(seven)
        assert not Number(smt.IntVal(0))
        known, better, unknown = ((False, seven), (False, Number(smt.IntVal(6))), (True, 0))
        assert sorted([unknown, known, better], key=lambda score: score) == [better, known, unknown]
        assert 0 < seven <= Number(smt.IntVal(7)) >= 7
        assert seven == 7
        path.claim("all of it", smt.BoolVal(val=True))

    assert follow(statement, 30).verdict == "proved"


def test_a_choice_is_any_of_its_options() -> None:
    seen: set[int] = set()

    def statement(path: Path) -> None:
        seen.add(choice(path, "some", 4))
        path.claim("one of them", smt.BoolVal(val=True))

    assert follow(statement, 30).paths == 4
    assert seen == {0, 1, 2, 3}


def test_any_table_is_empty_or_not_where_it_is_asked() -> None:
    seen: set[tuple[bool, int]] = set()

    def statement(path: Path) -> None:
        table = AnyTable(path, (1, 2), lambda name, _: Node(Id(3), name, name, 1))
        seen.add((table.get((0, 0)) is not None, len(list(table.items()))))
        path.claim("it is asked", smt.BoolVal(val=True))

    assert follow(statement, 30).verdict == "proved"
    assert seen == {(False, 0), (False, 1), (True, 0), (True, 1)}


# -- what holds in any cluster: the twins with values, and tables on terms ----------------------------------------------


HERE, THERE, GHOST = (Node(Id(number << 120), "n", "n", number) for number in (1, 2, 3))


def take_steps(*messages: Any) -> State:
    """Returns the node that these messages have come to."""
    state = State(NodeId("n:1"), Config(HERE.id), cache=Table({THERE.id: 1, GHOST.id: 1}))
    for message in messages:
        state, _ = transitions.step(state, Received(Instant(0), NodeId("n:9"), message), no_choice)
    return state


def test_a_departed_node_comes_back_if_it_is_not_remembered() -> None:
    """A node that has not detected the departure lists the node that has gone (WX-09); its own announcement is another matter."""
    (proof,) = [proof for proof in load("wendy") if proof.item == "WZ-27"]
    old = StateData(Header(THERE, THERE.id), Tables(neighborhood_set=(GHOST,)))
    back = NodeAnnouncement(Header(GHOST, GHOST.id, Versions(9, 9, 9)), Tables())
    run = old, NodeExit(Header(GHOST, GHOST.id)), old

    assert GHOST.id in take_steps(*run[:1]).known
    assert GHOST.id not in take_steps(*run).known
    assert GHOST.id in take_steps(*run, back).known
    with overriding(proof.twin.arguments["instead"]):
        assert GHOST.id in take_steps(*run).known


SMALL = Ring(digits=2, digit_bits=2)
OWN = Id(5)
SIDES = [(left, right) for most in (0, 1, 2) for left in combinations((4, 3), most) for right in combinations((6, 8, 13), most)]


def leaves(*ids: int) -> tuple[Node, ...]:
    """Leaves with these ids."""
    return tuple(Node(Id(one), "m", "m", 1) for one in ids)


def set_ids(path: Path, side: Side, ids: Iterable[int]) -> None:
    """Lets a side have these ids."""
    known = tuple(ids)
    path.know(side.length == len(known), *(side.at(smt.IntVal(at)).id == Place(smt.IntVal(one)) for at, one in enumerate(known)))


@pytest.mark.slow
@pytest.mark.parametrize(("left", "right"), SIDES, ids=str)
def test_leaf_sets_of_any_length_are_changed_like_tuples(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Insertion with each limit, and removal: the same ids at the same places."""
    sides = tuple(sorted(left, key=lambda one: (OWN - one) % 16)), tuple(sorted(right, key=lambda one: (one - OWN) % 16))

    def statement(path: Path) -> None:
        found = Leaves(path)
        path.know(found.ring.size.half == 8, found.own.term == OWN)  # type: ignore[attr-defined]
        for side, ids in zip(found.sides, sides, strict=True):
            path.know(
                side.length == len(ids), *(side.at(smt.IntVal(at)).id == Place(smt.IntVal(one)) for at, one in enumerate(ids))
            )
        limit = max(1, len(left)) + choice(path, "more room", 2)
        path.know(found.limit.term == limit)
        config = Config(OWN, ring=SMALL, leaf_set_side=limit, is_two_sided=found.is_two_sided)
        real = State(NodeId("n:1"), config, leaf_set=LeafSet(*(leaves(*ids) for ids in sides)))
        for one in (3, 6, 7, 12, 14):
            node, term = leaves(one)[0], Node(Place(smt.IntVal(one)), "m", "m", 1)  # type: ignore[arg-type]
            with found.within():
                changed = tables.in_leaf_set(found.state, term), tables.remove_node(found.state, term.id).leaf_set
            expected = tables.in_leaf_set(real, node), tables.remove_node(real, node.id).leaf_set
            for made, nodes in zip(chain(*changed), chain(*expected), strict=True):
                path.claim("the same", is_same_side(made, nodes))

    outcome = follow(statement, 60)

    assert outcome.verdict == "proved", outcome.detail


def is_same_side(made: Any, nodes: tuple[Node, ...]) -> Any:
    """States that a side on terms has these nodes."""
    places = [smt.IntVal(place) for place in range(len(nodes))]
    if isinstance(made, OrderedSide):
        length, ids = made.length, [made.at(place).id for place in places]
    else:
        length, ids = length_of(made), [id_at(made, place) for place in places]
    return smt.And(length == len(nodes), *(one == Place(smt.IntVal(node.id)) for one, node in zip(ids, nodes, strict=True)))


@pytest.mark.parametrize("ids", [(), (6,), (6, 8), (6, 8, 13)], ids=str)
def test_bisect_on_a_side_is_like_that_of_python(ids: tuple[int, ...]) -> None:
    def statement(path: Path) -> None:
        ring: Any = any_ring(path)
        path.know(ring.size.half == 8)
        side = Side(path, ring, Place(smt.IntVal(5)), "side", is_right=True)  # type: ignore[arg-type]
        set_ids(path, side, ids)
        for steps in range(10):
            place = side.bisect(steps, lambda node: ring.clockwise(side.own, node.id))
            path.claim("the same place", place == bisect_left([one - 5 for one in ids], steps))

    assert follow(statement, 60).verdict == "proved"


def test_ranks_as_one_term_are_those_of_the_ring() -> None:
    def statement(path: Path) -> None:
        ring, node, key = any_places(path, ("node", "key"))
        path.claim("the same", rank(ring, node, key) == ring.rank(node, key))

    assert follow(statement, 30).verdict == "proved"


def test_a_table_of_any_size_gives_any_node_or_none_and_forgets_what_is_removed() -> None:
    seen: set[tuple[int, int, bool]] = set()

    def statement(path: Path) -> None:
        held = Held(path, "a table", lambda node, _: [node != 7])
        members, cells, measured = Members(held), Cells(held), Measured(held)
        others = tuple(node for node in members if node.id != 8)
        for node in others:
            path.claim("what holds of all", smt.And(node.id.term != 7, node.id.term != 8))  # type: ignore[attr-defined]
        if not others and members:
            path.claim("one has gone", truth(others != members))
        put = cells.put({(0, 0): HERE})
        seen.add((len(others), len(list(put.values())), bool(cells.get((0, 0)))))
        path.claim("without it", truth(not list(cells.without([(0, 0)]).values())))
        less = measured.without((HERE.id,))
        path.claim("not measured", truth(HERE.id not in less and all(node.id != HERE.id for node in less.values())))
        more = less.put({HERE.id: HERE})
        path.claim("measured", truth(HERE.id in more and HERE in list(more.values())))

    outcome = follow(statement, 60)

    assert outcome.verdict == "proved", outcome.detail
    assert seen == {(others, values, got) for others in (0, 1) for values in (1, 2) for got in (False, True)}


def test_departed_nodes_on_terms_are_like_a_set() -> None:
    def statement(path: Path) -> None:
        some = Departed(path, lambda node: node == 3)
        path.claim("is in it", truth(Id(3) in some and Id(4) not in some))
        path.claim("one more", truth(all(Id(one) in some | {Id(4)} for one in (3, 4))))
        path.claim("one less", truth(Id(3) not in some - {Id(3)}))
        path.claim("many or few", truth(len(some) in (0, MOST_DEPARTED + 1)))

    assert follow(statement, 30).paths == 2
