"""The state of a SWIM node."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Final, NamedTuple

from peerproof.spec.core import Duration, NodeId, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.swim.messages import COUNTER_MAX, ClusterEventVector, EventType, Incarnation, Uuid

#: The default time between quanta, in milliseconds. [S-02, SA-01]
PING_INTERVAL_MS: Final = Duration(300)

#: The document's other interval, which is not used. [S-48, SA-01]
HEARTBEAT_RATE_MS: Final = Duration(200)

#: Limits of a datagram, in bytes. [SA-32]
DEFAULT_DATAGRAM: Final = 1432
LEAST_DATAGRAM: Final = 512  #: holds a header and all vectors that must be sent together
MOST_DATAGRAM: Final = 65_507

#: Maximum bytes of a host name. [SA-65]
MAX_HOST: Final = 255

PORT_MAX: Final = 65_535


class Seed(NamedTuple):
    """A node to join through. [SA-57]"""

    uuid: Uuid
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of a node."""

    uuid: Uuid  #: UUID of the node
    restart_counter: int = 0  #: number of earlier restarts; increase it with each restart [SA-48]
    seeds: tuple[Seed, ...] = ()
    interval: Duration = PING_INTERVAL_MS  #: time from one group of pings to the next (a quantum) [S-02, SA-01]
    ae_size: int = 2  #: how many live nodes a ping names, so that lost news still spreads (anti-entropy) [SA-28]
    max_datagram: int = DEFAULT_DATAGRAM  #: largest datagram in bytes
    emit_incarnation: bool = False  #: name the incarnation in every event, not only in answers to outdated messages [SA-12]
    cluster_events: tuple[EventType, ...] = ()  #: kinds of events to notify from the start [S-57]

    def __post_init__(self) -> None:
        if not 0 <= self.restart_counter <= COUNTER_MAX:
            raise ValueError(f"restart_counter must be from 0 to 2^63-1, not {self.restart_counter}")
        if self.interval < 1 or self.ae_size < 0:
            raise ValueError(f"interval must be at least 1 millisecond and ae_size not negative: {self}")
        if not LEAST_DATAGRAM <= self.max_datagram <= MOST_DATAGRAM:
            raise ValueError(f"max_datagram must be from {LEAST_DATAGRAM} to {MOST_DATAGRAM} bytes, not {self.max_datagram}")


class Status(Enum):
    """The status of a node, as another one knows it. [S-10]"""

    JOINING = "joining"
    NORMAL = "normal"
    SUSPICIOUS = "suspicious"
    DEAD = "dead"
    LEAVE = "leave"


#: The statuses of nodes that are pinged, relay pings, and get events. [SA-27]
LIVE: Final = (Status.JOINING, Status.NORMAL, Status.SUSPICIOUS)


class Exchange(Enum):
    """The progress of this node's introduction to another one. [SA-57]"""

    FIRST = "first"
    SECOND = "second"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Row:
    """The known data about one other node. [S-36]"""

    host: str
    port: int
    status: Status
    incarnation: Incarnation
    payload: str | None = None  #: as in `messages.Payload` [S-34]
    exchange: Exchange = Exchange.DONE
    misses: int = 0  #: consecutive rounds without an answer [SA-02]
    indirect_misses: int = 0  #: indirect pings without an answer [SA-03]
    indirect_asked: bool = False  #: whether an indirect ping is under way
    unanswered: tuple[int, ...] = ()  #: tx of unanswered pings to it, oldest first [SA-52]

    @property
    def is_live(self) -> bool:
        """Whether the node takes part. [SA-27]"""
        return self.status in LIVE


_IS_LIVE: Final = attrgetter("is_live")


class Queued(NamedTuple):
    """A queued event, and the nodes that got it. [S-39, SA-25]"""

    event: ClusterEventVector
    recipients: frozenset[Uuid]


class Probing(NamedTuple):
    """A probe without an answer so far. [SA-60]"""

    host: str
    port: int
    tx: int


class Relay(NamedTuple):
    """A ping on behalf of another node. [SA-55]"""

    target: Uuid
    requester: Uuid
    tx: int
    fresh: bool  #: no round has closed since


@dataclass(frozen=True, slots=True)
class State:
    """A node: its table, its queue, and its progress in the round."""

    self_id: NodeId  #: its address, `host:port` [SA-51]
    config: Config
    incarnation: Incarnation
    rows: Table[Uuid, Row] = field(default_factory=Table)
    queue: tuple[Queued, ...] = ()
    vector: tuple[Uuid, ...] = ()  #: nodes still to be pinged in this round [S-43]
    pinged: frozenset[Uuid] = frozenset()  #: in this round [SA-02]
    answered: frozenset[Uuid] = frozenset()  #: the pinged nodes that have sent a matching ack
    heard: bool = False  #: whether any ack was accepted in this round [SA-07]
    isolated: bool = False
    relays: tuple[Relay, ...] = ()
    payload: str = "{}"  #: its own data [S-58]
    left: bool = False  #: whether it has left on its own command [SA-59]
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
        """The live nodes, sorted by id. [SA-27]"""
        return self.rows.keys_where(_IS_LIVE)


def is_host(text: str) -> bool:
    """Whether this is valid as a host name or IP address. [SA-65]"""
    try:
        return 1 <= len(text.encode()) <= MAX_HOST
    except UnicodeEncodeError:  # surrogates of bytes that are not UTF-8
        return False


def host_and_port(address: NodeId) -> tuple[str, int]:
    """Splits an address. Raises NotEnabled for anything but `host:port` and `[host]:port`. [SA-51]"""
    host, _, port = address.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not (is_host(host) and port.isascii() and port.isdigit()):
        raise NotEnabled("bad_value", f"a node's address is host:port, not {address!a}")
    if len(port) > len(str(PORT_MAX)) or not 1 <= int(port) <= PORT_MAX:
        raise NotEnabled("bad_value", f"a port is a number from 1 to {PORT_MAX}, not {port}")
    return host, int(port)


def address(host: str, port: int) -> NodeId:
    """Returns the address of a node. [SA-51]"""
    return NodeId(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def total_size(state: State) -> Plain:
    """Returns the number of known nodes, including this one. [S-53, SA-39]"""
    return len(state.rows) + 1


def active_size(state: State) -> int:
    """Returns the number of active nodes, including this one. [S-54, SA-27, SA-39]"""
    return 1 + len(state.live)


def node_info(state: State, uuid: Plain) -> Plain:
    """Returns the row of a node as plain data, or None. [S-55, SA-39]"""
    node = Uuid(str(uuid).lower())
    row = state.rows.get(node)
    return None if row is None else plain_row(node, row)


def nodes(state: State) -> Plain:
    """Returns all rows as plain data, by uuid. [S-36]"""
    return [plain_row(uuid, row) for uuid, row in state.rows.items()]


def own(state: State) -> Plain:
    """Returns the node's data about itself, as plain data."""
    return {
        "uuid": state.uuid,
        "restart": str(state.incarnation.restart),
        "tx": str(state.incarnation.tx),
        "joined": all(row.exchange is Exchange.DONE for row in state.rows.values()),
        "isolated": state.isolated,
        "left": state.left,
    }


def plain_row(uuid: Uuid, row: Row) -> Plain:
    """Returns a row as plain data."""
    import json  # only needed for queries of an application

    return {
        "uuid": uuid,
        "host": row.host,
        "port": row.port,
        "status": row.status.value,
        "restart": str(row.incarnation.restart),
        "tx": str(row.incarnation.tx),
        "payload": None if row.payload is None else json.loads(row.payload),
    }
