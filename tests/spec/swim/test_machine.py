"""Any order of events: one node among hostile peers, and four over a network that loses, doubles, delays and is cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.campaigns import CHOSEN, searched

from peerproof.conformance.fuzz.findings import HAPPENINGS, render_finding
from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.spec import swim
from peerproof.spec.core import Pick
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.swim import PROPERTIES, Message, Row, State, Uuid, detector, gossip, rounds, transitions
from peerproof.spec.swim.messages import ClusterEventVector
from peerproof.spec.swim.state import Queued
from peerproof.spec.swim.table import Claim

#: What pytest was told: quick, ci or soak.


def test_one_node_among_hostile_peers_keeps_every_property() -> None:
    campaign = searched("swim", 1, CHOSEN._replace(runs=2 * CHOSEN.runs))

    assert campaign.finding is None, render_finding(swim, campaign.finding)
    assert [what for what in ("malformed", "forged", "call", "crash", "restart") if not campaign.counts[what]] == []


@pytest.mark.slow
def test_four_nodes_over_any_network_keep_every_property_and_everything_does_happen() -> None:
    happenings = [name for name, _ in HAPPENINGS if name != "unconfirmed"]  # it has no connections
    names = happenings + [p.name for p in PROPERTIES if p.when == "sometimes"]

    campaign = searched("swim", 4, seeds=30, enough=lambda campaign: all(campaign.counts[name] for name in names))

    assert campaign.finding is None, render_finding(swim, campaign.finding)
    assert [name for name in names if not campaign.counts[name]] == []


def every_event(state: State, said: ClusterEventVector) -> State:
    """Keeps older events about the same node (SD-08)."""
    return replace(state, queue=(*state.queue, Queued(said, frozenset())))


def any_news(row: Row, claim: Claim) -> Row:
    """Whatever comes last is believed."""
    return replace(row, status=claim.status, incarnation=claim.incarnation)


def blaming(state: State, pick: Pick) -> Any:
    """Never looks for the fault in itself (SD-12)."""
    return CLOSED(replace(state, heard=True), pick)


def never_past(state: State, message: Message) -> bool:
    """Believes messages from the past."""
    return False


def uncounted(state: State) -> State:
    """Sends without counting."""
    return state


def undead(state: State, node: Uuid, row: Row) -> State:
    """Dead after one indirect miss."""
    return SETTLED(state, node, replace(row, indirect_misses=1) if row.indirect_asked else row)


CLOSED, SETTLED = detector.close_round, detector.settle_row

#: id: (where, name, what it is replaced by, the property that must find it)
MISTAKES: dict[str, tuple[Any, str, Any, str]] = {
    "five events of a node are five entries": (gossip, "enqueue", every_event, "QueueLast"),
    "everything is believed": (gossip, "merge", any_news, "Monotone"),
    "nobody is isolated": (rounds, "close_round", blaming, "IsolationQuiet"),
    "the past is believed": (transitions, "is_past", never_past, "PastIgnored"),
    "datagrams are not counted": (gossip, "count_datagram", uncounted, "CounterGrows"),
    "one indirect miss is death": (detector, "settle_row", undead, "DeadOnlyAfterSuspicious"),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_step_is_found(mistake: str) -> None:
    module, name, wrong, found = MISTAKES[mistake]

    with overriding(names_in(module, **{name: wrong})):
        campaign = searched("swim", 4, Profile(100, 60), seeds=10)

    assert campaign.finding is not None
    assert campaign.finding.name == found


def test_a_node_that_forgets_its_counter_is_behind_what_others_know() -> None:
    """OwnAhead is promised for nodes that keep it only (SX-09)."""
    inputs = replace(inputs_of("swim"), survives={"OwnAhead": frozenset({"restart", "forgetting"})})
    campaign = Campaign(inputs, Specified(), nodes=2, faults=frozenset({"crash", "forgetting"}))

    for seed in range(10):
        campaign.search(Profile(100, 40), seed)
        if campaign.finding:
            break

    assert campaign.finding is not None
    assert campaign.finding.name == "OwnAhead"
