"""Those who go: how it is noticed, and who is asked for what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.core import CancelTimer, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import (
    Announce,
    FlushCache,
    HeartbeatDue,
    Id,
    Leave,
    NodeAnnouncement,
    NodeExit,
    Repair,
    RepairTimeout,
    Stage,
    State,
)
from peerproof.spec.wendy.state import MOST_DEPARTED

from .nodes import (
    asked,
    data,
    h,
    header,
    node,
    received,
    sends,
    sent,
    tables,
)


def gone(state: State, digits: str) -> Step[State, Any]:
    """The step of a node that hears that another leaves."""
    return received(state, NodeExit(header(digits)))


def test_of_the_departed_so_many_are_remembered() -> None:
    """Of more, the farthest is forgotten: it comes into no leaf set. [WA-30]"""
    departed = frozenset(Id(h("40") + 2 * number) for number in range(1, MOST_DEPARTED + 1))
    state = replace(node("40", left="3f", right="90"), departed=departed)

    assert gone(state, "90").state.departed == departed
    assert gone(state, "3f").state.departed == departed
    near = Id(h("40") + 1)
    state = received(state, NodeAnnouncement(header("4" + "0" * 30 + "1", versions=(9, 9, 9)), tables())).state
    assert departed - gone(state, "4" + "0" * 30 + "1").state.departed == {Id(h("40") + 2 * MOST_DEPARTED)}
    assert near in gone(state, "4" + "0" * 30 + "1").state.departed


def test_a_node_that_leaves_says_so_and_does_nothing_more() -> None:
    """[WA-24, WA-62]"""
    state = replace(node("80", right="81", near="82", cells="83"), repairs=Table({(0, 1): Repair(0, frozenset())}))

    left, effects = asked(state, Leave())

    assert [(to, type(message)) for to, message in sends(effects)] == [(one, NodeExit) for one in ("81", "82", "83")]
    cancelled = [effect.timer for effect in effects if isinstance(effect, CancelTimer)]
    assert cancelled == [FlushCache(), Announce(), HeartbeatDue(), RepairTimeout(0, 1)]
    assert left.stage is Stage.LEFT
    assert received(left, data("81", tables(ls=("", "85")))) == (left, ())
    assert sent(left, effects[0], took=None) == (left, ())
    with pytest.raises(NotEnabled, match="left"):
        asked(left, Leave())
