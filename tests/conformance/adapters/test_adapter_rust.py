"""The ports in Rust: what the suite says of them, of copies with a fault, and what they say to other nodes."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest
from tests.conformance.conftest import Capture
from tests.conformance.explorer.test_path_check import strolled
from tests.reference.conftest import PATIENCE, SWIFT, NodeProcess, launching
from tests.reference.node.test_swim_nodes import SECOND_LIFE, SwimNode
from tests.support.rust import ENVIRONMENT, begin_target, require_rust
from tests.support.rust_faults import SCUTTLEBUTT, SWIM, Fault
from tests.support.tools import require

from peerproof.cli.main import main
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.explorer.path_check import check_path
from peerproof.conformance.explorer.walk import Walk, explorable
from peerproof.conformance.models.counterexample_vectors import NothingSeen, OutOfTime

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PORTS = ROOT / "conformance/adapters/rust"
RUNNER = ROOT / "conformance/runners/rust"
TARGET = ROOT / "build/rust-ports"  #: where the ports are built
PROTOCOLS = ("scuttlebutt", "swim")

FAULTS = {f"{protocol}: {name}": (protocol, fault) for protocol, faults in zip(PROTOCOLS, (SCUTTLEBUTT, SWIM), strict=True)
          for name, fault in faults.items()}  # fmt: skip


def cargo(folder: Path, target: Path, *arguments: str) -> None:
    """Runs Cargo in a folder; a failure shows what it wrote."""
    environment = {**ENVIRONMENT, "CARGO_TARGET_DIR": str(target)}
    command = [require_rust(), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def built() -> None:
    """The ports are built once, for this and for later runs of the tests; Cargo locks the folder."""
    begin_target(TARGET)
    cargo(PORTS, TARGET, "build", "--quiet")


class Copy(NamedTuple):
    """A copy of the ports, and where it is built."""

    folder: Path
    target: Path


@pytest.fixture(scope="session")
def copy(built: None, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy of the sources to put faults in, with what is built of other crates."""
    root = tmp_path_factory.mktemp("rust")
    for folder in (PORTS, RUNNER):
        shutil.copytree(folder, root / folder.relative_to(ROOT), ignore=shutil.ignore_patterns("target"))
    shutil.copytree(TARGET, root / "target")
    return Copy(root / PORTS.relative_to(ROOT), root / "target")


def judge(program: Path, *arguments: str) -> int:
    """The exit code of a command about an adapter, on a machine that may be busy."""
    patience = ("--hello-timeout", "60", "--op-timeout", "60", "--bye-timeout", "10")
    return main([*arguments, "--impl", f"'{program}'", *patience])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_adapters_do_what_adapters_must(built: None, protocol: str) -> None:
    assert judge(TARGET / f"debug/{protocol}-adapter", "doctor") == 0


@pytest.mark.parametrize("protocol", ["scuttlebutt", pytest.param("swim", marks=pytest.mark.minute)])
def test_every_vector_passes(built: None, protocol: str, capfd: Capture) -> None:
    assert judge(TARGET / f"debug/{protocol}-adapter", "run", protocol, "--strict", "--decisions", "strict") == 0
    assert re.search(r"^([\d,]+) cases, [\d,]+ vectors: \1 passed$", capfd.readouterr().out, re.MULTILINE)


def build_with(copy: Copy, protocol: str, fault: Fault) -> Path:
    """The adapter of a copy with a fault; the copy is right again afterwards."""
    source = copy.folder / fault.source
    text = source.read_text("utf-8")
    assert text.count(fault.right) == 1, f"{fault.right!r} is no longer in {fault.source}"
    source.write_text(text.replace(fault.right, fault.wrong), "utf-8")
    try:
        cargo(copy.folder, copy.target, "build", "--quiet", "--package", protocol, "--bin", f"{protocol}-adapter")
    finally:
        source.write_text(text, "utf-8")
    return copy.target / f"debug/{protocol}-adapter"


@pytest.mark.minute
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_a_vector(copy: Copy, name: str, capfd: Capture) -> None:
    protocol, fault = FAULTS[name]

    program = build_with(copy, protocol, fault)

    assert judge(program, "run", "--strict", "--decisions", "strict", "-k", f"{protocol}/{fault.vector}") == 1
    assert re.search(rf"^(FAILED|CRASHED) {protocol}/{fault.vector}", capfd.readouterr().out, re.MULTILINE)


@pytest.mark.minute
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_fuzzer_finds_nothing(built: None, protocol: str, capfd: Capture) -> None:
    """Neither among runs of nodes nor among messages."""
    program = TARGET / f"debug/{protocol}-adapter"

    assert judge(program, "fuzz", protocol) == 0
    assert judge(program, "fuzz", protocol, "--bytes") == 0

    assert capfd.readouterr().out.count(f"{protocol}: nothing found in ") == 2


def explore(program: Path, protocol: str) -> Counter[str]:
    """The verdicts on an adapter as any node on a path at random through every fourth model."""
    verdicts: Counter[str] = Counter()
    for name in [*explorable(protocol)][::4]:
        walk = Walk(protocol, name)
        path = strolled(walk, name, 24)
        for node in walk.names:
            with suppress(NothingSeen, OutOfTime):  # a few paths are impossible by the clock
                verdicts[str(check_path(walk, path, node, lambda: create_adapter(f"'{program}'"))["verdict"])] += 1
    return verdicts


@pytest.mark.minute
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_paths_through_the_models_are_as_specified(built: None, protocol: str) -> None:
    verdicts = explore(TARGET / f"debug/{protocol}-adapter", protocol)

    assert set(verdicts) == {"passed"}
    assert verdicts["passed"] > 10


@pytest.mark.minute
@pytest.mark.parametrize("name", ["scuttlebutt: the least significant byte comes first", "swim: a lone neighbour isolates"])
def test_the_fuzzer_finds_a_fault_and_so_does_a_path(copy: Copy, name: str, capfd: Capture) -> None:
    """Both know nothing of the vector that was made for it, and one of the faults is what another reading asks for."""
    protocol, fault = FAULTS[name]

    program = build_with(copy, protocol, fault)

    assert judge(program, "fuzz", protocol, "--decisions", "strict") == 1
    assert re.search(r"^FOUND ", capfd.readouterr().out, re.MULTILINE)
    assert explore(program, protocol)["failed"] > 0


def test_the_sources_are_formatted() -> None:
    require("rustfmt")
    cargo(PORTS, TARGET, "fmt", "--package", "shared", "--package", "scuttlebutt", "--package", "swim", "--check")


def test_clippy_finds_nothing(built: None) -> None:
    require("clippy")
    cargo(PORTS, TARGET, "clippy", "--quiet", "--workspace", "--", "-D", "warnings")


class RustNode(NodeProcess):
    """A node of the port of Scuttlebutt on a free port of the loopback."""

    command: ClassVar = [str(TARGET / "debug/scuttlebutt-node"), *SWIFT]


class RustSwimNode(SwimNode):
    """A node of the port of SWIM; it has a name of its own."""

    command: ClassVar = [str(TARGET / "debug/swim-node"), "--interval", "80"]

    @property
    def uuid(self) -> str:
        """Its name."""
        return str(self.latest["own"]["uuid"])


def knows(other: SwimNode, status: str) -> Callable[[SwimNode], bool]:
    """Whether a node says this of another one."""
    return lambda node: bool(node.row(other)["status"] == status)


def seed(node: SwimNode) -> str:
    """A node as the port of SWIM takes it for a seed."""
    return f"{node.uuid}@{node.addr}"


@pytest.fixture
def launch() -> Iterator[Callable[..., NodeProcess]]:
    """Starts nodes of the reference that do not outlive the test."""
    yield from launching(NodeProcess)


@pytest.fixture
def launch_rust(built: None) -> Iterator[Callable[..., RustNode]]:
    """Starts nodes of the port of Scuttlebutt that do not outlive the test."""
    yield from launching(RustNode)


@pytest.fixture
def launch_swim() -> Iterator[Callable[..., SwimNode]]:
    """Starts SWIM nodes of the reference that do not outlive the test."""
    yield from launching(SwimNode)


@pytest.fixture
def launch_rust_swim(built: None) -> Iterator[Callable[..., RustSwimNode]]:
    """Starts nodes of the port of SWIM that do not outlive the test."""
    yield from launching(RustSwimNode)


def test_nodes_of_both_kinds_learn_each_others_keys(
    launch: Callable[..., NodeProcess], launch_rust: Callable[..., RustNode]
) -> None:
    first = launch_rust("--set", "colour=red")
    second = launch("--peer", first.addr, "--set", "colour=green")
    third = launch_rust("--peer", second.addr, "--set", "größe=é")
    fourth = launch("--peer", third.addr)
    nodes = [first, second, third, fourth]
    everything = {
        first.addr: {"colour": "red"},
        second.addr: {"colour": "green"},
        third.addr: {"größe": "é"},
        fourth.addr: {},
    }
    for node in nodes:
        node.wait(lambda node: node.pairs() == everything)
        node.wait(lambda node: set(node.status().values()) == {"up"})

    fourth.end(signal.SIGKILL)
    first.type("set colour=black")

    for node in nodes[:3]:
        node.wait(lambda node: node.pairs()[first.addr] == {"colour": "black"})
        node.wait(lambda node: node.status()[fourth.addr] == "down")
    first.type("quit")
    assert first.over() == 0
    assert first.errors == []


def test_nodes_of_both_kinds_learn_of_a_join_and_of_a_death(
    launch_swim: Callable[..., SwimNode], launch_rust_swim: Callable[..., RustSwimNode]
) -> None:
    first = launch_swim(*SECOND_LIFE)
    second = launch_rust_swim(*SECOND_LIFE, "--peer", seed(first))
    third = launch_swim(*SECOND_LIFE, "--peer", first.addr)
    fourth = launch_rust_swim(*SECOND_LIFE, "--peer", seed(second), "--set", "role=db")
    nodes = [first, second, third, fourth]
    for node in nodes:
        for other in nodes:
            if other is not node:
                node.now(knows(other, "normal"))
    for node in nodes[:3]:
        node.now(lambda node: node.row(fourth)["payload"] == {"role": "db"})

    third.end(signal.SIGKILL)

    for node in (first, second, fourth):
        node.now(knows(third, "dead"))
    second.type("quit")
    assert second.over() == 0
    assert second.errors == []


@pytest.mark.parametrize(
    ("program", "options", "said"),
    [
        ("scuttlebutt-node", [], "--bind HOST:PORT"),
        ("scuttlebutt-node", ["--bind", "nowhere"], "nowhere cannot be bound"),
        ("scuttlebutt-node", ["--bind", "0.0.0.0:0"], "0.0.0.0:0 is no address that peers can use"),
        ("scuttlebutt-node", ["--bind", "127.0.0.1:0", "--set", "colour"], "colour is no KEY=VALUE"),
        ("swim-node", ["--bind", "127.0.0.1:0", "--interval", "soon"], "--interval is an integer"),
        ("swim-node", ["--bind", "127.0.0.1:0", "--peer", "127.0.0.1:1"], "127.0.0.1:1 is no UUID@HOST:PORT"),
        ("swim-node", ["--bind", "127.0.0.1:0", "--nonsense"], "there is no option --nonsense"),
    ],
)
def test_a_node_that_cannot_be_started_says_why(built: None, program: str, options: list[str], said: str) -> None:
    done = subprocess.run([TARGET / "debug" / program, *options], capture_output=True, text=True, check=False, timeout=PATIENCE)

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
