"""What `spreading` and `routes` look at and yield: rows of the table `sightings`, lives of nodes, and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Sighting(NamedTuple):
    """A row of `sightings`, column by column."""

    run_id: str
    protocol: str
    slot: int
    block: int
    subject: str
    t_us: int
    what: str
    node: str
    low: int | None
    high: int | None
    via: str | None


class Life(NamedTuple):
    """From a node's start to its last event."""

    node: str
    begun: int
    end: int
    period: int | None


class Figure(NamedTuple):
    """What becomes a row of `metrics`."""

    metric: str
    round: int | None
    node: str
    value: float


def round_of(row: Sighting, periods: Mapping[str, int]) -> int | None:
    """The round of a sighting, by the microseconds of a round of its node."""
    period = periods.get(row.node)
    return row.t_us // period if period else None
