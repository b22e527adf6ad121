"""
2. Events: what happens to a node, and what it does then. Call your implementation's node here.

Time is in every event: a node reads no clock, sleeps never and has no socket. Times are integers of milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

from .effects import Effects

#: What of this is claimed: add "exchange" once a node takes messages and time, then "api.NAME" for each call that it knows,
#: "events" if it tells its application what happens, "restart" if it may crash and begin again.
CAPABILITIES: Final[list[str]] = []


class Refused(Exception):
    """The implementation refuses a call; the reason is a word of the protocol's."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Node:
    """One node. It knows nothing of others in the same process."""

    #: When it wants to do something by itself; None if never.
    next_timer: int | None = None

    def __init__(
        self,
        addr: Any,
        config: dict[str, Any],
        seed: str,
        now: int,
        effects: Effects,
    ) -> None:
        """Starts. The protocol's defaults hold for what the configuration leaves out; seed what it draws by lot with `seed`."""

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
