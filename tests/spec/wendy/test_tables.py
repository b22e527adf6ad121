"""The three tables: the design's cases, and any insertions and removals against a model that sorts everything it was told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import NodeId
from peerproof.spec.wendy import Config, Id, Node, Ring, State
from peerproof.spec.wendy.properties import members
from peerproof.spec.wendy.proximity import record_score
from peerproof.spec.wendy.snapshot import find_inconsistency
from peerproof.spec.wendy.tables import insert_node, remove_node

from .nodes import h, leaves, name, node, peer


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


def test_a_side_keeps_the_16_nearest() -> None:
    """WC-14, WC-15: 17 come, the nearest last; then one that is too far, and one that is there. [W-28]"""
    state = in_order(bare("00"), " ".join(f"{i:02x}" for i in range(17, 0, -1)))

    assert leaves(state)[1] == [name(h(f"{i:02x}")) for i in range(1, 17)]
    assert state.versions.leaf_set == 17
    for more in ("20", "05"):
        assert in_order(state, more).leaf_set == state.leaf_set
        assert in_order(state, more).versions.leaf_set == 17


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
