"""
The stage `measure`: computes `metrics` and `summaries` of runs, such as costs and delays.

It has three steps, each a list of units: each file of `traces` is read once, node by node (`node_figures`); observations of
several nodes are combined group by group (`spreading`), with the groups distributed over units by a hash of their names; and the
figures are summarized by configuration (`summaries`). Memory holds only one node's rounds, one group, or the counts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.pipeline.measures import spreading
from peerproof.pipeline.measures.node_figures import MEMBERS, ROWS, SIGHTINGS, SLOTS, Pass, node_figures
from peerproof.pipeline.measures.summaries import summarise
from peerproof.pipeline.spark.execution import Engine, Executed
from peerproof.pipeline.spark.work import Done, Show, work
from peerproof.pipeline.storage.arrow_rows import read_batches
from peerproof.pipeline.storage.batches import Batch, Output, Plan, Success, Unit, successes
from peerproof.pipeline.storage.tables import METRICS, RUNS, SUMMARIES, TRACES
from peerproof.pipeline.storage.versions import code_digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Rows of `sightings` per unit of the second step.
TOGETHER: Final = 100_000

#: Events in memory.
EVENTS: Final = 2048


class NothingToMeasure(Exception):
    """There is no committed batch with events; the message says what to do."""


class Source(NamedTuple):
    """A committed batch whose events are measured."""

    success: Success
    shared_clock: bool  #: whether the nodes of a run share a clock


def sources(place: Path, *, shared_clock: bool) -> list[Source]:
    """Returns the batches of a place with events. Simulated nodes share a clock. Raises NothingToMeasure, WrongSchema."""
    found = [success for success in successes(place) if success.rows(TRACES)]
    if not found:
        raise NothingToMeasure(f"no events in {place}: run simulate or ingest with --output {place} first, to its end")
    return [Source(success, shared_clock or success.told["stage"] == "simulate") for success in found]


def plan(measured: Sequence[Source]) -> Plan:
    """Returns the plan of the batch."""
    return Plan(
        "measure",
        inputs=tuple(
            {"batch": source.success.folder.name, "traces": source.success.digest(TRACES), "shared_clock": source.shared_clock}
            for source in measured
        ),
        arguments={},
        seeds=(),
        versions={
            "pipeline": code_digest("peerproof.pipeline.measures"),
            **{name: version for source in measured for name, version in source.success.told["versions"].items()},
        },
    )


def execute(engine: Engine, place: Path, measured: Sequence[Source], show: Callable[[str], Show | None]) -> Executed:
    """
    Runs the unfinished units and commits the batch.

    `show`: name of a step -> its progress display. Raises Refused, SparkUnusable, WrongSchema.
    """
    with Batch.open(place, plan(measured)) as batch:
        done: list[Done] = []

        def step(name: str, units: Sequence[Unit], stage: Callable[[Unit, Output], None]) -> None:
            several = len({unit.name for unit in units} - batch.find_finished()) > 1  # a single unit is faster here
            done.append(work(engine.spark if several else None, batch, units, stage, show(name)))

        if not batch.is_committed:
            alone = _alone(measured)
            step("nodes", alone, measure_nodes)
            together = _together(batch, alone)
            step("runs", together, partial(measure_together, batch.folder))
            summary = _summary(measured, [*alone, *together])
            step("percentiles", [summary], partial(summarise, batch.folder))
            units = [*alone, *together, summary]
            batch.commit(units, (METRICS, SUMMARIES), peak_mib=max(each.peak_mib for each in done))
        shutil.rmtree(batch.folder / SIGHTINGS.name, ignore_errors=True)
        return Executed(Success.read(batch.folder), _in_all(done) if done else None)


def _in_all(steps: Sequence[Done]) -> Done:
    return Done(
        sum(step.units for step in steps),
        sum(step.found_finished for step in steps),
        sum(step.wall_s for step in steps),
        max(step.peak_mib for step in steps),
    )


def _alone(measured: Iterable[Source]) -> list[Unit]:
    units: list[Unit] = []
    for source in measured:
        for file in source.success.files(TRACES):
            task = {"file": str(file), "shared_clock": source.shared_clock}
            units.append(Unit(len(units), task, float(pq.read_metadata(file).num_rows)))
    return units


def measure_nodes(unit: Unit, output: Output) -> None:
    """Writes `metrics` and `sightings` of the nodes of one file of `traces`."""
    measuring = Pass(output.write, shared_clock=unit.task["shared_clock"])
    for batch in read_batches(Path(unit.task["file"]), size=EVENTS):
        measuring.add(batch)
    measuring.finish()


def _together(batch: Batch, alone: Sequence[Unit]) -> list[Unit]:
    """Returns units with about the same number of groups each; their number depends on the rows."""
    rows = sum(remarks["tables"].get(SIGHTINGS.name, {"rows": 0})["rows"] for remarks in batch.remarks(alone))
    files = [f"{unit.name}.parquet" for unit in alone]
    count = -(-rows // TOGETHER)
    bounds = [SLOTS * number // max(1, count) for number in range(count + 1)]
    return [
        Unit(len(alone) + number, {"files": files, "slots": [low, high]}) for number, (low, high) in enumerate(pairwise(bounds))
    ]


def measure_together(folder: Path, unit: Unit, output: Output) -> None:
    """Writes `metrics` of the groups in some slots, from the `sightings` in this folder."""
    files = [file for name in unit.task["files"] if (file := folder / SIGHTINGS.name / name).exists()]
    low, high = unit.task["slots"]
    slot, block, run = pc.field("slot"), pc.field("block"), pc.field("run_id")
    groups = _where(files, (slot >= low) & (slot < high) & (block > MEMBERS))
    lives = _where(files, (block <= MEMBERS) & run.isin(pc.unique(groups.column("run_id"))))
    rows = pa.concat_tables([groups, lives])
    rows = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in spreading.ORDER]))
    for figures in spreading.together(rows.to_batches(max_chunksize=ROWS)):
        output.write(METRICS, figures)


def _where(files: Iterable[Path], condition: Any) -> Any:
    """Returns filtered rows of `sightings`, read batch by batch."""
    found = [SIGHTINGS.schema.empty_table()]
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(ROWS):
            rows = pa.Table.from_batches([batch], SIGHTINGS.schema).filter(condition)
            if rows.num_rows:
                found.append(rows)
    return pa.concat_tables(found)


def _summary(measured: Iterable[Source], units: Sequence[Unit]) -> Unit:
    runs = [str(file) for source in measured for file in source.success.files(RUNS)]
    return Unit(len(units), {"metrics": [f"{unit.name}.parquet" for unit in units], "runs": runs})


def measure_traces(traces: DataFrame, *, shared_clock: bool) -> DataFrame:
    """
    Returns a DataFrame of `metrics` from one of `traces`; `shared_clock`: whether the nodes of a run share a clock.

    The rows are those of the stage. All rows of a run are in one task, which reads them sequentially.
    """
    rows = traces.repartition("run_id").sortWithinPartitions("run_id", "node", "seq")
    figures = rows.mapInArrow(node_figures(METRICS, shared_clock=shared_clock), METRICS.ddl)
    sightings = rows.mapInArrow(node_figures(SIGHTINGS, shared_clock=shared_clock), SIGHTINGS.ddl)
    by_run = sightings.repartition("run_id").sortWithinPartitions(*spreading.ORDER)
    return figures.unionAll(by_run.mapInArrow(_together_of, METRICS.ddl))


def _together_of(batches: Iterable[Any]) -> Iterator[Any]:
    return spreading.together(batches)
