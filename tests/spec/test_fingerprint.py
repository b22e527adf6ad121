"""Fingerprints: equal states have equal ones in every process, others have others."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from peerproof.spec.core import Table
from peerproof.spec.fingerprint import canonical, fingerprint


class Colour(Enum):
    """Something with a value."""

    RED = "red"


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


@pytest.mark.parametrize("value", [1.5, object(), b"a", (1, 1.5), Table({"a": 1.0})])
def test_what_differs_from_machine_to_machine_has_no_fingerprint(value: Any) -> None:
    with pytest.raises(TypeError, match="has no canonical form"):
        canonical(value)
