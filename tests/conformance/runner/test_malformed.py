"""What malformed datagrams must not change: not what a node answers, and not when its next timer runs."""

from __future__ import annotations

from typing import Any

from tests.support.catching import path_of, suite

from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner.cases import select_cases
from peerproof.reference.harness.harness import Harness


class PutsItsTimerOff(Harness):
    """The reference, but whatever arrives puts off the next timer."""

    def __init__(self) -> None:
        super().__init__(["scuttlebutt"])
        self.late = 0

    def handle(self, request: dict[str, Any], choose: Any) -> dict[str, Any]:
        """Adds a millisecond for each datagram."""
        reply = super().handle(request, choose)
        self.late += request["op"] == "recv"
        if reply.get("next_timer_ms") is not None:
            reply["next_timer_ms"] += self.late
        return reply


def test_a_malformed_datagram_that_moves_the_timer_changes_the_node() -> None:
    chosen = [case for case in select_cases(suite(), "codec/reject", "scuttlebutt") if case.id.endswith("#unchanged")][:3]

    session = run_implementation(f"py:{path_of(PutsItsTimerOff)}", chosen, suite=suite())

    found = [(one.failure, one.difference.where) for one in session.report.results if one.difference]
    assert found == [("changed", "next_timer_ms")] * len(chosen)
