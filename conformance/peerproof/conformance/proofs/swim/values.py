"""The values of counterexamples about SWIM: nodes have uuids, and those of a table rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.proofs import smt, values
from peerproof.conformance.proofs.paths import Term
from peerproof.conformance.proofs.swim.terms import (
    EXCHANGES,
    STATUSES,
    AnyEvent,
    AnyRow,
    AnySet,
    Neighbours,
    Seen,
    Text,
)
from peerproof.conformance.proofs.terms import Number
from peerproof.spec.core import Expired, Instant, NodeId, Received, Table
from peerproof.spec.swim import (
    Ack,
    Dead,
    Incarnation,
    Joining,
    Leave,
    Normal,
    Ping,
    Quantum,
    Row,
    State,
    Status,
    Suspicious,
    Uuid,
    transitions,
)
from peerproof.spec.swim.table import Claim

_PORT: Final = 1
_NOW: Final = Instant(0)
_THERE: Final = NodeId("there:2")

_EVENTS: Final = {Status.NORMAL: Normal, Status.SUSPICIOUS: Suspicious, Status.DEAD: Dead}


class Values(values.Values):
    """The values of one counterexample."""

    node_type = "Uuid"
    cluster: Mapping[str, tuple[str, ...]] = {
        "restart of": ("Uuid", ""),
        "tx of": ("Uuid", ""),
        "was suspicious": ("Uuid", ""),
        "was suspicious at": ("Uuid", "", "", ""),
        "has set": ("Uuid", "", "", ""),
    }

    def begin(self) -> None:
        """Prepares the rows and the data of nodes."""
        self._rows: dict[int, Row] = {}  #: by the rows on terms
        self._data: dict[str, Term] = {}  #: by the texts that stand for them

    def tables(self) -> Mapping[type[Any], values.OfTable]:
        """Returns how tables on terms become values."""
        return {
            Neighbours: lambda table, _: self._table(table),
            AnyRow: lambda row, _: self._rows.get(id(row)) or self._row(row, 0),
            AnySet: self._set,
            AnyEvent: lambda event, _: self._event(event),
            Text: lambda text, _: self._payload(text.has, text.data),
        }

    def scalars(self) -> Mapping[str, Callable[[int], Any]]:
        """Returns the names of nodes."""
        return {"Uuid": self._uuid}

    def _uuid(self, number: int) -> Uuid:
        return Uuid(self.named(number, lambda rank: f"{rank * 0x11111111 % 2**32:08x}-{rank:04x}-4000-8000-{rank:012x}"))

    def _table(self, table: Neighbours) -> Table[Uuid, Row]:
        origin = table._origin  # noqa: SLF001  # what code, and claims, have looked at
        found: dict[Uuid, Row] = {}
        for node, seen in origin._seen.items():  # noqa: SLF001
            if self.truth(seen.has):
                number = self.number(node)
                found[self._uuid(number)] = self._seen_row(origin, node, seen, number)
        for node, changed in table._changes:  # noqa: SLF001
            found.pop(self._uuid(self.number(node)), None)
            if changed is not None:
                found[self._uuid(self.number(node))] = self._row(changed, self.number(node))
        return Table(found)

    def _seen_row(self, table: Neighbours, node: Term, seen: Seen, number: int) -> Row:
        for known, row in table._looked_up:  # noqa: SLF001
            if row is not None and self.number(known) == number:
                self._rows[id(row)] = self._row(row, number)
                return self._rows[id(row)]
        exchange = self.number(table._function("exchange", smt.IntSort())(node))  # noqa: SLF001
        misses, indirect = (table._function(name, smt.IntSort())(node) for name in ("misses", "indirect misses"))  # noqa: SLF001
        return Row(
            self._host(number),
            _PORT,
            STATUSES[self.number(seen.status)],
            Incarnation(self.number(seen.restart), self.number(seen.tx)),
            payload=self._payload(seen.has_payload, seen.payload),
            exchange=EXCHANGES[exchange % len(EXCHANGES)],
            misses=max(0, self.number(misses)),
            indirect_misses=max(0, self.number(indirect)),
            indirect_asked=self.truth(table._function("indirect asked", smt.BoolSort())(node)),  # noqa: SLF001
        )

    def _host(self, number: int) -> str:
        return f"n{self.rank(number)}"

    def _row(self, row: AnyRow, number: int) -> Row:
        fields = dict(row._fields)
        for name, kinds in (("status", STATUSES), ("exchange", EXCHANGES)):
            if smt.is_expr(fields[name]):
                fields[name] = kinds[self.number(fields[name]) % len(kinds)]
        payload = fields.pop("payload")
        unanswered = fields.pop("unanswered")
        found = {name: self.value(field) for name, field in fields.items()}
        for name in ("misses", "indirect_misses"):
            found[name] = max(0, found[name])
        return Row(
            **(found | {"host": self._host(number), "port": _PORT}),
            payload=None if payload is None else self.value(payload),
            unanswered=self._set(unanswered, tuple[int, ...]) if isinstance(unanswered, AnySet) else self.value(unanswered),
        )

    def _set(self, members: AnySet, hint: Any) -> Any:
        asked = [term for term, answer in members._asked.items() if answer]  # noqa: SLF001
        if "tuple" in str(hint):
            return tuple(dict.fromkeys(self.number(term) for term in asked))
        return frozenset(self._uuid(self.number(term)) for term in asked)

    def _event(self, event: AnyEvent) -> Any:
        status, node = STATUSES[self.number(event.status)], self.number(event.node)
        at = Incarnation(*map(self.number, event.incarnation))
        if status is Status.JOINING:
            return Joining(self._uuid(node), at, self._host(node), _PORT)
        if status is Status.LEAVE:
            return Leave(self._uuid(node), at)
        return _EVENTS[status](self._uuid(node), at if self.truth(event.names_incarnation) else None)

    def _payload(self, has: Term, data: Term) -> str | None:
        if not self.truth(has):
            return None
        either: Any = Text(has, data)
        is_asked = "is not the empty map" in {function.name for function, _ in self.model.functions()}
        is_filled = not is_asked or self.truth(either != "{}")
        found = self.model.eval(data)
        known = [text for text, term in self._data.items() if term is found]
        text = known[0] if known else f'{{"~:data":{len(self._data) + 1}}}' if is_filled else "{}"
        self._data[text] = found
        return text

    def names(self) -> dict[str, str]:
        """Returns the hosts of nodes, by their uuids."""
        return {uuid: self._host(number) for uuid, number in self._numbers.items()}

    def whole_steps(self, arguments: tuple[Any, ...]) -> Iterator[values.WholeStep]:
        """Yields steps with the message, a message with the claim, or the end of a round."""
        state = arguments[0]
        if not isinstance(state, State):
            return
        for event in self._events_with(state, arguments[1:]):
            yield values.WholeStep(transitions.step, state, event, lambda taken: taken.state)
        at_end = replace(state, vector=(), heard=True)
        yield values.WholeStep(transitions.step, at_end, Expired(_NOW, Quantum()), lambda taken: taken.state)

    def _events_with(self, state: State, arguments: tuple[Any, ...]) -> Iterator[Any]:
        """Yields events with a message, or with a claim, that a function was called with."""
        for one in arguments:
            if isinstance(one, (Ping, Ack)):
                yield Received(_NOW, _THERE, one)
            if isinstance(one, Claim):
                at = one.incarnation
                host, port = one.place or ("there", 2)
                yield Received(_NOW, _THERE, Ping(one.node, at, state.uuid, (Joining(one.node, at, host, port),)))
                yield Received(_NOW, _THERE, Ping(one.node, at, state.uuid))

    def instances(self) -> Iterator[Mapping[str, int]]:
        """Yields each node as any node."""
        return ({"any node": number} for number in [*self._ranks])

    # -- values to terms --------------------------------------------------------------------------------------------

    def lifted(self, value: Any, hint: Any = None) -> Any:
        """Returns a value as terms."""
        if isinstance(value, str) and value in self._data:
            return Text(smt.BoolVal(True), self._data[value])
        if isinstance(value, Table):
            return self._lifted_rows(Neighbours(self.path, "none", lambda _, seen: [smt.Not(seen.has)]), value, Table())
        return super().lifted(value, hint)

    def lifted_field(self, name: str, after: Any, before: Any, own: State) -> Any:
        """Returns a field of a state that has changed, as terms."""
        return self._lifted_rows(own.rows, after, before) if name == "rows" else super().lifted_field(name, after, before, own)

    def _lifted_rows(self, rows: Any, after: Table[Uuid, Row], before: Table[Uuid, Row]) -> Any:
        gone = [self.lifted(node) for node in before if node not in after]
        changed = {self.lifted(node): self._lifted_row(row) for node, row in after.items() if before.get(node) != row}
        return _put(rows.without(gone), changed)

    def _lifted_row(self, row: Row) -> AnyRow:
        lifted: Row = super().lifted(row)
        payload = None if row.payload is None else self.lifted(row.payload)
        return AnyRow(**{name: getattr(lifted, name) for name in Row.__slots__} | {"payload": payload})


def _put(rows: Neighbours, changed: Mapping[Number, AnyRow]) -> Neighbours:
    for node, row in changed.items():
        rows = rows.put({node: row})
    return rows
