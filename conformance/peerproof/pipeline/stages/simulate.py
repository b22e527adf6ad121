"""
The stage `simulate`: simulates seeded runs over a parameter grid, and writes `traces` and `runs`.

Run number i has the configuration i modulo the number of configurations, and the seed `<seed>-<i>`, which determine it: the same
arguments give the same bytes, on any machine and in any order of the units. `peerproof node simulate` repeats a run with the same
seed and options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from peerproof.conformance.traces.events import Event, canonical_json, column_text, event_of
from peerproof.pipeline.spark.execution import Work
from peerproof.pipeline.stages.grid import BadGrid, Point, campaign, check
from peerproof.pipeline.storage.batches import Output, Plan, Unit
from peerproof.pipeline.storage.digests import sum_of
from peerproof.pipeline.storage.sorting import ByNode
from peerproof.pipeline.storage.tables import RUNS, TRACES
from peerproof.pipeline.storage.versions import code_digest, spec_version
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation import campaign as campaigns
from peerproof.reference.simulation.plan import run_id
from peerproof.spec.core import NodeId, Specification
from peerproof.spec.traces.trace import Line

#: Nodes times rounds of the runs of a unit, unless a single run has more: about a second of work.
UNIT: Final = 2_000


def simulation(protocol: str, points: Sequence[Point], runs: int, seed: str) -> Work:
    """Returns the work of simulating a number of runs. Raises BadGrid."""
    check(RUNTIMES[protocol], list(points))
    if runs < len(points):
        raise BadGrid(f"{runs:,} runs cannot cover all {len(points):,} configurations of the grid: give --runs {len(points)}")
    version = spec_version(protocol)
    plan = Plan(
        "simulate",
        inputs=(),
        arguments={"protocol": protocol, "runs": runs, "grid": list(points)},
        seeds=(seed,),
        versions={"spec": version, "reference": code_digest("peerproof.reference")},
    )
    return Work(plan, _units(protocol, points, runs, seed, version), simulate, (TRACES, RUNS))


def _units(protocol: str, points: Sequence[Point], runs: int, seed: str, version: str) -> list[Unit]:
    """Returns units of consecutive runs, each about a second of work."""
    units: list[Unit] = []
    chosen: list[tuple[int, Point]] = []
    weight = 0
    for number in range(runs):
        point = points[number % len(points)]
        chosen.append((number, point))
        weight += point["nodes"] * point["rounds"]
        if weight >= UNIT or number == runs - 1:
            task = {"protocol": protocol, "seed": seed, "spec_version": version, "runs": chosen}
            units.append(Unit(len(units), task, float(weight)))
            chosen, weight = [], 0
    return units


def simulate(unit: Unit, output: Output) -> None:
    """Simulates the runs of a unit."""
    protocol = RUNTIMES[unit.task["protocol"]]
    specification = protocol.specification()
    rows: list[tuple[Any, ...]] = []
    for number, point in unit.task["runs"]:
        plan = campaign(protocol, point, f"{unit.task['seed']}-{number:06}")
        name = run_id(plan)
        with ByNode() as events:
            rows_of = Rows(specification, name, events)
            campaigns.run(plan, recorder=rows_of)
            digests = [output.write(TRACES, batch).digest for batch in events.batches()]
        rows.append(
            (
                column_text(name),
                protocol.name,
                "simulated",
                canonical_json(point),
                column_text(plan.seed),
                unit.task["spec_version"],
                len(rows_of.nodes),
                rows_of.count,
                "complete",
                sum_of(digests),
            )
        )
    output.write(RUNS, RUNS.batch(rows))


class Rows(Recorder):
    """Records a run as rows of `traces`."""

    def __init__(self, specification: Specification, run: str, events: ByNode) -> None:
        super().__init__(specification, run, _reject_line)
        self.count = 0
        self.nodes: set[str] = set()
        self._encode = specification.MESSAGE.encode
        self._events = events
        self._size: int | None = None

    def record_step(self, node: NodeId, event: Any, *rest: Any) -> None:
        """Records a step, with the size of its message."""
        message = getattr(event, "message", None)
        self._size = None if message is None else len(self._encode(message))
        super().record_step(node, event, *rest)

    def keep(self, line: Line) -> None:
        """Stores a line as a row."""
        row: Event = event_of(line, self._size)
        self._size = None
        self.nodes.add(row.node)
        self.count += 1
        self._events.add(row)


def _reject_line(line: str) -> None:
    raise AssertionError(line)
