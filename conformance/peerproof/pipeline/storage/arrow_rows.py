"""Rows of `traces` in Arrow record batches, read from Parquet; only the values used become Python objects."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.traces.events import Event, Rows, text_of

#: Rows of a batch: more are hardly faster, and take more memory.
READ: Final = 512

#: Columns with few different values, which are read as dictionary arrays.
FEW: Final = ["run_id", "protocol", "impl", "node", "kind", "peer", "msg_type", "src_file"]

Span: TypeAlias = tuple[int, int]


class ArrowRows(Rows):
    """Rows of one node in a record batch of `read_batches`."""

    def __init__(self, batch: Any) -> None:
        super().__init__(*(batch.column(name)[0].as_py() for name in ("run_id", "node", "protocol")))
        self._batch: Final = batch

    def __len__(self) -> int:
        count: int = self._batch.num_rows
        return count

    @cached_property
    def _arrays(self) -> list[Any]:
        return [self._batch.column(name) for name in Event._fields]

    def event(self, index: int) -> Event:
        """See `Rows`."""
        return Event._make(array[index].as_py() for array in self._arrays)

    def is_null(self, name: str) -> bool:
        """See `Rows`."""
        return bool(self._batch.column(name).null_count)

    def is_set(self, name: str) -> bool:
        """See `Rows`."""
        return bool(self._batch.column(name).null_count < len(self))

    def _read_column(self, name: str) -> list[Any]:
        return _values(self._batch.column(name))

    def _texts(self, name: str) -> list[Any]:
        """See `Rows`. One of the columns with few different values."""
        column = self._batch.column(name)
        texts = [None if value is None else text_of(value) for value in column.dictionary.to_pylist()]
        return [None if code is None else texts[code] for code in _values(column.indices)]


def read_batches(file: Path, size: int = READ) -> Iterator[Any]:
    """Yields the batches of a file of `traces`, in order."""
    with pq.ParquetFile(file, read_dictionary=FEW, pre_buffer=False) as opened:
        yield from opened.iter_batches(size, use_threads=False)


def read_rows(file: Path, begin: int, count: int, size: int = READ) -> Iterator[ArrowRows]:
    """Yields `count` rows of one node in a file of `traces`, from row `begin`; reads only the row groups with these rows."""
    metadata, ends = _read_metadata(file)
    first, last = bisect_right(ends, begin), bisect_left(ends, begin + count)
    skip = begin - (ends[first - 1] if first else 0)
    groups = list(range(first, last + 1))
    with pq.ParquetFile(file, metadata=metadata, read_dictionary=FEW, pre_buffer=False) as opened:
        for batch in opened.iter_batches(size, row_groups=groups, use_threads=False):
            if skip < batch.num_rows:
                some = batch.slice(skip, count)
                yield ArrowRows(some)
                count -= some.num_rows
                if not count:
                    return
            skip = max(0, skip - batch.num_rows)


@lru_cache(16)
def _read_metadata(file: Path) -> tuple[Any, list[int]]:
    """Returns the metadata of an immutable file, and the row at which each of its row groups ends."""
    metadata = pq.read_metadata(file)
    return metadata, list(accumulate(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)))


def split_by_node(batch: Any) -> Iterator[ArrowRows]:
    """Yields the events of each node of a batch."""
    for begin, end in find_spans(batch):
        yield ArrowRows(batch.slice(begin, end - begin))


def find_spans(batch: Any) -> list[Span]:
    """Returns the first row of each node of a batch, and the row after its last."""
    if not batch.num_rows:
        return []
    changes = np.zeros(batch.num_rows - 1, bool)
    for name in ("run_id", "node"):
        codes = _codes(batch.column(name))
        changes |= codes[1:] != codes[:-1]
    starts = [0, *(int(row) + 1 for row in np.flatnonzero(changes))]
    return list(zip(starts, [*starts[1:], batch.num_rows], strict=True))


def events(batch: Any) -> Iterator[Event]:
    """Returns all rows of a batch of `traces`, in order."""
    return map(Event._make, zip(*(batch.column(name).to_pylist() for name in Event._fields), strict=True))


def _values(array: Any) -> list[Any]:
    """Returns the values of an array as a list; integers without nulls through numpy, which is faster."""
    if array.null_count or not pa.types.is_integer(array.type):
        values: list[Any] = array.to_pylist()
    else:
        values = np.from_dlpack(array).tolist()  # `to_numpy` would import pandas, which takes 40 MiB
    return values


def _codes(column: Any) -> Any:
    """Returns codes that are equal if and only if the values are; the dictionary of a file may list a value twice."""
    known: dict[Any, int] = {}
    codes = np.array([known.setdefault(value, number) for number, value in enumerate(column.dictionary.to_pylist())], np.int64)
    return codes[np.from_dlpack(column.indices)]
