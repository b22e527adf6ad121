"""Real Peter nodes in real processes on the loopback: subscribers, publishers, and a parent that is killed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.reference.conftest import COMMAND, launching

from peerproof.spec import peter
from peerproof.spec.peter import id_of_topic
from peerproof.spec.traces.replay import replay
from peerproof.spec.wendy import id_text

from .test_wendy_nodes import WendyNode

pytestmark = pytest.mark.slow

TOPIC = "0123456789 what is said"
TOPIC_ID = id_text(id_of_topic(TOPIC))

#: Half of them share the topic's first digit, so that who is not one of these may meet another one first.
IDS = [f"{digit:x}{digit:x}{'5' * 30}" for digit in (0, 2, 5, 7, 9, 11, 13, 15)] + [f"3{d:x}{'5' * 30}" for d in range(0, 16, 2)]


class PeterNode(WendyNode):
    """`peerproof node start peter --json` on a free port of the loopback."""

    command: ClassVar = [*COMMAND[:-1], "peter", "--network-timeout", "2000", "--heartbeat", "2000"]

    @property
    def updates(self) -> list[dict[str, Any]]:
        """What it was told of topics."""
        return [line["update"] for line in self.told if "update" in line]

    @property
    def payloads(self) -> list[str]:
        """The texts of these updates."""
        return [update["payload"] for update in self.updates]

    @property
    def id(self) -> str:
        """Its own."""
        own: str = self.latest["own"]["id"]
        return own

    @property
    def row(self) -> dict[str, Any]:
        """What it keeps of the topic."""
        row: dict[str, Any] = self.latest["topics"].get(TOPIC_ID, {"local": False, "children": [], "parent": None})
        return row


class PatientNode(PeterNode):
    """One of so many on one machine that who is only busy is not to be taken for dead; in small tables not all know all."""

    command: ClassVar = [
        *COMMAND[:-1], "peter", "--network-timeout", "20000", "--heartbeat", "6000", "--leaf-set-side", "2",
        "--neighborhood-set", "4",
    ]  # fmt: skip


KIND = PeterNode
Launch = Callable[..., PeterNode]


@pytest.fixture
def start_many() -> Iterator[Launch]:
    """Starts nodes of a large ring."""
    yield from launching(PatientNode)


def in_one_tree(nodes: Sequence[PeterNode]) -> bool:
    """Whether each node but one has a parent among them, whose child it is, and all of them lead to that one."""
    rows = {node.id: node.row for node in nodes}
    roots = [node for node, row in rows.items() if row["parent"] is None]
    known = {(child, node) for node, row in rows.items() for child in row["children"]}
    wanted = {(node, row["parent"]) for node, row in rows.items() if row["parent"] is not None}
    if len(roots) != 1 or known != wanted or not all(row["local"] for row in rows.values()):
        return False
    below = {roots[0]}
    while more := {child for child, parent in known if parent in below} - below:
        below |= more
    return below == set(rows)


def all_in_one_tree(nodes: Sequence[PeterNode]) -> None:
    """Until it is so."""

    def fact(_: WendyNode) -> bool:
        for node in nodes[1:]:
            node.type("view")
            node.next_view()
        return in_one_tree(nodes)

    nodes[0].now(fact)


def test_what_is_typed_is_told_to_those_who_are_subscribed(start: Launch, tmp_path: Path) -> None:
    first = start("--id", "3" * 32, "--trace", str(tmp_path / "0"))
    second = start("--id", "9" * 32, "--peer", first.addr, "--trace", str(tmp_path / "1"))
    for node, other in ((first, second), (second, first)):
        node.now(lambda node, other=other: node.leaves == {other.id})  # type: ignore[misc]  # bound now

    second.type(f'subscribe "{TOPIC}"')
    first.now(lambda _: first.row["children"] == [second.id])
    first.type(f'publish "{TOPIC}" hello,  "world"')
    first.type('publish "a topic that nobody wants" hello')
    first.type("publish a-topic-without-blanks hello")
    second.now(lambda _: bool(second.updates))
    payload = 'hello,  "world"'
    shown = {"topic": TOPIC_ID, "begins": TOPIC[:16], "payload": payload, "value": payload.encode().hex()}
    assert second.updates == [shown]
    assert first.updates == []

    second.type('unsubscribe "what it never asked for"')
    second.type(f'unsubscribe "{TOPIC}"')
    first.now(lambda _: TOPIC_ID not in first.latest["topics"])
    first.type(f'publish "{TOPIC}" nobody hears')
    first.type("leave")
    assert first.process.wait(120) == 0
    second.now(lambda _: second.leaves == set())
    assert second.updates == [shown]
    second.type("quit")
    assert second.process.wait(120) == 0
    lines = [line for name in "01" for line in (tmp_path / name).read_text(encoding="utf-8").splitlines()]
    assert replay(lines, peter)


@pytest.mark.kill
@pytest.mark.waits
def test_in_a_ring_of_sixteen_each_gets_each_event_once_also_after_a_parent_was_killed(start_many: Launch) -> None:
    nodes = [start_many("--id", IDS[0])]
    nodes += [start_many("--id", own, "--peer", nodes[0].addr) for own in IDS[1:]]
    for node in nodes[1:]:
        node.now(lambda node: any(line.get("joined") for line in node.told))
    for node in nodes:
        node.type(f'subscribe "{TOPIC}"')
    all_in_one_tree(nodes)

    for number in (1, 6, 11):
        nodes[number].type(f'publish "{TOPIC}" {number}')
    published(nodes, ["1", "11", "6"])

    parents = [node for node in nodes if node.row["children"]]
    killed = next((node for node in parents if node.row["parent"]), parents[0])  # the root where it is the only parent
    killed.end(signal.SIGKILL)
    nodes.remove(killed)
    all_in_one_tree(nodes)
    nodes[2].type(f'publish "{TOPIC}" after the repair')
    published(nodes, ["1", "11", "6", "after the repair"])


def published(nodes: Sequence[PeterNode], payloads: list[str]) -> None:
    """Each has got each of these once."""
    for node in nodes:
        node.now(lambda node: isinstance(node, PeterNode) and len(node.payloads) >= len(payloads))
    for node in nodes:
        node.type("view")
        node.next_view()
        assert sorted(node.payloads) == payloads
