"""Chains: what is put in front, what falls out, how two of them stand to each other."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import (
    Chain,
    Claim,
    Element,
    Relation,
    agree,
    is_authoritative,
    is_change_chain,
    relation,
    with_change,
    with_ping,
    zero_may_ping,
)

from .samples import chain, element

# id: (chain, change, bound: chain after it, superseded). [D-11…D-16, DA-11, DA-15]
CHANGES = {
    "DC-01": ("", "a1", 5, "a1", ""),
    "DC-02": ("a1", "b1", 5, "b1 a1", ""),
    "DC-03": ("a3", "a4", 5, "a4", "a3"),
    "DC-04": ("c7 a3 b2", "a4", 5, "a4 c7 b2", "a3"),
    "DC-05": ("c7 a3 b2", "d1", 3, "d1 c7 a3 …", "b2"),
    "DC-06 its own element makes room": ("c7 a3 b2", "b3", 3, "b3 c7 a3", "b2"),
    "DC-07": ("a3", "b1", 1, "b1 …", "a3"),
    "a cut stays": ("a3 …", "b1", 5, "b1 a3 …", ""),
    "a chain that came with more": ("d4 c3 b2 a1", "e1", 3, "e1 d4 c3 …", "b2 a1"),
    "both": ("d4 c3 b2 a1", "c4", 2, "c4 d4 …", "c3 b2 a1"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_goes_in_front_and_what_falls_out_is_superseded(name: str) -> None:
    before, change, most, after, superseded = CHANGES[name]

    assert with_change(chain(before), element(change), most) == (chain(after), chain(superseded).elements)


def test_a_ping_goes_in_front_also_of_its_own() -> None:
    """[D-13, DA-34, DC-08]"""
    assert with_ping(chain("a5 b1 a5 b1"), element("a5"), 4) == chain("a5 a5 b1 a5 …")
    assert with_ping(chain(""), element("a0"), 4) == chain("a0")


# id: (chain, chain, how the first stands to the second). [D-22, DA-02, DA-18, DA-19]
RELATIONS = {
    "DC-15 heads are all of it": ("a2", "a2 c1", Relation.EQUAL),
    "DC-16": ("a2", "a3", Relation.BEFORE),
    "DC-17": ("b1 a3", "a3", Relation.AFTER),
    "DC-18": ("b1 a3", "c1 a3", Relation.CONCURRENT),
    "DC-19": ("b1 a1", "a2", Relation.CONCURRENT),
    "DC-21": ("a1", "b1 a2", Relation.BEFORE),
    "each claims to follow the other": ("a1 b2", "b2 a1", Relation.CONCURRENT),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_a_chain_with_the_other_head_or_a_later_one_comes_after(name: str) -> None:
    left, right, expected = RELATIONS[name]
    turned = {Relation.BEFORE: Relation.AFTER, Relation.AFTER: Relation.BEFORE}

    assert relation(chain(left), chain(right)) is expected
    assert relation(chain(right), chain(left)) is turned.get(expected, expected)


def test_no_entry_is_before_every_change() -> None:
    """[DC-20]"""
    assert relation(None, chain("a1")) is Relation.BEFORE
    assert relation(chain("a1"), None) is Relation.AFTER
    assert relation(None, None) is Relation.EQUAL


def test_to_come_before_is_not_transitive() -> None:
    """With a bound of one element b1 does not say any more that it follows a1. [DA-02]"""
    first, second = chain("a1"), with_change(chain("a1"), element("b1"), 2).chain
    third = with_change(second, element("c1"), 2).chain

    assert relation(first, second) is relation(second, third) is Relation.BEFORE
    assert relation(first, third) is Relation.CONCURRENT


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


# [DA-32]
AGREEMENTS = [
    ("", "", True),
    ("a1 b2", "a1 b2", True),
    ("a1 b2", "a1 b3", False),
    ("a1 b2 …", "a1 b2 c3", True),
    ("a1 b2 …", "a1 b2 c3 …", True),
    ("a1 b2 …", "a1 b2", True),
    ("a1 b2", "a1 b2 c3", False),
    ("a1 b2", "a1 b2 c3 …", False),
    ("…", "a1", True),
    ("", "a1", False),
    ("a?", "a0", False),
]


@pytest.mark.parametrize(("left", "right", "expected"), AGREEMENTS)
def test_chains_agree_up_to_where_either_was_cut(left: str, right: str, expected: bool) -> None:
    assert agree(chain(left), chain(right)) is agree(chain(right), chain(left)) is expected


@given(PING_CHAINS, st.integers(0, 5), st.integers(0, 5))
def test_what_two_have_of_one_chain_agrees(whole: Chain, one: int, other: int) -> None:
    assert agree(whole.within(one), whole.within(other))


def test_a_chain_of_zeros_is_not_authoritative() -> None:
    """[D-106, DA-16, DA-52, DC-75…DC-77]"""
    assert not is_authoritative(chain("a0 b0"))
    assert is_authoritative(chain("a0 b3"))
    assert not is_authoritative(chain(""))
    assert not is_authoritative(chain("a? b0"))


# id: (chain, whether a node with tick zero may ping). [D-107, DA-40]
ZEROS = {
    "DC-78": ("a0 b0 c0 d0", True),
    "DC-79": ("a0 b0 c5 d0", False),
    "DC-80": ("a0 b5 c0 d0", True),
    "DC-81": ("a4 b0 c0 d0", True),
    "the larger half": ("a0 b5 c0", True),
    "the smaller half": ("a0 b0 c5", False),
    "both halves": ("a5 b5", True),
    "nobody": ("", True),
    "one without a tick": ("a? b5", False),
}


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_do_not_push_the_last_node_with_data_out(name: str) -> None:
    text, expected = ZEROS[name]

    assert zero_may_ping(chain(text)) is expected


def test_a_node_stands_where_it_stands_first() -> None:
    """[DA-38]"""
    found = chain("a5 b2 a4")

    assert [found.position(NodeId(node)) for node in "abc"] == [0, 1, None]
    assert [found.tick_of(NodeId(node)) for node in "abc"] == [5, 2, None]


@pytest.mark.parametrize(
    ("text", "expected"), [("a1 b2", True), ("a1 …", True), ("", False), ("a1 b?", False), ("a2 a1", False), ("b1 a0", False)]
)
def test_chains_of_changes_have_ticks_and_no_node_twice(text: str, expected: bool) -> None:
    """[D-10, D-12, D-48, DA-90]"""
    assert is_change_chain(chain(text)) is expected
