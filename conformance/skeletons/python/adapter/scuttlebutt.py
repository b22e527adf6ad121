"""
This file connects my-node with the vectors of scuttlebutt. Fill it in from top to bottom; the rest needs no change.

Values are plain data: a message is a dictionary with its `type` and its members, as `peerproof vectors show` prints it; an
integer of 64 bits is a string of decimal digits, a text whose bytes are not UTF-8 is `{"hex": "fffe"}`. A part that raises
NotImplementedError is not written yet.
"""

from __future__ import annotations

from typing import Any, Final

from .parts import Birth, Effects, Malformed

NAME: Final = "my-node"
VERSION: Final = "0.1.0"
PROTOCOL: Final = "scuttlebutt"
TRANSPORT: Final = "udp"

#: What is written. `codec` is claimed from the start, so that there is something to check. Add "exchange" once nodes start,
#: receive and advance, "api.NAME" for each name that `call` knows, "observe.NAME" for each that `query` knows, "events" if nodes
#: report events, and "restart", "sent", "stream", "state.load" for the parts at the end. Cases that need others are skipped.
CAPABILITIES: Final[list[str]] = ["codec"]

#: "set" if nodes make their own random choices, "oracle" if they call `birth.choices.pick` for every one. Then vectors that fix
#: a choice apply too.
CHOICES: Final[str] = "set"

#: The transports over which `serve`, at the end, runs nodes: those of `peerproof run --transport`.
SOCKETS: Final[list[str]] = []


# 1. The codec: bytes to messages and back. Call your implementation's codec here.


def decode(data: bytes) -> dict[str, Any]:
    """Returns the message in these bytes. Raises Malformed if they are none."""
    raise Malformed("other", f"decode is not written yet; there are {len(data)} bytes")


def encode(message: dict[str, Any]) -> bytes:
    """Returns the bytes of a message."""
    raise NotImplementedError(f"encode is not written yet; asked for {message['type']}")


# 2. Nodes: what happens to a node, and how it reacts. Call your implementation's node here.


class Node:
    """
    One node, independent of all others in the process.

    It reads no clock, never sleeps and has no socket: every event carries the time, in whole milliseconds, and what the node
    sends goes into `effects`.
    """

    #: The time of its next timer; None if none runs.
    next_timer: int | None = None

    def __init__(self, birth: Birth, effects: Effects) -> None:
        """Starts the node at `birth.now`."""

    def receive(self, sender: Any, data: bytes, now: int, effects: Effects) -> None:
        """Handles a message. May raise Malformed: then it is dropped."""

    def advance(self, now: int, effects: Effects) -> None:
        """Runs all timers that are due up to `now`, included, and sets `next_timer`."""

    def call(self, name: str, args: dict[str, Any], now: int, effects: Effects) -> None:
        """Handles a call of the application. Raises `parts.Refused` if the implementation refuses it."""
        raise NotImplementedError(f"there is no call {name} yet")

    # 3. Queries: what can be seen of a node from outside.

    def query(self, what: str, args: dict[str, Any]) -> Any:
        """Returns the answer in plain form: dictionaries, lists, strings, numbers. A query changes nothing."""
        raise NotImplementedError(f"there is no query {what} yet")

    # 4. More parts: with each, more vectors apply. After a crash, a node is started anew: claim "restart".

    @classmethod
    def load(
        cls,
        birth: Birth,
        state: dict[str, Any],
        timers: list[dict[str, Any]],
    ) -> Node:
        """
        Returns a node in this state, in which exactly these timers run. Claim "state.load".

        The state has the form of the query `state`. Loading has no effects.
        """
        raise NotImplementedError("load is not written yet")

    def settle(
        self,
        to: Any,
        data: bytes,
        took_us: int | None,
        now: int,
        effects: Effects,
    ) -> None:
        """Handles the outcome of a message that the node sent: its microseconds, or None if it did not arrive. Claim "sent"."""
        raise NotImplementedError("outcomes of messages are not written yet")

    def on_connection(
        self,
        conn: str,
        event: str,
        data: bytes,
        now: int,
        effects: Effects,
    ) -> None:
        """
        Handles an event of a connection that a peer opened: open, data (perhaps a part of a message), eof or reset.

        Answer with `effects.reply` and `effects.close`. Claim "stream".
        """
        raise NotImplementedError("connections are not written yet")


# 5. Optional: your own event loop, timers and sockets, for `peerproof run --transport`.


def serve(
    via: list[str],
    bind: str,
    config: dict[str, Any],
    seed: str,
) -> tuple[Any, dict[str, str]]:
    """
    Starts a node that listens on these transports at HOST:PORT; returns it, and its address for each. Add them to SOCKETS.

    It runs by itself, in a thread of its own, until it is closed. It has `call` and `query` like a Node; `advance`, which only
    tells the events since the last call of both; and `close`. Raises OSError or ValueError if it cannot listen there.
    """
    raise NotImplementedError("nodes on sockets are not written yet")
