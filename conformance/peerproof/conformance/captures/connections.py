"""
Captured connections of a protocol that sends one message over each, and confirms it on the way back.

What confirms a message is no message: it is known by its bytes and counted. What follows either of them is not looked at.
"""

from __future__ import annotations

from typing import Final

from peerproof.conformance.captures.tcp_streams import Framing
from peerproof.spec.connections import Framing as Speech
from peerproof.spec.core import Specification
from peerproof.spec.protocols import PROTOCOLS


class Connections:
    """Makes the framing of both directions of a protocol's connections."""

    def __init__(self, speech: Speech) -> None:
        self.acknowledgements = 0
        self.speech: Final = speech

    def framing(self) -> Framing:
        """Of one direction."""
        return _Direction(self)


def connections_of(specification: Specification) -> Connections | None:
    """Of a protocol over connections, which has a module `framing`; None of others."""
    reference = PROTOCOLS[specification.NAME].framing
    return Connections(reference.load()) if reference else None


class _Direction:
    """One direction of one connection. Which of the two it is, its first bytes show."""

    def __init__(self, connections: Connections) -> None:
        self._connections: Final = connections
        self._inbound: Final = connections.speech.Inbound()
        self._fed = 0
        self._is_over = False

    def read(self, unread: bytearray) -> tuple[list[bytes], int]:
        """See `Framing`."""
        if self._is_over:
            return [], len(unread)
        acknowledgement = self._connections.speech.ACKNOWLEDGEMENT
        begin = unread[: len(acknowledgement)]
        if acknowledgement.startswith(begin):
            if begin != acknowledgement:
                return [], 0
            self._connections.acknowledgements += 1
            self._is_over = True
            return [], len(unread)
        message = self._inbound.feed(bytes(unread[self._fed :]))
        self._fed = len(unread)
        if message is None:
            return [], 0
        self._is_over = True
        return [message], len(unread)

    def tear(self) -> None:
        """See `Framing`. The only message is lost."""
        self._is_over = True
