"""
The messages, commands, timers and notices of Wendy.

Every message has a header with its sender and its key; its other contents depend on its purpose. Messages of the protocol itself
are for nodes; all others are for the application on top, and are routed. [WA-55]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from peerproof.spec.core import Asked, CancelTimer, Expired, NodeId, Notify, Received, Send, Sent, SetTimer
from peerproof.spec.wendy.ids import Id

#: The smallest purpose of routed messages, the smallest for applications, and the largest. [WA-55]
LEAST_ROUTED: Final = 8
LEAST_APPLICATION: Final = 16
MOST_PURPOSE: Final = 255

#: The largest version of a table, and the largest hop count; counters stop there. [WA-56]
MOST_VERSION: Final = 2**64 - 1
MOST_HOPS: Final = 2**31 - 1

#: Maximum bytes of an application's value, and of credentials: within them, every message can be forwarded. [WA-66]
MOST_VALUE: Final = 2**19
MOST_CREDENTIALS: Final = 2**10

#: Row and column of a routing table. [W-13]
Cell: TypeAlias = tuple[int, int]


class Node(NamedTuple):
    """A node as others know it: its id, and its addresses. [WA-23, WA-52]"""

    id: Id
    local_ip: str
    global_ip: str
    port: int
    region: str = ""


class Versions(NamedTuple):
    """The number of changes of each table. [W-61, W-62, WA-39]"""

    routing_table: int = 0
    leaf_set: int = 0
    neighborhood_set: int = 0


#: The versions of tables that have never changed, or of unknown tables. [WA-39, WA-40]
NO_VERSIONS: Final = Versions()


class LeafSet(NamedTuple):
    """The nodes next to the owner on the ring, on each side the nearest first. [W-23, W-24, W-29]"""

    left: tuple[Node, ...] = ()
    right: tuple[Node, ...] = ()


NO_LEAVES: Final = LeafSet()


class Entry(NamedTuple):
    """A node in its cell of a routing table. [W-13]"""

    row: int
    column: int
    node: Node


class Tables(NamedTuple):
    """State tables for another node; None for a table that is not sent. [W-12]"""

    routing_table: tuple[Entry, ...] | None = None
    leaf_set: LeafSet | None = None
    neighborhood_set: tuple[Node, ...] | None = None


class Mask(NamedTuple):
    """The requested tables; of the routing table only these rows and columns, if any are given. [WA-57]"""

    routing_table: bool = False
    leaf_set: bool = False
    neighborhood_set: bool = False
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """
    The common part of all messages.

    The versions are those of the sender's own tables; in an announcement they are the receiver's, as the sender knows them.
    [W-61, W-62]
    """

    sender: Node  #: the node that made the message, not one that forwarded it
    key: Id  #: the id by which it is routed
    versions: Versions = NO_VERSIONS
    credentials: bytes | None = None  #: the shared secret, if any [WA-53]
    hop: int = 0  #: the number of nodes that have received it before [WA-56]


@dataclass(frozen=True, slots=True)
class NodeJoin:
    """The sender wants to join; its id is the key. [W-47]"""

    header: Header


@dataclass(frozen=True, slots=True)
class NodeExit:
    """The sender leaves. [WA-24]"""

    header: Header


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A request to confirm that the receiver is alive; the time until then measures its distance. [W-06, W-52, WA-24]"""

    header: Header


@dataclass(frozen=True, slots=True)
class StateData:
    """Tables of the sender, which is the destination of a join or answers a request. [W-48…W-50]"""

    header: Header
    tables: Tables
    destination: bool = False  #: whether the sender is the destination of the receiver's join


@dataclass(frozen=True, slots=True)
class StateRequest:
    """A request for tables. [WA-57]"""

    header: Header
    mask: Mask


@dataclass(frozen=True, slots=True)
class NodeRace:
    """A warning that the sender's tables have changed since the receiver got them. [W-64]"""

    header: Header
    tables: Tables


@dataclass(frozen=True, slots=True)
class NodeRepair:
    """A request for tables after the loss of a node. [W-19, W-30, W-36]"""

    header: Header
    mask: Mask


@dataclass(frozen=True, slots=True)
class NodeAnnouncement:
    """The announcement of a node that has joined. [W-60, W-61]"""

    header: Header
    tables: Tables


@dataclass(frozen=True, slots=True)
class Application:
    """A message for the application at the node closest to the key. [W-37]"""

    header: Header
    purpose: int
    value: bytes | None


Message: TypeAlias = (
    NodeJoin | NodeExit | Heartbeat | StateData | StateRequest | NodeRace | NodeRepair | NodeAnnouncement | Application
)


@dataclass(frozen=True, slots=True)
class Join:
    """Joins the cluster of the node at this address. [W-45]"""

    contact: NodeId


@dataclass(frozen=True, slots=True)
class Leave:
    """Leaves the cluster. [WA-24]"""


@dataclass(frozen=True, slots=True)
class Route:
    """Sends a message to the node closest to a key. [W-37]"""

    key: Id
    value: bytes | None
    purpose: int = LEAST_APPLICATION


@dataclass(frozen=True, slots=True)
class Forward:
    """Forwards a message that the application was consulted about, unchanged or changed. [WA-58]"""

    message: Application


@dataclass(frozen=True, slots=True)
class SendTo:
    """Sends a message directly to a node, without routing. [WA-73]"""

    node: Node
    key: Id
    value: bytes | None
    purpose: int = LEAST_APPLICATION
    hop: int = 0  #: the number of nodes that have received it before


Command: TypeAlias = Join | Leave | Route | Forward | SendTo


@dataclass(frozen=True, slots=True)
class FlushCache:
    """The cache of scores is one hour old. [W-09, WA-19]"""


@dataclass(frozen=True, slots=True)
class Announce:
    """The wait of a joiner is over. [W-58, W-60]"""


@dataclass(frozen=True, slots=True)
class HeartbeatDue:
    """The next heartbeats to all known nodes are due. [WA-24]"""


@dataclass(frozen=True, slots=True)
class RepairTimeout:
    """The time for answers to the requests for a cell is over. [WA-26]"""

    row: int
    column: int


Timer: TypeAlias = FlushCache | Announce | HeartbeatDue | RepairTimeout


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message has reached its destination, this node. [W-43]"""

    message: Application


@dataclass(frozen=True, slots=True)
class Forwarding:
    """A message goes to the next node, or will when the application sends `Forward`. [WA-58]"""

    message: Application
    next_hop: Node


@dataclass(frozen=True, slots=True)
class Joined:
    """This node has announced itself for the first time. [W-60, WA-72]"""


@dataclass(frozen=True, slots=True)
class JoinFailed:
    """The contact could not be reached; this node is unchanged. [WA-59]"""

    contact: NodeId


@dataclass(frozen=True, slots=True)
class NodeJoined:
    """A node has announced itself and was added. [W-66, WA-72]"""

    node: Node


@dataclass(frozen=True, slots=True)
class NodeExited:
    """A known node has left or does not answer. [WA-24, WA-72, WD-24]"""

    node: Node


Notice: TypeAlias = Delivered | Forwarding | Joined | JoinFailed | NodeJoined | NodeExited

Event: TypeAlias = Received[Message] | Sent[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | CancelTimer[Timer] | Notify[Notice]
