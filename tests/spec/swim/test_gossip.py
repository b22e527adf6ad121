"""The queue of events, to how many they go, and what fits into a datagram."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.swim.gossip import fanout
from peerproof.spec.swim.messages import COUNTER_MAX, Incarnation
from peerproof.spec.swim.state import Queued

from .nodes import B, C, messages, node, ping, quantum, received, row, said


@given(st.integers(2, 2**70))
def test_the_fanout_is_the_least_power_of_two_that_is_enough(nodes: int) -> None:
    assert 2 ** (fanout(nodes) - 1) < nodes <= 2 ** fanout(nodes)


def test_with_both_counters_at_the_end_nothing_is_sent_and_nobody_is_blamed_for_it() -> None:
    rows = {B: row(B, "normal 1 1"), C: row(C, "suspicious 1 1", indirect_misses=1)}
    state = replace(node(rows), incarnation=Incarnation(COUNTER_MAX, COUNTER_MAX), queue=(Queued(said("normal B"), frozenset()),))
    before = state

    for _ in range(6):
        taken = quantum(state)
        assert messages(taken) == []
        state = taken.state

    assert state.rows == before.rows
    assert state.queue == before.queue
    assert not state.isolated
    assert messages(received(state, ping(B, 1, 2))) == []
