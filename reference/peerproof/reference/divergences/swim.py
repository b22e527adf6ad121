"""The differences of the original implementation of SWIM, one at a time [SD-01…SD-23]."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

import msgpack

from peerproof.reference.divergences.divergence import Divergence, by_id
from peerproof.spec.core import Asked, NodeId, Pick, Received, Send, Step
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.swim import detector, gossip, rounds, table, transitions
from peerproof.spec.swim.gossip import Carries, ack_of, datagram, request, with_row
from peerproof.spec.swim.messages import (
    Ack,
    AntiEntropy,
    Dead,
    Incarnation,
    IndirectPing,
    Joining,
    Member,
    OnClusterEvent,
    OnNodeEvent,
    Ping,
    Suspicious,
    Uuid,
    Vector,
)
from peerproof.spec.swim.state import Exchange, Queued, Row, State, Status, active_size
from peerproof.spec.swim.table import Claim
from peerproof.spec.swim.transitions import Sends

CLAIMED = gossip.apply_claim
EVENTS = gossip._events
FANOUT = gossip.fanout
MERGED = table.merge
IS_PAST = transitions.is_past
ON_ACK = transitions.on_ack
ON_PING = transitions.on_ping
ON_VECTOR = transitions.with_vector
SETTLED = detector.settle_row
CLOSED = detector.close_round
ON_QUANTUM = rounds.on_quantum


class Diverging(Divergence):
    """SWIM with some functions replaced."""

    protocol = "swim"


class SD01(Diverging):
    """Uses the number of neighbours instead of the number of nodes, and so pings no node if there is one neighbour."""

    instead: ClassVar = {"gossip.fanout": lambda nodes: FANOUT(nodes) if nodes > 2 else 0}


def suspicious_and_relays(state: State) -> list[tuple[Uuid, Row, list[Uuid]]]:
    """Returns each suspicious node, with the nodes that can be asked to ping it."""
    relays = [node for node in state.live if state.rows[node].status is not Status.SUSPICIOUS]
    return [(node, row, relays) for node, row in state.rows.items() if row.status is Status.SUSPICIOUS and relays]


@Diverging.instead_of("detector._indirect_pings")
def SD02(state: State, pick: Pick) -> tuple[State, Sends]:
    """Sends the second indirect ping to the suspect itself."""
    sends: Sends = ()
    for node, row, relays in suspicious_and_relays(state):
        relay = node if row.indirect_misses else Uuid(str(pick("indirect.relay", relays)[0]))
        state = with_row(state, node, replace(row, indirect_asked=True))
        state, sent = request(state, relay, pick, (IndirectPing(node, row.host, row.port),))
        sends += sent
    return state, sends


@Diverging.instead_of("transitions.with_vector")
def SD03(state: State, message: Ping | Ack, vector: Vector) -> State:
    """Ignores a death at the incarnation that it knows."""
    if isinstance(vector, Dead) and vector.node in state.rows:
        known = state.rows[vector.node].incarnation
        if (vector.incarnation or known) <= known:
            return state
    return ON_VECTOR(state, message, vector)


@Diverging.instead_of("transitions.on_ping")
def SD04(state: State, sender: NodeId, ping: Ping, pick: Pick) -> tuple[State, Sends]:
    """Answers an expired sender with the sender's own tx, and lets no dead node come back."""
    row = state.rows.get(ping.sender)
    if row is None or ping.target != state.uuid or not (IS_PAST(state, ping) or row.status is Status.DEAD):
        return ON_PING(state, sender, ping, pick)
    events = (Dead(ping.sender, Incarnation(row.incarnation.restart, ping.incarnation.tx)),)
    state, message = datagram(state, (ping.sender, sender), ack_of(state, ping), events, Carries(), pick)
    return state, () if message is None else (Send(sender, message),)


class SD05(Diverging):
    """Increases tx for each event that it receives."""

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Raises tx first."""
        if isinstance(event, Received) and isinstance(event.message, (Ping, Ack)):
            restart, tx = state.incarnation
            state = replace(state, incarnation=Incarnation(restart, min(tx + len(event.message.vectors), 2**63 - 1)))
        return super().step(state, event, pick)


@Diverging.instead_of("transitions.is_past")
def SD06(state: State, message: Ping | Ack) -> bool:
    """Compares only the restart counter of a header."""
    row = state.rows.get(message.sender)
    return row is not None and message.incarnation.restart < row.incarnation.restart


def _newer_part_by_part(row: Row, claim: Claim) -> Row:
    news, known = claim.incarnation, row.incarnation
    return MERGED(row, claim) if news.restart >= known.restart and news.tx >= known.tx else row


def _past_part_by_part(state: State, message: Ping | Ack) -> bool:
    row = state.rows.get(message.sender)
    said = message.incarnation
    return row is not None and (said.restart < row.incarnation.restart or said.tx < row.incarnation.tx)


class SD07(Diverging):
    """Compares incarnations part by part."""

    instead: ClassVar = {"gossip.merge": _newer_part_by_part, "transitions.is_past": _past_part_by_part}


class SD08(Diverging):
    """Appends each event to the queue, without replacing an older one about the same node."""

    instead: ClassVar = {"gossip.enqueue": lambda state, said: replace(state, queue=(*state.queue, Queued(said, frozenset())))}


@Diverging.instead_of("transitions.on_quantum")
def SD09(state: State, pick: Pick) -> tuple[State, Sends]:
    """Fills up the vector from the next shuffle."""
    sends: Sends = ()
    vector = rounds.still_live(state)
    count = FANOUT(active_size(state))
    if len(vector) < count:
        state, sends = CLOSED(state, pick)
        state = replace(state, pinged=frozenset(), answered=frozenset(), heard=False)
        vector = tuple(dict.fromkeys((*vector, *pick("round.order", state.live, len(state.live))))) if state.live else ()
    state = replace(state, vector=vector[count:], pinged=state.pinged | set(vector[:count]))
    for node in vector[:count]:
        state, sent = request(state, node, pick)
        sends += sent
    return state, sends


def _emptied(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = ON_QUANTUM(state, pick)
    return (after, sends) if sends else (replace(after, queue=()), sends)


def _taken_out(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    state, events = EVENTS(state, receiver, said, room)
    return replace(state, queue=tuple(entry for entry in state.queue if receiver in entry.recipients)), events


class SD10(Diverging):
    """Empties its queue without checking whether the events fit and are sent."""

    instead: ClassVar = {"transitions.on_quantum": _emptied, "gossip._events": _taken_out}


@Diverging.instead_of("detector.settle_row")
def SD11(state: State, node: Uuid, row: Row) -> State:
    """Declares a node dead after two misses if no other node can be asked to ping it."""
    after = SETTLED(state, node, row)
    others = [n for n in after.live if n != node and after.rows[n].status is not Status.SUSPICIOUS]
    if row.status is Status.SUSPICIOUS or after.rows[node].status is not Status.SUSPICIOUS or others:
        return after
    return with_row(after, node, replace(after.rows[node], status=Status.DEAD))


class SD12(Diverging):
    """Never takes itself for isolated."""

    instead: ClassVar = {"detector.SILENT_FOR_ISOLATION": 10**9}


def _no_suspicion(state: State, message: Ping | Ack, vector: Vector) -> State:
    about_another = isinstance(vector, Suspicious) and vector.node != state.uuid
    return state if about_another else ON_VECTOR(state, message, vector)


def _suspicion_is_kept(state: State, claim: Claim) -> State:
    after = CLAIMED(state, claim)
    return replace(after, queue=state.queue) if claim.status is Status.SUSPICIOUS else after


class SD13(Diverging):
    """Neither accepts nor spreads suspicion."""

    instead: ClassVar = {"transitions.with_vector": _no_suspicion, "detector.apply_claim": _suspicion_is_kept}


@Diverging.instead_of("detector.settle_row")
def SD14(state: State, node: Uuid, row: Row) -> State:
    """Suspects a node that has not answered, whatever its status is."""
    after = SETTLED(state, node, row)
    if row.is_live or node not in state.pinged or node in state.answered:
        return after
    return with_row(after, node, replace(row, status=Status.SUSPICIOUS))


@Diverging.instead_of("transitions.on_ack")
def SD15(state: State, ack: Ack, pick: Pick) -> tuple[State, Sends]:
    """Takes any expected ack for a sign of life, even a past one, or one of a node that has left."""
    row = state.rows.get(ack.sender)
    expected = row is not None and ack.target == state.uuid and ack.target_tx in row.unanswered
    after, sends = ON_ACK(state, ack, pick)
    if expected:
        after = with_row(after, ack.sender, replace(after.rows[ack.sender], status=Status.NORMAL))
    return after, sends


@Diverging.instead_of("gossip.merge")
def SD16(row: Row, claim: Claim) -> Row:
    """Keeps a payload over a restart, and drops it when tx grows."""
    changed = MERGED(row, claim)
    if changed is row:
        return row
    return replace(changed, payload=row.payload if changed.incarnation.restart > row.incarnation.restart else None)


def _members_of_all(state: State, receiver: Uuid, pick: Pick, *, tagged: bool, room: Any) -> AntiEntropy | None:
    others = [node for node in state.rows if node != receiver]
    if not others or not state.config.ae_size or not tagged:
        return None
    picked = [Uuid(str(node)) for node in pick("anti-entropy", others, state.config.ae_size)]
    sample = AntiEntropy(tuple(Member(state.rows[n].host, state.rows[n].port, n, *state.rows[n].incarnation) for n in picked))
    return sample if room.takes(sample) else None


class SD17(Diverging):
    """Sends anti-entropy about removed nodes too, only in acks, and never to a joiner."""

    instead: ClassVar = {"gossip._members": _members_of_all, "gossip.REQUEST": Carries(events=True, payload=True)}


class SD18(Diverging):
    """Applies the vectors before a bad one."""

    def decode(self, data: bytes) -> Any:
        """Decodes the longest prefix that is a message."""
        try:
            return super().decode(data)
        except MalformedMessage:
            for count in range(len(vectors := list(_vectors(data))), 0, -1):
                try:
                    return super().decode(msgpack.packb(vectors[:count]))
                except MalformedMessage:
                    continue
            raise


def _vectors(data: bytes) -> Any:
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(data)
    try:
        for _ in range(unpacker.read_array_header()):
            yield unpacker.unpack()
    except (ValueError, msgpack.UnpackException):
        return


@Diverging.instead_of("transitions.on_ping")
def SD20(state: State, sender: NodeId, ping: Ping, pick: Pick) -> tuple[State, Sends]:
    """Admits a node with one exchange, and answers a joining with a known restart counter by a death."""
    row = state.rows.get(ping.sender)
    if ping.target != state.uuid or not any(isinstance(v, Joining) and v.node == ping.sender for v in ping.vectors):
        return ON_PING(state, sender, ping, pick)
    if row is not None and row.incarnation.restart == ping.incarnation.restart:
        events = (Dead(ping.sender, row.incarnation),)
        state, message = datagram(state, (ping.sender, sender), ack_of(state, ping), events, Carries(), pick)
        return state, () if message is None else (Send(sender, message),)
    state, sends = ON_PING(state, sender, ping, pick)
    return with_row(state, ping.sender, replace(state.rows[ping.sender], status=Status.NORMAL, exchange=Exchange.DONE)), sends


#: The names of vectors, by the integers that stand for them.
NAMES: Final = tuple(
    f"~:{name}"
    for name in (
        *("ping", "ack", "joining", "normal", "suspicious", "leave", "dead", "payload", "anti-entropy"),
        *("indirect-ping", "indirect-ack", "probe", "probe-ack"),
    )
)


class SD22(Diverging):
    """Encodes the names of events as integers, and accepts only these."""

    def encode(self, message: Any) -> bytes:
        """Replaces the names."""
        vectors: list[Any] = msgpack.unpackb(super().encode(message), strict_map_key=False)
        written: dict[str, str] = {}
        for vector in vectors:
            if vector and isinstance(vector[0], str):
                name = written.get(vector[0], vector[0])
                vector[0] = NAMES.index(name) if name in NAMES else vector[0]
        return bytes(msgpack.packb(vectors))

    def decode(self, data: bytes) -> Any:
        """Restores the names."""
        try:
            vectors: list[Any] = msgpack.unpackb(data, strict_map_key=False)
            named = [[NAMES[vector[0]], *vector[1:]] for vector in vectors]
        except (ValueError, TypeError, LookupError, msgpack.UnpackException):
            raise MalformedMessage("bad_type", 0, "an event begins with an integer") from None
        return super().decode(msgpack.packb(named))


class SD23(Diverging):
    """Removes nodes without notifying others, and has no subscriptions."""

    instead: ClassVar = {
        "transitions.on_remove_node": lambda state, command: Step(replace(state, rows=state.rows.without((command.uuid,))))
    }

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Ignores subscriptions."""
        if isinstance(event, Asked) and isinstance(event.command, (OnNodeEvent, OnClusterEvent)):
            return Step(state)
        return super().step(state, event, pick)


#: The divergences by their ids.
DIVERGENCES: Final = by_id(Diverging)
