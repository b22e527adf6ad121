"""How a whole Wendy node looks as plain data, for those who look into one or put one together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from peerproof.spec.core import NodeId, Table
from peerproof.spec.wendy.forms import ADDRESS, COLUMN, ID, LEAF_SET, NODE, ROW, VERSIONS
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import NO_LEAVES, NO_VERSIONS, Entry, LeafSet, Node, Versions
from peerproof.spec.wendy.state import Config, Repair, Stage, State
from peerproof.spec.wire import Flag, ListOf, Maybe, OneOf, Plain, Record, Whole, misfit


class Score(NamedTuple):
    """How far away a node is. [W-05, W-08]"""

    node: Id
    score: int


class Stored(NamedTuple):
    """What is known of the versions of a node's tables. [W-63]"""

    node: Id
    versions: Versions


class RepairOf(NamedTuple):
    """A cell that is being repaired. [W-19]"""

    row: int
    column: int
    asked_row: int
    waiting: tuple[Id, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A node but for its name and configuration; what is left out is as in a node that has just started."""

    stage: Stage = Stage.ALONE
    routing_table: tuple[Entry, ...] = ()
    leaf_set: LeafSet = NO_LEAVES
    neighborhood_set: tuple[Node, ...] = ()
    versions: Versions = NO_VERSIONS
    scores: tuple[Score, ...] = ()
    cache: tuple[Score, ...] = ()
    measured: tuple[Node, ...] = ()
    stored: tuple[Stored, ...] = ()
    departed: tuple[Id, ...] = ()
    repairs: tuple[RepairOf, ...] = ()
    announcing: tuple[NodeId, ...] = ()
    is_warned: bool = False
    contact: NodeId | None = None


_SCORES: Final = ListOf(Record(Score, node=ID, score=Whole()))

SNAPSHOT: Final = Record(
    Snapshot,
    stage=OneOf(Stage),
    routing_table=ListOf(Record(Entry, row=ROW, column=COLUMN, node=NODE)),
    leaf_set=LEAF_SET,
    neighborhood_set=ListOf(NODE),
    versions=VERSIONS,
    scores=_SCORES,
    cache=_SCORES,
    measured=ListOf(NODE),
    stored=ListOf(Record(Stored, node=ID, versions=VERSIONS)),
    departed=ListOf(ID),
    repairs=ListOf(Record(RepairOf, row=ROW, column=COLUMN, asked_row=Whole(-1, ROW.most), waiting=ListOf(ID))),
    announcing=ListOf(ADDRESS),
    is_warned=Flag(),
    contact=Maybe(ADDRESS),
)


class StateForm:
    """How a state looks as plain data: the members of `Snapshot`."""

    record: Final = SNAPSHOT

    def plain(self, state: State) -> Plain:
        """The plain data of a state."""
        return SNAPSHOT.plain(
            Snapshot(
                state.stage,
                tuple(Entry(row, column, node) for (row, column), node in state.routing_table.items()),
                state.leaf_set,
                state.neighborhood_set,
                state.versions,
                tuple(Score(*row) for row in state.scores.items()),
                tuple(Score(*row) for row in state.cache.items()),
                tuple(state.measured.values()),
                tuple(Stored(*row) for row in state.stored.items()),
                tuple(sorted(state.departed)),
                tuple(RepairOf(*cell, row, tuple(sorted(waiting))) for cell, (row, waiting) in state.repairs.items()),
                tuple(sorted(state.announcing)),
                state.is_warned,
                state.contact,
            )
        )

    def value(self, plain: Plain, self_id: NodeId, config: Config) -> State:
        """The state that plain data shows, of the node with this name. Raises MalformedMessage for what no node can be."""
        shown: Snapshot = SNAPSHOT.value(plain)
        state = State(
            self_id,
            config,
            shown.stage,
            Table({(row, column): node for row, column, node in shown.routing_table}),
            shown.leaf_set,
            shown.neighborhood_set,
            shown.versions,
            scores=Table(dict(shown.scores)),
            cache=Table(dict(shown.cache)),
            measured=Table({node.id: node for node in shown.measured}),
            stored=Table(dict(shown.stored)),
            departed=frozenset(shown.departed),
            repairs=Table({(row, column): Repair(asked, frozenset(waiting)) for row, column, asked, waiting in shown.repairs}),
            announcing=frozenset(shown.announcing),
            is_warned=shown.is_warned,
            contact=shown.contact,
        )
        if (problem := misplaced(state)) is not None:
            raise misfit("state", problem, plain)
        return state


def misplaced(state: State) -> str | None:
    """What is wrong with where nodes stand in a state's tables, as what should be; None if nothing is."""
    ring, own, config = state.config.ring, state.id, state.config
    if own in state.known or own in state.measured:
        return "tables without the node itself"
    if any(ring.cell(own, node.id) != cell for cell, node in state.routing_table.items()):
        return "nodes in their own cells of the routing table"
    left, right = state.leaf_set
    steps = [[ring.clockwise(node.id, own) for node in left], [ring.clockwise(own, node.id) for node in right]]
    if any(side != sorted(set(side)) or len(side) > config.leaf_set_side for side in steps):
        return f"on each side of the leaf set at most {config.leaf_set_side} different nodes, the nearest first"
    if not config.is_two_sided and any(ring.is_right(own, node.id) for node in left):
        return "lower ids on the left"
    if not config.is_two_sided and not all(ring.is_right(own, node.id) for node in right):
        return "greater ids on the right"
    members = [node.id for node in state.neighborhood_set]
    scores = [state.score(node) for node in members]
    if scores != sorted(scores) or len(set(members)) < len(members) or len(members) > config.neighborhood_set:
        return f"in the neighborhood set at most {config.neighborhood_set} different nodes, those with the best scores first"
    return None


STATE: Final[Any] = StateForm()
