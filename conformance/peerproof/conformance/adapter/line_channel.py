"""
Lines to and from a program that nobody here wrote: it may be silent, may never stop, may die at any byte.

One thread serves standard input, output and error of the program at once, so that none of the three can fill up and stand
still while the runner waits on another.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from peerproof.conformance.suite.bounds import MAX_LINE

KEPT_ERRORS: Final = 64 * 2**10  #: so much of what a program last wrote on standard error is kept, to be shown when it fails
_CHUNK: Final = 2**16
_START: Final = 1000  #: bytes of a line that is too long, to be shown
_LAST_WORDS: Final = 0.5  #: seconds that a program which closed its output has to write its last errors and exit


class ReadTimeout(Exception):
    """Nothing came in time."""


class Ended(Exception):
    """The program will say no more. The message says how it ended."""


class LineTooLong(Exception):
    """A line of more bytes than it may have."""

    def __init__(self, start: bytes) -> None:
        super().__init__("a line is too long")
        self.start = start  #: the first of it


class Channel(ABC):
    """Lines over two file descriptors, which may be the same; and what comes out of a third."""

    def __init__(self, reading: int, writing: int, errors: int | None = None) -> None:
        for descriptor in {reading, writing} | ({errors} if errors is not None else set()):
            os.set_blocking(descriptor, False)
        self.errors = b""  #: the last of what the program wrote on standard error
        self.longest = MAX_LINE  #: bytes of a line; a program which never ends its line must not fill the memory
        self._reading = reading
        self._writing = writing
        self._errors = errors
        self._outgoing = bytearray()
        self._lines: deque[bytes] = deque()
        self._parts: list[bytes] = []  #: of the line that has not ended
        self._part_size = 0
        self._ended = False
        self._poll = select.poll()
        self._poll.register(reading, select.POLLIN)
        if errors is not None:
            self._poll.register(errors, select.POLLIN)

    def write(self, data: bytes) -> None:
        """Sends bytes, as far as there is room now; the others go while `line` waits. Never raises."""
        if not self._outgoing:
            try:
                written = os.write(self._writing, data)
            except BlockingIOError:
                written = 0
            except OSError:  # nobody reads any more: the end of the output will say so
                return
            if written == len(data):
                return
            data = data[written:]
            self._want_room(True)
        self._outgoing += data

    def line(self, deadline: float | None) -> bytes:
        """The next line, without its end. Raises ReadTimeout, Ended or LineTooLong; `deadline` is of `time.monotonic`."""
        while not self._lines:
            if self._part_size > self.longest:
                raise LineTooLong(self._parts[0][:_START])
            if self._ended:
                raise Ended(self.ending())
            self._serve(deadline)
        line = self._lines.popleft()
        if len(line) > self.longest:
            raise LineTooLong(line[:_START])
        return line

    def partial_line(self) -> bytes:
        """What has come of a line that has not ended."""
        return b"".join(self._parts)

    def ending(self) -> str:
        """How it ended, in words."""
        return "closed the connection"

    @abstractmethod
    def close(self, seconds: float | None) -> bool:
        """Ends it: by itself within the time given (None: for ever), else by force; whether there was no need for that."""

    @abstractmethod
    def abort(self) -> None:
        """Makes it end, from another thread than the one that waits for its lines."""

    def _serve(self, deadline: float | None) -> None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise ReadTimeout
        for descriptor, event in self._poll.poll(None if left is None else left * 1000 + 1):
            if descriptor == self._writing and event & ~select.POLLIN and self._outgoing:
                self._flush()
            if descriptor == self._errors:
                self._read_errors()
            if descriptor == self._reading and event & ~select.POLLOUT:
                self._read()

    def _flush(self) -> None:
        try:
            del self._outgoing[: os.write(self._writing, self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:  # as in `write`
            self._outgoing.clear()
        if not self._outgoing:
            self._want_room(False)

    def _want_room(self, wanted: bool) -> None:
        """Whether to be told that there is room to write."""
        if self._writing == self._reading:
            self._poll.register(self._writing, select.POLLIN | (select.POLLOUT if wanted else 0))
        elif wanted:
            self._poll.register(self._writing, select.POLLOUT)
        else:
            self._poll.unregister(self._writing)

    def _read(self) -> None:
        try:
            chunk = os.read(self._reading, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # a connection that was reset
            chunk = b""
        if not chunk:
            self._ended = True
            self._poll.unregister(self._reading)
            return
        if b"\n" not in chunk:
            self._parts.append(chunk)
            self._part_size += len(chunk)
            return
        first, *lines, rest = chunk.split(b"\n")
        self._lines.append(b"".join((*self._parts, first)) if self._parts else first)
        self._lines.extend(lines)
        self._parts, self._part_size = ([rest], len(rest)) if rest else ([], 0)

    def _read_errors(self) -> None:
        assert self._errors is not None
        try:
            chunk = os.read(self._errors, _CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self.errors = (self.errors + chunk)[-KEPT_ERRORS:]
        else:
            self._poll.unregister(self._errors)
            os.close(self._errors)
            self._errors = None

    def _drain(self, deadline: float | None) -> None:
        """Reads what still comes, until both its outputs end or the time is over."""
        with suppress(ReadTimeout):
            while self._errors is not None or not self._ended:
                self._serve(deadline)
                self._lines.clear()
                if self._part_size > self.longest:
                    self._parts, self._part_size = [], 0


class Program(Channel):
    """A program and its standard input, output and error. Raises OSError if it cannot be started."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for the runner; and what it leaves behind can be ended together
        )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        super().__init__(process.stdout.fileno(), process.stdin.fileno(), os.dup(process.stderr.fileno()))
        process.stderr.close()

    def ending(self) -> str:
        """Its exit code or the signal that ended it."""
        self._drain(time.monotonic() + _LAST_WORDS)
        try:
            code = self._process.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            return "closed its output without exiting"
        if code < 0:
            with suppress(ValueError):
                return f"was ended by {signal.Signals(-code).name}"
        return f"exited with code {code}"

    def close(self, seconds: float | None) -> bool:
        """Closes its input, waits, then kills it and what it has started; whether it ended by itself."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        by_itself = False
        try:
            if seconds != 0:
                self._drain(None if seconds is None else time.monotonic() + seconds)
                process.wait(_LAST_WORDS if seconds else None)
                by_itself = True
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError, PermissionError):  # macOS refuses to signal a group of the dead
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
            if self._errors is not None:
                os.close(self._errors)
                self._errors = None
        return by_itself

    def abort(self) -> None:
        """Kills it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


class Connection(Channel):
    """A program that listens on TCP, started by somebody else; its standard error is theirs. Raises OSError."""

    def __init__(self, host: str, port: int, seconds: float | None) -> None:
        self._socket = socket.create_connection((host, port), timeout=seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(self._socket.fileno(), self._socket.fileno())

    def close(self, seconds: float | None) -> bool:  # noqa: ARG002  # a connection ends at once
        """Closes the connection; the program goes on."""
        self._socket.close()
        return True

    def abort(self) -> None:
        """Ends the connection for both sides."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
