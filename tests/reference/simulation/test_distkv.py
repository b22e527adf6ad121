"""Nodes of DistKV in virtual time: splits, losses, crashes, downloads, and what is counted of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reference.simulation.campaigns import figures, simulated

from peerproof.cli.main import main
from peerproof.reference.simulation.campaign import Result
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import distkv
from peerproof.spec.core import EVERYBODY, Duration, Instant, NodeId
from peerproof.spec.distkv import Config
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.properties import Taken

A, B, C = (NodeId(name) for name in "abc")


def run(nodes: int = 5, rounds: int = 60, seed: str = "1", **plan: Any) -> Result:
    """A campaign with a clock of a second; its properties are checked."""
    return simulated("distkv", nodes, rounds, seed, config={"clock": 1000}, check_every=9, **plan)[0]


def agreed(result: Result) -> dict[str, Any]:
    """Nothing was violated, and all have one store and miss nothing; the figures."""
    found = figures(result)
    assert (result.violations, found["stores"], found["missing"]) == ((), 1, 0), found
    assert all(since is not None for since in result.reached.values())
    return found


def test_without_faults_each_change_is_told_once_and_nothing_is_asked_for() -> None:
    found = agreed(run(updates=8))

    assert (found["ready"], found["splits_healed"]) == (5, 0)
    assert found["changes"] == found["messages"]["update"] == found["least"]["messages"] > 30
    assert "update again" not in found["messages"]
    assert found["bytes"]["update"] == found["least"]["bytes"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_after_a_split_all_have_one_store_and_little_is_sent_again(seed: str) -> None:
    found = agreed(run(nodes=6, rounds=70, seed=seed, updates=30, keys=10, partition=(10, 38)))

    assert found["splits_healed"] >= 1
    assert found["least"]["messages"] >= found["changes"] + 10
    assert 10 <= found["messages"]["update again"] <= 40


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_what_the_network_loses_and_doubles_is_asked_for_again(seed: str) -> None:
    faults = Faults(loss=0.1, duplication=0.1, reordering=0.1)

    found = agreed(run(rounds=120, seed=seed, updates=10, faults=faults))

    assert found["messages"]["update again"] > 0


@pytest.mark.parametrize(
    ("nodes", "plan", "ready"),
    [
        (4, {"rounds": 80, "updates": 20, "crashes": ((0, 12), (2, 15)), "restarts": ((0, 20), (2, 20))}, 4),
        (3, {"rounds": 80, "updates": 5, "crashes": ((0, 45), (1, 45), (2, 45)), "restarts": ((0, 50), (1, 50), (2, 50))}, 3),
        (5, {"apart": 4, "crashes": ((1, 15),), "partition": (17, 21)}, 4),
    ],
    ids=["some crash and come back", "all crash and come back", "a download fails, and another is tried"],
)
def test_who_comes_back_gets_what_it_has_missed(nodes: int, plan: dict[str, Any], ready: int) -> None:
    found = agreed(run(nodes, **plan))

    assert found["ready"] == ready
    assert nodes != 3 or found["entries"] == 4


@pytest.mark.slow
def test_what_came_of_it_is_printed_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--rounds", "40", "--updates", "20", "--keys", "7", "--partition", "8-25", "--check", "9"]

    assert main(["node", "simulate", "distkv", *options]) == 0
    printed = capsys.readouterr().out
    assert "nodes are ready, with 1 different stores, and 0 changes are missing somewhere" in printed
    assert "messages sent; any protocol needs" in printed
    assert printed.endswith("no property is violated\n")

    assert main(["node", "simulate", "distkv", *options, "--json"]) == 0
    counted = json.loads(capsys.readouterr().out)["figures"]
    assert counted["entries"] == 8
    assert f"{counted['changes']} changes of 8 entries" in printed


def test_a_message_for_everybody_goes_to_all_that_run_also_to_its_sender() -> None:
    simulation = Simulation(distkv, "s", Faults(least_delay=Duration(3), most_delay=Duration(3)))
    received: list[tuple[NodeId, Instant]] = []
    missed: list[tuple[NodeId, NodeId]] = []

    def observe(node: NodeId, taken: Taken) -> None:
        if hasattr(taken.event, "message"):
            received.append((node, taken.event.now))

    simulation.observers.append(observe)
    simulation.missed = lambda message: missed.append((message.sender, message.to))
    simulation.start(A, Config(clock=Duration(100), root=value_of_plain(1), start=Duration(50)))
    for node in (B, C):
        simulation.start(node, Config(clock=Duration(100), start=Duration(100)))
    simulation.crash(C)
    simulation.run(Instant(60))
    assert sorted(received) == [(A, 53), (A, 53), (B, 53), (B, 53)]
    assert {flight.to for flight in simulation.cluster().in_flight} <= {A, B} - {EVERYBODY}

    simulation.network.cut([[A], [B]])
    simulation.run(Instant(400))
    assert (A, B) in missed
    assert (A, A) not in missed
