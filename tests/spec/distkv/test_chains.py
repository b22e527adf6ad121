"""Chains: what is put in front, what falls out, how two of them stand to each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.distkv_samples import chain

from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import Chain, Element, Relation, agree, relation, with_change

NODES = st.sampled_from([NodeId(name) for name in ("a", "b", "c", "é", "\U0001f600", "\ufffd")])
TICKS = st.integers(1, 4)
CHANGE_CHAINS = st.builds(
    lambda rows, cut: Chain(tuple(Element(*row) for row in rows.items()), cut),
    st.dictionaries(NODES, TICKS, min_size=1, max_size=5),
    st.booleans(),
)
ELEMENTS = st.builds(Element, NODES, TICKS | st.sampled_from([0, None]))
PING_CHAINS = st.builds(Chain, st.lists(ELEMENTS, max_size=4).map(tuple), st.booleans())


@given(CHANGE_CHAINS, NODES)
def test_a_change_comes_after_what_it_changes(before: Chain, node: NodeId) -> None:
    """As long as the bound leaves room for one element besides its own. [D-22]"""
    assert relation(before, with_change(before, Element(node, 9), 2).chain) is Relation.BEFORE


@given(PING_CHAINS, st.integers(0, 5), st.integers(0, 5))
def test_what_two_have_of_one_chain_agrees(whole: Chain, one: int, other: int) -> None:
    assert agree(whole.within(one), whole.within(other))


def test_no_entry_is_before_every_change() -> None:
    """[DC-20]"""
    assert relation(None, chain("a1")) is Relation.BEFORE
    assert relation(chain("a1"), None) is Relation.AFTER
    assert relation(None, None) is Relation.EQUAL
