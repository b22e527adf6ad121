"""
The invariants of SWIM, of one node's state and of one message; and any node that satisfies them.

What a node cannot see is in functions that only grow: the incarnation that each node has given itself; who was suspicious at some
node; and the data that each node has set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.swim.terms import (
    STATUSES,
    AnyEvent,
    AnySet,
    Data,
    Neighbours,
    Seen,
    Statement,
    Text,
    any_incarnation,
    at_most,
    code,
    incarnation,
    key_grows,
    same,
    statements,
)
from peerproof.conformance.proofs.terms import Number, same_row, term_of, truth
from peerproof.spec.core import NodeId
from peerproof.spec.swim import (
    Ack,
    Config,
    EventType,
    Incarnation,
    Payload,
    Ping,
    State,
    Status,
)
from peerproof.spec.swim.messages import COUNTER_MAX
from peerproof.spec.swim.state import Queued

_INT, _BOOL = smt.IntSort(), smt.BoolSort()
_HERE: Final = NodeId("here:1")

#: What is claimed, by name.
Goals = Callable[[], dict[str, Term]]

#: The incarnation of each node.
Own = Callable[[Term], Incarnation]


class Cluster:
    """What the rest of the cluster has: functions of a node that only grow."""

    def __init__(self, when: str = "") -> None:
        self._restart = smt.Function(f"restart of{when}", _INT, _INT)
        self._tx = smt.Function(f"tx of{when}", _INT, _INT)
        self.suspected = smt.Function(f"was suspicious{when}", _INT, _BOOL)
        self.suspected_at = smt.Function(f"was suspicious at{when}", _INT, _INT, _INT, _BOOL)
        self.has_set = smt.Function(f"has set{when}", _INT, _INT, Data, _BOOL)  #: node, restart counter, data

    def issued(self, node: Term) -> Incarnation:
        """Returns the last incarnation that a node has given itself."""
        return incarnation(self._restart(node), self._tx(node))


_CLUSTER: Final = Cluster()


@dataclass(frozen=True)
class Invariant:
    """What is assumed, and shown, of states and messages."""

    ahead: bool = False  #: no incarnation is above the one of its node (SI-02)
    suspected: str = ""  #: who is dead was suspicious: "ever", or "then", at the same incarnation
    payload: bool = False  #: a payload is of the life that its row shows (SI-08)
    grows: bool = False  #: the key of a row only grows (SI-03)
    counter: bool = True  #: the own counter is the last that the node has given itself, so it was not lost (SX-09)
    emits: bool = False  #: all nodes name the incarnation in each event
    cluster: Cluster = _CLUSTER

    def was_suspicious(self, node: Term, at: Incarnation) -> Term:
        """States that a node was suspicious somewhere."""
        cluster = self.cluster
        return cluster.suspected_at(node, at.restart, at.tx) if self.suspected == "then" else cluster.suspected(node)

    def of_row(self, own: Term, node: Term, seen: Seen) -> dict[str, Term]:
        """Returns what holds of a row in the table of node `own`."""
        found = {"a row is about another node": node != own}
        if self.ahead:
            found["no row is ahead of its node"] = at_most(seen.incarnation, self.cluster.issued(node))
        if self.suspected:
            dead = seen.is_one_of(Status.DEAD)
            found["who is dead was suspicious"] = smt.Implies(dead, self.was_suspicious(node, seen.incarnation))
        if self.payload:
            found["a payload is of this life"] = smt.Implies(
                seen.has_payload, self.cluster.has_set(node, seen.restart, seen.payload)
            )
        return {name: smt.Implies(seen.has, holds) for name, holds in found.items()}

    def by_definition(self, node: Term, seen: Seen) -> list[Term]:
        """Returns what a row adds to what the cluster has: a node that is suspicious was so."""
        if not self.suspected:
            return []
        return [smt.Implies(seen.is_one_of(Status.SUSPICIOUS), self.was_suspicious(node, seen.incarnation))]

    def of_statement(self, own: Own, sender: Term, header: Incarnation, target: Term | None, said: Statement) -> dict[str, Term]:
        """Returns what holds of a statement in a message; without a target, of one in the queue of its sender."""
        found = {}
        if self.ahead:
            found["no statement is ahead of its node"] = smt.Implies(
                said.names_incarnation, at_most(said.incarnation, own(said.node))
            )
        if self.suspected:
            was = self.was_suspicious(said.node, said.incarnation)
            was = was if self.emits or self.suspected == "ever" else smt.Implies(said.names_incarnation, was)
            named = said.names_incarnation if self.emits else smt.BoolVal(True)
            addressed = smt.BoolVal(False) if target is None else said.node == target
            suspicious, dead = said.status == code(Status.SUSPICIOUS), said.status == code(Status.DEAD)
            found["who is said to be dead was suspicious"] = smt.Implies(
                smt.Or(suspicious, smt.And(dead, smt.Not(addressed))), smt.And(named, was)
            )
        if self.payload:
            joining = said.status == code(Status.JOINING)
            exactly = smt.BoolVal(False) if target is None else same(said.incarnation, header)
            found["a sender says its own incarnation"] = smt.Implies(
                said.node == sender,
                smt.And(
                    smt.Implies(said.names_incarnation, at_most(said.incarnation, header)),
                    smt.Implies(joining, smt.And(said.names_incarnation, exactly)),
                ),
            )
        return found

    def of_message(self, own: Own, message: Any) -> dict[str, Term]:
        """Returns what holds of a message, all of its vectors included."""
        sender, header = term_of(message.sender), message.incarnation
        target = term_of(message.target) if isinstance(message, (Ping, Ack)) else None
        found = {"no node sends to itself": truth(True) if target is None else sender != target}
        if self.ahead:
            found["no header is ahead of its sender"] = at_most(header, own(sender))
        for vector in getattr(message, "vectors", ()):
            for said in statements(vector):
                for name, holds in self.of_statement(own, sender, header, target, said).items():
                    found[name] = smt.And(found.get(name, True), holds)
            if self.payload and isinstance(vector, Payload):
                found["the payload is the sender's"] = self.cluster.has_set(sender, header.restart, cast("Any", vector.data).data)
        return found


class Node:
    """Any node of any cluster on one path: it makes states that satisfy the invariant, and claims that others do."""

    def __init__(self, path: Path, holds: Invariant) -> None:
        self.path = path
        self.holds = holds
        self.id = path.integer("own")
        self.any = path.integer("any node")  #: what is claimed of its row holds of all rows
        self.start = self._any_state()
        self.removed: Term = smt.BoolVal(False)
        self.claimed: list[Any] = []  #: the messages of which it was claimed that they satisfy the invariant

    def other(self, name: str) -> Number:
        """Returns any node, maybe this one."""
        return Number(self.path.integer(name))

    def member(self, name: str, state: State | None = None) -> Number:
        """Returns any node that has a row."""
        found = self.other(name)
        self.path.know(self.rows(state or self.start).at(found.term).has)
        return found

    def set_members(self, state: State) -> None:
        """Lets those who go through the rows of a state get any two."""
        one, other = self.member("one row", state), self.member("other row", state)
        self.path.know(one.term != other.term)
        self.rows(state).members = (one, other)

    def issued(self, node: Term) -> Incarnation:
        """Returns the last incarnation that a node has given itself."""
        return self.holds.cluster.issued(node)

    def rows(self, state: State) -> Neighbours:
        """Returns the table of a state."""
        return cast("Neighbours", state.rows)

    def own(self, state: State) -> Own:
        """Returns the incarnation of each node, with that of this one as a state has it."""

        def of(node: Term) -> Incarnation:
            last, now = self.issued(node), self.last(state)
            is_own = node == self.id
            return incarnation(smt.If(is_own, now.restart, last.restart), smt.If(is_own, now.tx, last.tx))

        return of

    def last(self, state: State) -> Incarnation:
        """Returns the last incarnation that this node has given itself; it may be above the present one if that was lost."""
        now = state.incarnation
        if self.holds.counter:
            return now
        last = self.issued(self.id)
        return incarnation(*(smt.If(at_most(now, last), one, other) for one, other in zip(last, now, strict=True)))

    # -- states ---------------------------------------------------------------------------------------------------

    def facts(self, node: Term, seen: Seen) -> list[Term]:
        """Returns what is known of any row."""
        known = self.issued(node)
        not_negative = smt.And(known.restart >= 0, known.tx >= 0)
        return [not_negative, *self.holds.of_row(self.id, node, seen).values(), *self.holds.by_definition(node, seen)]

    def _any_state(self) -> State:
        now = any_incarnation(self.path, "own incarnation")
        self.path.know(now.restart <= COUNTER_MAX, now.tx <= COUNTER_MAX)
        self.path.know(same(now, self.issued(self.id)) if self.holds.counter else at_most(now, self.issued(self.id)))
        if not self.holds.counter:
            self.path.prefer(lambda: now.restart < self.issued(self.id).restart)
        emits: Any = True if self.holds.emits else smt.Bool("names incarnations")
        rows: Any = Neighbours(self.path, "row", self.facts)
        pinged, answered = AnySet(self.path), AnySet(self.path)
        payload: Any = Text(smt.BoolVal(True), smt.Const("own payload", Data))
        state = State(
            *(_HERE, Config(cast("Any", Number(self.id)), emit_incarnation=emits), now, rows),
            pinged=cast("Any", pinged),
            answered=cast("Any", answered),
            heard=cast("Any", smt.Bool("heard")),
            payload=payload,
            left=cast("Any", smt.Bool("has left")),
            cluster_subscriptions=frozenset({EventType.DEAD}),
        )
        return replace(state, queue=self.any_queue(state))

    def any_queue(self, state: State) -> tuple[Queued, ...]:
        """Returns a queue with any event that satisfies the invariant; each stands by itself."""
        name = self.path.fresh("queued")
        status, names = self.path.integer(f"{name}.status", 0, len(STATUSES) - 1), smt.Bool(f"{name} names its incarnation")
        event: Any = AnyEvent(self.other(f"{name}.node"), status, names, any_incarnation(self.path, name))
        (said,) = statements(event)
        known = self.issued(said.node)
        self.path.know(known.restart >= 0, known.tx >= 0)
        self.path.know(smt.Implies(is_address_given(said), names))
        self.path.know(*self.holds.of_statement(self.own(state), self.id, state.incarnation, None, said).values())
        recipients: Any = AnySet(self.path)
        return (Queued(event, recipients),)

    def later(self, state: State, *more: Callable[[Term, Seen], Iterable[Term]]) -> State:
        """Returns any state that satisfies the invariant, in which no row is missing, and with more that holds of rows."""
        before = self.rows(state)

        def facts(node: Term, seen: Seen) -> list[Term]:
            grown = self.relation(before.at(node), seen).values()
            return [*self.facts(node, seen), *grown, *(fact for one in more for fact in one(node, seen))]

        name = self.path.fresh("later")
        now = any_incarnation(self.path, f"{name} own incarnation")
        self.path.know(at_most(state.incarnation, now), now.restart <= COUNTER_MAX, now.tx <= COUNTER_MAX)
        rows: Any = Neighbours(self.path, name, facts, before.members)
        found = replace(state, rows=rows, incarnation=now)
        return replace(found, queue=self.any_queue(found))

    def with_any_row(self, state: State, node: Term, *more: Callable[[Seen], Iterable[Term]]) -> State:
        """Returns a state in which the row of a node is any that satisfies the invariant, and so is the queue."""
        before = self.rows(state).at(node)

        def facts(_: Term, seen: Seen) -> list[Term]:
            grown = self.relation(before, seen).values()
            return [seen.has, *self.facts(node, seen), *grown, *(fact for one in more for fact in one(seen))]

        row = Neighbours(self.path, self.path.fresh("row"), facts)[node]
        found = replace(state, rows=cast("Any", self.rows(state).put({node: row})))
        return replace(found, queue=self.any_queue(found))

    def relation(self, before: Seen, after: Seen) -> dict[str, Term]:
        """Returns how a row changes: it stays, and its key does not decrease."""
        found = {"no row is missing": after.has}
        if self.holds.grows:
            bad = after.is_one_of(Status.SUSPICIOUS, Status.DEAD)
            found["the key of a row only grows"] = key_grows(before, after)
            found["no earlier rumour counts"] = smt.Implies(bad, at_most(before.incarnation, after.incarnation))
        return {name: smt.Implies(before.has, holds) for name, holds in found.items()}

    # -- claims ---------------------------------------------------------------------------------------------------

    def claim_state(self, state: State, since: State | None = None, more: Goals = dict) -> None:
        """Claims that a state satisfies the invariant, and more; and compared with an earlier one, that nothing goes back."""
        rows = self.rows(state)
        for node in (self.any, *rows.changed):
            self.path.define(*self.holds.by_definition(node, rows.at(node)))
        self.path.claim_all(lambda: self._of_state(state) | ({} if since is None else self.since(since, state)) | more())

    def _of_state(self, state: State) -> dict[str, Term]:
        goals = self.holds.of_row(self.id, self.any, self.rows(state).at(self.any))
        for place, entry in enumerate(state.queue):
            for said in statements(entry.event):
                found = self.holds.of_statement(self.own(state), self.id, state.incarnation, None, said)
                goals |= {f"{name} (entry {place} of the queue)": holds for name, holds in found.items()}
        return goals

    def since(self, since: State, state: State) -> dict[str, Term]:
        """Returns that nothing goes back from one state to another."""
        before, after = (self.rows(one).at(self.any) for one in (since, state))
        goals = {name: smt.Or(self.removed, holds) for name, holds in self.relation(before, after).items()}
        counter = since.incarnation if self.holds.counter else self.issued(self.id)
        return goals | {"the own counter is the last that the node has given itself": at_most(counter, state.incarnation)}

    def claim_sent(self, state: State, more: Goals = dict) -> None:
        """Claims that a state satisfies the invariant, and more, and has the rows of the first one."""
        self.claim_state(state, self.start, lambda: self._frame(state) | more())

    def _frame(self, state: State) -> dict[str, Term]:
        before, now = (self.rows(one).at(self.any) for one in (self.start, state))
        return {"no row has changed": same_row(before, now), **self.only(state, "rows", "queue", "incarnation", "relays")}

    def others_stay(self, node: Term, state: State) -> dict[str, Term]:
        """Returns that a state differs from the first one in its queue, and in the row of one node."""
        before, now = (self.rows(one).at(self.any) for one in (self.start, state))
        stays = smt.Or(self.any == node, same_row(before, now))
        return {"no other row changes": stays, **self.only(state, "rows", "queue")}

    def only(self, state: State, *fields: str) -> dict[str, Term]:
        """Returns that a state differs from the first one in these fields alone."""
        others = {field.name for field in dataclasses.fields(State)} - set(fields)
        return {"nothing else changes": truth(all(getattr(state, name) is getattr(self.start, name) for name in others))}

    def claim_message(self, state: State, message: Any) -> None:
        """Claims that a message of this node satisfies the invariant."""
        self.claimed.append(message)
        own_data: Any = state.payload
        self.path.define(self.holds.cluster.has_set(self.id, state.incarnation.restart, own_data.data))  # by definition
        of_own = {
            "a message has the incarnation of its sender": same(message.incarnation, state.incarnation),
            "its sender is this node": term_of(message.sender) == self.id,
        }
        self.path.claim_all(lambda: self.holds.of_message(self.own(state), message) | of_own)


def is_address_given(said: Statement) -> Term:
    """States that a statement is a joining or a leave, which always name an incarnation."""
    return smt.Or(said.status == code(Status.JOINING), said.status == code(Status.LEAVE))
