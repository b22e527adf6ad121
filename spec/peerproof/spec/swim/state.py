"""What a SWIM node knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Final, NamedTuple

from peerproof.spec.core import Duration, NodeId, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.swim.messages import COUNTER_MAX, ClusterEventVector, EventType, Incarnation, Uuid

#: How often a node sends, in milliseconds. [S-02, SA-01]
PING_INTERVAL_MS: Final = Duration(300)

#: The document's other number; nothing uses it. [S-48, SA-01]
HEARTBEAT_RATE_MS: Final = Duration(200)

#: Bytes of a datagram. [SA-32]
DEFAULT_DATAGRAM: Final = 1432
LEAST_DATAGRAM: Final = 512  #: holds a header and whatever else must be said at once
MOST_DATAGRAM: Final = 65_507

#: Bytes of a host's name. [SA-65]
MAX_HOST: Final = 255

PORT_MAX: Final = 65_535


class Seed(NamedTuple):
    """A node to join by. [SA-57]"""

    uuid: Uuid
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Config:
    """How a node is configured."""

    uuid: Uuid  #: its name
    restart_counter: int = 0  #: how often it was restarted; whoever runs it counts [SA-48]
    seeds: tuple[Seed, ...] = ()
    interval: Duration = PING_INTERVAL_MS  #: from one quantum to the next [S-02, SA-01]
    ae_size: int = 2  #: rows in anti-entropy [SA-28]
    max_datagram: int = DEFAULT_DATAGRAM
    emit_incarnation: bool = False  #: whether events always carry an incarnation [SA-12]
    cluster_events: tuple[EventType, ...] = ()  #: subscriptions from the start [S-57]

    def __post_init__(self) -> None:
        if not 0 <= self.restart_counter <= COUNTER_MAX:
            raise ValueError(f"restart_counter must be from 0 to 2^63-1, not {self.restart_counter}")
        if self.interval < 1 or self.ae_size < 0:
            raise ValueError(f"interval must be at least 1 millisecond and ae_size not negative: {self}")
        if not LEAST_DATAGRAM <= self.max_datagram <= MOST_DATAGRAM:
            raise ValueError(f"max_datagram must be from {LEAST_DATAGRAM} to {MOST_DATAGRAM} bytes, not {self.max_datagram}")


class Status(Enum):
    """What a node is thought to be. [S-10]"""

    JOINING = "joining"
    NORMAL = "normal"
    SUSPICIOUS = "suspicious"
    DEAD = "dead"
    LEAVE = "leave"


#: Who is pinged, relayed by, and told. [SA-27]
LIVE: Final = (Status.JOINING, Status.NORMAL, Status.SUSPICIOUS)


class Exchange(Enum):
    """How far this node has introduced itself to another. [SA-57]"""

    FIRST = "first"
    SECOND = "second"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of one other node. [S-36]"""

    host: str
    port: int
    status: Status
    incarnation: Incarnation
    payload: str | None = None  #: as in `messages.Payload` [S-34]
    exchange: Exchange = Exchange.DONE
    misses: int = 0  #: rounds in a row without an answer [SA-02]
    indirect_misses: int = 0  #: indirect pings without an answer [SA-03]
    indirect_asked: bool = False  #: whether an indirect ping is under way
    unanswered: tuple[int, ...] = ()  #: tx of pings to it, oldest first [SA-52]

    @property
    def is_live(self) -> bool:
        """Whether it takes part. [SA-27]"""
        return self.status in LIVE


_IS_LIVE: Final = attrgetter("is_live")


class Queued(NamedTuple):
    """An event on its way out, and who got it. [S-39, SA-25]"""

    event: ClusterEventVector
    recipients: frozenset[Uuid]


class Probing(NamedTuple):
    """A probe that waits for its answer. [SA-60]"""

    host: str
    port: int
    tx: int


class Relay(NamedTuple):
    """A ping sent for somebody else. [SA-55]"""

    target: Uuid
    requester: Uuid
    tx: int
    fresh: bool  #: no round has closed since


@dataclass(frozen=True, slots=True)
class State:
    """A node: its table, its queue, and where it is in its round."""

    self_id: NodeId  #: its address, `host:port` [SA-51]
    config: Config
    incarnation: Incarnation
    rows: Table[Uuid, Row] = field(default_factory=Table)
    queue: tuple[Queued, ...] = ()
    vector: tuple[Uuid, ...] = ()  #: who is still to be pinged in this round [S-43]
    pinged: frozenset[Uuid] = frozenset()  #: in this round [SA-02]
    answered: frozenset[Uuid] = frozenset()  #: of these, who sent a matching ack
    heard: bool = False  #: whether any ack was accepted in this round [SA-07]
    isolated: bool = False
    relays: tuple[Relay, ...] = ()
    payload: str = "{}"  #: its own [S-58]
    left: bool = False  #: whether it has left by itself [SA-59]
    probes: Table[NodeId, Probing] = field(default_factory=Table)  #: by address [SA-60]
    node_subscriptions: frozenset[tuple[Uuid, EventType]] = frozenset()
    cluster_subscriptions: frozenset[EventType] = frozenset()

    @property
    def uuid(self) -> Uuid:
        """Its name."""
        return self.config.uuid

    @property
    def place(self) -> tuple[str, int]:
        """Its host and port."""
        return host_and_port(self.self_id)

    @property
    def live(self) -> tuple[Uuid, ...]:
        """The nodes that are sent to, in the order of their ids. [SA-27]"""
        return self.rows.keys_where(_IS_LIVE)


def is_host(text: str) -> bool:
    """Whether this can be sent as the name or number of a host. [SA-65]"""
    try:
        return 1 <= len(text.encode()) <= MAX_HOST
    except UnicodeEncodeError:  # no UTF-8, but other bytes
        return False


def host_and_port(address: NodeId) -> tuple[str, int]:
    """The two parts of an address. Raises NotEnabled for anything else than `host:port` and `[host]:port`. [SA-51]"""
    host, _, port = address.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not (is_host(host) and port.isascii() and port.isdigit()):
        raise NotEnabled("bad_value", f"a node's address is host:port, not {address!a}")
    if len(port) > len(str(PORT_MAX)) or not 1 <= int(port) <= PORT_MAX:
        raise NotEnabled("bad_value", f"a port is a number from 1 to {PORT_MAX}, not {port}")
    return host, int(port)


def address(host: str, port: int) -> NodeId:
    """Where a node is sent to. [SA-51]"""
    return NodeId(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def total_size(state: State) -> Plain:
    """The number of known nodes, this one among them. [S-53, SA-39]"""
    return len(state.rows) + 1


def active_size(state: State) -> int:
    """The number of active nodes, this one among them. [S-54, SA-27, SA-39]"""
    return 1 + len(state.live)


def node_info(state: State, uuid: Plain) -> Plain:
    """The row of a node as plain data, or none. [S-55, SA-39]"""
    node = Uuid(str(uuid).lower())
    row = state.rows.get(node)
    return None if row is None else plain_row(node, row)


def nodes(state: State) -> Plain:
    """All rows as plain data, by uuid. [S-36]"""
    return [plain_row(uuid, row) for uuid, row in state.rows.items()]


def own(state: State) -> Plain:
    """What the node knows of itself, as plain data."""
    return {
        "uuid": state.uuid,
        "restart": str(state.incarnation.restart),
        "tx": str(state.incarnation.tx),
        "joined": all(row.exchange is Exchange.DONE for row in state.rows.values()),
        "isolated": state.isolated,
        "left": state.left,
    }


def plain_row(uuid: Uuid, row: Row) -> Plain:
    """A row as plain data."""
    import json  # only for what an application looks at

    return {
        "uuid": uuid,
        "host": row.host,
        "port": row.port,
        "status": row.status.value,
        "restart": str(row.incarnation.restart),
        "tx": str(row.incarnation.tx),
        "payload": None if row.payload is None else json.loads(row.payload),
    }
