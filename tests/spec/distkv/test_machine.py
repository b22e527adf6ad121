"""Any order of events: one node among hostile peers, and five over a network that loses, doubles, delays and is cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.campaigns import searched

from peerproof.conformance.fuzz.findings import HAPPENINGS, render_finding
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.spec import distkv
from peerproof.spec.core import Step
from peerproof.spec.distkv import PROPERTIES, Phase, State, election, entries, transitions
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Applied
from peerproof.spec.overrides import names_in, overriding

#: What pytest was told: quick, ci or soak.


@pytest.mark.slow
def test_one_node_among_hostile_peers_keeps_every_property() -> None:
    campaign = searched("distkv", 1)

    assert campaign.finding is None, render_finding(distkv, campaign.finding)
    assert [what for what in ("malformed", "forged", "call", "crash", "restart") if not campaign.counts[what]] == []


@pytest.mark.slow
def test_five_nodes_over_any_network_keep_every_property_and_everything_does_happen() -> None:
    happenings = [name for name, _ in HAPPENINGS if name != "unconfirmed"]  # it has no connections
    names = [*happenings, "fetch", *(p.name for p in PROPERTIES if p.when == "sometimes")]

    campaign = searched("distkv", 5, seeds=30, enough=lambda campaign: all(campaign.counts[name] for name in names))

    assert campaign.finding is None, render_finding(distkv, campaign.finding)
    assert [name for name in names if not campaign.counts[name]] == []


def unbounded(entry: Any, update: Any, most: int) -> Applied:  # as of `apply`
    """Stored chains have no bound (DD-07)."""
    return APPLY(entry, update, 99)


def unraised(state: State, make: Any) -> Any:
    """Messages have the tock that the last one had."""
    message, (_, effects) = ORIGINATE(replace(state, tock=max(state.tock - 1, 0)), make)
    return message, Step(state, effects)


def always_ready(state: State) -> Any:
    """Who has downloaded is ready, whatever is missing (D-124)."""
    return Step(replace(state, phase=Phase.READY)) if state.phase is Phase.EMPTY else Step(state)


def zeros_may_ping(chain: Chain) -> bool:
    """The tick zero keeps nobody from pinging (D-107)."""
    return len(chain.elements) > 0


APPLY = entries.apply
ORIGINATE = election.originate  # type: ignore[attr-defined]  # it has imported it

#: id: (where, name, what it is replaced by, the property that must find it)
MISTAKES: dict[str, tuple[Any, str, Any, str]] = {
    "chains without bounds": (entries, "apply", unbounded, "ChainsBounded"),
    "a tock for two messages": (election, "originate", unraised, "TockRises"),
    "ready without data": (transitions, "check_settled", always_ready, "ReadyWithData"),
    "pings with the tick zero": (election, "zero_may_ping", zeros_may_ping, "ZeroIsSilent"),
}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_step_is_found(mistake: str) -> None:
    module, name, wrong, found = MISTAKES[mistake]

    with overriding(names_in(module, **{name: wrong})):
        campaign = searched("distkv", 4, Profile(60, 40), seeds=10)

    assert campaign.finding is not None
    assert campaign.finding.name == found
