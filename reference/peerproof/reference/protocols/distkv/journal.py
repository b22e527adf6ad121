"""
The journal of a node: the records that must survive a crash, in an SQLite file.

`append` and `replace` are transactions with `synchronous=FULL`: what they write is on the disk when they return, and a crash
leaves all of it or none. A process that has a journal open holds a lock on it (`locking_mode=EXCLUSIVE`).

`journal_mode` is DELETE and not WAL, because after each commit the one file holds every record: a copy of it is complete, and the
checksum detects damage. A WAL is a second file, which is easily forgotten, and SQLite ignores everything after a damaged frame
of it; a node that loses records contradicts what it has sent to others. The price is four fsyncs per commit instead of one.
In this mode, `synchronous=FULL` alone lets a power failure undo the last commit. Under an exclusive lock SQLite also syncs the
end of the rollback journal, which prevents that.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from stat import S_ISREG
from tempfile import mkstemp
from typing import Final
from zlib import crc32

#: Marks an SQLite file as a journal.
APPLICATION_ID: Final = int.from_bytes(b"peer")

#: First bytes of a journal of an earlier version.
OLD_MAGIC: Final = b"peerproof journal 1\n"

_SETTINGS: Final = """
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = DELETE;
    PRAGMA synchronous = FULL;
"""
_SCHEMA: Final = f"""
    PRAGMA auto_vacuum = FULL;
    BEGIN;
    PRAGMA application_id = {APPLICATION_ID};
    CREATE TABLE journal (title BLOB NOT NULL, checksum INTEGER NOT NULL);
    CREATE TABLE record (number INTEGER PRIMARY KEY, payload BLOB NOT NULL);
"""

_REASONS: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and start the node again",
    sqlite3.SQLITE_IOERR: "the disk reports an error, or a limit to the size of files is reached",
    sqlite3.SQLITE_READONLY: "it, or its folder, is read-only; make both writable, or name another file",
    sqlite3.SQLITE_CANTOPEN: "it, or its folder, cannot be opened for writing; check the permissions, or name another file",
}


class JournalError(ValueError):
    """A journal that cannot be opened or written; the message says what to do."""


class Journal:
    """A journal that is open and locked."""

    def __init__(self, path: Path, title: str) -> None:
        """Opens a journal, or creates it if there is no such file. Raises JournalError."""
        self.path: Final = path
        self.records: list[bytes] = []  #: the records found; the caller may clear the list
        self.size = 0  #: bytes of all records
        self._owner: Final = crc32(title.encode())
        self._checksum = self._owner
        try:
            if not path.exists():
                _create(path, title)
            status = path.stat()
            if not S_ISREG(status.st_mode):
                raise JournalError(f"cannot use the journal {path}: it is no file")
            if not status.st_size:  # SQLite would take it for an empty database
                raise self._foreign()
            self._database: Final = _connect(path)
            try:
                self._read(title)
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise JournalError(f"cannot use the journal {path}: {error.strerror}") from None
        except sqlite3.Error as error:
            raise self._sqlite_error("use", error) from None

    def append(self, payload: bytes) -> None:
        """Adds a record. Raises JournalError; then the journal is as before."""
        self._write("write", (payload,), replaces=False)

    def replace(self, payloads: Iterable[bytes]) -> None:
        """Replaces all records, atomically. Raises JournalError; then the journal is as before."""
        self._write("replace", payloads, replaces=True)

    def close(self) -> None:
        """Closes the journal. It can be opened again."""
        self._database.close()

    def _write(self, verb: str, payloads: Iterable[bytes], *, replaces: bool) -> None:
        """Writes records in one transaction. `verb` is for the error message."""
        checksum, size = (self._owner, 0) if replaces else (self._checksum, self.size)
        try:
            self._database.execute("BEGIN")
            if replaces:
                self._database.execute("DELETE FROM record")
            for payload in payloads:
                self._database.execute("INSERT INTO record (payload) VALUES (?)", (payload,))
                checksum, size = _checksum(payload, checksum), size + len(payload)
            self._database.execute("UPDATE journal SET checksum = ?", (checksum,))
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise self._sqlite_error(verb, error) from None
        self._checksum, self.size = checksum, size

    def _read(self, title: str) -> None:
        """Locks the journal, checks it and reads the records."""
        execute = self._database.execute
        try:
            ((application,),) = execute("PRAGMA application_id")
            if application != APPLICATION_ID:  # checked first, because the settings may change the file
                raise self._foreign()
            self._database.executescript(_SETTINGS)
            execute("BEGIN EXCLUSIVE")
            ((found,),) = execute("PRAGMA integrity_check(1)")
            if found != "ok":
                raise self._damage_error(found)
            owners = execute("SELECT CAST(title AS BLOB), checksum FROM journal").fetchall()
            self.records = [payload for (payload,) in execute("SELECT CAST(payload AS BLOB) FROM record ORDER BY number")]
            execute("COMMIT")
        except sqlite3.DatabaseError as error:
            if _code(error) == sqlite3.SQLITE_NOTADB:
                raise self._foreign() from None
            if _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR):
                raise self._damage_error(str(error)) from None
            raise
        except UnicodeError:  # SQLite's message contains bytes of the file
            raise self._damage_error("it has bytes that are not text") from None
        self._checksum = crc32(owners[0][0]) if owners else 0
        for payload in self.records:
            self._checksum, self.size = _checksum(payload, self._checksum), self.size + len(payload)
        if [checksum for _, checksum in owners] != [self._checksum]:
            raise self._damage_error("its checksum is wrong")
        if owners[0][0] != title.encode():
            raise JournalError(f"{self.path} is the journal of {owners[0][0].decode()}, not of {title}")

    def _foreign(self) -> JournalError:
        with self.path.open("rb") as file:
            is_old = file.read(len(OLD_MAGIC)) == OLD_MAGIC
        if is_old:
            return JournalError(
                f"{self.path} is a journal of an earlier version ({OLD_MAGIC.decode().strip()}), which is not supported any more;"
                f" name another file, and start the node under another name"
            )
        return JournalError(f"{self.path} is not a node's journal; name another file, or remove it to start without data")

    def _damage_error(self, detail: str) -> JournalError:
        return JournalError(
            f"{self.path} is damaged ({' '.join(detail.split())}), and changes that the node has sent may be lost. Restore a copy"
            f" of it that is not older than the node's last change; or remove it, and start the node under another name"
        )

    def _sqlite_error(self, verb: str, error: sqlite3.Error) -> JournalError:
        if _code(error) == sqlite3.SQLITE_BUSY:
            return JournalError(f"{self.path} is in use by another process; each node needs its own file")
        return JournalError(f"cannot {verb} the journal {self.path}: {_REASONS.get(_code(error), error)}")


def _connect(path: Path) -> sqlite3.Connection:
    """Opens an existing file. A lock of another process is an immediate error, so that the event loop is not blocked."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0, isolation_level=None)


def _create(path: Path, title: str) -> None:
    """Creates an empty journal and links it to its path when it is complete. A journal that another process created stays."""
    file, name = mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)
    os.close(file)
    try:
        with closing(_connect(Path(name))) as database:
            database.executescript(_SETTINGS + _SCHEMA)
            database.execute("INSERT INTO journal VALUES (?, ?)", (title.encode(), crc32(title.encode())))
            database.execute("COMMIT")
        Path(f"{path}-journal").unlink(missing_ok=True)  # left over from a removed file: SQLite would apply it to the new one
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _checksum(payload: bytes, before: int) -> int:
    """Extends the checksum by one record: it is the CRC-32 of the records' sizes and payloads."""
    return crc32(payload, crc32(b"%d:" % len(payload), before))


def _code(error: sqlite3.Error) -> int:
    """Returns the primary result code; SQLITE_ERROR for errors that do not come from SQLite itself."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
