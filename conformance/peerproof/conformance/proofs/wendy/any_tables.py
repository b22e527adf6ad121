"""
The tables of a Wendy node, of any size, on terms.

A table, in a state or in a message, has any number of nodes. Code that goes through all of them gets any one, or none; code that
looks for one finds any, or none. Places and scores are any, too: so it is open which node is kept, and which is dropped.
A node has a number for its id and one for its addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, term_of
from peerproof.spec.wendy import Entry, Id, Node, State
from peerproof.spec.wendy.state import MOST_DEPARTED, MOST_MEASURED

_INT, _BOOL = smt.IntSort(), smt.BoolSort()


def record(node: Term, place: Term) -> Node:
    """Returns a node with this id and these addresses."""
    id, address = cast("Id", Number(node)), cast("str", Number(place))
    return Node(id, address, "", 1)


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
        return bool(smt.Bool(self.path.fresh("is on the right")))

    def clockwise(self, _: Any, __: Any) -> Number:
        """Returns a number of steps."""
        return Number(smt.Int(self.path.fresh("steps")))


def any_cell(path: Path) -> tuple[Number, Number]:
    """Returns any cell of a routing table."""
    return Number(smt.Int(path.fresh("row"))), Number(smt.Int(path.fresh("column")))


#: What holds of a node by its place in a table, by its id and its addresses.
Facts = Callable[[Term, Term], Iterable[Term]]


class Held:
    """The nodes in the tables of a state, or of a message: which ids there are, and what holds of each node."""

    def __init__(self, path: Path, about: str, facts: Facts, departed: Departed | None = None) -> None:
        self.path = path
        self.has = smt.Function(path.fresh(f"is in {about}"), _INT, _BOOL)
        self.facts = facts
        self.departed = departed  #: with these departed nodes, each node satisfies the invariant

    def of(self, node: Term, place: Term) -> Term:
        """States all that holds of a node in these tables."""
        return smt.And(self.has(node), *self.facts(node, place))

    def symbols(self) -> tuple[Term, Term]:
        """Returns the symbols of a node."""
        return self.path.integer(self.path.fresh("node"), None), self.path.integer(self.path.fresh("address"), None)

    def member(self) -> Node:
        """Returns any node in these tables."""
        node, place = self.symbols()
        self.path.note((self, node, place))
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
        self.added: tuple[tuple[Term, Node], ...] = ()  #: with whether each is still there

    @cached_property
    def visible(self) -> Seen:
        """The node that can be seen; it is made where code first looks at it."""
        node, place = self.held.symbols()
        seen = Seen(node, place, smt.Bool(self.path.fresh("has nodes")), self.path.integer(self.path.fresh("length")))
        self.path.know(smt.Implies(seen.there, smt.And(self.held.of(node, place), seen.length > 0)))
        return seen

    def shown(self) -> Iterator[tuple[Term, Node]]:
        """Yields the nodes that can be seen, with whether they are there."""
        yield self.visible.there, self.visible.record

    def shown_new(self) -> Iterator[tuple[Term, Node]]:
        """Yields those that were added, with whether they are there."""
        return iter(self.added)

    def any_answer(self, about: str) -> bool:
        """Returns either answer to a question."""
        return bool(smt.Bool(self.path.fresh(about)))


class Members(Window):
    """A side of a leaf set, or a neighborhood set."""

    def __iter__(self) -> Iterator[Node]:
        if bool(self.visible.there):
            yield self.visible.record

    def __getitem__(self, place: Any) -> Any:
        """Returns any node; of a part, nothing is seen: its nodes were in the table before."""
        return () if isinstance(place, slice) else self.held.member()

    def __bool__(self) -> bool:
        return bool(self.visible.there)

    def __eq__(self, other: object) -> bool:
        """Compares with what a filter has left: if the node that was seen has gone, they differ."""
        if isinstance(other, Members):
            return self is other
        has_lost = isinstance(other, tuple) and not other and bool(self.visible.there)
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

    def _changed(self, has_lost: bool, *added: Node) -> Cells:  # what is there and what is new
        found = Cells(self.held)
        vars(found).update(
            visible=self.visible, has_lost=has_lost, added=(*self.added, *((smt.BoolVal(True), node) for node in added))
        )
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
        yield smt.And(self.visible.there, *(self.visible.node != one for one in self.gone)), self.visible.record
        yield from self.shown_new()

    def __contains__(self, node: Any) -> bool:
        return bool(self.has(term_of(node)))

    def get(self, node: Any, default: Any = None) -> Any:
        """Like `Table`."""
        return self._at(term_of(node)) if node in self else default

    def _at(self, node: Term) -> Node:
        place = self.path.integer(self.path.fresh("address"), None)
        self.path.know(smt.Implies(self.held.has(node), self.held.of(node, place)))
        return record(node, place)

    def put(self, rows: Mapping[Any, Node]) -> Measured:
        """Like `Table`, for one node that is not measured yet."""
        ((key, node),) = rows.items()
        at = term_of(key)
        return self._changed(lambda n: smt.Or(n == at, self.has(n)), (*self.added, (smt.BoolVal(True), node)), self.gone)

    def without(self, keys: Iterable[Any]) -> Measured:
        """Like `Table`, for one node."""
        (at,) = map(term_of, keys)
        added = tuple((smt.And(is_there, term_of(node.id) != at), node) for is_there, node in self.added)
        return self._changed(lambda n: smt.And(n != at, self.has(n)), added, (*self.gone, at))

    def _changed(self, has: Callable[[Term], Term], added: tuple[tuple[Term, Node], ...], gone: tuple[Term, ...]) -> Measured:
        found = Measured(self.held)
        vars(found).update(visible=self.visible, has=has, added=added, gone=gone)
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
        if bool(smt.Bool(self.held.path.fresh("knows others"))):
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
        return Departed(self.path, lambda n: smt.Or(self.has(n), *(n == other for other in more)))

    def __sub__(self, others: Any) -> Departed:
        less = [term_of(other) for other in others]
        return Departed(self.path, lambda n: smt.And(self.has(n), *(n != other for other in less)))

    def __len__(self) -> int:
        return MOST_DEPARTED + 1 if bool(smt.Bool(self.path.fresh("many have departed"))) else 0


class AnyRows:
    """A table, or a set, of which nothing is known: each answer is any. Going through it gives any key, or none."""

    def __init__(self, path: Path, key: Callable[[], Any], row: Callable[[], Any]) -> None:
        self._path, self._key, self._row = path, key, row

    def _any(self) -> bool:
        return bool(smt.Bool(self._path.fresh("is there")))

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


class Entries:
    """The routing table of a message."""

    def __init__(self, members: Members) -> None:
        self.members = members

    def __iter__(self) -> Iterator[Entry]:
        return (Entry(*any_cell(self.members.path), node) for node in self.members)  # type: ignore[arg-type]


def shown(table: Any) -> list[tuple[Term, Node]]:
    """Returns the nodes of a table that can be seen, with whether they are there."""
    if isinstance(table, Window):
        return list(table.shown())
    return [(smt.BoolVal(True), node) for node in (table.values() if isinstance(table, Mapping) else table)]


def shown_in(state: State) -> list[tuple[Term, Node]]:
    """Returns the nodes of all three tables that can be seen."""
    return [one for table in (state.routing_table, *state.leaf_set, state.neighborhood_set) for one in shown(table)]
