"""The fuzzer on Peter: messages between two nodes stay in order, and nodes begin as one ring."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.conformance.fuzz.simulation import Action, Arena
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
