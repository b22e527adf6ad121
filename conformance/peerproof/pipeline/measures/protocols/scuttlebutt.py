"""Measurements of Scuttlebutt: news is a node's own version; statuses come from its failure detector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from peerproof.pipeline.measures import protocols
from peerproof.pipeline.measures.protocols import DOWN, UP, Judged, Made, Report, Seen, name_of

_STATUSES: Final = {"up": UP, "down": DOWN}


class Observer(protocols.Observer):
    """Observes one node. After a restart its versions begin at 1 again, and it does not know those of others."""

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self._own: int | None = None  #: None before the first start

    def observe(self, event: Seen) -> Iterator[Report]:
        """Reports its own updates, updates that it learns, and the statuses of others. [B-07, B-20, B-36]"""
        if event.kind == "start":
            self._own, self.known = 0, {}
            self.detects = event.args["detector"] is not None
        elif event.kind == "api" and not event.refused and self._own is not None:
            self._own += 1
            yield Made(self._own)
        learnt: dict[str, int] = {}
        for notice in event.notices:
            if notice["type"] == "update":
                peer = name_of(notice["peer"])
                learnt[peer] = max(int(notice["version"]), learnt.get(peer, 0))
            elif notice["type"] in _STATUSES:
                yield Judged(name_of(notice["peer"]), _STATUSES[notice["type"]])
        for peer, version in learnt.items():
            yield from self.reach(peer, version, event.peer)
