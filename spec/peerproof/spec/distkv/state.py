"""What a DistKV node keeps, and how it is configured. [DA-58, DA-59, DA-83]"""

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

#: A fifth of a minute is enough for three pings. [D-91]
DEFAULT_CLOCK: Final = Duration(5000)
LEAST_CLOCK: Final = Duration(8)

#: Elements of a chain of pings, and of one of changes. [D-93, DA-14]
DEFAULT_PING_LENGTH: Final = 4
DEFAULT_CHANGE_LENGTH: Final = 5

#: The sender of an info stands before the chain of a ping. [DA-44, DA-92]
LENGTH_MAX: Final = ELEMENTS_MAX - 1

#: What Serf carries, less the name `distkv.update` and what it adds itself. [DA-12]
DEFAULT_PAYLOAD: Final = 512 - 13 - 40

#: A ping has so many bytes at most, and so many more for each element. [DA-82]
PING_BYTES: Final = 15
ELEMENT_BYTES: Final = 91

#: Names of nodes that are kept. [DA-83]
NAMES_MAX: Final = 4096


class Stored(NamedTuple):
    """What a node finds on its disk when it starts. [DA-81]"""

    tock: int
    entries: tuple[Update, ...]  #: one for each path
    superseded: TickSets
    ticks: Ticks


@dataclass(frozen=True, slots=True)
class Config:
    """How a node is configured; `ping.clock` and the like are the names of the document. [DA-56]"""

    clock: Duration = DEFAULT_CLOCK  #: `ping.clock` in milliseconds [D-91]
    ping_length: int = DEFAULT_PING_LENGTH  #: `ping.length` [D-93]
    change_length: int = DEFAULT_CHANGE_LENGTH  #: of chains of changes [DA-14]
    max_payload: int = DEFAULT_PAYLOAD  #: bytes of an event, without its name [DA-12]
    start: Duration | None = None  #: until its first message, from clock/2 to clock; if left out, clock [DA-65]
    root: Value | None = None  #: of the first node, the value of the root entry [DA-72]
    stored: Stored | None = None  #: its data from before [DA-81]

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
    """How far a node has come. [DA-59]"""

    EMPTY = "empty"  #: without data
    OLD = "old"  #: with data from before its start
    SETTLING = "settling"  #: after a download of what it had lost
    READY = "ready"


class Recovery(NamedTuple):
    """A split has healed; what was missed is being found out. [DA-74]"""

    mine: Chain  #: of pings, as it was on this side
    side: frozenset[NodeId]  #: who has pinged on this side since it was one [DA-75]
    lost: bool  #: whether the other side's chain goes on
    ping: Chain | None  #: that of the ping which showed the split
    covered: TickSets = Table()  #: what others of this side have asked for


@dataclass(frozen=True, slots=True)
class State:
    """A node."""

    self_id: NodeId  #: its name
    config: Config
    phase: Phase = Phase.EMPTY
    tock: int = 0  #: its copy of the one counter of messages [D-50]
    ticks: Ticks = field(default_factory=Table)  #: the highest of each node, its own too [DA-45, DA-46]
    entries: Entries = field(default_factory=Entries)
    last: Ping | None = None  #: the ping accepted last; its chain is cut to length
    heard: Table[NodeId, int] = field(default_factory=Table)  #: the highest tock of each other node's pings
    tried: frozenset[NodeId] = frozenset()  #: whom it has tried to download from
    source: NodeId | None = None  #: whom it is downloading from
    wanted: TickSets = field(default_factory=Table)  #: what others have asked for, and this node knows [DA-78]
    newcomer: Chain | None = None  #: of the ping to be answered [DA-68]
    recovery: Recovery | None = None
    timers: frozenset[Timer] = frozenset()  #: those that run

    @property
    def own_tick(self) -> int:
        """Its tick, whether it shows it or not. [DA-46]"""
        return self.ticks.get(self.self_id, 0) or 0

    @property
    def message_tick(self) -> int:
        """The tick that stands in its messages. [DA-60]"""
        return 0 if self.phase is Phase.EMPTY else self.own_tick

    @property
    def participates(self) -> bool:
        """Whether it does more than to ping. [DA-42, DA-59]"""
        return self.phase in (Phase.SETTLING, Phase.READY)

    @property
    def missing(self) -> TickSets:
        """The changes that it knows of and has not seen. [D-21, DA-04]"""
        return missing_sets(self.ticks, self.entries.known)

    @property
    def misses(self) -> bool:
        """Whether there is any: whether of some node it has not seen exactly one range, from 1 to the tick."""
        known = self.entries.known
        return any(tick and known.get(node) != ((1,), (tick + 1,)) for node, tick in self.ticks.items())

    def position(self, chain: Chain | None) -> int | None:
        """Where it stands in a chain of pings; None if nowhere. [DA-41]"""
        return None if chain is None else chain.position(self.self_id)


def is_authoritative_for(state: State) -> bool:
    """Whether the chain of the ping accepted last names another node that has data. [DA-51, D-106]"""
    return state.last is not None and any(tick and node != state.self_id for node, tick in state.last.chain.elements)


def is_startup(ping: Ping) -> bool:
    """Whether nothing stands behind its sender. [D-95]"""
    return ping.chain.prev == Chain()


def updates_of(entries: Entries) -> tuple[Update, ...]:
    """All entries as their updates: the lowest tock first, of these the lowest path. [DA-51]"""
    updates = [Update(entry.chain, path, entry.value, entry.tock) for path, entry in entries.rows.items()]
    return tuple(sorted(updates, key=in_order))


def in_order(update: Update) -> tuple[int, bytes]:
    """Where an update stands among others. [DA-51]"""
    return update.tock, update.path


def stored_of(state: State) -> Stored:
    """What must be on disk before anything is sent. [DA-81]"""
    return Stored(state.tock, updates_of(state.entries), state.entries.superseded(), state.ticks)


def download_of(state: State) -> Loaded | None:
    """What it gives to whoever downloads from it; None if it refuses. [DA-71]"""
    if state.phase not in (Phase.READY, Phase.OLD):
        return None
    return Loaded(state.self_id, updates_of(state.entries), state.entries.superseded(), state.ticks, state.tock)


def parse_node_id(text: str) -> NodeId:
    """The name of a node. Raises ValueError for what is none. [DA-83]"""
    if not is_name(text) or text == "*":
        raise ValueError(f"the name of a node has 1 to 64 bytes of UTF-8, and is not *: {text!a}")
    return NodeId(text)
