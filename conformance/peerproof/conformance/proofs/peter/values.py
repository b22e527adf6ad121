"""The values of counterexamples about Peter: ids of nodes and topics, events as bytes, and the topics of a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from peerproof.conformance.proofs import smt, values
from peerproof.conformance.proofs.paths import Term
from peerproof.conformance.proofs.peter.any_cluster import Children, Topics
from peerproof.conformance.proofs.terms import Number, term_of
from peerproof.spec.core import NodeId, Table
from peerproof.spec.peter.snapshot import TOPICS
from peerproof.spec.peter.topics import Row, State, id_of_topic
from peerproof.spec.wendy import Id, Node, id_text

_PORT = 1


class Values(values.Values):
    """The values of one counterexample."""

    node_type = "Id"
    cluster: Mapping[str, tuple[str, ...]] = {"was published": ("str", "bytes", ""), "has wanted": ("str", "str", "")}

    def begin(self) -> None:
        """Prepares ids and events."""
        self._ids: dict[int, int] = {}  #: numbers by the ids that stand for them
        self._events: dict[bytes, int] = {}

    def tables(self) -> Mapping[type[Any], values.OfTable]:
        """Returns how tables on terms become values."""
        return {Topics: lambda topics, _: self._topics(topics), Node: lambda node, _: self._node(self.number(node.id))}

    def scalars(self) -> Mapping[str, Callable[[int], Any]]:
        """Returns the ids of nodes and topics, the texts of topics, addresses, and events."""
        return {"Id": self._id, "str": self._topic, "NodeId": self._address, "bytes": self._event}

    def _topic(self, number: int) -> str:
        """Returns a text of 16 bytes, which are those of the id."""
        return f"topic-or-node-{self.rank(number):02}"

    def _id(self, number: int) -> Id:
        found = id_of_topic(self._topic(number))
        self._ids[found] = number
        return found

    def _node(self, number: int) -> Node:
        host = f"n{self.rank(number)}"
        return Node(self._id(number), host, host, _PORT)

    def _address(self, number: int) -> NodeId:
        """Returns the address of a node that has this address on terms."""
        of = smt.Function("address of", smt.IntSort(), smt.IntSort())
        there = [node for node in self._ranks if self.number(of(smt.IntVal(node))) == number]
        return NodeId(f"n{self.rank(there[0]) if there else 0}:{_PORT}")

    def _event(self, number: int) -> bytes:
        found = f"event {number}".encode() if number else b""
        self._events[found] = number
        return found

    def _topics(self, topics: Topics) -> Table[Id, Row]:
        found: dict[Id, Row] = {}
        for topic, _ in topics.about:
            if not self.truth(topics.has(topic)):
                continue
            number = self.number(topic)
            at = smt.IntVal(number)
            nodes = {self.number(node) for _, node in topics.about}
            children = [self._node(node) for node in nodes if self.truth(topics.is_child(at, smt.IntVal(node)))]
            parent = self.number(topics.parent(at))
            found[self._id(number)] = Row(
                self.truth(topics.is_local(at)),
                Table({child.id: child for child in children}),
                self._node(parent) if parent >= 0 else None,
            )
        return Table(found)

    def answering(self, given: list[tuple[tuple[Any, ...], Any]]) -> Callable[..., Any]:
        """Returns the next hops of topics, as on terms."""

        def seek(topic: Id) -> Node | None:
            return next((answer for (asked,), answer in given if asked == topic), None)

        return seek

    @staticmethod
    def plain_state(spec: Any, state: Any) -> Any:  # noqa: ARG004  # the form is of a node with Wendy as well
        """Returns the plain data of the topics of a node."""
        return {"topics": TOPICS.plain(state.topics), "has_left": state.has_left}

    def names(self) -> dict[str, str]:
        """Returns the texts of topics, which also stand for nodes, by their ids."""
        return {id_text(Id(found)): self._topic(number) for found, number in self._ids.items()}

    # -- values to terms --------------------------------------------------------------------------------------------

    def lifted_number(self, number: int) -> Any:
        """Returns an id as a term; other numbers are as they are."""
        return Number(smt.IntVal(self._ids[number])) if number in self._ids else number

    def lifted_config(self, config: Any) -> Any:
        """Returns a configuration with the id of its node as a term."""
        return replace(config, id=self.lifted(config.id))

    def lifted(self, value: Any, hint: Any = None) -> Any:
        """Returns a value as terms."""
        if isinstance(value, bytes) and value in self._events:
            return Number(smt.IntVal(self._events[value]))
        return super().lifted(value, hint)

    def lifted_field(self, name: str, after: Any, before: Any, own: State) -> Any:
        """Returns a field of a state that has changed, as terms."""
        if name != "topics":
            return super().lifted_field(name, after, before, own)
        topics: Any = own.topics
        for topic in before:
            if topic not in after:
                topics = topics.without((self.lifted(topic),))
        for topic, row in after.items():
            if before.get(topic) != row:
                topics = topics.put({self.lifted(topic): self._lifted_row(self.lifted(topic), row, before.get(topic), topics)})
        return topics

    def _lifted_row(self, topic: Any, row: Row, before: Row | None, topics: Topics) -> Row:
        here = [term_of(self.lifted(child)) for child in row.children]
        known = [term_of(self.lifted(child)) for child in before.children] if before else []

        def has(child: Term) -> Term:
            was = topics.is_child(topic.term, child) if before else smt.BoolVal(False)
            return smt.Or(*(child == one for one in here), smt.And(was, *(child != one for one in known)))

        children: Any = Children(self.path, has, ())
        return Row(row.is_local, children, None if row.parent is None else self.lifted(row.parent))
