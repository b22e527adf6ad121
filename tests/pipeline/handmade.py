"""Events of runs made by hand, and what is measured of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.traces.events import Event, canonical_json
from peerproof.pipeline.measures import node_figures as alone
from peerproof.pipeline.measures import spreading
from peerproof.pipeline.measures.node_figures import SIGHTINGS, node_figures
from peerproof.pipeline.storage.tables import METRICS, TRACES

SECOND = 1_000_000

Metric = tuple[str, int | None, str]  #: name, round, node


def happens(
    node: str, at: float, kind: str, args: Any, *effects: Any, peer: str | None = None, size: int | None = None, **more: Any
) -> Event:
    """An event of a node, so many seconds after the beginning; `size` is in bytes."""
    event = Event(
        "r", "", "x", node, 0, round(at * SECOND), kind, peer, None, size, None,
        canonical_json(args), "[]", canonical_json(effects), None, None,
    )  # fmt: skip
    return event._replace(**more)


def ticks(nodes: str, at: float, *effects: Any, timer: str) -> list[Event]:
    """A timer runs out at each of these nodes."""
    return [happens(node, at, "timer", {"type": timer}, *effects) for node in nodes]


class Log:
    """The events of one run, numbered for each node."""

    def __init__(self, protocol: str, events: Iterable[Event]) -> None:
        self.nodes: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            own = self.nodes[event.node]
            own.append(event._replace(protocol=protocol, seq=len(own)))

    def batches(self, size: int = 1000) -> Iterator[Any]:
        """Sorted, in batches of this size."""
        rows = [event for node in sorted(self.nodes) for event in self.nodes[node]]
        for start in range(0, len(rows), size):
            yield TRACES.batch(rows[start : start + size])

    def metrics(self, *, shared_clock: bool = True, size: int = 1000) -> list[tuple[Metric, float]]:
        """What is measured."""
        own = node_figures(METRICS, shared_clock=shared_clock)(self.batches(size))
        seen = list(node_figures(SIGHTINGS, shared_clock=shared_clock)(self.batches(size)))
        rows = pa.Table.from_batches(seen, SIGHTINGS.schema).sort_by([(name, "ascending") for name in spreading.ORDER])
        together = spreading.together(rows.to_batches(max_chunksize=size))
        found = [row for batch in (*own, *together) for row in batch.to_pylist()]
        assert {row["unit"] for row in found} <= {*alone.UNITS.values(), *spreading.UNITS.values()}
        return [((row["metric"], row["round"], row["node"]), row["value"]) for row in found]

    def values(self, *, shared_clock: bool = True) -> dict[str, list[float]]:
        """Values by metric, sorted."""
        values: dict[str, list[float]] = defaultdict(list)
        for (name, _, _), value in self.metrics(shared_clock=shared_clock):
            values[name].append(value)
        return {name: sorted(found) for name, found in values.items()}
