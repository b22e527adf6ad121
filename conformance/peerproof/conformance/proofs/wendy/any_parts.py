"""
The functions that a step of Wendy goes through again and again, each run by itself on any state that satisfies the invariant.

Where other code calls one of them, what it needs is claimed, and any state is returned that it may leave. So a message may name
any number of nodes, and any number of nodes may be at one address.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.followed import Followed
from peerproof.conformance.proofs.paths import Term
from peerproof.conformance.proofs.terms import Number, term_of, truth
from peerproof.conformance.proofs.wendy.any_node import ADDRESS, HAS_ADDRESS, AnyNode
from peerproof.conformance.proofs.wendy.any_tables import (
    Departed,
    Entries,
    Held,
    Known,
    Members,
    Window,
    any_cell,
    shown,
    terms_of,
)
from peerproof.spec.core import Step
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.wendy import LeafSet, Node, State, Tables, joining, proximity, repair, routing, tables
from peerproof.spec.wendy import state as state_module


class Parts:
    """What the parts of a step may leave: any state that they are shown to leave, after a claim of what they need."""

    def __init__(self, node: AnyNode) -> None:
        self.node = node
        self.path = node.path

    def within(self, *inner: str) -> AbstractContextManager[None]:
        """Returns a context in which these parts are not run but stand for all that they may do."""
        return self.path.on_terms(_followed.within(self, _overrides(inner)))

    # -- what stands for Python's own, and for the state's ----------------------------------------------------------

    def len(self, table: Any) -> Any:
        """Returns the length of a table: any, but not 0 if it has nodes."""
        return Number(table.visible.length) if isinstance(table, Window) else builtins.len(table)

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
        return Number(self.path.integer(self.path.fresh("place"), 0, table.visible.length))

    def any_answer(self, about: str) -> bool:
        """Returns either answer to a question."""
        return bool(smt.Bool(self.path.fresh(about)))

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
            yield self.node.any_held(departed).member()  # it is in one of these tables, and the same holds in each

    # -- parts ------------------------------------------------------------------------------------------------------

    def in_routing_table(self, state: State, node: Node) -> Any:
        """The same table, or any with a node that may enter it."""
        self.node.claim_may_enter(state, node)
        return state.routing_table.put({any_cell(self.path): node}) if self.any_answer("changes") else state.routing_table  # type: ignore[dict-item]

    def in_leaf_set(self, state: State, node: Node) -> LeafSet:
        """The same leaf set, or any other, with a node that may enter it."""
        self.node.claim_may_enter(state, node)
        departed: Any = state.departed
        changed = self.node.with_tables(state, self.node.any_held(departed)).leaf_set
        return changed if self.any_answer("changes") else state.leaf_set

    def in_neighborhood_set(self, state: State, node: Node) -> tuple[Node, ...]:
        """The same neighborhood set, or any with a node that may enter it."""
        self.node.claim_may_enter(state, node)
        return (node,) if self.any_answer("changes") else state.neighborhood_set

    def insert_node(self, state: State, node: Node, mask: Any = None) -> State:  # noqa: ARG002  # in any tables
        """Any tables, after a node that may enter them."""
        self.node.claim_may_enter(state, node)
        departed: Any = state.departed
        return self.node.with_tables(state, self.node.any_held(departed))

    def remove_node(self, state: State, gone: Any) -> State:
        """Any tables without this node."""
        departed: Any = state.departed
        return self.node.with_tables(state, self.node.any_held(departed, lambda node, _: [node != term_of(gone)]))

    def update_address(self, state: State, node: Node) -> State:
        """Any tables, after a node that has existed with its addresses."""
        self.node.claim_named(node)
        departed: Any = state.departed
        return self.node.with_tables(state, self.node.any_held(departed))

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
        departed = Departed(self.path, smt.Function(self.path.fresh("has departed"), smt.IntSort(), smt.BoolSort()))
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
        is_forgotten = smt.BoolVal(False) if forgotten is None else node == forgotten
        was_known = held_by(state).has(gone)
        return {
            "the departed stay departed": smt.Implies(before.has(node), smt.Or(after.has(node), is_forgotten)),
            "a known node that goes is departed": smt.Implies(
                smt.And(node == gone, was_known), smt.Or(after.has(node), is_forgotten)
            ),
            "no other is departed": smt.Implies(after.has(node), smt.Or(before.has(node), node == gone)),
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


_followed: Final = Followed[Parts]()
_of_path: Final = _followed.method


@cache
def _overrides(inner: tuple[str, ...]) -> overriding:
    """Returns the overrides of these parts, and those of all paths: lengths, searches, scores, addresses, next hops."""
    names: dict[str, Any] = {}
    names |= names_in(tables, **{name: _of_path(name) for name in ("len", "enumerate", "bisect_left")})
    names |= names_in(proximity, len=_of_path("len")) | names_in(repair, len=_of_path("len"), max=_of_path("max"))
    names |= names_in(state_module, address_of=_of_path("address_of")) | names_in(joining, is_newer=_of_path("is_newer"))
    names |= names_in(routing, next_hop=_next_hop, next_hop_of_join=_next_hop)
    names |= names_in(State, at=_at, score=_any_score)
    names |= names_in(State, known=property(lambda state: Known(held_by(state))))
    names |= names_in(State, node=property(lambda _: _followed.innermost.node.own_record()))
    return overriding(names | {place: _of_path(place.rpartition(".")[2]) for place in inner})


def _next_hop(state: State, _: Any) -> Node | None:
    """Returns any known node, or none: the same one for one key does not matter here."""
    return held_by(state).member() if _followed.innermost.any_answer("has a next hop") else None


def _at(state: State, address: Any) -> Iterator[Node]:
    """Yields a node at an address."""
    return _followed.innermost.at(state, address)


def _any_score(_: State, __: Any) -> Number:
    """Returns any score."""
    return Number(smt.Int(_followed.innermost.path.fresh("score")))


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
