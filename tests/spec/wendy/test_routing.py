"""Where a message goes: the design's cases, and rings with complete tables against the definition."""

from __future__ import annotations

from itertools import combinations, islice, permutations

import pytest

from peerproof.spec.core import NodeId, Table
from peerproof.spec.wendy import Config, Id, LeafSet, Node, Ring, State
from peerproof.spec.wendy.routing import hops
from peerproof.spec.wendy.tables import insert_node


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
