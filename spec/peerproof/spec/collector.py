"""Pausing Python's cyclic garbage collector where many objects are made and none of them is part of a cycle."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collector"]


@contextmanager
def no_collector() -> Iterator[None]:
    """Pauses the cyclic garbage collector while the block runs: with many live objects each collection scans all in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
