"""What nodes tell each other and ask for when a split has healed, and when something has got lost."""

from __future__ import annotations

from typing import Any

from peerproof.spec.core import NodeId

from .nodes import hears, info, node
from .samples import sets

#: What nodes have seen that miss nothing they know of.
A7: dict[str, Any] = {"superseded": sets(a=((1, 8),), b=(1,))}


def test_what_others_miss_raises_no_tick() -> None:
    """[DA-64]"""
    done = hears(node("a", **A7), info("b1", missing=sets(q=(5,))))

    assert NodeId("q") not in done.state.ticks
