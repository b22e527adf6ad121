"""Sets of ticks against sets of integers, and as they are sent."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.distkv.codec import ranges_bytes
from peerproof.spec.distkv.ranges import Ranges, of_ticks, read
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import unpack

SETS = st.sets(st.integers(0, 30), max_size=20)


def is_normal(found: Ranges) -> bool:
    """b1 < e1 < b2 < e2 and so on. [DA-24]"""
    bounds = [bound for pair in zip(found.begins, found.ends, strict=True) for bound in pair]
    return all(earlier < later for earlier, later in pairwise(bounds))


@given(SETS)
def test_each_set_has_one_form(ticks: set[int]) -> None:
    found = of_ticks(sorted(ticks, key=lambda tick: -tick) * 2)

    assert is_normal(found)
    assert list(found.ticks()) == sorted(ticks)
    assert found.size() == len(ticks)
    assert found.is_empty() == (not ticks)
    assert [tick for tick in range(-1, 33) if found.has(tick)] == sorted(ticks)


@given(SETS, SETS)
def test_operations_are_those_of_sets(left: set[int], right: set[int]) -> None:
    one, other = of_ticks(left), of_ticks(right)

    assert one.union(other) == of_ticks(left | right)
    assert one.difference(other) == of_ticks(left - right)
    assert one.intersection(other) == of_ticks(left & right)


@given(SETS)
def test_what_is_sent_is_read_back(ticks: set[int]) -> None:
    """[D-29, D-30]"""
    found = of_ticks(ticks - {0})

    assert read(found.wire()) == found
    assert read(unpack(ranges_bytes(found))) == found


def by_definition(items: list[tuple[int, int]]) -> set[int] | None:
    """The ticks of pairs, by the words of the decision; None where it refuses them."""
    covered: set[int] = set()
    for place, (begin, end) in enumerate(items):
        ticks = set(range(begin, end))
        if not ticks or covered & ticks or (place and begin < items[place - 1][0]):
            return None
        covered |= ticks
    return covered


PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)).map(lambda pair: (pair[0], sum(pair))), max_size=4)


@given(PAIRS | PAIRS.map(sorted))
def test_a_list_is_refused_if_a_range_is_empty_or_out_of_order_or_overlaps(items: list[tuple[int, int]]) -> None:
    """The tick 0 says nothing. [DA-24, DA-90]"""
    expected = by_definition(items)

    if expected is None:
        with pytest.raises(MalformedMessage):
            read(tuple(items))
    else:
        assert read(tuple(items)) == of_ticks(expected - {0})
