"""
Files and standard input read as bytes, compressed with gzip or not, and the lines of a part of a file.

A compressed file that ends early or is damaged is read up to that place; `Source.problem` describes the damage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from hashlib import sha256
from io import BufferedReader, FileIO, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import decompressobj
from zlib import error as zlib_error

from peerproof.conformance.captures.refusals import RAW, Refusal, SetAside

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: Maximum bytes of a line, without its end.
MAX_LINE: Final = 16 * 2**20

#: Bytes read at once.
BLOCK: Final = 2**20

GZIP: Final = b"\x1f\x8b"
_GZIP_BITS: Final = 31  # zlib's value for gzip with the largest window

_NEWLINE: Final = 10

#: First bytes of compressions that are not supported, and the commands that decompress them.
OTHER_COMPRESSIONS: Final = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"BZh": "bunzip2",
    b"\xfd7zXZ\x00": "unxz",
    b"\x04\x22\x4d\x18": "lz4 -d",
    b"PK\x03\x04": "unzip",
}


class InputChanged(Exception):
    """A file has changed since the work was planned."""


class Problem(NamedTuple):
    """A fault of a file: a reason of `quarantine`, and a sentence."""

    reason: str
    detail: str


class Source(BufferedReader):
    """An open file, or standard input (None). Close it, or use it in a `with` statement."""

    def __init__(self, path: Path | None) -> None:
        self.path: Final = path
        plain: RawIOBase
        if path is None:
            plain = _StandardInput()
            head = plain.head
        else:
            plain = FileIO(path)
            head = plain.read(len(GZIP))
            plain.seek(0)
        self._gunzip = _Gunzip(plain) if head == GZIP else None
        super().__init__(self._gunzip or plain, BLOCK)

    @property
    def problem(self) -> Problem | None:
        """The fault of the file, known when its end is reached; None if there is none."""
        return self._gunzip.problem if self._gunzip else None


def open_source(name: str) -> Source:
    """Opens the file of this name; `-` is standard input."""
    return Source(None if name == "-" else Path(name))


class _StandardInput(RawIOBase):
    """Standard input, with its first bytes in `head`. Closing it leaves standard input open."""

    def __init__(self) -> None:
        self._stream: Any = sys.stdin.buffer
        self._rest = self.head = self._stream.read(len(GZIP))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._rest or self._stream.read1(len(view))
        shown, self._rest = data[: len(view)], data[len(view) :]
        view[: len(shown)] = shown
        return len(shown)


class _Gunzip(RawIOBase):
    """Decompresses all members; an early end is reported as a problem."""

    def __init__(self, compressed: RawIOBase) -> None:
        self.problem: Problem | None = None
        self._compressed = compressed
        self._member = decompressobj(wbits=_GZIP_BITS)
        self._begun = False  #: the member has at least one byte
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ended:
            try:
                if out := self._decompress(len(view)):
                    view[: len(out)] = out
                    return len(out)
            except zlib_error as error:
                self._end("damaged_file", f"the gzip file is damaged ({error}); the part before was read")
        return 0

    def close(self) -> None:
        self._compressed.close()
        super().close()

    def _decompress(self, most: int) -> bytes:
        if self._member.eof:  # another member may follow, or zeros as padding of tapes
            self._rest, self._begun = self._member.unused_data, False
            self._member = decompressobj(wbits=_GZIP_BITS)
        data = self._rest or self._compressed.read(BLOCK) or b""
        if not data:
            if self._begun:
                self._end("truncated_file", "the gzip file ends early; the part before was read")
            self._ended = True
        if not self._begun:
            data = data.lstrip(b"\0")
            self._begun = bool(data)
        out = self._member.decompress(data, most) if data else b""
        self._rest = self._member.unconsumed_tail
        return out

    def _end(self, reason: str, detail: str) -> None:
        self._ended = True
        self.problem = Problem(reason, detail)


class Line(NamedTuple):
    """A line, without its end."""

    offset: int
    number: int  #: from 1
    data: bytes
    whole: bool  #: has a line end


def lines(source: Source, part: Part, set_aside: SetAside) -> Iterator[Line]:
    """
    Yields the lines of a part of a file.

    Lines that are too long and faults of the file itself are set aside. Raises InputChanged.
    """
    if part.begin:
        source.seek(part.begin)
    at, number = part.begin, part.first_line
    while part.end is None or at < part.end:
        data = source.readline(MAX_LINE + 1)
        if not data:
            break
        whole = data[-1] == _NEWLINE
        if whole:
            yield Line(at, number, data[:-1], whole=True)
        elif len(data) <= MAX_LINE:
            yield Line(at, number, data, whole=False)
        else:
            size = len(data) + _skip_line(source)
            set_aside(Refusal(at, number, "line_too_long", f"a line of {size} bytes; at most {MAX_LINE} are read", data[:RAW]))
            at += size - len(data)
        at += len(data)
        number += 1
    if part.end is not None and at != part.end:
        raise InputChanged(f"{source.path} has changed while it was read: run the command again")
    if problem := source.problem:
        set_aside(Refusal(at, number, problem.reason, problem.detail, b""))


def _skip_line(source: Source) -> int:
    """Skips the rest of a line with its end, and returns its length."""
    size = 0
    while rest := source.readline(BLOCK):
        size += len(rest)
        if rest[-1] == _NEWLINE:
            break
    return size


class Part(NamedTuple):
    """The lines that begin at a byte from `begin` to before `end` (None: the end of the file, wherever that is)."""

    begin: int
    end: int | None
    first_line: int  #: the number of the first line


class Surveyed(NamedTuple):
    """The properties of a file, and its parts."""

    sha256: str
    size: int  #: in bytes, as stored
    lines: int | None  #: None for a compressed file
    parts: tuple[Part, ...]


def survey(path: Path, part_size: int) -> Surveyed:
    """
    Reads a file once, to identify it by its digest and to cut it between lines into parts of about this size.

    A compressed file is one part. An empty file has none.
    """
    digest = sha256()
    at = count = 0
    cuts = [(0, 1)]
    with path.open("rb", buffering=0) as file:
        compressed = False
        last = b"\n"
        while block := file.read(BLOCK):
            if not at:
                compressed = block.startswith(GZIP)
            digest.update(block)
            if not compressed:
                while (nominal := cuts[-1][0] + part_size - at) < len(block):
                    if (newline := block.find(b"\n", max(nominal - 1, 0))) < 0:
                        break
                    cuts.append((at + newline + 1, count + block.count(b"\n", 0, newline + 1) + 1))
                count += block.count(b"\n")
            at += len(block)
            last = block[-1:]
    if compressed:
        return Surveyed(digest.hexdigest(), at, None, (Part(0, None, 1),))
    count += last != b"\n"
    ends = [begin for begin, _ in cuts[1:]] + [at]
    parts = tuple(Part(begin, end, number) for (begin, number), end in zip(cuts, ends, strict=True) if begin < end)
    return Surveyed(digest.hexdigest(), at, count, parts)
