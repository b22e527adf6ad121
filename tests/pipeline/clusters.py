"""Events of clusters, made for tests of what judges them; and stages over them, in this process without Spark."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.traces.events import Event, event_of
from peerproof.pipeline.ingest.inputs import PART, Format, inputs
from peerproof.pipeline.spark.execution import Engine
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.spark.work import work
from peerproof.pipeline.stages import ingest, validate
from peerproof.pipeline.stages.ingest import Ingested, Reading
from peerproof.pipeline.stages.validate import Validation
from peerproof.pipeline.storage.arrow_rows import FEW
from peerproof.pipeline.storage.batches import Batch, Plan, Unit, table_files
from peerproof.pipeline.storage.tables import QUARANTINE, RUNS, TRACES, VERDICTS, VIOLATIONS, Table
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Asked, Instant, NodeId, Received
from peerproof.spec.traces.trace import Line, parse

Row = dict[str, Any]

_PLACE = attrgetter("run_id", "node", "seq")


def simulated(nodes: int = 3, rounds: int = 20, seed: str = "v", protocol: str = "scuttlebutt", **plan: Any) -> list[Line]:
    """The lines of a cluster, in the order of its time."""
    lines: list[str] = []
    config = plan.pop("config", {})
    faults = Faults(loss=0 if RUNTIMES[protocol].is_connected else 0.05)
    campaign.run(Campaign(RUNTIMES[protocol], config, nodes, rounds, seed, 3, faults, **plan), lines.append)
    return [parse(line) for line in lines]


def traces_batch(events: list[Event]) -> Any:
    """Events as `read_batches` reads them from a file."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_batches([TRACES.batch(events)]), file)
    return next(pq.ParquetFile(file, read_dictionary=FEW).iter_batches())


def of_node(lines: list[Line], node: str = "n1:1") -> list[Event]:
    """The events of one node."""
    return [event_of(line) for line in lines if line.node == node]


def foreign(lines: list[Line], node: str = "n1:1", sends: bool = True) -> list[Event]:
    """The log of a program that says what happened and what it sent."""
    events: list[Event] = []

    def add(event: Event) -> None:
        events.append(event._replace(seq=len(events), picks=None, effects=None, state_hash=None))

    for line in lines:
        if line.node != node:
            continue
        add(event_of(line))
        codec = RUNTIMES[line.protocol].specification().MESSAGE
        for effect in line.effects:
            if "send" in effect and sends:
                message = codec.value(effect["send"]["message"])
                event = event_of(line)._replace(kind="send", peer=effect["send"]["to"], payload=codec.encode(message), args=None)
                add(event._replace(msg_type=codec.form.names[type(message)]))
    return events


def recorded(run: str, node: str, happenings: list[Any]) -> list[Event]:
    """The log of a node to which this happens: commands, or messages with their senders."""
    lines: list[str] = []
    recorder = Recorder(scuttlebutt, run, lines.append)
    name, config = NodeId(node), scuttlebutt.Config(detector=None)
    step = scuttlebutt.initial(name, config)
    recorder.record_start(name, Instant(0), config, step)
    for now, happening in enumerate(happenings, start=1):
        event: Any = Received(Instant(now), *happening) if type(happening) is tuple else Asked(Instant(now), happening)
        step = scuttlebutt.step(step.state, event, lambda *_: ())
        recorder.record_step(name, event, [], step, None)
    return [event_of(parse(line)) for line in lines]


def place_of(folder: Path, lots: list[list[Event]]) -> Path:
    """A folder with a batch of these events, a file for each lot."""

    def write(unit: Unit, output: Any) -> None:
        output.write(TRACES, TRACES.batch(sorted(lots[unit.task["lot"]], key=_PLACE)))

    units = [Unit(number, {"lot": number}) for number in range(len(lots))]
    with Batch.open(folder, Plan("ingest", (), {"lots": len(lots)}, (), {})) as batch:
        work(None, batch, units, write)
        batch.commit(units, (TRACES, RUNS, QUARANTINE))
    return folder


def rows(place: Path, table: Table) -> list[Row]:
    """The rows of a table, in the order of its files."""
    return [row for file in table_files(place, table) for row in pq.read_table(file, partitioning=None).to_pylist()]


def ingested(
    place: Path, files: Iterable[str | Path], form: Format = "jsonl", *, part: int = PART, spark: Any = None, **reading: Any
) -> Ingested:
    """What becomes of files, in this process or in a session of Spark."""
    with Engine(Settings(master="none"), spark=spark) as engine:
        return ingest.execute(engine, place, Reading(inputs(list(map(str, files)), form, part), form, **reading), lambda _: None)


def judged(place: Path, *, spark: Any = None, **options: Any) -> tuple[list[Row], list[Row]]:
    """Rows of `violations` and of `verdicts`; nothing is missing in what tests make, unless they take it away."""
    with Engine(Settings(master="none"), spark=spark) as engine:
        validate.execute(engine, place, Validation(place, complete=True, **options), lambda _: None)
    verdicts = rows(place, VERDICTS)
    for row in verdicts:
        unchecked = sum(json.loads(row["unchecked"] or "{}").values())
        assert row["way"] == "cluster" or unchecked == row["n_events"] - row["judged"], row
    return rows(place, VIOLATIONS), verdicts


def traced(folder: Path, traces: Sequence[Sequence[str]]) -> tuple[list[Row], list[Row]]:
    """What is found in traces, a file for each: rows of `violations` and of `verdicts`."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"node{number}.jsonl" for number in range(len(traces))]
    for file, lines in zip(files, traces, strict=True):
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    ingested(folder / "out", files)
    return judged(folder / "out")


def validated(place: Path, **options: Any) -> tuple[list[Row], dict[str, Row]]:
    """Rows of `violations`, and the verdicts by node."""
    violations, verdicts = judged(place, **options)
    return violations, {row["node"]: row for row in verdicts}


def lots(lines: list[Line]) -> list[list[Event]]:
    """The events of each node."""
    return [of_node(lines, node) for node in sorted({line.node for line in lines})]
