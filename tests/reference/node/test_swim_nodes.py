"""Real SWIM nodes in real processes on the loopback."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty
from time import monotonic
from typing import Any, ClassVar

import pytest
from tests.reference.conftest import COMMAND, PATIENCE, NodeProcess

from peerproof.cli.main import main
from peerproof.reference.protocols.swim.runtime import swim_uuid
from peerproof.spec.core import NodeId

pytestmark = pytest.mark.slow

#: A node that has lived once before.
SECOND_LIFE = ("--restart-counter", "1")

#: Datagrams that a node has sent after a while in which nothing happens.
LONG = 40


class SwimNode(NodeProcess):
    """`peerproof node start swim --json` on a free port of the loopback."""

    command: ClassVar = [*COMMAND[:-1], "swim", "--interval", "80"]

    @property
    def uuid(self) -> str:
        """Its name."""
        return swim_uuid(NodeId(self.addr))

    def row(self, other: SwimNode) -> dict[str, Any]:
        """What it knew of another one when it last said so."""
        return next((row for row in self.latest["nodes"] if row["uuid"] == other.uuid), {"status": "unknown", "restart": None})

    def now(self, fact: Callable[[SwimNode], bool]) -> None:
        """Until a view shows a fact that was printed after this was asked."""
        with suppress(Empty):
            while True:
                self.latest = self._views.get_nowait()
        self.next_view()
        deadline = monotonic() + PATIENCE
        while not fact(self):
            assert monotonic() < deadline, f"not in {PATIENCE} s: {self.latest}; {self.errors}"
            self.next_view()


KIND = SwimNode
Launch = Callable[..., SwimNode]


def everybody(nodes: Iterable[SwimNode], about: SwimNode, status: str, **row: str) -> None:
    """Until all of these think so of a node."""
    for node in nodes:
        if node is not about:
            node.now(lambda node: node.row(about).items() >= {"status": status, **row}.items())


def some(nodes: Iterable[SwimNode], about: SwimNode, status: str, least: int) -> None:
    """Until so many of these think so of a node: as many as it tells. Whether they tell all others is chance [SX-05]."""
    left, deadline = set(nodes), monotonic() + PATIENCE
    size = len(left)
    while size - len(left) < least:
        assert monotonic() < deadline, f"not in {PATIENCE} s: {[node.latest for node in left]}"
        for node in list(left):
            node.next_view()
            if node.row(about)["status"] == status:
                left.remove(node)


def cluster(start: Launch, size: int, *options: str) -> list[SwimNode]:
    """Nodes that have the first one as seed, and know each other."""
    first = start(*SECOND_LIFE, *options)
    nodes = [first, *(start(*SECOND_LIFE, *options, "--peer", first.addr) for _ in range(size - 1))]
    for node in nodes:
        everybody(nodes, node, "normal")
    return nodes


def test_a_reader_sees_a_view_only_if_more_than_counters_changes(start: Launch) -> None:
    known, other = start(), start()
    command = [*SwimNode.command, "--bind", "127.0.0.1:0", "--peer", known.addr, "--peer", other.addr]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as reader:
        known.now(lambda node: len(node.latest["nodes"]) > 0 and all(int(row["tx"]) > LONG for row in node.latest["nodes"]))
        printed, _ = reader.communicate("quit\n", timeout=PATIENCE)

    assert 0 < printed.count("\n-- ") < LONG / 2


@pytest.mark.slow
def test_six_nodes_find_each_other_a_dead_one_a_silent_one_a_new_one_and_one_that_leaves(start: Launch) -> None:
    first, *_, paused, killed = nodes = cluster(start, 6)
    others = [node for node in nodes if node is not killed]
    first.now(lambda node: node.latest["own"]["joined"])

    killed.end(signal.SIGKILL)
    everybody(others, killed, "dead")

    # Its counter was kept, and raised for this start.
    again = start("--restart-counter", "2", "--peer", first.addr, "--set", "role=db", bind=killed.addr)
    everybody(others, again, "normal", restart="2", payload={"role": "db"})  # type: ignore[arg-type]  # a payload is an object

    paused.process.send_signal(signal.SIGSTOP)
    first.now(lambda node: node.row(paused)["status"] in ("suspicious", "dead"))
    paused.process.send_signal(signal.SIGCONT)
    everybody([node for node in others if node is not paused], paused, "normal", restart="1")  # refuted, without a new life

    paused.type(f"leave_node {paused.uuid}")
    some([node for node in others if node is not paused], paused, "leave", 3)
    first.type("quit")
    assert first.process.wait(PATIENCE) == 0


def test_what_is_typed_is_done_and_what_makes_no_sense_is_refused(start: Launch) -> None:
    first = start(*SECOND_LIFE, "-v")
    second = start(*SECOND_LIFE)

    first.type(f"add_node {second.uuid} 127.0.0.1 {second.addr.rpartition(':')[2]}")
    second.now(lambda node: node.row(first)["status"] == "normal")
    first.type(f"set_payload {first.uuid} {json.dumps(json.dumps({'role': 'db', 'n': 1}))}")
    second.now(lambda node: node.row(first).get("payload") == {"role": "db", "n": 1})
    first.type("set mood=good")
    second.now(lambda node: node.row(first).get("payload") == {"role": "db", "n": 1, "mood": "good"})
    in_part = ("add_node", "probe_node 127.0.0.1:1", "leave_node a b", "set mood", "set mood good", "view all", "help add_node")
    for nonsense in ("nonsense", f"set_payload {second.uuid} {{}}", "leave_node 7", *in_part):
        first.type(nonsense)
    first.type(f"probe_node 127.0.0.1 {second.addr.rpartition(':')[2]}")
    first.now(lambda node: any("Reachable" in line for line in node.errors))
    first.type(f"remove_node {second.uuid}")
    first.now(lambda node: node.row(second)["status"] == "unknown")
    first.type("quit")
    assert first.process.wait(PATIENCE) == 0
    errors = "".join(first.errors)
    assert f"Reachable(host='127.0.0.1', port={second.addr.rpartition(':')[2]}, node='{second.uuid}')" in errors
    assert "the payload of" in errors
    assert "a UUID" in errors
    assert re.search(r"set_payload UUID DATA +Sets the data of a node", errors)  # what can be typed
    assert re.findall(r"(?:no |'b' |usage: ).*", errors[errors.index("no UUID") :])[: len(in_part)] == [
        "no UUID and no HOST and no PORT; usage: add_node UUID HOST PORT",
        "no PORT; usage: probe_node HOST PORT",
        "'b' is one too many; usage: leave_node UUID",
        *["usage: set KEY=VALUE"] * 2,
        "usage: view",
        "usage: help",
    ]


@pytest.mark.slow
def test_nodes_with_uuids_of_their_own_are_seeds_by_uuid_and_address(start: Launch) -> None:
    uuids = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"]
    first = start(*SECOND_LIFE, "--uuid", uuids[0])
    second = start(*SECOND_LIFE, "--uuid", uuids[1], "--peer", f"{uuids[0]}@{first.addr}")

    for node in (first, second):
        node.now(lambda node: [row["status"] for row in node.latest["nodes"]] == ["normal"])
    assert [row["uuid"] for node in (first, second) for row in node.latest["nodes"]] == uuids[::-1]
    assert [node.latest["own"]["uuid"] for node in (first, second)] == uuids


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--uuid", "11"], "uuid: expected a UUID, found '11'"),
        (["--peer", "a@127.0.0.1:1"], "seeds[0].uuid: expected a UUID, found 'a'"),
        (["--peer", "11111111-1111-4111-8111-111111111111@127.0.0.1:0"], "port 0 is not the address of a node"),
    ],
)
def test_a_uuid_that_is_none_is_refused(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "start", "swim", "--bind", "127.0.0.1:0", *options]) == 2

    assert said in capsys.readouterr().err
