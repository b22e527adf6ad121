"""
A page of the documentation as what a reader does with it, block by block.

A block of `console` is typed, each line that begins with `$ `, and what stands under such a line must come out: `…` stands for
anything, alone in its line for any number of lines; blanks at the end of a line do not count. Where a block shows nothing at all,
the commands must succeed.

A block of `console` with a title is what happens in the terminal of this name, where the last command goes on running: what
stands there comes out sooner or later; `^C` in a line of its own ends the command. A block of `text` with such a title is typed
into what runs there. Any other block with a title is a file, or a `diff` that is made in it.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.tools import require

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_PORT = re.compile(r"127\.0\.0\.1:(\d{4})\b")
_PATIENCE = 600  #: seconds for one command, also on a slow machine
_INTERRUPT = "^C\n"


class Typed(NamedTuple):
    """A command, and what the page says comes out: None where it says nothing about it."""

    command: str
    expected: str | None


class File(NamedTuple):
    """A file that the reader writes, or changes by a diff."""

    name: str
    text: str
    is_diff: bool


class InTerminal(NamedTuple):
    """What is typed into a terminal and what it then shows; without a command, into what runs there."""

    title: str
    command: str | None
    typed: str
    expected: str
    is_ended: bool


Step = Typed | File | InTerminal


def steps(page: str) -> Iterator[Step]:
    """What a reader does, in order."""
    terminals: set[str] = set()
    for language, title, body in _BLOCK.findall(page):
        first, *parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
        commands = [(command, expected) for command, _, expected in (part.partition("\n") for part in parts)]
        if title and language == "console":
            terminals.add(title)
            if first:
                yield InTerminal(title, None, "", first.removesuffix(_INTERRUPT), first.endswith(_INTERRUPT))
            for command, expected in commands:
                yield InTerminal(title, command, "", expected.removesuffix(_INTERRUPT), expected.endswith(_INTERRUPT))
        elif title in terminals:
            yield InTerminal(title, None, body, "", False)
        elif title:
            yield File(title, body, language == "diff")
        elif language == "console":
            shows = any(expected for _, expected in commands)
            yield from (Typed(command, expected if shows else None) for command, expected in commands)


def with_free_ports(page: str) -> str:
    """A page with ports that are free here in place of its own."""
    ports = sorted(set(_PORT.findall(page)))
    free = dict(zip(ports, _free_ports(len(ports)), strict=True))
    return re.sub("|".join(rf"\b{port}\b" for port in ports) or "$^", lambda found: free[found[0]], page)


def _free_ports(count: int) -> Iterator[str]:
    """Of four digits, as those of the pages, so that columns are as wide; of both kinds."""
    for port in range(2000 + os.getpid() % 5000, 9999):
        if count == 0:
            return
        with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            try:
                stream.bind(("127.0.0.1", port))
                datagrams.bind(("127.0.0.1", port))
            except OSError:
                continue
        count -= 1
        yield str(port)


class Reader:
    """Somebody at a shell, which stays in the folder that it was in, and at further terminals; to be closed."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._environment = {**environment, "PEERPROOF_NO_PROGRESS": "1"}  # a slow machine shows no more than a fast one
        self._terminals: dict[str, _Running] = {}

    def follow(self, step: Step) -> None:
        """Does a step, and sees that it is as the page says."""
        match step:
            case File():
                path = self.folder / step.name
                path.write_text(mended(path.read_text("utf-8"), step.text) if step.is_diff else step.text, encoding="utf-8")
            case InTerminal():
                self._turn_to(step)
            case Typed():
                self._type(step)

    def close(self) -> None:
        """Ends what still runs."""
        for running in self._terminals.values():
            running.end()

    def _turn_to(self, step: InTerminal) -> None:
        if step.command is not None:
            if step.title in self._terminals:
                self._terminals.pop(step.title).wait()
            self._terminals[step.title] = _Running(step.command, self.folder, self._environment)
        running = self._terminals[step.title]
        running.type(step.typed)
        running.see(step.expected)
        if step.is_ended:
            running.end()

    def _type(self, step: Typed) -> None:
        script = f'{step.command}\ncode=$?\npwd > "$AFTERWARDS"\nexit $code'
        afterwards = self.folder / ".afterwards"
        environment = {**self._environment, "AFTERWARDS": str(afterwards)}
        shell = [require("bash"), "-c", script]
        done = subprocess.run(
            shell, cwd=self.folder, env=environment, stdout=-1, stderr=-2, text=True, check=False, timeout=_PATIENCE
        )
        self.folder = Path(afterwards.read_text("utf-8").strip())
        afterwards.unlink()
        printed = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)  # Maven has colours everywhere
        if step.expected:
            assert fits(step.expected, printed), f"$ {step.command}\n{printed}"
        else:
            shown = "" if step.expected is None else printed
            assert (done.returncode, shown) == (0, ""), f"$ {step.command}\n{printed}"


def follow(page: str, folder: Path, least: int, **environment: str) -> None:
    """Does in a folder what a page says, which has at least so many commands."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    reader, todo = Reader(folder, {**os.environ, "PATH": path, **environment}), list(steps(page))
    assert sum(isinstance(step, Typed) for step in todo) >= least
    try:
        for step in todo:
            reader.follow(step)
    finally:
        reader.close()


class _Running:
    """A command in a terminal of its own."""

    def __init__(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._command = command
        self._screen = tempfile.TemporaryFile()  # noqa: SIM115 - it stays open as long as the command runs
        self._process = subprocess.Popen(
            [require("bash"), "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=self._screen,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._seen = 0  # characters

    def type(self, text: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def see(self, expected: str) -> None:
        """Waits until all of this has come out, after what was seen before."""
        wanted = re.compile(f"^{_pattern(expected)}", re.MULTILINE)
        deadline = time.monotonic() + _PATIENCE
        while True:
            has_ended = self._process.poll() is not None
            if found := wanted.search(self._shown(), self._seen):
                break
            assert not has_ended, f"$ {self._command}\n{self._shown()}"
            assert time.monotonic() < deadline, f"$ {self._command}\n{self._shown()}"
            time.sleep(0.05)
        self._seen = found.end()

    def wait(self) -> None:
        """Until it has ended by itself."""
        self._process.wait(_PATIENCE)
        self._close()

    def end(self) -> None:
        """As Ctrl-C does."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                raise
        self._close()

    def _close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._screen.close()

    def _shown(self) -> str:
        return os.pread(self._screen.fileno(), os.fstat(self._screen.fileno()).st_size, 0).decode(errors="replace")


def fits(expected: str, actual: str) -> bool:
    """Whether output is what a page shows of it."""
    return re.fullmatch(_pattern(expected), actual if actual.endswith("\n") else f"{actual}\n") is not None


def _pattern(expected: str) -> str:
    """A regular expression for the output that a page shows."""
    lines = expected.splitlines()
    return "".join(
        "(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + " *\n" for line in lines
    )


def mended(text: str, diff: str) -> str:
    """A text after a diff without places; what it takes away must be there, once."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    assert text.count(before) == 1, before
    return text.replace(before, "".join(line[1:] for line in lines if line[0] in " +"))
