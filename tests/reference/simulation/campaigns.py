"""Campaigns of simulated nodes, their trace lines, and what is counted of them."""

from __future__ import annotations

from typing import Any

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation.campaign import Result, run
from peerproof.reference.simulation.plan import Campaign


def simulated(protocol: str, nodes: int, rounds: int, seed: str, **plan: Any) -> tuple[Result, list[str]]:
    """What came of a campaign, and the lines of its trace."""
    lines: list[str] = []
    config = plan.pop("config", {})
    return run(Campaign(RUNTIMES[protocol], config, nodes, rounds, seed, **plan), lines.append), lines


def figures(result: Result) -> dict[str, Any]:
    """What is counted of a protocol."""
    shown = result.plain()
    assert isinstance(shown, dict)
    return dict(shown["figures"])
