"""
Sorting of events by node, for runs that do not fit into memory.

Events are added in the order in which they happen; a file has them node by node. Above some thousands, events are written to
temporary files, sorted by node, and read back one node after the other.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.traces.events import Event
from peerproof.pipeline.storage.tables import TRACES

#: Maximum events in memory, and approximate events of a returned batch.
KEPT: Final = 4096

_NODE: Final = attrgetter("node")


class Piece(NamedTuple):
    """The location of some consecutive events of a node."""

    file: Path
    start: int
    length: int


class ByNode:
    """Sorts the events of one run by node; each node's events stay in order. As a context, it removes its temporary files."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept: Final = kept
        self._events: list[Event] = []
        self._pieces: dict[str, list[Piece]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._folder:
            self._folder.cleanup()

    def add(self, event: Event) -> None:
        """Adds an event."""
        self._events.append(event)
        if len(self._events) >= self._kept:
            self._spill()

    def batches(self) -> Iterator[Any]:
        """Yields the events as batches of `traces`, node after node, and removes them."""
        if not self._pieces:
            yield TRACES.batch(sorted(self._events, key=_NODE))
            return
        self._spill()
        waiting: list[Any] = []
        size = 0
        for node in sorted(self._pieces):
            for piece in self._pieces[node]:
                waiting.append(_read(piece))
                size += piece.length
                if size >= self._kept:
                    yield _concat(waiting)
                    waiting, size = [], 0
        if waiting:
            yield _concat(waiting)

    def _spill(self) -> None:
        self._events.sort(key=_NODE)  # stable: a node's events stay in their order
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="peerproof-")
        path = Path(self._folder.name, f"{self._files}.arrow")
        self._files += 1
        with pa.ipc.new_file(path, TRACES.schema) as file:
            file.write_batch(TRACES.batch(self._events))
        start = 0
        for end, event in enumerate(self._events, start=1):
            if end == len(self._events) or self._events[end].node != event.node:
                self._pieces.setdefault(event.node, []).append(Piece(path, start, end - start))
                start = end
        self._events = []


def _read(piece: Piece) -> Any:
    with pa.memory_map(str(piece.file)) as file:
        return pa.ipc.open_file(file).get_batch(0).slice(piece.start, piece.length)


def _concat(batches: list[Any]) -> Any:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
