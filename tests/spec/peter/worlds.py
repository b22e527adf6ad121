"""Constants of bounded worlds, which tests change."""

from __future__ import annotations

from typing import Any

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
