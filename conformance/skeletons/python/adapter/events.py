"""
2. Events: what happens to a node, and how it reacts. Call your implementation's node here.

Every event carries the time: a node reads no clock, never sleeps and has no socket. Times are whole milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from .choices import Choices
from .effects import Effects

#: The capabilities of this file. Add "exchange" once `receive` and `advance` are written, "api.NAME" for each name that `call`
#: knows, "events" if the node reports events, "restart" if a node can crash and start again, and "sent", "stream" and
#: "state.load" for the last three methods.
CAPABILITIES: Final[list[str]] = []


class Refused(Exception):
    """The implementation refuses a call; the reason is one of the protocol's words."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass
class Birth:
    """What a node starts with."""

    addr: Any
    config: dict[str, Any]  #: missing members have the protocol's defaults
    seed: str  #: seed of the node's own random generator
    now: int
    choices: Choices  #: asks the runner for random choices


class Node:
    """One node, independent of all others in the process."""

    #: The time of its next timer; None if none runs.
    next_timer: int | None = None

    def __init__(self, birth: Birth, effects: Effects) -> None:
        """Starts the node at `birth.now`."""

    def receive(self, sender: Any, data: bytes, now: int, effects: Effects) -> None:
        """Handles a message. May raise `codec.Malformed`."""

    def advance(self, now: int, effects: Effects) -> None:
        """Runs all timers that are due up to `now`, included, and sets `next_timer`."""

    def call(self, name: str, args: dict[str, Any], now: int, effects: Effects) -> None:
        """Handles a call of the application. Raises Refused."""
        raise NotImplementedError(f"there is no call {name} yet")

    def settle(
        self,
        to: Any,
        data: bytes,
        took_us: int | None,
        now: int,
        effects: Effects,
    ) -> None:
        """Handles the outcome of a message that the node sent: its microseconds, or None if it did not arrive. Claim `sent`."""
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

        Answer with `effects.reply` and `effects.close`. Claim `stream`.
        """
        raise NotImplementedError("connections are not written yet")

    @classmethod
    def load(
        cls,
        birth: Birth,
        state: dict[str, Any],
        timers: list[dict[str, Any]],
    ) -> Node:
        """Returns a node in this state, in which exactly these timers run. Loading has no effects. Claim `state.load`."""
        raise NotImplementedError("load is not written yet")
