"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds that a machine under load may take for what takes far less.
PATIENCE = 300.0


def is_soon(fact: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether something becomes true before the time is over."""
    until = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def until(fact: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Waits until something is so. Fails if it takes too long."""
    deadline = time.monotonic() + patience
    while not fact():
        assert time.monotonic() < deadline, f"not {what} in {patience} s"
        time.sleep(0.05)
