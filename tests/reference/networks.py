"""Two networks with a link between them that can be cut."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.support.tools import require

#: The address at either end.
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


def linked() -> Iterator[Link]:
    """What a fixture yields: two networks that are connected."""
    names = Link(f"peerproof-{os.getpid()}-1", f"peerproof-{os.getpid()}-2")
    require("ip")
    if subprocess.run(["ip", "netns", "add", names.one], check=False, capture_output=True).returncode:
        pytest.skip("no network namespaces for this user here; partitions in memory are tested everywhere")
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
