"""Rows and claims: which of two is believed, and what goes with it."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.swim import Incarnation, Row, Status
from peerproof.spec.swim.table import Claim, key, merge

from .nodes import B, row

STATUSES = st.sampled_from(Status)
INCARNATIONS = st.builds(Incarnation, st.integers(0, 2), st.integers(0, 2))
CLAIMS = st.builds(Claim, st.just(B), STATUSES, INCARNATIONS, st.sampled_from([None, ("h", 1), ("i", 2)]))


def claim(text: str) -> Claim:
    """`claim("dead 1 7")`."""
    said = row(B, text)
    return Claim(B, said.status, said.incarnation)


@given(STATUSES, INCARNATIONS, STATUSES, INCARNATIONS)
def test_keys_are_ordered_totally_and_equal_only_for_the_same(a: Status, m: Incarnation, b: Status, n: Incarnation) -> None:
    one, other = key(a, m), key(b, n)

    assert (one < other) + (other < one) + (one == other) == 1
    assert (one == other) == (a is b and m == n)


@given(st.builds(Row, st.just("h"), st.just(1), STATUSES, INCARNATIONS), st.lists(CLAIMS, min_size=1, max_size=4))
def test_claims_make_the_same_of_a_row_in_every_order_and_however_often(known: Row, claims: list[Claim]) -> None:
    """What two claims with the same key say of the place is not the same; the first of these counts."""
    results = set()
    for order in permutations(claims):
        after = known
        for said in (*order, *order):
            after = merge(after, said)
        results.add((after.status, after.incarnation))

    assert len(results) == 1


@given(st.builds(Row, st.just("h"), st.just(1), STATUSES, INCARNATIONS), CLAIMS)
def test_what_is_not_believed_leaves_the_very_same_row(known: Row, said: Claim) -> None:
    after = merge(known, said)

    assert (after is known) == (key(said.status, said.incarnation) <= key(known.status, known.incarnation))


WELL = ("joining", "normal")


@pytest.mark.parametrize(("before", "after"), [*product(("joining", "normal", "suspicious", "dead", "leave"), repeat=2)])
def test_misses_are_forgotten_of_who_was_not_well_and_is(before: str, after: str) -> None:
    found = merge(row(B, f"{before} 1 7", misses=1), claim(f"{after} 2 0"))

    assert found.misses == (0 if before not in WELL and after in WELL else 1)
