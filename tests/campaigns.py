"""Campaigns of the fuzzer, as tests run them: each as long as the profile of Hypothesis says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hypothesis import settings

from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.fuzz.implementation_players import Implementation
from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.conformance.suite.timeouts import Timeouts

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


@contextmanager
def against(protocol: str, implementation: type, nodes: int = 4) -> Iterator[Campaign]:
    """A campaign against a class, which is left alone at the end."""
    adapter = InProcess(f"{implementation.__module__}:{implementation.__name__}", Timeouts(), "")
    inputs = inputs_of(protocol)
    try:
        yield Campaign(inputs, Implementation(protocol, inputs, adapter, adapter.start()), nodes=nodes)
    finally:
        adapter.kill()
