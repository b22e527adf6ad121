"""Rings of ids of real size: what holds when all is quiet; any happenings in a small ring are in `test_machine_ring.py`."""

from __future__ import annotations

import pytest

from peerproof.spec.properties import find_violations
from peerproof.spec.wendy import PROPERTIES, Id, Leave, Route

from .ring import Ring, is_skewed


def ring_of(seed: int, count: int, side: int = 16) -> Ring:
    """A ring of nodes that have joined one after the other."""
    ring = Ring(seed, side)
    for _ in range(count):
        ring.join(any_id(ring))
        ring.settle()
    return ring


def any_id(ring: Ring) -> Id:
    return Id(ring.random.getrandbits(128))


@pytest.mark.slow
def test_nodes_that_join_one_after_the_other_form_a_ring() -> None:
    """Of more nodes than a leaf set holds; as long as all are in one half of the ring, keys may have two owners. [WX-07]"""
    ring = ring_of(0, 24, side=4)

    assert not is_skewed(ring.states())
    assert find_violations(PROPERTIES, "cluster", ring.at_once()) == []
    assert ring.astray(any_id(ring) for _ in range(20)) == []


@pytest.mark.slow
def test_after_a_quarter_has_crashed_at_once_every_key_finds_the_closest_live_node() -> None:
    ring = ring_of(7, 20)
    for who in ring.random.sample(sorted(ring.nodes), 5):
        del ring.nodes[who]

    ring.heartbeats()
    ring.heartbeats()

    assert ring.astray(any_id(ring) for _ in range(20)) == []


def test_interesting_things_happen() -> None:
    """Each `sometimes` is seen in some run, so that the properties beside it are not empty."""
    ring = Ring(3)
    ring.begin(any_id(ring))
    for _ in range(4):
        ring.join(any_id(ring))
        ring.join(any_id(ring))
        ring.settle()
    first, second, *_ = ring.nodes
    for key in ring.states():
        ring.ask(second, Route(key, None))
    ring.ask(first, Leave())
    del ring.nodes[second]
    ring.settle()
    ring.heartbeats()

    assert {prop.name for prop in PROPERTIES if prop.when == "sometimes"} - ring.seen == set()
