"""Rows of `traces`, node by node, some hundred at a time; only what is looked at becomes Python values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.pipeline.events import Event
from peerproof.conformance.pipeline.tables import text_of

#: Rows that are read at once: more are hardly faster, and take more memory.
READ: Final = 512

#: Columns with few different values, which are read as numbers and a dictionary.
_FEW: Final = ["run_id", "protocol", "impl", "node", "kind", "peer", "msg_type", "src_file"]

Span: TypeAlias = tuple[int, int]


class Rows:
    """Consecutive events of one node. Lists of columns are made when they are first asked for."""

    def __init__(self, batch: Any) -> None:
        self._batch: Final = batch
        self._lists: dict[str, list[Any]] = {}
        first = {name: batch.column(name)[0].as_py() for name in ("run_id", "protocol", "node")}
        self.run_id: Final[str] = first["run_id"]  #: as the column has it; so the next two
        self.node: Final[str] = first["node"]
        self.protocol: Final[str] = first["protocol"]

    def __len__(self) -> int:
        count: int = self._batch.num_rows
        return count

    @cached_property
    def event(self) -> _EventOf:
        """The row of an index as an `Event`."""
        return _EventOf(self._batch)

    @cached_property
    def seqs(self) -> Any:
        """The numbers, as an array."""
        return _numbers(self._batch.column("seq"))

    @cached_property
    def times(self) -> Any:
        """Microseconds, as an array."""
        return _numbers(self._batch.column("t_us"))

    @cached_property
    def offsets(self) -> Any | None:
        """Where each lies in its file, as an array; None unless all are of one file."""
        files, offsets = self._batch.column("src_file"), self._batch.column("src_off")
        if offsets.null_count or files.null_count or len(set(files.indices.to_pylist())) > 1:
            return None
        return _numbers(offsets)

    @cached_property
    def has_files(self) -> bool:
        """Whether any of them was read from a file."""
        return bool(self._batch.column("src_off").null_count < len(self))

    @cached_property
    def kinds(self) -> list[str]:
        """Their kinds."""
        return _texts(self._batch.column("kind"))

    @cached_property
    def peers(self) -> list[Any]:
        """Their peers, as addresses and not as the column has them; None where there is none."""
        return _texts(self._batch.column("peer"))

    def texts(self, name: str) -> list[Any]:
        """Another column."""
        if name not in self._lists:
            self._lists[name] = self._batch.column(name).to_pylist()
        return self._lists[name]

    def is_null(self, name: str) -> bool:
        """Whether a column is null in some row."""
        return bool(self._batch.column(name).null_count)

    def is_set(self, name: str) -> bool:
        """Whether a column is not null in some row."""
        return bool(self._batch.column(name).null_count < len(self))

    @cached_property
    def members(self) -> list[tuple[Any, ...]]:
        """Of each what `spec.replay.Replay.agrees` takes."""
        count = len(self)
        return list(
            zip(
                [text_of(self.run_id)] * count,
                [text_of(self.node)] * count,
                self.seqs.tolist(),
                self.times.tolist(),
                self.kinds,
                self.peers,
                *map(self.texts, ("args", "picks", "effects", "state_hash")),
                strict=True,
            )
        )


class _EventOf:
    """Makes events of a batch, one at a time."""

    def __init__(self, batch: Any) -> None:
        self._columns = [batch.column(name) for name in Event._fields]

    def __call__(self, index: int) -> Event:
        return Event._make(column[index].as_py() for column in self._columns)


class Ref(NamedTuple):
    """An event, where it is."""

    rows: Rows
    at: int

    @property
    def event(self) -> Event:
        """The event itself."""
        return self.rows.event(self.at)


def read(file: Path, size: int = READ) -> Iterator[Any]:
    """Batches of a file of `traces`, in its order."""
    with pq.ParquetFile(file, read_dictionary=_FEW, pre_buffer=False) as opened:
        yield from opened.iter_batches(size, use_threads=False)


def read_rows(file: Path, begin: int, count: int, size: int = READ) -> Iterator[Any]:
    """Batches with so many rows of a file of `traces`, from a row on; row groups without any of them are not read."""
    metadata, ends = _described(file)
    first, last = bisect_right(ends, begin), bisect_left(ends, begin + count)
    skip = begin - (ends[first - 1] if first else 0)
    groups = list(range(first, last + 1))
    with pq.ParquetFile(file, metadata=metadata, read_dictionary=_FEW, pre_buffer=False) as opened:
        for batch in opened.iter_batches(size, row_groups=groups, use_threads=False):
            if skip < batch.num_rows:
                some = batch.slice(skip, count)
                yield some
                count -= some.num_rows
                if not count:
                    return
            skip = max(0, skip - batch.num_rows)


@lru_cache(16)
def _described(file: Path) -> tuple[Any, list[int]]:
    """The description of a file that does not change, and at which row each of its row groups ends."""
    metadata = pq.read_metadata(file)
    return metadata, list(accumulate(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)))


def by_node(batch: Any) -> Iterator[Rows]:
    """The events of each node of a batch."""
    for begin, end in spans(batch):
        yield Rows(batch.slice(begin, end - begin))


def spans(batch: Any) -> list[Span]:
    """Where each node of a batch begins and ends."""
    if not batch.num_rows:
        return []
    changes = np.zeros(batch.num_rows - 1, bool)
    for name in ("run_id", "node"):
        codes = _codes(batch.column(name))
        changes |= codes[1:] != codes[:-1]
    starts = [0, *(int(row) + 1 for row in np.flatnonzero(changes))]
    return list(zip(starts, [*starts[1:], batch.num_rows], strict=True))


def rows_of(events: list[Event]) -> Rows:
    """Events of one node that come from elsewhere."""
    columns = zip(*events, strict=True)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, _TYPES, strict=True)]
    return Rows(pa.RecordBatch.from_arrays(arrays, names=list(Event._fields)))


def _numbers(column: Any) -> Any:
    """A column of integers without nulls, as an array; `to_numpy` would import pandas, which takes 40 MiB."""
    return np.from_dlpack(column)


def _codes(column: Any) -> Any:
    """Numbers that differ where the values differ; the dictionary of a file may list a value twice."""
    known: dict[Any, int] = {}
    codes = np.array([known.setdefault(value, number) for number, value in enumerate(column.dictionary.to_pylist())], np.int64)
    return codes[_numbers(column.indices)]


def _texts(column: Any) -> list[Any]:
    names = [None if value is None else text_of(value) for value in column.dictionary.to_pylist()]
    return [None if code is None else names[code] for code in column.indices.to_pylist()]


def _types() -> list[Any]:
    from peerproof.conformance.pipeline.tables import TRACES

    few = pa.dictionary(pa.int32(), pa.string())
    return [few if field.name in _FEW else field.type for field in TRACES.schema]


_TYPES: Final = _types()
