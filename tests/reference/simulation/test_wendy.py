"""Rings of Wendy nodes in virtual time, and what a simulated connection does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reference.simulation.campaigns import figures, simulated

from peerproof.reference.protocols.wendy.runtime import digest, has_left
from peerproof.reference.simulation.campaign import Result
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Connections, Simulation
from peerproof.spec import wendy
from peerproof.spec.core import Duration, Instant, NodeId, Sent
from peerproof.spec.properties import Taken
from peerproof.spec.traces.replay import replay
from peerproof.spec.traces.trace import parse
from peerproof.spec.traces.trace import replay as replay_of_lines
from peerproof.spec.wendy import Config, Heartbeat, Join, JoinFailed, Leave, Stage, id_of_text

A, B = NodeId("a:1"), NodeId("b:1")
TIMEOUT = Duration(10_000)


def campaign(nodes: int = 12, rounds: int = 40, **plan: Any) -> tuple[Result, list[str]]:
    return simulated("wendy", nodes, rounds, "w", **{"updates": 20, **plan})


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0, 2])
def test_nodes_that_join_form_a_ring_in_which_every_key_finds_its_owner(apart: int) -> None:
    result, lines = campaign(apart=apart, rounds=60, check_every=50)

    found = figures(result)
    assert result.violations == ()
    assert found["joined"] == 11
    assert found["routed"] == found["delivered"] == 12 * 20
    assert found["wrong"] == 0
    assert 0.5 < found["mean_hops"] < 2
    assert found["routing_table"] > 5
    assert (found["leaf_set"], found["neighborhood_set"]) == (11, 11)
    assert found["messages_per_join"] > 10
    assert json.dumps(result.plain())
    assert "240 messages routed, 240 delivered" in result.text()
    assert replay(lines, wendy)


@pytest.mark.slow
def test_after_a_crash_messages_go_other_ways() -> None:
    result, lines = campaign(10, crashes=((3, 21), (5, 21)), restarts=((5, 30),), rounds=60)

    found = figures(result)
    assert found["joined"] == 10
    assert found["messages"]["node_repair"] > 0
    assert found["wrong"] <= found["delivered"] / 50
    assert replay(lines, wendy)


def test_a_node_whose_contact_cannot_be_reached_tries_again() -> None:
    result, lines = campaign(nodes=6, rounds=10, updates=1, partition=(0, 2))

    assert sum('"notify":{"type":"join_failed"' in line for line in lines) >= 3
    assert figures(result)["joined"] == 5


def test_the_lines_of_a_ring_are_those_of_the_specification_read_either_way() -> None:
    _, lines = campaign(nodes=5, rounds=10, updates=3)
    parsed = list(map(parse, lines))

    assert {line.kind for line in parsed} == {"start", "recv", "sent", "timer", "api"}
    assert list(replay_of_lines(wendy, parsed)) == []
    assert replay(lines, wendy)
    at = next(index for index, line in enumerate(parsed) if line.kind == "sent" and '"took":' in lines[index])
    took = parsed[at].args["took"]
    wrong = [*lines[:at], lines[at].replace(f'"took":{took}', '"took":null'), *lines[at + 1 :]]
    assert replay(wrong, wendy).diverged == 1


def pair(faults: Faults | None = None) -> tuple[Simulation, list[Sent[Any]]]:
    """Two nodes, and what the first has learnt of its messages."""
    simulation = Simulation(wendy, "s", faults, connections=Connections(TIMEOUT, has_left))
    outcomes: list[Sent[Any]] = []

    def observe(node: NodeId, taken: Taken) -> None:
        if node == A and isinstance(taken.event, Sent):
            outcomes.append(taken.event)

    simulation.observers.append(observe)
    for node in (A, B):
        simulation.start(node, Config(id_of_text(digest(node)), heartbeat=Duration(60_000)))
    simulation.ask(B, Join(A))
    simulation.run(Instant(59_000))
    assert all(state.stage in (Stage.JOINED, Stage.ALONE) for state in simulation.states().values())
    outcomes.clear()
    return simulation, outcomes


def test_who_sends_learns_how_long_it_took_and_so_each_time() -> None:
    simulation, outcomes = pair(Faults(least_delay=Duration(3), most_delay=Duration(40)))
    simulation.run(Instant(200_000))

    beats = [outcome for outcome in outcomes if isinstance(outcome.message, Heartbeat)]
    assert len(beats) == 3
    assert len({outcome.took for outcome in beats}) == 1
    assert 6_000 <= (beats[0].took or 0) <= 80_000
    assert beats[0].now == 60_000 + -(-(beats[0].took or 0) // 1000)


@pytest.mark.parametrize("happening", ["crash", "leave", "partition"])
def test_a_message_to_somebody_who_cannot_be_reached_fails_after_the_timeout(happening: str) -> None:
    simulation, outcomes = pair()
    if happening == "crash":
        simulation.crash(B)
    elif happening == "leave":
        simulation.network.cut([[A], [B]])  # so that the goodbye is not heard
        simulation.ask(B, Leave())
        simulation.run(Instant(59_500))
        simulation.network.heal()
    elif happening == "partition":
        simulation.network.cut([[A], [B]])
    simulation.run(Instant(100_000))

    beat = next(outcome for outcome in outcomes if isinstance(outcome.message, Heartbeat))
    assert (beat.now, beat.took) == (70_000, None)


def test_who_crashes_does_not_learn_what_became_of_its_messages() -> None:
    simulation, outcomes = pair()
    simulation.run(Instant(60_000))
    simulation.restart(A)
    simulation.run(Instant(61_000))

    assert outcomes == []


def test_a_message_may_arrive_and_yet_be_confirmed_too_late() -> None:
    simulation = Simulation(
        wendy, "s", Faults(least_delay=Duration(6_000), most_delay=Duration(6_000)), connections=Connections(TIMEOUT, has_left)
    )
    told: list[tuple[Instant, Any]] = []
    simulation.notified = lambda _, notice: told.append((simulation.now, notice))
    for node in (A, B):
        simulation.start(node, Config(id_of_text(digest(node))))
    simulation.ask(B, Join(A))
    simulation.run(Instant(11_999))

    assert told == [(10_000, JoinFailed(A))]
    assert simulation.steps == 3  # asked, received, not confirmed
