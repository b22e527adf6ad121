"""How much an implementation may put out before it is held to flood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_LINE: Final = 16 * 2**20  #: bytes of a line that every adapter must read, and may write


@dataclass(frozen=True)
class Bounds:
    """
    How much may come of one case. The reference needs at most a fourth of any of the first three, in every vector of the suite.

    >>> Bounds(messages=100_000).at_once
    1000
    """

    messages: int = 10_000  #: messages, events and what is done with connections, in one case
    at_once: int = 1_000  #: of these in reply to one request
    message_bytes: int = 16 * 2**20  #: in all messages of one case together
    reply: int = MAX_LINE  #: bytes of one line
    record: int = 256 * 2**10  #: bytes of the line of one case in the report of record


USUAL: Final = Bounds()
