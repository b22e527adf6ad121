"""
What holds in every cluster of SWIM: whatever the number of nodes, messages, losses, repetitions and orders.

An invariant of one node's state and of one message is kept by every path of `step`, for every event that satisfies it. The rest
of the cluster is in functions that only grow: the incarnation that each node has given itself; who was suspicious at some node;
and the data that each node has set. `composition` shows why this is enough.

A step is shown in parts. Functions that it goes through again and again are run by themselves, on any state that satisfies the
invariant: a claim about a row, one vector of a message, a message, the evaluation of a row, and a datagram. Where the code calls
one of them, what it needs is claimed, and any state is returned that it may leave. So a message may have any number of vectors.

A table has any number of rows, with any status. Where the code goes through all, it gets any two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, cast

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.composition import composition
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, ProofTable, Stated, Twin
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
    replacing,
    same,
    statements,
)
from peerproof.conformance.proofs.terms import Number, choice, same_row, term_of, truth
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.swim import (
    Ack,
    AddNode,
    AntiEntropy,
    Config,
    Dead,
    EventType,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    LeaveNode,
    Member,
    Normal,
    OnClusterEvent,
    OnNodeEvent,
    Payload,
    Ping,
    Probe,
    ProbeAck,
    ProbeNode,
    ProbeTimeout,
    Quantum,
    RemoveNode,
    Seed,
    SetPayload,
    State,
    Status,
    Suspicious,
    commands,
    detector,
    gossip,
    rounds,
    table,
    transitions,
)
from peerproof.spec.swim.gossip import Carries
from peerproof.spec.swim.messages import COUNTER_MAX
from peerproof.spec.swim.model import variants
from peerproof.spec.swim.state import Probing, Queued, Relay
from peerproof.spec.swim.table import Claim

PROOFS: Final = ProofTable()

_INT, _BOOL = z3.IntSort(), z3.BoolSort()
_NOW: Final = Instant(0)
_HERE: Final = NodeId("here:1")
_THERE: Final = ("there", 2)

#: What is claimed, by name.
Goals = Callable[[], dict[str, Term]]

#: The incarnation of each node.
Own = Callable[[Term], Incarnation]


class Cluster:
    """What the rest of the cluster has: functions of a node that only grow."""

    def __init__(self, when: str = "") -> None:
        self._restart = z3.Function(f"restart of{when}", _INT, _INT)
        self._tx = z3.Function(f"tx of{when}", _INT, _INT)
        self.suspected = z3.Function(f"was suspicious{when}", _INT, _BOOL)
        self.suspected_at = z3.Function(f"was suspicious at{when}", _INT, _INT, _INT, _BOOL)
        self.has_set = z3.Function(f"has set{when}", _INT, _INT, Data, _BOOL)  #: node, restart counter, data

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
            found["who is dead was suspicious"] = z3.Implies(dead, self.was_suspicious(node, seen.incarnation))
        if self.payload:
            found["a payload is of this life"] = z3.Implies(seen.has_payload, self.cluster.has_set(node, seen.restart, seen.payload))
        return {name: z3.Implies(seen.has, holds) for name, holds in found.items()}

    def by_definition(self, node: Term, seen: Seen) -> list[Term]:
        """Returns what a row adds to what the cluster has: a node that is suspicious was so."""
        if not self.suspected:
            return []
        return [z3.Implies(seen.is_one_of(Status.SUSPICIOUS), self.was_suspicious(node, seen.incarnation))]

    def of_statement(self, own: Own, sender: Term, header: Incarnation, target: Term | None, said: Statement) -> dict[str, Term]:
        """Returns what holds of a statement in a message; without a target, of one in the queue of its sender."""
        found = {}
        if self.ahead:
            found["no statement is ahead of its node"] = z3.Implies(
                said.names_incarnation, at_most(said.incarnation, own(said.node))
            )
        if self.suspected:
            was = self.was_suspicious(said.node, said.incarnation)
            was = was if self.emits or self.suspected == "ever" else z3.Implies(said.names_incarnation, was)
            named = said.names_incarnation if self.emits else z3.BoolVal(True)
            addressed = z3.BoolVal(False) if target is None else said.node == target
            suspicious, dead = said.status == code(Status.SUSPICIOUS), said.status == code(Status.DEAD)
            found["who is said to be dead was suspicious"] = z3.Implies(
                z3.Or(suspicious, z3.And(dead, z3.Not(addressed))), z3.And(named, was)
            )
        if self.payload:
            joining = said.status == code(Status.JOINING)
            exactly = z3.BoolVal(False) if target is None else same(said.incarnation, header)
            found["a sender says its own incarnation"] = z3.Implies(
                said.node == sender,
                z3.And(
                    z3.Implies(said.names_incarnation, at_most(said.incarnation, header)),
                    z3.Implies(joining, z3.And(said.names_incarnation, exactly)),
                ),
            )
        return found

    def of_message(self, own: Own, message: Any) -> dict[str, Term]:
        """Returns what holds of a message, all of its vectors included."""
        sender, header = term_of(message.sender), message.incarnation
        target = term_of(message.target) if isinstance(message, (Ping, Ack)) else None
        found = {"nobody sends to itself": truth(True) if target is None else sender != target}
        if self.ahead:
            found["no header is ahead of its sender"] = at_most(header, own(sender))
        for vector in getattr(message, "vectors", ()):
            for said in statements(vector):
                for name, holds in self.of_statement(own, sender, header, target, said).items():
                    found[name] = z3.And(found.get(name, True), holds)
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
        self.removed: Term = z3.BoolVal(False)
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
            return incarnation(z3.If(is_own, now.restart, last.restart), z3.If(is_own, now.tx, last.tx))

        return of

    def last(self, state: State) -> Incarnation:
        """Returns the last incarnation that this node has given itself; it may be above the present one if that was lost."""
        now = state.incarnation
        if self.holds.counter:
            return now
        last = self.issued(self.id)
        return incarnation(*(z3.If(at_most(now, last), one, other) for one, other in zip(last, now, strict=True)))

    # -- states ---------------------------------------------------------------------------------------------------

    def facts(self, node: Term, seen: Seen) -> list[Term]:
        """Returns what is known of any row."""
        known = self.issued(node)
        not_negative = z3.And(known.restart >= 0, known.tx >= 0)
        return [not_negative, *self.holds.of_row(self.id, node, seen).values(), *self.holds.by_definition(node, seen)]

    def _any_state(self) -> State:
        now = any_incarnation(self.path, "own incarnation")
        self.path.know(now.restart <= COUNTER_MAX, now.tx <= COUNTER_MAX)
        self.path.know(same(now, self.issued(self.id)) if self.holds.counter else at_most(now, self.issued(self.id)))
        emits: Any = True if self.holds.emits else z3.Bool("names incarnations")
        rows: Any = Neighbours(self.path, "row", self.facts)
        pinged, answered = AnySet(self.path), AnySet(self.path)
        payload: Any = Text(z3.BoolVal(True), z3.Const("own payload", Data))
        state = State(
            *(_HERE, Config(cast("Any", Number(self.id)), emit_incarnation=emits), now, rows),
            pinged=cast("Any", pinged),
            answered=cast("Any", answered),
            heard=cast("Any", z3.Bool("heard")),
            payload=payload,
            left=cast("Any", z3.Bool("has left")),
            cluster_subscriptions=frozenset({EventType.DEAD}),
        )
        return replace(state, queue=self.any_queue(state))

    def any_queue(self, state: State) -> tuple[Queued, ...]:
        """Returns a queue with any event that satisfies the invariant; each stands by itself."""
        name = self.path.fresh("queued")
        status, names = self.path.integer(f"{name}.status", 0, len(STATUSES) - 1), z3.Bool(f"{name} names its incarnation")
        event: Any = AnyEvent(self.other(f"{name}.node"), status, names, any_incarnation(self.path, name))
        (said,) = statements(event)
        known = self.issued(said.node)
        self.path.know(known.restart >= 0, known.tx >= 0)
        self.path.know(z3.Implies(is_address_given(said), names))
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
            found["no earlier rumour counts"] = z3.Implies(bad, at_most(before.incarnation, after.incarnation))
        return {name: z3.Implies(before.has, holds) for name, holds in found.items()}

    # -- claims ---------------------------------------------------------------------------------------------------

    def claim_state(self, state: State, since: State | None = None, more: Goals = dict) -> None:
        """Claims that a state satisfies the invariant, and more; and compared with an earlier one, that nothing goes back."""
        rows = self.rows(state)
        for node in (self.any, *rows.changed):
            self.path.know(*self.holds.by_definition(node, rows.at(node)))
        self.path.claim_all(lambda: self._of_state(state) | ({} if since is None else self._since(since, state)) | more())

    def _of_state(self, state: State) -> dict[str, Term]:
        goals = self.holds.of_row(self.id, self.any, self.rows(state).at(self.any))
        for place, entry in enumerate(state.queue):
            for said in statements(entry.event):
                found = self.holds.of_statement(self.own(state), self.id, state.incarnation, None, said)
                goals |= {f"{name} (entry {place} of the queue)": holds for name, holds in found.items()}
        return goals

    def _since(self, since: State, state: State) -> dict[str, Term]:
        before, after = (self.rows(one).at(self.any) for one in (since, state))
        goals = {name: z3.Or(self.removed, holds) for name, holds in self.relation(before, after).items()}
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
        stays = z3.Or(self.any == node, same_row(before, now))
        return {"no other row changes": stays, **self.only(state, "rows", "queue")}

    def only(self, state: State, *fields: str) -> dict[str, Term]:
        """Returns that a state differs from the first one in these fields alone."""
        others = {field.name for field in dataclasses.fields(State)} - set(fields)
        return {"nothing else changes": truth(all(getattr(state, name) is getattr(self.start, name) for name in others))}

    def claim_message(self, state: State, message: Any) -> None:
        """Claims that a message of this node satisfies the invariant."""
        self.claimed.append(message)
        own_data: Any = state.payload
        self.path.know(self.holds.cluster.has_set(self.id, state.incarnation.restart, own_data.data))  # by definition
        of_own = {
            "a message has the incarnation of its sender": same(message.incarnation, state.incarnation),
            "its sender is this node": term_of(message.sender) == self.id,
        }
        self.path.claim_all(lambda: self.holds.of_message(self.own(state), message) | of_own)


def is_address_given(said: Statement) -> Term:
    """States that a statement is a joining or a leave, which always name an incarnation."""
    return z3.Or(said.status == code(Status.JOINING), said.status == code(Status.LEAVE))


# -- functions that a step goes through again and again -----------------------------------------------------------------


class Parts:
    """What the parts of a step may leave: any state that they are shown to leave, after a claim of what they need."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.holds = node.holds
        self.path = node.path

    def within(self, *inner: str) -> AbstractContextManager[None]:
        """Returns a context in which these parts are not run but stand for all that they may do."""
        return _within(self, inner)

    def room(self, *_: Any) -> Any:
        """Returns the free space of a datagram: any."""
        path = self.path

        class Any_:
            def takes(self, _: Any) -> bool:
                return bool(z3.Bool(path.fresh("fits")))

        return Any_()

    def fanout(self, _: Any) -> Term:
        """Returns the number of nodes that get an event: any."""
        return z3.Int(self.path.fresh("fanout"))

    def payload_fits(self, *_: Any) -> bool:
        """Whether data fits into a datagram: either."""
        return bool(z3.Bool("the data fits"))

    def changes(self, *_: Any) -> list[tuple[Any, EventType]]:
        """Returns what subscribers are told: of any node."""
        return [(self.node.other("changed node"), EventType.DEAD)]

    def pick(self, why: str, among: Any, some: int = 1) -> tuple[Any, ...]:  # noqa: ARG002  # the signature of a pick
        """Picks options in their order: they are any rows, so the order is any, too."""
        return tuple(among)[:some]

    def apply_claim(self, state: State, claim: Claim) -> State:
        """Any row at this node, after a claim that satisfies the invariant."""
        node = term_of(claim.node)
        before = self.node.rows(state).at(node)
        assert claim.node in state.rows
        self.path.claim_all(lambda: self.needs_of_claim(state, claim))
        return self.node.with_any_row(state, node, lambda seen: self.leaves_of_claim(before, claim, seen).values())

    def needs_of_claim(self, state: State, claim: Claim) -> dict[str, Term]:
        """Returns what has to hold of a claim."""
        node, found = term_of(claim.node), {}
        if self.holds.ahead:
            found["no claim is ahead of its node"] = at_most(claim.incarnation, self.node.own(state)(node))
        if self.holds.suspected and claim.status is Status.DEAD:
            found["who is claimed to be dead was suspicious"] = self.holds.was_suspicious(node, claim.incarnation)
        return found

    def leaves_of_claim(self, before: Seen, claim: Claim, after: Seen) -> dict[str, Term]:
        """Returns how a row is after a claim: of the later life of the two, and as it was unless the claim has a greater key."""
        found = {}
        if self.holds.payload:
            restart = claim.incarnation.restart
            found["a row is of the later life"] = after.restart == z3.If(restart > before.restart, restart, before.restart)
        if self.holds.grows:
            said = before._replace(status=z3.IntVal(code(claim.status)), restart=claim.incarnation[0], tx=claim.incarnation[1])
            found["no claim counts but a greater one"] = z3.Implies(key_grows(said, before), same_row(before, after))
        return found

    def enqueue(self, state: State, said: Any) -> State:
        """The event as one more in the queue, whichever others are left."""
        return replace(state, queue=(*state.queue, Queued(said, frozenset())))

    def with_vector(self, state: State, message: Any, vector: Any) -> State:
        """Any later state, after a vector of a message that satisfies the invariant."""
        self.path.claim_all(lambda: self.needs_of_vector(state, message, vector))
        return self.node.later(state, lambda node, seen: self.leaves_of_vector(message, vector, node, seen).values())

    def needs_of_vector(self, state: State, message: Any, vector: Any) -> dict[str, Term]:
        """Returns what has to hold where a vector is applied: its sender's row is of the life in which it was sent."""
        if not self.holds.payload:
            return {}
        seen = self.node.rows(state).at(term_of(message.sender))
        holds = z3.And(seen.has, seen.restart == message.incarnation.restart)
        if isinstance(vector, Joining):
            is_about_sender = term_of(vector.node) == term_of(message.sender)
            is_later = z3.Implies(seen.has, at_most(seen.incarnation, message.incarnation))
            holds = z3.Or(holds, z3.And(is_about_sender, is_later))
        return {"the sender has a row of this life": holds}

    def leaves_of_vector(self, message: Any, vector: Any, node: Term, after: Seen) -> dict[str, Term]:
        """Returns how a row is after a vector: a joining makes it; and the sender's is of the life in which it was sent."""
        found = {}
        if isinstance(vector, Joining):
            is_other = z3.And(node == term_of(vector.node), node != self.node.id)
            found["a joining makes a row"] = z3.Implies(is_other, after.has)
        if self.holds.payload:
            is_sender = z3.And(after.has, node == term_of(message.sender))
            found["the sender's row is of this life"] = z3.Implies(is_sender, after.restart == message.incarnation.restart)
        return found

    def apply_message(self, state: State, message: Any) -> State:
        """Any later state, after a message that satisfies the invariant and is not from the past."""
        self.path.claim_all(lambda: self.needs_of_message(state, message))
        return self.node.later(state)

    def needs_of_message(self, state: State, message: Any) -> dict[str, Term]:
        """Returns what has to hold where a message is applied: it is not from the past."""
        if not self.holds.payload:
            return {}
        seen = self.node.rows(state).at(term_of(message.sender))
        return {"it is not from the past": z3.Implies(seen.has, at_most(seen.incarnation, message.incarnation))}

    def settle_row(self, state: State, node: Any, row: Any) -> State:
        """Any row at this node, after the evaluation of its row."""
        seen = self.node.rows(state).at(term_of(node))
        self.path.claim_all(lambda: {"each row is settled as it is": same_row(seen[:4], row.seen()[:4])})
        return self.node.with_any_row(state, term_of(node))

    def indirect_pings(self, state: State, _: Any) -> tuple[State, tuple[Any, ...]]:
        """Any later state, after the indirect pings of a round."""
        self.node.claim_state(state)
        return self.node.later(state), ()

    def close_round(self, state: State, _: Any) -> tuple[State, tuple[Any, ...]]:
        """Any later state, after a round; going through its rows gives any two."""
        later = self.node.later(state)
        self.node.set_members(later)
        return later, ()

    def is_past(self, state: State, message: Any) -> bool:
        """Whether the row of the sender is above the header."""
        return bool(self.is_above(state, message))

    def is_above(self, state: State, message: Any) -> Term:
        """States that the row of the sender is above the header."""
        seen = self.node.rows(state).at(term_of(message.sender))
        return z3.And(seen.has, z3.Not(at_most(seen.incarnation, message.incarnation)))

    def count_datagram(self, state: State) -> State | None:
        """The node at its next number."""
        if bool(self.is_exhausted(state)):
            return None
        return replace(state, incarnation=self.next_number(state))

    def is_exhausted(self, state: State) -> Term:
        """States that a node's counters are at their end."""
        return z3.And(*(part == COUNTER_MAX for part in state.incarnation))

    def next_number(self, state: State) -> Incarnation:
        """Returns the incarnation of the next datagram."""
        (restart, tx), more = state.incarnation, state.incarnation.tx < COUNTER_MAX
        return incarnation(z3.If(more, restart, restart + 1), z3.If(more, tx + 1, 1))

    def datagram(
        self, state: State, _: Any, header: Any, first: Iterable[Any], carries: Carries, pick: Any
    ) -> tuple[State, Any]:  # noqa: ARG002
        """A message with these vectors first, and any queue; the other vectors satisfy the invariant by themselves."""
        self.node.claim_state(state)
        sending = gossip.count_datagram(state)
        if sending is None:
            return state, None
        message = header(sending.incarnation, tuple(first))
        self.node.claim_message(sending, message)
        return replace(sending, queue=self.node.any_queue(sending)), message


    def request(self, state: State, node: Any, _: Any, purpose: tuple[Any, ...] = (), where: Any = None) -> Any:  # noqa: ARG002
        """A ping of a node that has a row, or none at the end of the counters; and any queue."""
        self.node.claim_state(state)
        self.path.claim_all(lambda: self.needs_of_purpose(state, node, purpose))
        if not bool(z3.Bool(self.path.fresh("is sent"))):
            return state, ()
        return self.sent(state), (None,)

    def needs_of_purpose(self, state: State, node: Any, purpose: tuple[Any, ...]) -> dict[str, Term]:
        """Returns what has to hold of the vectors of a ping, and of its target."""
        now, own, target = state.incarnation, self.node.own(state), term_of(node)
        found = {"a node that is pinged has a row": self.node.rows(state).at(target).has}
        for vector in purpose:
            for said in statements(vector):
                found |= self.holds.of_statement(own, self.node.id, now, target, said)
        return found

    def answer(self, state: State, ping: Any, _: Any, __: Any) -> Any:
        """An ack of an accepted ping, or none at the end of the counters; and any queue."""
        self.node.claim_state(state)
        return self.sent(state), ()

    def sent(self, state: State) -> State:
        """Returns the node after a datagram: with another number, or the same if nothing was sent."""
        now = any_incarnation(self.path, self.path.fresh("number"))
        self.path.know(at_most(state.incarnation, now), now.restart <= COUNTER_MAX, now.tx <= COUNTER_MAX)
        found = replace(state, incarnation=now)
        return replace(found, queue=self.node.any_queue(found))


#: What is asked for the parts of the path that is followed: the innermost one last.
_parts: Final[list[Parts]] = []


def _of_path(name: str) -> Callable[..., Any]:
    """Returns a function that is a method of the parts of the path that is followed."""
    return lambda *args, **named: getattr(_parts[-1], name)(*args, **named)


@cache
def _overrides(inner: tuple[str, ...]) -> overriding:
    """Returns the overrides of these parts, and those of all paths: how rows are made, sizes, limits and choices."""
    names: dict[str, Any] = {}
    for module in (gossip, detector, commands, transitions, rounds):
        names |= names_in(module, replace=replacing)
    names |= names_in(table, replace=replacing)
    names |= names_in(detector, min=lambda one, other: z3.If(one < other, one, other), str=lambda name: name)
    names |= names_in(gossip, Room=_of_path("room"), fanout=_of_path("fanout"), active_size=lambda _: 1)
    names |= names_in(rounds, fanout=lambda _: 1, active_size=lambda _: 1)  # nodes are pinged one after the other
    names |= names_in(commands, payload_fits=_of_path("payload_fits")) | names_in(transitions, changes=_of_path("changes"))
    return overriding(names | {place: _of_path(place.rpartition(".")[2].lstrip("_")) for place in inner})


@contextmanager
def _within(parts: Parts, inner: tuple[str, ...]) -> Iterator[None]:
    _parts.append(parts)
    try:
        with _overrides(inner):
            yield
    finally:
        _parts.pop()


#: The parts by their functions.
ENQUEUE, CLAIM, COUNT, DATAGRAM, REQUEST, ANSWER = (
    f"peerproof.spec.swim.gossip.{name}"
    for name in ("enqueue", "apply_claim", "count_datagram", "datagram", "request", "answer")
)
PAST, VECTOR, MESSAGE = (f"peerproof.spec.swim.transitions.{name}" for name in ("is_past", "with_vector", "apply_message"))
SETTLE, INDIRECT, CLOSE = (f"peerproof.spec.swim.detector.{name}" for name in ("settle_row", "_indirect_pings", "close_round"))
ALL: Final = (ENQUEUE, CLAIM, COUNT, DATAGRAM, REQUEST, ANSWER, PAST, VECTOR, MESSAGE, SETTLE, INDIRECT, CLOSE)


def one_event_queued(node: Node) -> None:
    """An event that is queued."""
    event = any_vector(node, "event", "normal")
    with Parts(node).within():
        after = gossip.enqueue(node.start, event)
    known = [*(entry.event for entry in node.start.queue), event]
    is_known = all(any(entry.event is one for one in known) for entry in after.queue)
    node.path.claim("the queue has it, and no other that is new", truth(is_known and after.queue[-1].event is event))


def any_claim(node: Node) -> None:
    """A claim about any row."""
    about, path = node.member("node of the claim"), node.path
    status = STATUSES[choice(path, "status of the claim", len(STATUSES))]
    claim = Claim(cast("Any", about), status, any_incarnation(path, "claim"), _THERE)
    parts, before = Parts(node), node.rows(node.start).at(about.term)
    path.know(*parts.needs_of_claim(node.start, claim).values())
    with parts.within(ENQUEUE):
        after = gossip.apply_claim(node.start, claim)
    now = node.rows(after).at(about.term)
    more = lambda: parts.leaves_of_claim(before, claim, now) | node.others_stay(about.term, after)
    node.claim_state(after, node.start, more)


def any_vector(node: Node, name: str, kind: str, about: Number | None = None) -> Any:
    """Returns any vector of this kind."""
    said, who = any_incarnation(node.path, name), about or node.other(f"{name} node")
    named: Any = said if kind.endswith("at") else None
    uuid: Any = who
    made: dict[str, Callable[[], Any]] = {
        "joining": lambda: Joining(uuid, said, *_THERE),
        "normal": lambda: Normal(uuid, named),
        "suspicious": lambda: Suspicious(uuid, named),
        "dead": lambda: Dead(uuid, named),
        "leave": lambda: Leave(uuid, said),
        "indirect ack": lambda: IndirectAck(uuid, said),
        "anti-entropy": lambda: AntiEntropy((Member(*_THERE, uuid, *said),)),
        "indirect ping": lambda: IndirectPing(uuid, *_THERE),
        "payload": lambda: Payload(cast("Any", Text(z3.BoolVal(True), z3.Const(f"{name} data", Data)))),
    }
    return made[kind.removesuffix(" at")]()


KINDS: Final = (
    *("joining", "normal", "normal at", "suspicious", "suspicious at", "dead", "dead at", "leave", "indirect ack"),
    *("anti-entropy", "indirect ping"),
)


def any_header(node: Node, kind: type[Any], vectors: tuple[Any, ...], target: Number | None = None) -> Any:
    """Returns any message to this node, or to another, that satisfies the invariant."""
    sender: Any = node.other("sender")
    to: Any = Number(node.id) if target is None else target
    more = (node.path.integer("answered tx"),) if kind is Ack else ()
    message = kind(sender, any_incarnation(node.path, "header"), to, *more, vectors)
    node.path.know(*node.holds.of_message(node.own(node.start), message).values())
    return message


def one_vector(node: Node) -> None:
    """One vector of a message, of any kind."""
    vector = any_vector(node, "vector", KINDS[choice(node.path, "kind of the vector", len(KINDS))])
    parts, message = Parts(node), any_header(node, Ping, (vector,))
    node.path.know(*parts.needs_of_vector(node.start, message, vector).values())
    with parts.within(ENQUEUE, CLAIM):
        after = transitions.with_vector(node.start, message, vector)
    node.claim_state(after, node.start, lambda: of_one_vector(node, parts, message, after))


def of_one_vector(node: Node, parts: Parts, message: Any, after: State) -> dict[str, Term]:
    """Returns what is claimed of the state after the one vector of a message."""
    goals, (vector,) = node.only(after, "rows", "queue", "incarnation", "relays"), message.vectors
    about = [node.any, message.sender.term, *([vector.node.term] if isinstance(vector, Joining) else [])]
    for place, who in enumerate(about):
        found = parts.leaves_of_vector(message, vector, who, node.rows(after).at(who))
        goals |= {f"{name} ({place})": holds for name, holds in found.items()}
    if node.holds.grows and isinstance(vector, (Suspicious, Dead)) and vector.incarnation is not None:
        before, now = (node.rows(state).at(term_of(vector.node)) for state in (node.start, after))
        is_earlier = z3.And(before.has, z3.Not(at_most(before.incarnation, vector.incarnation)))
        goals["an earlier rumour changes nothing"] = z3.Implies(is_earlier, same_row(before, now))
    return goals


def one_message(node: Node) -> None:
    """A message with any vectors, its header and its payload."""
    sender = node.other("sender")
    joining, other = any_vector(node, "joining", "joining", sender), any_vector(node, "vector", "dead at")
    payload = any_vector(node, "payload", "payload")
    several = ((), (other, payload), (joining, other, payload))
    message = any_header(node, Ping, several[choice(node.path, "vectors", len(several))])
    parts = Parts(node)
    node.path.know(*parts.needs_of_message(node.start, message).values())
    with parts.within(ENQUEUE, CLAIM, VECTOR):
        after = transitions.apply_message(node.start, message)
    node.claim_state(after, node.start, lambda: node.only(after, "rows", "queue", "incarnation", "relays", "isolated"))


def one_row_settled(node: Node) -> None:
    """The evaluation of one row when a round closes."""
    about: Any = node.member("node that is settled")
    with Parts(node).within(ENQUEUE, CLAIM):
        after = detector.settle_row(node.start, about, node.start.rows[about])
    node.claim_state(after, node.start, lambda: node.others_stay(about.term, after))


def two_rows(node: Node) -> State:
    """Returns any state; going through its rows gives any two."""
    node.set_members(node.start)
    return node.start


def one_round_closed(node: Node) -> None:
    """The end of a round."""
    relay = Relay(cast("Any", node.other("target")), cast("Any", node.other("requester")), 1, fresh=True)
    parts, state = Parts(node), replace(two_rows(node), relays=(relay,))
    with parts.within(SETTLE, INDIRECT):
        after, _ = detector.close_round(state, parts.pick)
    node.claim_state(after, node.start, lambda: node.only(after, "rows", "queue", "incarnation", "relays", "isolated"))


def pings_of_suspicious_nodes(node: Node) -> None:
    """The indirect pings at the end of a round."""
    parts, state = Parts(node), two_rows(node)
    with parts.within(REQUEST):
        after, _ = detector._indirect_pings(state, parts.pick)  # noqa: SLF001
    node.claim_state(after, node.start, lambda: node.only(after, "rows", "queue", "incarnation", "relays"))


def the_past(node: Node) -> None:
    """Whether a message is from the past."""
    message = any_header(node, Ping, ())
    is_past = transitions.is_past(node.start, message)
    node.path.claim("the row of its sender is above it", Parts(node).is_above(node.start, message) == is_past)


def one_datagram(node: Node) -> None:
    """A datagram to any node, with any vectors first, and what else it carries."""
    target: Any = node.other("target")
    node.path.know(target.term != node.id)
    first = (any_vector(node, "first", "normal at"),) if choice(node.path, "vectors that are first", 2) else ()
    with_members = bool(choice(node.path, "looks at members", 2))
    start = node.start
    if with_members:
        node.rows(start).members = (node.member("member"),)
        start = replace(start, queue=())
    parts = Parts(node)
    sending_number = parts.next_number(start)
    header_of = Ping(cast("Any", Number(node.id)), sending_number, target, first)
    node.path.know(*node.holds.of_message(node.own(replace(start, incarnation=sending_number)), header_of).values())
    carries = Carries(not with_members, with_members, with_members)
    with parts.within():
        after, message = gossip.datagram(
            start, (target, NodeId("there")), gossip.ping_to(start, target), first, carries, parts.pick
        )
    number = {
        "each datagram has its number": same(after.incarnation, start.incarnation if message is None else sending_number),
        "nothing is sent at the end of the counters": parts.is_exhausted(start) == truth(message is None),
    }
    node.claim_sent(after, lambda: number)
    if message is not None:
        node.claim_message(after, message)


def one_request(node: Node) -> None:
    """A ping of any node that has a row."""
    about: Any = node.member("node that is pinged")
    parts, purpose = Parts(node), ()
    if choice(node.path, "has a purpose", 2):
        purpose = (any_vector(node, "purpose", "indirect ack"),)
        node.path.know(*parts.needs_of_purpose(node.start, about, purpose).values())
    with parts.within(COUNT, DATAGRAM):
        after, _ = gossip.request(node.start, about, parts.pick, purpose)
    node.claim_sent(after)


def one_answer(node: Node) -> None:
    """The answer to any ping."""
    kind = ("dead at", "joining", "normal at")[choice(node.path, "vector", 3)]
    message = any_header(node, Ping, (any_vector(node, "vector", kind, None if kind == "dead at" else node.other("sender")),))
    parts = Parts(node)
    with parts.within(COUNT, DATAGRAM):
        after, _ = gossip.answer(node.start, message, NodeId("there"), parts.pick)
    node.claim_sent(after)


# -- a step -----------------------------------------------------------------------------------------------------------

Scene = tuple[State, Any]


def a_ping(node: Node) -> Scene:
    sender = node.other("sender")
    kinds = ("dead at", "joining", "normal at", "indirect ping")
    kind = kinds[choice(node.path, "vector", len(kinds))]
    vector = any_vector(node, "vector", kind, sender if kind in ("joining", "normal at") else None)
    is_elsewhere = kind == "dead at" and choice(node.path, "to another node", 2)
    message = any_header(node, Ping, (vector,), node.other("target") if is_elsewhere else None)
    return node.start, Received(_NOW, NodeId("there"), message)


def an_ack(node: Node) -> Scene:
    own = Number(node.id)
    if choice(node.path, "with vectors", 2):
        both = (any_vector(node, "joining", "joining", own), any_vector(node, "normal", "normal", own))
        return node.start, Received(_NOW, NodeId("there"), any_header(node, Ack, both))
    message = any_header(node, Ack, ())
    names: Any = (node.other("target of the relay"), node.other("requester"))
    relay = Relay(*names, node.path.integer("relayed tx"), fresh=True)
    return replace(node.start, relays=(relay,)), Received(_NOW, NodeId("there"), message)


def a_probe(node: Node) -> Scene:
    message = Probe(cast("Any", node.other("sender")), any_incarnation(node.path, "header"))
    return node.start, Received(_NOW, NodeId("there"), message)


def an_answer_to_a_probe(node: Node) -> Scene:
    message = ProbeAck(
        cast("Any", node.other("sender")), any_incarnation(node.path, "header"), node.path.integer("answered tx")
    )
    where = NodeId("there:2")
    probing = Probing(*_THERE, node.path.integer("tx of the probe"))
    return replace(node.start, probes=Table({where: probing})), Received(_NOW, where, message)


def a_quantum(node: Node) -> Scene:
    if not choice(node.path, "within a round", 2):
        return node.start, Expired(_NOW, Quantum())
    node.rows(node.start).members = (node.member("one row"),)
    return replace(node.start, vector=cast("Any", node.rows(node.start).members)), Expired(_NOW, Quantum())


def the_end_of_a_probe(node: Node) -> Scene:
    return node.start, Expired(_NOW, ProbeTimeout(*_THERE))


def a_command(node: Node) -> Scene:
    uuid: Any = node.other("node of the command")
    data: Any = Text(z3.BoolVal(True), z3.Const("new data", Data))
    commands_ = (
        *(AddNode(uuid, *_THERE), LeaveNode(uuid), RemoveNode(uuid), ProbeNode(*_THERE), SetPayload(uuid, data)),
        *(OnNodeEvent(uuid, EventType.DEAD), OnClusterEvent(EventType.DEAD)),
    )
    command = commands_[choice(node.path, "command", len(commands_))]
    if isinstance(command, RemoveNode):
        node.removed = node.any == uuid.term
    return node.start, Asked(_NOW, command)


SCENES: Final = (a_ping, an_ack, a_probe, an_answer_to_a_probe, a_quantum, the_end_of_a_probe, a_command)


def one_step(node: Node) -> None:
    """A step with any event."""
    state, event = SCENES[choice(node.path, "event", len(SCENES))](node)
    parts = Parts(node)
    try:
        with parts.within(*ALL):
            after, effects = transitions.step(state, event, parts.pick)
    except NotEnabled:
        return
    node.claim_state(after, state)
    for effect in effects:
        if isinstance(effect, Send) and not any(effect.message is one for one in node.claimed):
            node.claim_message(after, effect.message)


PARTS: Final = (
    *(one_event_queued, any_claim, one_vector, the_past, one_message, one_row_settled, pings_of_suspicious_nodes, one_round_closed),
    *(one_datagram, one_request, one_answer, one_step),
)


def every_part(path: Path, holds: Invariant) -> None:
    """Shows that every step keeps an invariant, part by part."""
    PARTS[choice(path, "part", len(PARTS))](Node(path, holds))


_STEP: Final = Evaluated(
    ("swim.transitions.step", *(place.removeprefix("peerproof.spec.") for place in ALL)),
    ("replace", "min", "Room", "fanout", "active_size", "payload_fits", "changes"),
)


@PROOFS.add("SZ-11 SI-02 S-12 SX-09", _STEP, Twin("a node may have lost its counter (SX-09)", {"lost": True}), scope=ANY_CLUSTER)
def nobody_is_ahead_of_a_node(path: Path, *, lost: bool = False) -> None:
    """No node knows, and no message says, a larger incarnation of a node than the last that it has given itself."""
    every_part(path, Invariant(ahead=True, counter=not lost))


def buried_at_once(state: State, node: Any, row: Any) -> State:
    """The evaluation of a row without indirect pings: two misses are a death (SD-11)."""
    has_missed = row.is_live and node in state.pinged and node not in state.answered
    if not has_missed:
        return state
    status = Status.DEAD if row.misses + 1 >= detector.MISSES else row.status
    return gossip.apply_claim(state, Claim(node, status, row.incarnation))


@PROOFS.add(
    "SZ-12 SI-06 S-07 S-30",
    _STEP,
    Twin("two direct misses are a death (SD-11)", {"instead": names_in(detector, settle_row=buried_at_once)}),
    scope=ANY_CLUSTER,
)
def nobody_is_dead_without_having_been_suspicious(path: Path, *, instead: Mapping[str, Any] | None = None) -> None:
    """Who is dead in a row, or in a message to another node, was suspicious at some node before."""
    with overriding(instead or {}):
        every_part(path, Invariant(suspected="ever"))


@PROOFS.add(
    "SZ-12 SA-12 SX-02",
    _STEP,
    Twin("nodes need not name incarnations (SX-02)", {"emits": False}),
    scope=ANY_CLUSTER,
)
def nobody_is_dead_where_it_was_not_suspicious(path: Path, *, emits: bool = True) -> None:
    """If all nodes name incarnations, who is dead at an incarnation was suspicious at the same one, at some node before."""
    every_part(path, Invariant(suspected="then", emits=emits))


#: An event without an incarnation is applied, whatever is known; as in the model SX-10-overwritten.
_OVERWRITTEN: Final = names_in(transitions, with_vector=variants.overwriting) | names_in(variants, replace=replacing)


@PROOFS.add(
    "SZ-13 SI-03 SI-11 SI-12 S-11 SX-10",
    _STEP,
    Twin("an event without an incarnation counts, whatever is known (SX-10)", {"instead": _OVERWRITTEN}),
    scope=ANY_CLUSTER,
)
def a_refuted_rumour_does_not_come_back(path: Path, *, instead: Mapping[str, Any] | None = None) -> None:
    """The key of a row only grows, unless it is removed: no rumour of an earlier incarnation than the row's changes it."""
    with overriding(instead or {}):
        every_part(path, Invariant(grows=True))


_merge = table.merge


def keeping_data(row: Any, claim: Claim) -> Any:
    """A merge that keeps the payload (SD-16)."""
    return _merge(row, claim) if claim.incarnation <= row.incarnation else replacing(_merge(row, claim), payload=row.payload)


@PROOFS.add(
    "SZ-14 SI-08 S-34 S-47",
    _STEP,
    Twin("a payload survives a restart (SD-16)", {"instead": names_in(table, merge=keeping_data)}),
    scope=ANY_CLUSTER,
)
def a_payload_is_of_the_life_of_its_row(path: Path, *, instead: Mapping[str, Any] | None = None) -> None:
    """A payload in a row, and in a message, was set by its node in the restart that the row, or the header, shows."""
    with overriding(instead or {}):
        every_part(path, Invariant(ahead=True, payload=True))


@PROOFS.add(
    "SZ-15 SA-48 SX-09",
    Evaluated(("swim.transitions.initial",), ("Table",)),
    Twin("the restart counter was lost (SX-09)", {"lost": True}),
    scope=ANY_CLUSTER,
)
def a_new_node_satisfies_the_invariants(path: Path, *, lost: bool = False) -> None:
    """A node that starts, and has raised its restart counter since it ran before, is ahead of all that is known of it."""
    node = Node(path, Invariant(ahead=True, suspected="then", payload=True))
    restart, seed = path.integer("restart counter", 0, COUNTER_MAX), Seed(cast("Any", node.other("seed")), *_THERE)
    if not lost:
        path.know(restart > node.start.incarnation.restart)
    nothing = Neighbours(path, "nothing", lambda _, seen: [z3.Not(seen.has)])
    config = Config(cast("Any", Number(node.id)), restart, (seed,))
    path.know(node.issued(seed.uuid.term).restart >= 0, node.issued(seed.uuid.term).tx >= 0)  # type: ignore[attr-defined]
    with overriding(names_in(transitions, Table=nothing.put)):
        state = transitions.initial(_HERE, config).state
    was = node.start.incarnation
    node.claim_state(state, more=lambda: {"it is ahead of what it was": at_most(was, state.incarnation)})


@PROOFS.add(
    "SZ-15 SA-48 SX-09",
    Stated("what nodes add to what the cluster has: larger incarnations, suspicions, and data"),
    Twin("another node lost its counter (SX-09)", {"lost": True}),
    scope=ANY_CLUSTER,
)
def others_keep_what_holds_of_a_node(path: Path, *, lost: bool = False) -> None:
    """What holds of a row and of a message keeps holding while others raise their counters, suspect, and set data."""
    holds = Invariant(ahead=True, suspected="then", payload=True)
    node, before, later = Node(path, holds), holds.cluster, Cluster(" later")
    about: Any = node.any_queue(node.start)[0].event
    data = any_vector(node, "payload", "payload")
    message = any_header(node, Ping, (about, data), node.other("target"))
    seen, queued = node.rows(node.start).at(node.any), cast("Any", node.start.queue[0].event)
    for one in (node.any, about.node.term, message.sender.term, queued.node.term):
        if not lost:
            path.know(at_most(before.issued(one), later.issued(one)))
        for at in (seen.incarnation, about.incarnation, message.incarnation, queued.incarnation):
            path.know(z3.Implies(before.suspected_at(one, *at), later.suspected_at(one, *at)))
            for known in (seen.payload, data.data.data):
                path.know(z3.Implies(before.has_set(one, at.restart, known), later.has_set(one, at.restart, known)))
    node.holds = replace(holds, cluster=later)
    node.claim_state(node.start)
    path.claim_all(lambda: node.holds.of_message(later.issued, message))


PROOFS.append(composition("SZ-16", "SI-02 SI-06 SI-08"))
