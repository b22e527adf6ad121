"""Nodes that the port in JavaScript serves on sockets, for a runner that plays their peers."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.conformance.adapters.test_adapter_js import PORT
from tests.reference.conftest import PATIENCE, Pipe, adapter, pipe_to
from tests.support.tools import require

pytestmark = pytest.mark.slow

#: Milliseconds after which no test is still there.
NEVER = 2**40

#: Each hears of a peer that nobody knows, and says that it lacks everything of it.
KNOWS_X, KNOWS_Y = ("0103" + address.encode().hex() + "0000000000000000" for address in ("x:1", "y:1"))
EMPTY_DELTA = b"\x03"

MALFORMED = (b"", b"\x00", b"\x01\x05a", b"\x03\xff", b"\xff" * 60_000)

Served = Callable[..., dict[str, Any]]
Peer = Callable[[], socket.socket]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """The adapter."""
    yield from adapter([require("node"), str(PORT / "adapter.mjs")])


@pytest.fixture
def pipe(process: subprocess.Popen[bytes]) -> Pipe:
    """Its runner."""
    return pipe_to(process)


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
    assert pipe("hello", protocol=[1, 1])["sockets"] == ["udp"]

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
    assert pipe("advance", handle=node["handle"], now_ms=0)["effects"] == [{"event": {"name": "join", "peer": "x:1"}}]


def test_rounds_come_while_the_runner_says_nothing(pipe: Pipe, served: Served, peer: Peer) -> None:
    seeds = [peer(), peer()]
    nodes = [served(config={"interval": interval, "seeds": [name(seed)]}) for interval, seed in zip((10, 20), seeds, strict=True)]

    for node, seed in zip(nodes, seeds, strict=True):
        self = node["addrs"]["udp"].encode()
        assert {seed.recv(2**16) for _ in range(5)} == {bytes([1, len(self)]) + self + bytes(8)}

    virtual = pipe("open", protocol="scuttlebutt", addr="b:1", now_ms=0)
    assert pipe("advance", handle=virtual["handle"], now_ms=1000)["next_timer_ms"] == 2000


def test_a_closed_node_leaves_its_address(pipe: Pipe, served: Served) -> None:
    node = served()
    taken = served(bind=node["addrs"]["udp"])

    assert taken["error"]["code"] == "bad_request"
    assert "EADDRINUSE" in taken["error"]["message"]
    assert pipe("close", handle=node["handle"]) == {"ok": True}
    assert pipe("query", handle=node["handle"], what="peers")["error"]["code"] == "no_handle"
    assert served(bind=node["addrs"]["udp"])["addrs"] == node["addrs"]


@pytest.mark.parametrize("farewell", ["bye", "end of the input"])
def test_the_adapter_ends_though_nodes_run(process: subprocess.Popen[bytes], pipe: Pipe, served: Served, farewell: str) -> None:
    served()
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
        ({"bind": "localhost:0"}, "bad_request"),
        ({"bind": "127.0.0.1:65536"}, "bad_request"),
        ({"bind": "192.0.2.1:0"}, "bad_request"),
        ({"bind": 7}, "bad_request"),
    ],
    ids=str,
)
def test_what_cannot_be_served_is_refused(served: Served, members: dict[str, Any], code: str) -> None:
    assert served(**members)["error"]["code"] == code
    assert "error" not in served()


@pytest.mark.parametrize("op", ["recv", "crash", "restart"])
def test_a_served_node_has_its_own_network_and_life(pipe: Pipe, served: Served, op: str) -> None:
    node = served()

    reply = pipe(op, **{"handle": node["handle"], "now_ms": 0, "from": "a:1", "bytes": KNOWS_X})

    assert reply["error"]["code"] == "unsupported"
    assert pipe("query", handle=node["handle"], what="peers")["value"] == [node["addrs"]["udp"]]
