"""Limits on the output of an implementation; more is a flood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_LINE: Final = 16 * 2**20  #: bytes of a line that every adapter must accept, and may write


@dataclass(frozen=True)
class Bounds:
    """
    Limits on the output of one case. In every vector of the suite the reference needs at most a fourth of the first three.

    >>> Bounds(messages=100_000).at_once
    1000
    """

    messages: int = 10_000  #: messages, events and actions on connections, in one case
    at_once: int = 1_000  #: of these in reply to one request
    message_bytes: int = 16 * 2**20  #: in all messages of one case
    reply: int = MAX_LINE  #: bytes of one line
    record: int = 256 * 2**10  #: bytes of a case's line in the report of record


USUAL: Final = Bounds()
