"""Chains: what is put in front, what falls out, how two of them stand to each other."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import (
    Chain,
    Claim,
    Element,
    Relation,
    agree,
    is_change_chain,
    relation,
    with_change,
)

from .samples import chain, element

NODES = st.sampled_from([NodeId(name) for name in ("a", "b", "c", "é", "\U0001f600", "\ufffd")])
TICKS = st.integers(1, 4)
CHANGE_CHAINS = st.builds(
    lambda rows, cut: Chain(tuple(Element(*row) for row in rows.items()), cut),
    st.dictionaries(NODES, TICKS, min_size=1, max_size=5),
    st.booleans(),
)
ELEMENTS = st.builds(Element, NODES, TICKS | st.sampled_from([0, None]))
CLAIMS = st.builds(Claim, st.integers(0, 2), ELEMENTS)
PING_CHAINS = st.builds(Chain, st.lists(ELEMENTS, max_size=4).map(tuple), st.booleans())


@given(CHANGE_CHAINS, NODES, st.integers(1, 5))
def test_a_change_keeps_the_rules_of_chains(before: Chain, node: NodeId, most: int) -> None:
    """[D-11, D-12, D-14, D-16]"""
    change = Element(node, 9)

    after, superseded = with_change(before, change, most)

    assert after.head == change
    assert is_change_chain(after)
    assert len(after.elements) <= most
    assert sorted((*after.elements, *superseded)) == sorted((change, *before.elements))
    assert after.cut == (before.cut or len(after.elements) < len({change.node, *(one.node for one in before.elements)}))


@given(CHANGE_CHAINS, NODES)
def test_a_change_comes_after_what_it_changes(before: Chain, node: NodeId) -> None:
    """As long as the bound leaves room for one element besides its own. [D-22]"""
    assert relation(before, with_change(before, Element(node, 9), 2).chain) is Relation.BEFORE


@given(CLAIMS, CLAIMS, CLAIMS)
def test_claims_that_differ_are_in_a_strict_total_order(one: Claim, other: Claim, third: Claim) -> None:
    """[D-80…D-82]"""
    assert one.beats(other) + other.beats(one) == (one != other)
    assert not one.beats(one)
    if one.beats(other) and other.beats(third):
        assert one.beats(third)


def test_tock_comes_first_then_tick_then_name_and_who_has_no_tick_loses() -> None:
    """[D-80…D-82, DA-35, DA-36]"""
    best_first = ["9 a1", "8 a3", "8 b3", "8 a2", "8 A0", "8 z0", "8 é0", "8 \ufffd0", "8 \U0001f6000", "9 a?", "8 a?", "8 b?"]
    claims = [Claim(int(text.split()[0]), element(text.split()[1])) for text in best_first]

    assert all(better.beats(worse) for better, worse in itertools.combinations(claims, 2))


@given(PING_CHAINS, st.integers(0, 5), st.integers(0, 5))
def test_what_two_have_of_one_chain_agrees(whole: Chain, one: int, other: int) -> None:
    assert agree(whole.within(one), whole.within(other))


def test_no_entry_is_before_every_change() -> None:
    """[DC-20]"""
    assert relation(None, chain("a1")) is Relation.BEFORE
    assert relation(chain("a1"), None) is Relation.AFTER
    assert relation(None, None) is Relation.EQUAL
