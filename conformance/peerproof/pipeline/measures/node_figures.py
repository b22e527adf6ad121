"""
Measurements of single nodes, in one pass over their events: messages and bytes by round, and the reports of their observers.

The reports are written to `sightings`; `spreading` combines those of several nodes. Only the current round of one node, and the
state of its observer, are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, Final
from zlib import crc32

import msgspec

from peerproof.conformance.traces.events import Event
from peerproof.pipeline.measures import protocols
from peerproof.pipeline.storage.arrow_rows import events
from peerproof.pipeline.storage.tables import METRICS, Column, RowBuffer, Table, Type
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.core import Specification

#: Levels of a node's news in one group.
LEVELS: Final = 128
#: A report of more levels at once is invalid.
MOST_LEVELS: Final = 2**24
#: Slots over which groups are distributed.
SLOTS: Final = 2**32
#: Rows that are written at once.
ROWS: Final = 4096

#: Special values of `block`, instead of a number of levels. In this order, the rows about nodes come first.
LIVES: Final = -5
MEMBERS: Final = -4
JUDGEMENTS: Final = -3
ROUTES: Final = -2
TOPICS: Final = -1

_MICROSECONDS: Final = 1000

SIGHTINGS: Final = Table(
    "sightings",
    "what one node's observer has reported",
    ("run_id", "block", "subject", "t_us"),
    (
        Column("run_id", Type.TEXT, "the run"),
        Column("protocol", Type.TEXT, "its protocol"),
        Column("slot", Type.WHOLE, "a hash by which groups of rows are distributed over units"),
        Column("block", Type.WHOLE, "which levels; or lives, members, judgements, routes, or topics"),
        Column("subject", Type.TEXT, "the node of the news, status or life; a member; a message; a topic"),
        Column("t_us", Type.WHOLE, "microseconds on the node's clock; of a life, its beginning"),
        Column("what", Type.TEXT, "made, reached; the status; shared or own, for the clock of a life"),
        Column("node", Type.TEXT, "the observed node"),
        Column("low", Type.WHOLE, "the first level; of a life, microseconds of its end; a count; hops", nullable=True),
        Column("high", Type.WHOLE, "the last level; of a life, microseconds from round to round", nullable=True),
        Column("via", Type.TEXT, "the peer that sent it; the key of a message; an event", nullable=True),
    ),
)
MADE, REACHED = "made", "reached"
MEMBER, NO_MEMBER, UNREACHED = "member", "no member", "unreached"
ROUTED, DELIVERED = "routed", "delivered"
SUBSCRIBED, UNSUBSCRIBED = "subscribed", "unsubscribed"
PUBLISHED, FANNED_OUT, UPDATED = "published", "fanned out", "updated"
SHARED, OWN = "shared", "own"  #: one clock for all nodes of a run, or one for each

#: A metric that this module yields, and its unit.
UNITS: Final = {
    **dict.fromkeys(("messages_sent", "messages_received", "join_messages", "link_stress", "updates_again"), "messages"),
    **dict.fromkeys(("bytes_sent", "bytes_received", "join_bytes"), "bytes"),
    **dict.fromkeys(("join_time", "ready_time", "mend_time"), "ms"),
    **dict.fromkeys(("routing_table", "leaf_set", "neighborhood_set"), "nodes"),
    "unreadable": "events",
    "route_hops": "hops",
    "fan_out": "copies",
}

Write = Callable[[Table, Any], object]

_decode: Final = msgspec.json.decode


def node_figures(table: Table, *, shared_clock: bool) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Returns a generator from batches of `traces`, sorted by run, node and seq, to batches of `metrics` or `sightings`."""

    def figures(batches: Iterable[Any]) -> Iterator[Any]:
        made: list[Any] = []

        def keep(written: Table, batch: Any) -> None:
            if written.name == table.name:
                made.append(batch)

        with_figures = Pass(keep, shared_clock=shared_clock)
        for batch in batches:
            with_figures.add(batch)
            yield from made
            made.clear()
        with_figures.finish()
        yield from made

    return figures


class Pass:
    """Measures one node after the other, and writes batches of `metrics` and `sightings`."""

    def __init__(self, write: Write, *, shared_clock: bool) -> None:
        self._clock = SHARED if shared_clock else OWN
        self._rows = RowBuffer(write, ROWS)
        self._node: _Node | None = None
        self._key: tuple[str, str] | None = None

    def add(self, batch: Any) -> None:
        """Adds the next events."""
        for event in events(batch):
            if self._key != (event.run_id, event.node) or self._node is None:
                if self._node:
                    self._node.finish()
                self._key = event.run_id, event.node
                self._node = _Node(event, self._clock, partial(self._rows.add, METRICS), partial(self._rows.add, SIGHTINGS))
            self._node.add(event)

    def finish(self) -> None:
        """Finishes the last node and writes the buffered rows."""
        if self._node:
            self._node.finish()
        self._node = None
        self._rows.flush()


class _Node:
    """One node of one run."""

    def __init__(
        self, first: Event, clock: str, metric: Callable[[tuple[Any, ...]], None], sighting: Callable[[tuple[Any, ...]], None]
    ) -> None:
        self._run, self._protocol, self._address = first.run_id, first.protocol, first.node
        self._clock = clock
        self._metric, self._sighting = metric, sighting
        self._specification: Specification | None = _specification(first.protocol)
        self._observer: protocols.Observer | None = protocols.observer(first.protocol, first.node)
        self._period: int | None = None
        self._round: int | None = None
        self._sent, self._sent_bytes, self._received, self._received_bytes = 0, 0, 0, 0
        self._knows_sent, self._knows_received = False, False
        self._unreadable = 0
        self._begun: int | None = None
        self._changes = 0  #: of membership and subscriptions
        self._last = 0

    def add(self, event: Event) -> None:
        """Adds the next event."""
        if event.kind == "start":
            self._end_life()
            self._start(event)
        number = None if self._period is None else event.t_us // self._period
        if number != self._round:
            self._end_round()
            self._round = number
        self._last = event.t_us
        size = 0
        if event.kind == "recv":
            self._knows_received = True
            self._received += 1
            size = self._size_of(event)
            self._received_bytes += size
        elif event.kind == "send":
            self._knows_sent = True
            self._sent += 1
            self._sent_bytes += event.bytes or 0
        if event.effects is not None:
            self._knows_sent = self._knows_received = True
            try:
                self._effects(event, event.effects, size)
            except (KeyError, TypeError, ValueError, AttributeError):  # a log may have any data
                self._unreadable += 1

    def finish(self) -> None:
        """Ends the last round and life."""
        self._end_round()
        self._end_life()
        if self._unreadable:
            self._figure("unreadable", self._unreadable, None)

    def _start(self, event: Event) -> None:
        self._begun = event.t_us
        try:
            period = _decode(event.args or "null")[RUNTIMES[self._protocol].period]
            self._period = max(1, int(period) * _MICROSECONDS)
        except (KeyError, TypeError, ValueError):
            self._unreadable += 1

    def _effects(self, event: Event, effects: str, received_bytes: int) -> None:
        sent: list[Any] = []
        sent_to: list[str] = []
        notices: list[Any] = []
        for effect in _decode(effects) if effects != "[]" else ():
            if "send" in effect:
                sent.append(effect["send"]["message"])
                sent_to.append(effect["send"]["to"])
            elif "notify" in effect:
                notices.append(effect["notify"])
        self._sent += len(sent)
        sent_bytes = sum(map(self._size, sent))
        self._sent_bytes += sent_bytes
        if self._observer:
            args = _decode(event.args or "null")
            is_refused = event.refused is not None
            about = event.kind, event.peer, args, tuple(sent), tuple(notices), is_refused, event.t_us
            for report in self._observer.observe(protocols.Seen(*about, received_bytes, sent_bytes, tuple(sent_to))):
                self._report(report, event.t_us)

    def _report(self, report: protocols.Report, t_us: int) -> None:
        if self._begun is None:  # the log begins in the middle of a life: the node's earlier knowledge is unknown
            return
        match report:
            case protocols.Made(level):
                assert self._observer
                self._sight(t_us, (level - 1) // LEVELS, self._observer.name, MADE, level, level)
            case protocols.Reached(subject, low, high, via):
                if not 0 < low <= high < low + MOST_LEVELS:
                    raise ValueError(f"levels {low} to {high} are too many")
                for block in range((low - 1) // LEVELS, (high - 1) // LEVELS + 1):
                    first = max(low, block * LEVELS + 1)
                    self._sight(t_us, block, subject, REACHED, first, min(high, (block + 1) * LEVELS), via)
            case protocols.Judged(subject, status):
                self._sight(t_us, JUDGEMENTS, subject, status)
            case protocols.Measured(metric, value):
                self._figure(metric, value, self._round)
            case protocols.Membership(is_member):
                assert self._observer
                self._changes += 1
                self._sight(t_us, MEMBERS, self._observer.name, MEMBER if is_member else NO_MEMBER, self._changes)
            case protocols.Unreached(address):
                self._sight(t_us, MEMBERS, address, UNREACHED)
            case protocols.Routed(message, key):
                self._sight(t_us, ROUTES, message, ROUTED, via=key)
            case protocols.Delivered(message, key):
                self._sight(t_us, ROUTES, message, DELIVERED, via=key)
            case protocols.Subscribed() | protocols.Published() | protocols.FannedOut() | protocols.Updated():
                self._of_topic(report, t_us)

    def _of_topic(self, report: protocols.Report, t_us: int) -> None:
        match report:
            case protocols.Subscribed(topic, is_subscribed):
                self._changes += 1
                self._sight(t_us, TOPICS, topic, SUBSCRIBED if is_subscribed else UNSUBSCRIBED, self._changes)
            case protocols.Published(topic, event):
                self._sight(t_us, TOPICS, topic, PUBLISHED, via=event)
            case protocols.FannedOut(topic, event, hops):
                self._sight(t_us, TOPICS, topic, FANNED_OUT, hops, via=event)
            case protocols.Updated(topic, event, hops):
                self._sight(t_us, TOPICS, topic, UPDATED, hops, via=event)

    def _sight(
        self,
        t_us: int,
        block: int,
        subject: str,
        what: str,
        low: int | None = None,
        high: int | None = None,
        via: str | None = None,
    ) -> None:
        slot = crc32(f"{self._run}\0{block}\0{subject}".encode())
        self._sighting((self._run, self._protocol, slot, block, subject, t_us, what, self._address, low, high, via))

    def _end_life(self) -> None:
        """Writes the life, which ends at its last event. Detection is measured only for nodes with a failure detector."""
        if self._begun is None or self._observer is None:
            return
        for report in self._observer.finish():
            self._report(report, self._last)
        self._sight(self._begun, LIVES, self._observer.name, self._clock, self._last, self._period)
        if self._observer.detects:
            self._sight(self._begun, JUDGEMENTS, self._observer.name, self._clock)

    def _end_round(self) -> None:
        if self._knows_sent:
            self._figure("messages_sent", self._sent, self._round)
            self._figure("bytes_sent", self._sent_bytes, self._round)
        if self._knows_received:
            self._figure("messages_received", self._received, self._round)
            self._figure("bytes_received", self._received_bytes, self._round)
        self._sent, self._sent_bytes, self._received, self._received_bytes = 0, 0, 0, 0

    def _figure(self, name: str, value: float, number: int | None) -> None:
        self._metric((self._run, self._protocol, name, number, self._address, float(value), UNITS[name]))

    def _size_of(self, event: Event) -> int:
        if event.bytes is not None:
            return event.bytes
        try:
            return self._size(_decode(event.args or "null"))
        except ValueError:
            self._unreadable += 1
            return 0

    def _size(self, message: Any) -> int:
        """Returns the bytes of a message on the wire. Raises ValueError if it is invalid."""
        if self._specification is None:
            raise ValueError(f"no specification of {self._protocol}")
        codec = self._specification.MESSAGE
        return len(codec.encode(codec.value(message)))


@lru_cache(64)
def _specification(protocol: str) -> Specification | None:
    return RUNTIMES[protocol].specification() if protocol in RUNTIMES else None
