"""Servers of the original DistKV, in processes of their own, over real agents of Serf."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import IO, Any

import msgpack
from tests.reference.agents import AgentProcess
from tests.reference.conftest import PATIENCE

from peerproof.reference.serf.client import Agent

ORIGINAL = Path(__file__).parents[2] / "conformance/adapters/distkv-pypi"
PYTHON = ORIGINAL / ".venv/bin/python"

#: Seconds, as `CLOCK` of the nodes: more than twice what agents take, also of a machine that is busy. [D-92]
CLOCK = 1


def installed() -> None:
    """Sees to it that the original can run; the first time that takes about a minute."""
    done = subprocess.run([ORIGINAL / "setup.sh"], capture_output=True, text=True, check=False, timeout=10 * PATIENCE)
    assert done.returncode == 0, done.stderr


class OriginalServer:
    """A server, and what it has said so far."""

    def __init__(self, name: str, agent: AgentProcess, *options: str) -> None:
        self.name = name
        command = [str(PYTHON), str(ORIGINAL / "distkv_server.py"), name, "--serf", agent.rpc, "--clock", str(CLOCK), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        self.errors: list[str] = []
        assert self.process.stdout
        assert self.process.stderr
        pipes = ((self.process.stdout, self.said), (self.process.stderr, self.errors))
        self._threads = [Thread(target=_kept, args=pipe, daemon=True) for pipe in pipes]
        for thread in self._threads:
            thread.start()

    def place(self) -> str:
        """Where it listens for clients, which it does once it is ready."""
        deadline = time.monotonic() + PATIENCE
        while not self.said:
            assert self.process.poll() is None, "".join(self.errors)
            assert time.monotonic() < deadline, f"{self.name} is not ready in {PATIENCE} s: {self.errors}"
            time.sleep(0.05)
        return f"127.0.0.1:{json.loads(self.said[0])['listens']}"

    def asked(self, *words: Any) -> subprocess.CompletedProcess[str]:
        """A command of a client, whose paths and values are written as JSON."""
        name, *values = words
        command = [PYTHON, ORIGINAL / "distkv_client.py", self.place(), name, *map(json.dumps, values)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def answer(self, *words: Any) -> Any:
        """What it says to a command."""
        done = self.asked(*words)
        assert done.returncode == 0, done.stderr + "".join(self.errors)
        return json.loads(done.stdout)

    def entries(self) -> dict[str, Any]:
        """What it has: values by the JSON of their paths."""
        return {json.dumps(entry["path"]): entry["value"] for entry in self.answer("dump")}

    def over(self) -> str:
        """It ends by itself; what it said about that."""
        assert self.process.wait(PATIENCE) == 1, self.errors
        for thread in self._threads:
            thread.join(PATIENCE)
        return "".join(self.errors)

    def end(self) -> None:
        """It is gone."""
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE)


def _kept(pipe: IO[str], lines: list[str]) -> None:
    with pipe:
        lines.extend(pipe)


def starting() -> Iterator[type[OriginalServer]]:
    """What a fixture yields that starts servers, which do not outlive the test."""
    started: list[OriginalServer] = []

    class Started(OriginalServer):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            started.append(self)

    yield Started
    for server in started:
        server.end()


def stored(path: Path, ticks: dict[str, int], *entries: dict[str, Any]) -> str:
    """A file from which a server can begin, with these ticks and entries, in the original's format."""
    parts = [{"nodes": ticks, "known": {}}, *({"depth": 0, **entry} for entry in entries)]
    path.write_bytes(b"".join(msgpack.packb(part) for part in parts))
    return str(path)


def told(agent: AgentProcess, name: str, *payloads: Any) -> None:
    """User events, one after the other; what is not bytes is packed."""

    async def tell() -> None:
        client = await Agent.connect(agent.rpc)
        for payload in payloads:
            await client.event(name, payload if isinstance(payload, bytes) else msgpack.packb(payload))
        await client.close()

    asyncio.run(tell())
