"""Input files: checks of their format, and the parts in which they are read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from peerproof.conformance.captures.byte_source import OTHER_COMPRESSIONS, InputChanged, Part, survey
from peerproof.conformance.captures.pcap import is_capture
from peerproof.conformance.suite.source import Source
from peerproof.spec.forms.form import Plain

Format: TypeAlias = Literal["jsonl", "pcap", "pcapng"]
FORMATS: Final[tuple[Format, ...]] = ("jsonl", "pcap", "pcapng")

#: Bytes of a log per unit: some seconds of work.
PART: Final = 2**26


class BadInput(Exception):
    """A file that cannot be read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Input:
    """An input file."""

    name: str  #: as given by the user
    path: Path  #: absolute
    sha256: str
    size: int
    lines: int | None  #: only of an uncompressed log
    parts: tuple[Part, ...]

    def plain(self) -> Plain:
        """Returns what identifies the file in a plan."""
        return {"file": self.name, "sha256": self.sha256, "bytes": self.size}


def inputs(names: Sequence[str], form: Format, part_size: int = PART) -> list[Input]:
    """Reads all files once, to find size, digest and parts. Raises BadInput."""
    if not names:
        raise BadInput("no files to read: name at least one")
    found: dict[Path, str] = {}
    for name in names:
        path = Path(name).absolute()
        _check(name, path, form)
        real = path.resolve()
        if real in found:
            raise BadInput(f"{name} is given twice" + (f", the first time as {found[real]}" if found[real] != name else ""))
        found[real] = name
    return [_inspect(name, Path(name).absolute(), form, part_size) for name in names]


#: Bytes of a log that are read to find the number of a line.
MOST_SEARCHED: Final = 2**28


def find_line_number(name: str | None, offset: int | None) -> int | None:
    """Returns the number of the line at this byte of a log, from 1; None if it is not there, far away, or a capture."""
    return None if name is None or offset is None else find_line_numbers(name, [offset]).get(offset)


def find_line_numbers(name: str, offsets: Collection[int]) -> dict[int, int]:
    """Returns the numbers of the lines at these bytes of a log, as `find_line_number` does; reads it once."""
    found: dict[int, int] = {}
    with suppress(OSError, EOFError, InputChanged):
        if not Path(name).is_file() or is_capture(Path(name)):
            return found
        with Source(Path(name)) as source:
            at, number, last = 0, 1, b"\n"
            for offset in sorted(offsets):
                before = source.read(offset - at) if offset <= MOST_SEARCHED else b""
                if len(before) < offset - at:
                    break
                at, number, last = offset, number + before.count(b"\n"), before[-1:] or last
                if last == b"\n":
                    found[offset] = number
    return found


def _inspect(name: str, path: Path, form: Format, part_size: int) -> Input:
    surveyed = survey(path, part_size)
    parts = surveyed.parts if form == "jsonl" or not surveyed.size else (Part(0, None, 1),)
    return Input(name, path, surveyed.sha256, surveyed.size, surveyed.lines if form == "jsonl" else None, parts)


def _check(name: str, path: Path, form: Format) -> None:
    if path.is_dir():
        raise BadInput(f"{name} is a directory: name the files in it, as {name.rstrip('/')}/*")
    if not path.exists():
        raise BadInput(f"{name} does not exist")
    if not path.is_file():
        raise BadInput(f"{name} is not a regular file: write its content to one, and give that")
    try:
        with path.open("rb") as file:
            head = file.read(8)
        capture = bool(head) and is_capture(path)
    except OSError as error:
        raise BadInput(f"cannot read {name}: {error.strerror}") from None
    for magic, command in OTHER_COMPRESSIONS.items():
        if head.startswith(magic):
            raise BadInput(f"{name} is compressed, but not with gzip: decompress it with {command} first")
    if capture and form == "jsonl":
        raise BadInput(f"{name} is a capture: read it with --input-format pcap")
    if head and not capture and form != "jsonl":
        raise BadInput(f"{name} is not a capture: it is neither pcap nor pcapng" + _hint(head))


def _hint(head: bytes) -> str:
    return "; a log of JSON lines is read with --input-format jsonl" if head.lstrip()[:1] == b"{" else ""
