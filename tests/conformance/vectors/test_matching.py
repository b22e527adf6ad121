"""Matchers: what fits, what does not, and where the first difference is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from peerproof.conformance.vectors.matching import MATCHERS, first_difference, fits, is_literally

FITTING = [
    (1, 1),
    (1, "1"),  # an integer of 64 bits in plain form
    ("a", "a"),
    (None, None),
    ([], []),
    ([1, {"a": "b"}], [1, {"a": "b"}]),
    ({"any": True}, {"anything": []}),
    ({"any": True}, None),
    ({"u64": "18446744073709551615"}, "18446744073709551615"),
    ({"u64": "7"}, 7),
    ({"multiset": [1, 2, 2]}, [2, 1, 2]),
    ({"multiset": [{"any": True}, 1]}, [1, 2]),
    ({"multiset": []}, []),
    ({"subset_of": [1, 2, 3]}, [3, 1]),
    ({"subset_of": [1, 2]}, []),
    ({"contains": [1]}, [3, 1]),
    ({"one_of": [1, {"contains": ["x"]}]}, ["x"]),
    ({"between": [1, 3]}, 3),
    ({"between": [{"u64": "1"}, {"u64": "18446744073709551615"}]}, "18446744073709551615"),
    ({"a": 1, "b": {"absent": True}}, {"a": 1}),
    ([{"bind": "x"}, {"ref": "x"}], [5, 5]),
    ({"first": {"bind": "x"}, "then": {"multiset": [{"ref": "x"}, 2]}}, {"first": 1, "then": [2, 1]}),
    ([{"multiset": [{"bind": "x"}, 1]}, {"ref": "x"}], [[1, 2], 2]),
    ({"hex": "ff"}, {"hex": "ff"}),  # no matcher: bytes that are no UTF-8
    ({"multiset": [{"any": True}] * 60}, list(range(60))),
    ([{"bind": "x"}, *range(5_000), {"ref": "x"}], [7, *range(5_000), 7]),
]

UNFITTING = [
    (1, 2),
    (1, True),
    (1, "01"),
    ("1", 1),
    (True, 1),
    ([1], [1, 2]),
    ([1, 2], [1]),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1, "b": 2}, {"a": 1}),
    ({"a": {"any": True}}, {}),
    ({"u64": "7"}, "seven"),
    ({"u64": "7"}, "7" * 5000),
    ({"multiset": [1, 2, 2]}, [1, 1, 2]),
    ({"multiset": [1]}, "1"),
    ({"subset_of": [1, 2]}, [1, 1]),
    ({"contains": [1, 1]}, [1, 2]),
    ({"one_of": []}, 1),
    ({"between": [1, 3]}, 4),
    ({"between": [1, 3]}, None),
    ({"absent": True}, None),
    ([{"bind": "x"}, {"ref": "x"}], [5, 6]),
    ({"ref": "never_bound"}, 1),
    ({"multiset": [{"any": True}] * 60}, list(range(59))),
    ({"multiset": [*range(59), -1]}, list(range(60))),
    ([{"bind": "x"}, *range(5_000), {"ref": "x"}], [7, *range(5_000), 8]),
]


@pytest.mark.parametrize(("expected", "actual"), FITTING)
def test_it_fits(expected: Any, actual: Any) -> None:
    assert fits(expected, actual)
    assert first_difference(expected, actual, {}) is None


@pytest.mark.parametrize(("expected", "actual"), UNFITTING)
def test_it_does_not_fit_and_there_is_a_difference_to_show(expected: Any, actual: Any) -> None:
    assert not fits(expected, actual)
    assert first_difference(expected, actual, {}) is not None


def test_every_matcher_has_a_case_that_fits_and_one_that_does_not() -> None:
    for cases in (FITTING, UNFITTING):
        shown = repr([expected for expected, _ in cases])

        assert [name for name in MATCHERS if f"'{name}'" not in shown] == []


@pytest.mark.parametrize(
    ("expected", "actual", "where", "wanted", "found"),
    [
        ([1, 2], [1, 3], "[1]", 2, 3),
        ([1], [1, 4], "[1]", None, 4),
        ([1, 2], [1], "[1]", 2, None),
        ({"a": {"b": [1]}}, {"a": {"b": [2]}}, "a.b[0]", 1, 2),
        ({"a": 1}, {"a": 1, "b": 2}, "b", None, 2),
        ({"a": 1, "b": 2}, {"a": 1}, "b", 2, None),
        ({"multiset": [1, 2]}, [2, 5], "[1]", 1, 5),
        ({"multiset": [1, 2]}, [2], "", 1, None),
        ({"contains": [7]}, [1, 2], "", 7, None),
        ({"subset_of": [1]}, [1, 2], "[1]", None, 2),
        ([{"bind": "x"}, {"ref": "x"}], [5, 6], "[1]", {"ref": "x", "is": 5}, 6),
    ],
)
def test_the_first_difference_is_as_deep_inside_as_it_can_be_said(
    expected: Any, actual: Any, where: str, wanted: Any, found: Any
) -> None:
    difference = first_difference(expected, actual, {})

    assert difference is not None
    assert (difference.where, difference.expected, difference.actual) == (where, wanted, found)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, True),
        (1, 1.0),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}),
        ({"u64": "14"}, {"u64": "14"}),
        ([{"absent": True}], [{"absent": True}]),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": 2}),
    ],
)
def test_what_does_not_fit_as_data_is_not_literally_the_same(expected: Any, actual: Any) -> None:
    assert not is_literally(expected, actual)
    assert not fits(expected, actual)


def test_what_is_literally_the_same_fits() -> None:
    plain = {"rows": [{"tx": "1", "asked": False, "data": {"any": None, "of": []}}], "left": None, "u64": "14"}

    assert is_literally(plain, json.loads(json.dumps(plain)))
    assert fits(plain, plain)
