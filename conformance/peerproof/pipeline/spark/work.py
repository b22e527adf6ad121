"""
The engine: a function over a list of units of work, on Spark or in this process.

Every stage is a `mapInArrow` over a DataFrame with a row, and a partition, per unit, the heaviest first; what it computes
goes to files (`batches`), so that nothing of the data passes through Java. `worker` is a plain generator over Arrow
batches, which runs without Java too:

    for finished in worker(batch.folder, simulate)(iter([unit_rows(units)])): ...

How far the work is, is seen from the files of finished units, which is all that local, cluster and Spark Connect have in
common. So the place must be a folder that the driver and all executors see.
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

#: Does one unit: writes the rows that follow from its task.
Stage: TypeAlias = Callable[[Unit, Output], None]

#: What a stage makes of the units: a generator over Arrow batches.
Worker: TypeAlias = Callable[[Iterable[Any]], Iterator[Any]]

UNITS: Final = pa.schema([("number", pa.int64()), ("task", pa.string()), ("weight", pa.float64())])
FINISHED: Final = pa.schema([("unit", pa.string()), ("wall_s", pa.float64()), ("peak_mib", pa.float64())])
FINISHED_DDL: Final = "unit STRING, wall_s DOUBLE, peak_mib DOUBLE"

#: Seconds between two looks at what is finished.
LOOK: Final = 0.25


class Show(Protocol):
    """Is told how far the work is."""

    def __call__(self, done: int, total: int, share: float) -> None:
        """So many units of so many are finished, which are so much of the weight, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Done:
    """What it took. `peak_mib` is the most memory that a Python worker has had, over all units, those of earlier runs too."""

    units: int
    found_finished: int
    wall_s: float
    peak_mib: float


def peak_mib() -> float:
    """The most memory that this process has had, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # bytes there, kibibytes elsewhere


def unit_rows(units: Sequence[Unit]) -> Any:
    """Units as a `pyarrow.RecordBatch`."""
    rows = [{"number": unit.number, "task": canonical_json(unit.task), "weight": unit.weight} for unit in units]
    return pa.RecordBatch.from_pylist(rows, UNITS)


def worker(folder: Path, stage: Stage) -> Worker:
    """What does the units of each batch of rows, unless they are finished, and yields a row for each."""

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
    """Units as a DataFrame, each in a partition of its own, in their order."""
    from pyspark.sql import functions as F  # noqa: N812  # as everybody calls it

    tasks = [{"number": unit.number, "task": canonical_json(unit.task), "weight": unit.weight} for unit in units]
    listed = F.from_json(F.lit(json.dumps(tasks)), "array<struct<number: bigint, task: string, weight: double>>")
    rows = spark.range(0, len(units), 1, len(units)).select(F.get(listed, F.col("id").cast("int")).alias("unit"))
    return rows.select("unit.number", "unit.task", "unit.weight")


def run_units(units: DataFrame, folder: Path, stage: Stage) -> DataFrame:
    """A DataFrame of what is finished, from one of units; the rows that the stage writes are in the folder."""
    return units.mapInArrow(worker(folder, stage), FINISHED_DDL)


def work(spark: SparkSession | None, batch: Batch, units: Sequence[Unit], stage: Stage, show: Show | None = None) -> Done:
    """
    Do all units that are not finished, the heaviest first; without Spark in this process, one after the other.

    Raises what the stage raises; from Spark, as the exception of pyspark that `spark_errors.explain` puts into words.
    """
    begun = time.monotonic()
    finished = batch.find_finished()
    waiting = sorted((unit for unit in units if unit.name not in finished), key=lambda unit: (-unit.weight, unit.number))
    told = _teller(batch, units, show)
    told()
    if spark is None:
        for _ in worker(batch.folder, stage)(unit_rows([unit]) for unit in waiting):
            told()
    elif waiting:
        frame = run_units(unit_frame(spark, waiting), batch.folder, stage)
        _run_job(frame.collect, told)
    peaks = [remarks["peak_mib"] for remarks in batch.remarks(units)]
    return Done(len(units), len(units) - len(waiting), time.monotonic() - begun, max(peaks, default=0.0))


def _run_job(job: Callable[[], Any], told: Callable[[], None]) -> None:
    """Run a job beside the main thread, which so can tell how far it is, and hears Ctrl-C at once."""
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
        told()
    if failed:
        raise failed[0]


def _teller(batch: Batch, units: Sequence[Unit], show: Show | None) -> Callable[[], None]:
    weights = {unit.name: unit.weight for unit in units}
    whole = sum(weights.values()) or 1.0

    def tell() -> None:
        if show:
            done = batch.find_finished() & weights.keys()
            show(len(done), len(weights), sum(weights[name] for name in done) / whole)

    return tell
