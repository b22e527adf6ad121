"""
Nodes that adapters in every language serve on sockets, for a runner that plays their peers.

In Go, JavaScript and Rust they are those of ports. In Java and Python they are nodes of the reference behind the `serve` of the
runner and of the template: there is no port in these languages.
"""

from __future__ import annotations

import re
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Any

import pytest
from tests.conformance.adapters.test_adapter_js import PORT
from tests.conformance.adapters.test_adapter_rust import PORTS, TARGET, cargo
from tests.reference.conftest import HARNESS, PATIENCE, NodeProcess, Pipe, adapter, launching, pipe_to
from tests.support.native_runners import build_go, copy_go, java, selected_bundle
from tests.support.socket_runs import SLACK, ran, statuses
from tests.support.tools import require

from peerproof.cli.main import main

pytestmark = pytest.mark.slow

#: Milliseconds after which no test is still there.
NEVER = 2**40

#: Each hears of an unknown peer, and says that it lacks everything of it.
KNOWS_X, KNOWS_Y = ("0103" + address.encode().hex() + "0000000000000000" for address in ("x:1", "y:1"))
EMPTY_DELTA = b"\x03"

MALFORMED = (b"", b"\x00", b"\x01\x05a", b"\x03\xff", b"\xff" * 60_000)

LANGUAGES = ("go", "java", "js", "python", "rust")

#: What the plug of the template in Python has instead: nodes of the reference.
SERVING_IN_PYTHON = """
from peerproof.reference.harness.harness import Harness

HARNESS = Harness()
SOCKETS = ["udp"]


def ask(op: str, **members: Any) -> dict[str, Any]:
    reply = HARNESS.handle({"id": 1, "op": op, **members}, print)
    if "error" in reply:
        error = NotImplementedError if reply["error"]["code"] == "unsupported" else ValueError
        raise error(reply["error"]["message"])
    return reply


def serve(via: list[str], bind: str, config: dict[str, Any], seed: str) -> tuple[Any, dict[str, str]]:
    reply = ask("serve", protocol=PROTOCOL, via=via, bind=bind, config=config, seed=seed)
    return Served(reply["handle"]), reply["addrs"]


class Served:
    def __init__(self, handle: int) -> None:
        self.handle = handle

    def advance(self, now: int, effects: Effects) -> None:
        effects.done += ask("advance", handle=self.handle, now_ms=now)["effects"]

    def call(self, name: str, args: dict[str, Any], now: int, effects: Effects) -> None:
        reply = ask("call", handle=self.handle, now_ms=now, name=name, args=args)
        effects.done += reply["effects"]
        if "refused" in reply:
            raise Refused(reply["refused"]["class"], "")

    def query(self, what: str, args: dict[str, Any]) -> Any:
        return ask("query", handle=self.handle, what=what, args=args)["value"]

    def close(self) -> None:
        ask("close", handle=self.handle)
"""

Served = Callable[..., dict[str, Any]]
Peer = Callable[[], socket.socket]


@cache
def start_of(language: str) -> list[str]:
    """Builds the adapter in a language; returns the command that starts it."""
    folder = Path(mkdtemp())
    if language == "go":
        return [str(build_go(copy_go(folder), "./scuttlebutt/cmd")), "serve"]
    if language == "java":
        return java("Proxy", selected_bundle("scuttlebutt", folder, lambda _: False), "udp", *HARNESS)
    if language == "rust":
        cargo(PORTS, TARGET, "build", "--quiet")
        return [str(TARGET / "debug/scuttlebutt-adapter")]
    if language == "python":
        assert main(["init", "--lang", "python", "scuttlebutt", "--name", "my-node", str(folder)]) == 0
        plug = folder / "adapter/scuttlebutt.py"
        text = plug.read_text("utf-8").replace("Effects, Malformed", "Effects, Malformed, Refused")
        plug.write_text(text + SERVING_IN_PYTHON, "utf-8")
        return [sys.executable, "-c", f"import sys; sys.path[0] = {str(folder)!r}; from adapter.__main__ import main; main()"]
    return [require("node"), str(PORT / "adapter.mjs")]


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """A language, to whose adapter all tests of this module talk one after the other."""
    return str(request.param)


@pytest.fixture(scope="module")
def shared(language: str) -> Iterator[Pipe]:
    """The runner of an adapter."""
    for process in adapter(start_of(language)):
        yield pipe_to(process)


@pytest.fixture
def pipe(shared: Pipe) -> Pipe:
    """The same, instead of the pipe that other tests have."""
    return shared


@pytest.fixture
def served(pipe: Pipe) -> Served:
    """Asks for a node whose rounds never come, if not told otherwise."""

    def serve(**members: Any) -> dict[str, Any]:
        asked = {"protocol": "scuttlebutt", "via": ["udp"], "bind": "127.0.0.1:0", "config": {"interval": NEVER}, **members}
        return pipe("serve", **asked)

    return serve


@pytest.fixture
def peer() -> Iterator[Peer]:
    """Makes sockets for peers."""
    opened: list[socket.socket] = []

    def make() -> socket.socket:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        opened.append(one)
        one.bind(("127.0.0.1", 0))
        one.settimeout(PATIENCE)
        return one

    yield make
    for one in opened:
        one.close()


def endpoint(node: dict[str, Any]) -> tuple[str, int]:
    """Where a node is served."""
    host, _, port = node["addrs"]["udp"].rpartition(":")
    return host, int(port)


def name(peer: socket.socket) -> str:
    """The address of a peer."""
    host, port = peer.getsockname()
    return f"{host}:{port}"


def test_a_served_node_answers_two_peers_and_says_what_its_application_was_told(pipe: Pipe, served: Served, peer: Peer) -> None:
    node, (one, other) = served(), (peer(), peer())
    assert "udp" in pipe("hello", protocol=[1, 1])["sockets"]

    one.sendto(bytes.fromhex(KNOWS_X), endpoint(node))
    assert one.recv(2**16) == EMPTY_DELTA
    other.sendto(bytes.fromhex(KNOWS_Y), endpoint(node))
    assert other.recv(2**16) == EMPTY_DELTA
    told = pipe("advance", handle=node["handle"], now_ms=0)

    assert told["effects"] == [{"event": {"name": "join", "peer": address}} for address in ("x:1", "y:1")]
    assert told["next_timer_ms"] is None
    assert pipe("advance", handle=node["handle"], now_ms=0)["effects"] == []
    assert pipe("query", handle=node["handle"], what="peers")["value"] == [node["addrs"]["udp"], "x:1", "y:1"]


def test_a_call_changes_the_node_that_runs(pipe: Pipe, served: Served, peer: Peer) -> None:
    node, one = served(), peer()
    self = node["addrs"]["udp"].encode()

    reply = pipe("call", handle=node["handle"], now_ms=0, name="update_local", args={"key": "k", "value": "v"})
    refused = pipe("call", handle=node["handle"], now_ms=0, name="update_local", args={"key": "k", "value": "v" * 256})
    one.sendto(bytes([1, len(self)]) + self + bytes(8), endpoint(node))

    assert reply == {"ok": True, "effects": [], "next_timer_ms": None}
    assert refused["refused"]["class"] == "too_large"
    assert one.recv(2**16) == b"".join([b"\x03", bytes([len(self)]), self, b"\x01k\x01v", (1).to_bytes(8, "big")])


def test_malformed_datagrams_are_dropped(pipe: Pipe, served: Served, peer: Peer) -> None:
    node, one = served(), peer()

    for made_up in (*MALFORMED, bytes.fromhex(KNOWS_X)):
        one.sendto(made_up, endpoint(node))

    assert one.recv(2**16) == EMPTY_DELTA
    told = [effect["event"] for effect in pipe("advance", handle=node["handle"], now_ms=0)["effects"]]
    assert [event for event in told if event["name"] != "malformed"] == [{"name": "join", "peer": "x:1"}]


def test_rounds_come_while_the_runner_says_nothing(pipe: Pipe, served: Served, peer: Peer) -> None:
    seeds = [peer(), peer()]
    nodes = [served(config={"interval": interval, "seeds": [name(seed)]}) for interval, seed in zip((10, 20), seeds, strict=True)]

    for node, seed in zip(nodes, seeds, strict=True):
        self = node["addrs"]["udp"].encode()
        assert {seed.recv(2**16) for _ in range(5)} == {bytes([1, len(self)]) + self + bytes(8)}


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"python"}), indirect=True, scope="module")
def test_a_node_without_a_socket_beside_it_has_the_time_of_the_runner(pipe: Pipe, served: Served) -> None:
    """In Python, the plug of this test has no such node."""
    served(config={"interval": 1})

    virtual = pipe("open", protocol="scuttlebutt", addr="b:1", now_ms=0)

    assert pipe("advance", handle=virtual["handle"], now_ms=1000)["next_timer_ms"] == 2000


def test_a_closed_node_leaves_its_address(pipe: Pipe, served: Served) -> None:
    node = served()
    taken = served(bind=node["addrs"]["udp"])

    assert taken["error"]["code"] == "bad_request"
    assert re.search("EADDRINUSE|already in use|cannot listen", taken["error"]["message"], re.IGNORECASE)
    assert pipe("close", handle=node["handle"]) == {"ok": True}
    assert pipe("query", handle=node["handle"], what="peers")["error"]["code"] == "no_handle"
    assert served(bind=node["addrs"]["udp"])["addrs"] == node["addrs"]


@pytest.mark.parametrize("farewell", ["bye", "end of the input"])
@pytest.mark.parametrize("own", LANGUAGES)
def test_the_adapter_ends_though_nodes_run(own: str, farewell: str) -> None:
    for process in adapter(start_of(own)):
        pipe = pipe_to(process)
        assert "addrs" in pipe("serve", protocol="scuttlebutt", via=["udp"], bind="127.0.0.1:0")
        assert process.stdin
        assert process.stderr

        if farewell == "bye":
            assert pipe("bye") == {"ok": True}
        else:
            process.stdin.close()

        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"protocol": "swim"}, "unsupported"),
        ({"via": ["tcp"]}, "unsupported"),
        ({"via": ["udp", "tcp"]}, "unsupported"),
        ({"via": "udp"}, "unsupported"),
        ({"bind": "nowhere"}, "bad_request"),
        ({"bind": "127.0.0.1:65536"}, "bad_request"),
        ({"bind": "192.0.2.1:0"}, "bad_request"),
        ({"bind": 7}, "bad_request"),
    ],
    ids=str,
)
def test_what_cannot_be_served_is_refused(served: Served, members: dict[str, Any], code: str) -> None:
    assert served(**members)["error"]["code"] == code
    assert "error" not in served()


@pytest.mark.parametrize("language", ["go", "js", "rust"], indirect=True, scope="module")
def test_a_port_refuses_a_name_of_a_host(served: Served) -> None:
    """The reference looks it up."""
    assert served(bind="localhost:0")["error"]["code"] == "bad_request"


@pytest.mark.parametrize("op", ["recv", "crash", "restart"])
def test_a_served_node_has_its_own_network_and_life(pipe: Pipe, served: Served, op: str) -> None:
    node = served()

    reply = pipe(op, **{"handle": node["handle"], "now_ms": 0, "from": "a:1", "bytes": KNOWS_X})

    assert reply["error"]["code"] == "unsupported"
    assert pipe("query", handle=node["handle"], what="peers")["value"] == [node["addrs"]["udp"]]


@pytest.mark.parametrize("port", ["go", "rust"])
def test_a_port_does_over_its_socket_what_it_does_under_virtual_time(port: str, tmp_path: Path) -> None:
    chosen = ("-k", "digest-answers,digest-behind", "--impl", shlex.join(start_of(port)))

    code, report = ran(tmp_path, "scuttlebutt", "--transport", "virtual,udp", *chosen, *SLACK)

    assert code == 0
    assert statuses(report) <= {"passed", "undetermined"}
    assert report["transports"]["otherwise"] == []
    assert any(case["id"].endswith("@udp") for case in report["cases"])


@pytest.fixture
def launch() -> Iterator[Callable[..., NodeProcess]]:
    """Starts nodes of the reference that do not outlive the test."""
    yield from launching(NodeProcess)


def test_served_nodes_and_ours_are_one_cluster(pipe: Pipe, served: Served, launch: Callable[..., NodeProcess]) -> None:
    """They learn each other's keys, and which node is down."""
    detector = {"window": 10, "bootstrap": 100, "critical": 5000, "down": 8000}
    first = served(config={"interval": 40, "detector": detector})
    ours = launch("--peer", first["addrs"]["udp"], "--set", "colour=green")
    second = served(config={"interval": 40, "detector": detector, "seeds": [ours.addr]})

    pipe("call", handle=first["handle"], now_ms=0, name="update_local", args={"key": "colour", "value": "red"})

    addrs = [first["addrs"]["udp"], second["addrs"]["udp"]]
    everything = {addrs[0]: {"colour": "red"}, ours.addr: {"colour": "green"}, addrs[1]: {}}
    ours.wait(lambda node: node.pairs() == everything)
    for node in (first, second):
        until(lambda: pairs(pipe("query", handle=node["handle"], what="view")["value"]) == everything)  # noqa: B023
    ours.end(signal.SIGKILL)
    for node in (first, second):
        down = {"addr": ours.addr, "status": "down"}
        until(lambda: down in pipe("query", handle=node["handle"], what="status")["value"])  # noqa: B023


def pairs(view: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Values by key by address."""
    return {record["addr"]: {pair["key"]: pair["value"] for pair in record["pairs"]} for record in view}


def until(fact: Callable[[], bool]) -> None:
    """Waits for what becomes true by itself."""
    deadline = monotonic() + PATIENCE
    while not fact():
        assert monotonic() < deadline, f"not in {PATIENCE} s"
        sleep(0.02)
