"""
Events of one node: trace lines as rows of `traces` and back, and rows read column by column.

`line_of(event_of(line)) == line` for every line. A column of JSON has no spaces, and its objects keep the order of the line:
where a protocol packs an object, this order is in the bytes. The caller supplies what the line does not contain: the size of the
message and the place in the file.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from peerproof.spec.forms.form import Plain, octets, text
from peerproof.spec.traces.trace import LINE, Kind, Line

#: How a text column holds a text that is not UTF-8, or that itself begins with this.
_HEX: Final = '{"hex":"'

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_IN_ORDER: Final = msgspec.json.Encoder()
_PICKS: Final = LINE.forms["picks"]
_Octets: TypeAlias = bytes  # in the class below, `bytes` is a column


def column_text(value: str) -> str:
    """Encodes a text, of any bytes, for a text column."""
    if not value.startswith(_HEX):
        if value.isascii():
            return value
        with suppress(UnicodeEncodeError):
            value.encode()
            return value
    return f'{_HEX}{octets(value).hex()}"}}'


def text_of(column: str) -> str:
    """Decodes a text column."""
    return text(bytes.fromhex(column[len(_HEX) : -2])) if column.startswith(_HEX) else column


class Event(NamedTuple):
    """A row of `traces`, column by column."""

    run_id: str
    protocol: str
    impl: str
    node: str
    seq: int
    t_us: int
    kind: str
    peer: str | None
    msg_type: str | None
    bytes: int | None
    payload: _Octets | None
    args: str | None
    picks: str | None
    effects: str | None
    state_hash: str | None
    refused: str | None
    src_file: str | None = None
    src_off: int | None = None


def canonical_json(plain: Plain) -> str:
    """
    Renders JSON with sorted members and without spaces. NaN and infinite floats become null.

    A lone surrogate, which UTF-8 cannot encode, and a number over 64 bits are written as the standard library does.
    """
    try:
        return _ENCODER.encode(plain).decode()
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def json_text(plain: Plain) -> str:
    """Renders JSON like `canonical_json`, but members keep their order."""
    try:
        return _IN_ORDER.encode(plain).decode()
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(plain, separators=(",", ":"))


def event_of(line: Line, size: int | None = None, src_file: str | None = None, src_off: int | None = None) -> Event:
    """Returns the row of a line; `size` is the size of the message on the wire, in bytes."""
    args = line.args
    return Event(
        column_text(line.run),
        column_text(line.protocol),
        column_text(line.impl),
        column_text(line.node),
        line.seq,
        line.t_us,
        line.kind,
        None if line.peer is None else column_text(line.peer),
        message_type(line.kind, args),
        size,
        None,
        json_text(args),
        json_text(_PICKS.plain(line.picks)),
        json_text(line.effects),
        None if line.state is None else column_text(line.state),
        None if line.refused is None else column_text(line.refused),
        src_file,
        src_off,
    )


def message_type(kind: str, args: Plain) -> str | None:
    """Returns the value of `msg_type` for an event."""
    if kind == "sent" and isinstance(args, dict):
        args = args.get("message")
    name = args.get("type") if isinstance(args, dict) and kind != "start" else None
    return column_text(name) if isinstance(name, str) else None


def line_of(event: Event) -> Line:
    """Returns the line of a row. Raises ValueError if the row is no trace line: a capture has no picks and no effects."""
    if event.args is None or event.picks is None or event.effects is None:
        raise ValueError(f"the event {event.seq} of {event.node} in {event.run_id} is no trace line: it has no picks or effects")
    return Line(
        run=text_of(event.run_id),
        protocol=text_of(event.protocol),
        impl=text_of(event.impl),
        node=text_of(event.node),
        seq=event.seq,
        t_us=event.t_us,
        kind=cast("Kind", event.kind),
        peer=None if event.peer is None else text_of(event.peer),
        args=json.loads(event.args),
        picks=_PICKS.value(json.loads(event.picks)),
        effects=tuple(json.loads(event.effects)),
        state=None if event.state_hash is None else text_of(event.state_hash),
        refused=None if event.refused is None else text_of(event.refused),
    )


class Rows(ABC):
    """Consecutive events of one node, at least one. A column becomes a list when it is first read."""

    def __init__(self, run_id: str, node: str, protocol: str) -> None:
        self.run_id: Final = run_id  #: encoded as in the column, like the next two
        self.node: Final = node
        self.protocol: Final = protocol
        self._columns: Final[dict[str, list[Any]]] = {}

    @abstractmethod
    def __len__(self) -> int:
        """Returns the number of events."""

    @abstractmethod
    def event(self, index: int) -> Event:
        """Returns the row at an index as an `Event`."""

    @abstractmethod
    def _read_column(self, name: str) -> list[Any]:
        """Reads a column of `Event`."""

    def column(self, name: str) -> list[Any]:
        """Returns a column of `Event`, encoded as in the table."""
        if name not in self._columns:
            self._columns[name] = self._read_column(name)
        return self._columns[name]

    def is_null(self, name: str) -> bool:
        """Returns True if a column is null in some row."""
        return None in self.column(name)

    def is_set(self, name: str) -> bool:
        """Returns True if a column is not null in some row."""
        return any(value is not None for value in self.column(name))

    @cached_property
    def seqs(self) -> list[int]:
        """The sequence numbers of the events."""
        return self.column("seq")

    @cached_property
    def times(self) -> list[int]:
        """The times of the events, in microseconds."""
        return self.column("t_us")

    @cached_property
    def offsets(self) -> list[int] | None:
        """The byte offset of each event in its file; None unless all are from one file."""
        if self.is_null("src_off") or self.is_null("src_file") or len(set(self._texts("src_file"))) > 1:
            return None
        return self.column("src_off")

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of the events."""
        return self._texts("kind")

    @cached_property
    def peers(self) -> list[Any]:
        """The peers of the events as addresses, decoded from the column; None where there is none."""
        return self._texts("peer")

    def _texts(self, name: str) -> list[Any]:
        """Decodes a text column; None where it is null."""
        return [None if value is None else text_of(value) for value in self.column(name)]

    @cached_property
    def members(self) -> list[tuple[Any, ...]]:
        """For each event, the argument of `spec.traces.replay.Replay.agrees`."""
        runs, nodes = ([text_of(name)] * len(self) for name in (self.run_id, self.node))
        columns = map(self.column, ("args", "picks", "effects", "state_hash"))
        return list(zip(runs, nodes, self.seqs, self.times, self.kinds, self.peers, *columns, strict=True))


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
    """A reference to an event: its rows and its index in them."""

    rows: Rows
    at: int

    @property
    def event(self) -> Event:
        """The event as an `Event`."""
        return self.rows.event(self.at)
