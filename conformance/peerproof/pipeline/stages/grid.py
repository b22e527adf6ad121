"""
Parameter grids: each combination of the listed values is a configuration.

    nodes: [3, 10]                  # a list: each of these values
    rounds: 50
    loss: [0, 0.1]                  # also duplication, reordering
    delay: [1-10, 50-200]           # milliseconds, minimum and maximum
    partition: [null, 10-30]        # into two halves, from one round to another
    crash: [null, 2@10]             # node 2 in round 10; several with spaces between: 2@10 1@20
    restart: 2@30
    updates: 5                      # pairs that each node sets, messages that it routes
    churn: [0, 0.05]                # probability per round of the second half that a node crashes, and restarts later
    topics: 4                       # number of topics, of Peter
    subscriptions: 2                # number of topics to which each node subscribes
    apart: [0, 2]                   # rounds from one node's start to the next; 0: all in the first round
    config: {interval: [500, 1000]} # members of the protocol's configuration, of every node

A value that is a list is written in a list: `config: {cluster_events: [[dead, suspicious]]}` is one configuration.

Other parameters have the defaults of `peerproof node simulate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from itertools import product
from typing import Any, Final

import yaml

from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.core import Duration
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain

#: One configuration, as plain data: all members of `DEFAULTS`.
Point = dict[str, Plain]

DEFAULTS: Final[Mapping[str, Plain]] = {
    "nodes": 5,
    "rounds": 50,
    "updates": 5,
    "apart": 0,
    "churn": 0.0,
    "topics": 4,
    "subscriptions": 2,
    "loss": 0.0,
    "duplication": 0.0,
    "reordering": 0.0,
    "delay": "1-10",
    "partition": None,
    "crash": None,
    "restart": None,
    "config": {},
}
MOST_POINTS: Final = 100_000


class BadGrid(Exception):
    """An invalid grid; the message says where and why."""


def read(text: str) -> list[Point]:
    """Parses the configurations of a grid in YAML, in the order of its members. Raises BadGrid."""
    try:
        grid = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadGrid(f"not YAML: {' '.join(str(error).split())}") from None
    if grid is None:
        grid = {}
    if not isinstance(grid, dict):
        raise BadGrid(f"expected a mapping with some of {', '.join(DEFAULTS)}, found {grid!r}")
    for name in grid:
        if name not in DEFAULTS:
            close = get_close_matches(str(name), DEFAULTS, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise BadGrid(f"no parameter {name!r}{hint}; there are {', '.join(DEFAULTS)}")
    points: list[Point] = []
    for point in _combinations(grid):
        points.append(_parse_point({**DEFAULTS, **point}))
        if len(points) > MOST_POINTS:
            raise BadGrid(f"more than {MOST_POINTS:,} combinations: list fewer values")
    return points


def campaign(protocol: Runtime, point: Point, seed: str) -> Campaign:
    """Returns the campaign of a configuration. Raises ValueError if the protocol does not allow it."""
    least, most = _span(point["delay"])
    return Campaign(
        protocol=protocol,
        config=point["config"],
        nodes=point["nodes"],
        rounds=point["rounds"],
        seed=seed,
        updates=point["updates"],
        faults=Faults(point["loss"], point["duplication"], point["reordering"], Duration(least), Duration(most)),
        partition=None if point["partition"] is None else _span(point["partition"]),
        crashes=_moments(point["crash"]),
        restarts=_moments(point["restart"]),
        apart=point["apart"],
        churn=point["churn"],
        topics=point["topics"],
        subscriptions=point["subscriptions"],
    )


def check(protocol: Runtime, points: list[Point]) -> None:
    """Raises BadGrid if one of the configurations is invalid."""
    for point in points:
        try:
            campaign(protocol, point, "")
        except (ValueError, MalformedMessage) as error:
            changed = {name: value for name, value in point.items() if value != DEFAULTS[name]}
            raise BadGrid(f"with {changed}: {getattr(error, 'detail', None) or error}") from None


def _combinations(grid: Any) -> Iterator[Any]:
    """Yields every combination of one value from each list; a list in a list is a value."""
    if isinstance(grid, list):
        for value in grid:
            yield from [value] if isinstance(value, list) else _combinations(value)
    elif isinstance(grid, dict):
        for values in product(*(list(_combinations(value)) for value in grid.values())):
            yield dict(zip(grid, values, strict=True))
    else:
        yield grid


def _parse_point(point: Point) -> Point:
    try:
        return {name: _READ[name](name, value) for name, value in point.items()}
    except ValueError as error:
        raise BadGrid(str(error)) from None


def _count(name: str, value: Plain, least: int = 1) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{name}: expected a number, at least {least}, found {value!r}")
    return value


def _chance(name: str, value: Plain) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError(f"{name}: expected a chance from 0 to 1, found {value!r}")
    return float(value)


def _fitting(pattern: str, example: str, *, optional: bool = True) -> Callable[[str, Plain], str | None]:
    def read_text(name: str, value: Plain) -> str | None:
        if value is None and optional:
            return None
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError(f"{name}: expected {example}, found {value!r}")
        return " ".join(value.split())

    return read_text


def _mapping(_name: str, value: Plain) -> dict[str, Plain]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"config: expected a mapping, found {value!r}")
    return value


_MOMENTS: Final = r"\s*\d{1,9}@\d{1,9}(\s+\d{1,9}@\d{1,9})*\s*"
_SPAN: Final = r"\d{1,9}-\d{1,9}"
_moments_text: Final = _fitting(_MOMENTS, "a node and a round, as in 2@10")
_READ: Final[Mapping[str, Callable[[str, Plain], Plain]]] = {
    **dict.fromkeys(("nodes", "rounds", "updates", "topics"), _count),
    **dict.fromkeys(("apart", "subscriptions"), partial(_count, least=0)),
    **dict.fromkeys(("churn", "loss", "duplication", "reordering"), _chance),
    **dict.fromkeys(("crash", "restart"), _moments_text),
    "delay": _fitting(_SPAN, "milliseconds, as in 1-10", optional=False),
    "partition": _fitting(_SPAN, "two rounds, as in 10-30"),
    "config": _mapping,
}


def _span(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if int(first) > int(last):
        raise ValueError(f"{text}: the second number must not be less than the first")
    return int(first), int(last)


def _moments(text: str | None) -> tuple[tuple[int, int], ...]:
    moments = (moment.partition("@") for moment in (text or "").split())
    return tuple((int(node), int(number)) for node, _, number in moments)
