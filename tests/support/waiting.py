"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def is_soon(fact: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether something becomes true before the time is over."""
    until = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True
