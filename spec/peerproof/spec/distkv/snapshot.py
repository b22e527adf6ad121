"""The plain data of a whole DistKV node, and of its configuration, for tools that read or build a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Entries, Entry, on_chains
from peerproof.spec.distkv.forms import LOADED, NODE, PING, PING_CHAIN, SETS, TICK, TICKS, TIMER, UPDATE, VALUE, ByNode
from peerproof.spec.distkv.messages import Update
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
from peerproof.spec.distkv.ticks import TickSets, union
from peerproof.spec.forms import state_form
from peerproof.spec.forms.answers import FLAG, Answer, Members
from peerproof.spec.forms.form import Flag, Integer, ListOf, OneOf, Optional, Plain, Record, misfit
from peerproof.spec.forms.state_form import ShownAs, set_of

STORED: Final = Record(Stored, tock=TICK, entries=ListOf(UPDATE), superseded=SETS, ticks=TICKS)

CONFIG: Final = Record(
    Config,
    clock=Integer(LEAST_CLOCK),
    ping_length=Integer(1, LENGTH_MAX),
    change_length=Integer(1, LENGTH_MAX),
    max_payload=Integer(1),
    start=Optional(Integer()),
    root=Optional(VALUE),
    stored=Optional(STORED),
)


@dataclass(frozen=True, slots=True)
class RecoveryOf:
    """A recovery; missing members are as at its beginning."""

    mine: Chain
    side: frozenset[NodeId]
    lost: bool
    ping: Chain | None = None
    covered: TickSets = field(default_factory=Table)


_RECOVERY: Final = Record(RecoveryOf, mine=PING_CHAIN, side=set_of(NODE), lost=Flag(), ping=Optional(PING_CHAIN), covered=SETS)


class StateForm(state_form.StateForm):
    """The plain data of a state: entries as their updates, and the superseded changes beside them."""

    def field_values(self, state: State) -> Mapping[str, Any]:
        """Returns the values to show."""
        entries = {"entries": updates_of(state.entries), "superseded": state.entries.superseded()}
        return {name: entries[name] if name in entries else getattr(state, name) for name in self.forms}

    def state(self, plain: Plain, self_id: NodeId, config: Config, shown: dict[str, Any]) -> State:
        """Returns the state of a node with these values. Raises MalformedMessage for an impossible state."""
        updates: tuple[Update, ...] = shown.pop("entries", ())
        rows = {update.path: Entry(update.chain, update.value, update.tock) for update in updates}
        if len(rows) < len(updates):
            raise misfit("entries", "each path once", plain["entries"])
        known, ticks = union(on_chains(rows), shown.pop("superseded", Table())), shown.get("ticks", Table())
        if any(ranges.ends[-1] > ticks.get(node, 0) + 1 for node, ranges in known.items()):
            raise misfit("ticks", "for each node the highest tick of its changes", plain.get("ticks", {}))
        return State(self_id, config, entries=Entries(Table(rows), known), **shown)


STATE: Final[Any] = StateForm(
    State,
    phase=OneOf(Phase),
    tock=TICK,
    ticks=TICKS,
    entries=ListOf(UPDATE),
    superseded=SETS,
    last=Optional(PING),
    heard=ByNode(TICK),
    tried=set_of(NODE),
    source=Optional(NODE),
    wanted=SETS,
    newcomer=Optional(PING_CHAIN),
    recovery=Optional(
        ShownAs(_RECOVERY, lambda recovery: recovery, lambda shown: Recovery(*attrgetter(*_RECOVERY.forms)(shown)))
    ),
    timers=set_of(TIMER, key=str),
)


def value_at(state: State, names: Plain) -> Plain:
    """Returns the value of an entry; None if there is no such entry, or it is deleted. [D-59]"""
    found = state.entries.value(path_of_plain(names))
    return None if found is None else VALUE.plain(found)


def dump(state: State) -> Plain:
    """Returns all entries that are not deleted: path, value, chain and tock each."""
    return [UPDATE.plain(update) for update in updates_of(state.entries) if not state.entries.rows[update.path].is_deleted]


def download(state: State) -> Plain:
    """Returns the data for nodes that download from this one; None if it refuses. [DA-71]"""
    loaded = download_of(state)
    return None if loaded is None else LOADED.plain(loaded)


def disk_contents(state: State) -> Plain:
    """Returns the data that the node has on disk. [DA-81]"""
    return STORED.plain(stored_of(state))


def own(state: State) -> Plain:
    """Returns the node's data about itself."""
    last = state.last
    return {
        "phase": state.phase.value,
        "tick": TICK.plain(state.own_tick),
        "tock": TICK.plain(state.tock),
        "missing": SETS.plain(state.missing),
        "last": None if last is None else PING.plain(last),
        "recovering": state.recovery is not None,
    }


#: The shapes of answers to queries.
ANSWERS: Final = {
    "get": Answer(
        'What the entry at `"args": {"names": […]}` holds; null if there is no such entry, or it is deleted.', Optional(VALUE)
    ),
    "dump": Answer("All entries that are not deleted, in the form of an update.", ListOf(UPDATE)),
    "own": Answer(
        "What the node knows of itself; `last` is the last ping.",
        Members(phase=OneOf(Phase), tick=TICK, tock=TICK, missing=SETS, last=Optional(PING), recovering=FLAG),
    ),
    "download": Answer("The download that other nodes get from this one; null if it refuses.", Optional(LOADED)),
    "stored": Answer("What the node has on disk.", STORED),
    "state": Answer("All that `load` takes.", STATE),
}
