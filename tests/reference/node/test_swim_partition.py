"""Real nodes on two sides of a link that is cut, each side in a network of its own. In memory: `test_swim_cluster.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pytest
from tests.reference.conftest import launching
from tests.reference.networks import ONE, OTHER, Link

from .test_swim_nodes import SECOND_LIFE, Launch, SwimNode, everybody

pytestmark = pytest.mark.slow


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
