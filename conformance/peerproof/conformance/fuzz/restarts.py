"""An implementation that ends, or hangs, is started again, but not for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable
from peerproof.conformance.fuzz.findings import Over

#: After so many crashes it is over.
MOST: Final = 200

#: What counts for more than one.
_COST: Final[Mapping[str, int]] = {"hung": 10}


class Restarts:
    """How often one can be started again."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter: Final = adapter
        self._left = MOST

    def count(self, trouble: AdapterError) -> None:
        """It ended, or had to be ended."""
        self._left -= _COST.get(trouble.kind, 1)

    def start(self) -> None:
        """Raises Over if it has been started too often, or cannot be."""
        if self._left <= 0:
            raise Over(f"the implementation had to be started again too often (for {MOST} crashes, or hangs that take as long)")
        try:
            self._adapter.start()
        except AdapterUnavailable as error:
            raise Over(f"the implementation cannot be started again: {error}", unusable=error) from None
