"""Each part of a step of Wendy, run by itself on any state that satisfies the invariant."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Term
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.conformance.proofs.wendy.any_node import AnyNode
from peerproof.conformance.proofs.wendy.any_parts import (
    ADVANCE,
    ASK_LEAF,
    ASK_NEIGHBOURS,
    CELL,
    CONSIDER,
    INSERT,
    LEAF,
    NEIGHBOUR,
    REMOVE,
    SELECT,
    UPDATE,
    Parts,
    held_by,
)
from peerproof.conformance.proofs.wendy.any_tables import Entries, Held, Members, any_cell, shown, shown_in, terms_of
from peerproof.spec.core import Send
from peerproof.spec.wendy import Header, LeafSet, Mask, Node, State, StateData, Tables, joining, proximity, repair, tables

_TABLES: Final = ("routing_table", "leaf_set", "neighborhood_set", "versions")


def claim_frame(node: AnyNode, after: State, *fields: str) -> None:
    """Claims that a state satisfies the invariant, and differs from the first one in its tables and in these fields alone."""
    claim_tables(node, after, *fields)
    claim_leaves(node, after)


def claim_leaves(node: AnyNode, after: State) -> None:
    """Claims that no leaf set is changed but by the functions of which it is shown that they keep it in order."""
    node.path.claim("a leaf set is one that a part has left", truth(all(isinstance(side, Members) for side in after.leaf_set)))


def claim_tables(node: AnyNode, after: State, *fields: str) -> None:
    """Claims the same of a function that may change a leaf set."""
    node.claim_state(after)
    others = {field.name for field in dataclasses.fields(State)} - {*_TABLES, *fields}
    node.path.claim("nothing else changes", truth(all(getattr(after, name) is getattr(node.start, name) for name in others)))


def claim_sent(node: AnyNode, effects: Any) -> None:
    """Claims that all messages satisfy the invariant."""
    for effect in effects:
        if isinstance(effect, Send):
            node.claim_message(effect.message)


def may_enter(node: AnyNode) -> Node:
    """Returns a node that may be inserted into the tables."""
    one = node.other("node")
    departed: Any = node.start.departed
    node.path.know(*replace(node.holds, own=False).of_node(node.id, departed, *terms_of(one)).values())
    return one


def one_table(node: AnyNode) -> None:
    """A node, which is not this one, is tried in one table."""
    one = may_enter(node)
    node.path.know(term_of(one.id) != node.id)
    start, kind = node.start, choice(node.path, "table", 3)
    with Parts(node).within():
        if kind == 0:
            after = replace(start, routing_table=node.path.run(tables.in_routing_table, start, one))
        elif kind == 1:
            after = replace(start, leaf_set=node.path.run(tables.in_leaf_set, start, one))
        else:
            after = replace(start, neighborhood_set=node.path.run(tables.in_neighborhood_set, start, one))
    claim_tables(node, after)


def one_insertion(node: AnyNode) -> None:
    """A node is tried in the leaf set, or in all tables."""
    one, mask = may_enter(node), (Mask(leaf_set=True), tables.ALL)[choice(node.path, "tables", 2)]
    with Parts(node).within(CELL, LEAF, NEIGHBOUR):
        after = node.path.run(tables.insert_node, node.start, one, mask)
    claim_frame(node, after)


def one_removal(node: AnyNode) -> None:
    """A node is removed from all tables."""
    gone = node.other("node").id
    with Parts(node).within():
        after = node.path.run(tables.remove_node, node.start, gone)
    claim_tables(node, after)
    node.path.claim_all(lambda: {"it is in no table": is_absent(term_of(gone), shown_in(after))})


def is_absent(gone: Term, nodes: list[tuple[Term, Node]]) -> Term:
    """States that a node is none of these."""
    return smt.And(*(smt.Implies(is_there, term_of(node.id) != gone) for is_there, node in nodes))


def one_address(node: AnyNode) -> None:
    """A node names its addresses."""
    one = node.named("node")
    with Parts(node).within():
        after = node.path.run(tables.update_address, node.start, one)
    claim_tables(node, after)


def considered(state: State, one: Node, is_leaf: bool) -> State:
    """Returns a node that has seen another one in a message."""
    return proximity.consider_node(state, one, is_leaf=is_leaf)


def one_consideration(node: AnyNode) -> None:
    """A node is seen in a message."""
    one, is_leaf = node.named("node"), bool(smt.Bool("is a leaf"))
    with Parts(node).within(INSERT):
        after = node.path.run(considered, node.start, one, is_leaf)
    claim_frame(node, after, "measured", "scores")


def some_tables(node: AnyNode) -> None:
    """The tables of a message."""
    sender, said = node.named("sender"), any_tables(node)
    with Parts(node).within(CONSIDER, UPDATE):
        after, effects = node.path.run(proximity.learn_tables, node.start, sender, said)
    claim_frame(node, after, "measured")
    claim_sent(node, effects)


def one_selection(node: AnyNode) -> None:
    """Tables are selected for another node."""
    with Parts(node).within():
        found = node.path.run(tables.select_tables, node.start, any_mask(node))
    node.claim_message(StateData(Header(node.own_record(), node.own_record().id), found))


def any_mask(node: AnyNode) -> Mask:
    """Returns any mask, of one row or of all."""
    rows: Any = (Number(node.path.integer("asked row")),) if bool(smt.Bool("asks for a row")) else ()
    wanted: list[Any] = [smt.Bool(f"asks for the {name}") for name in ("routing table", "leaf set", "neighborhood set")]
    return Mask(wanted[0], wanted[1], wanted[2], rows)


def one_announcement(node: AnyNode) -> None:
    """The node announces itself."""
    with Parts(node).within(SELECT):
        after, effects = node.path.run(joining.announce, node.start)
    claim_frame(node, after, "announcing", "is_warned")
    claim_sent(node, effects)


def any_tables(node: AnyNode, *, at_once: bool = False) -> Tables:
    """Returns the tables of a message; the node that can be seen in them is in any one of them, or at once in all."""
    holds = node.holds
    held = Held(node.path, "a message", lambda at, place: holds.of_named(at, place).values() if holds.truthful else ())
    one: Any = Members(held)
    entries: Any = Entries(one)
    if at_once:
        return Tables(entries if bool(smt.Bool("has a routing table")) else None, LeafSet(one, ()), one)
    kind = choice(node.path, "the table of a node", 3)
    if kind == 0:
        return Tables(routing_table=entries)
    return Tables(leaf_set=LeafSet(one, ())) if kind == 1 else Tables(leaf_set=LeafSet(), neighborhood_set=one)


def one_score(node: AnyNode) -> None:
    """A message was confirmed."""
    to: Any = Number(node.path.integer("address"))
    with Parts(node).within(INSERT, NEIGHBOUR):
        after = node.path.run(proximity.refresh_score, node.start, to, 1)
    claim_frame(node, after, "measured", "scores", "cache")


def scores_pruned(node: AnyNode) -> None:
    """Scores and versions of other nodes are dropped."""
    with Parts(node).within():
        after = node.path.run(proximity.prune, node.start)
    claim_frame(node, after, "scores", "stored")


def one_repair(node: AnyNode) -> None:
    """The repair of a cell goes on."""
    with Parts(node).within():
        after, effects = node.path.run(repair.advance_repair, node.start, any_cell(node.path))
    claim_frame(node, after, "repairs")
    claim_sent(node, effects)


def all_repairs(node: AnyNode) -> None:
    """All repairs go on."""
    with Parts(node).within(ADVANCE):
        after, effects = node.path.run(repair.advance_all, node.start)
    claim_frame(node, after, "repairs")
    claim_sent(node, effects)


def one_departure(node: AnyNode) -> None:
    """A node has gone."""
    gone, parts = node.other("node").id, Parts(node)
    with parts.within(REMOVE, ADVANCE, ASK_LEAF, ASK_NEIGHBOURS):
        after, effects = node.path.run(repair.on_departure, node.start, gone)
    claim_frame(node, after, "measured", "departed", "repairs")
    claim_sent(node, effects)
    nodes = [*shown_in(after), *shown(after.measured)]
    node.path.claim_all(lambda: {"it is in no table": is_absent(term_of(gone), nodes)})
    if node.holds.departed:
        before: Any = node.start.departed
        now: Any = after.departed
        forgotten = node.forgotten[0] if node.forgotten else None
        for one in (node.any, term_of(gone)):
            node.path.claim_all(
                lambda one=one: parts.leaves_of_departure(node.start, term_of(gone), before, now, forgotten, one)  # type: ignore[misc]
            )


def some_questions(node: AnyNode) -> None:
    """Others are asked for their leaf sets and their neighborhood sets, after a node has gone."""
    gone = node.other("node")
    later = node.with_tables(node.start, held_by(node.start))
    with Parts(node).within():
        effects = (repair.query_leaf_set(node.start, later, gone), repair.query_neighborhood(node.start, later))
    for some in effects:
        claim_sent(node, some)
    node.claim_state(later)


def all_that_is_known(node: AnyNode) -> None:
    """The nodes that a node knows are those in its tables, each with its addresses there. Those of any two tables are seen."""
    start: Any = node.start
    tables_ = [start.routing_table, *start.leaf_set, start.neighborhood_set]
    for table in list(combinations(tables_, 2))[choice(node.path, "tables without nodes that are seen", 6)]:
        node.path.know(smt.Not(table.visible.there))
    known = vars(State)["known"].func(start)
    nodes = shown_in(start)
    for is_there, one in nodes:
        node.path.claim("each is known", smt.Implies(is_there, truth(one.id in known)))
    for one in known.values():
        node.path.claim("each is in a table", smt.Or(*(smt.And(is_there, same_node(one, other)) for is_there, other in nodes)))


class AnyHost:
    """A host that may be that of any node: of each that is compared with it, or of none."""

    def __init__(self, node: AnyNode) -> None:
        self.is_same = bool(smt.Bool(node.path.fresh("is the host")))

    def __getitem__(self, _: slice) -> AnyHost:
        return self

    def __eq__(self, _: object) -> bool:
        return self.is_same

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong


class AnyAddress(Number):
    """An address that may be that of any node."""

    def __init__(self, node: AnyNode) -> None:
        super().__init__(node.path.integer("address"))
        self.node = node

    def rpartition(self, _: str) -> tuple[AnyHost, str, str]:
        """Returns any host, and the port that all nodes have here."""
        return AnyHost(self.node), ":", "1"


def those_at_an_address(node: AnyNode) -> None:
    """The nodes at an address are known, or being measured."""
    address: Any = AnyAddress(node)
    those_at = State.at
    with Parts(node).within():
        found = list(those_at(node.start, address))
    measured: Any = node.start.measured
    for one in found:
        is_measured = smt.And(measured.visible.there, same_node(one, measured.visible.record))
        node.path.claim("it satisfies the invariant", smt.Or(held_by(node.start).of(*terms_of(one)), is_measured))
    node.path.claim("each once at most", truth(len(found) <= 2))  # noqa: PLR2004  # one of each table is seen


def same_node(one: Node, other: Node) -> Term:
    """States that two nodes have the same id and the same addresses."""
    return smt.And(*(mine == its for mine, its in zip(terms_of(one), terms_of(other), strict=True)))


PARTS: Final = (
    *(one_departure, one_consideration, one_address, one_table, one_insertion, one_score, scores_pruned, one_selection),
    *(one_announcement, one_repair, all_repairs, some_questions, some_tables, one_removal),
)

#: Parts that change nothing: one proof shows them for all invariants.
LOOKUPS: Final = (those_at_an_address, all_that_is_known)
