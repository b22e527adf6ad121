"""The port in JavaScript: what the suite says of it, of copies with mistakes, and what it says to other nodes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from tests.reference.conftest import PATIENCE, SWIFT, NodeProcess, launching
from tests.support.tools import require
from tests.support.walkthrough import Reader, Typed, steps, with_free_ports

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PORT = ROOT / "conformance/adapters/scuttlebutt-js"

#: Of a machine that is busy.
PATIENT = ["--hello-timeout", "60", "--op-timeout", "60", "--bye-timeout", "10"]

#: Vector, module, what stands there, what many would write: the table of the page.
MISTAKES = {
    "versions are numbers": (
        "codec/delta-largest-version",
        "codec.mjs",
        "take(VERSION_SIZE).readBigUInt64BE()",
        "BigInt(Number(take(VERSION_SIZE).readBigUInt64BE()))",
    ),
    "differences are numbers": (
        "exchange/difference-beyond-2-53-keeps-its-last-bit",
        "delta.mjs",
        "descending(gap(one), gap(other))",
        "Number(gap(other)) - Number(gap(one))",
    ),
    "versions are sorted as text": (
        "exchange/delta-of-twenty-pairs-is-cut",
        "delta.mjs",
        "descending(other.version, one.version)",
        "descending(String(other.version), String(one.version))",
    ),
    "texts are in the order of a language": (
        "exchange/ties-go-by-address-bytes",
        "text.mjs",
        "(one < other ? -1 : one > other ? 1 : 0)",
        "one.localeCompare(other)",
    ),
    "texts are in the order of UTF-16": (
        "exchange/ties-go-by-address-bytes",
        "text.mjs",
        "(one < other ? -1 : one > other ? 1 : 0)",
        "(toApplication(one) < toApplication(other) ? -1 : 1)",
    ),
    "bytes are made UTF-8": ("codec/delta-value-not-utf-8", "text.mjs", 'toString("latin1")', 'toString("utf8")'),
    "a byte order mark is eaten": ("codec/delta-of-a-byte-order-mark", "text.mjs", "ignoreBOM: true", "ignoreBOM: false"),
    "letters are counted": ("codec/delta-of-cyrillic", "text.mjs", 'textOf(Buffer.from(string, "utf8"))', "string"),
    "an object knows more than it was told": (
        "exchange/words-of-a-language-are-addresses",
        "store.mjs",
        "return this.#records.has(addr);",
        "return addr in Object.fromEntries(this.#records);",
    ),
    "0 is no time": (
        "exchange/round-trip-from-a-digest-at-0",
        "detector.mjs",
        "window.digestSent === null",
        "!window.digestSent",
    ),
}

Copied = Callable[[str, str, str], Path]


@pytest.fixture(autouse=True)
def node() -> None:
    """Nothing here can be tested without it."""
    program = require("node")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert int(version.lstrip("v").split(".")[0]) >= 18, f"this test needs Node 18 or newer; {program} is {version.strip()}"


@pytest.fixture
def copied(tmp_path: Path) -> Copied:
    """A copy of the port with something replaced in one of its modules."""

    def copy(module: str, right: str, wrong: str) -> Path:
        folder = tmp_path / "mine"
        shutil.copytree(PORT, folder)
        source = (folder / module).read_text(encoding="utf-8")
        assert source.count(right) == 1, f"{right!r} is no longer in {module}"
        (folder / module).write_text(source.replace(right, wrong), encoding="utf-8")
        return folder

    return copy


def peerproof(command: str, *arguments: str, port: Path = PORT) -> subprocess.CompletedProcess[str]:
    """What a command says of the port, or of a copy."""
    words = [sys.executable, "-m", "peerproof.cli.main", command, *arguments]
    implementation = ["--impl", f"node '{port / 'adapter.mjs'}'", *PATIENT]
    return subprocess.run([*words, *implementation], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1000)


def test_the_adapter_does_what_adapters_must() -> None:
    done = peerproof("smoke")

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_vector_of_the_protocol_passes() -> None:
    """None is skipped, tolerated or known to fail."""
    done = peerproof("run", "--protocol", "scuttlebutt", "--strict")

    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.search(r"^(\d+) cases, \d+ vectors: (\d+) passed$", done.stdout, re.MULTILINE)
    assert counts, done.stdout
    assert counts[1] == counts[2]


def test_over_its_socket_it_does_what_it_does_under_virtual_time() -> None:
    done = peerproof(
        "run", "--protocol", "scuttlebutt", "--transport", "virtual,udp", "-k", "digest,malformed-d,seed", "--slack", "20"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^virtual time and real sockets: \d+ vectors came out both ways, all agree$", done.stdout, re.MULTILINE), (
        done.stdout
    )


def test_the_fuzzer_finds_nothing() -> None:
    done = peerproof("fuzz", "scuttlebutt")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing found" in done.stdout


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_javascript_gets_wrong_by_itself_fails_a_vector(mistake: str, copied: Copied) -> None:
    vector, module, right, wrong = MISTAKES[mistake]

    done = peerproof("run", "--strict", "--decisions", "strict", "-k", f"scuttlebutt/{vector}", port=copied(module, right, wrong))

    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(rf"^(FAILED|CRASHED) scuttlebutt/{vector}", done.stdout, re.MULTILINE), done.stdout


def test_what_only_the_socket_shows_is_found_there(copied: Copied) -> None:
    """The mistake of the page: nobody catches what the codec throws at the program for a real network."""
    port = copied("udp.mjs", "if (!(error instanceof Malformed)) throw error;", "throw error;")

    done = peerproof("run", "--decisions", "strict", "--transport", "virtual,udp", "-k", "malformed-from-many-sources", port=port)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "passed under virtual time, crashed (crashed) over udp" in done.stdout


def test_a_reader_sees_what_the_page_shows(tmp_path: Path) -> None:
    shutil.copytree(PORT, tmp_path / PORT.relative_to(ROOT))
    here = str(Path(sys.executable).parent)
    reader = Reader(tmp_path, {**os.environ, "PATH": f"{here}:{os.environ['PATH']}"})
    todo = list(steps(with_free_ports((ROOT / "docs/how-to/test-a-javascript-implementation.md").read_text("utf-8"))))

    assert sum(isinstance(step, Typed) for step in todo) >= 6
    try:
        for step in todo:
            reader.follow(step)
    finally:
        reader.close()


class JavaScriptNode(NodeProcess):
    """A node of the port on a free port of the loopback."""

    command: ClassVar = ["node", str(PORT / "node-main.mjs"), *SWIFT]


@pytest.fixture
def launch() -> Iterator[Callable[..., NodeProcess]]:
    """Starts nodes of the reference that do not outlive the test."""
    yield from launching(NodeProcess)


@pytest.fixture
def launch_js() -> Iterator[Callable[..., JavaScriptNode]]:
    """Starts nodes of the port that do not outlive the test."""
    yield from launching(JavaScriptNode)


def test_nodes_of_both_kinds_agree_on_everything(
    launch: Callable[..., NodeProcess], launch_js: Callable[..., JavaScriptNode]
) -> None:
    """From seeds of either kind, over a crash, and though a stranger sends what is no message or names what is no address."""
    first = launch_js("--set", "colour=red")
    second = launch("--seed", first.addr, "--set", "colour=green")
    third = launch_js("--seed", second.addr, "--set", "colour=bleu clair", "--set", "größe=é")
    fourth = launch("--seed", third.addr)
    nodes = [first, second, third, fourth]
    everything = {
        first.addr: {"colour": "red"},
        second.addr: {"colour": "green"},
        third.addr: {"colour": "bleu clair", "größe": "é"},
        fourth.addr: {},
    }
    for node in nodes:
        node.wait(lambda node: node.pairs() == everything)
        node.wait(lambda node: set(node.status().values()) == {"up"})
    assert [node.latest["view"] for node in nodes] == [first.latest["view"]] * 4

    host, _, port = first.addr.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for made_up in (b"", b"\x00", b"\x01\x05a", b"\x03\xff", b"\x01\x00" + bytes(8), b"\x02\x03x:0" + bytes(8)):
            stranger.sendto(made_up, (host, int(port)))
    fourth.end(signal.SIGKILL)
    first.type("set colour=black")
    second.type("set colour=")

    for node in (first, second, third):
        node.wait(lambda node: node.pairs()[first.addr] == {"colour": "black"})
        node.wait(lambda node: node.pairs()[second.addr] == {"colour": ""})
        node.wait(lambda node: node.status()[fourth.addr] == "down")
    assert [node.end() for node in (first, second, third)] == [0, 0, 0]
    assert [first.errors, third.errors] == [[], []]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--bind HOST:PORT"),
        (["--bind", "nowhere"], "nowhere is no HOST:PORT"),
        (["--bind", "0.0.0.0:0"], "--advertise"),
        (["--bind", "127.0.0.1:0", "--interval", "0"], "--interval is an integer from 1"),
        (["--bind", "127.0.0.1:0", "--nonsense"], "'--nonsense'"),
    ],
)
def test_a_node_that_cannot_be_started_says_why(options: list[str], said: str) -> None:
    done = subprocess.run(
        ["node", PORT / "node-main.mjs", *options], capture_output=True, text=True, check=False, timeout=PATIENCE
    )

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
