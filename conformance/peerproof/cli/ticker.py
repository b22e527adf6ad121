"""A line on a terminal that is written over as work goes on; elsewhere nothing."""

from __future__ import annotations

import sys
import time
from typing import Final

#: Seconds between two of them.
SECONDS: Final = 0.2


class Ticker:
    """The line on standard error."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._next = 0.0

    def __call__(self, text: str) -> None:
        """Show this, if it is time for it."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + SECONDS
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for a line that stays."""
        if self._shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
