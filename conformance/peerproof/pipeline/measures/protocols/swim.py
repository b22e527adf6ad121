"""
Measurements of SWIM: news is a start or restart of a node; statuses come from notices and messages.

A node takes another for dead from the moment when it first reports that: to its application, if that has subscribed to events of
the cluster (the configuration's `cluster_events`), or else to a third node. A node that learns of a death and does not report it
is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from peerproof.pipeline.measures import protocols
from peerproof.pipeline.measures.protocols import DOWN, LEFT, SUSPECTED, UP, Judged, Made, Report, Seen

_STATUSES: Final = {"joining": UP, "normal": UP, "incarnation": UP, "suspicious": SUSPECTED, "dead": DOWN, "leave": LEFT}


class Observer(protocols.Observer):
    """Observes one node. Others identify it by its UUID."""

    detects = True

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self._statuses: dict[str, str] = {}

    def observe(self, event: Seen) -> Iterator[Report]:
        """Reports starts, incarnations that it learns, and statuses of others. [S-10, S-14, S-17, S-57]"""
        if event.kind == "start":
            self.name, self.known, self._statuses = event.args["uuid"], {}, {}
            yield Made(int(event.args["restart_counter"]) + 1)
        elif event.kind == "recv":
            for uuid, restart in _incarnations(event.args):
                if uuid != self.name:
                    yield from self.reach(uuid, restart + 1, event.peer)
        for uuid, status in (*_notice_statuses(event), *_message_statuses(event)):
            if uuid != self.name and self._statuses.get(uuid) != status:
                self._statuses[uuid] = status
                yield Judged(uuid, status)


def _incarnations(message: Any) -> Iterator[tuple[str, int]]:
    """Yields the nodes in a message that have an incarnation, with their restart counters. [S-16, S-18, S-22]"""
    yield message["sender"], int(message["incarnation"]["restart"])
    for vector in message.get("vectors", ()):
        if vector["type"] == "anti_entropy":
            for member in vector["members"]:
                yield member["uuid"], int(member["restart_counter"])
        elif vector["type"] in _STATUSES and vector.get("incarnation") is not None:
            yield vector["node"], int(vector["incarnation"]["restart"])


def _notice_statuses(event: Seen) -> Iterator[tuple[str, str]]:
    for notice in event.notices:
        if notice["type"] in ("cluster_event", "node_event"):
            yield notice["node"], _STATUSES[notice["event_type"]]


def _message_statuses(event: Seen) -> Iterator[tuple[str, str]]:
    """Yields statuses of third nodes: `dead` to a node itself carries its known incarnation, and does not mean a death. [S-21]"""
    for message in event.sent:
        for vector in message.get("vectors", ()):
            if vector["type"] in _STATUSES and vector["node"] != message["target"]:
                yield vector["node"], _STATUSES[vector["type"]]
