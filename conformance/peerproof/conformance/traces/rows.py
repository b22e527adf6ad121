"""Consecutive events of one node, read column by column. `pipeline.storage.arrow_rows` reads them from Arrow record batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from peerproof.conformance.traces.events import Event, text_of


class Rows(ABC):
    """Consecutive events of one node, at least one. A column becomes a list when it is first asked for."""

    def __init__(self, run_id: str, node: str, protocol: str) -> None:
        self.run_id: Final = run_id  #: as the column has it; so the next two
        self.node: Final = node
        self.protocol: Final = protocol
        self._columns: Final[dict[str, list[Any]]] = {}

    @abstractmethod
    def __len__(self) -> int:
        """The number of events."""

    @abstractmethod
    def event(self, index: int) -> Event:
        """The row of an index as an `Event`."""

    @abstractmethod
    def _read_column(self, name: str) -> list[Any]:
        """A column of `Event`."""

    def column(self, name: str) -> list[Any]:
        """A column of `Event`, as the table has it."""
        if name not in self._columns:
            self._columns[name] = self._read_column(name)
        return self._columns[name]

    def is_null(self, name: str) -> bool:
        """Whether a column is null in some row."""
        return None in self.column(name)

    def is_set(self, name: str) -> bool:
        """Whether a column is not null in some row."""
        return any(value is not None for value in self.column(name))

    @cached_property
    def seqs(self) -> list[int]:
        """Their numbers."""
        return self.column("seq")

    @cached_property
    def times(self) -> list[int]:
        """Microseconds."""
        return self.column("t_us")

    @cached_property
    def offsets(self) -> list[int] | None:
        """The byte offset of each in its file; None unless all are from one file."""
        if self.is_null("src_off") or self.is_null("src_file") or len(set(self._texts("src_file"))) > 1:
            return None
        return self.column("src_off")

    @cached_property
    def kinds(self) -> list[str]:
        """Their kinds."""
        return self._texts("kind")

    @cached_property
    def peers(self) -> list[Any]:
        """Their peers, as addresses and not as the column has them; None where there is none."""
        return self._texts("peer")

    def _texts(self, name: str) -> list[Any]:
        """The texts that a text column holds; None where it is null."""
        return [None if value is None else text_of(value) for value in self.column(name)]

    @cached_property
    def members(self) -> list[tuple[Any, ...]]:
        """For each event the argument of `spec.traces.replay.Replay.agrees`."""
        count = len(self)
        return list(
            zip(
                [text_of(self.run_id)] * count,
                [text_of(self.node)] * count,
                self.seqs,
                self.times,
                self.kinds,
                self.peers,
                *map(self.column, ("args", "picks", "effects", "state_hash")),
                strict=True,
            )
        )


class EventRows(Rows):
    """Events in a list."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__(events[0].run_id, events[0].node, events[0].protocol)
        self._events: Final = events

    def __len__(self) -> int:
        return len(self._events)

    def event(self, index: int) -> Event:
        """See `Rows`."""
        return self._events[index]

    def _read_column(self, name: str) -> list[Any]:
        return [getattr(event, name) for event in self._events]


class Ref(NamedTuple):
    """An event, where it is."""

    rows: Rows
    at: int

    @property
    def event(self) -> Event:
        """The event itself."""
        return self.rows.event(self.at)
