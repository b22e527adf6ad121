"""Scores: who is asked for one, what is remembered, and for how long."""

from __future__ import annotations

from peerproof.spec.wendy import StateData
from peerproof.spec.wendy.state import MOST_MEASURED

from .nodes import (
    header,
    node,
    peer,
    received,
    sends,
    tables,
)


def test_at_most_so_many_are_measured_at_once() -> None:
    """Whoever lists strangers without end makes nobody work without end. [WA-54]"""
    state = node("40", right="50")
    for start in range(3):
        strangers = tuple(peer(f"8{start:x}{i:03x}") for i in range(512))
        state, effects = received(state, StateData(header("50"), tables()._replace(neighborhood_set=strangers)))

    assert len(state.measured) == MOST_MEASURED == 1024
    assert len(sends(effects)) == 0
