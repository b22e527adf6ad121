"""The arena of the fuzzer: messages for everybody or in order, downloads, disks, and how runs begin."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.reaction import Started
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.conformance.fuzz.simulation import Action, Arena
from peerproof.conformance.fuzz.strategies import values
from peerproof.spec import distkv, wendy
from peerproof.spec.core import Duration, NodeId
from peerproof.spec.distkv import Config, NeedsDownload, Phase, Update
from peerproof.spec.distkv.values import value_of
from peerproof.spec.peter import Subscribe, Unsubscribe

pytestmark = pytest.mark.slow

DISTKV, PETER = inputs_of("distkv"), inputs_of("peter")
A, B, C = (NodeId(f"{name}:1") for name in "abc")
CLOCK = Config().clock
RING = {A: wendy.Config(wendy.Id(0x70 << 120)), B: wendy.Config(wendy.Id(0x90 << 120))}
TOPIC = "p" * 16


def founded() -> Arena:
    """The first node has founded a network, and the others have accepted its ping."""
    configs = {A: Config(start=Duration(CLOCK // 2), root=value_of("root")), B: Config(), C: Config()}
    arena = Arena(DISTKV, Specified(), configs, Counter())
    arena.open(0)
    arena.perform(Action("time", span=CLOCK // 2))
    return arena


def calm(arena: Arena) -> None:
    """All that is under way arrives."""
    while arena.under_way:
        arena.perform(Action("deliver", datagram=arena.under_way[0]))


def state(arena: Arena, addr: NodeId) -> Any:
    """What a node is."""
    (node,) = arena.places[addr].possible
    return node.state


def test_a_message_for_everybody_goes_to_each_node_and_back_to_its_sender() -> None:
    arena = founded()

    updates = [one for one in arena.under_way if isinstance(one.message, Update)]

    assert [(one.sender, one.to) for one in updates] == [(A, A), (A, B), (A, C)]


def test_an_application_fetches_what_it_is_told_to_and_the_node_has_it() -> None:
    arena = founded()
    calm(arena)
    assert arena.errands == [(B, NeedsDownload(A)), (C, NeedsDownload(A))]

    arena.perform(Action("fetch", B, command=NeedsDownload(A)))

    assert arena.errands == [(C, NeedsDownload(A))]
    assert state(arena, B).phase is Phase.READY
    assert arena.alone[-1].what == "call"


@pytest.mark.parametrize(
    "trouble", [Action("cut", groups=(frozenset([A]), frozenset([B, C]))), Action("crash", A)], ids=lambda action: action.what
)
def test_what_is_out_of_reach_cannot_be_fetched(trouble: Action) -> None:
    arena = founded()
    calm(arena)
    arena.perform(trouble)

    arena.perform(Action("fetch", B, command=NeedsDownload(A)))

    assert state(arena, B).phase is Phase.EMPTY
    assert state(arena, B).source is None


def test_who_crashes_fetches_nothing_any_more() -> None:
    arena = founded()
    calm(arena)

    arena.perform(Action("crash", B))
    arena.perform(Action("fetch", B, command=NeedsDownload(A)))

    assert arena.errands == [(C, NeedsDownload(A))]
    assert "fetch" not in arena.counts


@pytest.mark.parametrize(("what", "phase"), [("restart", Phase.OLD), ("forget", Phase.EMPTY)])
def test_a_node_comes_back_with_what_was_on_its_disk_or_without(what: str, phase: Phase) -> None:
    arena = founded()
    arena.perform(Action("crash", A))

    arena.perform(Action(what, A))

    assert state(arena, A).phase is phase
    assert state(arena, A).own_tick == (1 if what == "restart" else 0)


def test_half_of_the_runs_begin_when_all_are_ready() -> None:
    changes = values(distkv.COMMAND.cases["set_value"], DISTKV.named((A,)))
    inputs = replace(DISTKV, commands=lambda _: changes)
    campaign = Campaign(inputs, Specified(), nodes=3, faults=frozenset())

    campaign.search(Profile(20, 5), 0)

    assert campaign.finding is None
    assert campaign.counts["SomebodyLoads"] >= 5


def joined(*, is_in_order: bool) -> Arena:
    """Two nodes that are one ring; the topic's meeting point is the first."""
    arena = Arena(replace(PETER, is_in_order=is_in_order), Specified(), RING, Counter())
    arena.open(0)
    arena.perform(Action("call", B, command=wendy.Join(A)))
    for span in (1, 30_000, 1):
        arena.perform(Action("time", span=span))
        calm(arena)
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
    arena.perform(Action("call", A, command=wendy.Leave()))
    first, second = arena.under_way

    arena.perform(Action("deliver", datagram=second))

    assert arena.under_way == [first]


def test_a_node_does_not_learn_what_became_of_messages_from_before_its_crash() -> None:
    arena = joined(is_in_order=True)
    arena.perform(Action("call", B, command=Subscribe(TOPIC)))
    arena.perform(Action("crash", B))
    arena.perform(Action("restart", B))

    calm(arena)

    assert isinstance(arena.places[B].fed[-1].stimulus, Started)


def test_half_of_the_runs_begin_with_one_ring() -> None:
    inputs = replace(
        PETER, commands=lambda nodes: PETER.commands(nodes).filter(lambda command: not isinstance(command, wendy.Join))
    )
    campaign = Campaign(inputs, Specified(), nodes=3, faults=frozenset())

    campaign.search(Profile(20, 5), 0)

    assert campaign.counts["deliver"] > 20
