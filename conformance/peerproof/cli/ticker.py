"""Progress of long work: a line that is overwritten on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Self

from peerproof.cli.console import shows_progress
from peerproof.conformance.suite.printable import escape_controls, steerable

if TYPE_CHECKING:
    from peerproof.tla.output.outcome import Progress

SECONDS: Final = 0.2  #: between two lines on a terminal
LOG_SECONDS: Final = 10.0  #: between two lines elsewhere
_SETTLED: Final = 2.0  #: seconds before a rate is shown


class Ticker:
    """The progress line on standard error. As a context manager, it removes the line at the end."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._begin = time.monotonic()
        self._next = self._begin if self._on_terminal else self._begin + LOG_SECONDS

    def __call__(
        self, text: str, done: int | None = None, total: int | None = None, unit: str = "", left: str | None = None
    ) -> None:
        """
        Shows progress, if it is time to: `done` of `total` units, their rate, the time left, and a text.

        If units do not take alike, pass the time `left`, or "" if it is unknown; then there is no rate.
        """
        now = time.monotonic()
        if now < self._next or not shows_progress():
            return
        before = "" if done is None else _progress_text(done, total, unit, now - self._begin, left)
        line = escape_controls(before + text)
        if self._on_terminal:
            self._next = now + SECONDS
            print(f"\r\x1b[2K{line}", end="", file=steerable(sys.stderr), flush=True)
        else:
            self._next = now + LOG_SECONDS
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Removes the progress line."""
        if self._on_terminal and shows_progress():
            print("\r\x1b[2K", end="", file=steerable(sys.stderr), flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


def _progress_text(done: int, total: int | None, unit: str, seconds: float, left: str | None = None) -> str:
    """
    Returns the text before a label.

    >>> _progress_text(500, 2000, "cases", 10.0)
    '500 of 2,000 cases, 50/s, 30 s left: '
    >>> _progress_text(500, 2000, "cases", 10.0, "at least 30 s left")
    '500 of 2,000 cases, at least 30 s left: '
    """
    of = f" of {total:,}" if total else ""
    shown = f"{done:,}{of} {unit}".rstrip()
    if seconds < _SETTLED or not done:
        return f"{shown}: "
    if left is not None:
        return f"{shown}, {left}: " if left else f"{shown}: "
    rate = done / seconds
    rate_text = f"{rate:,.0f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
    until = f", {duration_text((total - done) / rate)} left" if total and total >= done else ""
    return f"{shown}, {rate_text}{until}: "


def duration_text(seconds: float) -> str:
    """
    Returns a duration as text.

    >>> [duration_text(seconds) for seconds in (5.2, 200, 9000)]
    ['5 s', '3 min', '2 h 30 min']
    """
    if seconds < 90:  # noqa: PLR2004  # a minute and a half
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004  # an hour


class ModelTicker(Ticker):
    """The progress of checking a model."""

    def __init__(self, name: str, width: int) -> None:
        super().__init__()
        self.name = f"{name:{width}}"
        self(f"{self.name}  ...")

    def show_tlc(self, progress: Progress) -> None:
        """Shows TLC's progress."""
        self(
            f"{self.name}  {progress.generated:,} generated, {progress.distinct:,} distinct, {progress.queue:,} on the queue, "
            f"depth {progress.depth}, {progress.per_minute // 60:,} a second"
        )

    def show_exploration(self, states: int, waiting: int, depth: int) -> None:
        """Shows the explorer's progress."""
        self(f"{self.name}  explored {states:,} states, {waiting:,} waiting, depth {depth}")
