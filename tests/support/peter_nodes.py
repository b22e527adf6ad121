"""Nodes of trees as the tests write them: by the first digits of their ids, as Wendy's tests do; and a bounded world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.support.wendy_nodes import peer, peers

from peerproof.spec.core import Table
from peerproof.spec.peter import Row, id_of_topic, topics
from peerproof.spec.stack import Stacked
from peerproof.spec.wendy import Id

TEXT = "weather/london/today"
T, U = id_of_topic(TEXT), id_of_topic("weather/paris/today")


def row(local: bool = False, ch: str = "", par: str = "") -> Row:
    """What is kept of a topic: `row(True, "a0 b0", par="c0")`."""
    return Row(local, Table({one.id: one for one in peers(ch)}), peer(par) if par else None)


def stacked(lower: Any, rows: Mapping[Id, Row] | None = None) -> Any:
    """A whole node: this one of Wendy, which keeps this of topics."""
    below = replace(lower, config=replace(lower.config, is_consulted=True))
    return Stacked(below, topics.State(below.self_id, below.config, Table(rows or {})))


#: Three nodes on the way to a topic, of which each knows the next: 1, 2, and 3, the meeting point.
CHAIN: dict[str, Any] = {
    "Node": [1, 2, 3],
    "Topic": [1],
    "Order": [[1, 3, 2, 1]],
    "Members": [1, 2, 3],
    "Knows": [[1, 2], [2, 3]],
    "Astray": [],
    "Subscribed": [],
    "Todo": [],
    "Beating": [],
    "Hops": "any",
    "Fifo": True,
    "MaxNet": 4,
    "MaxHops": 255,
}
