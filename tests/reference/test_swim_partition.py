"""Real nodes on two sides of a link that is cut, each side in a network of its own. In memory: `test_swim_cluster.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import pytest

from .conftest import launching
from .test_swim_nodes import SECOND_LIFE, Launch, SwimNode, everybody

pytestmark = pytest.mark.slow

ONE, OTHER = "10.93.0.1", "10.93.0.2"


def ip(*words: str) -> None:
    """One command of iproute2."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Link(NamedTuple):
    """Two networks and what connects them, named after this process."""

    one: str
    other: str

    def set(self, state: str) -> None:
        """`up` or `down`, at both ends: at one that is up, datagrams would wait to be sent when the other is up again."""
        for name in self:
            ip("-n", name, "link", "set", "side", state)


@pytest.fixture
def link() -> Iterator[Link]:
    """Two networks that are connected."""
    names = Link(f"peerproof-{os.getpid()}-1", f"peerproof-{os.getpid()}-2")
    if not shutil.which("ip") or subprocess.run(["ip", "netns", "add", names.one], check=False, capture_output=True).returncode:
        pytest.skip("no network namespaces for this user here; the partition in memory is in test_swim_cluster.py")
    try:
        ip("netns", "add", names.other)
        ip("-n", names.one, "link", "add", "side", "type", "veth", "peer", "name", "side", "netns", names.other)
        for name, address in zip(names, (ONE, OTHER), strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "side")
            ip("-n", name, "link", "set", "lo", "up")
        names.set("up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def inside(network: str) -> type[SwimNode]:
    """Nodes in a network."""

    class Inside(SwimNode):
        command: ClassVar = ["ip", "netns", "exec", network, *SwimNode.command]

    return Inside


@pytest.fixture
def starts(link: Link) -> Iterator[tuple[Launch, Launch]]:
    """Start nodes on either side that do not outlive the test."""
    one, other = (launching(inside(network)) for network in link)
    yield next(one), next(other)
    for side in (one, other):
        next(side, None)


def test_two_halves_bury_each_other_do_not_heal_and_heal_when_one_half_is_restarted(
    link: Link, starts: tuple[Launch, Launch]
) -> None:
    """SX-04, and S-24 on how to get out of it."""
    start_one, start_other = starts
    first = start_one(*SECOND_LIFE, bind=f"{ONE}:0")
    second = start_one(*SECOND_LIFE, "--seed", first.addr, bind=f"{ONE}:0")
    third, fourth = (start_other(*SECOND_LIFE, "--seed", first.addr, bind=f"{OTHER}:0") for _ in range(2))
    here, there = [first, second], [third, fourth]
    for node in (*here, *there):
        everybody([*here, *there], node, "normal")

    link.set("down")
    for node in there:
        everybody(here, node, "dead")
    for node in here:
        everybody(there, node, "dead")

    link.set("up")
    for node in here:
        for _ in range(20):
            node.next_view()
        assert {node.row(gone)["status"] for gone in there} == {"dead"}

    for node in there:
        node.end()
    again = [start_other("--restart-counter", "2", "--seed", first.addr, bind=node.addr) for node in there]
    for node in (*here, *again):
        everybody([*here, *again], node, "normal")
