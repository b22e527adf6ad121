"""Proofs about Wendy's state tables, their versions, and routing: every hop makes progress."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.terms import choice, same_row, truth
from peerproof.conformance.proofs.wendy.terms import (
    ADDRESS,
    WORDS,
    AnyTable,
    any_leaves,
    any_node,
    any_place,
    any_scores,
    any_versions,
    any_word,
    node_at,
)
from peerproof.spec.core import Send, Table
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.wendy import Config, Id, Node, NodeAnnouncement, NodeRace, State, Versions, joining, routing, tables
from peerproof.spec.wendy.ids import REAL, Ring
from peerproof.spec.wendy.messages import MOST_VERSION, Header
from peerproof.spec.wendy.messages import Tables as Sent
from peerproof.spec.wendy.routing import next_hop
from peerproof.spec.wendy.tables import in_neighborhood_set, in_routing_table, insert_node, remove_node

OWN: Final = Id(0)

#: Returns the leaves to consider for a key outside of the leaf set.
Ends = Callable[[State], tuple[Node, ...]]

TABLES: Final = ProofTable()

#: Number of nodes on a side of the leaf set.
_OF_TWO_OR_THREE: Final = {"of-2": {"places": 2}, "of-3": {"places": 3}}


# -- the leaf set -----------------------------------------------------------------------------------------------------


@TABLES.add(
    "WZ-21 W-26 W-27 W-28 W-29 WA-05 WI-03 WI-05",
    "wendy.tables.in_leaf_set wendy.tables.in_side",
    Twin("a node that is there already is put behind itself", {"bisect": bisect_right}),
    of=_OF_TWO_OR_THREE,
)
def inserting_keeps_the_nearest_leaves(path: Path, *, places: int, bisect: Callable[..., int] = bisect_left) -> None:
    """
    A side of the leaf set stays ordered and keeps the nearest nodes, and a second insertion changes nothing.

    A node that is left out is farther than all on a full side; so the side has the nearest of all nodes that were ever inserted.
    """
    state = any_leaves(path, places)
    node = any_node(path, state, "node")

    with overriding(names_in(tables, bisect_left=bisect)):
        after = tables.in_leaf_set(state, node)
        again = tables.in_leaf_set(replace(state, leaf_set=after), node)
    path.claim("a second time", truth(again is after))
    on_right = state.config.ring.is_right(state.id, node.id)
    for is_right, old, new in zip((False, True), state.leaf_set, after, strict=True):
        steps = [away(state, one, is_right=is_right) for one in new]
        path.claim("nearest first", smt.And(*(one < other for one, other in pairwise(steps))))
        path.claim("no more than there is room for", truth(len(new) <= places))
        offered = [*old, *([node] if on_right == is_right else [])]
        path.claim("no other nodes", smt.And(*(smt.Or(*(one.id == other.id for other in offered)) for one in new)))
        for one in offered:
            farther = smt.And(truth(len(new) == places), *(step < away(state, one, is_right=is_right) for step in steps))
            path.claim("there, or farther than all", smt.Or(farther, *(one.id == other.id for other in new)))


def away(state: State, node: Node, *, is_right: bool) -> Term:
    """Returns the distance of a node from the owner in the direction of a side."""
    ring = state.config.ring
    return ring.clockwise(state.id, node.id) if is_right else ring.clockwise(node.id, state.id)


def at_the_end(side: tuple[Node, ...], _: Any, key: Any) -> int:  # noqa: ARG001  # the signature of `bisect_left`
    """Inserts at the end."""
    return len(side)


@TABLES.add(
    "WZ-21 W-28 W-29 WI-05",
    "wendy.tables.in_side",
    Twin("new nodes are put at the end", {"bisect": at_the_end}),
    of=_OF_TWO_OR_THREE,
)
def leaves_commute(path: Path, *, places: int, bisect: Callable[..., int] = bisect_left) -> None:
    """
    Inserting two nodes into a side of the leaf set gives the same in either order.

    Nodes are identified by their distance; nodes on different sides do not interact.
    """
    steps = [path.integer(f"step{number}", 1) for number in range(choice(path, "nodes", places + 1))]
    path.assume(*(one < other for one, other in pairwise(steps)))
    side = tuple(map(node_at, steps))
    one, other = (node_at(path.integer(name, 1)) for name in ("one", "other"))
    config = Config(OWN, leaf_set_side=places)

    def both(first: Node, second: Node) -> tuple[Node, ...]:
        found: tuple[Node, ...] = side
        for node in (first, second):
            found = tables.in_side(config, found, node, lambda node: node.id)
        return found

    with overriding(names_in(tables, bisect_left=bisect)):
        way, back = both(one, other), both(other, one)
    path.claim("as many", truth(len(way) == len(back)))
    path.claim("the same", smt.And(*(mine.id == its.id for mine, its in zip(way, back, strict=True))))


# -- tables that go by scores -----------------------------------------------------------------------------------------


def overwriting(state: State, node: Node) -> tuple[Node, ...]:
    """Returns the neighborhood set if a new node replaces the first that is farther (WD-15)."""
    members = state.neighborhood_set
    score = state.score(node.id)
    index = next((at for at, member in enumerate(members) if score < state.score(member.id)), len(members))
    return (*members[:index], node, *members[index + 1 :])[: state.config.neighborhood_set]


@TABLES.add(
    "WZ-22 W-33 W-34 WA-16 WA-22 WI-06",
    "wendy.tables.in_neighborhood_set",
    Twin("the first that is farther is overwritten (WD-15)", {"insert": overwriting}),
)
def inserting_keeps_the_best_neighbours(
    path: Path, *, places: int = 3, insert: Callable[[State, Node], tuple[Node, ...]] = in_neighborhood_set
) -> None:
    """The neighborhood set stays sorted by scores and keeps the best; a node that is in it already may have a new score."""
    ids = [Id(number) for number in range(1, places + 2)]
    config = Config(OWN, neighborhood_set=places)
    state = State(ADDRESS, config, scores=any_scores(path, ids))
    members = ids[: choice(path, "members", places + 1)]
    node = choice(path, "node", len(members) + 1)
    others = [state.score(one) for one in members if one != ids[node]]
    path.assume(*(truth(one <= other) for one, other in pairwise(others)))
    state = replace(state, neighborhood_set=tuple(map(node_at, members)))

    after = [one.id for one in insert(state, node_at(ids[node]))]
    scores = [state.score(one) for one in after]
    path.claim("the best first", truth(all(one <= other for one, other in pairwise(scores))))
    path.claim("each once, and as many as there is room for", truth(len(after) == len(set(after)) <= places))
    left_out = {*members, ids[node]} - set(after)
    path.claim("no other nodes", truth(set(after) <= {*members, ids[node]}))
    full = len(after) == places
    path.claim("no better node is left out", truth(all(full and scores[-1] <= state.score(one) for one in left_out)))


@TABLES.add(
    "WZ-22 W-18 WA-16 WA-17",
    "wendy.tables.in_routing_table",
    Twin("an unknown score is the best", {"unknown": False}),
)
def a_cell_keeps_the_best(path: Path, *, unknown: bool = True) -> None:
    """A cell of the routing table keeps the node with the better score; of equal or unknown ones, the one that was there."""
    there, node = Id(0x10), Id(0x11)
    state = State(ADDRESS, Config(OWN), scores=any_scores(path, (there, node)))
    cell = state.config.ring.cell(OWN, there)
    state = replace(state, routing_table=Table({cell: node_at(there)}))

    kept = in_routing_table(state, node_at(node))[cell].id
    one, other = (state.scores.get(who) for who in (there, node))
    if one is None or other is None:
        better = one is None and other is not None
        path.claim("known before unknown", truth((kept == node) == (better if unknown else other is None)))
    else:
        path.claim("the better one", smt.If(truth(kept == node), truth(other < one), truth(one <= other)))


# -- versions ---------------------------------------------------------------------------------------------------------


def larger(one: Term, other: Term) -> Term:
    """Like `max`."""
    return smt.If(one >= other, one, other)


@TABLES.add(
    "WZ-23 W-63 WA-45",
    Evaluated(("wendy.joining.with_versions",), ("max",)),
    Twin("what comes last is kept", {"most": lambda _, last: last}),
)
def keeping_larger_versions_is_a_join(path: Path, *, most: Callable[[Term, Term], Term] = larger) -> None:
    """Keeping the larger of versions is commutative, associative and idempotent, and at least each of them."""
    known, a, b = (any_versions(path, name) for name in ("known", "a", "b"))

    def merged(one: Versions, other: Versions) -> Versions:
        state = State(ADDRESS, Config(OWN), stored=Table({Id(1): one}))
        with overriding(names_in(joining, max=most)):
            return joining.with_versions(state, node_at(Id(1)), other).stored[Id(1)]

    once = merged(known, a)
    path.claim("commutative", same_row(merged(a, b), merged(b, a)))
    path.claim("associative", same_row(merged(once, b), merged(known, merged(a, b))))
    path.claim("idempotent", same_row(merged(once, a), once))
    path.claim("never less", smt.And(*(mine >= its for mine, its in zip((*once, *once), (*known, *a), strict=True))))


@TABLES.add(
    "WZ-25 WA-39 WA-42 WI-08",
    "wendy.tables.insert_node wendy.tables.remove_node wendy.joining.is_newer",
    Twin("the counter may be at its end", {"most": MOST_VERSION}),
)
def a_change_shows_in_the_versions(path: Path, *, most: int = MOST_VERSION - 1) -> None:
    """
    Whichever node comes or goes, a table's version shows exactly whether its members have changed, and never decreases.

    One node is in no table or in all, another comes or the first goes; both fit into one cell, and each table has one place.
    """
    there, other = Id(0x10), Id(0x11)
    state = State(
        ADDRESS,
        Config(OWN, leaf_set_side=1, neighborhood_set=1),
        versions=any_versions(path, "versions", most),
        scores=any_scores(path, (there, other)),
    )
    before = insert_node(state, node_at(there))
    before = replace(before, versions=state.versions)

    after = (remove_node(before, there), insert_node(before, node_at(other)), insert_node(before, node_at(there)))[
        choice(path, "what", 3)
    ]
    for old, new, one, two in zip(before.versions, after.versions, members(before), members(after), strict=True):
        path.claim("one more, exactly if it has changed", new == old + (one != two))
    path.claim(
        "then an announcement with the old ones is detected",
        truth(joining.is_newer(after.versions, before.versions)) == truth(members(before) != members(after)),
    )


def members(state: State) -> tuple[set[Id], ...]:
    """Returns the ids in each table."""
    leaves = {node.id for side in state.leaf_set for node in side}
    return {node.id for node in state.routing_table.values()}, leaves, {node.id for node in state.neighborhood_set}


@TABLES.add(
    "WZ-25 W-64 W-66 WA-41 WA-43 WI-13",
    "wendy.joining.on_node_announcement wendy.joining.is_newer",
    Twin("a version from the future", {"real": False}),
)
def who_is_taken_in_knows_the_newest(path: Path, *, real: bool = True) -> None:
    """
    If an announcement meets no conflict, the announcer knows the receiver's newest versions; otherwise no table changes.

    The announcer knows versions that the receiver had at some time [WI-07].
    """
    own, said = any_versions(path, "own", MOST_VERSION - 1), any_versions(path, "said")
    if real:
        path.assume(*(its <= mine for mine, its in zip(own, said, strict=True)))
    state = State(ADDRESS, Config(OWN), versions=own, cache=Table({Id(1): 1}))
    announcement = NodeAnnouncement(Header(node_at(Id(1)), Id(1), said), Sent())

    after, effects = joining.on_node_announcement(state, announcement)
    if any(isinstance(effect, Send) and isinstance(effect.message, NodeRace) for effect in effects):
        path.claim("it is not taken in", truth(after is state))
        path.claim("something is newer", smt.Not(same_row(own, said)))
    else:
        path.claim("it is taken in", truth(Id(1) in after.known))
        path.claim("it knows the newest", same_row(own, said))


# -- routing ----------------------------------------------------------------------------------------------------------


def nearest_leaves(state: State) -> tuple[Node, ...]:
    """Returns the nearest leaf of each side."""
    return tuple(side[0] for side in state.leaf_set if side)


@TABLES.add(
    "WZ-24 W-38 W-41 W-42 WA-10 WX-06",
    "wendy.routing.next_hop",
    Twin("also the hop to the cell of the key (WX-06)", {"cell_too": True}),
)
@TABLES.add(
    "WZ-11 W-39 W-43 WA-06 WA-07 WA-08 WA-09",
    "wendy.routing.next_hop wendy.routing.leaf_span wendy.routing.leaf_ends wendy.routing.closest",
    Twin("outside of the leaf set the nearest leaves are considered", {"ends": nearest_leaves}),
    of={"by-leaves": {"places": 2, "table": False}},
)
def hops_come_closer_but_to_the_cell(
    path: Path, *, places: int = 1, table: bool = True, cell_too: bool = False, ends: Ends | None = None
) -> None:
    """
    By the leaf set a message goes to the closest leaf, and every hop except the one to the cell of its key brings it closer.

    For a node with any leaf set and any routing table or none, on a ring of any size. It arrives only if no leaf is closer.
    """
    state = any_leaves(path, places)
    ring, own = state.config.ring, state.id
    key = any_place(path, ring, "key")
    vars(ring)["cell"] = lambda *_: (path.integer("row of the key"), 0)  # any cell will do here
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
        path.claim("no leaf is closer", smt.And(*(ring.rank(at, key) <= ring.rank(leaf.id, key) for leaf in leaves)))


@TABLES.add(
    "WZ-24 W-40 W-41 W-42 WA-12 WA-13 WI-04",
    "wendy.routing.next_hop",
    Twin("nodes may be in cells of other nodes", {"cells": False}),
    logic=WORDS,
)
def hops_by_the_table_keep_the_prefix(path: Path, *, cells: bool = True) -> None:
    """
    By the routing table the common prefix with the key grows if the message goes to the cell of its key, and otherwise gets no
    shorter.

    For a node with any routing table whose nodes are in their own cells.
    """
    own, key, row, column = any_word(path, "own"), any_word(path, "key"), any_word(path, "row", 8), any_word(path, "column", 8)
    ring = Ring()
    vars(ring)["rank"] = lambda *_: any_word(path, path.fresh("rank"))  # closeness does not matter here

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
