"""Mistakes on connections: in what is confirmed, and in when they are closed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT

wrong = Variants(__name__, Wrong)


def answering(answer: Callable[[dict[str, Any], list[Any]], list[Any]]) -> dict[str, Any]:
    """What is replaced to do something else about what happens to connections, from the request and the right effects."""

    def handle(right: Any, request: dict[str, Any], choose: Any) -> Any:
        reply = right(request, choose)
        if request.get("op") != "stream" or "effects" not in reply:
            return reply
        return {**reply, "effects": answer(request, reply["effects"])}

    return around("handle", handle)


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


def skipping(skipped: bytes) -> dict[str, Any]:
    """What is replaced to pass over what comes before a message on a connection."""

    def handle(right: Any, request: dict[str, Any], choose: Any) -> Any:
        if request.get("op") == "stream" and request.get("event") == "data":
            request = {**request, "bytes": request["bytes"].removeprefix(skipped.hex())}
        return right(request, choose)

    return around("handle", handle)


@wrong(
    answering,
    "garbage-is-not-confirmed array-is-not-confirmed an-object-that-is-none-is-not-confirmed "
    "a-wrong-type-is-not-confirmed bad-utf-8-is-not-confirmed a-closing-bracket-is-not-confirmed "
    "too-deep-is-not-confirmed other-credentials-are-not-confirmed no-credentials-are-not-confirmed",
)
def ConfirmsEverything(request: dict[str, Any], effects: list[Any]) -> list[Any]:
    """Confirms whatever has come, before it is read."""
    confirmed = [confirmation(request["conn"])] if request["event"] == "data" and any(map(closes, effects)) else []
    return [*confirmed, *[effect for effect in effects if effect not in confirmed]]


@wrong(answering, "a-connection-that-breaks")
def ClosesWhatIsBroken(request: dict[str, Any], effects: list[Any]) -> list[Any]:
    """Closes a connection that is not there any more."""
    broken = request["event"] == "reset"
    return [*effects, *([{"stream": {"conn": request["conn"], "event": "close"}}] if broken else [])]


wrong |= {
    # Passes over a mark of an order of bytes before a message. [WA-64]
    "MarksAreBlanks: a-byte-order-mark-is-no-blank": skipping(b"\xef\xbb\xbf"),
    # Passes over a zero byte before a message. [WA-64]
    "ZerosAreBlanks: a-zero-byte-is-no-blank": skipping(b"\0"),
    # Takes the end of a connection for that of a message.
    "ConfirmsTheEnd: a-connection-that-ends-early a-connection-that-brings-nothing": answering(
        lambda request, effects: ([*([confirmation(request["conn"])] if request["event"] == "eof" else []), *effects])
    ),
    # Does not close connections.
    "LeavesConnectionsOpen: a-message-and-its-confirmation two-connections a-connection-that-ends-early "
    "who-has-left-confirms-nothing garbage-is-not-confirmed right-credentials-are-confirmed "
    "a-restart-ends-connections": answering(lambda request, effects: [effect for effect in effects if not closes(effect)]),
}
__getattr__ = wrong.find
