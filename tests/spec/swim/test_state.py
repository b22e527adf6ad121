"""What a node cannot be called."""

from __future__ import annotations

import pytest

from peerproof.spec.core import NodeId
from peerproof.spec.errors import NotEnabled
from peerproof.spec.swim import Config, initial

from .nodes import B


@pytest.mark.parametrize("self_id", ["", "b", "b:", ":1", "b:0", "b:65536", "b:x", "b:١", f"{'x' * 256}:1", "\udcff:1"])
def test_a_node_needs_an_address_that_others_can_send_to(self_id: str) -> None:
    with pytest.raises(NotEnabled):
        initial(NodeId(self_id), Config(B))
