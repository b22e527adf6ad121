"""Any node of any cluster of Wendy: an invariant of its tables and of messages, and states that satisfy it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, truth
from peerproof.conformance.proofs.wendy.any_tables import (
    AnyRing,
    AnyRows,
    Cells,
    Departed,
    Facts,
    Held,
    Measured,
    Members,
    Window,
    any_cell,
    record,
    shown,
    terms_of,
)
from peerproof.spec.wendy import Application, Config, LeafSet, Node, Repair, State, Tables
from peerproof.spec.wendy.messages import NO_VERSIONS

_INT, _BOOL = smt.IntSort(), smt.BoolSort()

#: Whether a node with this id has ever been at these addresses: it only grows. [WA-52]
EXISTED: Final = smt.Function("has existed", _INT, _INT, _BOOL)

#: The address that a node is sent to, and whether it has one. [WA-52]
ADDRESS: Final = smt.Function("address", _INT, _INT)
HAS_ADDRESS: Final = smt.Function("has an address", _INT, _BOOL)


@dataclass(frozen=True)
class Invariant:
    """What holds of a node and of a message."""

    existed: bool = False  #: each node in a table has existed, with its addresses
    own: bool = False  #: no node is in its own tables (WI-02)
    departed: bool = False  #: no departed node is in a table (WI-01)
    truthful: bool = True  #: messages name only nodes that have existed

    def of_node(self, own: Term, departed: Departed, node: Term, place: Term) -> dict[str, Term]:
        """Returns what holds of a node in a table of node `own`, and of one that is being measured."""
        found = {}
        if self.existed:
            found["a node in a table has existed"] = EXISTED(node, place)
        if self.own:
            found["no node is in its own tables"] = node != own
        if self.departed:
            found["no departed node is in a table"] = smt.Not(departed.has(node))
        return found

    def of_named(self, node: Term, place: Term) -> dict[str, Term]:
        """Returns what holds of the sender of a message, and of each node in its tables."""
        return {"a node in a message has existed": EXISTED(node, place)} if self.existed else {}


class AnyNode:
    """Any node of any cluster on one path: it makes states that satisfy the invariant, and claims that others do."""

    def __init__(self, path: Path, holds: Invariant) -> None:
        self.path = path
        self.holds = holds
        self.id, self.place = path.integer("own"), path.integer("own address", None)
        self.any = path.integer("any node", None)  #: what is claimed of it holds of all nodes
        self.forgotten: list[Term] = []  #: departed nodes that are not remembered, because there are too many
        path.know(self.id < AnyRing.size)
        path.know(EXISTED(self.id, self.place))  # by definition
        self.start = self._any_state()

    # -- nodes and states -----------------------------------------------------------------------------------------

    def other(self, about: str) -> Node:
        """Returns any node, of which nothing is known."""
        return record(self.path.integer(about, None), self.path.integer(f"address of {about}", None))

    def named(self, about: str) -> Node:
        """Returns a node that a message names."""
        found = self.other(about)
        if self.holds.truthful:
            self.path.know(*self.holds.of_named(*terms_of(found)).values())
        return found

    def any_held(self, departed: Departed, *more: Facts) -> Held:
        """Returns any nodes that satisfy the invariant, with more that holds of them."""

        def facts(node: Term, place: Term) -> list[Term]:
            found = self.holds.of_node(self.id, departed, node, place).values()
            return [*found, *(fact for one in more for fact in one(node, place))]

        return Held(self.path, "the tables", facts, departed)

    def _any_state(self) -> State:
        departed = Departed(self.path, smt.Function("has departed", _INT, _BOOL))
        ring: Any = AnyRing(self.path)
        own: Any = Number(self.id)
        address: Any = Number(ADDRESS(self.place))
        path = self.path
        score = AnyRows(path, partial(self._any_number, "node"), partial(self._any_number, "score"))
        stored = AnyRows(path, partial(self._any_number, "node"), lambda: NO_VERSIONS)
        ids: Any = AnyRows(path, partial(self._any_number, "node"), lambda: None)
        repairs: Any = AnyRows(path, partial(any_cell, path), lambda: Repair(cast("int", self._any_number("row")), ids))
        others: Any = {"scores": score, "cache": score, "stored": stored, "announcing": ids, "repairs": repairs}
        made: Any = {"departed": departed, "measured": Measured(self.any_held(departed)), "is_warned": smt.Bool("is warned")}
        state = State(address, Config(own, ring=ring, credentials=b"own"), **others, **made)
        return self.with_tables(state, self.any_held(departed))

    def _any_number(self, about: str) -> Number:
        return Number(smt.Int(self.path.fresh(about)))

    def with_tables(self, state: State, held: Held) -> State:
        """Returns a state with tables that have any of these nodes."""
        tables: Any = Cells(held), LeafSet(Members(held), Members(held)), Members(held)  # type: ignore[arg-type]
        return replace(state, routing_table=tables[0], leaf_set=tables[1], neighborhood_set=tables[2])

    def later(self, state: State, *more: Facts) -> State:
        """Returns any later state with the same departed nodes."""
        departed: Any = state.departed
        measured: Any = Measured(self.any_held(departed, *more))
        return replace(self.with_tables(state, self.any_held(departed, *more)), measured=measured)

    def own_record(self) -> Node:
        """Returns the node as others know it."""
        return record(self.id, self.place)

    # -- claims ---------------------------------------------------------------------------------------------------

    def claim_named(self, node: Node, is_there: Term | None = None) -> None:
        """Claims that a message may name this node, if it is there."""
        self._claim_each([(truth(True) if is_there is None else is_there, node)], self.holds.of_named)

    def claim_may_enter(self, state: State, node: Node) -> None:
        """Claims that a node may be inserted into the tables of a state; one with the own id is not inserted."""
        departed: Any = state.departed
        self._claim_each([(truth(True), node)], partial(replace(self.holds, own=False).of_node, self.id, departed))

    def claim_state(self, state: State) -> None:
        """Claims that a state satisfies the invariant."""
        departed: Any = state.departed
        tables = (state.routing_table, *state.leaf_set, state.neighborhood_set, state.measured)
        nodes = [one for table in tables for one in new_in(table, departed)]
        self._claim_each(nodes, partial(self.holds.of_node, self.id, departed))

    def claim_message(self, message: Any) -> None:
        """Claims that a message satisfies the invariant: its sender, and the nodes in its tables; not that of an application."""
        if isinstance(message, Application):
            return
        tables: Tables = getattr(message, "tables", Tables())
        named = [message.header.sender, *(entry.node for entry in tables.routing_table or ())]
        lists = (*(tables.leaf_set or ()), () if tables.neighborhood_set is None else tables.neighborhood_set)
        nodes = [*((truth(True), node) for node in named), *(one for nodes in lists for one in shown(nodes))]
        self._claim_each(nodes, self.holds.of_named)

    def _claim_each(self, nodes: Sequence[tuple[Term, Node]], facts: Callable[[Term, Term], Mapping[str, Term]]) -> None:
        """Claims that each node that is there satisfies all of these."""

        def goals() -> dict[str, Term]:
            found: dict[str, Term] = {}
            for is_there, node in nodes:
                for about, holds in facts(*terms_of(node)).items():
                    found[about] = smt.And(found.get(about, True), smt.Implies(is_there, holds))
            return found

        self.path.claim_all(goals)


def new_in(table: Any, departed: Departed) -> list[tuple[Term, Node]]:
    """Returns the nodes of a table that can be seen, without those that satisfy the invariant by its construction."""
    is_made = isinstance(table, Window) and table.held.departed is departed
    return list(table.shown_new()) if is_made else shown(table)
