"""
What DistKV nodes say to each other, what is asked of them, and what they tell.

Every message goes to everybody [D-01]. Its node, tick and prev are one chain, whose head is the node and its tick: of an
update, that of the change; of all others, that of the sender [D-39…D-47].
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from peerproof.spec.core import Asked, CancelTimer, Expired, Notify, Received, Send, SetTimer
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.paths import Path
from peerproof.spec.distkv.ticks import Ticks, TickSets
from peerproof.spec.distkv.values import Value


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
    What the sender knows. [D-61]

    The chain goes on with that of the ping which it answers; it is cut after the sender if it answers none [D-64, DA-44].
    """

    chain: Chain
    tock: int
    known: TickSets | None = None  #: seen, and on no chain any more [D-62, D-117, DA-04]
    ticks: Ticks | None = None  #: the last of each node [D-65]
    missing: TickSets | None = None  #: not seen [D-67]
    reason: Chain | None = None  #: the ping chain of the side that lost [D-69, D-70, DA-50]


@dataclass(frozen=True, slots=True)
class Ping:
    """I am alive, and these have pinged before. [D-71]"""

    chain: Chain
    tock: int


Message: TypeAlias = Update | Info | Ping


@dataclass(frozen=True, slots=True)
class SetValue:
    """Sets the value of an entry. [D-57]"""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class DeleteValue:
    """Deletes an entry. [D-59]"""

    path: Path


Command: TypeAlias = SetValue | DeleteValue


class RecoveryStep(Enum):
    """What is sent after a split has healed, in this order. [D-112…D-117]"""

    TICKS = "ticks"
    MISSING = "missing"
    KNOWN = "known"


@dataclass(frozen=True, slots=True)
class PingDue:
    """The moment for this node's ping has come. [D-72…D-77]"""


@dataclass(frozen=True, slots=True)
class InitialPingDue:
    """A node that is on no chain pings, once more. [D-94…D-97, DA-09]"""


@dataclass(frozen=True, slots=True)
class RecoveryDue:
    """Nobody before this node has taken a step of the recovery. [D-88, D-125, D-126]"""

    step: RecoveryStep


@dataclass(frozen=True, slots=True)
class RepairDue:
    """Time to ask once more for what is missing. [D-119, D-120, DA-08]"""


Timer: TypeAlias = PingDue | InitialPingDue | RecoveryDue | RepairDue


@dataclass(frozen=True, slots=True)
class EntryChanged:
    """An entry has another value now. [D-57]"""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two updates of one entry claim to be the same change, with different values; the first is kept. [DA-18]"""

    path: Path
    change: Element


Notice: TypeAlias = EntryChanged | Contradiction

Event: TypeAlias = Received[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | CancelTimer[Timer] | Notify[Notice]
