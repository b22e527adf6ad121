"""
A node of SWIM on terms: a table of any number of rows, with any status; a queue; and sets of which nothing is known.

What the code looks at is decided when it looks at it, so that a path forks only where the code does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, term_of, which
from peerproof.spec.swim import Exchange, Incarnation, Row, Status
from peerproof.spec.swim.messages import AntiEntropy, Dead, IndirectAck, Joining, Leave, Normal, Suspicious
from peerproof.spec.swim.state import LIVE
from peerproof.spec.swim.table import RANK

#: Data of a node.
Data: Final = smt.DeclareSort("Data")

_INT, _BOOL = smt.IntSort(), smt.BoolSort()
_YES, _NO = smt.BoolVal(True), smt.BoolVal(False)

#: A status on terms is its place here.
STATUSES: Final = tuple(Status)
EXCHANGES: Final = tuple(Exchange)


def code(status: Status) -> int:
    """Returns the number that stands for a status."""
    return STATUSES.index(status)


def is_one_of(term: Term, statuses: Iterable[Status]) -> Term:
    """States that a status is one of these."""
    return smt.Or(*(term == code(status) for status in statuses))


# -- incarnations and keys --------------------------------------------------------------------------------------------


def incarnation(restart: Term, tx: Term) -> Incarnation:
    """Returns an incarnation of terms."""
    return Incarnation(restart, tx)


def any_incarnation(path: Path, name: str) -> Incarnation:
    """Returns any incarnation."""
    return incarnation(path.integer(f"{name}.restart"), path.integer(f"{name}.tx"))


def at_most(one: Incarnation, other: Incarnation) -> Term:
    """States that an incarnation is not above another."""
    return smt.Or(one.restart < other.restart, smt.And(one.restart == other.restart, one.tx <= other.tx))


def same(one: Incarnation, other: Incarnation) -> Term:
    """States that two incarnations are equal."""
    return smt.And(one.restart == other.restart, one.tx == other.tx)


class Seen(NamedTuple):
    """What a table says of one node: whether it has a row, and its fields."""

    has: Term
    status: Term
    restart: Term
    tx: Term
    has_payload: Term
    payload: Term

    @property
    def incarnation(self) -> Incarnation:
        """Its incarnation."""
        return incarnation(self.restart, self.tx)

    def is_one_of(self, *statuses: Status) -> Term:
        """States that there is a row with one of these statuses."""
        return smt.And(self.has, is_one_of(self.status, statuses))


def key_grows(before: Seen, after: Seen) -> Term:
    """States that the key of a row is not below what it was. [SA-13]"""

    def rank(seen: Seen) -> Term:
        found = smt.IntVal(0)
        for status, place in RANK.items():
            found = smt.If(seen.status == code(status), place, found)
        return found

    was_left, has_left = before.status == code(Status.LEAVE), after.status == code(Status.LEAVE)
    tx = smt.Or(before.tx < after.tx, smt.And(before.tx == after.tx, rank(before) <= rank(after)))
    left = smt.Or(smt.And(smt.Not(was_left), has_left), smt.And(was_left == has_left, tx))
    return smt.Or(before.restart < after.restart, smt.And(before.restart == after.restart, left))


# -- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Text:
    """The data of a node, or none."""

    has: Term
    data: Term

    def __ne__(self, other: object) -> Any:
        return smt.Function("is not the empty map", Data, _BOOL)(self.data)

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong


class AnyRow:
    """A row; `status` and `exchange` are decided when the code looks at them."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def status(self) -> Status:
        """Its status: one path for each that is possible."""
        found: Any = self._fields["status"]
        if not isinstance(found, Status):
            found = self._fields["status"] = STATUSES[which(found, len(STATUSES))]
        return cast("Status", found)

    @property
    def exchange(self) -> Exchange:
        """The progress of the introduction: one path for each that is possible."""
        found: Any = self._fields["exchange"]
        if not isinstance(found, Exchange):
            found = self._fields["exchange"] = EXCHANGES[which(found, len(EXCHANGES))]
        return cast("Exchange", found)

    @property
    def is_live(self) -> bool:
        """Like `Row`."""
        found = self._fields["status"]
        return found in LIVE if isinstance(found, Status) else bool(is_one_of(found, LIVE))

    def with_fields(self, **changes: Any) -> AnyRow:
        """Returns the row with other fields."""
        return AnyRow(**(self._fields | changes))

    def as_terms(self) -> Seen:
        """Returns what it says, as terms."""
        status, payload = self._fields["status"], self._fields["payload"]
        restart, tx = (smt.IntVal(part) if isinstance(part, int) else part for part in self.incarnation)
        data = Text(_NO, smt.Const("nothing", Data)) if payload is None else payload
        place = smt.IntVal(code(status)) if isinstance(status, Status) else status
        return Seen(_YES, place, restart, tx, data.has, data.data)


def replacing(value: Any, **changes: Any) -> Any:
    """Like `dataclasses.replace`, also for rows on terms."""
    return value.with_fields(**changes) if isinstance(value, AnyRow) else dataclasses.replace(value, **changes)


def is_same(one: Term, other: Term) -> bool:
    """Decides whether two nodes are the same."""
    return one.id == other.id or bool(one == other)


_FIELDS: Final = {"has": _BOOL, "status": _INT, "restart": _INT, "tx": _INT, "has_payload": _BOOL, "payload": Data}

#: What holds of what a table says of a node, by construction of the table.
Facts = Callable[[Term, Seen], Iterable[Term]]


class Neighbours:
    """A table with any number of rows; going through them gives `members`."""

    def __init__(self, path: Path, name: str, facts: Facts, members: tuple[Number, ...] = ()) -> None:
        self._path = path
        self._name = name
        self._facts = facts
        self._looked_up: list[tuple[Term, AnyRow | None]] = []
        self._seen: dict[Term, Seen] = {}
        self._functions: dict[str, Term] = {}
        self._changes: tuple[tuple[Term, AnyRow | None], ...] = ()
        self._origin = self
        self.members = members

    def at(self, node: Term) -> Seen:
        """Returns what the table says of a node."""
        found = self._origin.before(node)
        for known, changed in self._changes:
            now = found._replace(has=_NO) if changed is None else changed.as_terms()
            found = Seen(*(smt.If(known == node, new, old) for new, old in zip(now, found, strict=True)))
        return found

    def before(self, node: Term) -> Seen:
        """Returns what the table said of a node at first."""
        if node not in self._seen:
            found = Seen(*(self._function(field, kind)(node) for field, kind in _FIELDS.items()))
            self._seen[node] = found
            self._path.prefer_small(lambda: found.incarnation)
            self._path.know(found.status >= 0, found.status < len(STATUSES), found.restart >= 0, found.tx >= 0)
            self._path.know(*self._facts(node, found))
        return self._seen[node]

    def _function(self, field: str, kind: Term) -> Term:
        if field not in self._functions:
            self._functions[field] = smt.Function(f"{self._name}.{field}", _INT, kind)
        return self._functions[field]

    def get(self, key: Any) -> AnyRow | None:
        """Like `Table`."""
        node = term_of(key)
        for known, changed in reversed(self._changes):
            if is_same(known, node):
                return changed
        return self._origin.at_first(node)

    def at_first(self, node: Term) -> AnyRow | None:
        """Returns the row that a node had at first: the same one each time."""
        for known, found in self._looked_up:
            if is_same(known, node):
                return found
        seen = self.before(node)
        made = self._row(node, seen) if bool(seen.has) else None
        self._looked_up.append((node, made))
        return made

    def _row(self, node: Term, seen: Seen) -> AnyRow:
        exchange = self._function("exchange", _INT)(node)
        self._path.know(exchange >= 0, exchange < len(EXCHANGES))
        return AnyRow(
            host="host",
            port=1,
            status=seen.status,
            incarnation=seen.incarnation,
            payload=Text(seen.has_payload, seen.payload),
            exchange=exchange,
            misses=self._function("misses", _INT)(node),
            indirect_misses=self._function("indirect misses", _INT)(node),
            indirect_asked=self._function("indirect asked", _BOOL)(node),
            unanswered=AnySet(self._path),
        )

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: Any) -> AnyRow:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def put(self, rows: Mapping[Any, Any]) -> Neighbours:
        """Like `Table`."""
        return self._changed(*((term_of(key), as_any(new)) for key, new in rows.items()))

    def without(self, keys: Collection[Any]) -> Neighbours:
        """Like `Table`."""
        return self._changed(*((term_of(key), None) for key in keys))

    @property
    def changed(self) -> tuple[Term, ...]:
        """The nodes whose rows were put or deleted."""
        return tuple(node for node, _ in self._changes)

    def _changed(self, *changes: tuple[Term, AnyRow | None]) -> Neighbours:
        found = Neighbours(self._path, self._name, self._facts, self.members)
        found._origin = self._origin
        found._changes = (*self._changes, *changes)
        return found

    def items(self) -> list[tuple[Number, AnyRow]]:
        """Like `Table`, of the members."""
        return [(member, found) for member in self.members if (found := self.get(member)) is not None]

    def keys_where(self, holds: Callable[[Any], bool]) -> tuple[Number, ...]:
        """Like `Table`, of the members."""
        return tuple(member for member, found in self.items() if holds(found))


def as_any(made: Any) -> AnyRow:
    """Returns a row on terms."""
    if isinstance(made, AnyRow):
        return made
    return AnyRow(**{field.name: getattr(made, field.name) for field in dataclasses.fields(Row)})


class AnySet:
    """A set, or a sequence, of which nothing is known: each answer is any."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asked: dict[Term, bool] = {}

    def _any(self, what: str) -> bool:
        return bool(smt.Bool(self._path.fresh(what)))

    def __contains__(self, member: object) -> bool:
        term = term_of(member)
        if term not in self._asked:
            self._asked[term] = self._any("contains it")
        return self._asked[term]

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 2 if self._any("has two or more") else 0

    def __bool__(self) -> bool:
        return True

    def _other(self, _: object) -> AnySet:
        return AnySet(self._path)

    __or__ = __ror__ = __and__ = __rand__ = __sub__ = _other


# -- statements about nodes -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnyEvent:
    """A queued event of any kind."""

    node: Number
    status: Term
    names_incarnation: Term
    incarnation: Incarnation


class Statement(NamedTuple):
    """What a part of a message says of a node: its status, and its incarnation if it is named."""

    node: Term
    status: Term
    names_incarnation: Term
    incarnation: Incarnation


_GIVES: Final = {
    Joining: Status.JOINING,
    Normal: Status.NORMAL,
    Suspicious: Status.SUSPICIOUS,
    Dead: Status.DEAD,
    Leave: Status.LEAVE,
}


def statements(vector: Any) -> Iterator[Statement]:
    """Yields what a vector says of nodes."""
    normal = smt.IntVal(code(Status.NORMAL))
    match vector:
        case AnyEvent(node, status, names, said):
            yield Statement(node.term, status, names, said)
        case AntiEntropy(members):
            for member in members:
                yield Statement(term_of(member.uuid), normal, _YES, incarnation(member.restart_counter, member.tx_counter))
        case IndirectAck(node, said):
            yield Statement(term_of(node), normal, _YES, said)
        case Joining() | Normal() | Suspicious() | Dead() | Leave():
            names = _NO if vector.incarnation is None else _YES
            at = vector.incarnation or incarnation(smt.IntVal(0), smt.IntVal(0))
            yield Statement(term_of(vector.node), smt.IntVal(code(_GIVES[type(vector)])), names, at)
