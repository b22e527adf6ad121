"""
TCP streams of a capture: segments in, messages out, separately for each direction of each connection.

Segments are put in order by their sequence numbers, even if they came twice, late or split differently. The protocol defines
where a message ends (`Framing`, one for each direction). Bytes that were not captured are a gap. The reader waits until so much
data follows the gap that it will not be filled; then it sets the torn message aside, and goes on after the gap.

A protocol that sends one message over each connection gets a confirmation on the way back. A confirmation is not a message: it is
recognised by its bytes and counted. Bytes after either of them are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, Protocol

from peerproof.conformance.captures.packets import Segment
from peerproof.conformance.captures.pcap import Frame
from peerproof.conformance.captures.refusals import RAW, Refusal, SetAside
from peerproof.spec.connections import Framing as Speech
from peerproof.spec.core import Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.protocols import PROTOCOLS


class Framing(Protocol):
    """Finds the ends of messages in one direction of one connection."""

    def read(self, unread: bytearray) -> tuple[list[bytes], int]:
        """
        Returns the complete messages at the beginning of `unread`, each as its codec decodes it, and the number of bytes
        consumed.

        Bytes that were not consumed are passed again, with more after them. Raises MalformedMessage if no message can begin like
        this.
        """

    def tear(self) -> None:
        """Takes note of missing bytes: the next ones come from somewhere after them."""


#: Bytes after a gap at which it is given up; more than a receiver's window in a local network.
MAX_WAITING: Final = 2**20

#: Maximum bytes of a message that has not ended.
MAX_UNFRAMED: Final = 2**22

#: Maximum number of directions of connections that are kept; the oldest are closed if there are more.
MAX_STREAMS: Final = 2**14

_NUMBERS: Final = 2**32
_HALF: Final = 2**31


@dataclass(slots=True)
class _Stream:
    framing: Framing
    first: int  #: sequence number of the first byte
    at: int = 0  #: number of bytes read
    waiting: dict[int, bytes] = field(default_factory=dict)  #: data after a gap, by the position where it begins
    nearest: list[int] = field(default_factory=list)  #: a heap of these positions
    waiting_size: int = 0
    unframed: bytearray = field(default_factory=bytearray)
    begun: Frame | None = None  #: the frame where `unframed` begins
    last: int | None = None  #: sequence number after the last byte, once known
    closed: bool = False  #: has ended, or is not a stream of messages: ignored up to the next SYN

    @property
    def next_number(self) -> int:
        return (self.first + self.at) % _NUMBERS

    def keep(self, begin: int, data: bytes) -> None:
        """Keeps data after a gap; of two pieces that begin at the same byte, the longer one."""
        known = self.waiting.get(begin)
        if known is None:
            heappush(self.nearest, begin)
        if len(data) > len(known or b""):
            self.waiting_size += len(data) - len(known or b"")
            self.waiting[begin] = data

    def close(self) -> None:
        self.closed = True
        self.waiting.clear()
        self.nearest.clear()
        self.waiting_size = 0

    def nearest_waiting(self) -> tuple[int, bytes]:
        """Removes the first piece after the gap, and returns it with its position."""
        begin = heappop(self.nearest)
        data = self.waiting.pop(begin)
        self.waiting_size -= len(data)
        return begin, data


class Streams:
    """All streams of a capture."""

    def __init__(self, framing: Callable[[], Framing], set_aside: SetAside) -> None:
        """`framing` creates the framing of each direction of each connection."""
        self._framing = framing
        self._set_aside = set_aside
        self._streams: Final = BoundedDict[bytes, _Stream](MAX_STREAMS)

    def add(self, flow: bytes, segment: Segment, frame: Frame) -> Iterator[bytes]:
        """Yields the messages that end with this segment; `flow` is the `Packet.flow` of its direction."""
        stream = self._streams.get(flow)
        if segment.syn and (stream is None or (segment.number + 1) % _NUMBERS != stream.next_number):
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
        yield from self._receive(stream, number, segment.data, frame)
        while stream.waiting_size > MAX_WAITING:
            yield from self._pass_gap(stream, frame)
        if stream.last == stream.next_number and not stream.closed:
            yield from self._end(stream, frame)

    def end(self, frame: Frame) -> Iterator[tuple[bytes, bytes]]:
        """Ends all streams at the last frame, and yields the flows and messages after gaps that will not be filled."""
        for flow, stream in self._streams.items():
            for message in self._end(stream, frame):
                yield flow, message

    def _open(self, flow: bytes, expected: int) -> _Stream:
        self._streams.pop(flow, None)
        if len(self._streams) == MAX_STREAMS:
            oldest = self._streams.pop_oldest()
            self._leave_unfinished(oldest, "unfinished_frame", "more connections than are kept")
        stream = self._streams[flow] = _Stream(self._framing(), expected)
        return stream

    def _receive(self, stream: _Stream, number: int, data: bytes, frame: Frame) -> Iterator[bytes]:
        ahead = (number - stream.next_number) % _NUMBERS
        if ahead >= _HALF:  # retransmitted: only the end of it can be new
            known = _NUMBERS - ahead
            data, ahead = data[known:], 0
        if not data or stream.closed:
            return
        if ahead:
            stream.keep(stream.at + ahead, data)
            return
        yield from self._feed(stream, data, frame)
        while stream.nearest and stream.nearest[0] <= stream.at and not stream.closed:
            begin, data = stream.nearest_waiting()
            if fresh := data[stream.at - begin :]:
                yield from self._feed(stream, fresh, frame)

    def _feed(self, stream: _Stream, data: bytes, frame: Frame) -> Iterator[bytes]:
        stream.at += len(data)
        if not stream.unframed:
            stream.begun = frame
        stream.unframed += data
        try:
            messages, taken = stream.framing.read(stream.unframed)
        except MalformedMessage as error:
            stream.close()
            self._leave_unfinished(stream, "not_a_message", f"{error.reason}: {error.detail}")
            return
        if taken:
            del stream.unframed[:taken]
            stream.begun = frame
        yield from messages
        if len(stream.unframed) > MAX_UNFRAMED:
            stream.close()
            self._leave_unfinished(stream, "unfinished_frame", f"no message ends within {MAX_UNFRAMED} bytes")

    def _pass_gap(self, stream: _Stream, frame: Frame) -> Iterator[bytes]:
        begin, data = stream.nearest_waiting()
        stream.begun = stream.begun or frame
        detail = f"{begin - stream.at} bytes of the stream were not captured"
        self._leave_unfinished(stream, "stream_gap", detail, even_if_empty=True)
        stream.at = begin
        stream.framing.tear()
        yield from self._receive(stream, stream.next_number, data, frame)

    def _end(self, stream: _Stream, frame: Frame) -> Iterator[bytes]:
        while stream.nearest and not stream.closed:
            yield from self._pass_gap(stream, frame)
        stream.close()
        self._leave_unfinished(stream, "unfinished_frame", "the stream ends within a message")

    def _leave_unfinished(self, stream: _Stream, reason: str, detail: str, *, even_if_empty: bool = False) -> None:
        if stream.begun and (stream.unframed or even_if_empty):
            raw = bytes(stream.unframed[:RAW])
            detail = f"{detail}; {len(stream.unframed)} bytes are set aside"
            self._set_aside(Refusal(stream.begun.offset, stream.begun.number, reason, detail, raw))
        stream.unframed.clear()


class Connections:
    """Creates the framing of both directions of a protocol's connections."""

    def __init__(self, speech: Speech) -> None:
        self.acknowledgements = 0
        self.speech: Final = speech

    def framing(self) -> Framing:
        """Returns the framing of one direction."""
        return _Direction(self)


def connections_of(specification: Specification) -> Connections | None:
    """Returns the connections of a protocol that has a `framing` module; None for others."""
    reference = PROTOCOLS[specification.NAME].framing
    return Connections(reference.load()) if reference else None


def framing_of(specification: Specification) -> Callable[[], Framing] | None:
    """Returns what creates the framing of one direction of a protocol's connections; None for protocols without."""
    connections = connections_of(specification)
    return connections.framing if connections else None


class _Direction:
    """One direction of one connection. Its first bytes show which of the two it is."""

    def __init__(self, connections: Connections) -> None:
        self._connections: Final = connections
        self._inbound: Final = connections.speech.Inbound()
        self._fed = 0
        self._is_over = False

    def read(self, unread: bytearray) -> tuple[list[bytes], int]:
        """See `Framing`."""
        if self._is_over:
            return [], len(unread)
        acknowledgement = self._connections.speech.ACKNOWLEDGEMENT
        begin = unread[: len(acknowledgement)]
        if acknowledgement.startswith(begin):
            if begin != acknowledgement:
                return [], 0
            self._connections.acknowledgements += 1
            self._is_over = True
            return [], len(unread)
        message = self._inbound.feed(bytes(unread[self._fed :]))
        self._fed = len(unread)
        if message is None:
            return [], 0
        self._is_over = True
        return [message], len(unread)

    def tear(self) -> None:
        """See `Framing`. The only message is lost."""
        self._is_over = True
