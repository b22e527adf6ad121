"""Real nodes and harnesses in processes of their own, and what talks to them."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from inspect import iscoroutinefunction
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, ClassVar, TypeVar

import pytest

from peerproof.reference.harness.harness import Harness
from peerproof.reference.harness.request_channel import Server

from .networks import Link, linked

if TYPE_CHECKING:
    from .agents import Agents

#: Seconds that a machine under load may take for what takes far less.
PATIENCE = 120.0

#: How often a datagram is sent that may get lost in a full buffer.
ATTEMPTS = 100

HARNESS = [sys.executable, "-m", "peerproof.reference.harness.harness"]

COMMAND = [sys.executable, "-m", "peerproof.cli.main", "node", "start", "scuttlebutt"]

#: Rounds and silences that let a test of real nodes end soon.
SWIFT = ["--interval", "40", "--detector-bootstrap", "100", "--detector-window", "10"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in an event loop of its own."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


class Talking:
    """A node in a process of its own, to which one types lines, and which says objects of JSON."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)
        self.errors: list[str] = []
        self._threads = [Thread(target=read, daemon=True) for read in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def take(self, line: Any) -> None:
        """It has said this."""
        raise NotImplementedError

    def write(self, line: str) -> None:
        """Type a line."""
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(number)
        return self.over()

    def over(self) -> int:
        """It ends by itself; its exit code."""
        code = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    def close(self) -> None:
        """It is gone, whatever it was doing."""
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.endswith("\n"):  # a kill may leave half of one
                self.take(json.loads(line))

    def _read_errors(self) -> None:
        assert self.process.stderr
        self.errors.extend(self.process.stderr)


class NodeProcess(Talking):
    """`peerproof node start scuttlebutt --json` on a free port of the loopback."""

    command: ClassVar = [*COMMAND, *SWIFT]

    def __init__(self, *options: str, bind: str = "127.0.0.1:0") -> None:
        self._views: Queue[dict[str, Any]] = Queue()
        super().__init__(*self.command, "--bind", bind, "--json", *options)
        self.latest = self.next_view()
        self.addr: str = self.latest["node"]

    def next_view(self) -> dict[str, Any]:
        """The next view that it prints."""
        try:
            self.latest = self._views.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError(f"nothing new in {PATIENCE} s after {getattr(self, 'latest', None)}; {self.errors}") from None
        return self.latest

    def wait(self, fact: Callable[[NodeProcess], bool]) -> None:
        """Until the view that it printed last shows a fact."""
        deadline = monotonic() + PATIENCE
        while not fact(self):
            assert monotonic() < deadline, f"not in {PATIENCE} s: {self.latest}"
            self.next_view()

    def pairs(self) -> dict[str, dict[str, str]]:
        """What it knows: values by key by address."""
        return {str(peer["addr"]): {pair["key"]: pair["value"] for pair in peer["pairs"]} for peer in self.latest["view"]}

    def status(self) -> dict[str, str]:
        """Who it thinks is up or down."""
        return {str(peer["addr"]): peer["status"] for peer in self.latest["status"]}

    def type(self, line: str) -> None:
        """Type a line."""
        self.write(line)

    def take(self, line: Any) -> None:
        """A view, or something that it tells."""
        self._views.put(line)


Process = TypeVar("Process", bound=Talking)


@pytest.fixture
def launch() -> Iterator[Callable[..., NodeProcess]]:
    """Starts nodes that do not outlive the test."""
    yield from launching(NodeProcess)


@pytest.fixture
def start(request: pytest.FixtureRequest) -> Iterator[Callable[..., Talking]]:
    """Starts nodes of the kind that is the module's KIND, which do not outlive the test."""
    yield from launching(request.module.KIND)


def launching(kind: type[Process]) -> Iterator[Callable[..., Process]]:
    """What a fixture yields that starts nodes of a kind, which do not outlive the test."""
    started: list[Process] = []

    def launch(*options: Any, **others: Any) -> Process:
        node = kind(*options, **others)
        started.append(node)
        return node

    yield launch
    for node in started:
        node.close()


@pytest.fixture
def link() -> Iterator[Link]:
    """Two networks that are connected."""
    yield from linked()


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Agents]:
    """Starts agents of Serf that do not outlive the test."""
    from .agents import starting  # which needs what stands here

    yield from starting(tmp_path)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def stranger() -> Iterator[socket.socket]:
    """A bare UDP socket."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        opened.settimeout(PATIENCE / ATTEMPTS)
        yield opened


class Pipe:
    """A runner's end."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    def write(self, line: bytes) -> None:
        """One line."""
        self._outgoing.write(line + b"\n")
        self._outgoing.flush()

    def read(self) -> Any:
        """One object."""
        line = self._incoming.readline()
        assert line.endswith(b"\n"), "the harness has gone"
        return json.loads(line)

    def __call__(self, op: str, /, *, answers: dict[str, list[int]] | None = None, **members: Any) -> dict[str, Any]:
        """A request and its reply; questions are answered by their place, or with the options as they are."""
        self.write(json.dumps({"id": 7, "op": op, **members}).encode())
        while "choice" in (reply := self.read()):
            question = reply["choice"]
            some = len(question["of"]) if question["kind"] == "permutation" else 1
            pick = (answers or {}).get(question["site"], list(range(some)))
            self.write(json.dumps({"choice": {"for": question["for"], "n": question["n"], "pick": pick}}).encode())
        assert reply.pop("id") == 7
        return dict(reply)


def adapter(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """An adapter that is started by this command, until it is not needed any more."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        yield process
        process.kill()


def pipe_to(process: subprocess.Popen[bytes]) -> Pipe:
    """Its runner."""
    assert process.stdin
    assert process.stdout
    return Pipe(process.stdout, process.stdin)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A harness at standard input and output."""
    yield from adapter(HARNESS)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """What serves each runner that connects with a harness of its own."""
    with Server(("127.0.0.1", 0), Harness) as serving:
        Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


@pytest.fixture
def pipe(server: Server) -> Iterator[Pipe]:
    """A runner's end, of a connection."""
    address: Any = server.server_address
    with socket.create_connection(address, PATIENCE) as connection:
        yield Pipe(connection.makefile("rb"), connection.makefile("wb"))


@pytest.fixture
def node(pipe: Pipe) -> Callable[..., dict[str, Any]]:
    """The ops of a node b:1 that was opened at 0."""
    handle = pipe("open", case="c", node="n", protocol="scuttlebutt", addr="b:1", now_ms=0, config={}, seed="1")["handle"]

    def ask(op: str, **members: Any) -> dict[str, Any]:
        return pipe(op, handle=handle, **members)

    return ask
