"""
1. The codec: bytes to messages and back. Call your implementation's codec here.

A message is a dictionary with its `type` and its members, as in the suite: `peerproof vectors show` of a vector of the codec
prints one above its bytes. An integer of 64 bits is a string of decimal digits; a text whose bytes are not UTF-8 is `{"hex":
"fffe"}`.
"""

from __future__ import annotations

from typing import Any, Final

#: The capabilities of this file. `codec` is claimed from the start, so that `peerproof run` has something to check.
CAPABILITIES: Final[list[str]] = ["codec"]


class Malformed(Exception):
    """
    The bytes are not a message.

    The reason is truncated, trailing, bad_type, bad_length, bad_value, too_large or other.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def decode(data: bytes) -> dict[str, Any]:
    """Returns the message in these bytes. Raises Malformed."""
    raise Malformed("other", f"decode is not written yet; there are {len(data)} bytes")


def encode(message: dict[str, Any]) -> bytes:
    """Returns the bytes of a message."""
    raise NotImplementedError(f"encode is not written yet; asked for {message['type']}")
