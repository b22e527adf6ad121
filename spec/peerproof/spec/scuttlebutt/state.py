"""The state of a Scuttlebutt node."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from peerproof.spec.core import Duration, Instant, NodeId, Table
from peerproof.spec.forms.form import U64, ListOf, Plain, Record, Text
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow, Detector

#: Strings have one byte for their size. [B-42]
MAX_STRING: Final = 255

STRING: Final = Text(most=MAX_STRING)

DEFAULT_INTERVAL: Final = Duration(1000)

#: The largest UDP payload over IPv4.
MAX_DATAGRAM: Final = 65_507


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of a node."""

    seeds: tuple[NodeId, ...] = ()  #: seed nodes, contacted while no other node is known [B-17, B-18]
    interval: Duration = DEFAULT_INTERVAL  #: time between rounds of gossip [B-08]
    max_payload: int = 1400  #: largest datagram in bytes, including its type byte [B-24, B-26, BA-05]
    detector: Detector | None = field(default_factory=Detector)  #: failure detector; without one no peer is ever critical or down

    def __post_init__(self) -> None:
        if self.interval < 1:
            raise ValueError(f"interval must be at least 1 millisecond, not {self.interval}")
        if not 1 <= self.max_payload <= MAX_DATAGRAM:
            raise ValueError(f"max_payload must be from 1 to {MAX_DATAGRAM} bytes, not {self.max_payload}")


class Versioned(NamedTuple):
    """A value and its version. [B-02]"""

    value: str
    version: int


@dataclass(frozen=True, slots=True)
class Peer:
    """
    The known record of one peer: its key-value pairs, and its version. [B-02, B-03, B-04]

    The version is stored, as in the document, and not computed; `VersionIsMax` states that it is the maximum.
    """

    pairs: Table[str, Versioned] = field(default_factory=Table)
    version: int = 0


class Status(Enum):
    """Whether a peer is considered to be up. [B-20]"""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Liveness:
    """The failure detector's data about one peer."""

    window: ArrivalWindow
    status: Status = Status.UP
    digest_sent: Instant | None = None  #: the last digest to it that no delta has followed [BA-30]


@dataclass(frozen=True, slots=True)
class State:
    """A node: its store, including itself, and its failure detector's data about the others. [B-01]"""

    self_id: NodeId
    config: Config
    store: Table[NodeId, Peer]
    liveness: Table[NodeId, Liveness] = field(default_factory=Table)  #: empty if no failure detector is configured


class Pair(NamedTuple):
    """A key-value pair in plain data."""

    key: str
    value: str
    version: int


class KnownPeer(NamedTuple):
    """A peer of the store in plain data, its pairs by key."""

    addr: NodeId
    version: int
    pairs: tuple[Pair, ...]


KNOWN_PEER: Final = Record(
    KnownPeer, addr=STRING, version=U64(), pairs=ListOf(Record(Pair, key=STRING, value=STRING, version=U64()))
)


def peers(state: State) -> Plain:
    """Returns the addresses of all known peers, including the node's own, as plain data."""
    return [STRING.plain(addr) for addr in state.store]


def view(state: State) -> Plain:
    """
    Returns the whole store as plain data: a list of peers by address, each with its version and its pairs by key.

    `[{"addr": "a:1", "version": "1", "pairs": [{"key": "k", "value": "v", "version": "1"}]}]`
    """
    return [KNOWN_PEER.plain(known_peer(addr, peer)) for addr, peer in state.store.items()]


def known_peer(addr: NodeId, peer: Peer) -> KnownPeer:
    """Returns a peer as plain data shows it."""
    return KnownPeer(addr, peer.version, tuple(Pair(key, *versioned) for key, versioned in peer.pairs.items()))


def status(state: State) -> Plain:
    """Returns the other peers by address with their status, as plain data; without a failure detector all are up."""
    return [
        {"addr": STRING.plain(addr), "status": (state.liveness[addr].status if addr in state.liveness else Status.UP).value}
        for addr in state.store
        if addr != state.self_id
    ]
