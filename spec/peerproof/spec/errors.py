"""
The two errors of specifications.

`MalformedMessage`: the peer sent bytes that no peer may send. `NotEnabled`: the program that uses the specification asked for
something that it does not allow. There is no third: `step` handles everything else that a peer can do.
"""

from __future__ import annotations

from typing import Final

#: Why bytes are not a message; vectors, adapters and reports use the same words.
REASONS: Final = ("truncated", "trailing", "bad_type", "bad_length", "bad_value", "too_large", "other")


class MalformedMessage(ValueError):
    """These bytes, or this plain data, are no message of the protocol; the peer is at fault."""

    def __init__(self, reason: str, offset: int, detail: str) -> None:
        super().__init__(reason, offset, detail)
        assert reason in REASONS, reason
        self.reason = reason  #: one of `REASONS`
        self.offset = offset  #: position of the error, in bytes from the start; 0 also if it is unknown
        self.detail = detail  #: a sentence for people

    def __str__(self) -> str:
        place = f"at byte {self.offset}: " if self.offset else ""
        return f"{self.detail} ({place}{self.reason})"


class NotEnabled(ValueError):
    """The node cannot do this, now or ever; the caller is at fault. The node has not changed."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason  #: one word, for programs
