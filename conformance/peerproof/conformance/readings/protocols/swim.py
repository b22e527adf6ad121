"""Other readings of SWIM's document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import msgpack

from peerproof.conformance.readings.reading import Readings
from peerproof.spec.core import Asked, NodeId, Notify, Pick, Received, Send, Step
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.swim.codec import encode
from peerproof.spec.swim.commands import on_add_node, on_leave_node, on_remove_node, on_set_payload
from peerproof.spec.swim.detector import MISSES, SILENT_FOR_ISOLATION, close_round
from peerproof.spec.swim.gossip import (
    ANSWER,
    ack_of,
    answer,
    apply_claim,
    datagram,
    enqueue,
    fanout,
    request,
    with_row,
)
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AddNode,
    AntiEntropy,
    ClusterEventVector,
    Dead,
    EventType,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    LeaveNode,
    Member,
    Message,
    Normal,
    Payload,
    Ping,
    Probe,
    ProbeAck,
    RemoveNode,
    SetPayload,
    Suspicious,
    Uuid,
    Vector,
)
from peerproof.spec.swim.rounds import on_quantum, still_live
from peerproof.spec.swim.state import LIVE, Exchange, Queued, Row, State, Status, active_size, address
from peerproof.spec.swim.table import RANK, Claim, Key, changes, event, merge, of_sender
from peerproof.spec.swim.transitions import (
    Next,
    advance_introduction,
    apply_message,
    is_past,
    notify_subscribers,
    on_ack,
    on_ping,
    refute,
    request_relays,
    with_member,
    with_vector,
)

Right = Callable[..., Next]
Sends = tuple[Send[Message], ...]
_MESSAGES: Final = (Ping, Ack)
READINGS: Final = Readings()


@READINGS.register("SA-02", "in-total", "step")
def _miss_in_total(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Misses need not be in a row: an ack of a node that is well does not set them to 0."""
    after = right(state, event, pick)
    if not isinstance(event, Received) or not isinstance(event.message, Ack):
        return after
    sender = event.message.sender
    before, now = state.rows.get(sender), after.state.rows.get(sender)
    if not before or not now or before.status is not now.status or before.misses == now.misses:
        return after
    return after._replace(state=with_row(after.state, sender, replace(now, misses=before.misses)))


@READINGS.register("SA-02", "acks-only", "table.merge")
def _misses_stay(row: Row, claim: Claim) -> Row:
    """Only an ack sets misses to 0: a node that becomes normal again in another way keeps them."""
    after = merge(row, claim)
    return after if after is row else replace(after, misses=row.misses)


def _is_answer(state: State, ack: Ack) -> bool:
    row = state.rows.get(ack.sender)
    return row is not None and ack.target == state.uuid and not is_past(state, ack) and ack.target_tx in row.unanswered


def _is_late(state: State, ack: Ack) -> bool:
    """Whether an ack answers a ping of an earlier round."""
    if not _is_answer(state, ack):
        return False
    return ack.sender not in state.pinged or ack.target_tx != state.rows[ack.sender].unanswered[-1]


@READINGS.register("SA-02", "its-own-ping", "transitions.on_ack")
def _late_is_no_answer(state: State, ack: Ack, pick: Pick) -> Step[State, Send[Message]]:
    """An ack of an earlier round's ping sets misses to 0, and is no answer to the ping of this round."""
    after, sends = on_ack(state, ack, pick)
    return Step(replace(after, answered=state.answered) if _is_late(state, ack) else after, sends)


@READINGS.register("SA-02", "in-time", "transitions.on_ack")
def _late_is_missed(state: State, ack: Ack, pick: Pick) -> Step[State, Send[Message]]:
    """An ack of an earlier round's ping comes too late: it is no answer in this round, and sets no misses to 0."""
    after, sends = on_ack(state, ack, pick)
    if not _is_late(state, ack):
        return Step(after, sends)
    row = replace(after.rows[ack.sender], misses=state.rows[ack.sender].misses)
    return Step(replace(with_row(after, ack.sender, row), answered=state.answered), sends)


def _ask_for(state: State, pick: Pick, relays_of: Callable[[Uuid, Row], Sequence[Uuid]]) -> tuple[State, Sends]:
    sends: list[Send[Message]] = []
    for node, row in state.rows.items():
        if row.status is not Status.SUSPICIOUS or not (relays := relays_of(node, row)):
            continue
        (relay,) = pick("indirect.relay", relays)
        asking = with_row(state, node, replace(row, indirect_asked=True))
        asking, sent = request(asking, Uuid(str(relay)), pick, (IndirectPing(node, row.host, row.port),))
        state = asking if sent else state
        sends += sent
    return state, tuple(sends)


def _is_silent(state: State) -> bool:
    return len(state.pinged) >= SILENT_FOR_ISOLATION and not state.heard


@READINGS.register("SA-03", "any-relay", "detector._indirect_pings")
def _ask_any_relay(state: State, pick: Pick) -> tuple[State, Sends]:
    """A suspicious node may be asked to ping another one, too."""
    return _ask_for(state, pick, lambda node, _: [other for other in state.live if other != node])


def _without(*kinds: type[Any]) -> Callable[[Callable[[bytes], Any], bytes], Any]:
    """Returns a decoder that does not know these kinds of vectors."""

    def decode(right: Callable[[bytes], Any], data: bytes) -> Any:
        message = right(data)
        if isinstance(message, kinds):
            raise MalformedMessage("bad_type", 0, "a message of no known kind")
        if not isinstance(message, _MESSAGES):
            return message
        return replace(message, vectors=tuple(vector for vector in message.vectors if not isinstance(vector, kinds)))

    return decode


def _written_otherwise(name: bytes) -> Callable[[Callable[[Any], bytes], Any], bytes]:
    """Returns an encoder with another word for keywords that begin with these letters."""
    return lambda right, message: right(message).replace(b"~:" + name, b"~:" + name[::-1])


READINGS.add(
    "SA-04",
    "another-form",
    "The document gives the indirect ping and its answer no form, so that they have any.",
    encode=_written_otherwise(b"indirect-"),
    decode=_without(IndirectPing, IndirectAck),
    is_open=True,
)
READINGS.add(
    "SA-05",
    "another-form",
    "The document gives leaving no form, so that it has any.",
    encode=_written_otherwise(b"leave"),
    decode=_without(Leave),
    is_open=True,
)


@READINGS.register("SA-06", "any-change", "table.changes")
def _change_with_tx(before: State, after: State) -> list[tuple[Uuid, EventType]]:
    """A change of tx alone is reported as a change of incarnation, too."""
    told = [one for one in changes(before, after) if one[1] is not EventType.INCARNATION]
    both = [(node, row, before.rows.get(node)) for node, row in after.rows.items()]
    return told + [(node, EventType.INCARNATION) for node, row, was in both if was and was.incarnation != row.incarnation]


READINGS.add(
    "SA-07",
    "one-is-everybody",
    "A node that has pinged just one node, the only one there is, is isolated too if no answer comes.",
    instead={"detector.SILENT_FOR_ISOLATION": 1},
)


@READINGS.register("SA-07", "answers-only", "transitions.on_ack")
def _heard_by_answers(state: State, ack: Ack, pick: Pick) -> Step[State, Send[Message]]:
    """An ack that matches no ping is no answer of its sender, and does not show that others are there."""
    after, sends = on_ack(state, ack, pick)
    return Step(after if _is_answer(state, ack) else replace(after, heard=state.heard), sends)


@READINGS.register("SA-07", "counts-misses", "detector.close_round")
def _count_in_isolation(state: State, pick: Pick) -> tuple[State, Sends]:
    """An isolated node counts misses, and draws no conclusion from them as long as it is isolated."""
    after, sends = close_round(state, pick)
    for node in state.pinged - state.answered if _is_silent(state) else ():
        row = after.rows.get(node)
        if row is not None and row.is_live:
            after = with_row(after, node, replace(row, misses=min(row.misses + 1, MISSES)))
    return after, sends


@READINGS.register("SA-07", "forgets-misses", "detector.close_round")
def _forget_in_isolation(state: State, pick: Pick) -> tuple[State, Sends]:
    """An isolated node sets all misses to 0, since it may have caused them itself."""
    after, sends = close_round(state, pick)
    if _is_silent(state):
        after = replace(after, rows=after.rows.put({node: replace(row, misses=0) for node, row in after.rows.items()}))
    return after, sends


@READINGS.register("SA-07", "asks-on", "detector.close_round")
def _ask_in_isolation(state: State, pick: Pick) -> tuple[State, Sends]:
    """An isolated node goes on asking others to ping those that are suspicious."""
    after, sends = close_round(state, pick)
    if not _is_silent(state):
        return after, sends
    relays = [node for node in after.live if after.rows[node].status is not Status.SUSPICIOUS]
    return _ask_for(after, pick, lambda *_: relays)


@READINGS.register("SA-12", "as-in-the-samples", "decode")
def _decode_short_events(right: Callable[[bytes], Any], data: bytes) -> Any:
    """Only of the dead is an incarnation understood."""
    message = right(data)
    for vector in message.vectors if isinstance(message, _MESSAGES) else ():
        if isinstance(vector, Normal | Suspicious) and vector.incarnation is not None:
            raise MalformedMessage("bad_length", 0, "an event has two elements")
    return message


def _key_of_any_status(status: Status, incarnation: Incarnation) -> Key:
    return incarnation.restart, False, incarnation.tx, len(RANK) if status is Status.LEAVE else RANK[status]


def _leaver_is_back(state: State, node: Uuid, incarnation: Incarnation) -> Claim:
    claim = of_sender(state, node, incarnation)
    return claim._replace(status=Status.NORMAL) if claim.status is Status.LEAVE else claim


READINGS.add(
    "SA-13",
    "leaving-is-refuted",
    "A node that was taken out is back with its next message, as one that is dead.",
    instead={"table.key": _key_of_any_status, "table.of_sender": _leaver_is_back},
)


@READINGS.register("SA-15", "dead-until-restart", "table.merge")
def _dead_until_restart(row: Row, claim: Claim) -> Row:
    """A dead node comes back with a restart only."""
    rises = row.status is Status.DEAD and claim.incarnation.restart == row.incarnation.restart and claim.status in LIVE
    return row if rises else merge(row, claim)


@READINGS.register("SA-16", "acks-too", "step")
def _answer_acks_of_the_past(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """An expired ack is answered like an expired ping."""
    if isinstance(event, Received) and isinstance(ack := event.message, Ack) and ack.target == state.uuid and is_past(state, ack):
        event = replace(event, message=Ping(ack.sender, ack.incarnation, ack.target, ()))
    return right(state, event, pick)


READINGS.add(
    "SA-17",
    "unspecified",
    "The document does not say what a node does when it hears that it is dead.",
    instead={"transitions.refute": lambda state, *_: state},
    is_open=True,
)


@READINGS.register("SA-17", "same-restart", "transitions.refute")
def _refute_by_tx(state: State, teller: Uuid, said: Normal | Suspicious | Dead | Leave) -> State:
    """A node that hears that it is dead goes on above the tx in that claim, at the same restart counter."""
    after = refute(state, teller, said)
    if after is state or said.incarnation is None or said.incarnation.tx == COUNTER_MAX:
        return after
    return replace(after, incarnation=said.incarnation)


def _sent(step: Any, change: Callable[[Message], Message]) -> Next:
    """Returns a step with changed messages."""
    effects = tuple(replace(one, message=change(one.message)) if isinstance(one, Send) else one for one in step.effects)
    return Step(step.state, effects)


def _with_keyword(message: Message) -> Message:
    if not isinstance(message, Ack):
        return message
    vectors = (replace(vector, tagged=True) if isinstance(vector, AntiEntropy) else vector for vector in message.vectors)
    return replace(message, vectors=tuple(vectors))


READINGS.add(
    "SA-18",
    "with-keyword",
    "Anti-entropy has its keyword in the first answer to a joiner, too.",
    step=lambda right, *arguments: _sent(right(*arguments), _with_keyword),
)


@READINGS.register("SA-21", "no-answer", "step")
def _answer_no_stranger(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """A sender that is unknown and does not join gets no answer."""
    if isinstance(event, Received) and isinstance(event.message, Ping):
        ping = event.message
        joins = any(isinstance(vector, Joining) and vector.node == ping.sender for vector in ping.vectors)
        if ping.sender not in state.rows and not joins:
            return Step(state)
    return right(state, event, pick)


@READINGS.register("SA-21", "strangers-bring-news", "transitions.apply_message")
def _apply_of_strangers(state: State, message: Ping | Ack) -> State:
    """Claims of an unknown sender about others are accepted."""
    joins = any(isinstance(vector, Joining) and vector.node == message.sender for vector in message.vectors)
    if message.sender in state.rows or joins:
        return apply_message(state, message)
    for vector in message.vectors:
        state = with_vector(state, message, vector)
    return state


@READINGS.register("SA-22", "any-target", "step")
def _take_for_any_target(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """A ping or ack counts whatever target it names."""
    if isinstance(event, Received) and isinstance(event.message, _MESSAGES):
        event = replace(event, message=replace(event.message, target=state.uuid))
    return right(state, event, pick)


@READINGS.register("SA-23", "rounded-down", "gossip.fanout")
def _fanout_down(nodes: int) -> int:
    """log2 N is rounded down, and at least 1."""
    return max(1, nodes.bit_length() - 1) if nodes > 1 else 0


@READINGS.register("SA-23", "decimal", "gossip.fanout")
def _fanout_decimal(nodes: int) -> int:
    """The logarithm has base 10 and is rounded up."""
    return len(str(nodes - 1)) if nodes > 1 else 0


READINGS.add("SA-24", "one", "One node is pinged in each quantum.", instead={"rounds.fanout": lambda nodes: min(nodes - 1, 1)})
READINGS.add(
    "SA-24", "all", "N is the number of nodes: all are pinged in each quantum.", instead={"rounds.fanout": lambda nodes: nodes}
)


@READINGS.register("SA-25", "keeps-its-place", "gossip.enqueue")
def _enqueue_in_place(state: State, said: ClusterEventVector) -> State:
    """A newer state of a node takes the place of the earlier one in the queue."""
    if not any(entry.event.node == said.node for entry in state.queue):
        return enqueue(state, said)
    queue = (Queued(said, frozenset()) if entry.event.node == said.node else entry for entry in state.queue)
    return replace(state, queue=tuple(queue))


def _events(
    state: State,
    receiver: Uuid,
    said: list[Vector],
    room: Any,
    *,
    skips: bool = False,
    counts_itself: bool = False,
    repeats: Callable[[Uuid], bool] = lambda _: False,
    spares: Callable[[Uuid], bool] = lambda _: False,
) -> tuple[State, list[Vector]]:
    enough = fanout(active_size(state))
    spoken_of = {vector.node for vector in said if isinstance(vector, Normal)}
    told: list[Vector] = []
    kept: list[Queued] = []
    is_full = False
    for entry in state.queue:
        node = entry.event.node
        has_it = spares(node) or (receiver in entry.recipients and not repeats(node))
        fits = has_it or ((not is_full or skips) and (node in spoken_of or room.takes(entry.event)))
        is_full = is_full or not fits
        if has_it or not fits:
            kept.append(entry)
            continue
        told += [] if node in spoken_of else [entry.event]
        recipients = entry.recipients | {receiver}
        if len(recipients if counts_itself else recipients - {node}) < enough:
            kept.append(Queued(entry.event, recipients))
    return replace(state, queue=tuple(kept)), told


@READINGS.register("SA-25", "counts-its-node", "gossip._events")
def _events_counted(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    """The node that an event is about counts among those that it was sent to."""
    return _events(state, receiver, said, room, counts_itself=True)


@READINGS.register("SA-25", "again-to-its-node", "gossip._events")
def _events_repeated_to_their_nodes(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    """Each datagram to the node that an event is about carries it, as long as the event is queued."""
    return _events(state, receiver, said, room, repeats=lambda node: node == receiver)


@READINGS.register("SA-25", "not-to-its-node", "gossip._events")
def _events_of_others(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    """A node is sent no event about itself."""
    return _events(state, receiver, said, room, spares=lambda node: node == receiver)


@READINGS.register("SA-25", "again", "gossip._events")
def _events_repeated(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    """A datagram carries an event also to a node that has got it, as long as it is queued."""
    return _events(state, receiver, said, room, repeats=lambda _: True)


@READINGS.register("SA-26", "as-formed", "rounds.still_live")
def _still_known(state: State) -> Iterable[Uuid]:
    """A round pings also those of its vector that are not live any more."""
    return tuple(node for node in state.vector if node in state.rows)


@READINGS.register("SA-26", "at-once", "rounds.on_quantum")
def _form_at_once(state: State, pick: Pick) -> Step[State, Send[Message]]:
    """A round ends as soon as its vector is empty: in that same quantum the vector of the next one is formed."""
    indirect: Sends = ()
    if not state.pinged.isdisjoint(state.vector):  # that of the round that is over
        state, indirect = close_round(state, pick)
        state = replace(state, pinged=frozenset(), answered=frozenset(), heard=False)
    state, sends = on_quantum(state, pick)
    live = state.live
    formed = pick("round.order", live, len(live)) if sends and not state.vector and live else state.vector
    return Step(replace(state, vector=formed), (*indirect, *sends))


READINGS.add(
    "SA-27", "unsuspected-only", "A suspicious node is not live.", instead={"state.LIVE": (Status.JOINING, Status.NORMAL)}
)


def _members_of(state: State, nodes: Sequence[Uuid], pick: Pick, *, least: int, tagged: bool, room: Any) -> AntiEntropy | None:
    picked = pick("anti-entropy", nodes, state.config.ae_size) if nodes and state.config.ae_size else ()
    rows = [(Uuid(str(node)), state.rows[Uuid(str(node))]) for node in picked]
    members = tuple(Member(row.host, row.port, node, *row.incarnation) for node, row in rows)
    parts = (AntiEntropy(members[:count], tagged) for count in range(len(members), least - 1, -1))
    return next((part for part in parts if room.takes(part)), None)


@READINGS.register("SA-28", "receiver-too", "gossip._members")
def _members_with_receiver(state: State, _: Uuid, pick: Pick, *, tagged: bool, room: Any) -> AntiEntropy | None:
    """Anti-entropy may hold its receiver."""
    return _members_of(state, state.live, pick, least=1, tagged=tagged, room=room)


@READINGS.register("SA-28", "empty-too", "gossip._members", says_the_same=True)
def _members_or_none(state: State, receiver: Uuid, pick: Pick, *, tagged: bool, room: Any) -> AntiEntropy | None:
    """Anti-entropy is part of each message, and empty if there are no rows."""
    others = [node for node in state.live if node != receiver]
    return _members_of(state, others, pick, least=0, tagged=tagged, room=room)


@READINGS.register("SA-29", "unknown-only", "transitions.with_member")
def _member_of_unknown(state: State, claim: Claim) -> State:
    """Anti-entropy makes nodes known, and says nothing of those that are."""
    return state if claim.node in state.rows else with_member(state, claim)


@READINGS.register("SA-29", "like-events", "transitions.with_member")
def _member_as_claim(state: State, claim: Claim) -> State:
    """Anti-entropy is merged like a normal at the same incarnation."""
    return apply_claim(state, claim) if claim.node in state.rows else with_member(state, claim)


@READINGS.register("SA-29", "as-joining", "transitions.with_member")
def _member_is_joining(state: State, claim: Claim) -> State:
    """A node that anti-entropy makes known is a new node, and so joining, until something says that it is normal."""
    after = with_member(state, claim)
    if claim.node in state.rows or claim.node not in after.rows:
        return after
    return with_row(after, claim.node, replace(after.rows[claim.node], status=Status.JOINING))


@READINGS.register("SA-31", "unspecified", "decode", ends=True)
def _die_of_what_is_malformed(right: Callable[[bytes], Any], data: bytes) -> Any:
    """The document does not say how malformed messages are handled."""
    try:
        return right(data)
    except MalformedMessage as error:
        raise RuntimeError(error.detail) from None


@READINGS.register("SA-31", "known-only", "decode")
def _decode_known_only(right: Callable[[bytes], Any], data: bytes) -> Any:
    """A vector of an unknown kind makes the whole datagram malformed."""
    message = right(data)
    count = len(message.vectors) if isinstance(message, _MESSAGES) else 0
    if count + 1 < len(msgpack.unpackb(data, use_list=False, strict_map_key=False, object_pairs_hook=list)):
        raise MalformedMessage("bad_type", 0, "a vector of no known kind")
    return message


READINGS.add("SA-32", "no-limit", "A datagram is as large as what it has to say.", instead={"codec.Room.takes": lambda *_: True})


@READINGS.register("SA-32", "smaller-ones-fit", "gossip._events")
def _events_skipped(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    """An event that does not fit is skipped, and later ones that fit are sent."""
    return _events(state, receiver, said, room, skips=True)


READINGS.add(
    "SA-33",
    "empty-too",
    "A payload that is an empty map goes with the pings, too.",
    instead={"gossip.EMPTY_PAYLOAD": ""},
    says_the_same=True,
)


@READINGS.register("SA-35", "of-any-node", "transitions.on_set_payload")
def _payload_of_any(state: State, command: SetPayload) -> Next:
    """The payload of any known node can be set, where it is set."""
    if command.uuid == state.uuid:
        return on_set_payload(state, command)
    if command.uuid not in state.rows:
        raise NotEnabled("not_own", f"{command.uuid} is not known")
    return Step(with_row(state, command.uuid, replace(state.rows[command.uuid], payload=command.data)))


@READINGS.register("SA-35", "any-size", "transitions.on_set_payload")
def _payload_of_any_size(state: State, command: SetPayload) -> Next:
    """A payload of any size can be set; one that does not fit is not sent."""
    return Step(replace(state, payload=command.data)) if command.uuid == state.uuid else on_set_payload(state, command)


@READINGS.register("SA-36", "after-leaving", "transitions.on_remove_node")
def _remove_after_leave(state: State, command: RemoveNode) -> Next:
    """A node that has not left cannot be removed."""
    row = state.rows.get(command.uuid)
    if row is not None and row.status is not Status.LEAVE:
        raise NotEnabled("unknown_node", f"{command.uuid} has not left")
    return on_remove_node(state, command)


@READINGS.register("SA-37", "unknown-is-nothing", "transitions.on_leave_node")
def _leave_of_unknown(state: State, command: LeaveNode) -> Next:
    """To take out a node that is not known does nothing."""
    is_known = command.uuid == state.uuid or command.uuid in state.rows
    return on_leave_node(state, command) if is_known else Step(state)


@READINGS.register("SA-37", "again", "transitions.on_leave_node")
def _leave_again(state: State, command: LeaveNode) -> Next:
    """A node that has left and is asked to leave once more queues its leave once more."""
    return on_leave_node(replace(state, left=state.left and command.uuid != state.uuid), command)


@READINGS.register("SA-38", "known-unchanged", "transitions.on_add_node")
def _add_unknown_only(state: State, command: AddNode) -> Next:
    """To add a node that is known does nothing."""
    return Step(state) if command.uuid in state.rows else on_add_node(state, command)


@READINGS.register("SA-38", "at-once", "step")
def _ping_the_added(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """A node that is added is sent the first request at once."""
    after = right(state, event, pick)
    added = event.command.uuid if isinstance(event, Asked) and isinstance(event.command, AddNode) else None
    if added is None or added in state.rows or added not in after.state.rows:
        return after
    pinging, sends = request(after.state, added, pick)
    return Step(pinging, (*after.effects, *sends))


def _added(change: Callable[[Row], Row], *, known: bool, news: bool = False) -> Callable[[State, AddNode], Next]:
    """Returns an add-node that changes the row of a known or an unknown node in another way, and may queue an event about it."""

    def add(state: State, command: AddNode) -> Next:
        after = on_add_node(state, command).state
        if known is not (command.uuid in state.rows):
            return Step(after)
        row = change(after.rows[command.uuid])
        after = with_row(after, command.uuid, row)
        return Step(enqueue(after, event(command.uuid, row, emit_incarnation=False)) if news else after)

    return add


READINGS.add(
    "SA-38",
    "is-news",
    "A node that is added is an event of this node, joining, and is queued for others.",
    instead={"transitions.on_add_node": _added(lambda row: row, known=False, news=True)},
)
READINGS.add(
    "SA-38",
    "introduces-anew",
    "To add a node that is known begins the exchange with it anew.",
    instead={"transitions.on_add_node": _added(lambda row: replace(row, exchange=Exchange.FIRST), known=True)},
)
READINGS.add(
    "SA-38",
    "brings-back",
    "To add a node that is dead or has left makes it joining again, and begins the exchange with it.",
    instead={
        "transitions.on_add_node": _added(
            lambda row: row if row.is_live else replace(row, status=Status.JOINING, exchange=Exchange.FIRST, misses=0), known=True
        )
    },
)


def _seeds_normal(right: Right, self_id: NodeId, config: Any) -> Next:
    first = right(self_id, config)
    rows = {node: replace(row, status=Status.NORMAL) for node, row in first.state.rows.items()}
    return first._replace(state=replace(first.state, rows=first.state.rows.put(rows)))


READINGS.add(
    "SA-38",
    "normal",
    "A node that is added, or a seed, is normal from the start: it is this node that is joining.",
    instead={"transitions.on_add_node": _added(lambda row: replace(row, status=Status.NORMAL), known=False)},
    initial=_seeds_normal,
)


@READINGS.register("SA-38", "known-refused", "transitions.on_add_node")
def _refuse_the_known(state: State, command: AddNode) -> Next:
    """To add a node that is known is refused."""
    if command.uuid in state.rows:
        raise NotEnabled("bad_value", f"{command.uuid} is known")
    return on_add_node(state, command)


READINGS.add(
    "SA-39",
    "others-only",
    "A node does not count itself.",
    queries={"total_size": lambda state: len(state.rows), "active_size": lambda state: len(state.live)},
)


@READINGS.register("SA-40", "each-change", "step")
def _tell_each_change(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Each change that a datagram makes to a row is reported, in the order of its vectors, even if it does not last."""
    after = right(state, event, pick)
    message = event.message if isinstance(event, Received) else None
    if not isinstance(message, _MESSAGES) or message.target != state.uuid or is_past(state, message):
        return after
    parts = [replace(message, vectors=message.vectors[:many]) for many in range(len(message.vectors) + 1)]
    stages = [state, *(apply_message(state, part) for part in parts), after.state]
    effects: tuple[Any, ...] = tuple(effect for effect in after.effects if not isinstance(effect, Notify))
    for before, now in pairwise(stages):
        effects = notify_subscribers(replace(state, rows=before.rows), replace(state, rows=now.rows), effects).effects
    return Step(after.state, effects)


READINGS.add(
    "SA-41",
    "another-form",
    "The document gives probes no form, so that they have any.",
    encode=_written_otherwise(b"probe"),
    decode=_without(Probe, ProbeAck),
    is_open=True,
)


@READINGS.register("SA-42", "any-ack", "transitions.on_ack")
def _match_any_ack(state: State, ack: Ack, pick: Pick) -> Step[State, Send[Message]]:
    """Any ack that is accepted answers the pings that its sender was sent."""
    row = state.rows.get(ack.sender)
    if row and row.unanswered and ack.target_tx not in row.unanswered:
        ack = replace(ack, target_tx=row.unanswered[-1])
    return on_ack(state, ack, pick)


@READINGS.register("SA-42", "of-one-life", "table.merge")
def _pings_end_with_a_life(row: Row, claim: Claim) -> Row:
    """A node that has restarted has no answer to pings from before: they are forgotten."""
    after = merge(row, claim)
    return replace(after, unanswered=()) if after.incarnation.restart > row.incarnation.restart else after


@READINGS.register("SA-42", "of-the-live", "table.merge")
def _pings_end_with_death(row: Row, claim: Claim) -> Row:
    """The pings to a node are forgotten when it dies or leaves."""
    after = merge(row, claim)
    return after if after.is_live else replace(after, unanswered=())


@READINGS.register("SA-45", "passed-on", "transitions.with_vector")
def _pass_on_of_unknown(state: State, message: Ping | Ack, vector: Vector) -> State:
    """An event about an unknown node makes no row, and is passed on."""
    after = with_vector(state, message, vector)
    if not isinstance(vector, Normal | Suspicious | Dead | Leave) or vector.node in (*state.rows, state.uuid):
        return after
    return enqueue(after, vector)


@READINGS.register("SA-47", "unspecified", "gossip.count_datagram", is_open=True)
def _count_around(state: State) -> State | None:
    """The document does not say what comes after the last number."""
    restart, tx = state.incarnation
    return replace(state, incarnation=Incarnation(restart, tx + 1 if tx < COUNTER_MAX else 0))


@READINGS.register("SA-49", "anti-entropy-too", "transitions.with_member")
def _member_is_news(state: State, claim: Claim) -> State:
    """A node that anti-entropy makes known is news for others."""
    after = with_member(state, claim)
    if claim.node in state.rows or claim.node not in after.rows:
        return after
    return enqueue(after, event(claim.node, after.rows[claim.node], emit_incarnation=after.config.emit_incarnation))


@READINGS.register("SA-49", "changes-of-status", "gossip.apply_claim")
def _restart_is_no_news(state: State, claim: Claim) -> State:
    """A restart that leaves the status as it is makes no event to send: no vector says that an incarnation has changed."""
    after = apply_claim(state, claim)
    return replace(after, queue=state.queue) if after.rows[claim.node].status is state.rows[claim.node].status else after


@READINGS.register("SA-49", "whatever-comes", "transitions.with_vector")
def _pass_on_whatever_comes(state: State, message: Ping | Ack, vector: Vector) -> State:
    """Each event about a known node that comes is queued, also if it changes nothing."""
    after = with_vector(state, message, vector)
    if not isinstance(vector, ClusterEventVector) or vector.node not in state.rows:
        return after
    row = after.rows[vector.node]
    is_old = row is state.rows[vector.node]
    return enqueue(after, event(vector.node, row, emit_incarnation=after.config.emit_incarnation)) if is_old else after


@READINGS.register("SA-50", "in-full", "gossip.answer")
def _answer_in_full(state: State, ping: Ping, to: NodeId, pick: Pick) -> tuple[State, Sends]:
    """An ack has events and anti-entropy, whichever node it goes to."""
    row = state.rows.get(ping.sender)
    if row is not None and row.is_live:
        return answer(state, ping, to, pick)
    state, message = datagram(state, (ping.sender, to), ack_of(state, ping), (), ANSWER, pick)
    return state, () if message is None else (Send(to, message),)


@READINGS.register("SA-51", "to-the-row", "transitions.on_ping")
def _answer_to_row(state: State, sender: NodeId, ping: Ping, pick: Pick) -> Step[State, Send[Message]]:
    """The answer to a node that is known goes to the address in its row."""
    row = state.rows.get(ping.sender)
    return on_ping(state, address(row.host, row.port) if row else sender, ping, pick)


READINGS.add("SA-52", "last-only", "Only the last ping to each node is remembered.", instead={"gossip.REMEMBERED": 1})
READINGS.add("SA-52", "all", "Every unanswered ping is remembered.", instead={"gossip.REMEMBERED": 2**31})


def _forgetting(forget: Callable[[tuple[int, ...], int], tuple[int, ...]]) -> Callable[..., Next]:
    """Returns a handler of acks: the pings that are still remembered come from those before and the tx of a matching ack."""

    def handle(state: State, ack: Ack, pick: Pick) -> Next:
        after, sends = on_ack(state, ack, pick)
        if not _is_answer(state, ack):
            return Step(after, sends)
        left = forget(state.rows[ack.sender].unanswered, ack.target_tx)
        return Step(with_row(after, ack.sender, replace(after.rows[ack.sender], unanswered=left)), sends)

    return handle


READINGS.add(
    "SA-52",
    "its-own",
    "A matching ack forgets the ping that it answers, and no other.",
    instead={"transitions.on_ack": _forgetting(lambda pings, answered: tuple(tx for tx in pings if tx != answered))},
)
READINGS.add(
    "SA-52",
    "newer-too",
    "A matching ack forgets all pings to its sender.",
    instead={"transitions.on_ack": _forgetting(lambda *_: ())},
)
READINGS.add(
    "SA-52",
    "kept",
    "A matching ack forgets no ping: it may be answered twice.",
    instead={"transitions.on_ack": _forgetting(lambda pings, _: pings)},
)


@READINGS.register("SA-53", "each-quantum", "rounds.on_quantum")
def _close_each_quantum(state: State, pick: Pick) -> Step[State, Send[Message]]:
    """Answers are waited for until the next quantum, whether a round ends or not."""
    vector = still_live(state)
    if not vector or (state.left and not any(entry.event.node == state.uuid for entry in state.queue)):
        return on_quantum(state, pick)
    state, indirect = close_round(state, pick)
    state = replace(state, pinged=frozenset(), answered=frozenset(), heard=False)
    after, sends = on_quantum(state, pick)
    return Step(after, (*indirect, *sends))


@READINGS.register("SA-54", "left-to-others", "detector._indirect_pings")
def _ask_for_those_found(state: State, pick: Pick) -> tuple[State, Sends]:
    """A node asks only about those that it has found to be suspicious itself."""
    relays = [node for node in state.live if state.rows[node].status is not Status.SUSPICIOUS]
    return _ask_for(state, pick, lambda _, row: relays if row.misses >= MISSES else [])


@READINGS.register("SA-55", "remembered", "rounds.close_round")
def _close_and_remember(state: State, pick: Pick) -> tuple[State, Sends]:
    """A relay remembers a request until the answer comes, however long that takes."""
    relays = state.relays
    state, sends = close_round(state, pick)
    return replace(state, relays=relays), sends


@READINGS.register("SA-55", "for-itself", "transitions.request_relays")
def _answer_for_itself(state: State, ping: Ping, pick: Pick) -> tuple[State, Sends]:
    """Asked to ping itself, a node says that it is there."""
    state, sends = request_relays(state, ping, pick)
    if ping.sender in state.rows and any(isinstance(one, IndirectPing) and one.target == state.uuid for one in ping.vectors):
        state, told = request(state, ping.sender, pick, (IndirectAck(state.uuid, state.incarnation),))
        sends += told
    return state, sends


@READINGS.register("SA-56", "first-payload", "step")
def _first_payload_counts(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Of two payloads in a message the first counts."""
    if not isinstance(event, Received) or not isinstance(event.message, _MESSAGES):
        return right(state, event, pick)
    payloads = [vector for vector in event.message.vectors if isinstance(vector, Payload)][1:]
    vectors = tuple(vector for vector in event.message.vectors if not any(vector is one for one in payloads))
    return right(state, replace(event, message=replace(event.message, vectors=vectors)), pick)


@READINGS.register("SA-57", "once", "transitions.advance_introduction")
def _join_once(state: State, ack: Ack) -> State:
    """The exchange makes a node a member of the cluster: once it is over with one node, it is over with all."""
    after = advance_introduction(state, ack)
    if after is state or after.rows[ack.sender].exchange is not Exchange.DONE:
        return after
    return replace(after, rows=after.rows.put({node: replace(row, exchange=Exchange.DONE) for node, row in after.rows.items()}))


@READINGS.register("SA-57", "any-ack", "transitions.advance_introduction")
def _advance_with_any_ack(state: State, ack: Ack) -> State:
    """Each ack ends the request of the exchange that is under way, whatever it holds."""
    row = state.rows[ack.sender]
    if row.exchange is Exchange.DONE:
        return state
    following = Exchange.SECOND if row.exchange is Exchange.FIRST else Exchange.DONE
    return with_row(state, ack.sender, replace(row, exchange=following))


@READINGS.register("SA-57", "matching-ack", "transitions.on_ack")
def _advance_with_answers(state: State, ack: Ack, pick: Pick) -> Step[State, Send[Message]]:
    """Only an ack that matches a ping moves the exchange on."""
    after, sends = on_ack(state, ack, pick)
    if ack.sender not in state.rows or _is_answer(state, ack):
        return Step(after, sends)
    return Step(with_row(after, ack.sender, replace(after.rows[ack.sender], exchange=state.rows[ack.sender].exchange)), sends)


@READINGS.register("SA-57", "anew-after-a-restart", "table.merge")
def _introduce_after_restart(row: Row, claim: Claim) -> Row:
    """When the other node restarts amid the exchange, it begins anew."""
    after = merge(row, claim)
    is_restart = row.exchange is Exchange.SECOND and after.incarnation.restart > row.incarnation.restart
    return replace(after, exchange=Exchange.FIRST) if is_restart else after


@READINGS.register("SA-58", "among-events", "step")
def _normal_comes_last(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """The normal in the answer to a joiner comes after the other events."""

    def change(message: Message) -> Message:
        first = message.vectors[0] if isinstance(message, Ack) and message.vectors else None
        if not isinstance(message, Ack) or not isinstance(first, Normal) or first.node != message.target:
            return message
        rest = message.vectors[1:]
        events = [vector for vector in rest if not isinstance(vector, AntiEntropy)]
        others = [vector for vector in rest if isinstance(vector, AntiEntropy)]
        return replace(message, vectors=(*events, first, *others))

    return _sent(right(state, event, pick), change)


@READINGS.register("SA-59", "goes-on", "rounds.on_quantum")
def _ping_after_leaving(state: State, pick: Pick) -> Step[State, Send[Message]]:
    """A node that has left goes on pinging."""
    after, sends = on_quantum(replace(state, left=False), pick)
    return Step(replace(after, left=state.left), sends)


@READINGS.register("SA-59", "answers-nothing", "step")
def _answer_nothing_after_leaving(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """A node that has left answers nothing any more."""
    is_ping = isinstance(event, Received) and isinstance(event.message, Ping | Probe)
    return Step(state) if state.left and is_ping else right(state, event, pick)


READINGS.add(
    "SA-60",
    "another-timeout",
    "A probe waits for its answer as long as it likes.",
    instead={"commands.PROBE_QUANTA": 3},
    is_open=True,
)


@READINGS.register("SA-63", "canonical-only", "decode")
def _decode_canonical(right: Callable[[bytes], Any], data: bytes) -> Any:
    """Only the form in which we write is understood."""
    message = right(data)
    count = len(message.vectors) if isinstance(message, _MESSAGES) else 0
    is_known = count + 1 == len(msgpack.unpackb(data, use_list=False, strict_map_key=False, object_pairs_hook=list))
    if is_known and encode(message) != data:
        raise MalformedMessage("bad_type", 0, "it is written in another form than ours")
    return message


#: Reasons why a decision has only one reasonable reading -> the decisions.
SETTLED: Final[Mapping[str, str]] = {
    "to do otherwise contradicts S-02": "SA-01",
    "to do otherwise contradicts S-06": "SA-08",
    "to do otherwise contradicts S-41 or S-42": "SA-10 SA-11",
    "to do otherwise contradicts S-11 or S-13": "SA-14",
    "to do otherwise contradicts S-28": "SA-20",
    "to do otherwise contradicts S-47": "SA-34",
    "it is how messages are written, and an adapter can translate it": "SA-44 SA-61 SA-62 SA-66",
    "malformed messages are covered by one decision, SA-31": "SA-19 SA-30 SA-64 SA-65",
    "it is part of every datagram how a node counts them, and from which counter": "SA-09 SA-48",
    "it settles how the text is read, and is not tested": "SA-43 SA-46",
}
