"""
Measurements of published events, from all nodes of a run.

An event is due to a node that is subscribed to its topic from its publication to the end of the run. A node that has crashed or
left has no subscriptions; crashes are detected as in `routes`. Events of the last round are not counted, because they have little
time to arrive.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from peerproof.pipeline.measures.node_figures import FANNED_OUT, PUBLISHED, SUBSCRIBED, UNSUBSCRIBED, UPDATED
from peerproof.pipeline.measures.routes import Members
from peerproof.pipeline.measures.sightings import Figure, Sighting, round_of

#: A metric that this module yields, and its unit.
UNITS: Final = {"events_delivered": "share", "event_duplicates": "times", "tree_depth": "nodes"}


@dataclass
class Event:
    """The sightings of an event, or of several equal ones."""

    published: list[Sighting] = field(default_factory=list)
    fanned_out: list[Sighting] = field(default_factory=list)
    updated: list[Sighting] = field(default_factory=list)


def delivery_figures(
    rows: Sequence[Sighting], members: Members, numbers: Mapping[str, int], end: int, *, shared_clock: bool
) -> Iterator[Figure]:
    """
    Yields the figures of a topic's events: whether each subscriber received them, superfluous deliveries, and depth in the tree.

    `numbers`: node -> microseconds of a round; `end`: microseconds of the run's last event.
    """
    subscribed = _subscribers(rows, members)
    for event in _events(rows).values():
        if shared_clock and event.published:
            yield from _due(event, subscribed, numbers, end)
        got = Counter(row.node for row in event.updated)
        for node, count in got.items():
            first = next(row for row in event.updated if row.node == node)
            number = round_of(first, numbers)
            yield Figure("event_duplicates", number, node, max(0, count - max(1, len(event.published))))
            if len(event.fanned_out) == 1 and first.low is not None and event.fanned_out[0].low is not None:
                yield Figure("tree_depth", number, node, first.low - event.fanned_out[0].low)


def _due(event: Event, subscribed: Mapping[str, int], numbers: Mapping[str, int], end: int) -> Iterator[Figure]:
    """Yields whether each subscriber received an event; equal events count as often as they were published."""
    got = Counter(row.node for row in event.updated)
    for place, origin in enumerate(event.published):
        number = round_of(origin, numbers)
        if number is None or number >= end // numbers[origin.node]:
            continue
        for node, since in subscribed.items():
            if since <= origin.t_us:
                yield Figure("events_delivered", number, node, place < got[node])


def _events(rows: Sequence[Sighting]) -> Mapping[str, Event]:
    events: dict[str, Event] = defaultdict(Event)
    for row in rows:
        if row.what == PUBLISHED:
            events[row.via or ""].published.append(row)
        elif row.what == FANNED_OUT:
            events[row.via or ""].fanned_out.append(row)
        elif row.what == UPDATED:
            events[row.via or ""].updated.append(row)
    return events


def _subscribers(rows: Sequence[Sighting], members: Members) -> Mapping[str, int]:
    """Returns the nodes that are subscribed at the end, and since when."""
    last: dict[str, Sighting] = {}
    for row in rows:
        if row.what in (SUBSCRIBED, UNSUBSCRIBED) and (row.node not in last or (row.low or 0) > (last[row.node].low or 0)):
            last[row.node] = row
    return {
        node: row.t_us
        for node, row in last.items()
        if row.what == SUBSCRIBED and node in members.lasting and row.t_us >= members.lasting[node]
    }
