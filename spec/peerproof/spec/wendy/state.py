"""The state of a Wendy node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Final, NamedTuple

from peerproof.spec.core import Duration, NodeId, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.wendy.ids import REAL, Id, Ring, id_text
from peerproof.spec.wendy.json_data import quote
from peerproof.spec.wendy.messages import MOST_CREDENTIALS, NO_LEAVES, NO_VERSIONS, Cell, LeafSet, Node, Versions

#: The number of nodes on each side of the leaf set, and in the neighborhood set. [W-23, W-32]
LEAF_SET_SIDE: Final = 16
NEIGHBORHOOD_SET: Final = 32

#: Milliseconds: the network timeout, half the wait of a joiner [W-58]; between heartbeats [WA-24]; the life of the cache [W-09].
NETWORK_TIMEOUT_MS: Final = Duration(10_000)
HEARTBEAT_MS: Final = Duration(300_000)
CACHE_MS: Final = Duration(3_600_000)

#: Maximum number of nodes measured at once. [WA-54]
MOST_MEASURED: Final = 1024

#: Maximum number of departed nodes to remember. [WA-30]
MOST_DEPARTED: Final = 4096

#: Maximum bytes of a host name, IP address or region in JSON; the longest escape of a byte is "\\u0000". [WA-52]
MAX_HOST: Final = 255
_ALWAYS_SHORT: Final = MAX_HOST // 6
PORT_MAX: Final = 65_535


@dataclass(frozen=True)
class Config:
    """The configuration of a node."""

    id: Id
    global_ip: str = ""  #: IP for other regions; "": the host of `addr`, which gives the local IP and the port, too [WA-52]
    region: str = ""  #: name of its region, within which nodes use local addresses
    network_timeout: Duration = NETWORK_TIMEOUT_MS  #: time after which a message without confirmation has failed
    heartbeat: Duration = HEARTBEAT_MS  #: time between heartbeats; 0: none [WA-24]
    credentials: bytes | None = None  #: shared secret that every message must have, if given [WA-53]
    is_consulted: bool = False  #: ask the application before a message is forwarded [WA-58]
    ring: Ring = REAL  #: size and digits of ids [W-13, W-14]
    leaf_set_side: int = LEAF_SET_SIDE  #: number of nodes on each side of the leaf set [W-23]
    neighborhood_set: int = NEIGHBORHOOD_SET  #: number of nodes in the neighborhood set [W-32]
    is_two_sided: bool = False  #: allow a node on both sides of the leaf set [WA-05]

    def __post_init__(self) -> None:
        if not 0 <= self.id < self.ring.size:
            raise ValueError(f"an id is a number of {self.ring.bits} bits, not {self.id}")
        if self.network_timeout < 1 or self.heartbeat < 0:
            raise ValueError(f"network_timeout must be at least 1 millisecond and heartbeat not negative: {self}")
        if self.credentials is not None and len(self.credentials) > MOST_CREDENTIALS:
            raise ValueError(f"credentials have at most {MOST_CREDENTIALS} bytes, not {len(self.credentials)}")
        if self.leaf_set_side < 1 or self.neighborhood_set < 1:
            raise ValueError(f"leaf set and neighborhood set need at least one place: {self}")


class Stage(Enum):
    """The progress of a node in joining. [W-45…W-60]"""

    ALONE = "alone"  #: it has not asked to join, as also the node that started the ring
    JOINING = "joining"  #: it has asked, and waits for a leaf set
    WAITING = "waiting"  #: it waits for slow nodes
    JOINED = "joined"
    LEFT = "left"


class Repair(NamedTuple):
    """A cell for which other nodes are asked. [W-19…W-22]"""

    row: int  #: the row whose nodes were asked last
    waiting: frozenset[Id]  #: those of them that have not answered


@dataclass(frozen=True)
class State:
    """A node: its tables, its scores, and its pending requests."""

    self_id: NodeId  #: its address, `host:port`
    config: Config
    stage: Stage = Stage.ALONE
    routing_table: Table[Cell, Node] = field(default_factory=Table)
    leaf_set: LeafSet = NO_LEAVES
    neighborhood_set: tuple[Node, ...] = ()
    versions: Versions = NO_VERSIONS  #: [WA-39]
    scores: Table[Id, int] = field(default_factory=Table)  #: in microseconds, of nodes in the tables [W-05, WA-16]
    cache: Table[Id, int] = field(default_factory=Table)  #: scores of any nodes [W-08]
    measured: Table[Id, Node] = field(default_factory=Table)  #: nodes with a request for their score under way [W-52]
    stored: Table[Id, Versions] = field(default_factory=Table)  #: versions of other nodes' tables [W-63, WA-45]
    departed: frozenset[Id] = frozenset()  #: nodes that no other node's tables may bring back [WA-30]
    repairs: Table[Cell, Repair] = field(default_factory=Table)
    announcing: frozenset[NodeId] = frozenset()  #: receivers of announcements under way [WA-67]
    is_warned: bool = False  #: whether it has to announce itself again [WA-67]
    contact: NodeId | None = None  #: receiver of its join, while that message is under way [WA-59]

    @property
    def id(self) -> Id:
        """Its position on the ring."""
        return self.config.id

    @cached_property
    def node(self) -> Node:
        """The node as others know it. [WA-23, WA-52]"""
        host, port = host_and_port(self.self_id)
        return Node(self.config.id, host, self.config.global_ip or host, port, self.config.region)

    @cached_property
    def known(self) -> Table[Id, Node]:
        """The nodes in its tables. [W-60]"""
        everybody = {node.id: node for side in self.leaf_set for node in side}
        everybody.update({node.id: node for node in self.neighborhood_set})
        everybody.update({node.id: node for node in self.routing_table.values()})
        return Table(everybody)

    def score(self, node: Id) -> tuple[bool, int]:
        """Returns the score of a node in the tables as a sort key: an unknown one is worse than any. [W-06, WA-16]"""
        score = self.scores.get(node)
        return score is None, score or 0

    def at(self, address: NodeId) -> Iterator[Node]:
        """Yields the nodes, known or being measured, at an address."""
        host, _, port = address.rpartition(":")
        hosts = host, host[1:-1]  # the cheap comparison comes first
        for table in (self.known, self.measured):
            for node in table.values():
                is_there = (node.local_ip in hosts or node.global_ip in hosts) and str(node.port) == port
                if is_there and address_of(self.config, node) == address:
                    yield node


def address_of(config: Config, node: Node) -> NodeId | None:
    """Returns a node's address: its local one within a region, otherwise its global one; None if it has none. [WA-52]"""
    near, far = node.local_ip, node.global_ip
    host = (near or far) if node.region == config.region else (far or near)
    return address(host, node.port) if is_host(host) and 1 <= node.port <= PORT_MAX else None


def address(host: str, port: int) -> NodeId:
    """Returns the address of a host and a port. [WA-52]"""
    return NodeId(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def is_host(text: str) -> bool:
    """Whether this is valid as a host name or IP address. [WA-52]"""
    return text != "" and is_short(text)


def is_short(text: object) -> bool:
    """Whether this is short enough as a host or a region, by its length in JSON. [WA-52]"""
    if type(text) is not str:
        return False
    if len(text) <= _ALWAYS_SHORT and text.isascii():
        return True
    try:
        return len(quote(text).encode()) - 2 <= MAX_HOST  # without the quotation marks
    except UnicodeEncodeError:  # a lone surrogate
        return False


def host_and_port(address: NodeId) -> tuple[str, int]:
    """Splits an address. Raises NotEnabled for anything but `host:port` and `[host]:port`. [WA-52]"""
    host, _, port = address.rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not (is_host(host) and port.isascii() and port.isdigit()):
        raise NotEnabled("bad_value", f"a node's address is host:port, not {address!a}")
    if len(port) > len(str(PORT_MAX)) or not 1 <= int(port) <= PORT_MAX:
        raise NotEnabled("bad_value", f"a port is a number from 1 to {PORT_MAX}, not {port[:20]}")
    return host, int(port)


def own(state: State) -> Plain:
    """Returns the node's data about itself, as plain data."""
    return {
        "id": id_text(state.id),
        "stage": state.stage.value,
        "versions": {name: str(version) for name, version in state.versions._asdict().items()},
    }


def routing_table(state: State) -> Plain:
    """Returns the occupied cells: row, column, id. [W-13]"""
    return [[row, column, id_text(node.id)] for (row, column), node in state.routing_table.items()]


def leaf_set(state: State) -> Plain:
    """Returns the ids on both sides, the nearest first. [W-29]"""
    return {name: [id_text(node.id) for node in side] for name, side in state.leaf_set._asdict().items()}


def neighborhood_set(state: State) -> Plain:
    """Returns the ids, those with the best scores first. [W-33]"""
    return [id_text(node.id) for node in state.neighborhood_set]
