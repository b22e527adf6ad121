"""
What Wendy nodes say to each other, what is asked of them, and what they tell.

Every message has a header with its sender and the id that it is routed by; what else it says depends on its purpose. Messages of
the protocol itself are for nodes; all others are for the application on top, and are routed. [WA-55]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from peerproof.spec.core import Asked, CancelTimer, Expired, NodeId, Notify, Received, Send, Sent, SetTimer
from peerproof.spec.wendy.ids import Id

#: The least purpose of messages that are routed, the least that applications should use, and the largest. [WA-55]
LEAST_ROUTED: Final = 8
LEAST_APPLICATION: Final = 16
MOST_PURPOSE: Final = 255

#: The largest version of a table, and the largest count of hops; counting ends there. [WA-56]
MOST_VERSION: Final = 2**64 - 1
MOST_HOPS: Final = 2**31 - 1

#: Bytes of a value, which tables never have, and of credentials: with them, every message can be sent on. [WA-66]
MOST_VALUE: Final = 2**19
MOST_CREDENTIALS: Final = 2**10

#: Row and column of a routing table. [W-13]
Cell: TypeAlias = tuple[int, int]


class Node(NamedTuple):
    """A node, as it is known to others: its id, and where it can be reached. [WA-23, WA-52]"""

    id: Id
    local_ip: str
    global_ip: str
    port: int
    region: str = ""


class Versions(NamedTuple):
    """How often each table has changed. [W-61, W-62, WA-39]"""

    routing_table: int = 0
    leaf_set: int = 0
    neighborhood_set: int = 0


#: Of tables that have never changed, or that nothing is known of. [WA-39, WA-40]
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
    """State tables on their way to another node; None for a table that is not sent. [W-12]"""

    routing_table: tuple[Entry, ...] | None = None
    leaf_set: LeafSet | None = None
    neighborhood_set: tuple[Node, ...] | None = None


class Mask(NamedTuple):
    """Which tables somebody wants; of the routing table only these rows, if any, and of these only these columns. [WA-57]"""

    routing_table: bool = False
    leaf_set: bool = False
    neighborhood_set: bool = False
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """
    What every message says.

    The versions are those of the sender's own tables; in an announcement they are the receiver's, as the sender knows them.
    [W-61, W-62]
    """

    sender: Node  #: who made the message, not who sent it on
    key: Id  #: what it is routed by
    versions: Versions = NO_VERSIONS
    credentials: bytes | None = None  #: [WA-53]
    hop: int = 0  #: how many nodes have received it before [WA-56]


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
    """Are you there, and how long does it take to say so? [W-06, W-52, WA-24]"""

    header: Header


@dataclass(frozen=True, slots=True)
class StateData:
    """Tables of the sender, which is the destination of a join or answers a question. [W-48…W-50]"""

    header: Header
    tables: Tables
    destination: bool = False  #: of the receiver's own join


@dataclass(frozen=True, slots=True)
class StateRequest:
    """Send me these tables. [WA-57]"""

    header: Header
    mask: Mask


@dataclass(frozen=True, slots=True)
class NodeRace:
    """Since you got my tables they have changed. [W-64]"""

    header: Header
    tables: Tables


@dataclass(frozen=True, slots=True)
class NodeRepair:
    """I have lost somebody; send me these tables. [W-19, W-30, W-36]"""

    header: Header
    mask: Mask


@dataclass(frozen=True, slots=True)
class NodeAnnouncement:
    """Here I am. [W-60, W-61]"""

    header: Header
    tables: Tables


@dataclass(frozen=True, slots=True)
class Application:
    """A message for the application at the node that is closest to the key. [W-37]"""

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
    """Sends something to the node that is closest to a key. [W-37]"""

    key: Id
    value: bytes | None
    purpose: int = LEAST_APPLICATION


@dataclass(frozen=True, slots=True)
class Forward:
    """Lets a message go on that the application was asked about, as it was or changed. [WA-58]"""

    message: Application


@dataclass(frozen=True, slots=True)
class SendTo:
    """Sends something straight to a node, past routing. [WA-73]"""

    node: Node
    key: Id
    value: bytes | None
    purpose: int = LEAST_APPLICATION
    hop: int = 0  #: how many nodes have had it already


Command: TypeAlias = Join | Leave | Route | Forward | SendTo


@dataclass(frozen=True, slots=True)
class FlushCache:
    """The cache of scores is an hour old. [W-09, WA-19]"""


@dataclass(frozen=True, slots=True)
class Announce:
    """The wait of a joiner is over. [W-58, W-60]"""


@dataclass(frozen=True, slots=True)
class HeartbeatDue:
    """Time to ask everybody. [WA-24]"""


@dataclass(frozen=True, slots=True)
class RepairTimeout:
    """Whoever was asked for a cell has had time enough to answer. [WA-26]"""

    row: int
    column: int


Timer: TypeAlias = FlushCache | Announce | HeartbeatDue | RepairTimeout


@dataclass(frozen=True, slots=True)
class Delivered:
    """A message has reached its destination, which is this node. [W-43]"""

    message: Application


@dataclass(frozen=True, slots=True)
class Forwarding:
    """A message goes on to the next node, or will when the application says `Forward`. [WA-58]"""

    message: Application
    next_hop: Node


@dataclass(frozen=True, slots=True)
class Joined:
    """This node has announced itself for the first time. [W-60, WA-72]"""


@dataclass(frozen=True, slots=True)
class JoinFailed:
    """The contact could not be reached; this node is as it was before. [WA-59]"""

    contact: NodeId


@dataclass(frozen=True, slots=True)
class NodeJoined:
    """A node has announced itself, and was taken in. [W-66, WA-72]"""

    node: Node


@dataclass(frozen=True, slots=True)
class NodeExited:
    """A known node has left or does not answer. [WA-24, WA-72, WD-24]"""

    node: Node


Notice: TypeAlias = Delivered | Forwarding | Joined | JoinFailed | NodeJoined | NodeExited

Event: TypeAlias = Received[Message] | Sent[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | CancelTimer[Timer] | Notify[Notice]
