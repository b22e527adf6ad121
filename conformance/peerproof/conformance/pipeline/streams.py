"""
TCP streams of a capture: segments in, messages out, each direction of each connection for itself.

Segments are put in order by their numbers, whatever came twice, late or in other pieces. Where a message ends, the protocol
says (`Framing`). What was not captured is a gap: it is waited for until so much has come behind it that it will not come any
more; then the message that it tore is set aside, and the reading goes on behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from peerproof.conformance.pipeline.capture import Frame
from peerproof.conformance.pipeline.packets import Segment
from peerproof.conformance.pipeline.quarantine import RAW, Refusal, SetAside
from peerproof.spec.errors import MalformedMessage

#: Given the bytes of a stream that are not yet a message: the messages at their beginning, each as its codec decodes it, and
#: how many bytes these took. Raises MalformedMessage if no message can begin so.
Framing: TypeAlias = Callable[[bytearray], tuple[list[bytes], int]]

#: Bytes behind a gap, after which it is given up; more than a receiver's window in a local network.
MAX_WAITING: Final = 2**20

#: Bytes of a message that has not ended.
MAX_UNFRAMED: Final = 2**22

#: Directions of connections that are kept; the oldest are closed if there are more.
MAX_STREAMS: Final = 2**14

_NUMBERS: Final = 2**32
_HALF: Final = 2**31


@dataclass(slots=True)
class _Stream:
    expected: int  #: the number of the next byte
    waiting: dict[int, bytes] = field(default_factory=dict)  #: behind a gap
    waiting_size: int = 0
    unframed: bytearray = field(default_factory=bytearray)
    begun: Frame | None = None  #: where `unframed` begins
    last: int | None = None  #: the number behind the last byte, once known
    closed: bool = False  #: it has ended, or is no stream of messages: passed over up to the next SYN


class Streams:
    """All streams of a capture."""

    def __init__(self, framing: Framing, set_aside: SetAside) -> None:
        self._framing = framing
        self._set_aside = set_aside
        self._streams: dict[bytes, _Stream] = {}

    def add(self, flow: bytes, segment: Segment, frame: Frame) -> Iterator[bytes]:
        """The messages that end with this segment of a direction of a connection, which is known by its `Packet.flow`."""
        stream = self._streams.get(flow)
        if segment.syn and (stream is None or (segment.number + 1) % _NUMBERS != stream.expected):
            if stream:
                yield from self._end(stream, frame)
            stream = self._open(flow, (segment.number + 1) % _NUMBERS)
        elif stream is None:
            if not segment.data:
                return
            stream = self._open(flow, segment.number)
        if stream.closed:
            return
        number = (segment.number + segment.syn) % _NUMBERS
        if segment.ends:
            stream.last = (number + len(segment.data)) % _NUMBERS
        yield from self._arrived(stream, number, segment.data, frame)
        while stream.waiting_size > MAX_WAITING:
            yield from self._pass_gap(stream, frame)
        if stream.last == stream.expected and not stream.closed:
            yield from self._end(stream, frame)

    def end(self, frame: Frame) -> Iterator[tuple[bytes, bytes]]:
        """The capture has ended with this frame: flows and messages behind gaps that will not be filled."""
        for flow, stream in self._streams.items():
            for message in self._end(stream, frame):
                yield flow, message

    def _open(self, flow: bytes, expected: int) -> _Stream:
        self._streams.pop(flow, None)
        if len(self._streams) == MAX_STREAMS:
            oldest = self._streams.pop(next(iter(self._streams)))
            self._leave_unfinished(oldest, "unfinished_frame", "more connections than are kept")
        stream = self._streams[flow] = _Stream(expected)
        return stream

    def _arrived(self, stream: _Stream, number: int, data: bytes, frame: Frame) -> Iterator[bytes]:
        ahead = (number - stream.expected) % _NUMBERS
        if ahead >= _HALF:  # from the past: what is new in it is at its end
            known = _NUMBERS - ahead
            data, ahead = data[known:], 0
        if not data or stream.closed:
            return
        if ahead:
            if len(data) > len(stream.waiting.get(number, b"")):
                stream.waiting_size += len(data) - len(stream.waiting.get(number, b""))
                stream.waiting[number] = data
            return
        yield from self._continued(stream, data, frame)
        while stream.waiting and not stream.closed:
            number = min(stream.waiting, key=lambda number: _distance(number, stream.expected))
            if _distance(number, stream.expected) > 0:
                return
            data = stream.waiting.pop(number)
            stream.waiting_size -= len(data)
            if fresh := data[-_distance(number, stream.expected) :]:
                yield from self._continued(stream, fresh, frame)

    def _continued(self, stream: _Stream, data: bytes, frame: Frame) -> Iterator[bytes]:
        stream.expected = (stream.expected + len(data)) % _NUMBERS
        if not stream.unframed:
            stream.begun = frame
        stream.unframed += data
        try:
            messages, taken = self._framing(stream.unframed)
        except MalformedMessage as error:
            stream.closed = True
            self._leave_unfinished(stream, "not_a_message", f"{error.reason}: {error.detail}")
            return
        if taken:
            del stream.unframed[:taken]
            stream.begun = frame
        yield from messages
        if len(stream.unframed) > MAX_UNFRAMED:
            stream.closed = True
            self._leave_unfinished(stream, "unfinished_frame", f"no message ends within {MAX_UNFRAMED} bytes")

    def _pass_gap(self, stream: _Stream, frame: Frame) -> Iterator[bytes]:
        number = min(stream.waiting, key=lambda number: _distance(number, stream.expected))
        missing = _distance(number, stream.expected)
        stream.begun = stream.begun or frame
        self._leave_unfinished(stream, "stream_gap", f"{missing} bytes of the stream were not captured", even_if_empty=True)
        stream.expected = number
        data = stream.waiting.pop(number)
        stream.waiting_size -= len(data)
        yield from self._arrived(stream, number, data, frame)

    def _end(self, stream: _Stream, frame: Frame) -> Iterator[bytes]:
        while stream.waiting and not stream.closed:
            yield from self._pass_gap(stream, frame)
        stream.closed = True
        stream.waiting.clear()
        self._leave_unfinished(stream, "unfinished_frame", "the stream ends within a message")

    def _leave_unfinished(self, stream: _Stream, reason: str, detail: str, *, even_if_empty: bool = False) -> None:
        if stream.begun and (stream.unframed or even_if_empty):
            raw = bytes(stream.unframed[:RAW])
            detail = f"{detail}; {len(stream.unframed)} bytes are set aside"
            self._set_aside(Refusal(stream.begun.offset, stream.begun.number, reason, detail, raw))
        stream.unframed.clear()


def _distance(number: int, expected: int) -> int:
    """How far a number is ahead of the expected one; negative if it is behind."""
    ahead = (number - expected) % _NUMBERS
    return ahead - _NUMBERS if ahead >= _HALF else ahead
