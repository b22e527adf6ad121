"""
Captures as tcpdump and Wireshark write them: pcap and pcapng, in both byte orders, to the micro- or nanosecond.

Frames come with their place in the file, and nothing is skipped silently. A frame is set aside if its block is damaged, its
interface is unknown or it has no time; so is the rest of a file after damage from which reading cannot resume. The readers of
packet libraries do not do this: scapy's, the best of them, ends silently where a file is cut, leaves out frames of unknown
interfaces, reads a second section with the interfaces of the first and ignores time offsets. The tests compare with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from struct import Struct, error
from typing import Final, NamedTuple

from peerproof.conformance.captures.refusals import RAW, Refusal, SetAside, Unreadable
from peerproof.conformance.suite.source import Source

#: Bytes; no capture program writes longer packets, so a greater length is damage.
MAX_FRAME: Final = 2**24

#: Readers allow at least this many bytes, whatever a file gives as its longest packet.
COMMON_SNAPLEN: Final = 2**18

#: Microseconds since 1970 that every JSON reader can represent: up to the year 2255.
MAX_TIME: Final = 2**53

_MICRO, _NANO = 10**6, 10**9

#: First bytes of a pcap file -> byte order, and ticks per second.
_PCAP: Final = {
    b"\xa1\xb2\xc3\xd4": (">", _MICRO),
    b"\xd4\xc3\xb2\xa1": ("<", _MICRO),
    b"\xa1\xb2\x3c\x4d": (">", _NANO),
    b"\x4d\x3c\xb2\xa1": ("<", _NANO),
}
_PCAPNG: Final = b"\x0a\x0d\x0d\x0a"

_SECTION, _INTERFACE, _PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_ORDERS: Final = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_LEAST_BLOCK: Final = 12
_OPTION_RESOLUTION, _OPTION_OFFSET = 9, 14


class NoCapture(Exception):
    """A file that is neither pcap nor pcapng."""


class Frame(NamedTuple):
    """A captured frame."""

    offset: int  #: of its record in the file
    number: int  #: from 1
    t_us: int  #: microseconds since 1970
    link: int  #: the link type: a LINKTYPE
    data: bytes
    wire_length: int  #: bytes on the wire


def frames(source: Source, set_aside: SetAside) -> Iterator[Frame]:
    """Yields the frames of a capture, in order. Raises NoCapture."""
    magic = source.read(4)
    if magic in _PCAP:
        yield from _pcap(source, *_PCAP[magic], set_aside)
    elif magic == _PCAPNG:
        yield from _Sections(source, set_aside).frames()
    else:
        raise NoCapture(f"{source.path} is neither pcap nor pcapng: it begins with {magic.hex() or 'nothing'}")


def is_capture(path: Path) -> bool:
    """Returns True if a file begins like a capture."""
    with Source(path) as source:
        return source.peek(4)[:4] in (*_PCAP, _PCAPNG)


def _pcap(source: Source, order: str, ticks: int, set_aside: SetAside) -> Iterator[Frame]:
    header = source.read(20)
    if len(header) < 20:  # noqa: PLR2004  # versions, time zone, accuracy, longest packet, link type
        set_aside(Refusal(0, None, "truncated_file", "the file ends within its header", header))
        return
    *_, snaplen, link = Struct(order + "HHIIII").unpack(header)
    link &= 0xFFFF  # the upper bits are the size of the frame check sequence
    most = max(min(snaplen, MAX_FRAME), COMMON_SNAPLEN)
    unpack = Struct(order + "IIII").unpack
    ticks_a_microsecond = ticks // _MICRO
    read, make = source.read, partial(tuple.__new__, Frame)  # its own constructor takes twice as long
    at, number = 24, 1
    while len(header := read(16)) == 16:  # noqa: PLR2004
        seconds, fraction, size, wire_length = unpack(header)
        if size > most:
            set_aside(_rest(source, at, number, header, f"a packet of {size} bytes, where the longest is {most}"))
            return
        data = read(size)
        if len(data) < size:
            detail = f"the file ends within a packet, after {len(data)} of {size} bytes"
            set_aside(Refusal(at, number, "truncated_file", detail, (header + data)[:RAW]))
            header = b""
            break
        yield make((at, number, seconds * _MICRO + fraction // ticks_a_microsecond, link, data, wire_length))
        at += 16 + size
        number += 1
    if header:
        set_aside(Refusal(at, number, "truncated_file", "the file ends within the header of a packet", header))
    _end(source, at, number, set_aside)


def _rest(source: Source, at: int, number: int, read: bytes, detail: str) -> Refusal:
    """Refuses the rest of a file as one piece, because the beginning of the next packet is unknown."""
    raw = read + source.read(max(RAW - len(read), 0))
    size = len(raw)
    while block := source.read(MAX_FRAME):
        size += len(block)
    return Refusal(at, number, "damaged_file", f"{detail}; from here on {size} bytes are not read", raw[:RAW])


def _end(source: Source, at: int, number: int, set_aside: SetAside) -> None:
    if problem := source.problem:
        set_aside(Refusal(at, number, problem.reason, problem.detail, b""))


class _Interface(NamedTuple):
    link: int
    snaplen: int
    ticks: int  #: per second
    offset: int  #: seconds to add


class _Sections:
    """The blocks of a pcapng file. Each section has its own byte order and interfaces."""

    def __init__(self, source: Source, set_aside: SetAside) -> None:
        self._source = source
        self._set_aside = set_aside
        self._interfaces: list[_Interface | None] = []
        self._order = ""
        self._at = 0
        self._number = 1
        self._words = self._enhanced = self._obsolete = Struct("").unpack_from

    def frames(self) -> Iterator[Frame]:
        head = _PCAPNG + self._source.read(4)
        while len(head) == 8:  # noqa: PLR2004  # type and size
            if head.startswith(_PCAPNG):
                head += self._source.read(4)
                if len(head) < _LEAST_BLOCK:
                    break
                if head[8:] not in _ORDERS:
                    self._give_up(head, f"a section of byte order {head[8:].hex()}")
                    return
                self._begin_section(_ORDERS[head[8:]])
            kind, size = self._words(head)
            if size < _LEAST_BLOCK or size % 4 or size > MAX_FRAME:
                self._give_up(head, f"a block of {size} bytes")
                return
            body = head[8:] + self._source.read(size - len(head))
            if len(body) < size - 8:
                head += body[len(head) - 8 :]
                break
            if body[-4:] != head[4:8]:
                self._give_up(head + body, "a block whose two sizes are not the same")
                return
            try:
                if frame := self._frame(kind, body[:-4]):
                    yield frame
            except (Unreadable, error) as bad:
                reason, detail = (bad.reason, bad.detail) if isinstance(bad, Unreadable) else ("bad_length", "a block too short")
                number = self._number if kind != _INTERFACE else None
                self._set_aside(Refusal(self._at, number, reason, detail, (head[:8] + body)[:RAW]))
            self._number += kind in (_ENHANCED, _SIMPLE, _PACKET)
            self._at += size
            head = self._source.read(8)
        if head:
            self._set_aside(Refusal(self._at, self._number, "truncated_file", "the file ends within a block", head[:RAW]))
        _end(self._source, self._at, self._number, self._set_aside)

    def _give_up(self, read: bytes, detail: str) -> None:
        self._set_aside(_rest(self._source, self._at, self._number, read, detail))

    def _begin_section(self, order: str) -> None:
        self._interfaces = []
        self._order = order
        self._words = Struct(order + "II").unpack_from
        self._enhanced = Struct(order + "IIIII").unpack_from
        self._obsolete = Struct(order + "HHIIII").unpack_from

    def _frame(self, kind: int, body: bytes) -> Frame | None:
        if kind == _ENHANCED:
            interface, high, low, size, wire_length = self._enhanced(body)
        elif kind == _PACKET:
            interface, _, high, low, size, wire_length = self._obsolete(body)
        elif kind == _SIMPLE:
            raise Unreadable("no_time", "a simple packet block has no time and cannot be ordered: capture with times")
        else:
            if kind == _INTERFACE:
                self._interfaces.append(None)  # it takes an index even if it cannot be read
                self._interfaces[-1] = self._interface(body)
            return None
        if interface >= len(self._interfaces) or (described := self._interfaces[interface]) is None:
            raise Unreadable("unknown_interface", f"a packet of interface {interface}; {len(self._interfaces)} are described")
        if 20 + size > len(body):  # the header of both kinds
            raise Unreadable("bad_length", f"a packet of {size} bytes in a block for {len(body) - 20}")
        moment = (high << 32 | low) * _MICRO // described.ticks + described.offset * _MICRO
        if not 0 <= moment <= MAX_TIME:
            raise Unreadable("no_time", f"a time of {moment} microseconds since 1970")
        return Frame(self._at, self._number, moment, described.link, body[20 : 20 + size], wire_length)

    def _interface(self, body: bytes) -> _Interface:
        link, _, snaplen = Struct(self._order + "HHI").unpack_from(body)
        ticks, offset = _MICRO, 0
        for code, value in self._options(body, 8):
            if code == _OPTION_RESOLUTION and len(value) == 1:
                ticks = (2 if value[0] & 0x80 else 10) ** (value[0] & 0x7F)
            elif code == _OPTION_OFFSET and len(value) == 8:  # noqa: PLR2004
                offset = int.from_bytes(value, "big" if self._order == ">" else "little", signed=True)
        return _Interface(link, snaplen, ticks, offset)

    def _options(self, body: bytes, at: int) -> Iterator[tuple[int, bytes]]:
        header = Struct(self._order + "HH").unpack_from
        while at + 4 <= len(body):
            code, size = header(body, at)
            if not code:
                return
            if at + 4 + size > len(body):
                raise Unreadable("bad_length", f"an option of {size} bytes is longer than its block")
            yield code, body[at + 4 : at + 4 + size]
            at += 4 + size + -size % 4
