"""
Batches: results on disk, which a kill at any moment neither loses nor duplicates.

A place (`--output DIR`) has a folder per batch, `<stage>-<batch id>`, one for each stage:

    simulate-5f2c…/
      plan.json                 stage, inputs, arguments, seeds, versions
      traces/000003-9a1b….parquet     the rows of `traces` that one unit of work wrote
      runs/000003-9a1b….parquet
      units/000003-9a1b….json   the unit is finished: rows and digest of each table
      manifest/manifest.parquet
      _SUCCESS                  the batch is committed: the plan, the tables' files, rows and digests

Each file is written under another name, flushed to the disk and renamed. A unit is finished when its file in `units/` exists,
and is not run again; a batch is committed when `_SUCCESS` exists. Readers use only the files that a `_SUCCESS` lists. The batch
id is derived from the plan: other arguments would be another batch, and are refused.

A stage has a plan, units of work, and a function that runs one unit:

    plan = Plan("simulate", inputs=(), arguments={"runs": 100}, seeds=("0",), versions={"spec": spec_version("scuttlebutt")})
    units = [Unit(0, {"runs": [0, 50]}), Unit(1, {"runs": [50, 100]})]

    def simulate(unit: Unit, output: Output) -> None:
        for number in range(*unit.task["runs"]):
            output.write(TRACES, TRACES.batch(rows_of(number)))     # as often as needed: nothing is kept in memory
            output.write(RUNS, RUNS.batch([row_of(number)]))

    with Batch.open(Path("out"), plan) as batch:
        done = work(session, batch, units, simulate)                # peerproof.pipeline.spark.work
        batch.commit(units, (TRACES, RUNS))

    for file in committed(Path("out"), TRACES): ...

The output of a unit must depend on its task only. A unit may run twice at the same time, and then writes the same.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.diagrams.labels import window_texts
from peerproof.conformance.traces.events import canonical_json
from peerproof.pipeline.storage.digests import NOTHING, digest, sum_of
from peerproof.pipeline.storage.failpoints import failpoint
from peerproof.pipeline.storage.tables import MANIFEST, SCHEMA_VERSION, Table, Type, check_schema
from peerproof.spec.forms.form import Plain

SUCCESS: Final = "_SUCCESS"
PLAN: Final = "plan.json"

#: Characters of a value that differs between two plans.
_LONGEST_SHOWN: Final = 60

#: Prefix of the names of unfinished files; readers of Parquet folders ignore such names, too.
UNFINISHED: Final = "."


class Refused(Exception):
    """The batch cannot be written to this place; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The inputs of a batch, as plain data. Equal plans give equal rows."""

    stage: str
    inputs: tuple[Plain, ...]  #: files with their SHA-256, or batches by their id
    arguments: Mapping[str, Plain]
    seeds: tuple[str, ...]
    versions: Mapping[str, str]

    def plain(self) -> dict[str, Plain]:
        """Returns the plan as plain data."""
        return {**asdict(self), "schema": SCHEMA_VERSION}

    @property
    def batch_id(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the canonical JSON."""
        return sha256(canonical_json(self.plain()).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of work. `weight` is its duration, in any measure: the heaviest units start first."""

    number: int
    task: Mapping[str, Plain]
    weight: float = 1.0

    @property
    def name(self) -> str:
        """The name of its files, which differs between tasks, also with the same number."""
        return f"{self.number:06}-{sha256(canonical_json(self.task).encode()).hexdigest()[:8]}"


class Written(NamedTuple):
    """The rows that a unit wrote into a table."""

    rows: int
    digest: str


class Output:
    """The writer of a unit's rows: one file per table, streamed, in the order of the calls."""

    def __init__(self, folder: Path, unit: Unit) -> None:
        self.batch_id: Final = folder.name.rpartition("-")[2]
        self._folder = folder
        self._name = unit.name
        self._writers: dict[str, tuple[Path, Any]] = {}
        self._written: dict[str, Written] = {}

    def write(self, table: Table, batch: Any, known: str | None = None) -> Written:
        """
        Adds the rows of a `pyarrow.RecordBatch` to a table. Each call writes a row group, so pass thousands of rows.

        `known`: their digest, if the caller has computed it.
        """
        if table.name not in self._writers:
            path = _temp_path(self._folder / table.name / f"{self._name}.parquet")
            short = [column.name for column in table.columns if column.type is not Type.OCTETS]  # bytes hardly ever repeat
            self._writers[table.name] = (
                path,
                pq.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=short, write_statistics=short),
            )
        added = Written(batch.num_rows, known or digest(batch, table.digest_columns))
        if batch.num_rows:
            self._writers[table.name][1].write_batch(batch)
            before = self._written.get(table.name, Written(0, NOTHING))
            self._written[table.name] = Written(before.rows + added.rows, sum_of([before.digest, added.digest]))
        return added

    def finish(self, **remarks: Plain) -> None:
        """Renames the written files, and marks the unit as finished, with remarks of the worker."""
        for _, writer in self._writers.values():
            writer.close()
        failpoint("unit-written")
        for name, (path, _) in sorted(self._writers.items()):
            _flush(path)
            failpoint("unit-before-rename")
            path.rename(self._folder / name / f"{self._name}.parquet")
        failpoint("unit-renamed")
        tables = {name: written._asdict() for name, written in sorted(self._written.items())}
        write_whole(self._folder / "units" / f"{self._name}.json", json.dumps({"tables": tables, **remarks}))

    def abandon(self) -> None:
        """Removes the files of a failed unit."""
        for path, writer in self._writers.values():
            writer.close()
            path.unlink(missing_ok=True)


class Batch:
    """A batch that is being written. Use `open`; only one process at a time can."""

    def __init__(self, place: Path, plan: Plan) -> None:
        self.plan: Final = plan
        self.folder: Final = place / f"{plan.stage}-{plan.batch_id}"
        self.begun = time.monotonic()

    @classmethod
    @contextmanager
    def open(cls, place: Path, plan: Plan) -> Iterator[Batch]:
        """Starts or continues a batch. Raises Refused if the place has another of this stage, or another process writes it."""
        batch = cls(place, plan)
        for other in find_uncommitted(place) + [success.folder for success in successes(place)]:
            if other.name.startswith(f"{plan.stage}-") and other != batch.folder:
                raise Refused(_difference(place, plan, other))
        batch.folder.mkdir(parents=True, exist_ok=True)
        with alone(place, plan.stage):
            if not (batch.folder / PLAN).exists():
                write_whole(batch.folder / PLAN, json.dumps(plan.plain(), indent=1))
            yield batch

    @property
    def is_committed(self) -> bool:
        """Whether the batch is complete."""
        return (self.folder / SUCCESS).exists()

    def find_finished(self) -> set[str]:
        """Returns the names of the finished units."""
        return {entry.name.removesuffix(".json") for entry in _entries(self.folder / "units")}

    def remarks(self, units: Iterable[Unit]) -> Iterator[Mapping[str, Plain]]:
        """Returns the workers' remarks on the finished ones of these units: `wall_s`, `peak_mib`, `tables`."""
        finished = self.find_finished()
        return (json.loads(self._mark(unit).read_bytes()) for unit in units if unit.name in finished)

    def _mark(self, unit: Unit) -> Path:
        return self.folder / "units" / f"{unit.name}.json"

    def commit(self, units: Sequence[Unit], tables: Iterable[Table], **summary: Plain) -> Success:
        """Commits the batch, which makes it visible to readers. Idempotent. Raises RuntimeError if a unit is not finished."""
        if self.is_committed:
            return Success.read(self.folder)
        missing = len({unit.name for unit in units} - self.find_finished())
        if missing:
            raise RuntimeError(f"{missing} of {len(units)} units are not finished; run the same command again")
        marks = {unit.name: json.loads(self._mark(unit).read_bytes()) for unit in units}
        totals: dict[str, Plain] = {}
        for table in tables:
            wrote = {name: mark["tables"][table.name] for name, mark in marks.items() if table.name in mark["tables"]}
            totals[table.name] = {
                "rows": sum(part["rows"] for part in wrote.values()),
                "digest": sum_of(part["digest"] for part in wrote.values()),
                "files": [f"{name}.parquet" for name in sorted(wrote)],
            }
        wall = time.monotonic() - self.begun
        self._write_manifest(totals, wall)
        failpoint("before-commit")
        content = {
            "batch_id": self.plan.batch_id,
            **self.plan.plain(),
            "tables": totals,
            "units": len(units),
            "wall_s": round(wall, 3),
            **summary,
        }
        write_whole(self.folder / SUCCESS, json.dumps(content, indent=1))
        failpoint("after-commit")
        return Success.read(self.folder)

    def _write_manifest(self, totals: Mapping[str, Plain], wall: float) -> None:
        inputs = canonical_json(self.plan.inputs)
        rows = [(self.plan.batch_id, name, inputs, total["rows"], total["digest"], wall) for name, total in totals.items()]
        path = self.folder / MANIFEST.name / f"{MANIFEST.name}.parquet"
        unfinished = _temp_path(path)
        with pq.ParquetWriter(unfinished, MANIFEST.schema, compression="zstd") as writer:
            writer.write_batch(MANIFEST.batch(rows))
        _flush(unfinished)
        unfinished.rename(path)


@dataclass(frozen=True)
class Success:
    """A committed batch, as its `_SUCCESS` describes it."""

    folder: Path
    told: Mapping[str, Plain] = field(repr=False)

    @classmethod
    def read(cls, folder: Path) -> Success:
        """Reads the `_SUCCESS` of a folder."""
        return cls(folder, json.loads((folder / SUCCESS).read_bytes()))

    @cached_property
    def batch_id(self) -> str:
        """The batch's id."""
        return str(self.told["batch_id"])

    def rows(self, table: Table) -> int:
        """Returns the number of its rows of a table."""
        return int(self.told["tables"].get(table.name, {"rows": 0})["rows"])

    def digest(self, table: Table) -> str:
        """Returns the digest of its rows of a table."""
        return str(self.told["tables"].get(table.name, {"digest": NOTHING})["digest"])

    @property
    def is_of_captures(self) -> bool:
        """Returns True if the batch was read from captures."""
        return self.told["arguments"].get("format") in ("pcap", "pcapng")

    def files(self, table: Table) -> list[Path]:
        """Returns the files with its rows of a table, after a check of their schema. Raises WrongSchema."""
        files = [self.folder / table.name / name for name in self.told["tables"].get(table.name, {"files": ()})["files"]]
        for file in files:
            check_schema(pq.read_schema(file), table, str(file))
        return files


def successes(place: Path) -> list[Success]:
    """Returns the committed batches of a place, sorted by name."""
    return [Success.read(folder) for folder in folders(place) if (folder / SUCCESS).exists()]


def find_uncommitted(place: Path) -> list[Path]:
    """Returns the folders of batches that are not committed."""
    return [folder for folder in folders(place) if not (folder / SUCCESS).exists()]


def table_files(place: Path, table: Table) -> list[Path]:
    """Returns the files of a table, of all committed batches of a place. Raises WrongSchema."""
    return [file for success in successes(place) for file in success.files(table)]


def write_whole(path: Path, text: str) -> None:
    """Writes a file atomically."""
    with atomic_write(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A context with a temporary name for a file, which replaces the file at the end; after an error the old file stays."""
    unfinished = _temp_path(path)
    try:
        yield unfinished
        _flush(unfinished)
        unfinished.rename(path)
    except OSError as problem:
        problem.filename = str(path)  # instead of the temporary name, or of none
        raise
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _temp_path(path: Path) -> Path:
    """Returns the temporary name of a file; creates its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f"{UNFINISHED}{path.name}.{os.uname().nodename}.{os.getpid()}.{time.monotonic_ns()}")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _entries(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("*") if not path.name.startswith(UNFINISHED))


def folders(place: Path) -> list[Path]:
    """Returns the folders of all batches, committed or not. Raises PermissionError, where `Path.glob` finds nothing."""
    try:
        return sorted(folder for folder in place.iterdir() if (folder / PLAN).exists())
    except (FileNotFoundError, NotADirectoryError):
        return []


@contextmanager
def alone(place: Path, stage: str) -> Iterator[None]:
    """A context that locks a stage of a place; the lock ends with the process. Raises Refused."""
    with (place / f".{stage}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"another process is running {stage} in {place}: wait until it has ended") from None
        yield


def _difference(place: Path, plan: Plan, other: Path) -> str:
    before, now = json.loads((other / PLAN).read_bytes()), json.loads(json.dumps(plan.plain()))
    found = list(_differences(before, now))
    return f"{place} has another {plan.stage}: {'; '.join(found)}; use another --output, or remove {other}"


def _differences(before: Plain, now: Plain, where: str = "") -> Iterator[str]:
    if before == now:
        return
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            yield from _differences(before.get(name), now.get(name), f"{where}.{name}" if where else name)
    elif where == "arguments.mapping" and before and now:  # file and content
        yield f"{before[0]} differs from {now[0]}" if before[0] != now[0] else f"{now[0]} has changed since"
    else:
        there, here = window_texts(canonical_json(before), canonical_json(now), _LONGEST_SHOWN)
        yield f"{where}: {there} there, {here} now"
