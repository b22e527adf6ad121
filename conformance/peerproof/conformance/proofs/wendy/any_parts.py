"""
The functions that a step of Wendy goes through again and again, each run by itself on any state that satisfies the invariant.

Where other code calls one of them, what it needs is claimed, and any state is returned that it may leave. So a message may name any
number of nodes, and any number of nodes may be at one address.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any, Final

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.conformance.proofs.wendy.any_node import (
    ADDRESS,
    HAS_ADDRESS,
    AnyNode,
    Cells,
    Departed,
    Entries,
    Held,
    Known,
    Measured,
    Members,
    Window,
    any_cell,
    shown,
    shown_in,
    terms_of,
)
from peerproof.spec.core import Send, Step
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.wendy import Header, LeafSet, Node, State, StateData, Tables, joining, proximity, repair, routing, tables
from peerproof.spec.wendy import state as state_module

#: The getter of `State.known`, which a proof runs by itself.
_KNOWN: Final = vars(State)["known"].func


class Parts:
    """What the parts of a step may leave: any state that they are shown to leave, after a claim of what they need."""

    def __init__(self, node: AnyNode) -> None:
        self.node = node
        self.path = node.path

    def within(self, *inner: str) -> AbstractContextManager[None]:
        """Returns a context in which these parts are not run but stand for all that they may do."""
        return _within(self, inner)

    # -- what stands for Python's own, and for the state's ----------------------------------------------------------

    def len(self, table: Any) -> Any:
        """Returns the length of a table: any, but not 0 if it has nodes."""
        return Number(table.seen.length) if isinstance(table, Window) else builtins.len(table)

    def enumerate(self, table: Any) -> Iterator[tuple[Any, Any]]:
        """Returns what a search finds in a table: any node, or none."""
        if not isinstance(table, Members):
            yield from builtins.enumerate(table)
        elif self.any_answer("is found"):
            yield self.any_place(table), table.held.member()

    def bisect_left(self, side: Any, _: Any, key: Any) -> Number:  # noqa: ARG002  # the signature of `bisect_left`
        """Returns any place in a table."""
        return self.any_place(side)

    def max(self, _: Any, key: Any) -> Number:  # noqa: ARG002  # the signature of `max`
        """Returns the departed node that is farthest: any."""
        forgotten = self.path.integer(self.path.fresh("forgotten"), None)
        self.node.forgotten.append(forgotten)
        return Number(forgotten)

    def any_place(self, table: Members) -> Number:
        """Returns any place in a table, or behind it."""
        return Number(self.path.integer(self.path.fresh("place"), 0, table.seen.length))

    def any_answer(self, about: str) -> bool:
        """Returns either answer to a question."""
        return bool(z3.Bool(self.path.fresh(about)))

    def is_newer(self, *_: Any) -> bool:
        """Compares versions: either answer."""
        return self.any_answer("is newer")

    def address_of(self, _: Any, node: Node) -> Any:
        """Returns the address of a node, if it has one."""
        _, place = terms_of(node)
        return Number(ADDRESS(place)) if HAS_ADDRESS(place) else None

    def at(self, state: State, _: Any) -> Iterator[Node]:
        """Yields a node at an address: any that is known, or being measured; one after the other, so one stands for all."""
        if self.any_answer("a node is there"):
            departed: Any = state.departed
            yield self.node.held(departed).member()  # it is in one of these tables, and the same holds in each

    # -- parts ------------------------------------------------------------------------------------------------------

    def in_routing_table(self, state: State, node: Node) -> Any:
        """The same table, or any with a node that may enter it."""
        self.node.claim_may_enter(state, node)
        return state.routing_table.put({any_cell(self.path): node}) if self.any_answer("changes") else state.routing_table  # type: ignore[dict-item]

    def in_leaf_set(self, state: State, node: Node) -> LeafSet:
        """The same leaf set, or any other, with a node that may enter it."""
        self.node.claim_may_enter(state, node)
        departed: Any = state.departed
        changed = self.node.with_tables(state, self.node.held(departed)).leaf_set
        return changed if self.any_answer("changes") else state.leaf_set

    def in_neighborhood_set(self, state: State, node: Node) -> tuple[Node, ...]:
        """The same neighborhood set, or any with a node that may enter it."""
        self.node.claim_may_enter(state, node)
        return (node,) if self.any_answer("changes") else state.neighborhood_set

    def insert_node(self, state: State, node: Node, mask: Any = None) -> State:  # noqa: ARG002  # in any tables
        """Any tables, after a node that may enter them."""
        self.node.claim_may_enter(state, node)
        departed: Any = state.departed
        return self.node.with_tables(state, self.node.held(departed))

    def remove_node(self, state: State, gone: Any) -> State:
        """Any tables without this node."""
        departed: Any = state.departed
        return self.node.with_tables(state, self.node.held(departed, lambda node, _: [node != term_of(gone)]))

    def update_address(self, state: State, node: Node) -> State:
        """Any tables, after a node that has existed with its addresses."""
        self.node.claim_named(node)
        departed: Any = state.departed
        return self.node.with_tables(state, self.node.held(departed))

    def consider_node(self, state: State, node: Node, *, is_leaf: bool) -> State:  # noqa: ARG002  # as a leaf or not
        """Any later state, after a node that has existed with its addresses."""
        self.node.claim_named(node)
        return self.node.later(state)

    def learn_tables(self, state: State, sender: Node, said: Tables) -> Any:
        """Any later state, after a message whose nodes have existed."""
        for is_there, node in ((truth(True), sender), *shown_in_message(said)):
            self.node.claim_named(node, is_there)
        return Step(self.node.later(state))

    def refresh_score(self, state: State, *_: Any) -> State:
        """Any later state."""
        self.node.claim_state(state)
        return self.node.later(state)

    def advance_repair(self, state: State, _: Any) -> Any:
        """The same state: of its repairs nothing is known."""
        return Step(state)

    def advance_all(self, state: State) -> Any:
        """The same state: of its repairs nothing is known."""
        return Step(state)

    def prune(self, state: State) -> State:
        """The same state: of its scores and versions nothing is known."""
        return state

    def select_tables(self, state: State, *_: Any) -> Tables:
        """No tables: those of a state that satisfies the invariant may be sent."""
        self.node.claim_state(state)
        return Tables()

    def announce(self, state: State) -> Any:
        """The same state, but that announcements are under way; these satisfy the invariant."""
        self.node.claim_state(state)
        return Step(replace(state, is_warned=False))

    def on_departure(self, state: State, gone: Any) -> Any:
        """Any later state in which the node has gone."""
        self.node.claim_state(state)
        before: Any = state.departed
        departed = Departed(self.path, z3.Function(self.path.fresh("has departed"), z3.IntSort(), z3.BoolSort()))
        forgotten = term_of(self.max((), None))
        for node in (self.node.any, term_of(gone)):
            self.path.know(*self.leaves_of_departure(state, term_of(gone), before, departed, forgotten, node).values())
        return Step(self.node.later(replace(state, departed=departed), lambda node, _: [node != term_of(gone)]))  # type: ignore[arg-type]

    def query_leaf_set(self, *_: Any) -> tuple[Any, ...]:
        """No messages: those that are sent satisfy the invariant by themselves."""
        return ()

    query_neighborhood = query_leaf_set

    def leaves_of_departure(
        self, state: State, gone: Term, before: Departed, after: Departed, forgotten: Term | None, node: Term
    ) -> dict[str, Term]:
        """Returns how the departed nodes change if one goes, of any node."""
        is_forgotten = z3.BoolVal(False) if forgotten is None else node == forgotten
        was_known = held_by(state).has(gone)
        return {
            "the departed stay departed": z3.Implies(before.has(node), z3.Or(after.has(node), is_forgotten)),
            "a known node that goes is departed": z3.Implies(
                z3.And(node == gone, was_known), z3.Or(after.has(node), is_forgotten)
            ),
            "no other is departed": z3.Implies(after.has(node), z3.Or(before.has(node), node == gone)),
        }


def held_by(state: State) -> Held:
    """Returns the nodes in the tables of a state."""
    table: Any = state.routing_table
    held: Held = table.held
    return held


def shown_in_message(said: Tables) -> list[tuple[Term, Node]]:
    """Returns the nodes in the tables of a message that can be seen."""
    entries: Any = said.routing_table or ()
    routing_table = entries.members if isinstance(entries, Entries) else ()
    return [
        one
        for table in (routing_table, *(said.leaf_set or ()), () if said.neighborhood_set is None else said.neighborhood_set)
        for one in shown(table)
    ]


#: What is asked for the parts of the path that is followed: the innermost one last.
_parts: Final[list[Parts]] = []


def _of_path(name: str) -> Callable[..., Any]:
    """Returns a function that is a method of the parts of the path that is followed."""

    def call(*args: Any, **named: Any) -> Any:
        return getattr(_parts[-1], name)(*args, **named)

    return call


@cache
def _overrides(inner: tuple[str, ...]) -> overriding:
    """Returns the overrides of these parts, and those of all paths: lengths, searches, scores, addresses, next hops."""
    names: dict[str, Any] = {}
    names |= names_in(tables, **{name: _of_path(name) for name in ("len", "enumerate", "bisect_left")})
    names |= names_in(proximity, len=_of_path("len")) | names_in(repair, len=_of_path("len"), max=_of_path("max"))
    names |= names_in(state_module, address_of=_of_path("address_of")) | names_in(joining, is_newer=_of_path("is_newer"))
    names |= names_in(routing, next_hop=_next_hop, next_hop_of_join=_next_hop)
    names |= names_in(State, at=lambda state, address: _parts[-1].at(state, address), score=_any_score)
    names |= names_in(State, known=property(lambda state: Known(held_by(state))))
    names |= names_in(State, node=property(lambda _: _parts[-1].node.own_record()))
    return overriding(names | {place: _of_path(place.rpartition(".")[2]) for place in inner})


def _next_hop(state: State, _: Any) -> Node | None:
    """Returns any known node, or none: the same one for one key does not matter here."""
    return held_by(state).member() if _parts[-1].any_answer("has a next hop") else None


def _any_score(_: State, __: Any) -> Number:
    """Returns any score."""
    return Number(z3.Int(_parts[-1].path.fresh("score")))


@contextmanager
def _within(parts: Parts, inner: tuple[str, ...]) -> Iterator[None]:
    _parts.append(parts)
    try:
        with _overrides(inner):
            yield
    finally:
        _parts.pop()


#: The parts by their functions.
INSERT, REMOVE, UPDATE, SELECT, CELL, LEAF, NEIGHBOUR = (
    f"peerproof.spec.wendy.tables.{name}"
    for name in (
        *("insert_node", "remove_node", "update_address", "select_tables"),
        *("in_routing_table", "in_leaf_set", "in_neighborhood_set"),
    )
)
CONSIDER, LEARN, REFRESH, PRUNE = (
    f"peerproof.spec.wendy.proximity.{name}" for name in ("consider_node", "learn_tables", "refresh_score", "prune")
)
DEPART, ADVANCE, ADVANCE_ALL, ASK_LEAF, ASK_NEIGHBOURS = (
    f"peerproof.spec.wendy.repair.{name}"
    for name in ("on_departure", "advance_repair", "advance_all", "query_leaf_set", "query_neighborhood")
)
ANNOUNCE: Final = "peerproof.spec.wendy.joining.announce"
ALL: Final = (
    *(CELL, LEAF, NEIGHBOUR, INSERT, REMOVE, UPDATE, SELECT, CONSIDER, LEARN, REFRESH, PRUNE),
    *(DEPART, ADVANCE, ADVANCE_ALL, ASK_LEAF, ASK_NEIGHBOURS, ANNOUNCE),
)

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
            after = replace(start, routing_table=tables.in_routing_table(start, one))
        elif kind == 1:
            after = replace(start, leaf_set=tables.in_leaf_set(start, one))
        else:
            after = replace(start, neighborhood_set=tables.in_neighborhood_set(start, one))
    claim_tables(node, after)


def one_insertion(node: AnyNode) -> None:
    """A node is tried in the leaf set, or in all tables."""
    one, mask = may_enter(node), (tables.Mask(leaf_set=True), tables.ALL)[choice(node.path, "tables", 2)]
    with Parts(node).within(CELL, LEAF, NEIGHBOUR):
        after = tables.insert_node(node.start, one, mask)
    claim_frame(node, after)


def one_removal(node: AnyNode) -> None:
    """A node is removed from all tables."""
    gone = node.other("node").id
    with Parts(node).within():
        after = tables.remove_node(node.start, gone)
    claim_tables(node, after)
    node.path.claim_all(lambda: {"it is in no table": _is_absent(term_of(gone), shown_in(after))})


def _is_absent(gone: Term, nodes: list[tuple[Term, Node]]) -> Term:
    return z3.And(*(z3.Implies(is_there, term_of(node.id) != gone) for is_there, node in nodes))


def one_address(node: AnyNode) -> None:
    """A node names its addresses."""
    one = node.named("node")
    with Parts(node).within():
        after = tables.update_address(node.start, one)
    claim_tables(node, after)


def one_consideration(node: AnyNode) -> None:
    """A node is seen in a message."""
    one, is_leaf = node.named("node"), bool(z3.Bool("is a leaf"))
    with Parts(node).within(INSERT):
        after = proximity.consider_node(node.start, one, is_leaf=is_leaf)
    claim_frame(node, after, "measured", "scores")


def some_tables(node: AnyNode) -> None:
    """The tables of a message."""
    sender, said = node.named("sender"), any_tables(node)
    with Parts(node).within(CONSIDER, UPDATE):
        after, effects = proximity.learn_tables(node.start, sender, said)
    claim_frame(node, after, "measured")
    claim_sent(node, effects)


def one_selection(node: AnyNode) -> None:
    """Tables are selected for another node."""
    with Parts(node).within():
        found = tables.select_tables(node.start, any_mask(node))
    node.claim_message(StateData(Header(node.own_record(), node.own_record().id), found))


def any_mask(node: AnyNode) -> tables.Mask:
    """Returns any mask, of one row or of all."""
    rows: Any = (Number(node.path.integer("asked row")),) if bool(z3.Bool("asks for a row")) else ()
    wanted = [z3.Bool(f"asks for the {name}") for name in ("routing table", "leaf set", "neighborhood set")]
    return tables.Mask(*wanted, rows=rows)


def one_announcement(node: AnyNode) -> None:
    """The node announces itself."""
    with Parts(node).within(SELECT):
        after, effects = joining.announce(node.start)
    claim_frame(node, after, "announcing", "is_warned")
    claim_sent(node, effects)


def any_tables(node: AnyNode, *, at_once: bool = False) -> Tables:
    """Returns the tables of a message; the node that can be seen in them is in any one of them, or at once in all."""
    holds = node.holds
    held = Held(node.path, "a message", lambda at, place: holds.of_named(at, place).values() if holds.truthful else ())
    one: Any = Members(held)
    entries: Any = Entries(one)
    if at_once:
        return Tables(entries if bool(z3.Bool("has a routing table")) else None, LeafSet(one, ()), one)
    kind = choice(node.path, "the table of a node", 3)
    if kind == 0:
        return Tables(routing_table=entries)
    return Tables(leaf_set=LeafSet(one, ())) if kind == 1 else Tables(leaf_set=LeafSet(), neighborhood_set=one)


def one_score(node: AnyNode) -> None:
    """A message was confirmed."""
    to: Any = Number(node.path.integer("address"))
    with Parts(node).within(INSERT, NEIGHBOUR):
        after = proximity.refresh_score(node.start, to, 1)
    claim_frame(node, after, "measured", "scores", "cache")


def scores_pruned(node: AnyNode) -> None:
    """Scores and versions of other nodes are dropped."""
    with Parts(node).within():
        after = proximity.prune(node.start)
    claim_frame(node, after, "scores", "stored")


def one_repair(node: AnyNode) -> None:
    """The repair of a cell goes on."""
    with Parts(node).within():
        after, effects = repair.advance_repair(node.start, any_cell(node.path))  # type: ignore[arg-type]  # of numbers
    claim_frame(node, after, "repairs")
    claim_sent(node, effects)


def all_repairs(node: AnyNode) -> None:
    """All repairs go on."""
    with Parts(node).within(ADVANCE):
        after, effects = repair.advance_all(node.start)
    claim_frame(node, after, "repairs")
    claim_sent(node, effects)


def one_departure(node: AnyNode) -> None:
    """A node has gone."""
    gone, parts = node.other("node").id, Parts(node)
    with parts.within(REMOVE, ADVANCE, ASK_LEAF, ASK_NEIGHBOURS):
        after, effects = repair.on_departure(node.start, gone)
    claim_frame(node, after, "measured", "departed", "repairs")
    claim_sent(node, effects)
    nodes = [*shown_in(after), *shown(after.measured)]
    node.path.claim_all(lambda: {"it is in no table": _is_absent(term_of(gone), nodes)})
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
        node.path.know(z3.Not(table.seen.there))
    known = _KNOWN(start)
    nodes = shown_in(start)
    for is_there, one in nodes:
        node.path.claim("each is known", z3.Implies(is_there, truth(one.id in known)))
    for one in known.values():
        node.path.claim("each is in a table", z3.Or(*(z3.And(is_there, same_node(one, other)) for is_there, other in nodes)))


def same_node(one: Node, other: Node) -> Term:
    """States that two nodes have the same id and the same addresses."""
    return z3.And(*(mine == its for mine, its in zip(terms_of(one), terms_of(other), strict=True)))


PARTS: Final = (
    *(one_departure, one_consideration, one_address, one_table, one_insertion, one_score, scores_pruned, one_selection),
    *(one_announcement, one_repair, all_repairs, some_questions, some_tables, one_removal, all_that_is_known),
)
