"""
Escapes text that would control a terminal.

An adapter chooses its name, its values and its errors, and these are printed. They must not move the cursor, hide a line, or
change the reading direction. Escapes are those of JSON strings, so that a report in JSON keeps its content.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

#: Control characters except tab and line feed, Unicode line and paragraph separators, marks of the reading direction, and
#: surrogates, which stand for bytes that are not UTF-8 and which no stream can write.
_STEERING: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str) -> str:
    r"""
    Returns a text with all terminal controls escaped.

    >>> print(escape_controls("a\x1b[2Jb\r\n"), end="")
    a\u001b[2Jb\u000d
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def count_text(number: int, noun: str) -> str:
    """
    Returns a number with its noun, singular or plural.

    >>> count_text(1, "case"), count_text(20747, "vector")
    ('1 case', '20,747 vectors')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class Printable:
    """A text stream that escapes everything it writes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.paint: Callable[[str], str] = str  #: colours a text whose controls are escaped

    def write(self, text: str) -> int:
        """Writes a text with escapes; returns the length of the original text."""
        self.stream.write(self.paint(escape_controls(text)))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Writes each text."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def steerable(stream: TextIO) -> TextIO:
    """Returns the underlying stream, for a progress line that is overwritten."""
    return stream.stream if isinstance(stream, Printable) else stream


@contextmanager
def print_printable() -> Iterator[None]:
    """Escapes standard output and standard error while the block runs."""
    names = ("stdout", "stderr")
    before = {name: getattr(sys, name) for name in names}
    ours = {name: Printable(stream) for name, stream in before.items() if stream is not None}
    for name, stream in ours.items():
        setattr(sys, name, stream)
    try:
        yield
    finally:
        for name, stream in ours.items():
            if getattr(sys, name) is stream:  # keep a stream that was replaced in between
                setattr(sys, name, before[name])
