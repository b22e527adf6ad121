"""
What all tests share.

Hypothesis has three profiles: `quick` (the default) and `ci` always try the same examples, so that a test that passed passes
again; `soak` draws new ones each time and prints what reproduces a failure. Choose with `pytest --hypothesis-profile soak`. They
are as long as those of `peerproof fuzz`.
"""

from __future__ import annotations

import signal
from collections.abc import Collection

import pytest
from hypothesis import HealthCheck, settings

from peerproof.conformance.fuzz.search_settings import PROFILES
from peerproof.spec.core import Option, Pick

_QUICK, _CI, _SOAK = (PROFILES[name] for name in ("quick", "ci", "soak"))
settings.register_profile(
    "quick", max_examples=_QUICK.runs, stateful_step_count=_QUICK.steps, derandomize=True, deadline=None, database=None
)
settings.register_profile("ci", settings.get_profile("quick"), max_examples=_CI.runs, stateful_step_count=_CI.steps)
settings.register_profile(
    "soak",
    max_examples=_SOAK.runs,
    stateful_step_count=_SOAK.steps,
    derandomize=False,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; what tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def first() -> Pick:
    """A choice function that always takes the first options, in their order."""

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        return tuple(sorted(among)[:some])

    return pick
