"""The lines of a part of a file, and the parts of a file."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from peerproof.conformance.captures.refusals import RAW, Refusal, SetAside
from peerproof.conformance.suite.source import BLOCK, GZIP, Source

#: Maximum bytes of a line, without its end.
MAX_LINE: Final = 16 * 2**20

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
