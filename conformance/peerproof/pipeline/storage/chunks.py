"""
External sorting: rows in the order of files become rows in the order of `traces`, without holding all in memory.

The reader of a part of a file splits its rows into chunks: sorted, some thousand rows each, every chunk in the bucket of its
nodes. All rows of a node are in the same bucket. The writer of a bucket reads the first keys of its chunks, then the chunks in
order, and outputs a row once no later chunk can have a smaller one. So it holds only overlapping chunks: one or two if the logs
are in order, or one for each part of the files if they are not.

Rows are sorted by run, node, `order` (the event's number, or its time, as the log has it), file and place in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.traces.events import Event
from peerproof.pipeline.storage.batches import Output
from peerproof.pipeline.storage.tables import TRACES, Column, Table, Type

#: Maximum rows of a chunk.
CHUNK: Final = 4096

#: A chunk with at least this number of rows ends with its node, so that few chunks of large nodes overlap.
SHORT_CHUNK: Final = 512

#: Rows that are sorted together while reading.
WINDOW: Final = 8 * CHUNK

#: Approximate rows of an output table.
GIVEN: Final = 2 * CHUNK

#: Maximum open files of chunks.
OPEN_FILES: Final = 256

_KEY: Final = ("run_id", "node", "order", "file", "place")

#: Temporary table, removed after the commit: a row, and a row group, per chunk.
CHUNKS: Final = Table(
    "chunks",
    "some consecutive events of a bucket",
    ("number",),
    (
        Column("number", Type.WHOLE, "counts the chunks of a file"),
        Column("rows", Type.OCTETS, "the events, as an Arrow stream"),
    ),
)

#: Temporary table, removed after the commit: a row per chunk, with the key of its first event.
INDEX: Final = Table(
    "index",
    "one chunk",
    _KEY,
    (
        Column("bucket", Type.WHOLE, "the bucket"),
        Column("number", Type.WHOLE, "the chunk"),
        Column("run_id", Type.TEXT, "its first run"),
        Column("node", Type.TEXT, "its first node"),
        Column("order", Type.WHOLE, "number or time of its first event"),
        Column("file", Type.WHOLE, "the number of its file"),
        Column("place", Type.WHOLE, "its place there"),
    ),
)

_ORDER: Final = [pa.field(name, pa.int64(), nullable=False) for name in ("order", "file", "place")]
_SCHEMA: Final = pa.schema(_ORDER + list(TRACES.schema))
_TYPES: Final = [field.type for field in _SCHEMA]


def bucket_of(run: str, node: str, buckets: int) -> int:
    """Returns the bucket of a node's events."""
    return crc32(f"{run}\0{node}".encode()) % buckets


class Chunker:
    """Writes the rows of a part of one file as chunks."""

    def __init__(self, output: Output, buckets: int, file: int) -> None:
        self._output = output
        self._buckets = buckets
        self._file = file
        self._events: list[Event] = []
        self._orders: list[int] = []
        self._places: list[int] = []
        self._index: list[tuple[Any, ...]] = []

    def add(self, event: Event, order: int, place: int) -> None:
        """Adds a row."""
        self._events.append(event)
        self._orders.append(order)
        self._places.append(place)
        if len(self._events) >= WINDOW:
            self.flush()

    def end(self) -> None:
        """Writes the buffered rows, and the index."""
        self.flush()
        self._output.write(INDEX, INDEX.batch(self._index))

    def flush(self) -> None:
        """Writes the buffered rows."""
        if self._events:
            columns = zip(*self._events, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, TRACES.schema, strict=True)]
            self.write(arrays, self._orders, self._places)
        self._events, self._orders, self._places = [], [], []

    def write(self, columns: Sequence[Any], orders: Any, places: Any) -> None:
        """Writes rows without buffering: the columns of `traces`, and the integers by which the rows are sorted."""
        files = np.full(len(orders), self._file)
        keys = [pa.array(column, pa.int64()) for column in (orders, files, places)]
        table = _sort(pa.Table.from_arrays([*keys, *columns], schema=_SCHEMA))
        of_bucket: dict[int, list[Group]] = {}
        for group in groups(table):
            of_bucket.setdefault(bucket_of(group.run_id, group.node, self._buckets), []).append(group)
        for bucket, found in sorted(of_bucket.items()):
            rows = pa.concat_tables([table.slice(group.begin, group.end - group.begin) for group in found])
            for begin, end in _cuts([group.end - group.begin for group in found]):
                chunk = rows.slice(begin, end - begin)
                self._output.write(CHUNKS, CHUNKS.batch([(len(self._index), _pack(chunk))]))
                self._index.append((bucket, len(self._index), *_key(chunk, 0)))


def _cuts(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields begin and end of each chunk of rows in groups of these lengths."""
    begin, end, rows = 0, 0, sum(lengths)
    for length in lengths:
        end += length
        while end - begin > CHUNK:
            yield begin, begin + CHUNK
            begin += CHUNK
        if end - begin >= SHORT_CHUNK or end == rows:
            yield begin, end
            begin = end


def _group_starts(table: Any) -> list[int]:
    """Returns the first row of each node."""
    if not table.num_rows:
        return []
    changes = [pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)) for column in _combine(table, "run_id", "node")]
    return [0, *(int(row) + 1 for row in np.flatnonzero(pc.or_(*changes).to_numpy(zero_copy_only=False)))]


def _combine(table: Any, *names: str) -> list[Any]:
    """Returns columns as contiguous arrays."""
    return [pa.concat_arrays(table.column(name).chunks) for name in names]


def _pack(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, _SCHEMA) as stream:
        stream.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _key(table: Any, row: int) -> tuple[Any, ...]:
    return tuple(table.column(name)[row].as_py() for name in _KEY)


def _sort(table: Any) -> Any:
    """Sorts rows by key; the sort is stable."""
    ranks = [_ranks(table.column(name)) for name in _KEY]
    return table.take(np.lexsort(ranks[::-1]))


def _ranks(column: Any) -> Any:
    """Returns integers in the order of a column's values; each distinct text is sorted only once."""
    if not pa.types.is_string(column.type):
        return column.to_numpy()
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    rank_of = np.empty(len(encoded.dictionary), np.int64)
    rank_of[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(rank_of))
    return rank_of[encoded.indices.to_numpy()]


class _Chunk(NamedTuple):
    key: tuple[Any, ...]  #: of its first row
    file: Path
    number: int


class Group(NamedTuple):
    """Consecutive rows of one node."""

    run_id: str
    node: str
    begin: int
    end: int


def merge(folder: Path, names: Sequence[str], bucket: int) -> Iterator[Any]:
    """Yields the rows of a bucket in the order of `traces`, as `pyarrow.Table`s, from the chunks in files of these names."""
    chunks = sorted(chunk for name in names for chunk in _chunks(folder, name, bucket))
    opened = lru_cache(OPEN_FILES)(pq.ParquetFile)
    pending: list[Any] = []
    threshold = GIVEN
    for number, chunk in enumerate(chunks):
        packed = opened(chunk.file).read_row_group(chunk.number, columns=["rows"], use_threads=False).column("rows")[0]
        pending.append(pa.ipc.open_stream(packed.as_buffer()).read_all())
        last = number + 1 == len(chunks)
        if last or sum(table.num_rows for table in pending) >= threshold:
            whole = _concat(pending)
            cut = whole.num_rows if last else _rows_before(whole, chunks[number + 1].key)
            if cut:
                yield whole.slice(0, cut).select(TRACES.schema.names)
            pending = [whole.slice(cut)]
            threshold = max(GIVEN, 2 * pending[0].num_rows)  # else overlapping chunks would be sorted again for each chunk


def _chunks(folder: Path, name: str, bucket: int) -> Iterator[_Chunk]:
    if (folder / INDEX.name / name).exists():  # a part without rows has no index
        table = pq.read_table(folder / INDEX.name / name, filters=[("bucket", "=", bucket)], partitioning=None)
        keys = zip(*(table.column(column).to_pylist() for column in _KEY), strict=True)
        for key, number in zip(keys, table.column("number").to_pylist(), strict=True):
            yield _Chunk(key, folder / CHUNKS.name / name, number)


def _concat(tables: list[Any]) -> Any:
    whole = pa.concat_tables(tables)
    filled = [table for table in tables if table.num_rows]
    in_order = all(_key(a, a.num_rows - 1) <= _key(b, 0) for a, b in pairwise(filled))
    return whole if in_order else _sort(whole)


def _rows_before(table: Any, key: tuple[Any, ...]) -> int:
    """Returns the number of rows of a sorted table that are smaller than a key."""
    low, high = 0, table.num_rows
    while low < high:
        middle = (low + high) // 2
        if _key(table, middle) < key:
            low = middle + 1
        else:
            high = middle
    return low


def groups(table: Any) -> list[Group]:
    """Returns the groups of rows by node, of rows in the order of `traces`."""
    starts = _group_starts(table)
    runs, nodes = table.column("run_id"), table.column("node")
    return [
        Group(runs[begin].as_py(), nodes[begin].as_py(), begin, end)
        for begin, end in zip(starts, [*starts[1:], table.num_rows], strict=True)
    ]
