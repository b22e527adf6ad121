"""
A page of the documentation as what a reader does with it, block by block.

A block of `console` is typed, each line that begins with `$ `, and what stands under such a line must come out: `…` stands for
anything, alone in its line for any number of lines. A block with a title is a file, or a `diff` that is made in it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_PATIENCE = 600  #: seconds for one command, also on a slow machine


class Typed(NamedTuple):
    """A command, and what the page says comes out."""

    command: str
    expected: str


class File(NamedTuple):
    """A file that the reader writes, or changes by a diff."""

    name: str
    text: str
    is_diff: bool


def steps(page: str) -> Iterator[Typed | File]:
    """What a reader does, in order."""
    for language, title, body in _BLOCK.findall(page):
        if title:
            yield File(title, body, language == "diff")
        elif language == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                yield Typed(command, expected)


class Reader:
    """Somebody at a shell, which stays in the folder that it was in."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._environment = environment

    def follow(self, step: Typed | File) -> None:
        """Does a step, and sees that it is as the page says."""
        if isinstance(step, File):
            path = self.folder / step.name
            path.write_text(mended(path.read_text("utf-8"), step.text) if step.is_diff else step.text, encoding="utf-8")
            return
        script = f'{step.command}\ncode=$?\npwd > "$AFTERWARDS"\nexit $code'
        afterwards = self.folder / ".afterwards"
        environment = {**self._environment, "AFTERWARDS": str(afterwards)}
        shell = ["bash", "-c", script]
        done = subprocess.run(
            shell, cwd=self.folder, env=environment, stdout=-1, stderr=-2, text=True, check=False, timeout=_PATIENCE
        )
        self.folder = Path(afterwards.read_text("utf-8").strip())
        afterwards.unlink()
        if step.expected:
            assert fits(step.expected, done.stdout), f"$ {step.command}\n{done.stdout}"
        else:
            assert (done.returncode, done.stdout) == (0, ""), f"$ {step.command}\n{done.stdout}"


def fits(expected: str, actual: str) -> bool:
    """Whether output is what a page shows of it."""
    lines = ("(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n" for line in expected.splitlines())
    return re.fullmatch("".join(lines), actual if actual.endswith("\n") else f"{actual}\n") is not None


def mended(text: str, diff: str) -> str:
    """A text after a diff without places; what it takes away must be there, once."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    assert text.count(before) == 1, before
    return text.replace(before, "".join(line[1:] for line in lines if line[0] in " +"))
