"""
The messages, commands, timers and notices of Scuttlebutt.

The three messages are the document's; `UpdateLocal`, `Round` and the notices name what the document describes in prose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from peerproof.spec.core import Asked, Duration, Expired, NodeId, Notify, Received, Send, SetTimer


class DigestEntry(NamedTuple):
    """A peer and its version as the sender knows it, without key-value pairs. [B-10, B-23]"""

    addr: NodeId
    version: int


@dataclass(frozen=True, slots=True)
class DigestRequest:
    """The peers and versions that the sender knows, possibly not all of them; it asks for newer pairs. [B-10, B-25]"""

    entries: tuple[DigestEntry, ...]


@dataclass(frozen=True, slots=True)
class DigestResponse:
    """The peers of a digest request of which the responder lacks pairs; never answered by another digest. [B-14, B-16]"""

    entries: tuple[DigestEntry, ...]


class DeltaEntry(NamedTuple):
    """One key-value pair of one peer, with its version. [B-45]"""

    addr: NodeId
    key: str
    value: str
    version: int


@dataclass(frozen=True, slots=True)
class Delta:
    """The pairs that the sender of a digest lacks, as many as fit; sent even if it is empty. [B-13, B-32]"""

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
    """The next round of gossip is due. [B-08]"""


Timer: TypeAlias = Round


@dataclass(frozen=True, slots=True)
class Join:
    """A peer that was unknown is stored. [B-11, BA-26]"""

    peer: NodeId


@dataclass(frozen=True, slots=True)
class Update:
    """A pair of another peer has changed. [B-36, BA-26]"""

    peer: NodeId
    key: str
    value: str
    version: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """
    A delta came from this address, so the node is alive. [B-33, BA-23]

    `round_trip` is the time since the last digest sent to it; None if no digest to it is unanswered, or if the driver
    does not measure it. [BA-30]
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
