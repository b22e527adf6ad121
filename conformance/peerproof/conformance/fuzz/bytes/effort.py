"""
Measures the work of a decoder in executed lines and allocated bytes, which do not depend on the speed of the machine.

A decoder that is linear in time and memory in the length of its input stays far below these limits. One that reads the input
again for each of its parts, or trusts a size that it reads, exceeds them.
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
    """The effort of a call."""

    lines: int  #: number of executed lines of Python
    memory: int  #: peak in bytes

    def excess(self, size: int) -> str:
        """Describes how the effort exceeds the limit for an input of this size; an empty text if it does not."""
        lines, memory = LINES + LINES_PER_BYTE * size, MEMORY + MEMORY_PER_BYTE * size
        if self.lines > lines:
            return f"{size} bytes took more than {lines:,} lines of code"
        if self.memory > memory:
            return f"{size} bytes took {self.memory:,} bytes of memory, more than {memory:,}"
        return ""


class _Exhausted(BaseException):
    """The call exceeds the limit; not an Exception, so that the called code does not catch it."""


def effort(call: Callable[[], Any], size: int) -> Effort:
    """Measures a call, whatever it raises; ends it when it exceeds the limit for an input of this size."""
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
    except (_Exhausted, Exception):  # noqa: BLE001  # its exceptions are checked elsewhere
        pass
    finally:
        sys.settrace(traced)
        memory = tracemalloc.get_traced_memory()[1] - before
        if not tracing:
            tracemalloc.stop()
    return Effort(lines, memory)
