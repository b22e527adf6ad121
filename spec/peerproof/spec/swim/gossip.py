"""
The contents of pings and acks: queued events, anti-entropy and the payload; and how a datagram is assembled.

All messages of a node go through `datagram`, which counts them [SA-09], keeps them below the size limit [SA-32] and records
which nodes got which events [SA-25].
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import NamedTuple

from peerproof.spec.core import NodeId, Pick, Send, replace
from peerproof.spec.swim.codec import Room
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AntiEntropy,
    ClusterEventVector,
    Incarnation,
    Joining,
    Member,
    Message,
    Normal,
    Payload,
    Ping,
    Uuid,
    Vector,
)
from peerproof.spec.swim.state import Exchange, Queued, Row, State, Status, active_size, address
from peerproof.spec.swim.table import Claim, event, merge

EMPTY_PAYLOAD = "{}"


def fanout(nodes: int) -> int:
    """Returns how many nodes get an event, and how many are pinged in a quantum, of so many active nodes. [S-40, S-44, SA-23]"""
    return (nodes - 1).bit_length() if nodes > 1 else 0


def enqueue(state: State, said: ClusterEventVector) -> State:
    """Returns the node with an event appended to its queue; it replaces one about the same node. [S-35, S-39, SA-25]"""
    others = tuple(entry for entry in state.queue if entry.event.node != said.node)
    return replace(state, queue=(*others, Queued(said, frozenset())))


def apply_claim(state: State, claim: Claim) -> State:
    """Returns the node after a claim about another node with a row. A change is queued. [S-26, S-37, S-38, SA-49]"""
    row = state.rows[claim.node]
    changed = merge(row, claim)
    if changed is row:
        return state
    state = with_row(state, claim.node, changed)
    if changed.status is row.status and changed.incarnation.restart == row.incarnation.restart:
        return state
    return enqueue(state, event(claim.node, changed, emit_incarnation=state.config.emit_incarnation))


def with_row(state: State, node: Uuid, row: Row) -> State:
    """Returns the node with this row."""
    return replace(state, rows=state.rows.put({node: row}))


def reborn(state: State, incarnation: Incarnation) -> State:
    """Returns the node in a new life: acks of earlier pings are void. [SA-17, SA-42, SA-47]"""
    rows = {node: replace(row, unanswered=()) for node, row in state.rows.items() if row.unanswered}
    return replace(state, incarnation=incarnation, rows=state.rows.put(rows), relays=())


def count_datagram(state: State) -> State | None:
    """Returns the node with the number of its next datagram; None if its counters are exhausted. [SA-09, SA-47]"""
    restart, tx = state.incarnation
    if tx < COUNTER_MAX:
        return replace(state, incarnation=Incarnation(restart, tx + 1))
    return reborn(state, Incarnation(restart + 1, 1)) if restart < COUNTER_MAX else None


class Carries(NamedTuple):
    """The optional contents of a datagram."""

    events: bool = False  #: queued events
    members: bool = False  #: anti-entropy
    payload: bool = False
    tagged: bool = True  #: anti-entropy with its keyword


#: A request [S-31], its answer [S-32], the first answer to a joiner [S-25, SA-18], and a message without optional contents.
REQUEST, ANSWER, WELCOME, BARE = Carries(True, True, True), Carries(True, True), Carries(members=True, tagged=False), Carries()

Header = Callable[[Incarnation, tuple[Vector, ...]], Message]


def ping_to(state: State, target: Uuid) -> Header:
    """Returns the header of a request."""
    return lambda incarnation, vectors: Ping(state.uuid, incarnation, target, vectors)


def ack_of(state: State, ping: Ping) -> Header:
    """Returns the header of an answer."""
    return lambda incarnation, vectors: Ack(state.uuid, incarnation, ping.sender, ping.incarnation.tx, vectors)


def datagram(
    state: State, to: tuple[Uuid, NodeId], header: Header, first: Iterable[Vector], carries: Carries, pick: Pick
) -> tuple[State, Message | None]:
    """Returns a message, None if the sender's counters are exhausted, and the new sender. [SA-09, SA-25, SA-30, SA-32]"""
    sending = count_datagram(state)
    if sending is None:
        return state, None
    receiver, _ = to
    vectors = list(first)
    room = Room(header(sending.incarnation, tuple(vectors)), sending.config.max_datagram)
    if carries.events:
        sending, told = _events(sending, receiver, vectors, room)
        vectors += told
    if carries.members and (members := _members(sending, receiver, pick, tagged=carries.tagged, room=room)):
        vectors.append(members)
    if carries.payload and sending.payload != EMPTY_PAYLOAD and not sending.left:
        payload = Payload(sending.payload)
        vectors += [payload] if room.takes(payload) else []
    return sending, header(sending.incarnation, tuple(vectors))


def _events(state: State, receiver: Uuid, said: list[Vector], room: Room) -> tuple[State, list[Vector]]:
    """Returns the queued events for a live node that fit, and the node after sending them. [S-40, SA-25]"""
    if not state.queue:
        return state, []
    enough = fanout(active_size(state))
    told: list[Vector] = []
    kept: list[Queued] = []
    spoken_of = {vector.node for vector in said if isinstance(vector, Normal)}  # with an incarnation that may be newer [SA-58]
    full = False
    for entry in state.queue:
        full = full or not (receiver in entry.recipients or entry.event.node in spoken_of or room.takes(entry.event))
        if full or receiver in entry.recipients:
            kept.append(entry)
            continue
        if entry.event.node not in spoken_of:
            told.append(entry.event)
        recipients = entry.recipients | {receiver}
        if len(recipients - {entry.event.node}) < enough:
            kept.append(Queued(entry.event, recipients))
    return replace(state, queue=tuple(kept)), told


def _others(nodes: tuple[Uuid, ...], one: Uuid) -> tuple[Uuid, ...]:
    """Returns all of these nodes, which are in order, but for one: without a look at each, for there may be a thousand."""
    at = bisect_left(nodes, one)
    return nodes[:at] + nodes[at + (nodes[at : at + 1] == (one,)) :]


def _members(state: State, receiver: Uuid, pick: Pick, *, tagged: bool, room: Room) -> AntiEntropy | None:
    """Returns anti-entropy for a node, as many rows as fit. [S-33, SA-28, SA-32]"""
    others = _others(state.live, receiver)
    if not others or not state.config.ae_size:
        return None
    picked = pick("anti-entropy", others, state.config.ae_size)
    members = tuple(Member(row.host, row.port, node, *row.incarnation) for node, row in ((n, state.rows[n]) for n in picked))
    for count in range(len(members), 0, -1):
        if room.takes(part := AntiEntropy(members[:count], tagged)):
            return part
    return None


def request(
    state: State, node: Uuid, pick: Pick, purpose: tuple[Vector, ...] = (), where: NodeId | None = None
) -> tuple[State, tuple[Send[Message], ...]]:
    """
    Returns a ping of a node in the table, and the sender afterwards. [S-03]

    To a node to which this one still has to introduce itself, the ping has only the vectors of its purpose, or the introduction
    if there are none [S-24, S-27, SA-04, SA-57]; to any other, also the events that it lacks, anti-entropy and the payload
    [S-31]. It goes to the address in the row, unless another one is given.
    """
    row = state.rows[node]
    carries = REQUEST if row.is_live and row.exchange is Exchange.DONE else BARE
    first = purpose or introduction(state, row)
    where = where or address(row.host, row.port)
    state, message = datagram(state, (node, where), ping_to(state, node), first, carries, pick)
    if message is None:
        return state, ()
    return waiting(state, node), (Send(where, message),)


def introduction(state: State, row: Row) -> tuple[Vector, ...]:
    """Returns the vectors with which the next ping introduces its sender to a node. [S-24, S-27, SA-57]"""
    sending = count_datagram(state)
    if sending is None or row.exchange is Exchange.DONE:
        return ()
    if row.exchange is Exchange.FIRST:
        return (Joining(state.uuid, sending.incarnation, *state.place),)
    return (Normal(state.uuid, sending.incarnation if state.config.emit_incarnation else None),)


#: The number of unanswered pings to remember for each node. [SA-52]
REMEMBERED = 16


def waiting(state: State, node: Uuid) -> State:
    """Returns the node after pinging another one with its present tx. [SA-42, SA-52]"""
    row = state.rows.get(node)
    if row is None:
        return state
    return with_row(state, node, replace(row, unanswered=(*row.unanswered, state.incarnation.tx)[-REMEMBERED:]))


def answer(state: State, ping: Ping, to: NodeId, pick: Pick) -> tuple[State, tuple[Send[Message], ...]]:
    """
    Returns the ack of an accepted ping, and the sender afterwards. [S-32]

    A joiner is welcomed [S-25], and is confirmed as normal when it says that it is [S-28, SA-58]; a node without a live row here
    gets the ack alone [SA-21, SA-50].
    """
    row = state.rows.get(ping.sender)
    first: tuple[Vector, ...] = ()
    carries = ANSWER if row is not None and row.is_live else BARE
    said = {type(vector) for vector in ping.vectors if isinstance(vector, (Joining, Normal)) and vector.node == ping.sender}
    if row is not None and Joining in said and row.status is Status.JOINING:
        first, carries = (Joining(ping.sender, row.incarnation, row.host, row.port),), WELCOME
    elif row is not None and Normal in said and row.status is Status.NORMAL:
        first = (event(ping.sender, row, emit_incarnation=state.config.emit_incarnation),)
    state, message = datagram(state, (ping.sender, to), ack_of(state, ping), first, carries, pick)
    return state, () if message is None else (Send(to, message),)
