"""
The stage `validate`: checks `traces` against the specification, and writes `violations` and `verdicts`.

It has two steps. Each file of `traces` is a unit: its nodes are checked one after the other, in one pass (`node_check`), and
their locations are recorded. The second step checks a run's nodes together, instant by instant (`instants`), in units of some
runs. The lines of logs that `ingest` quarantined are reported as well; packets that are no messages are no fault.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.traces.findings import Violation
from peerproof.conformance.traces.instants import Place, RunCheck
from peerproof.conformance.traces.node_check import NodeCheck, Options, Replays, Verdict, excuse
from peerproof.pipeline.spark.execution import Engine, finish_units
from peerproof.pipeline.spark.work import Done, Show
from peerproof.pipeline.storage.arrow_rows import read_batches, read_rows, split_by_node
from peerproof.pipeline.storage.batches import Batch, Output, Plan, Refused, Success, Unit, successes
from peerproof.pipeline.storage.tables import QUARANTINE, TRACES, VERDICTS, VIOLATIONS, Column, RowBuffer, Table, Type
from peerproof.pipeline.storage.versions import code_digest, spec_version
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.collector import no_collector
from peerproof.spec.forms.form import Plain

#: Nodes that are checked together, at least.
CLUSTER: Final = 2

#: Events of the runs of a unit of the second step, unless a single run has more.
UNIT: Final = 20_000

#: One per process: the message cache of the replays is shared by all files.
_REPLAYS: Final = Replays()

#: Rows that are written at once.
LOT: Final = 1024

#: Maximum quarantined records that are reported one by one, per file and reason.
MOST: Final = 10

#: Temporary table, removed after the commit: the location of each node.
PLACES: Final = Table(
    "places",
    "one node",
    ("run_id", "node"),
    (
        Column("run_id", Type.TEXT, "the run"),
        Column("node", Type.TEXT, "the node"),
        Column("protocol", Type.TEXT, "its protocol"),
        Column("way", Type.TEXT, "how it was checked"),
        Column("file", Type.TEXT, "the file"),
        Column("begin", Type.WHOLE, "its first row there"),
        Column("events", Type.WHOLE, "rows"),
        Column("until", Type.WHOLE, "the event from which its state is not known any more", nullable=True),
        Column("suspect", Type.WHOLE, "that event, if it is a receipt", nullable=True),
    ),
)

#: Temporary table, removed after the commit: the results of nodes of which the second step decides whether they violate anything.
PENDING: Final = Table(
    "pending",
    "one node",
    ("run_id", "node"),
    (
        Column("run_id", Type.TEXT, "the run"),
        Column("node", Type.TEXT, "the node"),
        Column("results", Type.TEXT, "in JSON: the event, the rows of violations, and the verdict"),
    ),
)


@dataclass(frozen=True, slots=True)
class Validation:
    """The input of a validation, and its options."""

    place: Path  #: with committed batches
    config: Mapping[str, Plain] = field(default_factory=dict)  #: of nodes whose log does not have the configuration
    states: int = 256
    tries: int = 20_000
    every: int = 1  #: instants between two checks of a run's nodes together; 0: no such checks
    complete: bool = False  #: see `Options`
    readings: tuple[str, ...] = ()  #: see `Options`

    @property
    def options(self) -> Options:
        """The options for one node."""
        return Options(str(self.place.absolute()), self.config, self.states, self.tries, self.readings, self.complete)

    def plan(self, batches: Sequence[Success]) -> Plan:
        """Returns the plan of the batch."""
        inputs: list[Plain] = [
            {"batch": batch.folder.name, "traces": batch.digest(TRACES), "quarantine": batch.digest(QUARANTINE)}
            for batch in batches
        ]
        versions = {name: spec_version(name) for name in RUNTIMES}
        arguments = {"config": dict(self.config), "states": self.states, "tries": self.tries, "every": self.every}
        arguments |= {"complete": True} if self.complete else {}
        arguments |= {"readings": list(self.readings)} if self.readings else {}
        pipeline = code_digest("peerproof.pipeline", "peerproof.conformance")
        return Plan("validate", tuple(inputs), arguments, seeds=(), versions={"pipeline": pipeline, **versions})


@dataclass(frozen=True, slots=True)
class Validated:
    """A committed batch, and the resources used."""

    success: Success
    done: tuple[Done, ...] = ()


def execute(engine: Engine, place: Path, todo: Validation, show: Callable[[str], Show | None]) -> Validated:
    """
    Runs the unfinished units and commits the batch.

    `show`: name of a step -> its progress display. Raises Refused, SparkUnusable, WrongSchema.
    """
    batches = inputs(todo.place)
    with Batch.open(place, todo.plan(batches)) as batch:
        done: list[Done] = []
        if not batch.is_committed:
            nodes = _node_units(batches, todo)
            done.append(finish_units(engine, batch, nodes, validate_nodes, show("nodes")))
            runs = _run_units(batch.folder, nodes, todo) if todo.every else []
            if runs:
                done.append(finish_units(engine, batch, runs, validate_runs, show("runs")))
            batch.commit([*nodes, *runs], (VIOLATIONS, VERDICTS), peak_mib=max(each.peak_mib for each in done))
        for table in (PLACES, PENDING):
            shutil.rmtree(batch.folder / table.name, ignore_errors=True)
        return Validated(Success.read(batch.folder), tuple(done))


def inputs(place: Path) -> list[Success]:
    """Returns the batches with events or quarantined records. Raises Refused if there are none."""
    found = [batch for batch in successes(place) if batch.rows(TRACES) or batch.rows(QUARANTINE)]
    if not found:
        raise Refused(f"{place} has no committed batch with events: make one with `peerproof pipeline ingest` or `simulate`")
    return found


def _node_units(batches: Sequence[Success], todo: Validation) -> list[Unit]:
    units: list[Unit] = []
    for batch in batches:
        for table in (TRACES, QUARANTINE):
            if table == QUARANTINE and batch.is_of_captures:
                continue  # a packet that is no message is no fault
            for file in batch.files(table):
                task = {"table": table.name, "file": str(file.absolute()), "options": asdict(todo.options), "every": todo.every}
                units.append(Unit(len(units), task, float(pq.read_metadata(file).num_rows)))
    return units


def _run_units(folder: Path, nodes: Sequence[Unit], todo: Validation) -> list[Unit]:
    """Returns units of runs with some thousand events each; runs with fewer than two replayed nodes are left out."""
    units: list[Unit] = []
    chosen: list[tuple[Any, ...]] = []
    weight = 0
    names = [f"{unit.name}.parquet" for unit in nodes]
    pending = _pending(folder / PENDING.name, names)
    for run in _runs(folder / PLACES.name, names):
        if sum(place.way == "replay" for place in run) < CLUSTER and run[0].run_id not in pending:
            continue
        chosen.append(tuple(run))
        weight += sum(place.events for place in run)
        if weight >= UNIT:
            units.append(_run_unit(len(nodes) + len(units), chosen, pending, weight, todo))
            chosen, weight = [], 0
    if chosen:
        units.append(_run_unit(len(nodes) + len(units), chosen, pending, weight, todo))
    return units


def _run_unit(
    number: int, runs: Sequence[tuple[Any, ...]], pending: Mapping[str, Sequence[str]], weight: int, todo: Validation
) -> Unit:
    results = [pending.get(run[0].run_id, ()) for run in runs]
    return Unit(number, {"runs": runs, "pending": results, "every": todo.every, "options": asdict(todo.options)}, float(weight))


def _pending(folder: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Returns for each run the results of nodes that wait for the check of the whole run."""
    found: dict[str, list[str]] = {}
    for name in names:
        if (folder / name).exists():
            for run, _, results in PENDING.read(folder / name):
                found.setdefault(run, []).append(results)
    return found


def _runs(folder: Path, names: Sequence[str]) -> Iterator[list[Place]]:
    """Yields the nodes of each run."""
    runs: dict[str, list[Place]] = {}
    for name in names:
        if (folder / name).exists():
            for row in PLACES.read(folder / name):
                runs.setdefault(row[0], []).append(Place(*row))
    for run in sorted(runs):
        yield sorted(runs[run], key=lambda place: place.node)


def validate_nodes(unit: Unit, output: Output) -> None:
    """Checks the nodes of a file of `traces`, or reports a file of `quarantine`."""
    options = Options(**unit.task["options"])
    file = Path(unit.task["file"])
    if unit.task["table"] == QUARANTINE.name:
        output.write(VIOLATIONS, VIOLATIONS.batch(list(set_aside(file))))
        return
    lots = RowBuffer(output.write, LOT)
    with no_collector():
        for check, begin, verdict in check_nodes(read_batches(file), options):
            if check.suspect is not None and unit.task["every"]:
                results = json.dumps([check.suspect, list(check.findings.rows()), verdict])
                lots.add(PENDING, (check.run_id, check.node, results))
            else:
                lots.add(VIOLATIONS, *check.findings.rows())
                lots.add(VERDICTS, tuple(verdict))
            lots.add(PLACES, place_of(check, str(file), begin, verdict))
    lots.flush()


def place_of(check: NodeCheck, file: str, begin: int, verdict: Verdict) -> Place:
    """Returns the place of a node after its check."""
    events = begin, verdict.n_events, check.until, check.suspect
    return Place(check.run_id, check.node, check.protocol, verdict.way, file, *events)


def check_nodes(batches: Iterator[Any], options: Options) -> Iterator[tuple[NodeCheck, int, Any]]:
    """Yields, for each node of batches of `traces`, its check, its first row, and its verdict."""
    check: NodeCheck | None = None
    at = begin = 0
    for batch in batches:
        for rows in split_by_node(batch):
            if check is None or (rows.run_id, rows.node) != (check.run_id, check.node):
                if check is not None:
                    yield check, begin, check.end()
                check, begin = NodeCheck(rows, _REPLAYS, options), at
            check.take(rows)
            at += len(rows)
    if check is not None:
        yield check, begin, check.end()


def validate_runs(unit: Unit, output: Output) -> None:
    """Checks the nodes of each run together."""
    options = Options(**unit.task["options"])
    lots = RowBuffer(output.write, LOT)
    with no_collector():
        for run, pending in zip(unit.task["runs"], unit.task["pending"], strict=True):
            places = [Place(*place) for place in run]
            never_sent: Collection[str] = ()
            if sum(place.way == "replay" for place in places) >= CLUSTER:
                check = RunCheck(places, unit.task["every"], options, read_rows)
                check.run()
                never_sent = check.never_sent
                lots.add(VIOLATIONS, *check.findings.rows())
                lots.add(VERDICTS, tuple(check.verdict()))
            for results in pending:
                suspect, rows, verdict = json.loads(results)
                found, said = [Violation(*row) for row in rows], Verdict(*verdict)
                if said.node in never_sent:
                    found, said = excuse(suspect, found, said)
                lots.add(VIOLATIONS, *found)
                lots.add(VERDICTS, said)
    lots.flush()


def set_aside(file: Path) -> Iterator[tuple[Any, ...]]:
    """
    Returns a file of `quarantine` as rows of `violations` without a run.

    For each input file and reason, it has the first records, and the number of further ones.
    """
    counts: dict[tuple[str, str], int] = {}
    columns = ("src_file", "src_off", "line_no", "reason_code", "detail")
    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches(columns=list(columns), use_threads=False):
            for name, offset, number, reason, detail in zip(*(batch.column(c).to_pylist() for c in columns), strict=True):
                counts[name, reason] = counts.get((name, reason), 0) + 1
                if counts[name, reason] <= MOST:
                    where = f"{name}:{number}" if number else f"{name}, byte {offset}"
                    yield "", "", None, None, reason, "log", None, None, f"{where}: {detail}", None, name, offset, None, 1
    for (name, reason), count in sorted(counts.items()):
        if count > MOST:
            message = f"{count - MOST:,} more of this file"
            yield "", "", None, None, reason, "log", None, None, message, None, name, None, None, count - MOST
