"""
Routing: the next hop of a message. [W-37…W-44]

Only ids matter, in four stages: the leaf set, the cell of the routing table, the rest of its row and the rows below, and
finally the leaf set again, because nodes that the first three skip may still be closer than this node. [W-04, WA-08]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import Node
from peerproof.spec.wendy.state import State
from peerproof.spec.wendy.tables import remove_node


def next_hop(state: State, key: Id) -> Node | None:
    """Returns the next hop of a message with this key; None if it has arrived. [W-39…W-44]"""
    if key == state.id:
        return None  # [WA-14]
    span = leaf_span(state, key)
    if span is not None:
        return closest(state, key, span)
    ring = state.config.ring
    cell = ring.cell(state.id, key)
    there: Node | None = state.routing_table.get(cell)
    if there is not None:
        return there  # whether it is closer or not [WA-13]
    own = ring.rank(state.id, key)
    for (row, _), node in state.routing_table.items():
        if row >= cell[0] and ring.rank(node.id, key) < own:
            return node  # the first one is enough [WA-11, WA-12]
    return closest(state, key, leaf_ends(state))


def leaf_span(state: State, key: Id) -> tuple[Node, ...] | None:
    """
    Returns the leaves on both sides of a key within the leaf set, one of which or this node is the closest; otherwise None.

    The leaf set extends from the farthest left node up to the farthest right one, and up to this node on an empty side. [WA-06]
    """
    ring, own, (left, right) = state.config.ring, state.id, state.leaf_set
    up, down = ring.clockwise(own, key), ring.clockwise(key, own)
    if right and up <= ring.clockwise(own, right[-1].id):
        place = bisect_left(right, up, key=lambda node: ring.clockwise(own, node.id))
        return right[max(place - 1, 0) : place + 1]
    if left and down <= ring.clockwise(left[-1].id, own):
        place = bisect_left(left, down, key=lambda node: ring.clockwise(node.id, own))
        return left[max(place - 1, 0) : place + 1]
    return None


def leaf_ends(state: State) -> tuple[Node, ...]:
    """Returns the farthest nodes of both sides; outside of the leaf set, the closest leaf to a key is one of them. [WA-08]"""
    return tuple(side[-1] for side in state.leaf_set if side)


def closest(state: State, key: Id, nodes: tuple[Node, ...]) -> Node | None:
    """Returns the closest of these nodes to a key; None if this node is closer than all of them. [WA-07, WA-09]"""
    rank = state.config.ring.rank
    best, least = None, rank(state.id, key)
    for node in nodes:
        if (at := rank(node.id, key)) < least:
            best, least = node, at
    return best


def next_hop_of_join(state: State, joiner: Id) -> Node | None:
    """
    Returns the next hop of a join; never the joiner, which may be known from an earlier life. [W-47, WA-36]

    It is the next hop of a message to an id right beside the joiner's if the joiner did not exist.
    """
    return next_hop(remove_node(state, joiner) if joiner in state.known else state, joiner)


def hops(states: dict[Id, State], start: Id, key: Id) -> Iterator[Id]:
    """Yields the nodes that a message visits, from its start to the node that delivers it; endless if it goes in circles."""
    at: Id | None = start
    while at is not None:
        yield at
        node = next_hop(states[at], key)
        at = node.id if node else None
