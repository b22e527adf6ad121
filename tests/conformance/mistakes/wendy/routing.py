"""Mistakes in finding the next hop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.core import Asked, Pick, Step, Table
from peerproof.spec.wendy import routing
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import NO_LEAVES, Node, Route
from peerproof.spec.wendy.state import Stage, State

wrong = Variants(__name__, Wrong)
NEXT_HOP = routing.next_hop
SPAN = routing.leaf_span


def closer(state: State, key: Id, nodes: Iterable[Node]) -> list[Node]:
    """Those of the nodes that are closer to a key than this one, the closest first."""
    rank = state.config.ring.rank
    own = rank(state.id, key)
    return sorted((node for node in nodes if rank(node.id, key) < own), key=lambda node: rank(node.id, key))


@wrong(
    "routing.next_hop",
    "route-to-a-cell-deeper route-to-later-rows route-to-later-rows-any-column route-to-a-cell-deeper-by-messages "
    "route-to-later-rows-that-were-met",
)
def OneRow(right: Any, state: State, key: Id) -> Any:
    """Knows the first row of its routing table only."""
    cells = Table({cell: node for cell, node in state.routing_table.items() if cell[0] == 0})
    return right(replace(state, routing_table=cells), key)


def _first_of(state: State, key: Id, order: Any) -> Node | None:
    """As it should be, but for who is taken of those in the row of the key and below."""
    if key == state.id or SPAN(state, key) is not None:
        return NEXT_HOP(state, key)
    cell = state.config.ring.cell(state.id, key)
    if cell in state.routing_table:
        return NEXT_HOP(state, key)
    found = order([(at, node) for at, node in state.routing_table.items() if at[0] >= cell[0]])
    return found or NEXT_HOP(replace(state, routing_table=Table()), key)


@wrong(
    "routing.next_hop",
    "route-to-the-furthest-leaf route-to-the-furthest-leaf-below route-to-the-furthest-leaf-by-messages "
    "route-to-the-furthest-of-two-leaves-by-messages",
)
def NoLastLook(right: Any, state: State, key: Id) -> Any:
    """Takes the document's steps for all there are, and does not look at its leaves once more."""
    if key == state.id or SPAN(state, key) is not None:
        return right(state, key)
    return right(replace(state, leaf_set=NO_LEAVES), key)


@wrong(
    "step", "route-to-the-own-key route-with-empty-tables route-to-the-own-key-by-messages route-with-empty-tables-by-messages"
)
def NothingToItself(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Keeps quiet about messages for its own id, and about all as long as it is alone."""
    if isinstance(event, Asked) and isinstance(event.command, Route) and (event.command.key == state.id or not state.known):
        return Step(state)
    return right(state, event, pick)


@wrong("step", "route-while-joining")
def NotBeforeItHasJoined(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Drops messages while it joins."""
    if isinstance(event, Asked) and isinstance(event.command, Route) and state.stage in (Stage.JOINING, Stage.WAITING):
        return Step(state)
    return right(state, event, pick)


wrong |= {
    # Looks for the closest leaf, and forgets itself.
    "NeverItself: route-to-itself-within route-a-tie-of-neighbours route-by-all-bits "
    "route-a-tie-of-neighbours-by-messages route-of-two-at-the-closer-by-messages": around(
        "routing.leaf_span", lambda right, state, key: (span := right(state, key)) and span[-1:]
    )
    | {"routing.closest": lambda state, key, nodes: min(nodes, key=lambda n: state.config.ring.rank(n.id, key), default=None)},
    # Never looks at the cell of the key before the rest of the row.
    "NoCells: route-to-a-cell-that-is-further route-to-the-cell-of-no-leaf route-to-the-cell-by-messages "
    "route-by-a-cell-that-was-met": around(
        "routing.next_hop",
        lambda right, state, key: right(
            replace(state, routing_table=state.routing_table.without((state.config.ring.cell(state.id, key),)))
            if key != state.id
            else state,
            key,
        ),
    ),
    # Takes the first one of the row, closer or not.
    "AnyoneInTheRow: route-past-one-that-is-not route-past-one-that-is-not-by-messages route-to-the-first-closer-that-was-met": {
        "routing.next_hop": lambda state, key: _first_of(state, key, lambda rows: rows[0][1] if rows else None)
    },
    # Sends to anybody in the routing table before it delivers.
    "AnybodyRatherThanItself: route-not-to-earlier-rows route-to-itself-though-cells-fit route-to-the-own-key-by-messages "
    "route-to-itself-though-cells-fit-by-messages": around(
        "routing.next_hop", lambda right, state, key: right(state, key) or next(iter(state.routing_table.values()), None)
    ),
    # Sends to a neighbour if that is the closest of all.
    "ByNeighbours: route-never-by-neighbours route-at-the-end-of-the-leaves-by-messages": around(
        "routing.next_hop",
        lambda right, state, key: next(iter(closer(state, key, state.neighborhood_set)), None) or right(state, key),
    ),
}
__getattr__ = wrong.find
