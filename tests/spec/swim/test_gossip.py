"""To how many nodes an event goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.swim.gossip import fanout


@given(st.integers(2, 2**70))
def test_the_fanout_is_the_least_power_of_two_that_is_enough(nodes: int) -> None:
    assert 2 ** (fanout(nodes) - 1) < nodes <= 2 ** fanout(nodes)
