"""Wendy for those who run its nodes."""

from __future__ import annotations

from typing import Final

from peerproof.reference.protocols.wendy import overlay
from peerproof.reference.runtime.protocol import Runtime

RUNTIME: Final = Runtime(
    "wendy",
    transport="tcp",
    period="network_timeout",
    shown=("own", "leaf_set", "neighborhood_set", "routing_table"),
    placed=overlay.address_config,
    assigned=overlay.assignment,
    key=lambda plan, node, update: f"{plan.seed}/{node}/{update}",
    connected=overlay,
)
