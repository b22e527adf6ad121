"""The port in JavaScript: what the suite says of it, of copies with mistakes, and what it says to other nodes."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from tests.conformance.conftest import Capture
from tests.reference.conftest import PATIENCE, SWIFT, NodeProcess, launching
from tests.support.javascript import ADAPTERS, Mistakes, assert_caught, copy_with, judge
from tests.support.tools import require

pytestmark = pytest.mark.slow

PORT = ADAPTERS / "scuttlebutt-js"

#: The table of the page.
MISTAKES: Mistakes = {
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


@pytest.fixture(autouse=True)
def node() -> None:
    """Nothing here can be tested without it."""
    program = require("node")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert int(version.lstrip("v").split(".")[0]) >= 20, f"this test needs Node 20 or newer; {program} is {version.strip()}"


def test_the_adapter_does_what_adapters_must() -> None:
    assert judge(PORT, "doctor") == 0


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_javascript_gets_wrong_by_itself_fails_a_vector(mistake: str, tmp_path: Path, capfd: Capture) -> None:
    vector, module, right, wrong = MISTAKES[mistake]

    assert_caught(copy_with(tmp_path, "scuttlebutt-js", module, right, wrong), f"scuttlebutt/{vector}", capfd)


@pytest.mark.parametrize("command", ["run", pytest.param("fuzz", marks=pytest.mark.minute)])
def test_neither_the_vectors_nor_the_fuzzer_find_anything(command: str) -> None:
    assert judge(PORT, command, "scuttlebutt") == 0


ON_SOCKETS = ("run", "--decisions", "strict", "--transport", "virtual,udp", "-k")


def test_over_its_socket_it_does_the_same(capfd: Capture) -> None:
    assert judge(PORT, *ON_SOCKETS, "digest") == 0

    assert re.search(r"^virtual time and real sockets: \d+ vectors ran both ways, all agree\n", capfd.readouterr().out, re.M)


def test_an_exception_that_ends_the_program_is_seen_over_the_socket_alone(tmp_path: Path, capfd: Capture) -> None:
    """Under virtual time the adapter catches it."""
    right = "if (!(error instanceof Malformed)) throw error; // no message: dropped [BA-20]"
    copied = copy_with(tmp_path, PORT.name, "udp.mjs", right, "throw error;")

    assert judge(copied, *ON_SOCKETS, "malformed-from-many-sources") == 1

    vector = "scuttlebutt/exchange/malformed-from-many-sources"
    assert f"otherwise: {vector}: passed under virtual time, crashed (crashed) over udp\n" in capfd.readouterr().out


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
    second = launch("--peer", first.addr, "--set", "colour=green")
    third = launch_js("--peer", second.addr, "--set", "colour=bleu clair", "--set", "größe=é")
    fourth = launch("--peer", third.addr)
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
