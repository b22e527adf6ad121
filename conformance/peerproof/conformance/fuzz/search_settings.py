"""What a search is asked for, and how it can end: the same for nodes and for decoders."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

#: Nodes of one run, at most.
MOST_NODES: Final = 5


@dataclass(frozen=True)
class FuzzSettings:
    """
    How much is tried; the same settings find the same.

    >>> FuzzSettings(seconds=60).profile
    'quick'
    """

    profile: str = "quick"  #: one of `profiles.PROFILES`: how many runs, and steps of each; or how many inputs
    seed: int = 0  #: random seed
    seconds: float | None = None  #: go on with further runs until so many seconds are over
    nodes: int = MOST_NODES  #: of one run, at most


class FuzzVerdict(Enum):
    """How a search ended."""

    NOTHING_FOUND = "nothing found"
    FOUND = "found"
    UNUSABLE = "unusable"  #: the implementation, or the corpus, could no longer be used


class CannotFuzz(Exception):
    """The implementation lacks what fuzzing needs; the message says what."""
