"""Any order of events: one node among hostile peers, and some over a network that loses, doubles, delays and is cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.campaigns import CHOSEN, searched
from tests.support import wrong_steps

from peerproof.conformance.fuzz.findings import HAPPENINGS, render_finding
from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.spec.distkv import election, transitions
from peerproof.spec.distkv import entries as stored_entries
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.peter import tree
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt import transitions as gossiping
from peerproof.spec.swim import detector, gossip, rounds
from peerproof.spec.swim import transitions as membership


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "times"), [("scuttlebutt", 1), ("swim", 2), ("peter", 1), ("distkv", 1)])
def test_one_node_among_hostile_peers_keeps_every_property(protocol: str, times: int) -> None:
    campaign = searched(protocol, 1, CHOSEN._replace(runs=times * CHOSEN.runs))

    assert campaign.finding is None, render_finding(inputs_of(protocol).spec, campaign.finding)
    assert [what for what in ("malformed", "forged", "call", "crash", "restart") if not campaign.counts[what]] == []


#: How many nodes, what cannot happen to them, what happens besides, and a seed with which nearly all happens at once.
#: Scuttlebutt's nodes are in `test_node_search.py`.
SEVERAL: dict[str, tuple[int, set[str], set[str], int]] = {
    "swim": (4, {"unconfirmed"}, set(), 8),
    "peter": (5, {name for name, _ in HAPPENINGS}, set(), 0),
    "distkv": (5, {"unconfirmed"}, {"fetch"}, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", SEVERAL)
def test_several_nodes_over_any_network_keep_every_property_and_everything_does_happen(protocol: str) -> None:
    nodes, impossible, more, first = SEVERAL[protocol]
    specification = PROTOCOLS[protocol].specification.load()
    names = more | ({name for name, _ in HAPPENINGS} - impossible)
    names |= {p.name for p in specification.PROPERTIES if p.when == "sometimes"}

    campaign = searched(protocol, nodes, seeds=30, enough=lambda c: all(c.counts[name] for name in names), first=first)

    assert campaign.finding is None, render_finding(specification, campaign.finding)
    assert [name for name in names if not campaign.counts[name]] == []


#: Protocol, where, name, what it is replaced by, the property that must find it. Three more are in `test_node_search.py`.
MISTAKES: list[tuple[str, Any, str, Any, str]] = [
    ("scuttlebutt", gossiping, "merge", wrong_steps.careless, "(Monotone|VersionIsMax)"),
    ("swim", gossip, "enqueue", wrong_steps.every_event, "QueueLast"),
    ("swim", gossip, "merge", wrong_steps.any_news, "Monotone"),
    ("swim", rounds, "close_round", wrong_steps.blaming, "IsolationQuiet"),
    ("swim", membership, "is_past", wrong_steps.never_past, "PastIgnored"),
    ("swim", gossip, "count_datagram", wrong_steps.uncounted, "CounterGrows"),
    ("swim", detector, "settle_row", wrong_steps.undead, "DeadOnlyAfterSuspicious"),
    ("peter", tree, "update_row", wrong_steps.twice, "Alternate"),
    ("peter", tree, "update_row", wrong_steps.for_good, "RowsRight"),
    ("peter", tree, "fan_out", wrong_steps.everybody, "DeliveredToSubscribers"),
    ("distkv", stored_entries, "apply", wrong_steps.unbounded, "ChainsBounded"),
    ("distkv", election, "originate", wrong_steps.unraised, "TockRises"),
    ("distkv", transitions, "check_settled", wrong_steps.always_ready, "ReadyWithData"),
    ("distkv", election, "zero_may_ping", wrong_steps.zeros_may_ping, "ZeroIsSilent"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "module", "name", "wrong", "found"), MISTAKES, ids=[f"{row[0]} {row[3].__name__}" for row in MISTAKES]
)
def test_a_wrong_step_is_found(protocol: str, module: Any, name: str, wrong: Any, found: str) -> None:
    with overriding(names_in(module, **{name: wrong})):
        campaign = searched(protocol, 4, Profile(100, 60), seeds=10)

    assert campaign.finding is not None
    assert campaign.finding.name in found.strip("()").split("|")


@pytest.mark.slow
def test_a_swim_node_that_forgets_its_counter_is_behind_what_others_know() -> None:
    """OwnAhead is promised for nodes that keep it only (SX-09)."""
    inputs = replace(inputs_of("swim"), survives={"OwnAhead": frozenset({"restart", "forgetting"})})
    campaign = Campaign(inputs, Specified(), nodes=2, faults=frozenset({"crash", "forgetting"}))

    for seed in range(10):
        campaign.search(Profile(100, 40), seed)
        if campaign.finding:
            break

    assert campaign.finding is not None
    assert campaign.finding.name == "OwnAhead"
