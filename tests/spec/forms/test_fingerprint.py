"""Fingerprints: equal states have equal ones in every process, others have others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.sample_forms import Colour

from peerproof.spec.core import Table
from peerproof.spec.forms.fingerprint import Fingerprints, canonical, fingerprint


@dataclass(frozen=True)
class Thing:
    """A state of something."""

    name: str
    count: int | None = None


@dataclass(frozen=True)
class Other(Thing):
    """The same fields under another name."""


def test_a_fingerprint_does_not_depend_on_how_a_state_came_about() -> None:
    assert fingerprint(Table({"b": 2, "a": 1})) == fingerprint(Table({"a": 1}).put({"b": 2}))
    assert fingerprint(frozenset({"a", "b", "c"})) == fingerprint(frozenset({"c", "b", "a"}))
    assert fingerprint(Thing("a", 1)) == "23171387ef74b72d"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Thing("a"), Thing("b")),
        (Thing("a"), Thing("a", 0)),
        (Thing("a", 1), Thing("a", 2)),
        (Thing("1"), Other("1")),
        (Table({"a": 1}), Table({"a": 2})),
        (Table({"a": 1}), Table({"b": 1})),
        ((1, 2), (2, 1)),
        (("a", "b"), ("ab",)),
        ("1", 1),
        ("\udcff", "\udcfe"),
        (Colour.RED, None),
    ],
)
def test_different_states_have_different_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize("value", [1.5, object(), (1, 1.5), Table({"a": 1.0})])
def test_what_differs_from_machine_to_machine_has_no_fingerprint(value: Any) -> None:
    with pytest.raises(TypeError, match="has no canonical form"):
        canonical(value)


@dataclass(frozen=True)
class Whole:
    """A state of many parts."""

    name: str
    things: Table[str, Thing]
    window: tuple[int, ...] = ()
    rest: Any = None


_NAMES = st.sampled_from(["a", "b", "é", "\udcff"])
_THINGS = st.builds(Thing, _NAMES, st.none() | st.integers(0, 3))
_LONG = ("a" * 3000, "a" * 1500 + "b" * 1500)  # more than a block, and another one that begins alike
_RESTS = st.none() | st.sampled_from([*_LONG, Colour.RED, frozenset({1, 2}), Table({"x": (1, 2)}), ("a", (1,)), True]) | _THINGS
_CHANGES = st.one_of(
    st.tuples(st.just("put"), _NAMES, _THINGS),
    st.tuples(st.just("without"), _NAMES),
    st.tuples(st.just("slide"), st.integers(-5, 5), st.integers(0, 2)),
    st.tuples(st.just("window"), st.lists(st.integers(0, 3)).map(tuple)),
    st.tuples(st.just("mixed"), st.sampled_from([("a",), (None, 1), ((1, 2), 3), (True, 2)])),
    st.tuples(st.just("rest"), _RESTS),
    st.tuples(st.just("again")),
)


def changed(state: Whole, change: tuple[Any, ...]) -> Whole:
    """The state after one change."""
    match change:
        case "put", key, thing:
            return replace(state, things=state.things.put({key: thing}))
        case "without", key:
            return replace(state, things=state.things.without([key]))
        case "slide", number, gone:
            return replace(state, window=(*state.window, number)[gone:])
        case (("window" | "mixed"), window):
            return replace(state, window=window)
        case "rest", rest:
            return replace(state, rest=rest)
    return replace(state)


@example([("rest", text) for text in _LONG])
@example([("window", (1, 0)), ("mixed", (0, True))])
@example([("slide", 1, 0), ("mixed", (True, 2))])
@given(st.lists(_CHANGES))
def test_fingerprints_of_one_state_after_the_other_are_those_of_each_alone(changes: list[tuple[Any, ...]]) -> None:
    fingerprints = Fingerprints()
    state = Whole("n", Table())

    for change in changes:
        state = changed(state, change)
        assert fingerprints.of(state) == fingerprint(state)


def test_fingerprints_of_states_of_different_kinds_may_follow_each_other() -> None:
    fingerprints = Fingerprints()
    states: list[Any] = [Thing("a"), Other("a"), Table({"a": 1}), Thing("a"), Whole("n", Table()), "text", None, Thing("b")]

    assert [fingerprints.of(state) for state in states] == [fingerprint(state) for state in states]
