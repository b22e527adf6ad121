"""How a whole DistKV node looks as plain data, and how it is configured, for those who look into one or put one together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Entries, Entry, on_chains
from peerproof.spec.distkv.forms import LOADED, NODE, PING, PING_CHAIN, SETS, TICK, TICKS, TIMER, UPDATE, VALUE, ByNode
from peerproof.spec.distkv.messages import Ping, Timer, Update
from peerproof.spec.distkv.paths import path_of_plain
from peerproof.spec.distkv.state import (
    LEAST_CLOCK,
    LENGTH_MAX,
    Config,
    Phase,
    Recovery,
    State,
    Stored,
    download_of,
    stored_of,
    updates_of,
)
from peerproof.spec.distkv.ticks import Ticks, TickSets, union
from peerproof.spec.wire import Flag, ListOf, Maybe, OneOf, Plain, Record, Whole, misfit

STORED: Final = Record(Stored, tock=TICK, entries=ListOf(UPDATE), superseded=SETS, ticks=TICKS)

CONFIG: Final = Record(
    Config,
    clock=Whole(LEAST_CLOCK),
    ping_length=Whole(1, LENGTH_MAX),
    change_length=Whole(1, LENGTH_MAX),
    max_payload=Whole(1),
    start=Maybe(Whole()),
    root=Maybe(VALUE),
    stored=Maybe(STORED),
)


@dataclass(frozen=True, slots=True)
class RecoveryOf:
    """A recovery."""

    mine: Chain
    side: tuple[NodeId, ...]
    lost: bool
    ping: Chain | None = None
    covered: TickSets = field(default_factory=Table)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A node but for its name and configuration; what is left out is as in an empty node."""

    phase: Phase = Phase.EMPTY
    tock: int = 0
    ticks: Ticks = field(default_factory=Table)
    entries: tuple[Update, ...] = ()
    superseded: TickSets = field(default_factory=Table)
    last: Ping | None = None
    heard: Table[NodeId, int] = field(default_factory=Table)
    tried: tuple[NodeId, ...] = ()
    source: NodeId | None = None
    wanted: TickSets = field(default_factory=Table)
    newcomer: Chain | None = None
    recovery: RecoveryOf | None = None
    timers: tuple[Timer, ...] = ()


SNAPSHOT: Final = Record(
    Snapshot,
    phase=OneOf(Phase),
    tock=TICK,
    ticks=TICKS,
    entries=ListOf(UPDATE),
    superseded=SETS,
    last=Maybe(PING),
    heard=ByNode(TICK),
    tried=ListOf(NODE),
    source=Maybe(NODE),
    wanted=SETS,
    newcomer=Maybe(PING_CHAIN),
    recovery=Maybe(
        Record(RecoveryOf, mine=PING_CHAIN, side=ListOf(NODE), lost=Flag(), ping=Maybe(PING_CHAIN), covered=SETS),
    ),
    timers=ListOf(TIMER),
)


class StateForm:
    """How a state looks as plain data: the members of `Snapshot`."""

    record: Final = SNAPSHOT

    def plain(self, state: State) -> Plain:
        """The plain data of a state."""
        recovery = state.recovery
        return SNAPSHOT.plain(
            Snapshot(
                phase=state.phase,
                tock=state.tock,
                ticks=state.ticks,
                entries=updates_of(state.entries),
                superseded=state.entries.superseded(),
                last=state.last,
                heard=state.heard,
                tried=_sorted(state.tried),
                source=state.source,
                wanted=state.wanted,
                newcomer=state.newcomer,
                recovery=None if recovery is None else RecoveryOf(recovery.mine, _sorted(recovery.side), *recovery[2:]),
                timers=tuple(sorted(state.timers, key=str)),
            )
        )

    def value(self, plain: Plain, self_id: NodeId, config: Config) -> State:
        """The state that plain data shows, of the node with this name. Raises MalformedMessage for what no node can be."""
        shown: Snapshot = SNAPSHOT.value(plain)
        rows = {update.path: Entry(update.chain, update.value, update.tock) for update in shown.entries}
        if len(rows) < len(shown.entries):
            raise misfit("entries", "each path once", plain["entries"])
        known = union(on_chains(rows), shown.superseded)
        if any(ranges.ends[-1] > shown.ticks.get(node, 0) + 1 for node, ranges in known.items()):
            raise misfit("ticks", "for each node the highest tick of its changes", plain.get("ticks", {}))
        recovery = shown.recovery
        return State(
            self_id,
            config,
            shown.phase,
            shown.tock,
            shown.ticks,
            Entries(Table(rows), known),
            shown.last,
            shown.heard,
            frozenset(shown.tried),
            shown.source,
            shown.wanted,
            shown.newcomer,
            None if recovery is None else _recovery(recovery),
            frozenset(shown.timers),
        )


def _recovery(shown: RecoveryOf) -> Recovery:
    return Recovery(shown.mine, frozenset(shown.side), shown.lost, shown.ping, shown.covered)


def _sorted(nodes: Iterable[NodeId]) -> tuple[NodeId, ...]:
    return tuple(sorted(nodes))


STATE: Final[Any] = StateForm()


def value_at(state: State, names: Plain) -> Plain:
    """What an entry holds; none if there is no such entry, or it is deleted. [D-59]"""
    found = state.entries.value(path_of_plain(names))
    return None if found is None else VALUE.plain(found)


def dump(state: State) -> Plain:
    """All entries that are not deleted: path, value, chain and tock each."""
    return [UPDATE.plain(update) for update in updates_of(state.entries) if not state.entries.rows[update.path].is_deleted]


def download(state: State) -> Plain:
    """What others get who download from the node; none if it refuses. [DA-71]"""
    loaded = download_of(state)
    return None if loaded is None else LOADED.plain(loaded)


def stored(state: State) -> Plain:
    """What the node has on disk. [DA-81]"""
    return STORED.plain(stored_of(state))


def own(state: State) -> Plain:
    """What the node knows of itself."""
    last = state.last
    return {
        "phase": state.phase.value,
        "tick": TICK.plain(state.own_tick),
        "tock": TICK.plain(state.tock),
        "missing": SETS.plain(state.missing),
        "last": None if last is None else PING.plain(last),
        "recovering": state.recovery is not None,
    }
