"""Runs made by hand, and what is measured of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.traces.events import Event, canonical_json
from peerproof.pipeline.measures import node_figures as alone
from peerproof.pipeline.measures import spreading
from peerproof.pipeline.measures.node_figures import SIGHTINGS, node_figures
from peerproof.pipeline.storage.tables import METRICS, TRACES

SECOND = 1_000_000

Metric = tuple[str, int | None, str]  #: name, round, node


class Log:
    """The rows of one run, made by hand."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._rows: dict[str, list[Event]] = defaultdict(list)

    def add(
        self, node: str, t_us: int, kind: str, args: Any, effects: Iterable[Any] = (), peer: str | None = None, **more: Any
    ) -> None:
        """One event."""
        rows = self._rows[node]
        rows.append(
            Event(
                "r", self._protocol, "x", node, len(rows), t_us, kind, peer, None, None, None,
                canonical_json(args), "[]", canonical_json(list(effects)), None, None,
            )._replace(**more)
        )  # fmt: skip

    def batches(self, size: int = 1000) -> Iterator[Any]:
        """Sorted, in batches of this size."""
        rows = [row for node in sorted(self._rows) for row in self._rows[node]]
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


def update(peer: str, version: int) -> dict[str, Any]:
    """The effect of learning a pair."""
    return {"notify": {"type": "update", "peer": peer, "key": "k", "value": "v", "version": str(version)}}


DELTA: dict[str, Any] = {"type": "delta", "entries": []}
CONFIG: dict[str, Any] = {"seeds": [], "interval": 1000, "max_payload": 512, "detector": None}
SET = {"type": "update_local", "key": "k", "value": "v"}


def gossip(nodes: str = "abc") -> Log:
    """Scuttlebutt nodes that are up from 0 s to the end."""
    log = Log("scuttlebutt")
    for node in nodes:
        log.add(node, 0, "start", CONFIG)
    return log


def ended(log: Log, nodes: Iterable[str], at: int = 10 * SECOND) -> Log:
    """A last event for each of these nodes."""
    for node in nodes:
        log.add(node, at, "timer", {"type": "round"})
    return log


def log_of(metrics: Sequence[tuple[Metric, float]]) -> dict[str, list[float]]:
    """Values by metric."""
    values: dict[str, list[float]] = defaultdict(list)
    for (name, _, _), value in metrics:
        values[name].append(value)
    return values


SWIM: dict[str, Any] = {"restart_counter": "0", "seeds": [], "interval": 1000, "ae_size": 2, "max_datagram": 1432,
                        "emit_incarnation": False, "cluster_events": ["dead"]}  # fmt: skip


def told(node: str, what: str) -> list[dict[str, Any]]:
    """The effect of telling the application."""
    return [{"notify": {"type": "cluster_event", "node": f"uuid-{node}", "event_type": what}}]


def members(nodes: str, crashed: str = "") -> Log:
    """SWIM nodes; those that crash have their last event at 4 s, the others at 20 s."""
    log = Log("swim")
    for node in nodes:
        log.add(node, 0, "start", {**SWIM, "uuid": f"uuid-{node}"})
    for node in crashed:
        log.add(node, 4 * SECOND, "timer", {"type": "quantum"})
    return log


def alive_to_the_end(log: Log, nodes: str) -> Log:
    for node in nodes:
        log.add(node, 20 * SECOND, "timer", {"type": "quantum"})
    return log
