"""Time limits of an implementation."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any, Final

#: The environment variable with the timeout factor, for slow or busy machines.
SLOWNESS: Final = "PEERPROOF_PATIENCE"


def _seconds(usually: float) -> Any:
    """Returns a default as a field. Raises ValueError if the environment variable is not a number."""

    def seconds() -> float:
        factor = os.environ.get(SLOWNESS, "1")
        try:
            times = float(factor)
        except ValueError:
            times = 0
        if not 0 < times < math.inf:
            raise ValueError(f"{SLOWNESS} must be a number above 0, such as 5, not {factor!r}")
        return usually * times

    return field(default_factory=seconds)


@dataclass(frozen=True)
class Timeouts:
    """The seconds that an implementation may take; 0: no limit. Raises ValueError if the factor of a default is invalid."""

    hello: float = _seconds(10)
    op: float = _seconds(2)
    bye: float = _seconds(1)
