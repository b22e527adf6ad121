"""The three tables: the design's cases, and any insertions and removals against a model that sorts everything it was told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import NodeId
from peerproof.spec.wendy import Config, Id, Mask, Node, Ring, State, Versions
from peerproof.spec.wendy.properties import members
from peerproof.spec.wendy.proximity import record_score
from peerproof.spec.wendy.snapshot import find_inconsistency
from peerproof.spec.wendy.tables import insert_node, nodes_of, remove_node, select_tables, update_address

from .nodes import h, leaves, name, node, peer, tables


def bare(digits: str) -> State:
    """A node that knows nobody."""
    return node(digits)


def with_scores(state: State, *known: tuple[str, int | None]) -> State:
    """The node after others, with scores or without, came one after the other."""
    for digits, score in known:
        state = insert_node(state, peer(digits)) if score is None else record_score(state, peer(digits), score)
    return state


def in_order(state: State, digits: str) -> State:
    """The node after these came, one after the other, all with one score."""
    return with_scores(state, *((one, 100) for one in digits.split()))


def near(state: State) -> list[str]:
    """The neighborhood set."""
    return [name(one) for one in state.neighborhood_set]


def test_leaves_stand_on_their_sides_the_nearest_first() -> None:
    """WC-13. [W-24…W-29]"""
    state = in_order(bare("40"), "44 42 43 3e 3f")

    assert leaves(state) == (["3f", "3e"], ["42", "43", "44"])
    assert state.versions.leaf_set == 5


def test_a_side_keeps_the_16_nearest() -> None:
    """WC-14, WC-15: 17 come, the nearest last; then one that is too far, and one that is there. [W-28]"""
    state = in_order(bare("00"), " ".join(f"{i:02x}" for i in range(17, 0, -1)))

    assert leaves(state)[1] == [name(h(f"{i:02x}")) for i in range(1, 17)]
    assert state.versions.leaf_set == 17
    for more in ("20", "05"):
        assert in_order(state, more).leaf_set == state.leaf_set
        assert in_order(state, more).versions.leaf_set == 17


def test_the_left_side_goes_on_below_zero() -> None:
    """WC-16. [W-02, W-24]"""
    assert leaves(in_order(bare("02"), "fe ff 01")) == (["01", "ff", "fe"], [])


def test_nobody_stands_in_its_own_tables() -> None:
    """WC-17. [WA-15]"""
    state = bare("02")

    assert insert_node(state, peer("02")) == state


@pytest.mark.parametrize(
    ("known", "expected", "version"),
    [
        pytest.param([("11", 10), ("12", 5)], "12", 2, id="WC-18 the better one replaces"),
        pytest.param([("11", 10), ("12", 10)], "11", 1, id="WC-19 as good is not better"),
        pytest.param([("11", 10), ("12", None)], "11", 1, id="WC-20 unknown is worse than any"),
        pytest.param([("11", None), ("12", 10)], "12", 2, id="WC-20 any is better than unknown"),
        pytest.param([("11", None), ("12", None)], "11", 1, id="unknown is not better than unknown"),
    ],
)
def test_a_cell_keeps_the_node_with_the_better_score(known: list[tuple[str, int | None]], expected: str, version: int) -> None:
    """[W-18, WA-16, WA-17, WA-39]"""
    state = with_scores(bare("00"), *known)

    assert {cell: name(one) for cell, one in state.routing_table.items()} == {(0, 1): expected}
    assert state.versions.routing_table == version


def test_neighborhood_set_is_sorted_by_score() -> None:
    """WC-21. [W-33]"""
    state = with_scores(bare("00"), ("a", 10), ("b", 20), ("c", 5))

    assert near(state) == ["c", "a", "b"]
    assert state.versions.neighborhood_set == 3


def test_neighborhood_set_keeps_the_32_with_the_best_scores() -> None:
    """WC-22. [W-32, W-34]"""
    state = with_scores(bare("00"), *((f"{i:02x}", 10 * i) for i in range(1, 33)))

    state = with_scores(state, ("41", 15))
    assert near(state)[:3] == ["01", "41", "02"]
    assert len(near(state)) == 32
    assert name(h("20")) not in near(state)
    assert state.versions.neighborhood_set == 33
    assert with_scores(state, ("42", 400)).neighborhood_set == state.neighborhood_set
    assert with_scores(state, ("42", 400)).versions.neighborhood_set == 33


def test_of_equal_scores_the_earlier_stays_in_front() -> None:
    """WC-23, also when it comes again. [WA-22]"""
    state = with_scores(bare("00"), ("a", 10), ("b", 10))

    assert near(state) == ["a", "b"]
    assert near(with_scores(state, ("a", 10))) == ["a", "b"]


def test_a_member_moves_to_where_its_new_score_belongs_and_the_version_stays() -> None:
    """[WA-22, WA-39]"""
    state = with_scores(bare("00"), ("a", 10), ("b", 20), ("c", 30))

    assert near(with_scores(state, ("a", 25))) == ["b", "a", "c"]
    assert near(with_scores(state, ("c", 20))) == ["a", "b", "c"]
    assert near(with_scores(state, ("c", 1))) == ["c", "a", "b"]
    assert with_scores(state, ("c", 1)).versions == state.versions


def test_a_node_is_taken_out_of_each_table_by_itself() -> None:
    """A leaf and neighbour that is not in the routing table goes as well. [WA-25, WA-39]"""
    state = node("00", right="11 12", cells="11", near="11 12")

    after = remove_node(state, h("12"))

    assert leaves(after) == ([], ["11"])
    assert near(after) == ["11"]
    assert after.versions == Versions(0, 1, 1)
    assert remove_node(after, h("12")) == after


def test_a_new_address_is_no_new_member() -> None:
    """WA-68."""
    state = node("00", right="11", cells="11", near="11 12")
    moved = peer("11")._replace(port=5)

    after = update_address(state, moved)

    assert {one.port for one in after.known.values() if one.id == h("11")} == {5}
    assert after.versions == state.versions
    assert update_address(state, peer("99")) is state


def test_sent_tables_are_the_tables() -> None:
    state = node("00", left="ff", right="11", cells="11 20", near="20")

    assert select_tables(state) == tables("11 20", ("ff", "11"), "20")
    assert [name(one) for one in nodes_of(select_tables(state)).values() if one] == ["ff", "11", "2"]


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [((), (), "1 2 01"), ((0,), (), "1 2"), ((0,), (2,), "2"), ((0, 1), (1,), "1 01"), ((), (2,), "1 2 01"), ((5,), (), "")],
)
def test_a_mask_names_rows_and_of_them_columns(rows: tuple[int, ...], columns: tuple[int, ...], expected: str) -> None:
    """WA-57."""
    state = node("00", left="ff", cells="1 2 01", near="1")

    assert select_tables(state, Mask(routing_table=True, rows=rows, columns=columns)) == tables(rt=expected)


RING = Ring(digits=3, digit_bits=2)
OTHERS = st.integers(1, RING.size - 1).map(Id)
DEEDS = st.lists(st.tuples(OTHERS, st.none() | st.integers(0, 5)), max_size=60)


def small(side: int, neighbours: int) -> State:
    """Node 0 on a ring of 64."""
    return State(NodeId("n:1"), Config(Id(0), ring=RING, leaf_set_side=side, neighborhood_set=neighbours))


def far(one: Id) -> Node:
    return Node(one, "n", "n", 1 + one)


@given(DEEDS, st.integers(1, 4))
def test_each_side_holds_the_nearest_of_all_that_came_and_stayed(deeds: list[tuple[Id, int | None]], side: int) -> None:
    """A deed with no score takes the node out. Where somebody leaves, those who had no room before are not remembered. [W-29]"""
    state = small(side, 4)
    right: list[Id] = []
    left: list[Id] = []
    for one, score in deeds:
        mine = right if one <= RING.size // 2 else left
        if score is None:
            state = remove_node(state, one)
            mine[:] = [other for other in mine if other != one]
        else:
            state = record_score(state, far(one), score)
            mine[:] = sorted({*mine, one}, key=lambda other: min(other, RING.size - other))[:side]

        assert [n.id for n in state.leaf_set.right] == right
        assert [n.id for n in state.leaf_set.left] == left
        assert find_inconsistency(state) is None


@given(DEEDS, st.integers(1, 6))
def test_neighborhood_set_is_what_sorting_gives(deeds: list[tuple[Id, int | None]], most: int) -> None:
    """A model that keeps scores and the order of arrival, with one score for each node. [W-33, W-34]"""
    state = small(2, most)
    model: list[tuple[int, Id]] = []
    first: dict[Id, int] = {}
    for one, score in deeds:
        if score is None:
            state = remove_node(state, one)
            model = [row for row in model if row[1] != one]
        else:
            fixed = first.setdefault(one, score)
            state = record_score(state, far(one), fixed)
            if (fixed, one) not in model:
                model = sorted([*model, (fixed, one)], key=lambda row: row[0])[:most]

        assert [n.id for n in state.neighborhood_set] == [one for _, one in model]


@given(DEEDS)
def test_each_cell_holds_the_best_that_came_since_it_was_empty(deeds: list[tuple[Id, int | None]]) -> None:
    """[W-18]"""
    state = small(2, 2)
    model: dict[tuple[int, int], tuple[int, Id]] = {}
    first: dict[Id, int] = {}
    for one, score in deeds:
        cell = RING.cell(Id(0), one)
        if score is None:
            state = remove_node(state, one)
            if cell in model and model[cell][1] == one:
                del model[cell]
        else:
            fixed = first.setdefault(one, score)
            state = record_score(state, far(one), fixed)
            if cell not in model or fixed < model[cell][0]:
                model[cell] = fixed, one

        assert {cell: n.id for cell, n in state.routing_table.items()} == {cell: one for cell, (_, one) in model.items()}


@given(DEEDS)
def test_versions_count_changes_of_membership(deeds: list[tuple[Id, int | None]]) -> None:
    """[WA-39]"""
    state = small(2, 3)
    for one, score in deeds:
        after = remove_node(state, one) if score is None else record_score(state, far(one), score)

        changed = [old != new for old, new in zip(members(state), members(after), strict=True)]
        assert [new - old for old, new in zip(state.versions, after.versions, strict=True)] == changed
        state = after
