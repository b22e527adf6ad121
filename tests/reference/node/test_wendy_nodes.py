"""Real Wendy nodes in real processes on the loopback, and strangers who mean them no good."""

from __future__ import annotations

import re
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar

import pytest
from tests.reference.conftest import COMMAND, PATIENCE, NodeProcess

from peerproof.reference.protocols.wendy.runtime import digest
from peerproof.spec import wendy
from peerproof.spec.traces.replay import replay
from peerproof.spec.wendy import (
    MESSAGE,
    Entry,
    Header,
    Heartbeat,
    Id,
    LeafSet,
    Node,
    NodeAnnouncement,
    StateData,
    Tables,
    Versions,
    id_of_text,
    id_text,
)
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT
from peerproof.spec.wendy.ids import REAL
from peerproof.spec.wendy.messages import MOST_VERSION, NO_VERSIONS

pytestmark = pytest.mark.slow

ONE, SEVEN, TWELVE = ("1" * 32, "7" * 32, "c" * 32)


class WendyNode(NodeProcess):
    """`peerproof node start wendy --json` on a free port of the loopback."""

    command: ClassVar = [*COMMAND[:-1], "wendy", "--network-timeout", "2000", "--heartbeat", "2000"]

    def __init__(self, *options: str, bind: str = "127.0.0.1:0") -> None:
        self.told: list[dict[str, Any]] = []
        super().__init__(*options, bind=bind)

    def next_view(self) -> dict[str, Any]:
        """The next line that shows what it knows; the others are kept in `told`."""
        while True:
            line = super().next_view()
            if "own" in line:
                return line
            self.told.append(line)

    def now(self, fact: Callable[[WendyNode], bool]) -> None:
        """Until something is so; asked for again and again."""
        deadline = monotonic() + PATIENCE
        while not fact(self):
            assert monotonic() < deadline, f"not in {PATIENCE} s: {self.latest}, {self.told}; {self.errors[-5:]}"
            self.type("view")
            self.next_view()
            sleep(0.02)

    @property
    def leaves(self) -> set[str]:
        """The ids in its leaf set."""
        return {node for side in self.latest["leaf_set"].values() for node in side}

    @property
    def delivered(self) -> list[dict[str, Any]]:
        """What was delivered to it."""
        return [line["delivered"] for line in self.told if "delivered" in line]

    @property
    def payloads(self) -> list[str]:
        """The texts of these."""
        return [message["payload"] for message in self.delivered]

    @property
    def place(self) -> tuple[str, int]:
        """Where it listens."""
        host, _, port = self.addr.rpartition(":")
        return host, int(port)

    def logged(self, what: str) -> None:
        """Until it has logged something."""
        self.now(lambda _: any(re.search(what, error) for error in self.errors))


KIND = WendyNode
Launch = Callable[..., WendyNode]


def ring_of_three(start: Launch, folder: Path) -> list[WendyNode]:
    """Nodes that know each other, and are recorded."""
    ids, nodes = (ONE, SEVEN, TWELVE), list[WendyNode]()
    for number, own in enumerate(ids):
        contact = ("--peer", nodes[0].addr, "--region", "eu") if nodes else ()
        nodes.append(start("--id", own, "--trace", str(folder / f"{number}.jsonl"), *contact))
    for node, own in zip(nodes, ids, strict=True):
        node.now(lambda node, own=own: node.leaves == {*ids} - {own})  # type: ignore[misc]  # bound now
    return nodes


def test_in_a_ring_of_three_what_is_typed_is_delivered_at_the_closest_and_who_has_gone_is_forgotten(
    start: Launch, tmp_path: Path
) -> None:
    first, second, third = ring_of_three(start, tmp_path)
    assert any(line.get("joined") for line in second.told)

    third.type(f"route 7{'0' * 31} hello,  world")
    second.now(lambda node: bool(node.delivered))
    (delivery,) = second.delivered
    assert delivery.pop("hops") in (1, 2)
    said = {"payload": "hello,  world", "value": b"hello,  world".hex()}
    assert delivery == {"key": f"7{'0' * 31}", "from": TWELVE, "purpose": 16, **said}
    second.type("set colour=red")  # goes to whoever is closest to the digest of the key
    keys = {id_of_text(own): node for own, node in zip((ONE, SEVEN, TWELVE), (first, second, third), strict=True)}
    owner = keys[min(keys, key=lambda own: REAL.rank(own, id_of_text(digest("colour"))))]
    owner.now(lambda node: node.delivered[-1:] != [] and node.delivered[-1]["payload"] == "red")
    for nonsense in ("route 7 x", "nonsense", f"join {first.addr}"):
        second.type(nonsense)
    second.logged("refused: .*joins once")
    assert any("KEY: expected 32 hexadecimal digits" in error for error in second.errors)
    assert any("unknown command 'nonsense'; there are:" in error for error in second.errors)
    assert any("route KEY payload" in error for error in second.errors)

    second.end(signal.SIGKILL)
    first.now(lambda node: SEVEN not in node.leaves)
    third.type("leave")
    assert third.process.wait(PATIENCE) == 0
    first.now(lambda node: node.leaves == set())
    first.type(f"route {'8' * 32} alone")
    first.now(lambda node: node.delivered[-1:] != [] and node.delivered[-1]["payload"] == "alone")
    first.type("quit")
    assert first.process.wait(PATIENCE) == 0
    lines = [line for number in (0, 2) for line in (tmp_path / f"{number}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert replay(lines, wendy)


def test_a_node_without_an_id_has_that_of_its_address_and_tries_contacts_in_turn(start: Launch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        unreachable = f"127.0.0.1:{closed.getsockname()[1]}"
        first = start()
        second = start("--peer", unreachable, "--peer", first.addr)

        assert first.latest["own"]["id"] == digest(first.addr)
        second.now(lambda node: node.leaves == {digest(first.addr)})
        assert any("join_failed" in line for line in second.told)
        second.logged(f"cannot join: the contact {unreachable} cannot be reached")


@pytest.fixture
def node(start: Launch) -> WendyNode:
    """One that is alone."""
    return start("--id", ONE)


def exchanged(node: WendyNode, data: bytes) -> bytes:
    """What the node answers to these bytes on a connection, to its end."""
    with socket.create_connection(node.place, timeout=PATIENCE) as connection:
        with suppress(OSError):  # it may have heard enough
            connection.sendall(data)
        answer = b""
        with suppress(ConnectionResetError):
            while piece := connection.recv(1024):
                answer += piece
        return answer


def serves(node: WendyNode) -> None:
    """The node answers an honest message, and delivers another."""
    assert exchanged(node, MESSAGE.encode(Heartbeat(header(1)))) == ACKNOWLEDGEMENT
    node.type(f"route {'0' * 32} served")
    node.now(lambda node: node.payloads == ["served"])


def member(number: int, port: int = 1) -> Node:
    """A node at a port of the loopback where most likely nobody listens."""
    return Node(Id(number), "127.0.0.1", "127.0.0.1", port)


def header(number: int, versions: Versions = NO_VERSIONS) -> Header:
    return Header(member(number), Id(number), versions)


def test_the_acknowledgement_is_that_of_the_original_and_need_not_be_read(node: WendyNode) -> None:
    data = MESSAGE.encode(Heartbeat(header(1)))
    assert exchanged(node, data) == b'{"status": "Received."}'
    for _ in range(50):
        with socket.create_connection(node.place) as connection:
            connection.sendall(MESSAGE.encode(wendy.Application(Header(member(2), Id(int(ONE, 16))), 20, b"gone")))
    node.now(lambda node: node.payloads == ["gone"] * 50)


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("a message begins with", b"GET / HTTP/1.1\r\n\r\n"),
        ("a message begins with", bytes(range(256)) * 16),
        ("at most 1048576 bytes", b'{"Purpose":"' + b"x" * 10_000_000),
        ("malformed message", b'{"Purpose":' + b"[" * 500_000 + b"]" * 500_000 + b"}"),
        ("malformed message", b'{"Purpose":2}'),
    ],
    ids=["another protocol", "no text", "10 MB", "nested", "members missing"],
)
def test_what_is_no_message_is_cut_off_and_logged(node: WendyNode, what: str, data: bytes) -> None:
    before = memory(node)

    assert exchanged(node, data) == b""

    node.logged(f"malformed message from 127.0.0.1:.*{what}" if what != "malformed message" else what)
    assert memory(node) - before < 40 * 2**20
    serves(node)


def test_a_peer_that_lies_gets_nobody_into_the_tables_that_cannot_be_reached(start: Launch) -> None:
    """Its id is another's, its rows are wrong, its version is from the future, its nodes are not there."""
    node = start("--id", ONE)
    other = start("--id", SEVEN, "--peer", node.addr)
    node.now(lambda node: node.leaves == {SEVEN})
    other.now(lambda node: node.leaves == {ONE})
    ghosts = [member(0xF000 + number) for number in range(400)]
    entries = tuple(Entry(number // 16 % 32, number % 16, ghost) for number, ghost in enumerate(ghosts[:300]))
    neighbors = tuple(ghosts[300:332])
    versions = Versions(MOST_VERSION, MOST_VERSION, MOST_VERSION)
    lies = Tables(entries, LeafSet(), neighbors)
    for sender in (int(SEVEN, 16), int(ONE, 16), 0xBAD):
        assert exchanged(node, MESSAGE.encode(StateData(header(sender, versions), lies, destination=True))) == ACKNOWLEDGEMENT
        assert exchanged(node, MESSAGE.encode(NodeAnnouncement(header(sender, versions), lies))) == ACKNOWLEDGEMENT

    node.now(lambda node: any(line.get("node_exited") == id_text(Id(0xBAD)) for line in node.told))  # who spoke to it, is tried
    node.now(lambda node: not known(node) - {SEVEN})
    assert not {line.get("node_joined") for line in node.told} & {id_text(ghost.id) for ghost in ghosts}
    assert exchanged(node, MESSAGE.encode(Heartbeat(header(1)))) == ACKNOWLEDGEMENT


def known(node: WendyNode) -> set[str]:
    """Whom it has in its tables."""
    view = node.latest
    return {*(row[2] for row in view["routing_table"]), *node.leaves, *view["neighborhood_set"]}


def test_a_connection_that_sends_a_byte_a_second_is_cut_off(node: WendyNode) -> None:
    data = MESSAGE.encode(Heartbeat(header(1)))
    begun = monotonic()
    with socket.create_connection(node.place, timeout=PATIENCE) as slow:
        slow.settimeout(1.0)
        for at in range(len(data)):
            try:
                slow.sendall(data[at : at + 1])
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("it was never cut off")
    assert monotonic() - begun < PATIENCE
    node.logged(r"slow connection from 127.0.0.1:\d+, cut off after 2 s with \d+ bytes")
    serves(node)


@pytest.mark.kill
def test_a_thousand_connections_do_not_keep_honest_messages_out(node: WendyNode) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1_200
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    before = memory(node)
    with ExitStack() as stack:
        for _ in range(1_000):
            connection = stack.enter_context(socket.create_connection(node.place, timeout=PATIENCE))
            with suppress(OSError):
                connection.sendall(b'{"Purpose":2,')
        assert exchanged(node, MESSAGE.encode(Heartbeat(header(1)))) == ACKNOWLEDGEMENT
        assert memory(node) - before < 100 * 2**20
    node.logged("cut off the oldest, from 127.0.0.1")
    serves(node)


def memory(node: WendyNode) -> int:
    """Bytes that it has in memory."""
    status = Path(f"/proc/{node.process.pid}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024
