"""The fuzzer on Peter: messages between two nodes stay in order, nodes begin as one ring, and mistakes are found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tests.campaigns import against

from peerproof.conformance.fuzz.findings import render_finding
from peerproof.conformance.fuzz.inputs.inputs import inputs_of, protocols
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.search_settings import PROFILES, Profile
from peerproof.conformance.fuzz.simulation import Action, Arena
from peerproof.reference.divergences.peter import PD06, PD13
from peerproof.reference.harness.harness import Harness
from peerproof.spec import peter
from peerproof.spec.core import NodeId
from peerproof.spec.peter import Subscribe, Unsubscribe
from peerproof.spec.wendy import Config, Id, Join, Leave

pytestmark = pytest.mark.slow

INPUTS = inputs_of("peter")
A, B = NodeId("a:1"), NodeId("b:1")
CONFIGS = {A: Config(Id(0x70 << 120)), B: Config(Id(0x90 << 120))}
TOPIC = "p" * 16


def joined(*, is_in_order: bool) -> Arena:
    """Two nodes that are one ring; the topic's meeting point is the first."""
    arena = Arena(replace(INPUTS, is_in_order=is_in_order), Specified(), CONFIGS, Counter())
    arena.open(0)
    arena.perform(Action("call", B, command=Join(A)))
    for span in (1, 30_000, 1):
        arena.perform(Action("time", span=span))
        while arena.under_way:
            arena.perform(Action("deliver", datagram=arena.under_way[0]))
    return arena


@pytest.mark.parametrize("is_in_order", [True, False])
def test_a_message_that_would_overtake_another_waits_if_none_may(is_in_order: bool) -> None:
    arena = joined(is_in_order=is_in_order)
    arena.perform(Action("call", B, command=Subscribe(TOPIC)))
    arena.perform(Action("call", B, command=Unsubscribe(TOPIC)))
    first, second = arena.under_way

    arena.perform(Action("deliver", datagram=second))

    assert arena.under_way == [second if is_in_order else first]


def test_messages_of_other_nodes_are_not_waited_for() -> None:
    arena = joined(is_in_order=True)
    arena.perform(Action("call", B, command=Subscribe(TOPIC)))
    arena.perform(Action("call", A, command=Leave()))
    first, second = arena.under_way

    arena.perform(Action("deliver", datagram=second))

    assert arena.under_way == [first]


def test_half_of_the_runs_begin_with_one_ring() -> None:
    inputs = replace(INPUTS, commands=lambda nodes: INPUTS.commands(nodes).filter(lambda command: not isinstance(command, Join)))
    campaign = Campaign(inputs, Specified(), nodes=3, faults=frozenset())

    campaign.search(Profile(20, 5), 0)

    assert campaign.counts["deliver"] > 20


@pytest.mark.parametrize("protocol", protocols())
def test_of_every_protocol_that_can_be_fuzzed_a_run_can_be_drawn(protocol: str) -> None:
    campaign = Campaign(inputs_of(protocol), Specified(), nodes=3)

    campaign.search(Profile(5, 20), 1)

    assert campaign.finding is None
    assert campaign.counts["run"] >= 5


def test_the_specification_explains_everything_that_the_reference_does() -> None:
    with against("peter", Harness) as campaign:
        campaign.search(PROFILES["quick"], 0)

    assert campaign.finding is None, render_finding(peter, campaign.finding)
    assert campaign.counts["step"] > 300
    assert campaign.counts["deliver"] > 300


@pytest.mark.parametrize("mistake", [PD06, PD13])
def test_a_mistake_that_shows_often_is_found_by_the_quick_profile_in_a_few_events(mistake: type) -> None:
    with against("peter", mistake) as campaign:
        for seed in range(5):
            campaign.search(PROFILES["quick"], seed)
            if campaign.finding:
                break

    assert campaign.finding is not None
    assert campaign.finding.again
    assert len(campaign.finding.story) <= 8
    assert campaign.finding.cited
