"""Nodes as the tables of these tests write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import pytest

from peerproof.spec.core import Instant, NodeId, Table
from peerproof.spec.scuttlebutt import Config, Liveness, Peer, State, Versioned
from peerproof.spec.scuttlebutt.arrival import open_window

#: Address -> key -> (value, version).
Store: TypeAlias = Mapping[str, Mapping[str, tuple[str, int]]]


@pytest.fixture
def node() -> Callable[..., State]:
    """`node("b:1", {"c:1": {"k": ("v", 3)}}, config)`: b:1, which got to know the others at 0 and has heard nothing since."""

    def make(self_id: str, store: Store | None = None, config: Config | None = None) -> State:
        config = config or Config()
        records = {self_id: {}, **(store or {})}
        peers = {NodeId(addr): peer(pairs) for addr, pairs in records.items()}
        detector = config.detector
        liveness = {addr: Liveness(open_window(Instant(0), detector)) for addr in peers if addr != self_id} if detector else {}
        return State(NodeId(self_id), config, Table(peers), Table(liveness))

    def peer(pairs: Mapping[str, tuple[str, int]]) -> Peer:
        versions = {key: Versioned(value, version) for key, (value, version) in pairs.items()}
        return Peer(Table(versions), max((pair.version for pair in versions.values()), default=0))

    return make
