"""
The declarations of the pipeline's tables.

The Arrow schema of the Parquet files, the Spark schema, the JSON Schema of trace lines and the tables of the documentation are
derived from them. The metadata of each file has the name of its table and the version of the schema.

A text column holds UTF-8, but names of nodes may be other bytes. So a text that is not UTF-8 is stored as `{"hex":"fffe"}`, the
JSON of its plain form, and so is a text that itself begins with `{"hex":`, to be distinct (`column_text`, `text_of`).

pyarrow is imported by what makes or reads Arrow data alone, so that the documentation can be made without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

#: Increased whenever a column is added, removed or changed in meaning.
SCHEMA_VERSION: Final = 3


class Type(Enum):
    """The type of a column; the value is its name in Spark."""

    TEXT = "STRING"
    WHOLE = "BIGINT"
    REAL = "DOUBLE"
    OCTETS = "BINARY"

    @property
    def arrow(self) -> Any:
        """The Arrow type."""
        import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

        return {"STRING": pa.string(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "BINARY": pa.binary()}[self.value]


@dataclass(frozen=True, slots=True)
class Column:
    """
    A column.

    `line` is the JSON Schema of the member of a trace line that the column comes from, `member` its name there if that differs
    from the column's. A `measured` column varies between executions and is not part of a digest.
    """

    name: str
    type: Type
    about: str
    nullable: bool = False
    line: Mapping[str, Any] | None = None
    member: str = ""
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the meaning of a row, the columns by which rows are sorted, and all columns."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def schema(self) -> Any:
        """The `pyarrow.Schema` of its files, with table and version in the metadata."""
        import pyarrow as pa

        return pa.schema(
            [pa.field(column.name, column.type.arrow, column.nullable) for column in self.columns],
            metadata={"peerproof.table": self.name, "peerproof.schema": str(SCHEMA_VERSION)},
        )

    @property
    def ddl(self) -> str:
        """The Spark schema, for `createDataFrame`, `schema` and `mapInArrow`."""
        return ", ".join(f"`{column.name}` {column.type.value}" for column in self.columns)

    @property
    def digest_columns(self) -> list[str]:
        """The columns that a digest covers."""
        return [column.name for column in self.columns if not column.measured]

    def batch(self, rows: Sequence[Sequence[Any]]) -> Any:
        """Returns a `pyarrow.RecordBatch` of rows, each with a value per column, in order."""
        import pyarrow as pa

        values = zip(*rows, strict=True) if rows else ([] for _ in self.columns)
        arrays = [pa.array(list(column), kind.type.arrow) for kind, column in zip(self.columns, values, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def read(self, file: Path) -> Iterator[tuple[Any, ...]]:
        """Reads the rows of a file, each with a value per column, in order."""
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        columns = pq.read_table(file, schema=self.schema, partitioning=None).columns
        return zip(*(column.to_pylist() for column in columns), strict=True)


class RowBuffer:
    """Rows of tables, which are written in batches of at least `least` rows."""

    def __init__(self, write: Callable[[Table, Any], object], least: int) -> None:
        self._write: Final = write
        self._least: Final = least
        self._rows: Final[dict[str, tuple[Table, list[tuple[Any, ...]]]]] = {}

    def add(self, table: Table, *rows: tuple[Any, ...]) -> None:
        """Adds rows; writes those of the table when they are enough."""
        _, kept = self._rows.setdefault(table.name, (table, []))
        kept += rows
        if len(kept) >= self._least:
            self._write(table, table.batch(kept))
            kept.clear()

    def flush(self) -> None:
        """Writes all rows."""
        for table, kept in self._rows.values():
            if kept:
                self._write(table, table.batch(kept))
                kept.clear()


class WrongSchema(Exception):
    """A file does not belong to the table, or was written with another version of the schema."""


def check_schema(schema: Any, table: Table, where: str) -> None:
    """Raises WrongSchema unless a file has the table's schema, in this version."""
    metadata = schema.metadata or {}
    name, version = (metadata.get(key, b"").decode() for key in (b"peerproof.table", b"peerproof.schema"))
    if name != table.name:
        raise WrongSchema(f"{where} is no part of the table {table.name}" + (f" but of {name}" if name else ""))
    if version != str(SCHEMA_VERSION):
        raise WrongSchema(
            f"{where} has schema version {version}, this peerproof reads and writes {SCHEMA_VERSION}: "
            "make it again from its source, with this version"
        )
    if not schema.equals(table.schema, check_metadata=False):
        raise WrongSchema(f"{where} has not the columns of {table.name}: {', '.join(schema.names)}")


_TEXT_LINE: Final[Mapping[str, Any]] = {
    "oneOf": [
        {"type": "string", "maxLength": 2**16},
        {
            "type": "object",
            "required": ["hex"],
            "additionalProperties": False,
            "properties": {"hex": {"type": "string", "pattern": "^([0-9a-fA-F]{2})*$"}},
        },
    ]
}
_MAYBE_TEXT_LINE: Final[Mapping[str, Any]] = {"oneOf": [{"type": "null"}, *_TEXT_LINE["oneOf"]]}
_WHOLE_LINE: Final[Mapping[str, Any]] = {"type": "integer", "minimum": 0, "maximum": 2**53}
_PICK_LINE: Final[Mapping[str, Any]] = {
    "type": "array",
    "prefixItems": [{"type": "string"}, {"type": "array", "items": {"oneOf": [{"type": "integer"}, *_TEXT_LINE["oneOf"]]}}],
    "minItems": 2,
    "maxItems": 2,
}

_RUN: Final = Column("run_id", Type.TEXT, "the run", line=_TEXT_LINE, member="run")
_PROTOCOL: Final = Column("protocol", Type.TEXT, "the protocol's name", line=_TEXT_LINE)
_FILE: Final = Column("src_file", Type.TEXT, "the file it was read from", nullable=True)
_OFFSET: Final = Column("src_off", Type.WHOLE, "the byte of that file at which it begins", nullable=True)

RUNS: Final = Table(
    "runs",
    "one run of a cluster",
    ("run_id",),
    (
        _RUN,
        _PROTOCOL,
        Column("kind", Type.TEXT, "simulated, log or capture"),
        Column("config_json", Type.TEXT, "its configuration, as JSON with sorted members", nullable=True),
        Column("seed", Type.TEXT, "the seed of a simulated run", nullable=True),
        Column("spec_version", Type.TEXT, "the version of the specification with which it was simulated or read"),
        Column("n_nodes", Type.WHOLE, "nodes with an event"),
        Column("n_events", Type.WHOLE, "rows of `traces`"),
        Column("status", Type.TEXT, "complete, or a problem of the whole run"),
        Column("digest", Type.TEXT, "of its rows of `traces`, independent of their order"),
    ),
)

TRACES: Final = Table(
    "traces",
    "one event of one node; sorted, and a node's events are never split over files",
    ("run_id", "node", "seq"),
    (
        _RUN,
        _PROTOCOL,
        Column("impl", Type.TEXT, "the implementation", line=_TEXT_LINE),
        Column("node", Type.TEXT, "the node, by its address", line=_TEXT_LINE),
        Column("seq", Type.WHOLE, "counts the node's events, from 0", line=_WHOLE_LINE),
        Column("t_us", Type.WHOLE, "microseconds on the node's clock", line=_WHOLE_LINE),
        Column(
            "kind",
            Type.TEXT,
            "start, recv, sent, timer or api; send where only messages are seen, state where a log shows only that",
            line={"enum": ["start", "recv", "sent", "timer", "api"]},
        ),
        Column("peer", Type.TEXT, "the sender or the receiver of the message", nullable=True, line=_MAYBE_TEXT_LINE),
        Column("msg_type", Type.TEXT, "`type` of the message, timer or command; null for a start", nullable=True),
        Column("bytes", Type.WHOLE, "the size of the message on the wire", nullable=True),
        Column("payload", Type.OCTETS, "the message's bytes, where they were seen", nullable=True),
        Column("args", Type.TEXT, "the event's plain data, as JSON", nullable=True, line={}),
        Column(
            "picks",
            Type.TEXT,
            "every answer to a choice, as JSON; null where they are not logged",
            nullable=True,
            line={"type": "array", "items": _PICK_LINE},
        ),
        Column(
            "effects",
            Type.TEXT,
            "every effect, as JSON; null where they are not logged",
            nullable=True,
            line={"type": "array", "items": {"type": "object", "minProperties": 1, "maxProperties": 1}},
        ),
        Column(
            "state_hash",
            Type.TEXT,
            "the fingerprint of the state afterwards",
            nullable=True,
            line=_MAYBE_TEXT_LINE,
            member="state",
        ),
        Column("refused", Type.TEXT, "why the node refused a command", nullable=True, line=_MAYBE_TEXT_LINE),
        _FILE,
        _OFFSET,
    ),
)

VIOLATIONS: Final = Table(
    "violations",
    "one divergence; of repeated ones of a node, the first few and their number",
    ("run_id", "node", "seq", "clause", "property"),
    (
        _RUN,
        Column("node", Type.TEXT, "the node, or empty for the cluster"),
        Column("seq", Type.WHOLE, "the event", nullable=True),
        Column("clause", Type.TEXT, "the clause that it contradicts", nullable=True),
        Column("property", Type.TEXT, "the property that does not hold", nullable=True),
        Column(
            "severity",
            Type.TEXT,
            "violates: contradicts the document; differs: contradicts a decision; undetermined; or log: a fault of the log",
        ),
        Column("expected", Type.TEXT, "the allowed value, as JSON", nullable=True),
        Column("actual", Type.TEXT, "the actual value, as JSON", nullable=True),
        Column("message", Type.TEXT, "description for users"),
        Column("context", Type.TEXT, "five events before and two after, as a JSON list of trace lines", nullable=True),
        _FILE,
        _OFFSET,
        Column(
            "replay", Type.TEXT, "the command that reproduces it, with the folder of this machine", nullable=True, measured=True
        ),
        Column("times", Type.WHOLE, "1; on the last row of a rule and node, plus the number of those without a row"),
    ),
)

VERDICTS: Final = Table(
    "verdicts",
    "one node of one run, or, without a node, a run's nodes together",
    ("run_id", "node"),
    (
        _RUN,
        _PROTOCOL,
        Column("node", Type.TEXT, "the node, or empty for the cluster"),
        Column("way", Type.TEXT, "replay, relation or monitor: how much of the node is logged; cluster for all nodes together"),
        Column(
            "verdict",
            Type.TEXT,
            "accepted, rejected, differs: only from decisions, or undetermined: some events could not be checked",
        ),
        Column("n_events", Type.WHOLE, "its rows of `traces`"),
        Column("judged", Type.WHOLE, "events that were checked; those after a divergence, up to the next start, are not"),
        Column("divergences", Type.WHOLE, "contradictions to the document or to a decision"),
        Column("log_faults", Type.WHOLE, "faults of the log, not of the protocol"),
        Column("remark", Type.TEXT, "why some events were not checked", nullable=True),
        Column("unchecked", Type.TEXT, "in JSON: why events were not checked, and how many for each reason", nullable=True),
    ),
)

METRICS: Final = Table(
    "metrics",
    "one figure",
    ("run_id",),
    (
        _RUN,
        _PROTOCOL,
        Column("metric", Type.TEXT, "the metric"),
        Column("round", Type.WHOLE, "the round, for metrics by round", nullable=True),
        Column("node", Type.TEXT, "the node, for metrics by node", nullable=True),
        Column("value", Type.REAL, "the figure"),
        Column("unit", Type.TEXT, "of the figure"),
    ),
)

SUMMARIES: Final = Table(
    "summaries",
    "one metric over all runs of one configuration",
    ("protocol", "config_json", "metric"),
    (
        _PROTOCOL,
        Column("config_json", Type.TEXT, "the configuration of the runs, as in `runs`; empty if unknown"),
        Column("metric", Type.TEXT, "the metric"),
        Column("unit", Type.TEXT, "of all figures but the count"),
        Column("count", Type.WHOLE, "number of rows of `metrics`"),
        Column("total", Type.REAL, "their sum"),
        Column("least", Type.REAL, "the least of them"),
        Column("mean", Type.REAL, "total divided by count"),
        Column("p50", Type.REAL, "half of them are no more than this"),
        Column("p90", Type.REAL, "90 % of them are no more than this"),
        Column("p99", Type.REAL, "99 % of them are no more than this"),
        Column("most", Type.REAL, "the most of them"),
    ),
)

QUARANTINE: Final = Table(
    "quarantine",
    "one piece of input that could not be read",
    ("src_file", "src_off"),
    (
        Column("src_file", Type.TEXT, "the file"),
        Column("src_off", Type.WHOLE, "the byte at which it begins"),
        Column("line_no", Type.WHOLE, "the line, or the packet, counted from 1", nullable=True),
        Column("reason_code", Type.TEXT, "code of the reason"),
        Column("detail", Type.TEXT, "description of the reason"),
        Column("raw", Type.OCTETS, "its first 4096 bytes"),
        Column("batch", Type.TEXT, "the batch that quarantined it"),
    ),
)

VECTOR_RESULTS: Final = Table(
    "vector_results",
    "one vector on one implementation or mutant",
    ("vector_id", "impl"),
    (
        Column("suite_version", Type.TEXT, "the version of the suite"),
        Column("vector_id", Type.TEXT, "the vector, and after # its part, if that has its own verdict"),
        Column("impl", Type.TEXT, "the implementation or mutant"),
        Column("verdict", Type.TEXT, "as `peerproof run` gives it"),
        Column("expected", Type.TEXT, "the expected value, if it failed", nullable=True),
        Column("actual", Type.TEXT, "the actual value, if it failed", nullable=True),
        Column("duration_us", Type.WHOLE, "microseconds it took", measured=True),
    ),
)

MANIFEST: Final = Table(
    "manifest",
    "one table of one batch",
    ("batch_id", "table"),
    (
        Column("batch_id", Type.TEXT, "the batch"),
        Column("table", Type.TEXT, "the table"),
        Column("inputs", Type.TEXT, "its inputs, with SHA-256, as JSON"),
        Column("rows", Type.WHOLE, "number of rows of the table in this batch"),
        Column("digest", Type.TEXT, "of these rows, independent of their order"),
        Column("wall_s", Type.REAL, "seconds that it took", measured=True),
    ),
)

#: Tables by name.
TABLES: Final[Mapping[str, Table]] = {
    table.name: table for table in (RUNS, TRACES, VIOLATIONS, VERDICTS, METRICS, SUMMARIES, QUARANTINE, VECTOR_RESULTS, MANIFEST)
}


def line_schema() -> dict[str, Any]:
    """Returns the JSON Schema of a trace line: the members that the columns of `traces` come from."""
    members = {column.member or column.name: column for column in TRACES.columns if column.line is not None}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A trace line",
        "description": "One step of one node, as peerproof.spec.traces.trace reads and writes it.",
        "type": "object",
        "required": [name for name in members if name != "refused"],
        "additionalProperties": False,
        "properties": {name: {"description": column.about, **(column.line or {})} for name, column in members.items()},
    }


def documentation(tables: Iterable[Table] = TABLES.values()) -> str:
    """Renders the tables in Markdown."""
    parts = [f"Schema version {SCHEMA_VERSION}."]
    for table in tables:
        rows = [
            f"| `{column.name}` | {column.type.name.lower()}{', or null' if column.nullable else ''} | {column.about} |"
            for column in table.columns
        ]
        parts += [
            f"## `{table.name}`",
            f"One row is {table.grain}. Sorted by {', '.join(f'`{name}`' for name in table.key)}.",
            "\n".join(("| column | holds | what |", "| --- | --- | --- |", *rows)),
        ]
    return "\n\n".join(parts) + "\n"
