"""
From rows in the order in which files hold them to rows in the order of `traces`, without all of them in memory.

Whoever reads a part of a file cuts its rows into chunks: sorted, about a thousand rows each, every chunk in the bucket of its
nodes. A bucket has whole nodes. Whoever writes a bucket reads the first keys of its chunks, then the chunks in their order,
and gives a row out once no later chunk can hold a smaller one. So it holds no more than the chunks that overlap: one or two
if the logs are in order, and one of every part that was read if they are not.

Rows are sorted by run, node, `order` (the event's number, or its time, as the log has it), file and place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.pipeline.batches import Output
from peerproof.conformance.pipeline.events import Event
from peerproof.conformance.pipeline.tables import TRACES, Column, Table, Type

#: Rows of a chunk, at most.
CHUNK: Final = 1024

#: A chunk of at least so many rows ends with its node, so that few chunks of large nodes overlap.
SHORT_CHUNK: Final = 128

#: Rows that are sorted at once while reading.
WINDOW: Final = 32 * CHUNK

#: Rows that are given out at once, about.
GIVEN: Final = 8 * CHUNK

#: Files of chunks that are open at once.
OPEN_FILES: Final = 256

_KEY: Final = ("run_id", "node", "order", "file", "place")

#: In the batch's folder until it is committed; a row, and a row group, per chunk. It begins with the chunk's first key.
CHUNKS: Final = Table(
    "chunks",
    "some consecutive events of a bucket",
    _KEY,
    (
        Column("bucket", Type.WHOLE, "the bucket"),
        Column("run_id", Type.TEXT, "the first run"),
        Column("node", Type.TEXT, "its first node"),
        Column("order", Type.WHOLE, "number or time of the first event"),
        Column("file", Type.WHOLE, "the number of its file"),
        Column("place", Type.WHOLE, "its place there"),
        Column("rows", Type.OCTETS, "the events, as an Arrow stream"),
    ),
)

_ORDER: Final = [pa.field(name, pa.int64(), nullable=False) for name in ("order", "file", "place")]
_SCHEMA: Final = pa.schema(_ORDER + list(TRACES.schema))
_TYPES: Final = [field.type for field in _SCHEMA]


def bucket_of(run: str, node: str, buckets: int) -> int:
    """Where all events of a node go."""
    return crc32(f"{run}\0{node}".encode()) % buckets


class Chunker:
    """Takes rows and writes chunks."""

    def __init__(self, output: Output, buckets: int) -> None:
        self._output = output
        self._buckets = buckets
        self._rows: dict[int, list[tuple[Any, ...]]] = {}
        self._of_node: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        self._count = 0

    def add(self, event: Event, order: int, file: int, place: int) -> None:
        """One more row."""
        key = event[0], event[3]  # by number, because by name takes longer: run and node
        rows = self._of_node.get(key)
        if rows is None:
            rows = self._of_node[key] = self._rows.setdefault(bucket_of(*key, self._buckets), [])
        rows.append((order, file, place, *event))
        self._count += 1
        if self._count >= WINDOW:
            self.flush()

    def flush(self) -> None:
        """Write what is kept."""
        for bucket, rows in sorted(self._rows.items()):
            self._write(bucket, rows)
        self._rows, self._of_node, self._count = {}, {}, 0

    def _write(self, bucket: int, rows: list[tuple[Any, ...]]) -> None:
        arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), _TYPES, strict=True)]
        table = _sorted(pa.Table.from_arrays(arrays, schema=_SCHEMA))
        for begin, end in _cuts(_group_starts(table), table.num_rows):
            chunk = table.slice(begin, end - begin)
            self._output.write(CHUNKS, CHUNKS.batch([(bucket, *_key(chunk, 0), _packed(chunk))]))


def _cuts(starts: Sequence[int], rows: int) -> Iterator[tuple[int, int]]:
    """Where chunks begin and end, of rows of groups that begin at `starts`."""
    begin = 0
    for start in [*starts[1:], rows]:
        while start - begin > CHUNK:
            yield begin, begin + CHUNK
            begin += CHUNK
        if start - begin >= SHORT_CHUNK or start == rows:
            yield begin, start
            begin = start


def _group_starts(table: Any) -> list[int]:
    """The rows at which another node begins, the first one too."""
    if not table.num_rows:
        return []
    changes = [pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)) for column in _combined(table, "run_id", "node")]
    return [0, *(int(row) + 1 for row in np.flatnonzero(pc.or_(*changes).to_numpy(zero_copy_only=False)))]


def _combined(table: Any, *names: str) -> list[Any]:
    """Columns in one piece each."""
    return [pa.concat_arrays(table.column(name).chunks) for name in names]


def _packed(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _SCHEMA) as stream:
        stream.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _key(table: Any, row: int) -> tuple[Any, ...]:
    return tuple(table.column(name)[row].as_py() for name in _KEY)


def _sorted(table: Any) -> Any:
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in _KEY]))


class _Chunk(NamedTuple):
    key: tuple[Any, ...]  #: its first
    file: Path
    row_group: int


class Group(NamedTuple):
    """Consecutive rows of one node."""

    run_id: str
    node: str
    begin: int
    end: int


def merged(files: Sequence[Path], bucket: int) -> Iterator[Any]:
    """The rows of a bucket in the order of `traces`, as `pyarrow.Table`s of its columns."""
    chunks = sorted(chunk for file in files for chunk in _chunks(file, bucket))
    opened = lru_cache(OPEN_FILES)(pq.ParquetFile)
    pending: list[Any] = []
    wanted = GIVEN
    for number, chunk in enumerate(chunks):
        packed = opened(chunk.file).read_row_group(chunk.row_group, columns=["rows"]).column("rows")[0].as_buffer()
        pending.append(pa.ipc.open_stream(packed).read_all())
        last = number + 1 == len(chunks)
        if last or sum(table.num_rows for table in pending) >= wanted:
            whole = _joined(pending)
            cut = whole.num_rows if last else _rows_before(whole, chunks[number + 1].key)
            if cut:
                yield whole.slice(0, cut).select(TRACES.schema.names)
            pending = [whole.slice(cut)]
            wanted = max(GIVEN, 2 * pending[0].num_rows)  # or chunks that all overlap would be sorted again for each


def _chunks(file: Path, bucket: int) -> Iterator[_Chunk]:
    table = pq.read_table(file, columns=["bucket", *_KEY], partitioning=None)
    for number, (of, *key) in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True)):
        if of == bucket:
            yield _Chunk(tuple(key), file, number)


def _joined(tables: list[Any]) -> Any:
    whole = pa.concat_tables(tables)
    filled = [table for table in tables if table.num_rows]
    in_order = all(_key(a, a.num_rows - 1) <= _key(b, 0) for a, b in zip(filled, filled[1:], strict=False))
    return whole if in_order else _sorted(whole)


def _rows_before(table: Any, key: tuple[Any, ...]) -> int:
    """How many rows of a sorted table are smaller than a key."""
    low, high = 0, table.num_rows
    while low < high:
        middle = (low + high) // 2
        if _key(table, middle) < key:
            low = middle + 1
        else:
            high = middle
    return low


def groups(table: Any) -> list[Group]:
    """The nodes of rows in the order of `traces`."""
    starts = _group_starts(table)
    runs, nodes = table.column("run_id"), table.column("node")
    return [
        Group(runs[begin].as_py(), nodes[begin].as_py(), begin, end)
        for begin, end in zip(starts, [*starts[1:], table.num_rows], strict=True)
    ]
