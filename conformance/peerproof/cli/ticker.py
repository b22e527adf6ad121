"""A line on a terminal that is written over as work goes on; elsewhere nothing."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final, Self

from peerproof.conformance.suite.printable import escape_controls, steerable

if TYPE_CHECKING:
    from peerproof.tla.output.outcome import Progress

#: Seconds between two of them.
SECONDS: Final = 0.2


class Ticker:
    """The line on standard error. As a context, it makes room in the end for a line that stays."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._next = 0.0

    def __call__(self, text: str) -> None:
        """Show this, if it is time for it."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS
            print(f"\r\x1b[2K{escape_controls(text)}", end="", file=steerable(sys.stderr), flush=True)

    def clear(self) -> None:
        """Make room for a line that stays."""
        if self._shown:
            print("\r\x1b[2K", end="", file=steerable(sys.stderr), flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


class ModelTicker(Ticker):
    """How far the check of a model is."""

    def __init__(self, name: str, width: int) -> None:
        super().__init__()
        self.name = f"{name:{width}}"
        self(f"{self.name}  ...")

    def show_tlc(self, progress: Progress) -> None:
        """What TLC has done so far."""
        self(
            f"{self.name}  {progress.generated:,} generated, {progress.distinct:,} distinct, {progress.queue:,} on the queue, "
            f"depth {progress.depth}, {progress.per_minute // 60:,} a second"
        )

    def show_exploration(self, states: int, waiting: int, depth: int) -> None:
        """What the explorer has done so far."""
        self(f"{self.name}  explored {states:,} states, {waiting:,} waiting, depth {depth}")
