"""
Framing of messages on TCP: one message on each connection, and its acknowledgement in return. [WA-64]

The client sends one object and a line feed. The server reads one object; if that is a message with the right credentials, it
writes `ACKNOWLEDGEMENT`. It closes the connection in any case. Bytes after the object are ignored.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.wendy.codec import MOST_BYTES
from peerproof.spec.wendy.json_data import ValueEnd

#: The confirmation of a message. [WA-64]
ACKNOWLEDGEMENT: Final = b'{"status": "Received."}'

_BLANKS: Final = b" \t\n\r"


class Inbound:
    """
    The receiving side of a connection.

    It takes time and memory linear in the length of a message, however small the pieces are, and never more than for the
    largest message.
    """

    __slots__ = ("_data", "_end", "_has_begun")

    def __init__(self) -> None:
        self._data = bytearray()
        self._end = ValueEnd()
        self._has_begun = False

    def feed(self, data: bytes) -> bytes | None:
        """
        Takes the next bytes; returns the message's bytes once complete.

        Raises MalformedMessage once they cannot be a message.
        """
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
        """Returns the error for a connection that was closed before the message was complete."""
        return MalformedMessage("truncated", len(self._data), "the connection was closed before the message was whole")


class Confirmation:
    """The sending side of a connection, after the message: it waits for the acknowledgement."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = b""

    def feed(self, data: bytes) -> bool | None:
        """Returns whether these bytes confirm the message; None while undecided. A closed connection does not confirm it."""
        self._data += data[: len(ACKNOWLEDGEMENT) - len(self._data)]
        if self._data == ACKNOWLEDGEMENT:
            return True
        return None if ACKNOWLEDGEMENT.startswith(self._data) else False
