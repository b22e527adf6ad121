"""Peter for those who run its nodes."""

from __future__ import annotations

from random import Random
from typing import Final

from peerproof.reference.protocols.peter import overlay
from peerproof.reference.protocols.wendy.overlay import address_config
from peerproof.reference.runtime.protocol import Runtime

RUNTIME: Final = Runtime(
    "peter",
    transport="tcp",
    period="network_timeout",
    shown=("own", "leaf_set", "neighborhood_set", "routing_table", "topics"),
    placed=address_config,
    assigned=overlay.assignment,
    key=lambda plan, node, update: plan.topic(int(plan.topics * Random(f"{plan.seed}/{node}/{update}").random())),
    subscribes=True,
    connected=overlay,
)
