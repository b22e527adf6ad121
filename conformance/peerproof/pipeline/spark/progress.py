"""A progress line on standard error, with the remaining time."""

from __future__ import annotations

import sys
import time
from typing import Final, TextIO

from peerproof.conformance.suite.printable import steerable

#: Seconds between two lines if standard error is not a terminal.
SELDOM: Final = 10.0


class Progress:
    """
    A line that is overwritten on a terminal; otherwise a new line every ten seconds.

    The remaining time is estimated from the pace of this process, without the units of earlier runs.
    """

    def __init__(self, name: str, stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._name: Final = name
        self._stream: Final = sys.stderr if stream is None else stream
        self._quiet: Final = quiet
        self._overwrites: Final = self._stream.isatty()
        self._begun = time.monotonic()
        self._first: float | None = None
        self._next = self._begun + SELDOM

    def __call__(self, done: int, total: int, share: float) -> None:
        """Shows that `done` of `total` units are finished, which are `share` of the work, from 0 to 1."""
        now = time.monotonic()
        if self._first is None:
            self._first, self._begun = share, now
        if self._quiet or not (self._overwrites or now >= self._next):
            return
        self._next = now + SELDOM
        gained = share - self._first
        left = f", {duration((now - self._begun) * (1 - share) / gained)} left" if gained > 0 and share < 1 else ""
        text = f"{self._name}: {done:,} of {total:,} units, {share:.0%}{left}"
        print(f"\r\x1b[2K{text}" if self._overwrites else f"{text}\n", end="", file=steerable(self._stream), flush=True)

    def clear(self) -> None:
        """Clears the line, before other output."""
        if self._overwrites and not self._quiet:
            print("\r\x1b[2K", end="", file=steerable(self._stream), flush=True)


def duration(seconds: float) -> str:
    """Renders a duration in seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
