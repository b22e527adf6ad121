"""
Output files of reports, also when the disk is full or the user presses Ctrl-C.

A file that is written as a whole has either the old content or the new one. A file that grows line by line ends after a
complete line. Standard output cannot control the terminal (`printable`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from peerproof.conformance.suite.printable import Printable, escape_controls

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class CannotWrite(Exception):
    """A report cannot be written where it should be."""


class Deferred:
    """Defers an interruption to the end of the block, where `seen` is set; a second interruption is not deferred."""

    def __init__(self) -> None:
        self.seen = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, *_: object) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True


class Growing:
    """A file, or standard output, that grows line by line."""

    def __init__(self, path: Path | None) -> None:
        """Empties the file. Raises CannotWrite."""
        try:
            if path is None:
                sys.stdout.flush()
                self._descriptor = os.dup(sys.stdout.fileno())
            else:
                self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            raise CannotWrite(f"{path or 'standard output'}: {error.strerror}") from None
        self._name = str(path or "standard output")
        self._size = 0
        self._may_be_cut = path is not None

    def write(self, line: str | bytes) -> None:
        """Adds a line, whole or not at all unless it is interrupted (`Deferred`). Raises CannotWrite."""
        data = escape_controls(line).encode() if isinstance(line, str) else line
        try:
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except BrokenPipeError:
            raise
        except OSError as error:
            if self._may_be_cut:
                with suppress(OSError):  # a device
                    os.ftruncate(self._descriptor, self._size)
                    os.lseek(self._descriptor, self._size, os.SEEK_SET)
            raise CannotWrite(f"{self._name}: {error.strerror}") from None
        self._size += len(data)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)


def write_whole(path: Path | None, text: str) -> None:
    """Writes a file, whole or not at all; or standard output. Raises CannotWrite."""
    try:
        if path is None:
            paint = sys.stdout.paint if isinstance(sys.stdout, Printable) else str
            sys.stdout.buffer.write(paint(escape_controls(text)).encode("utf-8", "backslashreplace"))
            sys.stdout.flush()
        elif path.exists() and not path.is_file():  # a device, a pipe
            path.write_text(escape_controls(text), encoding="utf-8", errors="backslashreplace")
        else:
            _replace(path.resolve(), text.encode("utf-8", "backslashreplace"))
    except BrokenPipeError:
        raise
    except OSError as error:
        if path is None:
            _discard_standard_output()
        raise CannotWrite(f"{path or 'standard output'}: {error.strerror}") from None


def _discard_standard_output() -> None:
    """Discards buffered output, which would fail again when Python exits."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _replace(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            unfinished.chmod(path.stat().st_mode & 0o777)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def unwritable(path: Path) -> str | None:
    """Returns why the path cannot be written, as far as it can be checked beforehand; None if it can."""
    if path.is_dir():
        return f"{path} is a folder"
    if not path.resolve().parent.is_dir():
        return f"the folder {path.parent} does not exist"
    return None
