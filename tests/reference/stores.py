"""Real nodes of DistKV, in processes of their own, and what they print."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import conftest
from .conftest import PATIENCE, Talking

COMMAND = [sys.executable, "-m", "peerproof.cli.main", "node", "start", "distkv"]

Fact = Callable[["StoreProcess"], bool]


class StoreProcess(Talking):
    """`peerproof node start distkv`, and what it has said so far."""

    def __init__(self, name: str, *options: str, clock: int = 500, inside: Sequence[str] = ()) -> None:
        """`inside`: what runs a command in another network."""
        self.name = name
        self.lines: list[dict[str, Any]] = []
        super().__init__(*inside, *COMMAND, "--name", name, "--clock", str(clock), *options)

    def take(self, line: Any) -> None:
        """It has said this."""
        self.lines.append(line)

    def type(self, *words: Any) -> None:
        """A command; what is no name of one is written as JSON."""
        name, *values = words
        self.write(" ".join([name, *map(json.dumps, values)]))

    def told(self, what: str) -> list[Any]:
        """All that it has said of something."""
        return [line[what] for line in self.lines if what in line]

    def wait(self, fact: Fact, what: str) -> None:
        """Until what it has said shows a fact."""
        deadline = time.monotonic() + PATIENCE
        while not fact(self):
            assert time.monotonic() < deadline, f"{self.name}: not {what} in {PATIENCE} s: {self.lines[-5:]}; {self.errors}"
            time.sleep(0.05)

    def answer(self, *words: Any) -> Any:
        """What it says to a command."""
        count = len(self.told(words[0]))
        self.type(*words)
        self.wait(lambda node: len(node.told(words[0])) > count, f"an answer to {words}")
        return self.told(words[0])[-1]

    def ready(self) -> None:
        """Until it takes changes."""
        self.wait(lambda node: bool(node.told("ready")), "ready")

    def set(self, path: list[Any], value: Any) -> None:
        """A change, which outlives the node when this is over."""
        count = len(self.told("sent"))
        self.type("set", path, value)
        self.wait(lambda node: len(node.told("sent")) > count or bool(node.told("refused")), f"sent {path}")
        assert not self.told("refused"), self.told("refused")

    def entries(self) -> dict[str, Any]:
        """What it has: values by the JSON of their paths."""
        return {json.dumps(entry["path"]): entry["value"] for entry in self.answer("dump")}

    def has(self, entries: dict[str, Any]) -> None:
        """Until it has these entries and no others, and misses nothing."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.entries()) != entries or self.answer("own")["missing"]:
            assert time.monotonic() < deadline, f"{self.name} has {found} and not {entries}: {self.told('own')[-1]}"
            time.sleep(0.2)

    def kill(self) -> None:
        """It is gone, without a word."""
        self.end(signal.SIGKILL)


Start = Callable[..., StoreProcess]


def launching() -> Iterator[Start]:
    """What a fixture yields that starts nodes, which do not outlive the test."""
    yield from conftest.launching(StoreProcess)


#: Starts nodes that do not outlive the block.
running = contextmanager(launching)

ROOT: dict[str, Any] = {"[]": "root"}
FIRST = ("--first", '"root"')
