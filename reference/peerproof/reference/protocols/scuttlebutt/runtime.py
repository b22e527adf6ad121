"""The run-time description of Scuttlebutt."""

from __future__ import annotations

from typing import Final

from peerproof.reference.runtime.protocol import Runtime

RUNTIME: Final = Runtime(
    "scuttlebutt",
    transport="udp",
    period="interval",
    shown=("view", "status"),
    placed=lambda _, seeds: {"seeds": list(seeds)},
    assigned=lambda _, key, value: {"type": "update_local", "key": key, "value": value},
    set_text="Sets one of the node's own key-value pairs",
)
