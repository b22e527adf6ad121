"""Input and output of `spreading`, `routes` and `trees`: rows of the table `sightings`, lives of nodes, and figures."""

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
    """A life of a node, from its start to its last event."""

    node: str
    begun: int
    end: int
    period: int | None


class Figure(NamedTuple):
    """A row of `metrics`, without run and unit."""

    metric: str
    round: int | None
    node: str
    value: float


def round_of(row: Sighting, periods: Mapping[str, int]) -> int | None:
    """Returns the round of a sighting; `periods`: node -> microseconds of a round."""
    period = periods.get(row.node)
    return row.t_us // period if period else None
