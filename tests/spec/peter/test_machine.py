"""Any order of events: one node among hostile peers, and five over a network that loses, delays and is cut."""

from __future__ import annotations

from typing import Any

import pytest
from tests.campaigns import searched

from peerproof.conformance.fuzz.findings import render_finding
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.spec import peter
from peerproof.spec.core import Notify, Step
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.peter import PROPERTIES, Update, tree
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.wendy import Id

#: What pytest was told: quick, ci or soak.


@pytest.mark.slow
def test_one_node_among_hostile_peers_keeps_every_property() -> None:
    campaign = searched("peter", 1)

    assert campaign.finding is None, render_finding(peter, campaign.finding)
    assert [what for what in ("malformed", "forged", "call", "crash", "restart") if not campaign.counts[what]] == []


@pytest.mark.slow
def test_five_nodes_over_any_network_keep_every_property_and_everything_does_happen() -> None:
    names = [p.name for p in PROPERTIES if p.when == "sometimes"]

    campaign = searched("peter", 5, seeds=30, enough=lambda campaign: all(campaign.counts[name] for name in names))

    assert campaign.finding is None, render_finding(peter, campaign.finding)
    assert [name for name in names if not campaign.counts[name]] == []


def twice(state: State, topic: Id, row: Row, seek: Any) -> Any:
    """Who becomes interested asks twice (PA-04)."""
    after, effects = TURNED(state, topic, row, seek)
    return Step(after, effects * 2)


def for_good(state: State, topic: Id, row: Row, seek: Any) -> Any:
    """What nobody wants any more is kept (PA-04)."""
    after, effects = TURNED(state, topic, row, seek)
    return Step(after if row.is_wanted else State(after.self_id, after.config, after.topics.put({topic: row})), effects)


def everybody(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Any:
    """Who is in the tree gets the event, subscribed or not (PA-17)."""
    after, effects = SPREAD(state, topic, value, hop, source)
    return Step(after, (Notify(Update(topic, value)), *[e for e in effects if not isinstance(e, Notify)]))


TURNED, SPREAD = tree.update_row, tree.fan_out

#: id: (name, what it is replaced by, the property that must find it)
MISTAKES: dict[str, tuple[str, Any, str]] = {
    "asks twice": ("update_row", twice, "Alternate"),
    "what nobody wants is kept": ("update_row", for_good, "RowsRight"),
    "everybody in a tree gets the event": ("fan_out", everybody, "DeliveredToSubscribers"),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_step_is_found(mistake: str) -> None:
    name, wrong, found = MISTAKES[mistake]

    with overriding(names_in(tree, **{name: wrong})):
        campaign = searched("peter", 4, Profile(60, 30), seeds=10)

    assert campaign.finding is not None
    assert campaign.finding.name == found
