"""
Wendy: an overlay of nodes on a ring, in which a message finds the node whose id is closest to its key. [W-01, W-37]

`initial`, `step` and `MESSAGE` are the protocol; read `transitions.py` first, with `spec/wendy.md` beside it.
"""

from __future__ import annotations  # noqa: I001  # several names of one module on a line

from collections.abc import Callable, Mapping
from typing import Final

from peerproof.spec.forms.form import Plain
from peerproof.spec.wendy.codec import MESSAGE
from peerproof.spec.wendy.forms import COMMAND, CONFIG, NOTICE, TIMER
from peerproof.spec.wendy.ids import Id, Ring, id_of_bytes, id_of_text, id_text
from peerproof.spec.wendy.messages import (
    Announce, Application, Command, Delivered, Effect, Entry, Event, FlushCache, Forward, Forwarding, Header, Heartbeat,
    HeartbeatDue, Join, Joined, JoinFailed, LeafSet, Leave, Mask, Message, Node, NodeAnnouncement, NodeExit, NodeExited, NodeJoin,
    NodeJoined, NodeRace, NodeRepair, Notice, RepairTimeout, Route, SendTo, StateData, StateRequest, Tables, Timer, Versions,
)  # fmt: skip
from peerproof.spec.wendy.properties import PROPERTIES
from peerproof.spec.wendy.proximity import Next
from peerproof.spec.wendy.snapshot import STATE
from peerproof.spec.wendy.state import Config, Repair, Stage, State, leaf_set, neighborhood_set, own, routing_table
from peerproof.spec.wendy.transitions import initial, step

NAME: Final = "wendy"

#: The transport of its messages.
TRANSPORT: Final = "tcp"

#: Queries of a state, which do not change the node.
QUERIES: Final[Mapping[str, Callable[..., Plain]]] = {
    "own": own,
    "routing_table": routing_table,
    "leaf_set": leaf_set,
    "neighborhood_set": neighborhood_set,
    "state": STATE.plain,
}

__all__ = [
    "COMMAND", "CONFIG", "MESSAGE", "NAME", "NOTICE", "PROPERTIES", "QUERIES", "STATE", "TIMER", "TRANSPORT", "Announce",
    "Application", "Command", "Config", "Delivered", "Effect", "Entry", "Event", "FlushCache", "Forward", "Forwarding", "Header",
    "Heartbeat", "HeartbeatDue", "Id", "Join", "JoinFailed", "Joined", "LeafSet", "Leave", "Mask", "Message", "Next", "Node",
    "NodeAnnouncement", "NodeExit", "NodeExited", "NodeJoin", "NodeJoined", "NodeRace", "NodeRepair", "Notice", "Repair",
    "RepairTimeout", "Ring", "Route", "SendTo", "Stage", "State", "StateData", "StateRequest", "Tables", "Timer", "Versions",
    "id_of_bytes", "id_of_text", "id_text", "initial", "step",
]  # fmt: skip
