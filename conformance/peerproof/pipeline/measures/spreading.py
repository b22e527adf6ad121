"""
Measurements of several nodes of a run together: spreading of news, and detection of crashes.

Rows of `sightings` are sorted by run, block, subject and time. The lives of a run's nodes come first and stay in memory; of the
other rows, only one group at a time does: at most `LEVELS` levels of a node's news, or the statuses that others assign to a node.

A node whose last life lasts to the end of the run is *lasting*, and is expected to learn all news. A life has ended in a crash if
the node has started again, or was silent for the last `SILENCE` rounds of the run. Logs do not show the crash itself: the last
event before it counts as its time, so that detection times are too long by up to a round.

Times of different nodes are compared only in runs with a shared clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from peerproof.pipeline.measures import routes, trees
from peerproof.pipeline.measures.node_figures import (
    JUDGEMENTS,
    LIVES,
    MADE,
    MEMBERS,
    OWN,
    ROUTES,
    ROWS,
    SHARED,
    SIGHTINGS,
    TOPICS,
)
from peerproof.pipeline.measures.protocols import DOWN, SUSPECTED
from peerproof.pipeline.measures.routes import Members
from peerproof.pipeline.measures.sightings import Figure, Life, Sighting
from peerproof.pipeline.storage.tables import METRICS

#: Rounds without an event that count as a crash.
SILENCE: Final = 3

#: The order of rows within a run.
ORDER: Final = ("run_id", "block", "subject", "t_us", "what", "node", "low")

#: A metric that this module yields, and its unit.
UNITS: Final = {
    "coverage": "share",
    "convergence": "ms",
    "hops": "hops",
    "clock_skew": "ms",
    "detected": "share",
    "detection_first": "ms",
    "detection_last": "ms",
    "false_positives": "times",
    "false_suspicions": "times",
    **routes.UNITS,
    **trees.UNITS,
}

_MILLISECOND: Final = 1000.0


class Nodes:
    """The nodes of one run."""

    def __init__(self, rows: Iterable[Sighting]) -> None:
        self.lives: dict[str, list[Life]] = defaultdict(list)
        self.shared_clock = True
        self.members = Members((), {})
        for row in rows:
            self.lives[row.node].append(Life(row.node, row.t_us, row.low or 0, row.high))
            self.shared_clock &= row.what == SHARED
        for lives in self.lives.values():
            lives.sort()
        self.end: Final = max((life.end for lives in self.lives.values() for life in lives), default=0)
        self.periods: Final = {node: lives[0].period for node, lives in self.lives.items() if lives[0].period}
        self.lasting: Final = sorted(node for node, lives in self.lives.items() if not self.has_crashed(lives[-1]))

    def has_crashed(self, life: Life) -> bool:
        """Whether a life ended in a crash. Without a shared clock, only a node that has started again has crashed."""
        if life is not self.lives[life.node][-1]:
            return True
        return self.shared_clock and life.period is not None and self.end - life.end > SILENCE * life.period

    def round_of(self, node: str, t_us: int) -> int | None:
        """Returns the round of an instant."""
        lives = self.lives.get(node)
        return t_us // lives[0].period if lives and lives[0].period else None


def together(batches: Iterable[Any]) -> Iterator[Any]:
    """Yields batches of `metrics` from batches of `sightings`, sorted by `ORDER`."""
    waiting: list[tuple[Any, ...]] = []
    for run, of_run in groupby(_rows(batches), key=itemgetter(0)):
        nodes = Nodes(())
        for block, of_block in groupby(of_run, key=itemgetter(3)):
            if block == LIVES:
                nodes = Nodes(of_block)
                continue
            if block == MEMBERS:
                nodes.members = Members(of_block, nodes.lives)
                continue
            for _, group in groupby(of_block, key=itemgetter(4)):
                rows = list(group)
                for metric, number, node, value in _figures(block, rows, nodes):
                    waiting.append((run, rows[0].protocol, metric, number, node, float(value), UNITS[metric]))
                if len(waiting) >= ROWS:
                    yield METRICS.batch(waiting)
                    waiting = []
    if waiting:
        yield METRICS.batch(waiting)


def _figures(block: int, rows: Sequence[Sighting], nodes: Nodes) -> Iterator[Figure]:
    if block == JUDGEMENTS:
        return detection_figures(rows, nodes)
    if block == ROUTES:
        return routes.route_figures(rows, nodes.members, nodes.periods, shared_clock=nodes.shared_clock)
    if block == TOPICS:
        return trees.delivery_figures(rows, nodes.members, nodes.periods, nodes.end, shared_clock=nodes.shared_clock)
    return spread(rows, nodes)


def _rows(batches: Iterable[Any]) -> Iterator[Sighting]:
    for batch in batches:
        yield from map(Sighting._make, zip(*(batch.column(name).to_pylist() for name in SIGHTINGS.schema.names), strict=True))


def spread(rows: Sequence[Sighting], nodes: Nodes) -> Iterator[Figure]:
    """Yields the figures of each level of news: how many lasting nodes have learnt it, when the last did, and the hops."""
    made: dict[int, Sighting] = {}
    learnt: dict[int, dict[str, Sighting]] = defaultdict(dict)
    for row in rows:
        assert row.low is not None
        assert row.high is not None
        if row.what == MADE:
            made.setdefault(row.low, row)
        else:
            for level in range(row.low, row.high + 1):
                learnt[level].setdefault(row.node, row)
    for level, origin in made.items():
        owner = origin.node
        expected = [node for node in nodes.lasting if node != owner]
        if not expected:
            continue
        number = nodes.round_of(owner, origin.t_us)
        by_node = learnt[level]
        reached = [by_node[node] for node in expected if node in by_node]
        yield Figure("coverage", number, owner, len(reached) / len(expected))
        if hops := [count for count in (_hops(row, owner, by_node) for row in reached) if count is not None]:
            yield Figure("hops", number, owner, max(hops))
        if nodes.shared_clock and reached:
            first = min(row.t_us for row in reached)
            if first < origin.t_us:
                yield Figure("clock_skew", number, owner, (origin.t_us - first) / _MILLISECOND)
            elif len(reached) == len(expected):
                last = max(row.t_us for row in reached)
                yield Figure("convergence", number, owner, (last - origin.t_us) / _MILLISECOND)


def _hops(row: Sighting | None, owner: str, by_node: dict[str, Sighting]) -> int | None:
    """Returns the number of hops of news; None if a node on the way has not logged it."""
    hops = 1
    while row is not None and row.via != owner:
        hops += 1
        row = by_node.get(row.via or "") if hops <= len(by_node) else None  # restarts can cause a cycle
    return None if row is None else hops


def detection_figures(rows: Sequence[Sighting], nodes: Nodes) -> Iterator[Figure]:
    """Yields the figures of one node: detection of its crashes, and how often others wrongly took it for suspected or down."""
    own = [row for row in rows if row.what in (SHARED, OWN)]
    if not own or not nodes.shared_clock:
        return
    address = own[0].node
    lives = nodes.lives[address]
    judgements = [row for row in rows if row.what not in (SHARED, OWN)]
    for number, life in enumerate(lives):
        if nodes.has_crashed(life):
            until = lives[number + 1].begun if number + 1 < len(lives) else nodes.end + 1
            observers = [node for node in nodes.lasting if node != address and nodes.lives[node][-1].begun <= life.end]
            yield from _detection(life, until, observers, judgements, nodes)
    for metric, status in (("false_positives", DOWN), ("false_suspicions", SUSPECTED)):
        wrong = sum(row.what == status and _is_up(row.t_us, lives, nodes) for row in judgements)
        yield Figure(metric, None, address, wrong)


def _is_up(t_us: int, lives: Iterable[Life], nodes: Nodes) -> bool:
    return any(life.begun <= t_us and (t_us <= life.end or not nodes.has_crashed(life)) for life in lives)


def _detection(
    life: Life, until: int, observers: Sequence[str], judgements: Sequence[Sighting], nodes: Nodes
) -> Iterator[Figure]:
    """Yields the figures of one crash. A node that wrongly took it for down before, and still does, counts as immediate."""
    if not observers:
        return
    delays: dict[str, int] = {}
    for row in judgements:
        if row.t_us <= life.end:
            if row.what == DOWN:
                delays[row.node] = 0
            else:
                delays.pop(row.node, None)
        elif row.t_us < until and row.what == DOWN:
            delays.setdefault(row.node, row.t_us - life.end)
    found = [delays[node] for node in observers if node in delays]
    number = nodes.round_of(life.node, life.end)
    yield Figure("detected", number, life.node, len(found) / len(observers))
    if found:
        yield Figure("detection_first", number, life.node, min(found) / _MILLISECOND)
    if len(found) == len(observers):
        yield Figure("detection_last", number, life.node, max(found) / _MILLISECOND)
