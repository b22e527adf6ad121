"""
The two ways in which something can be wrong.

Either the peer sent what no peer may send (`MalformedMessage`), or the program that uses the specification asked for
what it does not allow (`NotEnabled`). There is no third: whatever else a peer can do, `step` has an answer to it.
"""

from __future__ import annotations

from typing import Final

#: Why bytes are not a message; the same words in vectors, adapters and reports.
REASONS: Final = ("truncated", "trailing", "bad_type", "bad_length", "bad_value", "too_large", "other")


class MalformedMessage(ValueError):
    """These bytes, or this plain data, are no message of the protocol: the peer's fault."""

    def __init__(self, reason: str, offset: int, detail: str) -> None:
        super().__init__(f"{detail} (at byte {offset}: {reason})")
        assert reason in REASONS, reason
        self.reason = reason  #: one of `REASONS`
        self.offset = offset  #: where, in bytes from the start
        self.detail = detail  #: a sentence for people


class NotEnabled(ValueError):
    """The node cannot do that now, or ever: the caller's fault. The node has not changed."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason  #: one word, for programs
