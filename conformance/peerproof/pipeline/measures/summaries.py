"""
Summaries of figures: percentiles of each metric by configuration, in a table and in CSV files.

Only the counts of distinct values are in memory. Percentiles are exact, by nearest rank, for up to `DISTINCT` different values of
a metric; with more, values are rounded to three digits. The result does not depend on the order of rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.csv as pa_csv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.pipeline.measures.node_figures import ROWS
from peerproof.pipeline.storage.batches import Output, Unit, atomic_write
from peerproof.pipeline.storage.tables import METRICS, SUMMARIES

#: Maximum different values of a metric without rounding.
DISTINCT: Final = 10_000

#: The percentiles of `summaries`, by their columns.
PERCENTILES: Final[Mapping[str, int]] = {"p50": 50, "p90": 90, "p99": 99}


class Key(NamedTuple):
    """The key of a row of `summaries`."""

    protocol: str
    config_json: str
    metric: str
    unit: str


class Distribution:
    """The count of each value."""

    def __init__(self) -> None:
        self.counts: Counter[float] = Counter()
        self._rounded = False

    def add(self, value: float, times: int = 1) -> None:
        """Counts a value."""
        self.counts[_round_value(value) if self._rounded else value] += times
        if not self._rounded and len(self.counts) > DISTINCT:
            self._rounded = True
            exact, self.counts = self.counts, Counter()
            for each, count in exact.items():
                self.counts[_round_value(each)] += count

    def row(self) -> tuple[Any, ...]:
        """Returns count, total, least, mean, percentiles and most."""
        values = sorted(self.counts)
        number = sum(self.counts.values())
        total = math.fsum(value * self.counts[value] for value in values)
        ranks = [math.ceil(number * percent / 100) for percent in PERCENTILES.values()]
        return number, total, values[0], total / number, *self._at(values, ranks), values[-1]

    def _at(self, values: Sequence[float], ranks: Sequence[int]) -> list[float]:
        found: list[float] = []
        passed = 0
        for value in values:
            passed += self.counts[value]
            while len(found) < len(ranks) and ranks[len(found)] <= passed:
                found.append(value)
        return found


def _round_value(value: float) -> float:
    return float(f"{value:.2e}")


def summary_rows(metrics: Iterable[Any], configurations: Any) -> list[tuple[Any, ...]]:
    """
    Returns the rows of `summaries`, from batches of `metrics` and a table of `run_id` and `config_json`.

    The configuration of a run is the empty text if it is unknown.
    """
    distributions: dict[Key, Distribution] = {}
    runs = configurations.column("run_id").combine_chunks()
    configs = configurations.column("config_json").combine_chunks().dictionary_encode()
    for batch in metrics:
        config = configs.take(pc.index_in(batch.column("run_id"), runs))
        rows = pa.table(
            {
                "config": config.dictionary_decode(),
                **{name: batch.column(name) for name in ("protocol", "metric", "unit", "value")},
            }
        )
        counted = rows.group_by(["protocol", "config", "metric", "unit", "value"]).aggregate([([], "count_all")])
        for row in counted.to_pylist():
            key = Key(row["protocol"], row["config"] or "", row["metric"], row["unit"])
            distributions.setdefault(key, Distribution()).add(row["value"], row["count_all"])
    return [(*key, *distribution.row()) for key, distribution in sorted(distributions.items())]


def summarise(folder: Path, unit: Unit, output: Output) -> None:
    """Writes `summaries`, and both tables as CSV, from `metrics` in this folder and the `runs` that the task names."""
    files = [file for name in unit.task["metrics"] if (file := folder / METRICS.name / name).exists()]
    runs = pa.concat_tables(
        pq.read_table(file, columns=["run_id", "config_json"], partitioning=None) for file in unit.task["runs"]
    )
    rows = SUMMARIES.batch(summary_rows(_batches(files), runs))
    output.write(SUMMARIES, rows)
    _write_csv(folder / "metrics.csv", METRICS.schema, _batches(files))
    _write_csv(folder / "summaries.csv", SUMMARIES.schema, [rows])


def _batches(files: Iterable[Path]) -> Iterable[Any]:
    return (batch for file in files for batch in pq.ParquetFile(file).iter_batches(ROWS))


def _write_csv(path: Path, schema: Any, batches: Iterable[Any]) -> None:
    with atomic_write(path) as unfinished, pa_csv.CSVWriter(unfinished, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
