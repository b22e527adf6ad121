"""
Any node of any cluster of Wendy: its tables of any size, what holds of each node that they have, and claims of it.

A table, in a state or in a message, has any number of nodes. Code that goes through all of them gets any one, or none; code that
looks for one finds any, or none. So does code that asks for a place in a table, or for a score: which node is kept in a table, and
which is dropped, is any. A node has a number for its id and one for its addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, term_of, truth
from peerproof.spec.wendy import Application, Config, LeafSet, Node, State
from peerproof.spec.wendy.messages import NO_VERSIONS, Entry, Tables
from peerproof.spec.wendy.state import MOST_DEPARTED, MOST_MEASURED, Repair

_INT, _BOOL = z3.IntSort(), z3.BoolSort()

#: Whether a node with this id has ever been at these addresses: it only grows. [WA-52]
EXISTED: Final = z3.Function("has existed", _INT, _INT, _BOOL)

#: The address that a node is sent to, and whether it has one. [WA-52]
ADDRESS: Final = z3.Function("address", _INT, _INT)
HAS_ADDRESS: Final = z3.Function("has an address", _INT, _BOOL)


def record(node: Term, place: Term) -> Node:
    """Returns a node with this id and these addresses."""
    made: Any = Number(node), Number(place)
    return Node(*made, "", 1)


def terms_of(node: Node) -> tuple[Term, Term]:
    """Returns the id and the addresses of a node."""
    return term_of(node.id), term_of(node.local_ip)


@dataclass(frozen=True)
class AnyRing:
    """A ring of any size, with digits of any kind: all that is asked of it may have any answer."""

    path: Path
    size: int = 2**128

    def cell(self, _: Any, __: Any) -> tuple[Number, Number]:
        """Returns the row and the column of a node."""
        return any_cell(self.path)

    def is_right(self, _: Any, __: Any) -> bool:
        """Whether a node is on the right."""
        return bool(z3.Bool(self.path.fresh("is on the right")))

    def clockwise(self, _: Any, __: Any) -> Number:
        """Returns a number of steps."""
        return Number(z3.Int(self.path.fresh("steps")))


def any_cell(path: Path) -> tuple[Number, Number]:
    """Returns any cell of a routing table."""
    return Number(z3.Int(path.fresh("row"))), Number(z3.Int(path.fresh("column")))


#: What holds of a node by its place in a table, by its id and its addresses.
Facts = Callable[[Term, Term], Iterable[Term]]


class Held:
    """The nodes in the tables of a state, or of a message: which ids there are, and what holds of each node."""

    def __init__(self, path: Path, about: str, facts: Facts, departed: Departed | None = None) -> None:
        self.path = path
        self.has = z3.Function(path.fresh(f"is in {about}"), _INT, _BOOL)
        self.facts = facts
        self.departed = departed  #: with these departed nodes, each node satisfies the invariant

    def of(self, node: Term, place: Term) -> Term:
        """States all that holds of a node in these tables."""
        return z3.And(self.has(node), *self.facts(node, place))

    def symbols(self) -> tuple[Term, Term]:
        """Returns the symbols of a node."""
        return self.path.integer(self.path.fresh("node"), None), self.path.integer(self.path.fresh("address"), None)

    def member(self) -> Node:
        """Returns any node in these tables."""
        node, place = self.symbols()
        self.path.know(self.of(node, place))
        return record(node, place)


class Seen(NamedTuple):
    """The node of a table that can be seen."""

    node: Term
    place: Term
    there: Term  #: whether the table has nodes
    length: Term  #: the number of nodes

    @property
    def record(self) -> Node:
        """The node with its addresses."""
        return record(self.node, self.place)


class Window:
    """One table, of any size. Going through it gives any one of its nodes, always the same, or none."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self.path = held.path
        self.added: tuple[Node, ...] = ()

    @cached_property
    def seen(self) -> Seen:
        """The node that can be seen; it is made where code first looks at it."""
        node, place = self.held.symbols()
        seen = Seen(node, place, z3.Bool(self.path.fresh("has nodes")), self.path.integer(self.path.fresh("length")))
        self.path.know(z3.Implies(seen.there, z3.And(self.held.of(node, place), seen.length > 0)))
        return seen

    def shown(self) -> Iterator[tuple[Term, Node]]:
        """Yields the nodes that can be seen, with whether they are there."""
        yield self.seen.there, self.seen.record

    def shown_new(self) -> Iterator[tuple[Term, Node]]:
        """Yields those that were added."""
        return ((z3.BoolVal(True), node) for node in self.added)

    def any_answer(self, about: str) -> bool:
        """Returns either answer to a question."""
        return bool(z3.Bool(self.path.fresh(about)))


class Members(Window):
    """A side of a leaf set, or a neighborhood set."""

    def __iter__(self) -> Iterator[Node]:
        if bool(self.seen.there):
            yield self.seen.record

    def __getitem__(self, place: Any) -> Any:
        """Returns any node; of a part, nothing is seen: its nodes were in the table before."""
        return () if isinstance(place, slice) else self.held.member()

    def __bool__(self) -> bool:
        return bool(self.seen.there)

    def __eq__(self, other: object) -> bool:
        """Compares with what a filter has left: if the node that was seen has gone, they differ."""
        if isinstance(other, Members):
            return self is other
        has_lost = isinstance(other, tuple) and not other and bool(self.seen.there)
        return not has_lost and self.any_answer("none has gone")

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong


class Cells(Window):
    """A routing table."""

    def __init__(self, held: Held) -> None:
        super().__init__(held)
        self.has_lost = False

    def shown(self) -> Iterator[tuple[Term, Node]]:
        """Yields the nodes that can be seen, with whether they are there."""
        if not self.has_lost:
            yield from super().shown()
        yield from self.shown_new()

    def get(self, _: Any) -> Node | None:
        """Like `Table`."""
        return self.held.member() if self.any_answer("the cell is occupied") else None

    def put(self, rows: Mapping[Any, Node]) -> Cells:
        """Like `Table`."""
        return self._changed(self.has_lost, *rows.values())

    def without(self, cells: Iterable[Any]) -> Cells:
        """Like `Table`."""
        return self._changed(self.has_lost or bool(cells))

    def _changed(self, has_lost: bool, *added: Node) -> Cells:  # noqa: FBT001  # what is there and what is new
        found = Cells(self.held)
        vars(found).update(seen=self.seen, has_lost=has_lost, added=(*self.added, *added))
        return found

    def items(self) -> Iterator[tuple[tuple[Number, Number], Node]]:
        """Like `Table`, for the nodes that are seen."""
        yield from ((any_cell(self.path), node) for is_there, node in self.shown() if bool(is_there))

    def values(self) -> Iterator[Node]:
        """Like `Table`."""
        return (node for _, node in self.items())

    def __iter__(self) -> Iterator[tuple[Number, Number]]:
        return (cell for cell, _ in self.items())

    def __contains__(self, cell: object) -> bool:
        return self.any_answer("the cell is occupied")


class Measured(Window):
    """The nodes that are being measured."""

    def __init__(self, held: Held) -> None:
        super().__init__(held)
        self.has: Callable[[Term], Term] = held.has
        self.gone: tuple[Term, ...] = ()

    def shown(self) -> Iterator[tuple[Term, Node]]:
        """Yields the nodes that can be seen, with whether they are there."""
        yield z3.And(self.seen.there, *(self.seen.node != one for one in self.gone)), self.seen.record
        yield from self.shown_new()

    def shown_new(self) -> Iterator[tuple[Term, Node]]:
        """Yields those that were added, with whether they are still there."""
        return ((z3.And(*(term_of(node.id) != one for one in self.gone)), node) for node in self.added)

    def __contains__(self, node: Any) -> bool:
        return bool(self.has(term_of(node)))

    def get(self, node: Any, default: Any = None) -> Any:
        """Like `Table`."""
        return self._at(term_of(node)) if node in self else default

    def _at(self, node: Term) -> Node:
        place = self.path.integer(self.path.fresh("address"), None)
        self.path.know(z3.Implies(self.held.has(node), self.held.of(node, place)))
        return record(node, place)

    def put(self, rows: Mapping[Any, Node]) -> Measured:
        """Like `Table`, for one node that is not measured yet."""
        ((key, node),) = rows.items()
        at = term_of(key)
        return self._changed(lambda n: z3.Or(n == at, self.has(n)), (*self.added, node), self.gone)

    def without(self, keys: Iterable[Any]) -> Measured:
        """Like `Table`, for one node."""
        (at,) = map(term_of, keys)
        return self._changed(lambda n: z3.And(n != at, self.has(n)), self.added, (*self.gone, at))

    def _changed(self, has: Callable[[Term], Term], added: tuple[Node, ...], gone: tuple[Term, ...]) -> Measured:
        found = Measured(self.held)
        vars(found).update(seen=self.seen, has=has, added=added, gone=gone)
        return found

    def values(self) -> Iterator[Node]:
        """Like `Table`, for the nodes that are seen."""
        return (node for is_there, node in self.shown() if bool(is_there))

    def __iter__(self) -> Iterator[Any]:
        return (node.id for node in self.values())

    def __len__(self) -> int:
        return MOST_MEASURED if self.any_answer("many are measured") else 0


class Known:
    """All nodes in the tables of a state, by their ids: as `State.known`."""

    def __init__(self, held: Held) -> None:
        self.held = held

    def __contains__(self, node: Any) -> bool:
        return bool(self.held.has(term_of(node)))

    def get(self, node: Any, default: Any = None) -> Any:
        """Like `Table`."""
        if node not in self:
            return default
        at, place = term_of(node), self.held.path.integer(self.held.path.fresh("address"), None)
        self.held.path.know(self.held.of(at, place))
        return record(at, place)

    def values(self) -> Iterator[Node]:
        """Yields any of them, or none."""
        if bool(z3.Bool(self.held.path.fresh("knows others"))):
            yield self.held.member()


class Departed:
    """The departed nodes, of any number."""

    def __init__(self, path: Path, has: Callable[[Term], Term]) -> None:
        self.path = path
        self.has = has

    def __contains__(self, node: Any) -> bool:
        return bool(self.has(term_of(node)))

    def __or__(self, others: Any) -> Departed:
        more = [term_of(other) for other in others]
        return Departed(self.path, lambda n: z3.Or(self.has(n), *(n == other for other in more)))

    def __sub__(self, others: Any) -> Departed:
        less = [term_of(other) for other in others]
        return Departed(self.path, lambda n: z3.And(self.has(n), *(n != other for other in less)))

    def __len__(self) -> int:
        return MOST_DEPARTED + 1 if bool(z3.Bool(self.path.fresh("many have departed"))) else 0


class AnyRows:
    """A table, or a set, of which nothing is known: each answer is any. Going through it gives any key, or none."""

    def __init__(self, path: Path, key: Callable[[], Any], row: Callable[[], Any]) -> None:
        self._path, self._key, self._row = path, key, row

    def _any(self) -> bool:
        return bool(z3.Bool(self._path.fresh("is there")))

    def __contains__(self, _: object) -> bool:
        return self._any()

    def __getitem__(self, _: object) -> Any:
        return self._row()

    def get(self, _: object, default: Any = None) -> Any:
        """Like `Table`."""
        return self._row() if self._any() else default

    def __iter__(self) -> Iterator[Any]:
        if self._any():
            yield self._key()

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Like `Table`."""
        return ((key, self._row()) for key in self)

    def __bool__(self) -> bool:
        return self._any()

    def _same(self, _: object) -> AnyRows:
        return self

    put = without = __sub__ = _same


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
            found["no departed node is in a table"] = z3.Not(departed.has(node))
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

    def held(self, departed: Departed, *more: Facts) -> Held:
        """Returns any nodes that satisfy the invariant, with more that holds of them."""

        def facts(node: Term, place: Term) -> list[Term]:
            found = self.holds.of_node(self.id, departed, node, place).values()
            return [*found, *(fact for one in more for fact in one(node, place))]

        return Held(self.path, "the tables", facts, departed)

    def _any_state(self) -> State:
        departed = Departed(self.path, z3.Function("has departed", _INT, _BOOL))
        ring: Any = AnyRing(self.path)
        own: Any = Number(self.id)
        address: Any = Number(ADDRESS(self.place))
        path = self.path
        score = AnyRows(path, lambda: Number(z3.Int(path.fresh("node"))), lambda: Number(z3.Int(path.fresh("score"))))
        stored = AnyRows(path, lambda: Number(z3.Int(path.fresh("node"))), lambda: NO_VERSIONS)
        ids = AnyRows(path, lambda: Number(z3.Int(path.fresh("node"))), lambda: None)
        repairs: Any = AnyRows(path, lambda: any_cell(path), lambda: Repair(Number(z3.Int(path.fresh("row"))), ids))  # type: ignore[arg-type]
        others: Any = {"scores": score, "cache": score, "stored": stored, "announcing": ids, "repairs": repairs}
        made: Any = {"departed": departed, "measured": Measured(self.held(departed)), "is_warned": z3.Bool("is warned")}
        state = State(address, Config(own, ring=ring, credentials=b"own"), **others, **made)
        return self.with_tables(state, self.held(departed))

    def with_tables(self, state: State, held: Held) -> State:
        """Returns a state with tables that have any of these nodes."""
        tables: Any = Cells(held), LeafSet(Members(held), Members(held)), Members(held)  # type: ignore[arg-type]
        return replace(state, routing_table=tables[0], leaf_set=tables[1], neighborhood_set=tables[2])

    def later(self, state: State, *more: Facts) -> State:
        """Returns any later state with the same departed nodes."""
        departed: Any = state.departed
        measured: Any = Measured(self.held(departed, *more))
        return replace(self.with_tables(state, self.held(departed, *more)), measured=measured)

    def own_record(self) -> Node:
        """Returns the node as others know it."""
        return record(self.id, self.place)

    # -- claims ---------------------------------------------------------------------------------------------------

    def claim_named(self, node: Node, is_there: Term = True) -> None:  # noqa: FBT002  # a condition
        """Claims that a message may name this node, if it is there."""
        named = self.holds.of_named(*terms_of(node))
        self.path.claim_all(lambda: {about: z3.Implies(is_there, holds) for about, holds in named.items()})

    def claim_may_enter(self, state: State, node: Node) -> None:
        """Claims that a node may be inserted into the tables of a state; one with the own id is not inserted."""
        departed: Any = state.departed
        holds = replace(self.holds, own=False)
        self.path.claim_all(lambda: holds.of_node(self.id, departed, *terms_of(node)))

    def claim_state(self, state: State) -> None:
        """Claims that a state satisfies the invariant."""
        departed: Any = state.departed
        tables = (state.routing_table, *state.leaf_set, state.neighborhood_set, state.measured)
        nodes = [one for table in tables for one in (new_in(table, departed))]

        def goals() -> dict[str, Term]:
            found: dict[str, Term] = {}
            for is_there, node in nodes:
                for about, holds in self.holds.of_node(self.id, departed, *terms_of(node)).items():
                    found[about] = z3.And(found.get(about, True), z3.Implies(is_there, holds))
            return found

        self.path.claim_all(goals)

    def claim_message(self, message: Any) -> None:
        """Claims that a message satisfies the invariant: its sender, and the nodes in its tables; not that of an application."""
        if isinstance(message, Application):
            return
        sender = message.header.sender
        tables: Tables = getattr(message, "tables", Tables())
        entries = [(truth(True), entry.node) for entry in tables.routing_table or ()]
        sides = [one for side in tables.leaf_set or () for one in shown(side)]
        named = [
            (truth(True), sender),
            *entries,
            *sides,
            *shown(() if tables.neighborhood_set is None else tables.neighborhood_set),
        ]

        def goals() -> dict[str, Term]:
            found: dict[str, Term] = {}
            for is_there, node in named:
                for about, holds in self.holds.of_named(*terms_of(node)).items():
                    found[about] = z3.And(found.get(about, True), z3.Implies(is_there, holds))
            return found

        self.path.claim_all(goals)


def shown(table: Any) -> list[tuple[Term, Node]]:
    """Returns the nodes of a table that can be seen, with whether they are there."""
    if isinstance(table, Window):
        return list(table.shown())
    return [(z3.BoolVal(True), node) for node in (table.values() if isinstance(table, Mapping) else table)]


def new_in(table: Any, departed: Departed) -> list[tuple[Term, Node]]:
    """Returns the nodes of a table that can be seen, without those that satisfy the invariant by its construction."""
    is_made = isinstance(table, Window) and table.held.departed is departed
    return list(table.shown_new()) if is_made else shown(table)


def shown_in(state: State) -> list[tuple[Term, Node]]:
    """Returns the nodes of all three tables that can be seen."""
    return [one for table in (state.routing_table, *state.leaf_set, state.neighborhood_set) for one in shown(table)]


class Entries:
    """The routing table of a message."""

    def __init__(self, members: Members) -> None:
        self.members = members

    def __iter__(self) -> Iterator[Entry]:
        return (Entry(*any_cell(self.members.path), node) for node in self.members)  # type: ignore[arg-type]
