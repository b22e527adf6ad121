"""
Messages on TCP: one on each connection, and its acknowledgement on the way back. [WA-64]

Who connects sends one object and a line feed. Who is connected to reads one object; if that is a message and has the right
credentials, it writes `ACKNOWLEDGEMENT`, and closes the connection in any case. What follows the object is not looked at.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.wendy.codec import MOST_BYTES
from peerproof.spec.wendy.json_data import ValueEnd

#: What a message is confirmed with. [WA-64]
ACKNOWLEDGEMENT: Final = b'{"status": "Received."}'

_BLANKS: Final = b" \t\n\r"


class Inbound:
    """
    The receiving side of a connection, which is fed bytes as they come.

    It takes time and memory linear in the length of a message, however small the pieces are, and never more than for the
    largest message.
    """

    __slots__ = ("_data", "_end", "_has_begun")

    def __init__(self) -> None:
        self._data = bytearray()
        self._end = ValueEnd()
        self._has_begun = False

    def feed(self, data: bytes) -> bytes | None:
        """The bytes of the message, as soon as they are all there. Raises MalformedMessage when they cannot be any more."""
        if not self._has_begun:
            data = data.lstrip(_BLANKS)
            if not data:
                return None
            if data[:1] != b"{":
                raise MalformedMessage("bad_type", 0, f"a message begins with {{, not with {data[:1]!r}")
            self._has_begun = True
        self._data += data[: MOST_BYTES + 1 - len(self._data)]
        end = self._end.find(self._data)
        if end is not None:
            return bytes(self._data[:end])
        if len(self._data) > MOST_BYTES:
            raise MalformedMessage("too_large", MOST_BYTES, f"a message takes at most {MOST_BYTES} bytes")
        return None

    def end(self) -> MalformedMessage:
        """The error for a connection that was closed before the message was there."""
        return MalformedMessage("truncated", len(self._data), "the connection was closed before the message was whole")


class Confirmation:
    """The sending side of a connection, after the message: it waits for the acknowledgement."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = b""

    def feed(self, data: bytes) -> bool | None:
        """Whether these bytes confirm the message; None as long as that is open. A closed connection does not confirm it."""
        self._data += data[: len(ACKNOWLEDGEMENT) - len(self._data)]
        if self._data == ACKNOWLEDGEMENT:
            return True
        return None if ACKNOWLEDGEMENT.startswith(self._data) else False
