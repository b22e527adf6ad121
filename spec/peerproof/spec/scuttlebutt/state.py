"""What a Scuttlebutt node knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from peerproof.spec.core import Duration, Instant, NodeId, Table
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow, Detector
from peerproof.spec.wire import U64, ListOf, Maybe, OneOf, Plain, Record, Text, Whole, misfit

#: Strings have one byte for their size. [B-42]
MAX_STRING: Final = 255

_STRING: Final = Text(most=MAX_STRING)

DEFAULT_INTERVAL: Final = Duration(1000)

#: The largest UDP payload over IPv4.
MAX_DATAGRAM: Final = 65_507


@dataclass(frozen=True, slots=True)
class Config:
    """How a node is configured."""

    seeds: tuple[NodeId, ...] = ()  #: asked as long as nobody else is known [B-17, B-18]
    interval: Duration = DEFAULT_INTERVAL  #: from one round of gossip to the next [B-08]
    max_payload: int = 1400  #: bytes of a datagram, its type byte included [B-24, B-26, BA-05]
    detector: Detector | None = field(default_factory=Detector)  #: None: no peer is ever critical or down

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
    What is known of one peer: its key-value pairs, and its version. [B-02, B-03, B-04]

    The version is kept and not computed because the document keeps it; that it is the maximum is `VersionIsMax`.
    """

    pairs: Table[str, Versioned] = field(default_factory=Table)
    version: int = 0


class Status(Enum):
    """Whether a peer is thought to be there. [B-20]"""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Liveness:
    """What the failure detector keeps of one peer."""

    window: ArrivalWindow
    status: Status = Status.UP
    digest_sent: Instant | None = None  #: the last digest to it that no delta has followed [BA-30]


@dataclass(frozen=True, slots=True)
class State:
    """A node: its store, itself included, and what its failure detector keeps of the others. [B-01]"""

    self_id: NodeId
    config: Config
    store: Table[NodeId, Peer]
    liveness: Table[NodeId, Liveness]  #: empty if no failure detector is configured


class Pair(NamedTuple):
    """A key-value pair as it is shown."""

    key: str
    value: str
    version: int


class KnownPeer(NamedTuple):
    """A peer of the store as it is shown, its pairs by key."""

    addr: NodeId
    version: int
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Watched:
    """What the failure detector keeps of a peer, as it is shown."""

    addr: NodeId
    status: Status
    last: Instant
    intervals: tuple[Duration, ...]
    digest_sent: Instant | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state as it is shown, without what its node is called and how it is configured; peers are in the order of addresses."""

    store: tuple[KnownPeer, ...]
    liveness: tuple[Watched, ...] = ()


_MILLISECONDS: Final = Whole()
_KNOWN_PEER: Final = Record(
    KnownPeer, addr=_STRING, version=U64(), pairs=ListOf(Record(Pair, key=_STRING, value=_STRING, version=U64()))
)
_WATCHED: Final = Record(
    Watched,
    addr=_STRING,
    status=OneOf(Status),
    last=_MILLISECONDS,
    intervals=ListOf(_MILLISECONDS),
    digest_sent=Maybe(_MILLISECONDS),
)
_SNAPSHOT: Final = Record(Snapshot, store=ListOf(_KNOWN_PEER), liveness=ListOf(_WATCHED))


class StateForm:
    """How a state looks as plain data: `{"store": […], "liveness": […]}`, a member for each peer; liveness if there is any."""

    record: Final = _SNAPSHOT

    def plain(self, state: State) -> Plain:
        """The plain data of a state."""
        watched = (
            Watched(addr, known.status, known.window.last, known.window.intervals, known.digest_sent)
            for addr, known in state.liveness.items()
        )
        shown: dict[str, Plain] = {"store": view(state)}
        if state.liveness:
            shown["liveness"] = [_WATCHED.plain(peer) for peer in watched]
        return shown

    def value(self, plain: Plain, self_id: NodeId, config: Config) -> State:
        """The state that plain data shows, of the node with this name. Raises MalformedMessage."""
        snapshot: Snapshot = _SNAPSHOT.value(plain)
        for name, addrs in (("store", [peer.addr for peer in snapshot.store]), ("liveness", [p.addr for p in snapshot.liveness])):
            if len(set(addrs)) < len(addrs):
                raise misfit(name, "each peer once", plain[name])
        if self_id not in {peer.addr for peer in snapshot.store}:
            raise misfit("store", f"the node's own record, {self_id!a}", plain["store"])
        known = {
            peer.addr: Peer(Table({pair.key: Versioned(pair.value, pair.version) for pair in peer.pairs}), peer.version)
            for peer in snapshot.store
        }
        watched = {
            peer.addr: Liveness(ArrivalWindow(peer.last, peer.intervals), peer.status, peer.digest_sent)
            for peer in snapshot.liveness
        }
        return State(self_id, config, Table(known), Table(watched))


STATE: Final = StateForm()


def peers(state: State) -> Plain:
    """The addresses of all known peers, the node's own among them, as plain data."""
    return [_STRING.plain(addr) for addr in state.store]


def view(state: State) -> Plain:
    """
    The whole store as plain data: a list of peers by address, each with its version and its pairs by key.

    `[{"addr": "a:1", "version": "1", "pairs": [{"key": "k", "value": "v", "version": "1"}]}]`
    """
    return [
        _KNOWN_PEER.plain(KnownPeer(addr, peer.version, tuple(Pair(key, *versioned) for key, versioned in peer.pairs.items())))
        for addr, peer in state.store.items()
    ]


def status(state: State) -> Plain:
    """The other peers by address with their status, as plain data; without a failure detector all are up."""
    return [
        {"addr": _STRING.plain(addr), "status": (state.liveness[addr].status if addr in state.liveness else Status.UP).value}
        for addr in state.store
        if addr != state.self_id
    ]
