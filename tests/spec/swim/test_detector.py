"""The failure detector: misses, suspicion, death, and when the fault is one's own."""

from __future__ import annotations

from .nodes import B, node, quantum


def test_sa_52_the_last_sixteen_unanswered_pings_are_remembered() -> None:
    state = node({B: "normal 1 1"})
    for _ in range(20):
        state = quantum(state).state

    assert state.rows[B].unanswered == tuple(range(15, 31))
