"""The values of counterexamples about Wendy: ids, addresses, and tables with the nodes that were looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from peerproof.conformance.proofs import smt, values
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, term_of
from peerproof.conformance.proofs.wendy.any_leaves import Side
from peerproof.conformance.proofs.wendy.any_node import ADDRESS
from peerproof.conformance.proofs.wendy.any_tables import (
    AnyRing,
    AnyRows,
    Cells,
    Departed,
    Entries,
    Held,
    Measured,
    Members,
    Window,
    record,
)
from peerproof.conformance.proofs.wendy.terms import AnyTable, Place, Size
from peerproof.spec.core import Asked, Instant, NodeId, Notify, Received, Send, Table
from peerproof.spec.wendy import (
    Delivered,
    Entry,
    Header,
    Heartbeat,
    Id,
    LeafSet,
    Node,
    NodeExit,
    Route,
    Stage,
    State,
    StateData,
    Tables,
    id_text,
    transitions,
)
from peerproof.spec.wendy.ids import REAL, Ring
from peerproof.spec.wendy.state import address_of

_PORT: Final = 1
_NOW: Final = Instant(0)


class Nodes(Members):
    """A side of a leaf set that has these nodes."""

    def __init__(self, path: Path, nodes: tuple[Node, ...]) -> None:
        super().__init__(Held(path, "values", lambda *_: ()))
        self.nodes = nodes

    def shown(self) -> Iterator[tuple[Term, Node]]:
        """Yields the nodes, all of which are there."""
        return ((smt.BoolVal(True), node) for node in self.nodes)


class Values(values.Values):
    """The values of one counterexample."""

    node_type = "Id"
    cluster: Mapping[str, tuple[str, ...]] = {"has existed": ("Id", "str", "")}

    def begin(self) -> None:
        """Collects the nodes that were looked at in tables, by their tables."""
        self._ids: dict[int, int] = {}  #: numbers by the ids that stand for them
        self._places: dict[int, int] = {}  #: ranks of addresses
        self._hosts: dict[str, int] = {}
        self._members = [note for note in self.refutation.notes if isinstance(note[0], Held)]
        for name, term in self.refutation.symbols.items():
            if "address" in name:
                self._host(self.number(term))
        self._is_placed = "half the ring" in self.refutation.symbols  #: whether ids are places on a ring

    # -- terms to values --------------------------------------------------------------------------------------------

    def tables(self) -> Mapping[type[Any], values.OfTable]:
        """Returns how rings, nodes and tables on terms become values."""
        return {
            State: lambda state, _: self._state(state),
            AnyRing: lambda _, __: REAL,
            Ring: lambda ring, _: self._ring(ring),
            Place: lambda place, _: Id(self.number(place.term)),
            Node: lambda node, _: self._node(node),
            Entries: lambda entries, _: tuple(Entry(0, 0, node) for node in self._nodes_in(entries.members)),
            Side: lambda side, _: self._side(side),
            AnyTable: lambda table, _: table,
            Cells: lambda table, _: table,
            Measured: lambda measured, _: Table({node.id: node for node in self._nodes_in(measured)}),
            Members: lambda members, _: tuple(self._nodes_in(members)),
            Departed: lambda departed, _: self._departed(departed),
            AnyRows: lambda _, hint: frozenset() if "frozenset" in str(hint) else Table(),
        }

    def scalars(self) -> Mapping[str, Callable[[int], Any]]:
        """Returns ids, hosts and addresses."""
        return {"Id": self._id, "NodeId": self._address, "str": self._host}

    def _id(self, number: int) -> Id:
        """Returns an id: far from all others, so that each has a cell of its own."""
        found = Id(self.rank(number) * (REAL.size // (len(self._ranks) + 2)))
        self._ids[found] = number
        return found

    def _host(self, place: int) -> str:
        found = f"h{self._places.setdefault(place, len(self._places) + 1)}"
        self._hosts[found] = place
        return found

    def _address(self, number: int) -> NodeId:
        """Returns the address of a host that has this address on terms."""
        there = [place for place in self._places if self.number(ADDRESS(smt.IntVal(place))) == number]
        return NodeId(f"{self._host(there[0]) if there else 'nowhere'}:{_PORT}")

    def _node(self, node: Node) -> Node:
        if isinstance(node.id, Place):
            return self._placed(Id(self.number(node.id.term)))
        if not isinstance(node.id, Number):
            return node
        return Node(self._id(self.number(node.id)), self._host(self.number(node.local_ip)), "", _PORT)

    def _ring(self, ring: Ring) -> Ring:
        size: Any = vars(ring).get("size")
        if not isinstance(size, Size):
            return ring
        count = self.number(size.term)
        if count.bit_count() != 1:
            raise values.NoValue(f"a ring of {count} ids: their number is no power of two")
        return REAL if count == REAL.size else Ring(count.bit_length() - 1, 1)

    def _side(self, side: Side) -> tuple[Node, ...]:
        places = sorted({self.number(place) for place in side.places if self.truth(side.has(place))})
        return tuple(self._placed(self.value(side._id_at(smt.IntVal(place)))) for place in places)  # noqa: SLF001

    def _placed(self, id: Id) -> Node:
        """Returns the node at a place of a ring, with a host of its own."""
        host = f"h{self._places.setdefault(id, len(self._places) + 1)}"
        return Node(id, host, host, _PORT)

    def _nodes_in(self, window: Window) -> list[Node]:
        """Returns the nodes of a table that were looked at."""
        seen = vars(window).get("visible")
        nodes = [seen.record] if seen is not None and self.truth(seen.there) else []
        nodes += [node for is_there, node in window.added if self.truth(is_there)]
        return list(dict.fromkeys(self._node(node) for node in nodes))

    def _departed(self, departed: Departed) -> frozenset[Id]:
        return frozenset(self._id(number) for number in [*self._ranks] if self.truth(departed.has(smt.IntVal(number))))

    def _state(self, state: State) -> State:
        """Returns a state; its nodes are at the places where they belong."""
        hints = values.hints_of(State)
        fields = {name: self.value(getattr(state, name), hints[name]) for name in vars(state) if name in hints}
        if self._is_placed:
            fields["routing_table"] = self._cells_of(fields["config"], self._asked(state.routing_table))
            return State(**fields)
        table: Any = state.routing_table
        held = [record(node, place) for of, node, place in self._members if of is table.held]
        seen = {node.id for side in fields["leaf_set"] for node in side} | {node.id for node in self._nodes_in(table)}
        found = [*map(self._node, held), *self._others_in(table.held)]
        others = [node for node in found if node.id not in seen and node.id != fields["config"].id]
        every = [*self._nodes_in(table), *fields["neighborhood_set"], *others]
        leaves = {node.id: node for side in fields["leaf_set"] for node in side}
        fields["leaf_set"] = _in_order(fields["config"], leaves.values())
        neighbours = {node.id: node for node in (*fields["neighborhood_set"], *others)}
        fields["neighborhood_set"] = tuple(neighbours.values())
        fields["routing_table"] = self._cells_of(fields["config"], self._nodes_in(table))
        fields["cache"] = Table({node.id: 1 for node in every}) if others else fields["cache"]
        return State(**fields)

    def _others_in(self, held: Held) -> Iterator[Node]:
        """Yields the nodes of the counterexample that are in the tables by the model, although no code has looked at them."""
        for number in [*self._ranks]:
            node = smt.IntVal(number)
            there = (place for place in [*self._places] if self.truth(held.of(node, smt.IntVal(place))))
            place = next(there, None)
            if place is not None:
                yield self._node(record(node, smt.IntVal(place)))

    def _asked(self, table: Any) -> list[Node]:
        """Returns the node of a cell that code has asked for."""
        asked = getattr(table, "asked", None)
        return [] if asked is None else [self._node(asked)]

    def _cells_of(self, config: Any, nodes: Iterable[Node]) -> Table[tuple[int, int], Node]:
        others = [node for node in nodes if node.id != config.id]
        return Table({config.ring.cell(config.id, node.id): node for node in others})

    def names(self) -> dict[str, str]:
        """Returns short names of nodes, by their ids."""
        if self._is_placed:
            return {}
        return {id_text(Id(found)): f"n{self.rank(number)}" for found, number in self._ids.items()}

    def whole_steps(self, arguments: tuple[Any, ...]) -> Iterator[values.WholeStep]:
        """Yields steps with a node that has gone or is seen, or with a message that is routed."""
        if not arguments or not isinstance(arguments[0], State):
            return
        state, *others = arguments
        state = replace(state, stage=Stage.JOINED)
        if isinstance(others[0], int):
            known = state.known.get(others[0])
            if known is not None:
                yield self._whole(state, NodeExit(self._header(state, known)), lambda taken: taken)
            yield values.WholeStep(transitions.step, state, Asked(_NOW, Route(Id(others[0]), b"")), partial(_hop, state))
        if isinstance(others[0], Node):
            for kind in (Heartbeat, partial(StateData, tables=Tables())):
                message = kind(self._header(state, others[0]))
                yield self._whole(state, message, lambda taken: taken.state.leaf_set if self._is_placed else taken.state)

    def _header(self, state: State, sender: Node) -> Header:
        return Header(sender, sender.id, credentials=state.config.credentials)

    def _whole(self, state: State, message: Any, part: Callable[[Any], Any]) -> values.WholeStep:
        sender = address_of(state.config, message.header.sender)
        return values.WholeStep(transitions.step, state, Received(_NOW, sender or NodeId("nowhere:1"), message), part)

    def instances(self) -> Iterator[Mapping[str, int]]:
        """Yields each node as any node."""
        return ({"any node": number} for number in [*self._ranks])

    # -- values to terms --------------------------------------------------------------------------------------------

    def lifted_number(self, number: int) -> Any:
        """Returns an id as a term; other numbers are as they are."""
        if self._is_placed:
            return number
        return Number(smt.IntVal(self._ids[number])) if number in self._ids else number

    def lifted(self, value: Any, hint: Any = None) -> Any:
        """Returns a value as terms."""
        if isinstance(value, Node):
            if self._is_placed:
                place: Any = Place(smt.IntVal(value.id))
                return value._replace(id=place)
            if value.id in self._ids:
                return record(smt.IntVal(self._ids[value.id]), smt.IntVal(self._hosts.get(value.local_ip, -1)))
        if isinstance(value, Table):
            return Table({key: self.lifted(row) for key, row in value.items()})
        return super().lifted(value, hint)

    def share(self, looked_at: tuple[Any, ...], own: tuple[Any, ...]) -> None:
        """Shows in the tables of a state the nodes that were seen there."""
        for seen, state in zip(looked_at, own, strict=True):
            if isinstance(seen, State):
                for table, mine in zip(_windows(seen), _windows(state), strict=True):
                    if "visible" in vars(table):
                        vars(mine)["visible"] = vars(table)["visible"]

    def lifted_field(self, name: str, after: Any, before: Any, own: State) -> Any:
        """Returns a field of a state that has changed, as terms."""
        if name == "leaf_set":
            return self._lifted_leaves(after, before, own.leaf_set)
        if name == "departed":
            gone, new = ([term_of(self.lifted(one)) for one in some] for some in (before - after, after - before))
            was: Any = own.departed
            return Departed(
                self.path, lambda n: smt.And(smt.Or(was.has(n), *(n == one for one in new)), *(n != one for one in gone))
            )
        return self.lifted(after)

    def _lifted_leaves(self, after: LeafSet, before: LeafSet, own: LeafSet) -> LeafSet:
        sides: list[Any] = []
        for now, was, term in zip(after, before, own, strict=True):
            nodes = tuple(self.lifted(node) for node in now)
            sides.append(term if now == was else nodes if self._is_placed else Nodes(self.path, nodes))
        return LeafSet(*sides)

    def result(self, result: Any, real: tuple[Any, ...], own: tuple[Any, ...]) -> Any:
        """Returns as terms what a call has returned."""
        if isinstance(result, LeafSet):
            return self._lifted_leaves(result, real[0].leaf_set, own[0].leaf_set)
        return super().result(result, real, own)


def _windows(state: State) -> list[Any]:
    """Returns the tables of a state on terms."""
    every: list[Any] = [state.routing_table, *state.leaf_set, state.neighborhood_set, state.measured]
    return [table for table in every if isinstance(table, Window)]


def _hop(state: State, taken: Any) -> Node | None:
    """Returns the node that a message was sent to in a step; None if it was delivered."""
    to = [effect.to for effect in taken.effects if isinstance(effect, Send)]
    if not to and not any(isinstance(effect, Notify) and isinstance(effect.notice, Delivered) for effect in taken.effects):
        raise values.NoValue("the message is neither sent nor delivered")
    return next(node for node in state.known.values() if address_of(state.config, node) == to[0]) if to else None


def _in_order(config: Any, nodes: Iterable[Node]) -> LeafSet:
    """Returns a leaf set of these nodes, each on its side, the nearest first."""
    ring, own = config.ring, config.id
    others = [node for node in nodes if node.id != own]
    right = sorted((node for node in others if ring.is_right(own, node.id)), key=lambda node: int(ring.clockwise(own, node.id)))
    left = sorted(
        (node for node in others if not ring.is_right(own, node.id)), key=lambda node: int(ring.clockwise(node.id, own))
    )
    return LeafSet(tuple(left), tuple(right))
