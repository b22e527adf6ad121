"""Mistakes on connections: in what is confirmed, and in when they are closed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from tests.conformance.mistakes.wendy import Wrong

from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT


class _Connections(Wrong):
    """Does something else about what happens to connections."""

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """Replaces what it answers."""
        reply = super().handle(request, choose)
        if request.get("op") != "stream" or "effects" not in reply:
            return reply
        return {**reply, "effects": self.answer(request, reply["effects"])}

    def answer(self, request: dict[str, Any], effects: list[Any]) -> list[Any]:
        """What is done instead."""
        raise NotImplementedError


def closes(effect: Any) -> bool:
    """Whether a connection is closed."""
    return bool(effect.get("stream", {}).get("event") == "close")


def confirmation(conn: str, data: bytes = ACKNOWLEDGEMENT) -> dict[str, Any]:
    """A message is confirmed."""
    return {"stream": {"conn": conn, "event": "data", "bytes": data.hex()}}


class ApostrophesAreQuotes(Wrong):
    """Looks for the end of a message as if strings might have apostrophes instead of quotes."""

    caught_by: ClassVar = ("an-apostrophe-is-no-quote",)
    instead: ClassVar = {
        "json_data._IN_STRING": re.compile(rb"""["'\\]"""),
        "json_data._STRUCTURAL": re.compile(rb"""["'\[\]{}]"""),
    }

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """Also what comes on connections."""
        with self.overriding:
            return super().handle(request, choose)


class _Skips(Wrong):
    """Reads otherwise what comes on connections."""

    skipped: bytes

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """Passes over what comes before a message."""
        if request.get("op") == "stream" and request.get("event") == "data":
            request = {**request, "bytes": request["bytes"].removeprefix(self.skipped.hex())}
        return super().handle(request, choose)


class MarksAreBlanks(_Skips):
    """Passes over a mark of an order of bytes before a message. [WA-64]"""

    caught_by: ClassVar = ("a-byte-order-mark-is-no-blank",)
    skipped = b"\xef\xbb\xbf"


class ZerosAreBlanks(_Skips):
    """Passes over a zero byte before a message. [WA-64]"""

    caught_by: ClassVar = ("a-zero-byte-is-no-blank",)
    skipped = b"\0"


class ConfirmsEverything(_Connections):
    """Confirms whatever has come, before it is read."""

    caught_by: ClassVar = (
        *(f"{name}-is-not-confirmed" for name in ("garbage", "array", "an-object-that-is-none", "a-wrong-type", "bad-utf-8")),
        *(f"{name}-is-not-confirmed" for name in ("a-closing-bracket", "too-deep")),
        *("other-credentials-are-not-confirmed", "no-credentials-are-not-confirmed"),
    )

    def answer(self, request: dict[str, Any], effects: list[Any]) -> list[Any]:
        """With a confirmation."""
        confirmed = [confirmation(request["conn"])] if request["event"] == "data" and any(map(closes, effects)) else []
        return [*confirmed, *[effect for effect in effects if effect not in confirmed]]


class ConfirmsTheEnd(_Connections):
    """Takes the end of a connection for that of a message."""

    caught_by: ClassVar = ("a-connection-that-ends-early", "a-connection-that-brings-nothing")

    def answer(self, request: dict[str, Any], effects: list[Any]) -> list[Any]:
        """With a confirmation."""
        return [*([confirmation(request["conn"])] if request["event"] == "eof" else []), *effects]


class ClosesWhatIsBroken(_Connections):
    """Closes a connection that is not there any more."""

    caught_by: ClassVar = ("a-connection-that-breaks",)

    def answer(self, request: dict[str, Any], effects: list[Any]) -> list[Any]:
        """Closes it."""
        broken = request["event"] == "reset"
        return [*effects, *([{"stream": {"conn": request["conn"], "event": "close"}}] if broken else [])]


class LeavesConnectionsOpen(_Connections):
    """Does not close connections."""

    caught_by: ClassVar = (
        *("a-message-and-its-confirmation", "two-connections", "a-connection-that-ends-early", "who-has-left-confirms-nothing"),
        *("garbage-is-not-confirmed", "right-credentials-are-confirmed", "a-restart-ends-connections"),
    )

    def answer(self, request: dict[str, Any], effects: list[Any]) -> list[Any]:  # noqa: ARG002
        """Without that."""
        return [effect for effect in effects if not closes(effect)]
