"""Real agents of Serf, in processes of their own."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from peerproof.spec.core import NodeId

from .conftest import PATIENCE

MISSING = "these tests talk to real agents of Serf, and there is no `serf` here. Debian, Ubuntu: sudo apt install serf"


def free_port() -> int:
    """A port that nobody listens at, for both kinds of sockets."""
    with socket.socket() as tried, socket.socket(type=socket.SOCK_DGRAM) as other:
        tried.bind(("127.0.0.1", 0))
        port: int = tried.getsockname()[1]
        other.bind(("127.0.0.1", port))
    return port


class AgentProcess:
    """`serf agent`, at ports of the loopback that are free, or where it is told."""

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        bind: str | None = None,
        rpc: str | None = None,
        inside: Sequence[str] = (),
        profile: str = "lan",
        **config: Any,
    ) -> None:
        """`inside`: what runs a command in another network. `config`: what stands in its configuration file."""
        if not shutil.which("serf"):
            pytest.fail(MISSING)
        self.bind = bind or f"127.0.0.1:{free_port()}"
        self.rpc = NodeId(rpc or f"127.0.0.1:{free_port()}")
        self.inside = inside
        settings = folder / f"{name}.json"
        settings.write_text(json.dumps(config), encoding="utf-8")
        options = [
            f"-node={name}",
            f"-bind={self.bind}",
            f"-rpc-addr={self.rpc}",
            f"-profile={profile}",
            f"-config-file={settings}",
        ]
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*inside, "serf", "agent", *options], stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while "Serf agent running" not in self.log.read_text(encoding="utf-8", errors="replace"):
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8", errors="replace")
            assert time.monotonic() < deadline, f"{name} does not run after {PATIENCE} s"
            time.sleep(0.05)

    def serf(self, *words: str) -> str:
        """What one of Serf's own commands prints."""
        command, *others = words
        done = subprocess.run(
            [*self.inside, "serf", command, f"-rpc-addr={self.rpc}", *others],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr + self.log.read_text(encoding="utf-8", errors="replace")
        return done.stdout

    def join(self, other: AgentProcess) -> None:
        """Both are in one cluster."""
        self.serf("join", other.bind)

    def knows(self, count: int) -> bool:
        """Whether so many agents of its cluster are alive."""
        return self.serf("members", "-status=alive").count("alive") == count

    def send(self, number: signal.Signals) -> None:
        """A signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """It is gone, without a word."""
        self.process.kill()
        self.process.wait()


Agents = Callable[..., AgentProcess]


def starting(folder: Path) -> Iterator[Agents]:
    """What a fixture yields that starts agents, which do not outlive the test."""
    started: list[AgentProcess] = []

    def start(name: str, **options: Any) -> AgentProcess:
        agent = AgentProcess(name, folder, **options)
        started.append(agent)
        return agent

    yield start
    for agent in started:
        agent.send(signal.SIGCONT)
        agent.kill()


def until(fact: Callable[[], bool], what: str) -> None:
    """Waits until something is so, for a bounded time."""
    deadline = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < deadline, f"not {what} in {PATIENCE} s"
        time.sleep(0.1)
