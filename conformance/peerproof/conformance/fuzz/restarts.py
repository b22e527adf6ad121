"""Limits how often an implementation that exits or hangs is started again."""

from __future__ import annotations

from typing import Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable
from peerproof.conformance.fuzz.findings import OutOfRestarts, Over
from peerproof.conformance.fuzz.search_settings import HANG, MOST_RESTARTS


class Restarts:
    """Starts an implementation again, a limited number of times."""

    def __init__(self, adapter: Adapter, most: int = MOST_RESTARTS) -> None:
        self._adapter: Final = adapter
        self._most: Final = most
        self._left = most

    def count(self, trouble: AdapterError) -> None:
        """Counts a failure of the implementation."""
        self._left -= HANG if trouble.kind == "hung" else 1

    def start(self) -> None:
        """Starts the implementation. Raises OutOfRestarts if it failed too often, and Over if it cannot be started."""
        if self._left <= 0:
            raise OutOfRestarts(f"the implementation was started again {self._most:,} times (a hang counts as {HANG})")
        try:
            self._adapter.start()
        except AdapterUnavailable as error:
            raise Over(f"the implementation cannot be started again: {error}", unusable=error) from None
