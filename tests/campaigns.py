"""Campaigns of the fuzzer, as tests run them: each as long as the profile of Hypothesis says."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import settings

from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.search_settings import Profile

CHOSEN = Profile(settings.default.max_examples, settings.default.stateful_step_count)  # type: ignore[union-attr]  # there is one


def searched(
    protocol: str,
    nodes: int,
    profile: Profile = CHOSEN,
    seeds: int = 1,
    enough: Callable[[Campaign], bool] | None = None,
    first: int = 0,
) -> Campaign:
    """A campaign of the specification itself over some seeds from the first on, until something is found or it is enough."""
    campaign = Campaign(inputs_of(protocol), Specified(), nodes=nodes)
    for seed in range(first, first + seeds):
        campaign.search(profile, seed)
        if campaign.finding or (enough and enough(campaign)):
            break
    return campaign
