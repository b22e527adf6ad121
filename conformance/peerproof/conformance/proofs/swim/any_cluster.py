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

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.composition import composition
from peerproof.conformance.proofs.paths import Path
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, ProofTable, Stated, Twin
from peerproof.conformance.proofs.swim.any_node import Cluster, Invariant, Node
from peerproof.conformance.proofs.swim.parts import (
    ALL,
    THERE,
    Parts,
    any_claim,
    any_header,
    any_vector,
    one_answer,
    one_datagram,
    one_event_queued,
    one_message,
    one_request,
    one_round_closed,
    one_row_settled,
    one_vector,
    pings_of_suspicious_nodes,
    the_past,
)
from peerproof.conformance.proofs.swim.terms import (
    Data,
    Neighbours,
    Text,
    any_incarnation,
    at_most,
    replacing,
)
from peerproof.conformance.proofs.terms import Number, choice
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.swim import (
    Ack,
    AddNode,
    Config,
    EventType,
    LeaveNode,
    OnClusterEvent,
    OnNodeEvent,
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
    detector,
    gossip,
    table,
    transitions,
)
from peerproof.spec.swim.messages import COUNTER_MAX
from peerproof.spec.swim.model import variants
from peerproof.spec.swim.state import Probing, Relay
from peerproof.spec.swim.table import Claim

PROOFS: Final = ProofTable()

_NOW: Final = Instant(0)
_HERE: Final = NodeId("here:1")

Scene = tuple[State, Any]


def a_ping(node: Node) -> Scene:
    """A ping with a vector that has to be answered, or with another one; to this node, or to another."""
    sender = node.other("sender")
    kinds = ("dead at", "joining", "normal at", "indirect ping")
    kind = kinds[choice(node.path, "vector", len(kinds))]
    vector = any_vector(node, "vector", kind, sender if kind in ("joining", "normal at") else None)
    is_elsewhere = kind == "dead at" and choice(node.path, "to another node", 2)
    message = any_header(node, Ping, (vector,), node.other("target") if is_elsewhere else None)
    return node.start, Received(_NOW, NodeId("there"), message)


def an_ack(node: Node) -> Scene:
    """An ack with the vectors of an introduction; or one that a relay may wait for."""
    own = Number(node.id)
    if choice(node.path, "with vectors", 2):
        both = (any_vector(node, "joining", "joining", own), any_vector(node, "normal", "normal", own))
        return node.start, Received(_NOW, NodeId("there"), any_header(node, Ack, both))
    message = any_header(node, Ack, ())
    target, requester = cast("Any", node.other("target of the relay")), cast("Any", node.other("requester"))
    relay = Relay(target, requester, node.path.integer("relayed tx"), fresh=True)
    return replace(node.start, relays=(relay,)), Received(_NOW, NodeId("there"), message)


def a_probe(node: Node) -> Scene:
    """A probe."""
    message = Probe(cast("Any", node.other("sender")), any_incarnation(node.path, "header"))
    return node.start, Received(_NOW, NodeId("there"), message)


def an_answer_to_a_probe(node: Node) -> Scene:
    """An answer to a probe, which may be this one."""
    message = ProbeAck(cast("Any", node.other("sender")), any_incarnation(node.path, "header"), node.path.integer("answered tx"))
    where = NodeId("there:2")
    probing = Probing(*THERE, node.path.integer("tx of the probe"))
    return replace(node.start, probes=Table({where: probing})), Received(_NOW, where, message)


def a_quantum(node: Node) -> Scene:
    """A quantum: the next ping of a round, or the end of one."""
    if not choice(node.path, "within a round", 2):
        return node.start, Expired(_NOW, Quantum())
    node.rows(node.start).members = (node.member("one row"),)
    return replace(node.start, vector=cast("Any", node.rows(node.start).members)), Expired(_NOW, Quantum())


def the_end_of_a_probe(node: Node) -> Scene:
    """The timeout of a probe."""
    return node.start, Expired(_NOW, ProbeTimeout(*THERE))


def a_command(node: Node) -> Scene:
    """A command of the application."""
    uuid: Any = node.other("node of the command")
    data: Any = Text(smt.BoolVal(True), smt.Const("new data", Data))
    commands_ = (
        *(AddNode(uuid, *THERE), LeaveNode(uuid), RemoveNode(uuid), ProbeNode(*THERE), SetPayload(uuid, data)),
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
            after, effects = node.path.run(transitions.step, state, event, parts.pick)
    except NotEnabled:
        return
    node.claim_state(after, state)
    for effect in effects:
        if isinstance(effect, Send) and not any(effect.message is one for one in node.claimed):
            node.claim_message(after, effect.message)


PARTS: Final = (
    *(
        one_event_queued,
        any_claim,
        one_vector,
        the_past,
        one_message,
        one_row_settled,
        pings_of_suspicious_nodes,
        one_round_closed,
    ),
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
def no_node_is_ahead_of_another(path: Path, *, lost: bool = False) -> None:
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
def no_node_is_dead_without_having_been_suspicious(path: Path, *, instead: Mapping[str, Any] | None = None) -> None:
    """Who is dead in a row, or in a message to another node, was suspicious at some node before."""
    with overriding(instead or {}):
        every_part(path, Invariant(suspected="ever"))


@PROOFS.add(
    "SZ-12 SA-12 SX-02",
    _STEP,
    Twin("nodes need not name incarnations (SX-02)", {"emits": False}),
    scope=ANY_CLUSTER,
)
def no_node_is_dead_where_it_was_not_suspicious(path: Path, *, emits: bool = True) -> None:
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
    restart, seed = path.integer("restart counter", 0, COUNTER_MAX), Seed(cast("Any", node.other("seed")), *THERE)
    if not lost:
        path.know(restart > node.start.incarnation.restart)
    nothing = Neighbours(path, "nothing", lambda _, seen: [smt.Not(seen.has)])
    config = Config(cast("Any", Number(node.id)), restart, (seed,))
    path.know(node.issued(seed.uuid.term).restart >= 0, node.issued(seed.uuid.term).tx >= 0)  # type: ignore[attr-defined]
    with path.on_terms(overriding(names_in(transitions, Table=nothing.put))):
        state = path.run(transitions.initial, _HERE, config).state
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
            path.know(smt.Implies(before.suspected_at(one, *at), later.suspected_at(one, *at)))
            for known in (seen.payload, data.data.data):
                path.know(smt.Implies(before.has_set(one, at.restart, known), later.has_set(one, at.restart, known)))
    node.holds = replace(holds, cluster=later)
    node.claim_state(node.start)
    path.claim_all(lambda: node.holds.of_message(later.issued, message))


PROOFS.append(composition("SZ-16", "SI-02 SI-06 SI-08"))
