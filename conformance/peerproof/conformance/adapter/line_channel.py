"""
Lines to and from an untrusted program, which may be silent, may never stop, or may exit at any byte.

One thread serves standard input, output and error at once, so that none of the three can fill up and block while the runner
waits for another.
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

KEPT_ERRORS: Final = 64 * 2**10  #: bytes of standard error that are kept, the last ones, to be shown when the program fails
_CHUNK: Final = 2**16
_START: Final = 1000  #: bytes of a line that is too long, which are shown
_LAST_WORDS: Final = 0.5  #: seconds for the last errors and the exit of a program that has closed its output


class ReadTimeout(Exception):
    """No line arrived in time."""


class Ended(Exception):
    """The program has ended its output. The message says how."""


class LineTooLong(Exception):
    """A line exceeds the limit of bytes."""

    def __init__(self, start: bytes) -> None:
        super().__init__("a line is too long")
        self.start = start  #: the beginning of the line


class Channel(ABC):
    """Lines over two file descriptors, which may be the same, and the output of a third."""

    def __init__(self, reading: int, writing: int, errors: int | None = None) -> None:
        for descriptor in {reading, writing} | ({errors} if errors is not None else set()):
            os.set_blocking(descriptor, False)
        self.errors = b""  #: the end of the program's standard error
        self.longest = MAX_LINE  #: the most bytes of a line; an endless line must not fill the memory
        self._reading = reading
        self._writing = writing
        self._errors = errors
        self._outgoing = bytearray()
        self._lines: deque[bytes] = deque()
        self._parts: list[bytes] = []  #: parts of the unfinished line
        self._part_size = 0
        self._ended = False
        self._poll = select.poll()
        self._poll.register(reading, select.POLLIN)
        if errors is not None:
            self._poll.register(errors, select.POLLIN)

    def write(self, data: bytes) -> None:
        """Sends as many bytes as fit now; `line` sends the rest while it waits. Never raises."""
        if not self._outgoing:
            try:
                written = os.write(self._writing, data)
            except BlockingIOError:
                written = 0
            except OSError:  # the pipe is closed; reading will report the end
                return
            if written == len(data):
                return
            data = data[written:]
            self._want_room(True)
        self._outgoing += data

    def line(self, deadline: float | None) -> bytes:
        """Returns the next line, without its end. Raises ReadTimeout, Ended or LineTooLong; `deadline` is of `time.monotonic`."""
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
        """Returns the unfinished line."""
        return b"".join(self._parts)

    def take_errors(self) -> bytes:
        """Returns the end of the standard error since the last call, including what can be read at once."""
        if self._errors is not None:
            self._read_errors()
        taken, self.errors = self.errors, b""
        return taken

    def ending(self) -> str:
        """How it ended, as text."""
        return "closed the connection"

    @abstractmethod
    def close(self, seconds: float | None) -> bool:
        """Waits up to `seconds` (None: for ever) for its end, then ends it by force. Returns True if it ended by itself."""

    @abstractmethod
    def abort(self) -> None:
        """Ends it, from another thread than the one that reads its lines."""

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
        """Whether to wait for room to write."""
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
        except OSError:  # a reset connection
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
        """Reads the remaining output, until both outputs end or the time is over."""
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
            start_new_session=True,  # Ctrl-C is for the runner only, and the whole group can be killed
        )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        super().__init__(process.stdout.fileno(), process.stdin.fileno(), os.dup(process.stderr.fileno()))
        process.stderr.close()

    def ending(self) -> str:
        """Its exit code or the signal that ended it, as text."""
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
        """Closes its input, waits, then kills its process group. Returns True if it ended by itself."""
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
            with suppress(ProcessLookupError, PermissionError):  # macOS refuses to signal a group of exited processes
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
            if self._errors is not None:
                os.close(self._errors)
                self._errors = None
        return by_itself

    def abort(self) -> None:
        """Kills the program."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


class Connection(Channel):
    """A program that listens on TCP and was started elsewhere; its standard error is not read. Raises OSError."""

    def __init__(self, host: str, port: int, seconds: float | None) -> None:
        self._socket = socket.create_connection((host, port), timeout=seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(self._socket.fileno(), self._socket.fileno())

    def close(self, seconds: float | None) -> bool:  # noqa: ARG002  # a connection ends at once
        """Closes the connection; the program keeps running."""
        self._socket.close()
        return True

    def abort(self) -> None:
        """Shuts the connection down for both sides."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
