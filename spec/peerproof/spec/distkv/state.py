"""The state of a DistKV node, and its configuration. [DA-58, DA-59, DA-83]"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from peerproof.spec.core import Duration, NodeId, Table
from peerproof.spec.distkv.chains import ELEMENTS_MAX, Chain, is_name
from peerproof.spec.distkv.entries import Entries
from peerproof.spec.distkv.messages import Loaded, Ping, Timer, Update
from peerproof.spec.distkv.ticks import Ticks, TickSets, missing_sets
from peerproof.spec.distkv.values import Value

#: The default leaves time for three pings in a fifth of a minute; the other is the least clock, in milliseconds. [D-91]
DEFAULT_CLOCK: Final = Duration(5000)
LEAST_CLOCK: Final = Duration(8)

#: Default numbers of elements of a chain of pings, and of one of changes. [D-93, DA-14]
DEFAULT_PING_LENGTH: Final = 4
DEFAULT_CHANGE_LENGTH: Final = 5

#: The maximum length: in an info, the sender is added in front of the chain of a ping. [DA-44, DA-92]
LENGTH_MAX: Final = ELEMENTS_MAX - 1

#: Serf's limit, minus the name `distkv.update` and Serf's own data. [DA-12]
DEFAULT_PAYLOAD: Final = 512 - 13 - 40

#: Maximum bytes of a ping without elements, and of each element. [DA-82]
PING_BYTES: Final = 15
ELEMENT_BYTES: Final = 91

#: Maximum number of node names. [DA-83]
NAMES_MAX: Final = 4096


class Stored(NamedTuple):
    """The data on a node's disk when it starts. [DA-81]"""

    tock: int
    entries: tuple[Update, ...]  #: one for each path
    superseded: TickSets
    ticks: Ticks


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of a node; `ping.clock` and the like are the names of the document. [DA-56]"""

    clock: Duration = DEFAULT_CLOCK  #: time unit of all delays, `ping.clock` of the document [D-91]
    ping_length: int = DEFAULT_PING_LENGTH  #: maximum length of chains of pings, `ping.length` of the document [D-93]
    change_length: int = DEFAULT_CHANGE_LENGTH  #: maximum length of chains of changes [DA-14]
    max_payload: int = DEFAULT_PAYLOAD  #: largest event in bytes, without its name [DA-12]
    start: Duration | None = None  #: delay of the first message, from clock/2 to clock; default: clock [DA-65]
    root: Value | None = None  #: value of the root entry, if this is the first node [DA-72]
    stored: Stored | None = None  #: data from an earlier run [DA-81]

    def __post_init__(self) -> None:
        if self.clock < LEAST_CLOCK:
            raise ValueError(f"clock must be at least {LEAST_CLOCK} milliseconds, not {self.clock}")
        if not (1 <= self.ping_length <= LENGTH_MAX and 1 <= self.change_length <= LENGTH_MAX):
            raise ValueError(f"ping_length and change_length must be from 1 to {LENGTH_MAX}: {self}")
        least = PING_BYTES + ELEMENT_BYTES * self.ping_length
        if self.max_payload < least:
            raise ValueError(
                f"with a ping_length of {self.ping_length}, max_payload must be at least {least}, not {self.max_payload}"
            )
        if self.start is not None and not self.clock // 2 <= self.start <= self.clock:
            raise ValueError(f"start must be from half a clock to one, not {self.start}")


class Phase(Enum):
    """The phase of a node's start. [DA-59]"""

    EMPTY = "empty"  #: without data
    OLD = "old"  #: with data from before its start
    SETTLING = "settling"  #: after a download, while its own lost changes are missing
    READY = "ready"


class Recovery(NamedTuple):
    """A recovery after a healed split. [DA-74]"""

    mine: Chain  #: the chain of pings of this side
    side: frozenset[NodeId]  #: the nodes that have pinged on this side since the split [DA-75]
    lost: bool  #: whether the other side's chain continues
    ping: Chain | None  #: the chain of the ping that revealed the split
    covered: TickSets = Table()  #: changes that others of this side have requested


@dataclass(frozen=True, slots=True)
class State:
    """A node."""

    self_id: NodeId  #: its name
    config: Config
    phase: Phase = Phase.EMPTY
    tock: int = 0  #: its copy of the shared counter of messages [D-50]
    ticks: Ticks = field(default_factory=Table)  #: the highest of each node, including its own [DA-45, DA-46]
    entries: Entries = field(default_factory=Entries)
    last: Ping | None = None  #: the ping accepted last; its chain is cut to length
    heard: Table[NodeId, int] = field(default_factory=Table)  #: the highest tock in pings of each other node
    tried: frozenset[NodeId] = frozenset()  #: nodes from which it has tried to download
    source: NodeId | None = None  #: the node from which it is downloading
    wanted: TickSets = field(default_factory=Table)  #: changes that others have requested and this node knows [DA-78]
    newcomer: Chain | None = None  #: the chain of the ping to answer [DA-68]
    recovery: Recovery | None = None
    timers: frozenset[Timer] = frozenset()  #: those that run

    @property
    def own_tick(self) -> int:
        """Its tick, whether its messages show it or not. [DA-46]"""
        return self.ticks.get(self.self_id, 0) or 0

    @property
    def message_tick(self) -> int:
        """The tick in its messages. [DA-60]"""
        return 0 if self.phase is Phase.EMPTY else self.own_tick

    @property
    def participates(self) -> bool:
        """Whether it does more than pinging. [DA-42, DA-59]"""
        return self.phase in (Phase.SETTLING, Phase.READY)

    @property
    def missing(self) -> TickSets:
        """The changes that it knows of and has not received. [D-21, DA-04]"""
        return missing_sets(self.ticks, self.entries.known)

    @property
    def misses(self) -> bool:
        """Whether there are any: whether for some node the known changes are not exactly one range, from 1 to the tick."""
        known = self.entries.known
        return any(tick and known.get(node) != ((1,), (tick + 1,)) for node, tick in self.ticks.items())

    def position(self, chain: Chain | None) -> int | None:
        """Returns its index in a chain of pings; None if it is not in it. [DA-41]"""
        return None if chain is None else chain.position(self.self_id)


def is_authoritative_for(state: State) -> bool:
    """Whether the chain of the last accepted ping names another node that has data. [DA-51, D-106]"""
    return state.last is not None and any(tick and node != state.self_id for node, tick in state.last.chain.elements)


def is_startup(ping: Ping) -> bool:
    """Whether the chain ends after its sender. [D-95]"""
    return ping.chain.prev == Chain()


def updates_of(entries: Entries) -> tuple[Update, ...]:
    """Returns all entries as updates, sorted by tock, then by path. [DA-51]"""
    updates = [Update(entry.chain, path, entry.value, entry.tock) for path, entry in entries.rows.items()]
    return tuple(sorted(updates, key=in_order))


def in_order(update: Update) -> tuple[int, bytes]:
    """Returns the sort key of an update. [DA-51]"""
    return update.tock, update.path


def stored_of(state: State) -> Stored:
    """Returns the data that must be on disk before any message is sent. [DA-81]"""
    return Stored(state.tock, updates_of(state.entries), state.entries.superseded(), state.ticks)


def download_of(state: State) -> Loaded | None:
    """Returns the data for nodes that download from this one; None if it refuses. [DA-71]"""
    if state.phase not in (Phase.READY, Phase.OLD):
        return None
    return Loaded(state.self_id, updates_of(state.entries), state.entries.superseded(), state.ticks, state.tock)


def parse_node_id(text: str) -> NodeId:
    """Returns the name of a node. Raises ValueError for an invalid one. [DA-83]"""
    if not is_name(text) or text == "*":
        raise ValueError(f"the name of a node has 1 to 64 bytes of UTF-8, and is not *: {text!a}")
    return NodeId(text)
