"""Implementations that tell some events of those that they list, or others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tests.support.implementations import Altered, Plain

from peerproof.conformance.adapter.messages import event_kinds


class Teller(Altered):
    """The reference of Scuttlebutt, which lists some events, and tells some, perhaps others."""

    listed: ClassVar[Sequence[str] | None] = None
    untold: ClassVar[frozenset[str]] = frozenset()
    measured: ClassVar[int | None] = None  #: the round trip of every heartbeat that has none

    def __init__(self) -> None:
        super().__init__(["scuttlebutt"])

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if request["op"] == "hello":
            offered = reply["protocols"]["scuttlebutt"]
            del offered["events"]
            if self.listed is not None:
                offered["events"] = list(self.listed)
        for event in (effect["event"] for effect in reply.get("effects", ()) if "event" in effect):
            if event["name"] == "heartbeat" and event["round_trip"] is None:
                event["round_trip"] = self.measured
        if "effects" in reply:
            reply["effects"] = [one for one in reply["effects"] if one.get("event", {}).get("name") not in self.untold]
        return reply


class WithoutHeartbeats(Teller):
    """As most implementations: their application is not told of signs of life."""

    untold = frozenset({"heartbeat", "malformed"})


class Wordy(Teller):
    """It tells of heartbeats that it has not listed, and measures round trips of its own."""

    measured = 4711


class JoinsOnly(Teller):
    """Its library has a callback for joins, and no other."""

    listed = ("join",)
    untold = frozenset({"update", "heartbeat", "up", "down", "malformed"})


class Measuring(Teller):
    """It lists heartbeats, and measures their round trip also where the specification knows none."""

    listed = event_kinds("scuttlebutt")
    measured = 4711


class Forgetful(Teller):
    """It lists heartbeats, and does not tell them."""

    listed = event_kinds("scuttlebutt")
    untold = frozenset({"heartbeat"})


class WithoutJoins(Teller):
    """It claims events without a list, and tells of no join."""

    untold = frozenset({"join"})
