"""
The settings and results of a search, the same for nodes and for decoders.

The profile `quick` takes less than half a minute on one slow core, for every protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

#: Maximum number of nodes of one run.
MOST_NODES: Final = 5


class Profile(NamedTuple):
    """The effort of a search."""

    runs: int
    steps: int  #: maximum per run


PROFILES: Final[Mapping[str, Profile]] = {
    "quick": Profile(runs=80, steps=40),
    "ci": Profile(runs=500, steps=50),
    "soak": Profile(runs=20_000, steps=100),
}

#: Number of times that an implementation is started again after a crash; a hang counts as `HANG` crashes.
MOST_RESTARTS: Final = 200
HANG: Final = 10

#: The number of inputs of a decoder by profile.
INPUTS: Final[Mapping[str, int]] = {"quick": 20_000, "ci": 500_000, "soak": 20_000_000}


@dataclass(frozen=True)
class FuzzSettings:
    """
    The effort of a search; equal settings give equal results.

    >>> FuzzSettings(seconds=60).profile
    'quick'
    """

    profile: str = "quick"  #: one of `PROFILES`: number of runs and of steps of each, or number of inputs
    seed: int = 0  #: random seed
    seconds: float | None = None  #: continue with further runs for this many seconds
    nodes: int = MOST_NODES  #: maximum per run
    restarts: int = MOST_RESTARTS  #: after so many crashes the search ends


class FuzzVerdict(Enum):
    """The result of a search."""

    NOTHING_FOUND = "nothing found"
    FOUND = "found"
    UNUSABLE = "unusable"  #: the implementation, or the corpus, could no longer be used


class NoInputs(Exception):
    """There are no inputs for a protocol of this name; the message lists the protocols that can be fuzzed."""


class CannotFuzz(Exception):
    """The implementation lacks something that fuzzing needs; the message says what."""
