"""
Measurements of DistKV: news is a node's own change, with its tick as the level; and times of starting and recovering.

A node learns a change from an update, from a chain with the change, from a download, or from a message that it was superseded.
Data on its disk at the start is not news.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from peerproof.pipeline.measures import protocols
from peerproof.pipeline.measures.protocols import Made, Measured, Reached, Report, Seen
from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv import COMMAND, CONFIG, MESSAGE, Info, Loaded, Stored, Update
from peerproof.spec.distkv.ticks import TickSets, difference, intersection, union, with_elements

_MILLISECOND: Final = 1000


class Asked(NamedTuple):
    """The changes of a request that the node has not received yet."""

    t_us: int
    changes: TickSets


class Observer(protocols.Observer):
    """Observes one node. Others identify it by its name."""

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self._begin(0, None)

    def observe(self, event: Seen) -> Iterator[Report]:
        """Reports its own changes, changes that it learns, and when it is ready. [D-09, D-58, DA-59]"""
        if event.kind == "start":
            self._begin(event.t_us, CONFIG.value(event.args).stored)
        yield from self._learns(event, _changes_in(event))
        for plain in event.sent:
            yield from self._says(event, MESSAGE.value(plain))
        if any(notice["type"] == "ready" for notice in event.notices):
            yield Measured("ready_time", (event.t_us - self._begun) / _MILLISECOND)

    def finish(self) -> Iterator[Report]:
        """Reports the number of changes that it has sent again."""
        yield Measured("updates_again", self._again)

    def _begin(self, t_us: int, stored: Stored | None) -> None:
        self._begun, self._again = t_us, 0
        self._own = 0  #: the tick of its last change
        self._known: TickSets = Table()
        self._asked: list[Asked] = []
        if stored is not None:
            self._own = stored.ticks.get(NodeId(self.name), 0)
            self._known = _changes(stored.entries, stored.superseded)

    def _learns(self, event: Seen, changes: TickSets) -> Iterator[Report]:
        news = difference(changes, self._known)
        self._known = union(self._known, news)
        for node, ranges in news.items():
            for begin, end in zip(ranges.begins, ranges.ends, strict=True):
                if node != self.name:
                    yield Reached(node, begin, end - 1, event.peer)
        for asked in self._asked if news else ():
            for ranges in intersection(asked.changes, news).values():
                yield from (Measured("mend_time", (event.t_us - asked.t_us) / _MILLISECOND) for _ in ranges.begins)
        self._asked = [asked for asked in self._subtract(news) if asked.changes] if news else self._asked

    def _subtract(self, news: TickSets) -> Iterator[Asked]:
        return (Asked(asked.t_us, difference(asked.changes, news)) for asked in self._asked)

    def _says(self, event: Seen, message: Any) -> Iterator[Report]:
        if isinstance(message, Info):
            asked: TickSets = Table()
            for before in self._asked:
                asked = union(asked, before.changes)
            if first := difference(message.missing, asked):
                self._asked.append(Asked(event.t_us, first))
        if not isinstance(message, Update):
            return
        node, tick = message.chain.head
        if node == self.name and tick is not None and tick > self._own:
            self._own = tick
            self._known = with_elements(self._known, message.chain.elements)
            yield Made(tick)
        else:
            self._again += 1


def _changes_in(event: Seen) -> TickSets:
    """Returns the changes that the node learns from an event."""
    content: Any = None
    if event.kind == "recv":
        content = MESSAGE.value(event.args)
    elif event.kind == "api" and not event.refused:
        content = COMMAND.value(event.args)
    match content:
        case Update():
            return _changes((content,), Table())
        case Info(known=known):
            return known
        case Loaded(entries=entries, superseded=superseded):
            return _changes(entries, superseded)
    return Table()


def _changes(updates: tuple[Update, ...], others: Mapping[NodeId, Any]) -> TickSets:
    found: TickSets = Table()
    for update in updates:
        found = with_elements(found, update.chain.elements)
    return union(found, others)
