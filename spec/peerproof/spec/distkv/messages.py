"""
What DistKV nodes say to each other, what is asked of them, and what they tell.

Every message goes to everybody [D-01]. Its node, tick and prev are one chain, whose head is the node and its tick: of an
update, that of the change; of all others, that of the sender [D-39…D-47].
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

    Whoever sends it again sends it as it was, tock included [DA-03, DA-49]. The original then puts itself in front: it is the
    `sender`, with its own tick, whom nothing else depends on.
    """

    chain: Chain
    path: Path
    value: Value
    tock: int
    sender: Element | None = None


@dataclass(frozen=True, slots=True)
class Info:
    """
    What the sender knows; an empty table is none. [D-61, DA-25]

    The chain goes on with that of the ping which it answers; it is cut after the sender if it answers none [D-64, DA-44].
    """

    chain: Chain
    tock: int
    known: TickSets = _NOTHING  #: seen, and on no chain any more [D-62, D-117, DA-04]
    ticks: Ticks = _NOTHING  #: the last of each node [D-65]
    missing: TickSets = _NOTHING  #: not seen [D-67]
    reason: Chain | None = None  #: the ping chain of the side that lost [D-69, D-70, DA-50]


@dataclass(frozen=True, slots=True)
class Ping:
    """I am alive, and these have pinged before. [D-71]"""

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
    """What was downloaded from a node: its entries as updates, and the rest of what it keeps. [D-103, DA-71, DA-73]"""

    node: NodeId
    entries: tuple[Update, ...]
    superseded: TickSets
    ticks: Ticks
    tock: int


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """Nothing could be downloaded from a node. [DA-70]"""

    node: NodeId


Command: TypeAlias = SetValue | DeleteValue | Loaded | LoadFailed


class RecoveryStep(Enum):
    """What is sent after a split has healed, in this order. [D-112…D-117]"""

    TICKS = "ticks"
    MISSING = "missing"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class InitialPingDue:
    """A node that nobody has followed pings, once more. [D-94…D-97, DA-65]"""


@dataclass(frozen=True, slots=True)
class FoundingDue:
    """There was time enough to hear of a network; without one, this node is the first. [D-105, DA-72]"""


@dataclass(frozen=True, slots=True)
class OldDataDue:
    """There was time enough to hear of a chain; without one, old data is as good as any. [D-104, DA-51]"""


@dataclass(frozen=True, slots=True)
class PingDue:
    """The moment for this node's ping has come. [D-72…D-77, DA-66]"""


@dataclass(frozen=True, slots=True)
class GreetingDue:
    """Nobody before this node has answered a newcomer. [D-98, DA-68]"""


@dataclass(frozen=True, slots=True)
class RecoveryDue:
    """Nobody before this node has taken a step of the recovery. [D-125, D-126, DA-76…DA-78]"""

    step: RecoveryStep


@dataclass(frozen=True, slots=True)
class RecoveryOver:
    """Whatever the recovery could do is done. [DA-74]"""


@dataclass(frozen=True, slots=True)
class RepairDue:
    """Time to ask for what is missing. [D-119, DA-79]"""


@dataclass(frozen=True, slots=True)
class RepairAllowed:
    """This node may ask again for what is missing. [D-120, DA-79]"""


Timer: TypeAlias = (
    InitialPingDue | FoundingDue | OldDataDue | PingDue | GreetingDue | RecoveryDue | RecoveryOver | RepairDue | RepairAllowed
)


@dataclass(frozen=True, slots=True)
class EntryChanged:
    """An entry has another value now. [D-57, DA-80, DA-84]"""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class Ready:
    """The node has what there is, and takes clients. [DA-59]"""


@dataclass(frozen=True, slots=True)
class NeedsDownload:
    """Please fetch what a node has: `Loaded` or `LoadFailed`. [D-122, DA-70]"""

    node: NodeId


@dataclass(frozen=True, slots=True)
class SplitHealed:
    """There are two chains of pings, and a recovery has begun. [DA-74]"""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two updates of one entry claim to be the same change, with different values; the first is kept. [DA-18]"""

    path: Path
    change: Element


class FaultKind(Enum):
    """What cannot be helped from here."""

    NAME_TAKEN = "name_taken"  #: another node has this node's name [DA-63]
    EXHAUSTED = "exhausted"  #: there is no tock left to send with [DA-86]
    TOO_LARGE = "too_large"  #: a stored change cannot be sent again [DA-82]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something is wrong that somebody has to look at."""

    kind: FaultKind


Notice: TypeAlias = EntryChanged | Ready | NeedsDownload | SplitHealed | Contradiction | Fault

Event: TypeAlias = Received[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | CancelTimer[Timer] | Notify[Notice]
