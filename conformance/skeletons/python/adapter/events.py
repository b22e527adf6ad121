"""
2. Events: what happens to a node, and what it does then. Call your implementation's node here.

Time is in every event: a node reads no clock, sleeps never and has no socket. Times are integers of milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from .choices import Choices
from .effects import Effects

#: What of this is claimed: add "exchange" once a node takes messages and time, then "api.NAME" for each call that it knows,
#: "events" if it tells its application what happens, "restart" if it may crash and begin again,
#: "sent", "stream" and "state.load" for the last three methods.
CAPABILITIES: Final[list[str]] = []


class Refused(Exception):
    """The implementation refuses a call; the reason is a word of the protocol's."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass
class Birth:
    """What a node begins with."""

    addr: Any
    config: dict[str, Any]  #: what it leaves out has the protocol's defaults
    seed: str  #: of what the node draws for itself
    now: int
    choices: Choices  #: where to ask, if the runner draws


class Node:
    """One node. It knows nothing of others in the same process."""

    #: When it wants to do something by itself; None if never.
    next_timer: int | None = None

    def __init__(self, birth: Birth, effects: Effects) -> None:
        """Starts, at `birth.now`."""

    def receive(self, sender: Any, data: bytes, now: int, effects: Effects) -> None:
        """A message comes in. May raise `codec.Malformed`."""

    def advance(self, now: int, effects: Effects) -> None:
        """It is `now`: do what is due up to and including this moment, and set `next_timer`."""

    def call(self, name: str, args: dict[str, Any], now: int, effects: Effects) -> None:
        """The application asks for something. Raises Refused."""
        raise NotImplementedError(f"there is no call {name} yet")

    def settle(
        self,
        to: Any,
        data: bytes,
        took_us: int | None,
        now: int,
        effects: Effects,
    ) -> None:
        """It learns of a message that it has sent: how many microseconds it took, or None if it did not arrive. Claim `sent`."""
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
        A connection that a peer has opened: open, data (perhaps a part of a message), eof, reset.

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
        """One in this state, where these timers run and no others; it does nothing by that. Claim `state.load`."""
        raise NotImplementedError("load is not written yet")
