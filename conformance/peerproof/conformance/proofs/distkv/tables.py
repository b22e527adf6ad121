"""
Tables of a DistKV node on Z3 terms, with any number of rows: ticks, sets of ticks, entries; and a state whose fields are chosen
when the code first reads them.

A table with any number of rows is a function of its key. Where code goes through all rows, it gets those of `members`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, choice, term_of
from peerproof.spec.distkv import Config, Phase, State
from peerproof.spec.distkv.entries import Entry

_NOTHING: Final = smt.BoolVal(val=False)


def any_truth(path: Path, about: str) -> bool:
    """Returns either; follows one path for each."""
    return bool(smt.Bool(path.fresh(about)))


class AnySet:
    """A set of ticks, like `Ranges`: any number of them."""

    def __init__(self, holds: Callable[[Term], Term], last: Term | None = None) -> None:
        self.holds = holds
        self.last = last  #: the highest tick, if the code asks for it

    def has(self, tick: Any) -> Term:
        """Like `Ranges`."""
        return self.holds(term_of(tick))

    def with_tick(self, tick: Any) -> AnySet:
        """Like `Ranges`."""
        return AnySet(lambda t: smt.Or(t == term_of(tick), self.holds(t)))

    def union(self, other: AnySet) -> AnySet:
        """Like `Ranges`."""
        return AnySet(lambda t: smt.Or(self.holds(t), other.holds(t)))

    def difference(self, other: AnySet) -> AnySet:
        """Like `Ranges`."""
        return AnySet(lambda t: smt.And(self.holds(t), smt.Not(other.holds(t))))

    def intersection(self, other: AnySet) -> AnySet:
        """Like `Ranges`."""
        return AnySet(lambda t: smt.And(self.holds(t), other.holds(t)))

    def is_empty(self) -> bool:
        """False: a row with an empty set says as much as no row."""
        return False

    @property
    def ends(self) -> tuple[Number]:
        """The end of the last range."""
        assert self.last is not None
        return (Number(self.last + 1),)


def set_of_ticks(ticks: Iterable[Any]) -> AnySet:
    """Returns the set of these ticks, like `of_ticks`."""
    found = [term_of(tick) for tick in ticks]
    return AnySet(lambda t: smt.Or(*(t == tick for tick in found)))


def ticks_up_to(tick: Any) -> AnySet:
    """Returns the ticks from 1 on, like `up_to`."""
    return AnySet(lambda t: smt.And(t >= 1, t <= term_of(tick)))


class AnySets:
    """Sets of ticks by node, like `Table`."""

    def __init__(self, path: Path, holds: Callable[[Term, Term], Term], members: tuple[tuple[Number, Term | None], ...]) -> None:
        self._path = path
        self.holds = holds
        self.members = members  #: nodes, each with its last tick if the code asks for it

    def __bool__(self) -> bool:
        return any_truth(self._path, "there are ticks")

    def __contains__(self, node: Any) -> bool:
        return any_truth(self._path, "has ticks of the node")

    def __getitem__(self, node: Any) -> AnySet:
        return AnySet(lambda t: self.holds(term_of(node), t))

    def get(self, node: Any, _: Any = None) -> AnySet:
        """Like `Table`; a node without ticks has an empty set."""
        return self[node]

    def items(self) -> list[tuple[Number, AnySet]]:
        """Like `Table`, for the members."""
        return [(node, AnySet(self[node].holds, last)) for node, last in self.members]

    def put(self, rows: Mapping[Any, AnySet]) -> AnySets:
        """Like `Table`."""
        holds = self.holds
        for node, ticks in rows.items():
            holds = _with_set(holds, term_of(node), ticks)
        return AnySets(self._path, holds, self.members)


def _with_set(holds: Callable[[Term, Term], Term], node: Term, ticks: AnySet) -> Callable[[Term, Term], Term]:
    return lambda n, t: smt.If(n == node, ticks.holds(t), holds(n, t))


class AnyTicks:
    """A number for each node, like `Table`; -1 stands for none."""

    def __init__(self, at: Callable[[Term], Term], members: tuple[Number, ...] = ()) -> None:
        self.at = at
        self.members = members

    def get(self, node: Any, default: int = -1) -> Any:
        """Like `Table`."""
        found = self.at(term_of(node))
        return Number(smt.If(found < 0, default, found))

    def items(self) -> list[tuple[Number, Number]]:
        """Like `Table`, for the members."""
        return [(node, Number(self.at(node.term))) for node in self.members]

    def __iter__(self) -> Iterator[Number]:
        return iter(self.members)

    def __bool__(self) -> bool:
        return bool(self.members)

    def put(self, rows: Mapping[Any, Any]) -> AnyTicks:
        """Like `Table`."""
        at = self.at
        for node, tick in rows.items():
            at = _with_number(at, term_of(node), term_of(tick))
        return AnyTicks(at, (*self.members, *rows))

    def raised(self, pairs: Iterable[tuple[Any, Any]]) -> AnyTicks:
        """Returns the highest number of each node, here or in the pairs."""
        at = self.at
        for node, tick in pairs:
            at = _raised(at, term_of(node), term_of(tick))
        return AnyTicks(at, self.members)


def _with_number(at: Callable[[Term], Term], node: Term, tick: Term) -> Callable[[Term], Term]:
    return lambda n: smt.If(n == node, tick, at(n))


def _raised(at: Callable[[Term], Term], node: Term, tick: Term) -> Callable[[Term], Term]:
    return lambda n: smt.If(smt.And(n == node, tick > at(n)), tick, at(n))


class Row(NamedTuple):
    """What claims are about, of the entry at a path: whether there is one, the change at its head, its value and tock."""

    has: Term
    node: Term
    tick: Term
    value: Term
    tock: Term


def row_of(entry: Entry) -> Row:
    """Returns the row of an entry."""
    head = entry.chain.head
    return Row(smt.BoolVal(val=True), term_of(head.node), term_of(head.tick), entry.value, term_of(entry.tock))


class AnyRows:
    """Entries by path, like `Table`."""

    def __init__(
        self,
        path: Path,
        row: Callable[[Term], Row],
        entry: Callable[[Number], Entry],
        members: tuple[Number, ...] = (),
        written: tuple[tuple[Any, Entry], ...] = (),
    ) -> None:
        self._path = path
        self._row = row
        self._entry = entry
        self.members = members
        self.written = written  #: what was put, the last one last

    def at(self, place: Term) -> Row:
        """Returns what claims are about, of any path."""
        found = self._row(place)
        for key, entry in self.written:
            found = Row(*(smt.If(place == term_of(key), new, old) for new, old in zip(row_of(entry), found, strict=True)))
        return found

    def get(self, at: Number) -> Entry | None:
        """Like `Table`."""
        for key, entry in self.written[::-1]:
            if at == key:
                return entry
        return self._entry(at) if bool(self._row(at.term).has) else None

    def items(self) -> list[tuple[Number, Entry]]:
        """Like `Table`, for those members that there are."""
        return [(at, entry) for at in self.members if (entry := self.get(at)) is not None]

    def values(self) -> list[Entry]:
        """Like `Table`."""
        return [entry for _, entry in self.items()]

    def __bool__(self) -> bool:
        return any_truth(self._path, "there are entries")

    def put(self, rows: Mapping[Any, Entry]) -> AnyRows:
        """Like `Table`."""
        return AnyRows(self._path, self._row, self._entry, self.members, (*self.written, *rows.items()))


def table_of(path: Path, rows: Mapping[Any, Any]) -> Any:
    """Returns a table with these rows, like `Table`: numbers or sets of ticks."""
    if any(isinstance(row, Number) for row in rows.values()):
        return AnyTicks(lambda _: smt.IntVal(-1)).put(rows)
    return AnySets(path, lambda *_: _NOTHING, tuple((node, None) for node in rows)).put(rows)


def rows_of(path: Path, rows: Mapping[Any, Entry]) -> AnyRows:
    """Returns a table with these entries, like `Table`."""
    anything = next(map(row_of, rows.values()), Row(*(_NOTHING,) * 5))

    def nothing(_: Any) -> Any:
        return anything._replace(has=_NOTHING)

    return AnyRows(path, nothing, nothing, tuple(rows), tuple(rows.items()))


class AnyNames:
    """A set of names or timers; which ones are in it is any."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __contains__(self, _: Any) -> bool:
        return any_truth(self._path, "is in the set")

    def __or__(self, _: Any) -> AnyNames:
        return self

    def __sub__(self, _: Any) -> AnyNames:
        return self

    def __iter__(self) -> Iterator[Number]:
        yield Number(smt.Int(self._path.fresh("name in the set")))


# -- states -----------------------------------------------------------------------------------------------------------


class Lazy:
    """A value that is chosen when it is first read."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: list[Any] = []

    def value(self) -> Any:
        """Returns the value; the same one each time."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def become(self, other: Lazy) -> None:
        """Takes the value that another one has, if it has one."""
        self._made = other._made


class AnyPhase(Lazy):
    """Any phase; whether the node participates is chosen before which phase it is."""

    def __init__(self, path: Path) -> None:
        self.participates = Lazy(lambda: any_truth(path, "participates"))
        phases = {True: (Phase.SETTLING, Phase.READY), False: (Phase.EMPTY, Phase.OLD)}
        super().__init__(lambda: phases[self.participates.value()][choice(path, "phase", 2)])


class AnyRecord:
    """A record; fields may be `Lazy`."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = dict(fields)

    def __getattr__(self, name: str) -> Any:
        if name == "fields" or name not in self.fields:
            raise AttributeError(name)
        found = self.fields[name]
        return found.value() if isinstance(found, Lazy) else found


class AnyState(AnyRecord):
    """A state, with the fields and properties of `State`."""

    def __init__(self, path: Path, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self._path = path

    missing, position = State.missing, State.position

    @property
    def own_tick(self) -> Any:
        """As of `State`, without a case distinction."""
        return self.ticks.get(self.self_id, 0)

    @property
    def participates(self) -> bool:
        """As of `State`."""
        phase = self.fields["phase"]
        if isinstance(phase, AnyPhase):
            return bool(phase.participates.value())
        return phase in (Phase.SETTLING, Phase.READY)

    @property
    def message_tick(self) -> Number:
        """The tick that its messages show: its own or 0, as `the_tick_that_is_shown` says."""
        shown = smt.Int(self._path.fresh("shown tick"))
        self._path.know(smt.Or(shown == 0, shown == self.own_tick.term))
        return Number(shown)

    @property
    def misses(self) -> bool:
        """Whether changes are missing: either."""
        return any_truth(self._path, "misses changes")

    def replaced(self, **changes: Any) -> AnyState:
        """Like `dataclasses.replace`."""
        assert changes.keys() <= self.fields.keys()
        return AnyState(self._path, {**self.fields, **changes})


def replacing(value: Any, **changes: Any) -> Any:
    """Like `dataclasses.replace`, also for states on terms."""
    if isinstance(value, AnyState):
        return value.replaced(**changes)
    return AnyRecord({**value.fields, **changes}) if isinstance(value, AnyRecord) else dataclasses.replace(value, **changes)


def any_config(path: Path, **fields: Any) -> Any:
    """Returns a configuration: the lengths of chains are the least, or more than any chain here has."""

    def length(name: str, most: int) -> Lazy:
        return Lazy(lambda: (1, most)[choice(path, f"{name} is long", 2)])

    lengths = {"change_length": length("change_length", 63), "ping_length": length("ping_length", 4)}
    return AnyRecord({field.name: getattr(Config(), field.name) for field in dataclasses.fields(Config)} | lengths | fields)
