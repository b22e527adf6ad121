"""
The messages, commands, timers and notices of DistKV.

Every message goes to all nodes [D-01]. Its node, tick and prev are one chain, whose head is the node and its tick: in an update
those of the change, in all other messages those of the sender [D-39…D-47].
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from peerproof.spec.core import Asked, CancelTimer, Expired, NodeId, Notify, Received, Send, SetTimer, Table
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.paths import Path
from peerproof.spec.distkv.ticks import Ticks, TickSets
from peerproof.spec.distkv.values import Value

_NOTHING: Final[Table[NodeId, Any]] = Table()


@dataclass(frozen=True, slots=True)
class Update:
    """
    The entry at a path has this value; Null means that it is deleted. [D-57…D-60]

    A node that sends it again sends it unchanged, including the tock [DA-03, DA-49]. The original then adds itself as the
    `sender`, with its own tick; nothing else depends on the sender.
    """

    chain: Chain
    path: Path
    value: Value
    tock: int
    sender: Element | None = None


@dataclass(frozen=True, slots=True)
class Info:
    """
    Data that the sender knows; an empty table counts as none. [D-61, DA-25]

    Its chain is that of the ping which it answers, behind the sender; if it answers none, the chain is cut after the
    sender [D-64, DA-44].
    """

    chain: Chain
    tock: int
    known: TickSets = _NOTHING  #: known changes that are on no chain any more [D-62, D-117, DA-04]
    ticks: Ticks = _NOTHING  #: the last tick of each node [D-65]
    missing: TickSets = _NOTHING  #: unknown changes [D-67]
    reason: Chain | None = None  #: the ping chain of the side that lost [D-69, D-70, DA-50]


@dataclass(frozen=True, slots=True)
class Ping:
    """A sign of life of the sender, with the nodes that have pinged before. [D-71]"""

    chain: Chain
    tock: int


Message: TypeAlias = Update | Info | Ping


@dataclass(frozen=True, slots=True)
class SetValue:
    """Sets the value of an entry. [D-57, DA-80]"""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class DeleteValue:
    """Deletes an entry. [D-59, DA-80]"""

    path: Path


@dataclass(frozen=True, slots=True)
class Loaded:
    """The data downloaded from a node: its entries as updates, and the rest of its state. [D-103, DA-71, DA-73]"""

    node: NodeId
    entries: tuple[Update, ...]
    superseded: TickSets
    ticks: Ticks
    tock: int


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """A download from a node has failed. [DA-70]"""

    node: NodeId


Command: TypeAlias = SetValue | DeleteValue | Loaded | LoadFailed


class RecoveryStep(Enum):
    """The messages after a split has healed, in order. [D-112…D-117]"""

    TICKS = "ticks"
    MISSING = "missing"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class InitialPingDue:
    """The repetition of the first ping is due, since no other node has followed it. [D-94…D-97, DA-65]"""


@dataclass(frozen=True, slots=True)
class FoundingDue:
    """The time to hear of a network is over; without one, this node is the first. [D-105, DA-72]"""


@dataclass(frozen=True, slots=True)
class OldDataDue:
    """The time to hear of a chain is over; without one, the old data is valid. [D-104, DA-51]"""


@dataclass(frozen=True, slots=True)
class PingDue:
    """This node's ping is due. [D-72…D-77, DA-66]"""


@dataclass(frozen=True, slots=True)
class GreetingDue:
    """The answer to a newcomer is due, since no node before this one has answered. [D-98, DA-68]"""


@dataclass(frozen=True, slots=True)
class RecoveryDue:
    """A step of the recovery is due, since no node before this one has taken it. [D-125, D-126, DA-76…DA-78]"""

    step: RecoveryStep


@dataclass(frozen=True, slots=True)
class RecoveryOver:
    """The time of the recovery is over. [DA-74]"""


@dataclass(frozen=True, slots=True)
class RepairDue:
    """The request for missing changes is due. [D-119, DA-79]"""


@dataclass(frozen=True, slots=True)
class RepairAllowed:
    """This node may request missing changes again. [D-120, DA-79]"""


Timer: TypeAlias = (
    InitialPingDue | FoundingDue | OldDataDue | PingDue | GreetingDue | RecoveryDue | RecoveryOver | RepairDue | RepairAllowed
)


@dataclass(frozen=True, slots=True)
class EntryChanged:
    """An entry has a new value. [D-57, DA-80, DA-84]"""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class Ready:
    """The node has the network's data, and accepts clients. [DA-59]"""


@dataclass(frozen=True, slots=True)
class NeedsDownload:
    """The application should download the data of a node: `Loaded` or `LoadFailed` follows. [D-122, DA-70]"""

    node: NodeId


@dataclass(frozen=True, slots=True)
class SplitHealed:
    """Two chains of pings have met, and a recovery has begun. [DA-74]"""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two updates of one entry claim to be the same change, with different values; the first is kept. [DA-18]"""

    path: Path
    change: Element


class FaultKind(Enum):
    """The kinds of faults that the node cannot resolve."""

    NAME_TAKEN = "name_taken"  #: another node has this node's name [DA-63]
    EXHAUSTED = "exhausted"  #: no tock is left for further messages [DA-86]
    TOO_LARGE = "too_large"  #: a stored change cannot be sent again [DA-82]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that needs an operator's attention."""

    kind: FaultKind


Notice: TypeAlias = EntryChanged | Ready | NeedsDownload | SplitHealed | Contradiction | Fault

Event: TypeAlias = Received[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | CancelTimer[Timer] | Notify[Notice]
