"""
How much work a decoder does, in executed lines and allocated bytes: numbers that are the same on a fast and on a slow machine.

Who decodes in time and memory linear in the length of its input stays far below these limits; who goes over the input again for
each of its parts, or believes a size that it reads, does not.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, NamedTuple

LINES: Final = 5_000
LINES_PER_BYTE: Final = 50
MEMORY: Final = 2**18
MEMORY_PER_BYTE: Final = 2_048


class Effort(NamedTuple):
    """What a call took."""

    lines: int  #: of Python, executed
    memory: int  #: bytes, at most at once

    def excess(self, size: int) -> str:
        """What of it is more than an input of this size may take; nothing if all is well."""
        lines, memory = LINES + LINES_PER_BYTE * size, MEMORY + MEMORY_PER_BYTE * size
        if self.lines > lines:
            return f"{size} bytes took more than {lines:,} lines of code"
        if self.memory > memory:
            return f"{size} bytes took {self.memory:,} bytes of memory, more than {memory:,}"
        return ""


class _Exhausted(BaseException):
    """It goes on and on; no ordinary exception, which the code could take for one of its own."""


def effort(call: Callable[[], Any], size: int) -> Effort:
    """What a call takes, whatever it raises; it is ended when it has taken more than an input of this size may."""
    lines, most = 0, LINES + LINES_PER_BYTE * size

    def count(_: FrameType, event: str, __: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        if lines > most:
            raise _Exhausted
        return count

    traced, tracing = sys.gettrace(), tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    sys.settrace(count)
    try:
        call()
    except (_Exhausted, Exception):  # noqa: BLE001  # what it raises is judged elsewhere
        pass
    finally:
        sys.settrace(traced)
        memory = tracemalloc.get_traced_memory()[1] - before
        if not tracing:
            tracemalloc.stop()
    return Effort(lines, memory)
