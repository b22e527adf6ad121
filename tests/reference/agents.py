"""Real agents of Serf, in processes of their own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.tools import require
from tests.support.waiting import until

from peerproof.spec.core import NodeId

from .conftest import PATIENCE

__all__ = ["AgentProcess", "Agents", "free_port", "starting", "until"]

#: Ports are tried that were free a moment ago.
TRIES = 5


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
        require("serf")
        self.inside = inside
        self.log = folder / f"{name}.log"
        settings = folder / f"{name}.json"
        settings.write_text(json.dumps(config), encoding="utf-8")
        options = [f"-node={name}", f"-profile={profile}", f"-config-file={settings}"]
        for _ in range(TRIES):
            self.bind = bind or f"127.0.0.1:{free_port()}"
            self.rpc = NodeId(rpc or f"127.0.0.1:{free_port()}")
            if self._starts([*options, f"-bind={self.bind}", f"-rpc-addr={self.rpc}"]):
                return
            if "address already in use" not in self._logged() or (bind and rpc):
                break  # else some other process has taken the port since it was free
        pytest.fail(self._logged() or f"{name} does not run after {PATIENCE} s")

    def _starts(self, options: Sequence[str]) -> bool:
        """Starts the agent. False if it ends, or does not run in time."""
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*self.inside, "serf", "agent", *options], stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while "Serf agent running" not in self._logged():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                return False
            time.sleep(0.05)
        return True

    def _logged(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

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
