"""Mistakes in keeping the three tables and their scores, in finding the next hop, and in what goes straight to a node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, after, around, passing_over, with_header, with_values

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Received, Sent, Step, Table
from peerproof.spec.wendy import proximity, routing, transitions
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import NO_LEAVES, Application, Node, Route, SendTo
from peerproof.spec.wendy.state import Stage, State

wrong = Variants(__name__, Wrong)
NEXT_HOP = routing.next_hop
SPAN = routing.leaf_span
IS_PASSED_OVER = proximity.is_passed_over
ON_SEND_TO = transitions.on_send_to


def closer(state: State, key: Id, nodes: Iterable[Node]) -> list[Node]:
    """Those of the nodes that are closer to a key than this one, the closest first."""
    rank = state.config.ring.rank
    own = rank(state.id, key)
    return sorted((node for node in nodes if rank(node.id, key) < own), key=lambda node: rank(node.id, key))


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


@wrong.after("step", "a-table-with-wrong-rows")
def CellsAsTheyCome(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Believes what others say about where a node stands."""
    sent = getattr(getattr(event, "message", None), "tables", None)
    if sent is None or not sent.routing_table or isinstance(event, Sent):
        return step
    placed = {(row, column): node for row, column, node in sent.routing_table if node.id != state.id}
    return with_values(step, routing_table=step.state.routing_table.put(placed))


@wrong(
    "tables.in_neighborhood_set", "neighbours-with-equal-scores a-neighbour-moves-ahead-behind-equals a-neighbour-between-equals"
)
def AheadOfEquals(_: Any, state: State, node: Node) -> tuple[Node, ...]:
    """Puts a neighbour before those with the same score."""
    score = state.score(node.id)
    others = tuple(member for member in state.neighborhood_set if member.id != node.id)
    if len(others) < len(state.neighborhood_set):
        return state.neighborhood_set
    place = next((index for index, member in enumerate(others) if score <= state.score(member.id)), len(others))
    return (*others[:place], node, *others[place:])[: state.config.neighborhood_set]


@wrong("proximity.consider_node", "no-request-for-a-known-score scores-outlive-the-cache a-cached-score-is-used")
def AsksOnceMore(right: Any, state: State, node: Node, *, is_leaf: bool) -> Any:
    """Measures whoever it meets, known or not."""
    after = right(state, node, is_leaf=is_leaf)
    return after if IS_PASSED_OVER(state, node) else replace(after, measured=after.measured.put({node.id: node}))


@wrong("step", "sent-straight-after-leaving")
def SendsAfterLeaving(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Still sends after it has left."""
    if isinstance(event, Asked) and isinstance(event.command, SendTo):
        return ON_SEND_TO(state, event.command)
    return right(state, event, pick)


@wrong("step", "received-straight")
def DeliversWhatComesStraight(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Delivers whatever has had a hop, as if it were meant for this node."""
    if isinstance(event, Received) and isinstance(message := event.message, Application) and message.header.hop:
        counted = with_header(message, hop=message.header.hop + 1)
        return Step(state, (Notify(wendy.Delivered(counted)),))
    return right(state, event, pick)


wrong |= {
    # Keeps its cache.
    "NeverEmptiesTheCache: the-cache-after-an-hour the-cache-is-emptied-as-a-whole the-cache-after-two-hours": after(
        "step", lambda step, state, *_: with_values(step, cache=state.cache) if state.cache and not step.state.cache else step
    ),
    # Knows the first row of its routing table only.
    "OneRow: route-to-a-cell-deeper route-to-later-rows route-to-later-rows-any-column route-to-a-cell-deeper-by-messages "
    "route-to-later-rows-that-were-met": around(
        "routing.next_hop",
        lambda right, state, key: right(
            replace(state, routing_table=Table({cell: node for cell, node in state.routing_table.items() if cell[0] == 0})), key
        ),
    ),
    # Keeps quiet about messages for its own id, and about all as long as it is alone.
    "NothingToItself: route-to-the-own-key route-with-empty-tables route-to-the-own-key-by-messages "
    "route-with-empty-tables-by-messages": passing_over(
        lambda state, event: (
            isinstance(event, Asked) and isinstance(event.command, Route) and (event.command.key == state.id or not state.known)
        )
    ),
    # Drops messages while it joins.
    "NotBeforeItHasJoined: route-while-joining": passing_over(
        lambda state, event: (
            isinstance(event, Asked) and isinstance(event.command, Route) and state.stage in (Stage.JOINING, Stage.WAITING)
        )
    ),
    # Compares ids byte by byte.
    "DigitsOfABytes: cell-of-the-last-digit digit-15 digit-31": after(
        "ids.Ring.cell",
        lambda cell, ring, own, other: (cell[0] - cell[0] % 2, ring.digit(other, cell[0] - cell[0] % 2)),
    ),
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
    # Takes the column from its own id.
    "ColumnFromTheOwner: cell-of-the-document cell-of-the-first-digit rows-and-columns-of-several digit-31": {
        "ids.Ring.cell": lambda ring, own, other: (row := ring.prefix(own, other), ring.digit(own, row))
    },
    # Counts columns from one: E is 15.
    "ColumnsFromOne: cell-of-the-document cell-of-the-last-digit cell-in-row-11 digit-0 digit-15 digit-16": {
        "ids.Ring.cell": lambda ring, own, other: (row := ring.prefix(own, other), ring.digit(other, row) + 1)
    },
    # Looks at one node of each table that it is sent.
    "TheFirstOfATable: all-cells-of-a-received-table everybody-is-evaluated more-than-sixteen-on-a-wire-side": around(
        "proximity.nodes_of", lambda right, sent: dict(list(right(sent).items())[:1])
    ),
    # Has as many neighbours as it meets.
    "NeighboursWithoutEnd: thirty-two-neighbours a-neighbour-that-is-too-far neighbours-of-another-number": around(
        "tables.in_neighborhood_set",
        lambda right, state, node: right(replace(state, config=replace(state.config, neighborhood_set=10**6)), node),
    ),
    # Lets somebody with the score of the last one into a full set.
    "TheLastOfEqualsGivesWay: a-neighbour-as-far-as-the-last": around(
        "tables.in_neighborhood_set",
        lambda right, state, node: (
            (*state.neighborhood_set[:-1], node)
            if len(state.neighborhood_set) == state.config.neighborhood_set
            and node.id not in (member.id for member in state.neighborhood_set)
            and state.score(node.id) == state.score(state.neighborhood_set[-1].id)
            else right(state, node)
        ),
    ),
    # Empties its cache each half of an hour.
    "EmptiesTheCacheEarly: the-cache-just-before-an-hour": {"transitions.CACHE_MS": 1_800_000},
    # Keeps the first address that it hears of a node.
    "NoNewAddress: a-new-address": {"proximity.update_address": lambda state, _: state},
}
__getattr__ = wrong.find
