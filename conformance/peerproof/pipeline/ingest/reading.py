"""A unit of `ingest`: reads a part of a log, or a capture, and writes chunks of rows, `quarantine`, and counts of records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.captures.byte_source import InputChanged, Line, Part, lines
from peerproof.conformance.captures.pcap import NoCapture, frames
from peerproof.conformance.captures.refusals import RAW, Refusal, Unreadable
from peerproof.conformance.captures.tcp_streams import connections_of
from peerproof.conformance.captures.traffic import Message, Traffic
from peerproof.conformance.suite.source import Source
from peerproof.conformance.traces.events import Event, column_text
from peerproof.pipeline.ingest import trace_lines
from peerproof.pipeline.ingest.foreign_lines import UNNUMBERED, ForeignLines
from peerproof.pipeline.ingest.mapping import load
from peerproof.pipeline.storage.batches import Output, Unit
from peerproof.pipeline.storage.chunks import WINDOW, Chunker
from peerproof.pipeline.storage.tables import QUARANTINE, TRACES, Column, RowBuffer, Table, Type
from peerproof.spec.collector import no_collector
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS

#: Temporary table, removed after the commit: the counts of a unit.
COUNTS: Final = Table(
    "counts",
    "one count of one unit",
    ("what",),
    (
        Column("what", Type.TEXT, "records, left_out (records that are no rows because that was asked for), or a part of these"),
        Column("count", Type.WHOLE, "how many"),
    ),
)

Task: TypeAlias = Mapping[str, Plain]

_MARK: Final = b"\xef\xbb\xbf"  # the byte order mark that some editors write before UTF-8

#: Rows of quarantine that are written at once.
LOT: Final = 1024


def read_part(unit: Unit, output: Output) -> None:
    """Reads a part of a file. Raises InputChanged."""
    task = unit.task
    refused = _Refused(output, column_text(task["file"]))
    chunker = Chunker(output, task["buckets"], task["number"])
    read = _read_lines if task["format"] == "jsonl" else _read_capture
    try:
        with no_collector(), Source(Path(task["path"])) as source:
            counts = read(task, source, chunker, refused)
    except FileNotFoundError:
        message = f"{task['path']} does not exist: every worker must have the files at the same path"
        raise InputChanged(message) from None
    chunker.end()
    refused.rows.flush()
    counts.update({f"quarantined: {reason}": count for reason, count in refused.reasons.items()})
    output.write(COUNTS, COUNTS.batch(sorted(counts.items())))


class _Refused:
    """Writes quarantined records."""

    def __init__(self, output: Output, file: str) -> None:
        self.count = 0
        self.reasons: Counter[str] = Counter()
        self.rows = RowBuffer(output.write, LOT)
        self._origin = file, output.batch_id

    def __call__(self, refusal: Refusal) -> None:
        self.count += 1
        self.reasons[refusal.reason] += 1
        file, batch_id = self._origin
        self.rows.add(QUARANTINE, (file, *refusal, batch_id))


def _read_lines(task: Task, source: Source, chunker: Chunker, refused: _Refused) -> Counter[str]:
    counts: Counter[str] = Counter()
    foreign, order_of = _lines_of(task)
    make = foreign or trace_lines.event
    file = column_text(task["file"])
    for line in lines(source, Part(*task["part"]), refused):
        data = line.data if line.offset or not line.data.startswith(_MARK) else line.data[len(_MARK) :]
        if not data or data.isspace():
            counts["left out: blank"] += 1
            continue
        try:
            event = make(data, file, line.offset)
        except Unreadable as unreadable:
            refused(Refusal(line.offset, line.number, unreadable.reason, unreadable.detail, line.data[:RAW]))
        except (ValueError, RecursionError, msgspec.DecodeError):
            refused(_explain(line, data))
        else:
            if event is None:
                counts["left out: ignored by the mapping"] += 1
            else:
                counts["events"] += 1
                chunker.add(event, order_of(event), line.offset)
    counts.update(foreign.count_names() if foreign else {})
    counts["left_out"] = sum(count for what, count in counts.items() if what.startswith("left out: "))
    counts["records"] = counts["events"] + counts["left_out"] + refused.count
    return counts


def _lines_of(task: Task) -> tuple[ForeignLines | None, Callable[[Event], int]]:
    """Returns the conversion of lines of another program to events, None for trace lines; and the sort key of events."""
    if not task["mapping"]:
        return None, _seq
    name, text = task["mapping"]
    mapping = load(text.encode(), name)
    foreign = ForeignLines(mapping, column_text(task["run"]))
    return foreign, _seq if mapping.seq else _time if mapping.order == "time" else lambda _: 0


def _seq(event: Event) -> int:
    return event.seq


def _time(event: Event) -> int:
    return event.t_us


def _explain(line: Line, data: bytes) -> Refusal:
    """Explains why a line is not JSON."""
    if b"\0" in data:
        reason, detail = "nul_bytes", f"{data.count(0)} of {len(data)} bytes are NUL"
    else:
        reason = "not_json" if line.whole else "truncated_line"
        try:
            json.loads(data.decode())
            detail = "unsupported JSON: a lone surrogate, or a number that is too large"
        except UnicodeDecodeError as error:
            reason, detail = "not_utf8", f"byte {data[error.start]:02x} at {error.start} is not UTF-8"
        except json.JSONDecodeError as error:
            detail = f"{error.msg} (character {error.pos})"
        except (ValueError, RecursionError) as error:
            detail = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return Refusal(line.offset, line.number, reason, detail, line.data[:RAW])


def _read_capture(task: Task, source: Source, chunker: Chunker, refused: _Refused) -> Counter[str]:
    specification = PROTOCOLS[task["protocol"]].specification.load()
    run, impl, file = column_text(task["run"]), column_text(task["impl"]), column_text(task["file"])
    connections = connections_of(specification)
    traffic = Traffic(specification, task["ports"], refused, connections.framing if connections else None)
    events = Messages(chunker, run, specification.NAME, impl, file)
    try:
        messages = traffic.messages(frames(source, refused))
        while some := tuple(islice(messages, WINDOW // 2)):
            events.add(some)
    except NoCapture as error:
        raise InputChanged(f"{error}; the file has changed since the work was planned") from None
    left_out = sum(traffic.left_out.values())
    damaged = refused.count - traffic.refused - traffic.pieces  # damaged parts of the file itself
    counts = Counter({f"left out: {what}": count for what, count in traffic.left_out.items()})
    counts.update(messages=events.count, left_out=left_out, segments=traffic.segments)
    if connections:
        counts["acknowledgements"] = connections.acknowledgements
    counts["records"] = traffic.packets - traffic.segments + traffic.framed + traffic.pieces + damaged
    return counts


class Messages:
    """
    Writes two rows to a chunker for each message of a capture: the sender's and the receiver's.

    Rows are sorted by the latest time so far, so that a clock that is set back does not change their order.
    """

    def __init__(self, chunker: Chunker, run: str, protocol: str, impl: str, file: str) -> None:
        self.count = 0
        self._chunker = chunker
        self._same = {"run_id": run, "protocol": protocol, "impl": impl, "seq": UNNUMBERED, "src_file": file}
        self._latest = 0

    def add(self, messages: Sequence[Message]) -> None:
        """Adds messages."""
        count = len(messages)
        self.count += count
        t_us, sources, targets, types, payloads, offsets = zip(*messages, strict=True)
        latest = np.maximum.accumulate(np.array((self._latest, *t_us)))[1:]
        self._latest = int(latest[-1])
        places = 2 * np.array(offsets)
        columns = {
            "node": sources + targets,
            "t_us": t_us * 2,
            "kind": ["send"] * count + ["recv"] * count,
            "peer": targets + sources,
            "msg_type": types * 2,
            "bytes": [len(payload) for payload in payloads] * 2,
            "payload": payloads * 2,
            "src_off": offsets * 2,
        }
        arrays = [
            pa.array(columns[field.name], field.type)
            if field.name in columns
            else pa.repeat(pa.scalar(self._same.get(field.name), field.type), 2 * count)
            for field in TRACES.schema
        ]
        self._chunker.write(arrays, np.tile(latest, 2), np.concatenate((places, places + 1)))
