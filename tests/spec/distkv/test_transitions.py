"""A timer that does not run."""

from __future__ import annotations

from peerproof.spec.core import Expired, Instant, NodeId, Pick
from peerproof.spec.distkv import Config, RepairDue, initial, step


def test_a_timer_that_does_not_run_means_nothing(first: Pick) -> None:
    state = initial(NodeId("a"), Config()).state

    assert step(state, Expired(Instant(0), RepairDue()), first) == (state, ())
