"""Limits how often an implementation that exits or hangs is started again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable
from peerproof.conformance.fuzz.findings import Over

#: Number of crashes that end the search.
MOST: Final = 200

#: Cost of failures that count more than one crash.
_COST: Final[Mapping[str, int]] = {"hung": 10}


class Restarts:
    """Starts an implementation again, a limited number of times."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter: Final = adapter
        self._left = MOST

    def count(self, trouble: AdapterError) -> None:
        """Counts a failure of the implementation."""
        self._left -= _COST.get(trouble.kind, 1)

    def start(self) -> None:
        """Starts the implementation. Raises Over if it failed too often, or cannot be started."""
        if self._left <= 0:
            raise Over(f"the implementation was started again too often (after {MOST} crashes, or hangs that take as long)")
        try:
            self._adapter.start()
        except AdapterUnavailable as error:
            raise Over(f"the implementation cannot be started again: {error}", unusable=error) from None
