"""The time left of work of several kinds, some of which take much longer than others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from peerproof.cli.ticker import duration_text


class TimeLeft:
    """
    Estimates the time left from the mean time of each kind of work, as measured so far.

    Work of several units may end at once, after a wait for all of them; so the wait for a unit counts after that unit.
    """

    def __init__(self, kinds: Iterable[str]) -> None:
        self._left = Counter(kinds)
        self._finished = Counter[str]()
        self._seconds = dict[str, float]()
        self._wait: tuple[str, float] | None = None
        self._last = time.monotonic()

    def skip(self, kind: str) -> None:
        """Counts a unit that took no time."""
        self._left[kind] -= 1

    def finish(self, kind: str) -> None:
        """Counts a unit that has ended now."""
        now = time.monotonic()
        if self._wait:
            before, seconds = self._wait
            self._finished[before] += 1
            self._seconds[before] = self._seconds.get(before, 0.0) + seconds
        self._wait = kind, now - self._last
        self._last = now
        self._left[kind] -= 1

    def text(self) -> str:
        """Returns the estimate; a lower bound while a kind has not been measured, and nothing if none of the rest has."""
        left = +self._left
        measured = [kind for kind in left if self._finished[kind]]
        if not measured:
            return ""
        seconds = sum(left[kind] * self._seconds[kind] / self._finished[kind] for kind in measured)
        return f"{'' if len(measured) == len(left) else 'at least '}{duration_text(seconds)} left"
