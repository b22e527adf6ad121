"""How long an implementation may take before it is held to be stuck."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any, Final

#: The variable of the environment that says how many times as long everything may take on a slow or busy machine.
SLOWNESS: Final = "PEERPROOF_PATIENCE"


def _seconds(usually: float) -> Any:
    """A default. Raises ValueError if the environment does not say a number."""

    def seconds() -> float:
        said = os.environ.get(SLOWNESS, "1")
        try:
            times = float(said)
        except ValueError:
            times = 0
        if not 0 < times < math.inf:
            raise ValueError(f"{SLOWNESS} must be a number above 0, such as 5, not {said!r}")
        return usually * times

    return field(default_factory=seconds)


@dataclass(frozen=True)
class Timeouts:
    """How many seconds an implementation may take; 0 is for ever. Made without all three, it raises ValueError as said above."""

    hello: float = _seconds(10)
    op: float = _seconds(2)
    bye: float = _seconds(1)
