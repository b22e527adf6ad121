"""
A journal: what must be found again after a crash, in a file that is added to and replaced now and then.

A line says what it is; then there are records: size, CRC-32 of these four bytes, payload, CRC-32 of the payload. All numbers have
four bytes, the most significant first. The first record says whose journal it is, the others are the caller's.

A record is on the disk before `append` returns. What a crash leaves of one that was being written then is taken off at the next
start: nothing had been done yet that followed from it. Anything else that is not as it was written is an error, and nothing is
changed: a node that began from nothing, where there was something, would contradict what others have heard from it.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Final
from zlib import crc32

MAGIC: Final = b"peerproof journal 1\n"

_U32: Final = struct.Struct(">I")
_HEAD: Final = struct.Struct(">II")


class JournalError(ValueError):
    """A journal that cannot be used, or not any more, with what to do about it."""


class Journal:
    """A journal that is open, and locked against everybody else who opens it so."""

    def __init__(self, path: Path, title: str) -> None:
        """Opens it, or makes a new one if there is none. Raises JournalError."""
        self.path: Final = path
        self.torn = 0  #: bytes that were taken off the end
        self.records: list[bytes] = []  #: what was found; the caller may clear it
        self._title: Final = title
        self._file = -1
        try:
            if not path.exists():
                self._file = self._written([title.encode()])
                self._fsync_folder()
            else:
                self._file = self._locked(path)
            self._size = self._read()
            if self.torn:
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
        except OSError as error:
            self.close()
            raise self._failed("use", error) from None
        except JournalError:
            self.close()
            raise

    @property
    def size(self) -> int:
        """Bytes."""
        return self._size

    def append(self, payload: bytes) -> None:
        """Add a record. Raises JournalError; then the journal is as before."""
        record = _record(payload)
        try:
            _write(self._file, record)
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
                os.lseek(self._file, self._size, os.SEEK_SET)
            raise self._failed("write", error) from None
        self._size += len(record)

    def replace(self, payloads: Iterable[bytes]) -> None:
        """Hold these records and no others: all of them, or after a crash those before. Raises JournalError; then as before."""
        try:
            file = self._written([self._title.encode(), *payloads])
            os.close(self._file)
            self._file, self._size = file, os.lseek(file, 0, os.SEEK_END)
            self._fsync_folder()
        except OSError as error:
            raise self._failed("replace", error) from None

    def close(self) -> None:
        """Close it. It can be opened again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _locked(self, path: Path) -> int:
        """The file, locked; if somebody has replaced it meanwhile, the new one."""
        while True:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                self._lock(file)
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    return file
            except BaseException:
                os.close(file)
                raise
            os.close(file)

    def _lock(self, file: int) -> None:
        if not S_ISREG(os.fstat(file).st_mode):
            raise JournalError(f"cannot use the journal {self.path}: it is no file")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(f"{self.path} is being used by another process: one node has one file of its own") from None

    def _written(self, payloads: Iterable[bytes]) -> int:
        """A new file with these records in the place of the old one."""
        new = self.path.with_name(self.path.name + ".new")
        file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock(file)
            os.ftruncate(file, 0)
            _write(file, MAGIC + b"".join(map(_record, payloads)))
            os.fsync(file)
            os.replace(new, self.path)
        except OSError:
            with suppress(OSError):
                os.unlink(new)
            os.close(file)
            raise
        except JournalError:
            os.close(file)
            raise
        return file

    def _fsync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _read(self) -> int:
        """Puts the records into `records`. Returns where the last whole one ends."""
        os.lseek(self._file, 0, os.SEEK_SET)
        with open(self._file, "rb", closefd=False) as file:
            data = file.read()
        if not data.startswith(MAGIC):
            raise JournalError(f"{self.path} is no journal of a node; name another file, or remove it to start without data")
        at, found = len(MAGIC), []
        while (end := self._end(data, at)) is not None:
            found.append(data[at + _HEAD.size : end - _U32.size])
            at = end
        if not found:
            raise self._garbled(at)
        title, *self.records = found
        if title != self._title.encode():
            raise JournalError(f"{self.path} is the journal of {title.decode(errors='replace')}, not of {self._title}")
        self.torn = len(data) - at
        os.lseek(self._file, at, os.SEEK_SET)
        return at

    def _end(self, data: bytes, at: int) -> int | None:
        """Where a record ends; None if it was never whole, or there is none. Raises JournalError for one that was changed."""
        if len(data) - at < _HEAD.size:
            return None
        size, check = _HEAD.unpack_from(data, at)
        if check != crc32(data[at : at + _U32.size]):
            if not any(data[at:]):  # some systems leave zeros of what a power cut interrupted
                return None
            raise self._garbled(at)
        end: int = at + _HEAD.size + size + _U32.size
        if end > len(data):
            return None
        if _U32.unpack_from(data, end - _U32.size)[0] != crc32(data[at + _HEAD.size : end - _U32.size]):
            raise self._garbled(at)
        return end

    def _garbled(self, at: int) -> JournalError:
        return JournalError(
            f"{self.path} was changed from byte {at} on, so that nobody knows what this node has said. Bring back a copy of it"
            f" that is not older than the node's last change; or remove it, and start under another name"
        )

    def _failed(self, what: str, error: OSError) -> JournalError:
        return JournalError(f"cannot {what} the journal {self.path}: {error.strerror}")


def _record(payload: bytes) -> bytes:
    size = _U32.pack(len(payload))
    return b"".join((size, _U32.pack(crc32(size)), payload, _U32.pack(crc32(payload))))


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
