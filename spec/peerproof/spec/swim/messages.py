"""
The messages, commands, timers and notices of SWIM.

A message is a header, ping or ack, and its vectors. Names are the document's. The vectors that it describes without a form
(`IndirectPing`, `IndirectAck`, `Leave`) and the probes are decisions of this project [SA-04, SA-05, SA-41].
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, NewType, TypeAlias

from peerproof.spec.core import Asked, CancelTimer, Expired, Notify, Received, Send, SetTimer

#: A node's name: a UUID in its canonical text. [SA-19]
Uuid = NewType("Uuid", str)

#: The largest restart or tx counter. [SA-47]
COUNTER_MAX: Final = 2**63 - 1


class Incarnation(NamedTuple):
    """The number of a node's restarts, and of its messages since; ordered in this order. [S-14, SA-10]"""

    restart: int
    tx: int


class EventType(Enum):
    """The kinds of changes of a node's status in a cluster. [S-10]"""

    JOINING = "joining"
    NORMAL = "normal"
    SUSPICIOUS = "suspicious"
    DEAD = "dead"
    LEAVE = "leave"
    INCARNATION = "incarnation"


@dataclass(frozen=True, slots=True)
class Joining:
    """A node wants to join, or is joining. [S-18]"""

    node: Uuid
    incarnation: Incarnation
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Normal:
    """A node is normal; without an incarnation, at the incarnation that the receiver knows. [S-19, SA-12]"""

    node: Uuid
    incarnation: Incarnation | None = None


@dataclass(frozen=True, slots=True)
class Suspicious:
    """A node does not answer. [S-20, SA-12]"""

    node: Uuid
    incarnation: Incarnation | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """A node is dead. Sent to the node itself, it carries the remembered incarnation. [S-21, SA-12]"""

    node: Uuid
    incarnation: Incarnation | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """A node has been taken out of communication. [SA-05]"""

    node: Uuid
    incarnation: Incarnation


class Member(NamedTuple):
    """A live node, in anti-entropy; the fields are named as on the wire. [S-22]"""

    host: str
    port: int
    uuid: Uuid
    restart_counter: int
    tx_counter: int


@dataclass(frozen=True, slots=True)
class AntiEntropy:
    """Some of the sender's live nodes; without its keyword in the first answer to a joiner. [S-22, S-33, SA-18]"""

    members: tuple[Member, ...]
    tagged: bool = True


@dataclass(frozen=True, slots=True)
class Payload:
    """
    The sender's data. [S-23, S-34]

    `data` is a map as JSON text in the verbose form of Transit (`{"~:some":"~:data"}`): a value that can be compared and
    hashed, and in which 1 and true differ.
    """

    data: str


@dataclass(frozen=True, slots=True)
class IndirectPing:
    """A request to ping another node and to report its answer. [S-05, SA-04]"""

    target: Uuid
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class IndirectAck:
    """The answer of a node that was pinged indirectly, with its incarnation. [SA-04]"""

    target: Uuid
    incarnation: Incarnation


ClusterEventVector: TypeAlias = Joining | Normal | Suspicious | Dead | Leave
Vector: TypeAlias = ClusterEventVector | AntiEntropy | Payload | IndirectPing | IndirectAck


@dataclass(frozen=True, slots=True)
class Ping:
    """A request for an ack, which also carries news. [S-13, S-16, S-31]"""

    sender: Uuid
    incarnation: Incarnation
    target: Uuid
    vectors: tuple[Vector, ...] = ()


@dataclass(frozen=True, slots=True)
class Ack:
    """The answer to the ping with that tx. [S-17, S-32]"""

    sender: Uuid
    incarnation: Incarnation
    target: Uuid
    target_tx: int
    vectors: tuple[Vector, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """A request for an answer from any node at this address. [S-52, SA-41]"""

    sender: Uuid
    incarnation: Incarnation


@dataclass(frozen=True, slots=True)
class ProbeAck:
    """The answer to the probe with that tx. [SA-41]"""

    sender: Uuid
    incarnation: Incarnation
    probe_tx: int


Message: TypeAlias = Ping | Ack | Probe | ProbeAck


@dataclass(frozen=True, slots=True)
class AddNode:
    """Adds a node to the cluster. [S-49]"""

    uuid: Uuid
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class LeaveNode:
    """Takes a node out of communication. [S-50]"""

    uuid: Uuid


@dataclass(frozen=True, slots=True)
class RemoveNode:
    """Deletes the row of a node. [S-51]"""

    uuid: Uuid


@dataclass(frozen=True, slots=True)
class ProbeNode:
    """Checks whether a node can be reached. [S-52]"""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class OnNodeEvent:
    """Subscribes to events of one node. [S-56]"""

    uuid: Uuid
    event_type: EventType


@dataclass(frozen=True, slots=True)
class OnClusterEvent:
    """Subscribes to events of any node. [S-57]"""

    event_type: EventType


@dataclass(frozen=True, slots=True)
class SetPayload:
    """Sets the data of a node, which can only be this one; `data` is as in `Payload`. [S-58, SA-35]"""

    uuid: Uuid
    data: str


Command: TypeAlias = AddNode | LeaveNode | RemoveNode | ProbeNode | OnNodeEvent | OnClusterEvent | SetPayload


@dataclass(frozen=True, slots=True)
class Quantum:
    """The next few pings are due. [S-44, SA-01]"""


@dataclass(frozen=True, slots=True)
class ProbeTimeout:
    """The timeout of a probe has passed. [SA-60]"""

    host: str
    port: int


Timer: TypeAlias = Quantum | ProbeTimeout


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """For a subscriber of one node: its row has changed. [S-56, SA-40]"""

    node: Uuid
    event_type: EventType


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """For a subscriber of the cluster: the row of any node has changed. [S-57, SA-40]"""

    node: Uuid
    event_type: EventType


@dataclass(frozen=True, slots=True)
class Reachable:
    """This node has answered a probe. [SA-60]"""

    host: str
    port: int
    node: Uuid


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A probe was not answered in time. [SA-60]"""

    host: str
    port: int


Notice: TypeAlias = NodeEvent | ClusterEvent | Reachable | Unreachable

Event: TypeAlias = Received[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | CancelTimer[Timer] | Notify[Notice]
