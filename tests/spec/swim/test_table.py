"""Rows and claims: which of two is believed, and what goes with it."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.swim import Incarnation, Row, Status
from peerproof.spec.swim.table import Claim, key, merge

from .nodes import B, data, row

STATUSES = st.sampled_from(Status)
INCARNATIONS = st.builds(Incarnation, st.integers(0, 2), st.integers(0, 2))
CLAIMS = st.builds(Claim, st.just(B), STATUSES, INCARNATIONS, st.sampled_from([None, ("h", 1), ("i", 2)]))

# the row, what is said, what is believed
BELIEVED: list[tuple[str, str, str]] = [
    # at the same incarnation the worse is believed
    ("joining 1 7", "normal 1 7", "normal 1 7"),
    ("normal 1 7", "suspicious 1 7", "suspicious 1 7"),
    ("normal 1 7", "dead 1 7", "dead 1 7"),
    ("suspicious 1 7", "normal 1 7", "suspicious 1 7"),
    ("dead 1 7", "suspicious 1 7", "dead 1 7"),
    ("normal 1 7", "joining 1 7", "normal 1 7"),
    # a larger tx refutes it, a smaller one does not
    ("dead 1 7", "normal 1 8", "normal 1 8"),
    ("dead 1 7", "joining 1 8", "joining 1 8"),
    ("normal 1 7", "dead 1 6", "normal 1 7"),
    # the restart counter goes before all
    ("dead 1 999", "normal 2 0", "normal 2 0"),
    ("normal 2 0", "dead 1 999", "normal 2 0"),
    # leaving counts for the whole life, and for no other
    ("normal 1 7", "leave 1 3", "leave 1 3"),
    ("dead 1 7", "leave 1 0", "leave 1 0"),
    ("leave 1 3", "normal 1 999", "leave 1 3"),
    ("leave 1 3", "leave 1 4", "leave 1 4"),
    ("leave 1 3", "joining 2 0", "joining 2 0"),
    ("normal 2 0", "leave 1 999", "normal 2 0"),
]


def claim(text: str) -> Claim:
    """`claim("dead 1 7")`."""
    said = row(B, text)
    return Claim(B, said.status, said.incarnation)


@pytest.mark.parametrize(("known", "said", "believed"), BELIEVED)
def test_of_two_the_greater_key_is_believed(known: str, said: str, believed: str) -> None:
    after = merge(row(B, known), claim(said))

    assert (after.status, after.incarnation) == (row(B, believed).status, row(B, believed).incarnation)


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


def test_a_place_goes_with_what_is_believed() -> None:
    known = row(B, "normal 1 7")

    assert merge(known, claim("joining 1 8")._replace(place=("10.0.0.9", 9))).host == "10.0.0.9"
    assert merge(known, claim("joining 1 7")._replace(place=("10.0.0.9", 9))).host == known.host
    assert merge(known, claim("normal 1 8")).port == known.port


@pytest.mark.parametrize(("said", "kept"), [("normal 1 8", True), ("dead 1 7", True), ("normal 2 0", False), ("dead 2 0", False)])
def test_a_new_restart_counter_makes_the_payload_stale_and_a_larger_tx_does_not(said: str, kept: bool) -> None:
    after = merge(row(B, "normal 1 7", payload=data(x=1)), claim(said))

    assert after.payload == (data(x=1) if kept else None)


def test_a_larger_incarnation_answers_the_indirect_ping_that_is_under_way() -> None:
    """Also if the node stays suspicious. [SA-03]"""
    known = row(B, "suspicious 1 7", indirect_misses=1, indirect_asked=True, misses=2)

    for said in ("normal 1 8", "suspicious 1 8"):
        after = merge(known, claim(said))
        assert (after.indirect_misses, after.indirect_asked) == (0, False)
    after = merge(known, claim("dead 1 7"))
    assert (after.indirect_misses, after.indirect_asked) == (1, True)


WELL = ("joining", "normal")


@pytest.mark.parametrize(("before", "after"), [*product(("joining", "normal", "suspicious", "dead", "leave"), repeat=2)])
def test_misses_are_forgotten_of_who_was_not_well_and_is(before: str, after: str) -> None:
    found = merge(row(B, f"{before} 1 7", misses=1), claim(f"{after} 2 0"))

    assert found.misses == (0 if before not in WELL and after in WELL else 1)
