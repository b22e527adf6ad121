"""
The three state tables: which nodes have a place in them, and which are replaced. [W-12]

Each function returns a table after one node came or went, and the identical table if nothing in it has changed. This module sends
no messages; `proximity.py` decides which nodes are measured first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Final

from peerproof.spec.core import Table, replace
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import MOST_VERSION, NO_LEAVES, Cell, Entry, LeafSet, Mask, Node, Tables, Versions
from peerproof.spec.wendy.state import Config, State

ALL: Final = Mask(routing_table=True, leaf_set=True, neighborhood_set=True)


def in_routing_table(state: State, node: Node) -> Table[Cell, Node]:
    """
    Returns the routing table after trying a node in its cell. [W-15, W-16, W-18, WA-17]

    It gets an empty cell, or one whose node has a worse score; with the same score, the present node stays.
    """
    cell = state.config.ring.cell(state.id, node.id)
    there = state.routing_table.get(cell)
    if there is None or (there.id != node.id and state.score(node.id) < state.score(there.id)):
        return state.routing_table.put({cell: node})
    return state.routing_table


def in_leaf_set(state: State, node: Node) -> LeafSet:
    """
    Returns the leaf set after trying a node in it. [W-25, WA-03, WA-05]

    The node is on one side only, unless the configuration allows both.
    """
    config, (left, right) = state.config, state.leaf_set
    is_right = config.ring.is_right(state.id, node.id)
    if is_right or config.is_two_sided:
        right = in_side(config, right, node, lambda other: config.ring.clockwise(state.id, other.id))
    if not is_right or config.is_two_sided:
        left = in_side(config, left, node, lambda other: config.ring.clockwise(other.id, state.id))
    return LeafSet(left, right) if left is not state.leaf_set.left or right is not state.leaf_set.right else state.leaf_set


def in_side(config: Config, side: tuple[Node, ...], node: Node, away: Callable[[Node], int]) -> tuple[Node, ...]:
    """
    Returns one side after trying a node in it: the nearest to the owner first, up to the size limit. [W-26…W-29]

    `away` returns the distance of a node from the owner, in the direction of the side.
    """
    place = bisect_left(side, away(node), key=away)
    if place == config.leaf_set_side or (place < len(side) and side[place].id == node.id):
        return side
    return (*side[:place], node, *side[place:])[: config.leaf_set_side]


def in_neighborhood_set(state: State, node: Node) -> tuple[Node, ...]:
    """
    Returns the neighborhood set after trying a node in it: those with the best scores, the best first. [W-33…W-35, WA-22, WA-31]

    Of equal scores the earlier one stays in front. A member whose score has changed moves to its new place.
    """
    members = state.neighborhood_set
    score = state.score(node.id)
    place = next((index for index, member in enumerate(members) if member.id == node.id), None)
    if place is not None:
        is_after = place == 0 or state.score(members[place - 1].id) <= score
        is_before = place == len(members) - 1 or score <= state.score(members[place + 1].id)
        if is_after and is_before:
            return members
        members = members[:place] + members[place + 1 :]
    elif len(members) == state.config.neighborhood_set and state.score(members[-1].id) <= score:
        return members
    index = next((i for i, member in enumerate(members) if score < state.score(member.id)), len(members))
    return (*members[:index], node, *members[index:])[: state.config.neighborhood_set]


def with_tables(state: State, routing_table: Table[Cell, Node], leaf_set: LeafSet, neighborhood: tuple[Node, ...]) -> State:
    """Returns the node with these tables; the version of each table with changed members is incremented. [WA-39]"""
    old = state.versions
    new = Versions(
        _next(old.routing_table, changed=routing_table is not state.routing_table),
        _next(old.leaf_set, changed=leaf_set is not state.leaf_set),
        _next(
            old.neighborhood_set,
            changed=neighborhood is not state.neighborhood_set
            and {node.id for node in neighborhood} != {node.id for node in state.neighborhood_set},
        ),
    )
    if routing_table is state.routing_table and leaf_set is state.leaf_set and neighborhood is state.neighborhood_set:
        return state
    return replace(state, routing_table=routing_table, leaf_set=leaf_set, neighborhood_set=neighborhood, versions=new)


def _next(version: int, *, changed: bool) -> int:
    return min(version + changed, MOST_VERSION)


def insert_node(state: State, node: Node, mask: Mask = ALL) -> State:
    """Returns the node after trying another one in these tables; no node has a place in its own. [WA-15, WA-39]"""
    if node.id == state.id:
        return state
    return with_tables(
        state,
        in_routing_table(state, node) if mask.routing_table else state.routing_table,
        in_leaf_set(state, node) if mask.leaf_set else state.leaf_set,
        in_neighborhood_set(state, node) if mask.neighborhood_set else state.neighborhood_set,
    )


def remove_node(state: State, gone: Id) -> State:
    """Returns the node after removing another one from each table that has it. [WA-25, WA-39]"""
    cells = [cell for cell, node in state.routing_table.items() if node.id == gone]
    left, right = (tuple(node for node in side if node.id != gone) for side in state.leaf_set)
    leaf_set = state.leaf_set if (left, right) == state.leaf_set else LeafSet(left, right)
    neighborhood = tuple(node for node in state.neighborhood_set if node.id != gone)
    return with_tables(
        state,
        state.routing_table.without(cells) if cells else state.routing_table,
        leaf_set,
        state.neighborhood_set if len(neighborhood) == len(state.neighborhood_set) else neighborhood,
    )


def update_address(state: State, node: Node) -> State:
    """Returns the node with a known node's new address; places and versions stay. [WA-68]"""
    known = state.known.get(node.id)
    if known is None or known == node:
        return state

    def there(other: Node) -> Node:
        return node if other.id == node.id else other

    left, right = (tuple(map(there, side)) for side in state.leaf_set)
    return replace(
        state,
        routing_table=Table({cell: there(other) for cell, other in state.routing_table.items()}),
        leaf_set=LeafSet(left, right),
        neighborhood_set=tuple(map(there, state.neighborhood_set)),
    )


def select_tables(state: State, mask: Mask = ALL) -> Tables:
    """Returns the requested tables of a node, for another node. [W-48…W-50, W-60, WA-35, WA-57]"""
    entries = (
        Entry(row, column, node)
        for (row, column), node in state.routing_table.items()
        if not mask.rows or (row in mask.rows and (not mask.columns or column in mask.columns))
    )
    return Tables(
        tuple(entries) if mask.routing_table else None,
        state.leaf_set if mask.leaf_set else None,
        state.neighborhood_set if mask.neighborhood_set else None,
    )


def nodes_of(tables: Tables) -> Mapping[Id, Node]:
    """
    Returns the nodes of received tables, each once; their positions in the tables do not matter. [W-51…W-55, WA-38, WA-51, WA-60]

    Those of the leaf set come first, then those of the routing table and of the neighborhood set, each in their order.
    """
    found: dict[Id, Node] = {}
    left, right = tables.leaf_set or NO_LEAVES
    entries = (entry.node for entry in tables.routing_table or ())
    for node in (*left, *right, *entries, *(tables.neighborhood_set or ())):
        found.setdefault(node.id, node)
    return found
