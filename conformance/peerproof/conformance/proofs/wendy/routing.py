"""What is proved of Wendy's routing: that leaf sets know the closest node, and that every hop makes progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path
from peerproof.conformance.proofs.proof import ProofTable, Twin
from peerproof.conformance.proofs.wendy.terms import ADDRESS, WORDS, AnyTable, any_leaves, any_place, any_word, node_at
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.wendy import Config, Node, State, routing
from peerproof.spec.wendy.ids import REAL, Ring
from peerproof.spec.wendy.routing import next_hop

ROUTING: Final = ProofTable()

#: Which leaves are looked at for a key outside of the leaf set.
Ends = Callable[[State], tuple[Node, ...]]


def nearest_leaves(state: State) -> tuple[Node, ...]:
    """The nearest of both sides."""
    return tuple(side[0] for side in state.leaf_set if side)


@ROUTING.add(
    "WZ-24 W-38 W-41 W-42 WA-10 WX-06",
    "wendy.routing.next_hop",
    Twin("also that to the cell of the key (WX-06)", {"cell_too": True}),
)
@ROUTING.add(
    "WZ-11 W-39 W-43 WA-06 WA-07 WA-08 WA-09",
    "wendy.routing.next_hop wendy.routing.leaf_span wendy.routing.leaf_ends wendy.routing.closest",
    Twin("outside of the leaf set the nearest leaves are looked at", {"ends": nearest_leaves}),
    of={"by-leaves": {"places": 2, "table": False}},
)
def hops_come_closer_but_to_the_cell(
    path: Path, *, places: int = 1, table: bool = True, cell_too: bool = False, ends: Ends | None = None
) -> None:
    """
    By the leaf set a message goes to the closest leaf, and every hop but that to the cell of its key brings it closer.

    For a node with any leaf set and any routing table or none, on a ring of any size. It arrives only if no leaf is closer.
    """
    state = any_leaves(path, places)
    ring, own = state.config.ring, state.id
    key = any_place(path, ring, "key")
    vars(ring)["cell"] = lambda *_: (path.integer("row of the key"), 0)  # which cell that is does not matter here
    cells = AnyTable(path, (path.integer("row"), 1), lambda name, _: node_at(any_place(path, ring, name)))
    if table:
        state = replace(state, routing_table=cast("Any", cells))

    with overriding(names_in(routing, leaf_ends=ends or routing.leaf_ends)):
        found = routing.next_hop(state, key)
    leaves = [node for side in state.leaf_set for node in side]
    if found is not None and (cell_too or found is not cells.asked):
        path.claim("closer", ring.rank(found.id, key) < ring.rank(own, key))
    if found is None or any(found is leaf for leaf in leaves):
        at = own if found is None else found.id
        path.claim("no leaf is closer", z3.And(*(ring.rank(at, key) <= ring.rank(leaf.id, key) for leaf in leaves)))


@ROUTING.add(
    "WZ-24 W-40 W-41 W-42 WA-12 WA-13 WI-04",
    "wendy.routing.next_hop",
    Twin("nodes may stand in the cells of others", {"cells": False}),
    logic=WORDS,
)
def hops_by_the_table_keep_the_prefix(path: Path, *, cells: bool = True) -> None:
    """
    By the routing table the prefix with the key grows, if the message goes to the cell of its key, and else gets no shorter.

    For a node with any routing table whose nodes stand in their own cells.
    """
    own, key, row, column = any_word(path, "own"), any_word(path, "key"), any_word(path, "row", 8), any_word(path, "column", 8)
    ring = Ring()
    vars(ring)["rank"] = lambda *_: any_word(path, path.fresh("rank"))  # who is closer does not matter here

    def found(name: str, cell: tuple[Any, Any]) -> Node:
        place = any_word(path, name)
        here = REAL.cell(own, place)
        if cells:
            path.know(place != own, here[0] == cell[0], here[1] == cell[1])
        return node_at(place)

    table = AnyTable(path, (row, column), found)
    node = next_hop(State(ADDRESS, Config(own, ring=ring), routing_table=cast("Any", table)), key)
    if node is None:
        return
    if node is table.asked:
        path.claim("a longer prefix", REAL.prefix(node.id, key) > REAL.prefix(own, key))
    else:
        path.claim("no shorter prefix", REAL.prefix(node.id, key) >= REAL.prefix(own, key))
