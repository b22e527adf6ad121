"""Joining: who sends what to a joiner, when it announces itself, and what a race is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerproof.spec.core import Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import (
    Config,
    Join,
    Stage,
    State,
    initial,
)
from peerproof.spec.wendy.joining import on_announce

from .nodes import (
    asked,
    h,
    node,
    place,
    sent,
)


def fresh(digits: str) -> State:
    """A node that has just started."""
    return initial(place(digits), Config(h(digits))).state


def test_a_node_joins_once() -> None:
    """But again, if nothing has come of a join that arrived. [WA-59]"""
    state, effects = asked(fresh("75"), Join(place("40")))

    with pytest.raises(NotEnabled, match="joins once"):
        asked(state, Join(place("41")))
    with pytest.raises(NotEnabled, match="joins once"):
        asked(node("75"), Join(place("41")))
    with pytest.raises(NotEnabled, match="by itself"):
        asked(fresh("75"), Join(place("75")))
    arrived, _ = sent(state, effects[0])
    assert asked(arrived, Join(place("41"))).state.stage is Stage.JOINING


def test_who_does_not_wait_announces_nothing() -> None:
    for stage in (Stage.ALONE, Stage.JOINING, Stage.JOINED, Stage.LEFT):
        state = replace(fresh("75"), stage=stage)
        assert on_announce(state) == Step(state)
