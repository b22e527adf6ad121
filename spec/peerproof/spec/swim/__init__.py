"""
SWIM: membership and failure detection, with the news carried inside the pings. [S-01, S-09]

`initial`, `step` and `MESSAGE` are the protocol; read `transitions.py` first, with `spec/swim.md` beside it.
"""

from __future__ import annotations  # noqa: I001  # several names of one module on a line

from collections.abc import Callable, Mapping
from typing import Final

from peerproof.spec.forms.form import Plain
from peerproof.spec.swim.forms import COMMAND, CONFIG, NOTICE, TIMER
from peerproof.spec.swim.messages import (
    Ack, AddNode, AntiEntropy, ClusterEvent, Command, Dead, Effect, Event, EventType, Incarnation, IndirectAck, IndirectPing,
    Joining, Leave, LeaveNode, Member, Message, NodeEvent, Normal, Notice, OnClusterEvent, OnNodeEvent, Payload, Ping, Probe,
    ProbeAck, ProbeNode, ProbeTimeout, Quantum, Reachable, RemoveNode, SetPayload, Suspicious, Timer, Unreachable, Uuid, Vector,
)  # fmt: skip
from peerproof.spec.swim.properties import PROPERTIES
from peerproof.spec.swim.shortcut import MESSAGE
from peerproof.spec.swim.snapshot import STATE
from peerproof.spec.swim.state import Config, Exchange, Row, Seed, State, Status, active_size, node_info, nodes, own, total_size
from peerproof.spec.swim.transitions import Next, initial, step

NAME: Final = "swim"

#: The transport of its messages.
TRANSPORT: Final = "udp"

#: Queries of a state, which do not change the node.
QUERIES: Final[Mapping[str, Callable[..., Plain]]] = {
    "total_size": total_size,
    "active_size": active_size,
    "node_info": node_info,
    "nodes": nodes,
    "own": own,
    "state": STATE.plain,
}

__all__ = [
    "COMMAND", "CONFIG", "MESSAGE", "NAME", "NOTICE", "PROPERTIES", "QUERIES", "STATE", "TIMER", "TRANSPORT", "Ack", "AddNode",
    "AntiEntropy", "ClusterEvent", "Command", "Config", "Dead", "Effect", "Event", "EventType", "Exchange", "Incarnation",
    "IndirectAck", "IndirectPing", "Joining", "Leave", "LeaveNode", "Member", "Message", "Next", "NodeEvent", "Normal", "Notice",
    "OnClusterEvent", "OnNodeEvent", "Payload", "Ping", "Probe", "ProbeAck", "ProbeNode", "ProbeTimeout", "Quantum", "Reachable",
    "RemoveNode", "Row", "Seed", "SetPayload", "State", "Status", "Suspicious", "Timer", "Unreachable", "Uuid", "Vector",
    "initial", "step",
]  # fmt: skip
