"""What is measured of simulated runs: the figures of their campaigns, as far as both count the same."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.clusters import simulated
from tests.pipeline.handmade import Log

from peerproof.conformance.traces.events import event_of
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.plan import Campaign


def measured(nodes: int, rounds: int, protocol: str, **plan: Any) -> dict[str, list[float]]:
    """Values by metric."""
    return Log(protocol, map(event_of, simulated(nodes, rounds, "m", protocol, **plan))).values()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "nodes", "rounds", "plan"),
    [
        ("wendy", 6, 50, {"apart": 2, "crashes": ((2, 32),), "restarts": ((2, 38),)}),
        ("peter", 7, 60, {"apart": 2, "churn": 0.03, "topics": 3, "partition": (40, 46)}),
    ],
)
def test_a_ring_has_the_figures_of_its_campaign(protocol: str, nodes: int, rounds: int, plan: dict[str, Any]) -> None:
    """Also where nodes crash and start again."""
    config = {"heartbeat": 30_000}
    figures = campaign.run(Campaign(RUNTIMES[protocol], config, nodes, rounds, "m", 3, **plan)).figures
    assert figures is not None
    expected: dict[str, Any] = dict(figures.plain())

    values = measured(nodes, rounds, protocol, config=config, **plan)

    assert len(values["delivered"]) == expected["routed"] > 10
    assert len(values["misdelivered"]) == expected["delivered"]
    assert sum(values["misdelivered"]) == expected["wrong"]
    assert sum(values["route_hops"]) == sum(int(hops) * count for hops, count in expected["hops"].items())
    assert len(values["join_time"]) == expected["joined"] >= nodes - 1
    assert "unreadable" not in values
    if protocol == "wendy":
        assert sum(values["delivered"]) == expected["delivered"]
    else:
        assert expected["routed"] == expected["published"]
        assert len(values["events_delivered"]) == expected["due"]
        assert values["events_delivered"].count(0) == expected["lost"] > 0
        assert sum(values["event_duplicates"]) == expected["duplicates"]
        assert sum(values["link_stress"]) == expected["messages"]["publish"] + expected["messages"]["notify"]


def test_a_split_store_is_measured() -> None:
    values = measured(4, 60, "distkv", partition=(10, 20))

    assert len(values["ready_time"]) == 4
    assert set(values["coverage"]) == {1.0}
    assert len(values["convergence"]) == len(values["hops"]) > 10
    assert values["mend_time"]
    assert "unreadable" not in values
