"""
Conversion of trace lines (`peerproof.spec.traces.trace`) to rows of `traces`, without a mapping.

Only the members of a line and their types are checked here. The content of the event is checked by the replay, which reports the
clause.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from peerproof.conformance.captures.refusals import Unreadable
from peerproof.conformance.traces.events import Event, column_text, event_of, json_text, message_type
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.traces.trace import parse

_Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=2**16)]
_Pick: TypeAlias = tuple[str, list[int | str]]


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A trace line whose texts are all UTF-8."""

    run: _Text
    protocol: _Text
    impl: _Text
    node: _Text
    seq: _Whole
    t_us: _Whole
    kind: Literal["start", "recv", "sent", "timer", "api"]
    peer: _Text | None
    args: Any
    picks: list[_Pick]
    effects: list[dict[str, Any]]
    state: _Text | None
    refused: _Text | None = None


_decode: Final = msgspec.json.Decoder(_Line).decode

#: Cached, because there are few runs, implementations and nodes.
_text: Final = lru_cache(2**16)(column_text)

#: Occurs in every line with a text that is not UTF-8, and in few others.
_HEX: Final = b'"hex"'


def event(data: bytes, file: str, offset: int) -> Event:
    """Returns the row of a line at this byte of a file. Raises Unreadable."""
    if _HEX in data:
        return _event_of_any(data, file, offset)
    try:
        line = _decode(data)
    except msgspec.ValidationError as error:
        raise Unreadable("not_a_trace_line", str(error)) from None
    if line.protocol not in RUNTIMES:
        raise _unknown(line.protocol)
    state, refused = line.state, line.refused
    return Event(
        _text(line.run),
        line.protocol,
        _text(line.impl),
        _text(line.node),
        line.seq,
        line.t_us,
        line.kind,
        None if line.peer is None else _text(line.peer),
        message_type(line.kind, line.args),
        None,
        None,
        json_text(line.args),
        json_text(line.picks) if line.picks else "[]",
        json_text(line.effects) if line.effects else "[]",
        None if state is None else column_text(state),
        None if refused is None else column_text(refused),
        file,
        offset,
    )


def _event_of_any(data: bytes, file: str, offset: int) -> Event:
    try:
        line = parse(data.decode())
        row = event_of(line, None, file, offset)
    except (MalformedMessage, UnicodeEncodeError) as error:
        raise Unreadable("not_a_trace_line", str(error)) from None
    if line.kind not in ("start", "recv", "sent", "timer", "api"):
        raise Unreadable("not_a_trace_line", f"kind: expected start, recv, sent, timer or api, found {line.kind!r}")
    if line.protocol not in RUNTIMES:
        raise _unknown(line.protocol)
    return row


def _unknown(protocol: str) -> Unreadable:
    return Unreadable("unknown_protocol", f"no specification of {protocol!a}")
