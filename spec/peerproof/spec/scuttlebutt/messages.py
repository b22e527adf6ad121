"""
What Scuttlebutt nodes say to each other, what is asked of them, and what they tell.

The three messages are the document's; `UpdateLocal`, `Round` and the notices name what it describes in prose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from peerproof.spec.core import Asked, Duration, Expired, NodeId, Notify, Received, Send, SetTimer


class DigestEntry(NamedTuple):
    """A peer and its version as the sender knows it, without any key-value pair. [B-10, B-23]"""

    addr: NodeId
    version: int


@dataclass(frozen=True, slots=True)
class DigestRequest:
    """What the sender knows, so as to be sent what it lacks. It need not list every peer that the sender knows. [B-10, B-25]"""

    entries: tuple[DigestEntry, ...]


@dataclass(frozen=True, slots=True)
class DigestResponse:
    """The peers of a digest request of which its receiver lacks something; never answered by another digest. [B-14, B-16]"""

    entries: tuple[DigestEntry, ...]


class DeltaEntry(NamedTuple):
    """One key-value pair of one peer, with its version. [B-45]"""

    addr: NodeId
    key: str
    value: str
    version: int


@dataclass(frozen=True, slots=True)
class Delta:
    """What the sender of a digest lacks, as far as it fits; sent even if it is nothing. [B-13, B-32]"""

    entries: tuple[DeltaEntry, ...]


Message: TypeAlias = DigestRequest | DigestResponse | Delta


@dataclass(frozen=True, slots=True)
class UpdateLocal:
    """Sets one of the node's own key-value pairs. [B-06, B-07]"""

    key: str
    value: str


Command: TypeAlias = UpdateLocal


@dataclass(frozen=True, slots=True)
class Round:
    """Time for the next round of gossip. [B-08]"""


Timer: TypeAlias = Round


@dataclass(frozen=True, slots=True)
class Join:
    """A peer is stored that was not known before. [B-11, BA-26]"""

    peer: NodeId


@dataclass(frozen=True, slots=True)
class Update:
    """A pair of another peer has really changed. [B-36, BA-26]"""

    peer: NodeId
    key: str
    value: str
    version: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """
    A delta came from this address: it is alive. [B-33, BA-23]

    `round_trip` is the time since the last digest sent to it; None if no digest to it is unanswered, or if
    nothing measures it. [BA-30]
    """

    peer: NodeId
    round_trip: Duration | None


@dataclass(frozen=True, slots=True)
class Up:
    """A peer that was down is up again. [B-20]"""

    peer: NodeId


@dataclass(frozen=True, slots=True)
class Down:
    """A peer that was up is down. [B-20]"""

    peer: NodeId


Notice: TypeAlias = Join | Update | Heartbeat | Up | Down

Event: TypeAlias = Received[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | Notify[Notice]
