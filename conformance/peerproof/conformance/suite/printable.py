"""
Texts that a terminal only shows: what would steer it is written as escapes.

An adapter names itself, and its values and errors are printed; none of that may move the cursor, hide a line, or turn the
reading direction. An escape is that of JSON strings, so that a report as JSON stays what it says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO

#: Control characters but tab and line feed, lines and paragraphs of Unicode, and what turns the direction of reading.
_STEERING: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def escape_controls(text: str) -> str:
    r"""
    Returns a text in which nothing steers a terminal.

    >>> print(escape_controls("a\x1b[2Jb\r\n"), end="")
    a\u001b[2Jb\u000d
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def count_text(number: int, noun: str) -> str:
    """
    Returns a number of things in words.

    >>> count_text(1, "case"), count_text(20747, "vector")
    ('1 case', '20,747 vectors')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class Printable:
    """A stream of text that writes everything so."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.paint: Callable[[str], str] = str  #: what colours a text that has its escapes

    def write(self, text: str) -> int:
        """Writes a text with escapes; its length is that of the text."""
        self.stream.write(self.paint(escape_controls(text)))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Writes each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def steerable(stream: TextIO) -> TextIO:
    """Returns the stream below, for a line of ours that is written over."""
    return stream.stream if isinstance(stream, Printable) else stream


@contextmanager
def print_printable() -> Iterator[None]:
    """Standard output and standard error steer no terminal while the block runs."""
    names = ("stdout", "stderr")
    before = {name: getattr(sys, name) for name in names}
    ours = {name: Printable(stream) for name, stream in before.items() if stream is not None}
    for name, stream in ours.items():
        setattr(sys, name, stream)
    try:
        yield
    finally:
        for name, stream in ours.items():
            if getattr(sys, name) is stream:  # whoever put something else there keeps it
                setattr(sys, name, before[name])
