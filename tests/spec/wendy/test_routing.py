"""Where a message goes: the design's cases, and rings with complete tables against the definition."""

from __future__ import annotations

from itertools import combinations, islice, permutations

import pytest

from peerproof.spec.core import NodeId, Table
from peerproof.spec.wendy import Config, Id, LeafSet, Node, Ring, State
from peerproof.spec.wendy.routing import hops, next_hop
from peerproof.spec.wendy.tables import insert_node

from .nodes import h, name, node

DELIVER = None
SMALL = node("10", left="08", right="20 30")
SCAN = node("40", left="3f", right="41", cells="80 c0")

# id: (node, key, where it goes)
CASES: dict[str, tuple[State, str, str | None]] = {
    "WC-24 within the leaf set": (SMALL, "24", "2"),
    "WC-25 within the lower side": (SMALL, "09", "08"),
    "WC-26 within, own id the closest": (SMALL, "0f~", DELIVER),
    "WC-27 an id of the leaf set": (SMALL, "20", "2"),
    "WC-27 a tie that the lower, own id wins": (node("10", left="08", right="20"), "18", DELIVER),
    "WC-27 a tie that the lower, other id wins": (node("20", left="10", right="30"), "18", "1"),
    "WC-28 the cell": (node("40", left="3f", right="41", cells="90"), "9abc", "9"),
    "WC-29 the first closer column": (SCAN, "9abc", "8"),
    "WC-30 a column that is not closer is passed over": (node("40", left="3f", right="41", cells="00 c0"), "9abc", "c"),
    "WC-31 a row below": (node("4000", left="3fff", right="4001", cells="40f0"), "48", "40f"),
    "WC-32 a row below, in the own column of another": (node("1200", left="11ff", right="1201", cells="1220"), "13", "122"),
    "WC-33 no row above": (node("4000", left="3fff", cells="9"), "4001", DELIVER),
    "WC-34 the furthest leaf, if it is closer": (node("4000", left="3fff", right="4001", cells="9"), "48", "4001"),
    "WC-35 nobody is known": (node("10"), "77", DELIVER),
    "WC-35 the own id": (node("10", left="08", right="20", cells="08 20"), "10", DELIVER),
    "WC-36 two nodes, at the closer one": (node("10", left="08", cells="08"), "0f~", DELIVER),
    "WC-36 two nodes, at the other one": (node("08", right="10", cells="10"), "0f~", "1"),
    "WC-37 no leaves": (node("00", cells="95"), "9", "95"),
    "WC-38 beyond the leaf set": (node("00", right="7f", cells="7f"), "90", "7f"),
    "WC-39 proximity does not count": (
        node("40", left="3f", right="41", cells="80 c0", scores={"80": 900, "c0": 1}),
        "9abc",
        "8",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_next_hop(case: str) -> None:
    """[W-39…W-44]"""
    state, key, expected = CASES[case]

    hop = next_hop(state, h(key))

    assert (None if hop is None else name(hop)) == expected


def ring_of(ids: tuple[int, ...], ring: Ring, side: int, *, two_sided: bool = False) -> dict[Id, State]:
    """Nodes that all know each other, as far as their tables go."""
    nodes = {Id(i): Node(Id(i), "n", "n", 1 + i) for i in ids}
    states = {}
    for own, other in nodes.items():
        config = Config(own, ring=ring, leaf_set_side=side, is_two_sided=two_sided)
        state = State(NodeId(f"n:{other.port}"), config)
        for one in nodes.values():
            state = insert_node(state, one)
        states[own] = state
    return states


def is_skewed(states: dict[Id, State]) -> bool:
    """Whether some node has all others on one side, and that side is full. [WX-07]"""
    return any(
        not (left and right) and max(len(left), len(right)) == state.config.leaf_set_side
        for state in states.values()
        for left, right in (state.leaf_set,)
    )


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("side", [1, 2, 3])
def test_every_key_is_delivered_at_the_closest_node_of_a_ring_at_rest(side: int, two_sided: bool) -> None:
    """All rings of up to four of 16 nodes, and all keys; but no skewed ones, unless sides overlap. [W-37, WX-07]"""
    ring = Ring(digits=2, digit_bits=2)
    tried = 0
    for count in range(1, 5):
        for ids in combinations(range(16), count) if count == 4 else permutations(range(0, 16, 1 if count < 3 else 3), count):
            states = ring_of(ids, ring, side, two_sided=two_sided)
            if is_skewed(states) and not two_sided:
                continue
            for key in map(Id, range(16)):
                owner = min(states, key=lambda one: ring.rank(one, key))
                for start in states:
                    path = list(islice(hops(states, start, key), 9))
                    assert path[-1] == owner, (ids, start, key, path)
                    tried += 1

    assert tried > 10_000


def test_a_skewed_ring_delivers_elsewhere() -> None:
    """WX-07: with one place on a side, 6 has both others on its left, and room for 3; but 12 is nearer to 1. [WA-05]"""
    states = ring_of((3, 1, 6), Ring(digits=2, digit_bits=2), 1)

    assert is_skewed(states)
    assert list(hops(states, Id(6), Id(12))) == [6]


def test_without_the_last_look_at_the_leaves_a_message_stops_too_early() -> None:
    """WX-08: {16, 30, 47} of 64 with three places on a side; from 30, key 0 goes to 47, and on to 16 only by WA-08."""
    states = ring_of((16, 30, 47), Ring(digits=3, digit_bits=2), 3)

    assert list(hops(states, Id(30), Id(0))) == [30, 47, 16]


def test_leaf_sets_that_disagree_send_a_message_in_circles() -> None:
    """WX-05: a does not know b as its leaf, but by its routing table; b's leaf for the key is a."""
    ring = Ring(digits=2, digit_bits=2)
    a, b = (Node(Id(i), "n", "n", 1 + i) for i in (3, 8))
    key = Id(5)
    far = ring_of((3, 8), ring, 2)
    without_b = State(NodeId("n:4"), far[a.id].config, routing_table=Table({ring.cell(a.id, key): b}))
    without_a = State(NodeId("n:9"), far[b.id].config, leaf_set=LeafSet(left=(a,)))
    states = {a.id: without_b, b.id: without_a}

    assert list(islice(hops(states, Id(3), key), 5)) == [3, 8, 3, 8, 3]
