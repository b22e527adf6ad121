"""Python's collector of cycles, held back where many objects are made and none of them is a cycle."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collector"]


@contextmanager
def no_collector() -> Iterator[None]:
    """No collection of cycles while the block runs: in a process with many objects it would walk through all of them in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
