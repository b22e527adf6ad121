"""
What a search is asked for, and how it can end: the same for nodes and for decoders.

How long a run is: the same numbers for the tests and for `peerproof fuzz`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

#: Nodes of one run, at most.
MOST_NODES: Final = 5


class Profile(NamedTuple):
    """How much is tried."""

    runs: int
    steps: int  #: of each run, at most


PROFILES: Final[Mapping[str, Profile]] = {
    "quick": Profile(runs=60, steps=25),
    "ci": Profile(runs=500, steps=50),
    "soak": Profile(runs=20_000, steps=100),
}

#: The same for inputs of a decoder.
INPUTS: Final[Mapping[str, int]] = {"quick": 20_000, "ci": 500_000, "soak": 20_000_000}


@dataclass(frozen=True)
class FuzzSettings:
    """
    How much is tried; the same settings find the same.

    >>> FuzzSettings(seconds=60).profile
    'quick'
    """

    profile: str = "quick"  #: one of `PROFILES`: how many runs, and steps of each; or how many inputs
    seed: int = 0  #: random seed
    seconds: float | None = None  #: go on with further runs until so many seconds are over
    nodes: int = MOST_NODES  #: of one run, at most


class FuzzVerdict(Enum):
    """How a search ended."""

    NOTHING_FOUND = "nothing found"
    FOUND = "found"
    UNUSABLE = "unusable"  #: the implementation, or the corpus, could no longer be used


class NoInputs(Exception):
    """There is nothing to draw from for a protocol of this name; the message says for which there is."""


class CannotFuzz(Exception):
    """The implementation lacks what fuzzing needs; the message says what."""
