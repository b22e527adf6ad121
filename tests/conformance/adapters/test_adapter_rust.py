"""The ports in Rust: what the suite says of them, of copies with a fault, and what they say to other nodes."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

import pytest
from tests.conformance.conftest import Capture
from tests.reference.conftest import PATIENCE, SWIFT, NodeProcess, launching
from tests.reference.node.test_swim_nodes import SECOND_LIFE, SwimNode
from tests.support.rust import ENVIRONMENT, require_rust
from tests.support.tools import require

from peerproof.cli.main import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PORTS = ROOT / "conformance/adapters/rust"
RUNNER = ROOT / "conformance/runners/rust"
TARGET = ROOT / "build/rust-ports"  #: where the ports are built
PROTOCOLS = ("scuttlebutt", "swim")


class Fault(NamedTuple):
    """A part of a source, what may be written there instead, and a vector that this fails."""

    vector: str
    source: str
    right: str
    wrong: str


SCUTTLEBUTT: Mapping[str, Fault] = {
    "bytes are made UTF-8": Fault(
        "codec/delta-value-not-utf-8",
        "shared/src/plain.rs",
        'Err(_) => json!({"hex": hex(bytes)})',
        "Err(_) => json!(String::from_utf8_lossy(bytes))",
    ),
    "versions are floats": Fault(
        "codec/delta-largest-version",
        "scuttlebutt/src/plain.rs",
        "json!(version.to_string())",
        "json!((version as f64).to_string())",
    ),
    "the least significant byte comes first": Fault(
        "codec/digest-request-of-one",
        "scuttlebutt/src/codec.rs",
        "u64::from_be_bytes(self.take",
        "u64::from_le_bytes(self.take",
    ),
    "a length is cut to a byte": Fault(
        "exchange/update-with-value-of-256-bytes",
        "scuttlebutt/src/node.rs",
        "key.len() > MAX_TEXT || value.len() > MAX_TEXT",
        "key.len() as u8 > MAX_TEXT as u8 || value.len() as u8 > MAX_TEXT as u8",
    ),
    "the last version wraps": Fault(
        "exchange/update-after-the-last-version",
        "scuttlebutt/src/node.rs",
        "own.version.checked_add(1).ok_or(Refusal::Overflow)?",
        "own.version.wrapping_add(1)",
    ),
    "differences have a sign": Fault(
        "exchange/difference-has-no-sign", "scuttlebutt/src/reconcile.rs", "Some((Reverse(lead),", "Some((Reverse(lead as i64),"
    ),
    "a stable sort decides among equals": Fault(
        "exchange/ties-go-by-address-not-by-digest-order", "scuttlebutt/src/reconcile.rs", "(*lead, *addr)", "*lead"
    ),
    "pairs come in the order of the map": Fault(
        "exchange/pairs-go-by-version-not-by-key",
        "scuttlebutt/src/store.rs",
        "pairs.sort_by_key(|(_, pair)| pair.version);",
        "pairs.sort_by_key(|(key, _)| *key);",
    ),
    "what does not fit is skipped": Fault(
        "exchange/delta-stops-at-what-does-not-fit",
        "scuttlebutt/src/reconcile.rs",
        "return entries; // The datagram is full",
        "break; // The datagram is full",
    ),
    "what never fits ends the delta": Fault(
        "exchange/oversize-pair-does-not-starve-others",
        "scuttlebutt/src/reconcile.rs",
        "break; // No datagram",
        "return entries; // No datagram",
    ),
    "an equal version is newer": Fault(
        "exchange/equal-version-is-ignored", "scuttlebutt/src/store.rs", "if version <= known {", "if version < known {"
    ),
    "a node asks for its own past": Fault(
        "exchange/restarted-node-does-not-ask-for-its-past", "scuttlebutt/src/reconcile.rs", "entry.addr != *own && ", ""
    ),
    "a seed is two seeds": Fault(
        "exchange/seed-listed-twice-is-asked-once", "scuttlebutt/src/node.rs", " && !seeds.contains(seed)", ""
    ),
    "a threshold is reached": Fault(
        "exchange/threshold-that-is-reached", "scuttlebutt/src/detector.rs", "phi > (u128", "phi >= (u128"
    ),
    "a doubled delta is a second round trip": Fault(
        "exchange/round-trip-once-for-a-digest",
        "scuttlebutt/src/detector.rs",
        "self.digest_sent.take().map",
        "self.digest_sent.map",
    ),
    "a peer that is down stays down": Fault(
        "exchange/peer-heard-again-comes-up",
        "scuttlebutt/src/node.rs",
        "if window.phi_exceeds(detector.down, now)",
        "if window.status == Status::Down || window.phi_exceeds(detector.down, now)",
    ),
}

SWIM: Mapping[str, Fault] = {
    "fields are in another order": Fault(
        "exchange/restart-beats-any-tx",
        "swim/src/messages.rs",
        "    pub restart: u64,\n    pub tx: u64,\n",
        "    pub tx: u64,\n    pub restart: u64,\n",
    ),
    "a logarithm is rounded down": Fault(
        "exchange/fanout-of-5", "swim/src/gossip.rs", "(usize::BITS - (active - 1).leading_zeros())", "active.ilog2()"
    ),
    "a cache counts bytes": Fault(
        "codec/payload-with-keys-of-few-characters-and-more-bytes",
        "swim/src/cache.rs",
        "string.chars().count() >=",
        "string.len() >=",
    ),
    "a cache has more room": Fault(
        "codec/cache-is-emptied-when-full", "swim/src/cache.rs", "CAPACITY: usize = 1936", "CAPACITY: usize = 2048"
    ),
    "halves of a uuid have no sign": Fault(
        "codec/uuid-of-ones", "swim/src/msgpack.rs", "self.integer(half.into());", "self.integer((half as u64).into());"
    ),
    "a host is not escaped": Fault(
        "codec/host-like-a-keyword",
        "swim/src/codec.rs",
        "self.string(&escape(&place.host), false);",
        "self.string(&place.host, false);",
    ),
    "a string is made UTF-8": Fault(
        "codec/reject-host-that-is-no-utf-8",
        "swim/src/msgpack.rs",
        'String::from_utf8(bytes).map_err(|_| bad("a string that is no UTF-8".into()))?',
        "String::from_utf8_lossy(&bytes).into_owned()",
    ),
    "an integer is one up to 63 bits": Fault(
        "codec/payload-with-integers-around-2-53",
        "swim/src/data.rs",
        "const TWO_TO_53: i128 = 1 << 53;",
        "const TWO_TO_53: i128 = 1 << 63;",
    ),
    "nesting has no end": Fault(
        "codec/reject-nested-65-deep", "swim/src/msgpack.rs", "MAX_DEPTH: usize = 64;", "MAX_DEPTH: usize = usize::MAX;"
    ),
    "the same incarnation is the past": Fault(
        "exchange/equal-incarnation-is-accepted",
        "swim/src/node.rs",
        "Some(known) if at < known =>",
        "Some(known) if at <= known =>",
    ),
    "leaving is one more rank": Fault(
        "exchange/leave-stays-until-a-restart", "swim/src/table.rs", "Status::Leave => (1, 0),", "Status::Leave => (0, 4),"
    ),
    "a payload is lost with a larger tx": Fault(
        "exchange/payload-stays-while-tx-grows",
        "swim/src/table.rs",
        "if claim.incarnation.restart > self.incarnation.restart {",
        "if claim.incarnation > self.incarnation {",
    ),
    "an ack forgets its ping alone": Fault(
        "exchange/ack-forgets-the-older-pings",
        "swim/src/table.rs",
        "self.unanswered.drain(..=place);",
        "self.unanswered.remove(place);",
    ),
    "a lone neighbour isolates": Fault(
        "exchange/lone-neighbour-stays-suspicious",
        "swim/src/rounds.rs",
        "pinged.len() >= 2 && !heard",
        "!pinged.is_empty() && !heard",
    ),
    "a small event overtakes": Fault(
        "exchange/events-end-at-the-first-that-does-not-fit",
        "swim/src/gossip.rs",
        "                break;\n            }\n            carried.push",
        "                continue;\n            }\n            carried.push",
    ),
    "told dead, a node does not go on above": Fault(
        "exchange/told-dead-above-the-own-incarnation", "swim/src/node.rs", "restart: told.restart + 1", "restart: told.restart"
    ),
}

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


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_vector_passes(built: None, protocol: str, capfd: Capture) -> None:
    assert judge(TARGET / f"debug/{protocol}-adapter", "run", protocol, "--strict", "--decisions", "strict") == 0
    assert re.search(r"^([\d,]+) cases, [\d,]+ vectors: \1 passed$", capfd.readouterr().out, re.MULTILINE)


@pytest.mark.minute
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_a_vector(copy: Copy, name: str, capfd: Capture) -> None:
    protocol, fault = FAULTS[name]
    source = copy.folder / fault.source
    text = source.read_text("utf-8")
    assert text.count(fault.right) == 1, f"{fault.right!r} is no longer in {fault.source}"
    source.write_text(text.replace(fault.right, fault.wrong), "utf-8")
    try:
        cargo(copy.folder, copy.target, "build", "--quiet", "--package", protocol, "--bin", f"{protocol}-adapter")
    finally:
        source.write_text(text, "utf-8")

    program = copy.target / f"debug/{protocol}-adapter"
    assert judge(program, "run", "--strict", "--decisions", "strict", "-k", f"{protocol}/{fault.vector}") == 1
    assert re.search(rf"^(FAILED|CRASHED) {protocol}/{fault.vector}", capfd.readouterr().out, re.MULTILINE)


def test_the_sources_are_formatted() -> None:
    require("rustfmt")
    cargo(PORTS, TARGET, "fmt", "--package", "shared", "--package", "scuttlebutt", "--package", "swim", "--check")


def test_clippy_finds_nothing() -> None:
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
