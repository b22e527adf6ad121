"""The plain data of a whole Wendy node, for tools that read or build a state."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from peerproof.spec.forms import state_form
from peerproof.spec.forms.answers import Answer, Items, Members
from peerproof.spec.forms.form import Flag, Integer, ListOf, OneOf, Optional, Plain, Record, misfit
from peerproof.spec.forms.state_form import rows_by, set_of, table_of
from peerproof.spec.wendy.forms import ADDRESS, COLUMN, ID, LEAF_SET, NODE, ROW, VERSIONS
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import Entry, Versions
from peerproof.spec.wendy.state import Repair, Stage, State


class Score(NamedTuple):
    """The distance of a node. [W-05, W-08]"""

    node: Id
    score: int


class Stored(NamedTuple):
    """The known versions of a node's tables. [W-63]"""

    node: Id
    versions: Versions


class RepairOf(NamedTuple):
    """A cell under repair. [W-19]"""

    row: int
    column: int
    asked_row: int
    waiting: frozenset[Id]


class StateForm(state_form.StateForm):
    """The plain data of a state."""

    def check(self, state: State, plain: Plain) -> None:
        """Raises MalformedMessage for tables with nodes in wrong places."""
        if (problem := find_inconsistency(state)) is not None:
            raise misfit("state", problem, plain)


def find_inconsistency(state: State) -> str | None:
    """Returns the condition that a state's tables violate; None if they are consistent."""
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


_ENTRY: Final = Record(Entry, row=ROW, column=COLUMN, node=NODE)
_SCORES: Final = table_of(Record(Score, node=ID, score=Integer()), Score)
_REPAIR: Final = Record(RepairOf, row=ROW, column=COLUMN, asked_row=Integer(-1, ROW.most), waiting=set_of(ID))

STATE: Final[Any] = StateForm(
    State,
    stage=OneOf(Stage),
    routing_table=table_of(_ENTRY, lambda cell, node: Entry(cell[0], cell[1], node), lambda entry: (entry[:2], entry.node)),
    leaf_set=LEAF_SET,
    neighborhood_set=ListOf(NODE),
    versions=VERSIONS,
    scores=_SCORES,
    cache=_SCORES,
    measured=rows_by(NODE, lambda node: node.id),
    stored=table_of(Record(Stored, node=ID, versions=VERSIONS), Stored),
    departed=set_of(ID),
    repairs=table_of(_REPAIR, lambda cell, repair: RepairOf(*cell, *repair), lambda of: (of[:2], Repair(*of[2:]))),
    announcing=set_of(ADDRESS),
    is_warned=Flag(),
    contact=Optional(ADDRESS),
)


#: The shapes of answers to queries.
ANSWERS: Final = {
    "own": Answer(
        "What the node knows of itself: its id, its stage (`alone` also if it started the ring), the versions of its tables.",
        Members(id=ID, stage=OneOf(Stage), versions=VERSIONS),
    ),
    "routing_table": Answer(
        "The occupied cells, by row and column: a list of three for each.", ListOf(Items(row=ROW, column=COLUMN, id=ID))
    ),
    "leaf_set": Answer("The ids on both sides, the nearest first.", Members(left=ListOf(ID), right=ListOf(ID))),
    "neighborhood_set": Answer("The ids, those with the best scores first.", ListOf(ID)),
    "state": Answer("All that `load` takes.", STATE),
}
