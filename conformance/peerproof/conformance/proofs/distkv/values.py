"""The values of counterexamples about DistKV: names, paths, values, sets of ticks, and the entries that were looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.proofs import smt, values
from peerproof.conformance.proofs.distkv.any_node import NULL, Change, Place, change_of
from peerproof.conformance.proofs.distkv.parts import ROOT_PATH
from peerproof.conformance.proofs.distkv.tables import (
    AnyNames,
    AnyPhase,
    AnyRecord,
    AnyRows,
    AnySet,
    AnySets,
    AnyState,
    AnyTicks,
    Lazy,
)
from peerproof.conformance.proofs.paths import Call, Term
from peerproof.conformance.proofs.terms import Number
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Table
from peerproof.spec.distkv import (
    Config,
    DeleteValue,
    Element,
    Phase,
    RecoveryDue,
    RecoveryStep,
    SetValue,
    State,
    Update,
    transitions,
)
from peerproof.spec.distkv.chains import Chain, Claim
from peerproof.spec.distkv.entries import Entries, Entry
from peerproof.spec.distkv.paths import ROOT, Path, path_of
from peerproof.spec.distkv.ranges import Ranges, of_ticks
from peerproof.spec.distkv.values import NULL as NULL_VALUE
from peerproof.spec.distkv.values import Value, value_of

_NOW: Final = Instant(0)
_OTHER: Final = NodeId("other")


class Values(values.Values):
    """The values of one counterexample."""

    node_type = "NodeId"
    cluster: Mapping[str, tuple[str, ...]] = {
        "last tick of": ("NodeId", ""),
        "path of": ("NodeId", "", ""),
        "value of": ("NodeId", "", ""),
        "tock of": ("NodeId", "", ""),
        "has received": ("NodeId", "", ""),
    }

    def begin(self) -> None:
        """Collects the changes, the paths and the entries of which something is known."""
        self._paths: dict[bytes, int] = {}  #: numbers by the paths that stand for them
        self._values: dict[bytes, Term] = {NULL_VALUE: self.model.eval(NULL)}
        changes = [self._change(note) for note in self.refutation.notes if isinstance(note, Change)]
        entries = [note for note in self.refutation.notes if not isinstance(note, Change)]
        self._entries: dict[int, Entry] = {self.number(at): entry for at, entry in entries}
        for entry in self._entries.values():
            changes += [self._change(change_of(element)) for element in entry.chain.elements]
        self._changes = sorted(dict.fromkeys(changes))
        of = smt.Function("path of", *(smt.IntSort(),) * 3)
        paths = {self.number(of(*map(smt.IntVal, change))) for change in self._changes}
        at = self.refutation.symbols.get("any path")
        self._places = sorted({*paths, *self._entries, *([] if at is None else [self.number(at)])})

    def arguments(self, call: Call) -> tuple[Any, ...]:
        """Returns the arguments of a call; a timer that expires runs."""
        match super().arguments(call):
            case (State() as state, Expired() as event, *others):
                return (*_running(state, event), *others)
            case found:
                return found

    def _change(self, change: Change) -> tuple[int, int]:
        return self.number(change.node), self.number(change.tick)

    @property
    def _nodes(self) -> list[int]:
        """The nodes of which something is known."""
        return sorted({node for node, _ in self._changes})

    # -- terms to values --------------------------------------------------------------------------------------------

    def tables(self) -> Mapping[type[Any], values.OfTable]:
        """Returns how tables and records on terms become values."""
        return {
            Lazy: self._lazy,
            AnyState: lambda state, _: self._state(state),
            AnyRecord: lambda record, _: self._config(record),
            AnyTicks: lambda ticks, _: self._ticks(ticks),
            AnySets: lambda sets, _: self._sets(sets),
            AnySet: lambda ticks, _: self._set(ticks),
            AnyRows: lambda rows, _: self._rows(rows),
            AnyNames: lambda _, __: frozenset(),
            Place: lambda place, _: self._path(self.number(place.term)),
        }

    def scalars(self) -> Mapping[str, Callable[[int], Any]]:
        """Returns the names of nodes, and paths."""
        return {"NodeId": self._name, "Path": self._path}

    def _name(self, number: int) -> NodeId:
        return NodeId(self.named(number, lambda rank: f"n{rank:0{len(str(len(self._ranks)))}}"))

    def _path(self, number: int) -> Path:
        is_root = number == self.number(ROOT_PATH)
        found = ROOT if is_root else path_of([f"path {number}"])
        self._paths[found] = number
        return found

    def text(self, term: Term) -> Any:
        """Returns the value that stands for a term."""
        found = self.model.eval(term)
        known = [value for value, other in self._values.items() if other is found]
        value = Value(known[0]) if known else value_of(f"value {len(self._values)}")
        self._values[value] = found
        return value

    def _lazy(self, lazy: Lazy, hint: Any) -> Any:
        """Returns a value that code has read; None for one that it has not."""
        if isinstance(lazy, AnyPhase):
            participates = lazy.participates._made  # noqa: SLF001
            made = lazy._made or [Phase.EMPTY if participates == [False] else Phase.READY]  # noqa: SLF001
            return made[0]
        return self.value(lazy._made[0], hint) if lazy._made else None  # noqa: SLF001

    def _config(self, record: AnyRecord) -> Config:
        lengths = {"change_length", "ping_length"}
        found = {name: self.value(field) for name, field in record.fields.items()}
        return Config(**{name: field for name, field in found.items() if not (name in lengths and field is None)})

    def _state(self, state: AnyState) -> State:
        hints = {field.name: values.hints_of(State).get(field.name) for field in dataclasses.fields(State)}
        return State(**{name: self.value(field, hints[name]) for name, field in state.fields.items()})

    def _ticks(self, ticks: AnyTicks) -> Table[NodeId, int]:
        nodes = {*self._nodes, *map(self.number, ticks.members)}
        found = {node: self.number(ticks.at(smt.IntVal(node))) for node in nodes}
        return Table({self._name(node): tick for node, tick in found.items() if tick >= 0})

    def _sets(self, sets: AnySets) -> Table[NodeId, Ranges]:
        changes = [*self._changes, *((self.number(node), self.number(last)) for node, last in sets.members if last is not None)]
        rows: dict[NodeId, set[int]] = {}
        for node, tick in changes:
            if tick > 0 and self.truth(sets.holds(smt.IntVal(node), smt.IntVal(tick))):
                rows.setdefault(self._name(node), set()).add(tick)
        return Table({node: of_ticks(sorted(ticks)) for node, ticks in rows.items()})

    def _set(self, ticks: AnySet) -> Ranges:
        return of_ticks(sorted({tick for _, tick in self._changes if tick > 0 and self.truth(ticks.holds(smt.IntVal(tick)))}))

    def _rows(self, rows: AnyRows) -> Table[Path, Entry]:
        found = {self._path(at): self._entry(rows, at) for at in self._places if self.truth(rows._row(smt.IntVal(at)).has)}  # noqa: SLF001
        for at, entry in rows.written:
            found[self._path(self.number(at))] = self.value(entry)
        return Table(found)

    def _entry(self, rows: AnyRows, at: int) -> Entry:
        if at in self._entries:
            made: Entry = self.value(self._entries[at])
            return made
        row = rows._row(smt.IntVal(at))  # noqa: SLF001
        head = Element(self._name(self.number(row.node)), self.number(row.tick))
        return Entry(Chain((head,), cut=True), self.text(row.value), self.number(row.tock))

    def whole_steps(self, arguments: tuple[Any, ...]) -> Iterator[values.WholeStep]:
        """Yields steps with the change, the update, the answer that is due, or an update that competes with an entry."""
        match arguments:
            case (State() as state, bytes(at), bytes(value)):
                command = DeleteValue(Path(at)) if value == NULL_VALUE else SetValue(Path(at), Value(value))
                yield _whole(replace(state, phase=Phase.READY), Asked(_NOW, command))
            case (State() as state, Update() as update):
                yield _whole(state, Received(_NOW, _OTHER, update))
            case (State() as state,):
                yield _whole(*_running(state, Expired(_NOW, RecoveryDue(RecoveryStep.KNOWN))))
            case ((mine, head), (its, other)) if isinstance(head, Element) and isinstance(other, Element):
                yield self._conflict(Claim(mine, head), Claim(its, other))

    def _conflict(self, one: Claim, other: Claim) -> values.WholeStep:
        """Returns the step of a node that holds one of two changes of an entry, and receives the other."""
        at, value = path_of(["path"]), value_of("value")
        held = Entry(Chain((other.head,)), value_of("another value"), other.tock)
        tick = other.head.tick or 0
        ticks, known = Table({other.head.node: tick}), Table({other.head.node: of_ticks([tick])})
        own = NodeId("own")
        state = State(own, Config(), Phase.READY, other.tock, ticks, Entries(Table({at: held}), known))
        event = Received(_NOW, _OTHER, Update(Chain((one.head,)), at, value, one.tock))
        return values.WholeStep(transitions.step, state, event, lambda taken: taken.state.entries.rows[at].chain.head == one.head)

    def instances(self) -> Iterator[Mapping[str, int]]:
        """Yields each change as any change, with its path as any path."""
        of = smt.Function("path of", *(smt.IntSort(),) * 3)
        for node, tick in self._changes:
            yield {"any node": node, "any tick": tick, "any path": self.number(of(smt.IntVal(node), smt.IntVal(tick)))}

    # -- values to terms --------------------------------------------------------------------------------------------

    def is_state(self, value: Any) -> bool:
        """Whether this is a state of a node."""
        return isinstance(value, State)

    def lifted_number(self, number: int) -> Any:
        """Returns a tick or a tock as a term."""
        return Number(smt.IntVal(number))

    def lifted(self, value: Any, hint: Any = None) -> Any:
        """Returns a value as terms."""
        if isinstance(value, bytes):
            return Number(smt.IntVal(self._paths[value])) if value in self._paths else self._values.get(value, value)
        if isinstance(value, Table) and value:
            if any(isinstance(row, Ranges) for row in value.values()):
                members = tuple((self.lifted(node), smt.IntVal(row.ends[-1] - 1)) for node, row in value.items())
                return AnySets(self.path, _holds([*self._ticks_in(value)]), members)
            return _put(AnyTicks(lambda _: smt.IntVal(-1)), {self.lifted(node): self.lifted(row) for node, row in value.items()})
        return super().lifted(value, hint)

    def _ticks_in(self, sets: Table[NodeId, Ranges]) -> Iterator[tuple[int, int, int]]:
        """Yields nodes with ranges of their ticks."""
        for node, ranges in sets.items():
            number = self.number(self.lifted(node))
            yield from ((number, begin, end) for begin, end in zip(ranges.begins, ranges.ends, strict=True))

    def lifted_state(self, after: State, before: State, own: AnyState) -> AnyState:
        """Returns a state as terms: what has not changed is what it was on terms."""
        names = [field.name for field in dataclasses.fields(State)]
        changed = {
            name: self.lifted_field(name, getattr(after, name), getattr(before, name), own)
            for name in names
            if name != "config" and getattr(after, name) != getattr(before, name)
        }
        return own.replaced(**changed) if changed else own

    def share(self, looked_at: tuple[Any, ...], own: tuple[Any, ...]) -> None:
        """Gives the fields of a state the values that were read."""
        for seen, state in zip(looked_at, own, strict=True):
            if isinstance(seen, AnyState):
                for name, field in state.fields.items():
                    if isinstance(field, Lazy):
                        field.become(seen.fields[name])

    def lifted_field(self, name: str, after: Any, before: Any, own: Any) -> Any:
        """Returns a field of a state that has changed, as terms."""
        if name == "entries":
            return self._lifted_entries(after, before, own.entries)
        if name in ("ticks", "heard"):
            changed = {self.lifted(node): self.lifted(tick) for node, tick in after.items() if before.get(node) != tick}
            return _put(getattr(own, name), changed)
        return super().lifted(after)

    def _lifted_entries(self, after: Entries, before: Entries, own: Any) -> Entries:
        rows: Any = own.rows
        for at, entry in after.rows.items():
            if before.rows.get(at) != entry:
                rows = rows.put({self.lifted(at): self.lifted(entry)})
        now, was = [*self._ticks_in(after.known)], [*self._ticks_in(before.known)]
        if after.known == before.known:
            return Entries(rows, own.known)
        known, holds_now, held = own.known, _holds(now), _holds(was)

        def holds(node: Term, tick: Term) -> Term:
            return smt.Or(holds_now(node, tick), smt.And(known.holds(node, tick), smt.Not(held(node, tick))))

        sets: Any = AnySets(self.path, holds, known.members)
        return Entries(rows, sets)


def _running(state: State, event: Expired[Any]) -> tuple[State, Expired[Any]]:
    """Returns a state in which the timer of an event runs."""
    return replace(state, timers=state.timers | {event.timer}), event


def _whole(state: State, event: Any) -> values.WholeStep:
    return values.WholeStep(transitions.step, state, event, lambda taken: taken)


def _holds(ranges: list[tuple[int, int, int]]) -> Callable[[Term, Term], Term]:
    """Returns whether these ranges have a change."""
    return lambda node, tick: smt.Or(
        *(smt.And(node == one, tick >= begin, tick < end) for one, begin, end in ranges), smt.BoolVal(False)
    )


def _put(ticks: AnyTicks, rows: Mapping[Any, Any]) -> AnyTicks:
    for node, tick in rows.items():
        ticks = ticks.put({node: tick})
    return ticks
