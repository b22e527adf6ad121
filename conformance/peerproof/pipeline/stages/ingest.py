"""
The stage `ingest`: logs and captures of other programs become `traces`, `runs` and `quarantine`.

It has three steps, each a list of units: parts of files are read into chunks of rows (`chunks`), each bucket of chunks is written
in the order of `traces`, and the runs are counted. Only the first step shuffles.

Every record is accounted for: it becomes a row, is quarantined, or is left out on request. The sum is computed from the written
rows; a batch with a wrong sum is not committed.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.traces.events import column_text
from peerproof.pipeline.ingest.foreign_lines import LISTED, UNLISTED, UNNUMBERED
from peerproof.pipeline.ingest.inputs import Format, Input
from peerproof.pipeline.ingest.mapping import load
from peerproof.pipeline.ingest.reading import COUNTS, read_part
from peerproof.pipeline.spark.execution import Engine, finish_units
from peerproof.pipeline.spark.work import Done, Show
from peerproof.pipeline.storage.batches import Batch, Output, Plan, Success, Unit
from peerproof.pipeline.storage.chunks import CHUNKS, INDEX, Group, groups, merge
from peerproof.pipeline.storage.digests import NOTHING, digest, sum_of
from peerproof.pipeline.storage.tables import QUARANTINE, RUNS, TRACES, Column, Table, Type
from peerproof.pipeline.storage.versions import code_digest, spec_version
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.forms.form import Plain

_MIB: Final = 2**20

#: Bytes of input per bucket: of small inputs, so that each core has a bucket; of large ones, so that the chunks of a bucket are
#: found quickly.
BUCKET: Final = (8 * _MIB, 2**30)
FEW_BUCKETS: Final = 8

#: Temporary table, removed after the commit: a row per run and block of written rows.
LOTS: Final = Table(
    "lots",
    "some rows of a run",
    ("run_id",),
    (
        Column("run_id", Type.TEXT, "the run"),
        Column("protocol", Type.TEXT, "its protocol"),
        Column("nodes", Type.WHOLE, "nodes that begin in this lot"),
        Column("events", Type.WHOLE, "rows"),
        Column("digest", Type.TEXT, "of the rows"),
    ),
)


class WrongSum(Exception):
    """The number of rows does not match the number of records: an internal error."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The input files, and the options for reading them."""

    files: Sequence[Input]
    form: Format
    protocol: str | None = None  #: of a capture
    impl: str = "unknown"  #: of a capture
    run: str | None = None  #: None: each file is a run, unless the log names its runs
    ports: tuple[int, ...] = ()  #: of a capture: packets of other ports are left out
    mapping: tuple[str, str] | None = None  #: a mapping's file and text; None: trace lines

    def options(self) -> dict[str, Plain]:
        """Returns the options that each unit needs."""
        return {
            "format": self.form,
            "protocol": self.protocol,
            "impl": self.impl,
            "ports": list(self.ports),
            "mapping": list(self.mapping) if self.mapping else None,
        }

    def plan(self) -> Plan:
        """Returns the plan of the batch."""
        return Plan(
            "ingest",
            inputs=tuple(file.plain() for file in self.files),
            arguments={**self.options(), "run": self.run},
            seeds=(),
            versions={"pipeline": code_digest("peerproof.pipeline", "peerproof.conformance"), **_spec_versions()},
        )


@dataclass(frozen=True, slots=True)
class Ingested:
    """A committed batch, and the counts of its records."""

    success: Success
    counts: Mapping[str, int]
    names: Mapping[str, Any]  #: `unused` entries of `names` of the mapping; `unlisted` names without an entry, with their counts
    done: tuple[Done, ...] = field(default=())


def execute(engine: Engine, place: Path, reading: Reading, show: Callable[[str], Show | None]) -> Ingested:
    """
    Runs the unfinished units and commits the batch.

    `show`: name of a step -> its progress display. Raises Refused, SparkUnusable, InputChanged, WrongSum.
    """
    with Batch.open(place, reading.plan()) as batch:
        done: list[Done] = []
        if not batch.is_committed:
            parts, buckets, count = _units(reading)
            steps = (
                ("reading", parts, read_part),
                ("sorting", buckets, partial(write_bucket, batch.folder)),
                ("counting", [count], partial(write_runs, batch.folder / LOTS.name)),
            )
            for name, units, stage in steps:
                done.append(finish_units(engine, batch, units, stage, show(name)))
            units = [*parts, *buckets, count]
            counts, names = _split_names(_count_rows(batch.folder, units), reading)
            _check_sum(counts, reading)
            batch.commit(
                units, (TRACES, RUNS, QUARANTINE), counts=counts, names=names, peak_mib=max(each.peak_mib for each in done)
            )
        for table in (CHUNKS, INDEX, COUNTS, LOTS):
            shutil.rmtree(batch.folder / table.name, ignore_errors=True)
        success = Success.read(batch.folder)
    return Ingested(success, success.told["counts"], success.told["names"], tuple(done))


def _units(reading: Reading) -> tuple[list[Unit], list[Unit], Unit]:
    """Returns the units that read parts, those that sort buckets, and the last one, which counts."""
    size = sum(file.size for file in reading.files)
    buckets = max(min(size // BUCKET[0] + 1, FEW_BUCKETS), size // BUCKET[1])
    run = reading.run or ("log" if reading.form == "jsonl" else "capture")
    parts: list[Unit] = []
    for number, file in enumerate(reading.files):
        for part in file.parts:
            place = {"file": file.name, "path": str(file.path), "number": number, "part": list(part)}
            weight = (file.size if part.end is None else part.end) - part.begin
            parts.append(Unit(len(parts), {**reading.options(), **place, "run": run, "buckets": buckets}, float(weight)))
    names = [f"{unit.name}.parquet" for unit in parts]
    sorts = [Unit(len(parts) + bucket, {"bucket": bucket, "chunks": names}) for bucket in range(buckets)]
    kind = "log" if reading.form == "jsonl" else "capture"
    lots = {"kind": kind, "versions": _spec_versions(), "lots": [f"{unit.name}.parquet" for unit in sorts]}
    return parts, sorts, Unit(len(parts) + buckets, lots)


def _spec_versions() -> dict[str, str]:
    return {name: spec_version(name) for name in RUNTIMES}


def write_bucket(folder: Path, unit: Unit, output: Output) -> None:
    """Writes the rows of a bucket, from the chunks in this batch's folder, node by node."""
    node: tuple[str, str] | None = None
    following = 0  #: the number of the next event of this node
    for table in merge(folder, unit.task["chunks"], unit.task["bucket"]):
        found = groups(table)
        first = (found[0].run_id, found[0].node)
        if first != node:
            following = 0
        batch = _number_events(table, found, following).combine_chunks().to_batches()[0]
        last = found[-1]
        following = last.end - last.begin + (following if len(found) == 1 else 0)
        lots = list(_lots(batch, found, first == node))
        output.write(TRACES, batch, sum_of(lot[-1] for lot in lots))
        output.write(LOTS, LOTS.batch(lots))
        node = last.run_id, last.node


def _number_events(table: Any, found: Sequence[Group], following: int) -> Any:
    """Numbers the events that have no number yet, from 0, or from `following` for the first node."""
    column = TRACES.schema.names.index("seq")
    if table.column(column)[0].as_py() != UNNUMBERED:
        return table
    begins = np.zeros(table.num_rows, np.int64)
    starts = [group.begin for group in found]
    begins[starts[1:]] = np.diff(starts)
    numbers = np.arange(table.num_rows) - np.cumsum(begins)
    numbers[: found[0].end] += following
    return table.set_column(column, TRACES.schema.field(column), pa.array(numbers))


def _lots(batch: Any, found: Sequence[Group], goes_on: bool) -> Iterable[tuple[Any, ...]]:
    """Yields the rows of `lots` of a batch; the first node may have begun in an earlier batch."""
    for run, of_run in groupby(found, key=lambda group: group.run_id):
        nodes = list(of_run)
        begin, end = nodes[0].begin, nodes[-1].end
        rows = batch.slice(begin, end - begin)
        new = len(nodes) - (goes_on and begin == 0)
        yield run, rows.column("protocol")[0].as_py(), new, rows.num_rows, digest(rows, TRACES.digest_columns)


def write_runs(folder: Path, unit: Unit, output: Output) -> None:
    """Writes `runs`, from the lots in this folder."""
    runs: dict[str, tuple[str, int, int, str]] = {}
    for file in _present(folder, unit.task["lots"]):
        for run, protocol, nodes, events, part in LOTS.read(file):
            before = runs.get(run, (protocol, 0, 0, NOTHING))
            runs[run] = min(protocol, before[0]), nodes + before[1], events + before[2], sum_of((part, before[3]))
    rows = [
        (run, protocol, unit.task["kind"], None, None, unit.task["versions"][protocol], nodes, events, "complete", total)
        for run, (protocol, nodes, events, total) in sorted(runs.items())
    ]
    output.write(RUNS, RUNS.batch(rows))


def _count_rows(folder: Path, units: Sequence[Unit]) -> dict[str, int]:
    """Returns the counts of the reading units, and the number of rows in the files."""
    names = [f"{unit.name}.parquet" for unit in units]
    counts: Counter[str] = Counter()
    for file in _present(folder / COUNTS.name, names):
        for what, count in COUNTS.read(file):
            counts[what] += count
    for table in (TRACES, QUARANTINE):
        counts[table.name] = sum(pq.read_metadata(file).num_rows for file in _present(folder / table.name, names))
    return dict(sorted(counts.items()))


def _split_names(counts: Mapping[str, int], reading: Reading) -> tuple[dict[str, int], dict[str, Plain]]:
    """Splits the counts into those of records and those of names: entries of the mapping that no line has, and the reverse."""
    of_names = {what: count for what, count in counts.items() if what.startswith((LISTED, UNLISTED))}
    records = {what: count for what, count in counts.items() if what not in of_names}
    names = load(reading.mapping[1].encode(), reading.mapping[0]).names.addresses if reading.mapping else {}
    unlisted = {what.removeprefix(UNLISTED): count for what, count in of_names.items() if what.startswith(UNLISTED)}
    return records, {"unused": [name for name in names if f"{LISTED}{column_text(name)}" not in of_names], "unlisted": unlisted}


def _check_sum(counts: Mapping[str, int], reading: Reading) -> None:
    """Raises WrongSum if records and rows do not add up."""
    rows_a_record = 1 if reading.form == "jsonl" else 2
    read, left_out = counts.get("records", 0), counts.get("left_out", 0)
    lines = [file.lines for file in reading.files]
    if reading.form == "jsonl" and None not in lines and read != sum(line or 0 for line in lines):
        raise WrongSum(f"the files have {sum(line or 0 for line in lines)} lines, and {read} were read")
    if read * rows_a_record != counts["traces"] + (counts["quarantine"] + left_out) * rows_a_record:
        raise WrongSum(
            f"{read} records were read, and {counts['traces']} rows of traces (of which a record has {rows_a_record}), "
            f"{counts['quarantine']} of quarantine and {left_out} left out do not add up to that"
        )


def _present(folder: Path, names: Iterable[str]) -> list[Path]:
    """Returns those files that exist: a unit without rows writes none."""
    return [folder / name for name in names if (folder / name).exists()]
