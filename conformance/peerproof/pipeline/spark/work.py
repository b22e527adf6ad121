"""
The engine: runs a function over a list of units of work, on Spark or in this process.

Every stage is a `mapInArrow` over a DataFrame with a row, and a partition, per unit, the heaviest first. Its results are written
to files (`batches`), so that no data passes through Java. `worker` is a plain generator over Arrow batches, which also runs
without Java:

    for finished in worker(batch.folder, simulate)(iter([unit_rows(units)])): ...

The progress is read from the files of finished units, because that works with local Spark, clusters and Spark Connect. So the
place must be a folder that the driver and all executors share.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.traces.events import canonical_json
from peerproof.pipeline.storage.batches import Batch, Output, Unit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Runs one unit: writes the rows of its task.
Stage: TypeAlias = Callable[[Unit, Output], None]

#: A generator over Arrow batches that runs units.
Worker: TypeAlias = Callable[[Iterable[Any]], Iterator[Any]]

UNITS: Final = pa.schema([("number", pa.int64()), ("task", pa.string()), ("weight", pa.float64())])
FINISHED: Final = pa.schema([("unit", pa.string()), ("wall_s", pa.float64()), ("peak_mib", pa.float64())])
FINISHED_DDL: Final = "unit STRING, wall_s DOUBLE, peak_mib DOUBLE"

#: Seconds between two updates of the progress.
LOOK: Final = 0.25


class Show(Protocol):
    """Shows the progress."""

    def __call__(self, done: int, total: int, share: float) -> None:
        """Called when `done` of `total` units are finished, which are `share` of the weight, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Done:
    """The resources used. `peak_mib`: maximum memory of a Python worker, over all units, including those of earlier runs."""

    units: int
    found_finished: int
    wall_s: float
    peak_mib: float


def peak_mib() -> float:
    """Returns the peak memory of this process in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # bytes on macOS, KiB elsewhere


def unit_rows(units: Sequence[Unit]) -> Any:
    """Returns units as a `pyarrow.RecordBatch`."""
    rows = [{"number": unit.number, "task": canonical_json(unit.task), "weight": unit.weight} for unit in units]
    return pa.RecordBatch.from_pylist(rows, UNITS)


def worker(folder: Path, stage: Stage) -> Worker:
    """Returns a generator that runs the units of each batch and yields a row for each."""

    def perform(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in batch.to_pylist():
                unit = Unit(row["number"], json.loads(row["task"]), row["weight"])
                yield pa.RecordBatch.from_pylist([_run_unit(folder, stage, unit)], FINISHED)

    return perform


def _run_unit(folder: Path, stage: Stage, unit: Unit) -> dict[str, Any]:
    begun = time.monotonic()
    output = Output(folder, unit)
    try:
        stage(unit, output)
    except BaseException:
        output.abandon()
        raise
    remarks = {"wall_s": round(time.monotonic() - begun, 6), "peak_mib": round(peak_mib(), 1)}
    output.finish(**remarks)
    return {"unit": unit.name, **remarks}


def unit_frame(spark: SparkSession, units: Sequence[Unit]) -> DataFrame:
    """Returns units as a DataFrame, each in its own partition, in order."""
    from pyspark.sql import functions as F  # noqa: N812  # the usual name

    tasks = [{"number": unit.number, "task": canonical_json(unit.task), "weight": unit.weight} for unit in units]
    listed = F.from_json(F.lit(json.dumps(tasks)), "array<struct<number: bigint, task: string, weight: double>>")
    rows = spark.range(0, len(units), 1, len(units)).select(F.get(listed, F.col("id").cast("int")).alias("unit"))
    return rows.select("unit.number", "unit.task", "unit.weight")


def run_units(units: DataFrame, folder: Path, stage: Stage) -> DataFrame:
    """Returns a DataFrame of finished units from one of units; the rows that the stage writes are in the folder."""
    return units.mapInArrow(worker(folder, stage), FINISHED_DDL)


def work(spark: SparkSession | None, batch: Batch, units: Sequence[Unit], stage: Stage, show: Show | None = None) -> Done:
    """
    Runs all unfinished units, the heaviest first; without Spark in this process, one after the other.

    Raises the exceptions of the stage; with Spark, as exceptions of pyspark, for `spark_errors.explain`.
    """
    begun = time.monotonic()
    finished = batch.find_finished()
    waiting = sorted((unit for unit in units if unit.name not in finished), key=lambda unit: (-unit.weight, unit.number))
    notify = _progress_notifier(batch, units, show)
    notify()
    if spark is None:
        for _ in worker(batch.folder, stage)(unit_rows([unit]) for unit in waiting):
            notify()
    elif waiting:
        frame = run_units(unit_frame(spark, waiting), batch.folder, stage)
        _run_job(frame.collect, notify)
    peaks = [remarks["peak_mib"] for remarks in batch.remarks(units)]
    return Done(len(units), len(units) - len(waiting), time.monotonic() - begun, max(peaks, default=0.0))


def _run_job(job: Callable[[], Any], notify: Callable[[], None]) -> None:
    """Runs a job in a second thread, so that the main thread can show the progress and handle Ctrl-C at once."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001  # raised below, in the thread that waits
            failed.append(error)

    thread = threading.Thread(target=run, name="spark-job", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LOOK)
        notify()
    if failed:
        raise failed[0]


def _progress_notifier(batch: Batch, units: Sequence[Unit], show: Show | None) -> Callable[[], None]:
    weights = {unit.name: unit.weight for unit in units}
    whole = sum(weights.values()) or 1.0

    def notify() -> None:
        if show:
            done = batch.find_finished() & weights.keys()
            show(len(done), len(weights), sum(weights[name] for name in done) / whole)

    return notify
