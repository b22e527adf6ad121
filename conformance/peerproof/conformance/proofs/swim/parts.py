"""
The functions that a step of SWIM goes through again and again, each run by itself on any state that satisfies the invariant.

Where other code calls one of them, what it needs is claimed, and any state is returned that it may leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.followed import Followed
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.swim.any_node import Node
from peerproof.conformance.proofs.swim.terms import (
    STATUSES,
    Data,
    Seen,
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
from peerproof.spec.core import NodeId
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.swim import (
    Ack,
    AntiEntropy,
    Dead,
    EventType,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    Member,
    Normal,
    Payload,
    Ping,
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
from peerproof.spec.swim.state import Queued, Relay
from peerproof.spec.swim.table import Claim

#: Where other nodes are.
THERE: Final = ("there", 2)


@dataclass(frozen=True)
class AnyRoom:
    """The free space of a datagram: any."""

    path: Path

    def takes(self, _: Any) -> bool:
        """Like `Room`: either."""
        return bool(smt.Bool(self.path.fresh("fits")))


class Parts:
    """What the parts of a step may leave: any state that they are shown to leave, after a claim of what they need."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.holds = node.holds
        self.path = node.path

    def within(self, *inner: str) -> AbstractContextManager[None]:
        """Returns a context in which these parts are not run but stand for all that they may do."""
        return self.path.on_terms(_followed.within(self, _overrides(inner)))

    def room(self, *_: Any) -> AnyRoom:
        """Returns the free space of a datagram: any."""
        return AnyRoom(self.path)

    def fanout(self, _: Any) -> Term:
        """Returns the number of nodes that get an event: any."""
        return smt.Int(self.path.fresh("fanout"))

    def payload_fits(self, *_: Any) -> bool:
        """Whether data fits into a datagram: either."""
        return bool(smt.Bool("the data fits"))

    def changes(self, *_: Any) -> list[tuple[Any, EventType]]:
        """Returns the changes that are reported to subscribers: of any node."""
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
            found["a row is of the later life"] = after.restart == smt.If(restart > before.restart, restart, before.restart)
        if self.holds.grows:
            said = before._replace(status=smt.IntVal(code(claim.status)), restart=claim.incarnation[0], tx=claim.incarnation[1])
            found["no claim counts but a greater one"] = smt.Implies(key_grows(said, before), same_row(before, after))
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
        holds = smt.And(seen.has, seen.restart == message.incarnation.restart)
        if isinstance(vector, Joining):
            is_about_sender = term_of(vector.node) == term_of(message.sender)
            is_later = smt.Implies(seen.has, at_most(seen.incarnation, message.incarnation))
            holds = smt.Or(holds, smt.And(is_about_sender, is_later))
        return {"the sender has a row of this life": holds}

    def leaves_of_vector(self, message: Any, vector: Any, node: Term, after: Seen) -> dict[str, Term]:
        """Returns how a row is after a vector: a joining makes it; and the sender's is of the life in which it was sent."""
        found = {}
        if isinstance(vector, Joining):
            is_other = smt.And(node == term_of(vector.node), node != self.node.id)
            found["a joining makes a row"] = smt.Implies(is_other, after.has)
        if self.holds.payload:
            is_sender = smt.And(after.has, node == term_of(message.sender))
            found["the sender's row is of this life"] = smt.Implies(is_sender, after.restart == message.incarnation.restart)
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
        return {"it is not from the past": smt.Implies(seen.has, at_most(seen.incarnation, message.incarnation))}

    def settle_row(self, state: State, node: Any, row: Any) -> State:
        """Any row at this node, after the evaluation of its row."""
        seen = self.node.rows(state).at(term_of(node))
        self.path.claim_all(lambda: {"each row is settled as it is": same_row(seen[:4], row.as_terms()[:4])})
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

    def is_known(self, state: State, message: Any) -> Term:
        """States that the sender has a row."""
        return self.node.rows(state).at(term_of(message.sender)).has

    def is_above(self, state: State, message: Any) -> Term:
        """States that the row of the sender is above the header."""
        seen = self.node.rows(state).at(term_of(message.sender))
        return smt.And(seen.has, smt.Not(at_most(seen.incarnation, message.incarnation)))

    def count_datagram(self, state: State) -> State | None:
        """The node at its next number."""
        if bool(self.is_exhausted(state)):
            return None
        return replace(state, incarnation=self.next_number(state))

    def is_exhausted(self, state: State) -> Term:
        """States that a node's counters are at their end."""
        return smt.And(*(part == COUNTER_MAX for part in state.incarnation))

    def next_number(self, state: State) -> Incarnation:
        """Returns the incarnation of the next datagram."""
        (restart, tx), more = state.incarnation, state.incarnation.tx < COUNTER_MAX
        return incarnation(smt.If(more, restart, restart + 1), smt.If(more, tx + 1, 1))

    def datagram(self, state: State, _: Any, header: Any, first: Iterable[Any], carries: Carries, pick: Any) -> tuple[State, Any]:  # noqa: ARG002
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
        if not bool(smt.Bool(self.path.fresh("is sent"))):
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

    def answer(self, state: State, *_: Any) -> tuple[State, tuple[Any, ...]]:
        """An ack of an accepted ping, or none at the end of the counters; and any queue."""
        self.node.claim_state(state)
        return self.sent(state), ()

    def sent(self, state: State) -> State:
        """Returns the node after a datagram: with another number, or the same if nothing was sent."""
        now = any_incarnation(self.path, self.path.fresh("number"))
        self.path.know(at_most(state.incarnation, now), now.restart <= COUNTER_MAX, now.tx <= COUNTER_MAX)
        found = replace(state, incarnation=now)
        return replace(found, queue=self.node.any_queue(found))


_followed: Final = Followed[Parts]()
_of_path: Final = _followed.method


@cache
def _overrides(inner: tuple[str, ...]) -> overriding:
    """Returns the overrides of these parts, and those of all paths: how rows are made, sizes, limits and choices."""
    names: dict[str, Any] = {}
    for module in (gossip, detector, commands, transitions, rounds):
        names |= names_in(module, replace=replacing)
    names |= names_in(table, replace=replacing)
    names |= names_in(detector, min=lambda one, other: smt.If(one < other, one, other), str=lambda name: name)
    names |= names_in(gossip, Room=_of_path("room"), fanout=_of_path("fanout"), active_size=lambda _: 1)
    names |= names_in(rounds, fanout=lambda _: 1, active_size=lambda _: 1)  # nodes are pinged one after the other
    names |= names_in(commands, payload_fits=_of_path("payload_fits")) | names_in(transitions, changes=_of_path("changes"))
    return overriding(names | {place: _of_path(place.rpartition(".")[2].lstrip("_")) for place in inner})


#: The parts by their functions.
ENQUEUE, CLAIM, COUNT, DATAGRAM, REQUEST, ANSWER = (
    f"peerproof.spec.swim.gossip.{name}" for name in ("enqueue", "apply_claim", "count_datagram", "datagram", "request", "answer")
)
PAST, VECTOR, MESSAGE = (f"peerproof.spec.swim.transitions.{name}" for name in ("is_past", "with_vector", "apply_message"))
SETTLE, INDIRECT, CLOSE = (f"peerproof.spec.swim.detector.{name}" for name in ("settle_row", "_indirect_pings", "close_round"))
ALL: Final = (ENQUEUE, CLAIM, COUNT, DATAGRAM, REQUEST, ANSWER, PAST, VECTOR, MESSAGE, SETTLE, INDIRECT, CLOSE)


def one_event_queued(node: Node) -> None:
    """An event that is queued."""
    event = any_vector(node, "event", "normal")
    with Parts(node).within():
        after = node.path.run(gossip.enqueue, node.start, event)
    known = [*(entry.event for entry in node.start.queue), event]
    is_known = bool(after.queue) and all(any(entry.event is one for one in known) for entry in after.queue)
    node.path.claim("the queue has it, and no other that is new", truth(is_known and after.queue[-1].event is event))


def any_claim(node: Node) -> None:
    """A claim about any row."""
    about, path = node.member("node of the claim"), node.path
    status = STATUSES[choice(path, "status of the claim", len(STATUSES))]
    claim = Claim(cast("Any", about), status, any_incarnation(path, "claim"), THERE)
    parts, before = Parts(node), node.rows(node.start).at(about.term)
    path.know(*parts.needs_of_claim(node.start, claim).values())
    with parts.within(ENQUEUE):
        after = path.run(gossip.apply_claim, node.start, claim)
    now = node.rows(after).at(about.term)
    node.claim_state(after, node.start, lambda: parts.leaves_of_claim(before, claim, now) | node.others_stay(about.term, after))


def any_vector(node: Node, name: str, kind: str, about: Number | None = None) -> Any:
    """Returns any vector of this kind."""
    said, who = any_incarnation(node.path, name), about or node.other(f"{name} node")
    named: Any = said if kind.endswith("at") else None
    uuid: Any = who
    made: dict[str, Callable[[], Any]] = {
        "joining": lambda: Joining(uuid, said, *THERE),
        "normal": lambda: Normal(uuid, named),
        "suspicious": lambda: Suspicious(uuid, named),
        "dead": lambda: Dead(uuid, named),
        "leave": lambda: Leave(uuid, said),
        "indirect ack": lambda: IndirectAck(uuid, said),
        "anti-entropy": lambda: AntiEntropy((Member(*THERE, uuid, *said),)),
        "indirect ping": lambda: IndirectPing(uuid, *THERE),
        "payload": lambda: Payload(cast("Any", Text(smt.BoolVal(True), smt.Const(f"{name} data", Data)))),
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
    node.path.prefer(lambda: smt.And(parts.is_known(node.start, message), smt.Not(parts.is_above(node.start, message))))
    node.path.prefer(lambda: smt.And(*(said.node != message.sender.term for said in statements(vector))))
    with parts.within(ENQUEUE, CLAIM):
        after = node.path.run(transitions.with_vector, node.start, message, vector)
    node.claim_state(after, node.start, lambda: of_one_vector(node, parts, message, after))


def of_one_vector(node: Node, parts: Parts, message: Any, after: State) -> dict[str, Term]:
    """Returns what is claimed of the state after the one vector of a message."""
    goals, (vector,) = node.only(after, "rows", "queue", "incarnation", "relays"), message.vectors
    about = [node.any, message.sender.term, *([term_of(vector.node)] if isinstance(vector, Joining) else [])]
    for place, who in enumerate(about):
        found = parts.leaves_of_vector(message, vector, who, node.rows(after).at(who))
        goals |= {f"{name} ({place})": holds for name, holds in found.items()}
    if node.holds.grows and isinstance(vector, (Suspicious, Dead)) and vector.incarnation is not None:
        before, now = (node.rows(state).at(term_of(vector.node)) for state in (node.start, after))
        is_earlier = smt.And(before.has, smt.Not(at_most(before.incarnation, vector.incarnation)))
        goals["an earlier rumour changes nothing"] = smt.Implies(is_earlier, same_row(before, now))
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
        after = node.path.run(transitions.apply_message, node.start, message)
    node.claim_state(after, node.start, lambda: node.only(after, "rows", "queue", "incarnation", "relays", "isolated"))


def one_row_settled(node: Node) -> None:
    """The evaluation of one row when a round closes."""
    about: Any = node.member("node that is settled")
    with Parts(node).within(ENQUEUE, CLAIM):
        after = node.path.run(detector.settle_row, node.start, about, node.start.rows[about])
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
        after, _ = node.path.run(detector.close_round, state, parts.pick)
    node.claim_state(after, node.start, lambda: node.only(after, "rows", "queue", "incarnation", "relays", "isolated"))


def pings_of_suspicious_nodes(node: Node) -> None:
    """The indirect pings at the end of a round."""
    parts, state = Parts(node), two_rows(node)
    with parts.within(REQUEST):
        after, _ = node.path.run(detector._indirect_pings, state, parts.pick)  # noqa: SLF001
    node.claim_state(after, node.start, lambda: node.only(after, "rows", "queue", "incarnation", "relays"))


def the_past(node: Node) -> None:
    """Whether a message is from the past."""
    message = any_header(node, Ping, ())
    is_past = node.path.run(transitions.is_past, node.start, message)
    node.path.claim("the row of its sender is above it", Parts(node).is_above(node.start, message) == is_past)


def ping_in(state: State, to: tuple[Any, NodeId], first: tuple[Any, ...], carries: Carries, pick: Any) -> Any:
    """Returns a ping in a datagram."""
    return gossip.datagram(state, to, gossip.ping_to(state, to[0]), first, carries, pick)


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
        after, message = node.path.run(ping_in, start, (target, NodeId("there")), first, carries, parts.pick)
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
    parts, purpose = Parts(node), cast("tuple[Any, ...]", ())
    if choice(node.path, "has a purpose", 2):
        purpose = (any_vector(node, "purpose", "indirect ack"),)
        node.path.know(*parts.needs_of_purpose(node.start, about, purpose).values())
    with parts.within(COUNT, DATAGRAM):
        after, _ = node.path.run(gossip.request, node.start, about, parts.pick, purpose)
    node.claim_sent(after)


def one_answer(node: Node) -> None:
    """The answer to any ping."""
    kind = ("dead at", "joining", "normal at")[choice(node.path, "vector", 3)]
    message = any_header(node, Ping, (any_vector(node, "vector", kind, None if kind == "dead at" else node.other("sender")),))
    parts = Parts(node)
    with parts.within(COUNT, DATAGRAM):
        after, _ = node.path.run(gossip.answer, node.start, message, NodeId("there"), parts.pick)
    node.claim_sent(after)
