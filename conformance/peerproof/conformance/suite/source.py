"""
Input files and standard input, read as bytes, compressed with gzip or not.

Compressed input that ends early or is damaged is read up to that place; `Source.problem` describes the damage.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO, RawIOBase
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import decompressobj
from zlib import error as zlib_error

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: The name of standard input.
STANDARD_INPUT: Final = "-"

#: Bytes read at once.
BLOCK: Final = 2**20

GZIP: Final = b"\x1f\x8b"
_GZIP_BITS: Final = 31  # zlib's value for gzip with the largest window


class Problem(NamedTuple):
    """A fault of a file: a reason of `quarantine`, and a sentence."""

    reason: str
    detail: str


class Source(BufferedReader):
    """An open file, or standard input (None). Close it, or use it in a `with` statement."""

    def __init__(self, path: Path | None) -> None:
        self.path: Final = path
        plain: RawIOBase
        file = _copies[-1] if path is None and _copies else path
        if file is None:
            plain = _StandardInput()
            head = plain.head
        else:
            plain = open_file(file)
            head = plain.read(len(GZIP))
            plain.seek(0)
        self._gunzip = _Gunzip(plain) if head == GZIP else None
        super().__init__(self._gunzip or plain, BLOCK)

    @property
    def problem(self) -> Problem | None:
        """The fault of the file, known when its end is reached; None if there is none."""
        return self._gunzip.problem if self._gunzip else None


def open_file(path: Path) -> FileIO:
    """Opens a file to read its bytes. Raises OSError, which says of a directory what to do."""
    try:
        return FileIO(path)
    except IsADirectoryError as problem:
        raise IsADirectoryError(
            problem.errno, f"{problem.strerror}: name the files in it, as {path}/*", problem.filename
        ) from None


def open_source(name: str) -> Source:
    """Opens the file of this name, or standard input."""
    return Source(None if name == STANDARD_INPUT else Path(name))


#: Files with a copy of standard input.
_copies: list[Path] = []


@contextmanager
def keep_standard_input(names: Collection[str]) -> Iterator[None]:
    """Lets standard input be opened more than once, if its name is among these."""
    if STANDARD_INPUT not in names:
        yield
        return
    with NamedTemporaryFile(prefix="peerproof-") as copy:
        copyfileobj(sys.stdin.buffer, copy, BLOCK)
        copy.flush()
        _copies.append(Path(copy.name))
        try:
            yield
        finally:
            _copies.pop()


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
