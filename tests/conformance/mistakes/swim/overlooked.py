"""Mistakes with answers of another time or another node, in isolation, in new lives, with commands, and with large numbers."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.swim import CLOSED, FANOUT, IS_PAST, MERGED, ON_ACK, ON_PING, ON_QUANTUM, SETTLED
from peerproof.spec.core import Expired, NodeId, Notify, Pick, Received, Send, Step, Table
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.swim import commands, gossip, rounds, transit, transit_json, transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AddNode,
    AntiEntropy,
    ClusterEvent,
    Dead,
    EventType,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    NodeEvent,
    Normal,
    Payload,
    Ping,
    Probe,
    ProbeAck,
    RemoveNode,
    Suspicious,
    Uuid,
)
from peerproof.spec.swim.state import Exchange, Row, State, Status, active_size, address
from peerproof.spec.swim.table import Claim
from peerproof.spec.swim.transitions import Sends

ADDED = commands.on_add_node
ANSWERED = gossip.answer
APPLIED = transitions.apply_message
FORWARD = transitions.forward_ack
INDIRECT = transitions.indirect_answer
HAS_LEFT = commands.with_left
INTRODUCED = transitions.advance_introduction
KEY = transit.Reader.key
OBJECT = transit_json._object
PROBE_ACKED = transitions.on_probe_ack
REMOVED = commands.on_remove_node
RENDERED = transit_json.render_json
REFUTED = transitions.refute
RELAYED = transitions.request_relays
REQUEST = gossip.request
TAKEN = transitions.take_relays
TEXT = transit.Reader.text
WITH_MEMBER = transitions.with_member


def changed(state: State, node: Uuid, **values: Any) -> State:
    """The node with other values in a row, if there is that row."""
    return with_row(state, node, replace(state.rows[node], **values)) if node in state.rows else state


def is_accepted(state: State, ack: Ack) -> bool:
    """Whether this is an ack of a known node for this one, and not of the past."""
    return ack.target == state.uuid and ack.sender in state.rows and not IS_PAST(state, ack)


def is_answer(state: State, ack: Ack) -> bool:
    """Whether an ack matches a ping."""
    return is_accepted(state, ack) and ack.target_tx in state.rows[ack.sender].unanswered


def acked(change: Callable[[State, State, Ack], State]) -> dict[str, Any]:
    """What is replaced to have another state after an ack, from that before it and that which is right."""

    def on_ack(state: State, ack: Ack, pick: Pick) -> Step[State, Any]:
        after, sends = ON_ACK(state, ack, pick)
        return Step(change(state, after, ack), sends)

    return {"transitions.on_ack": on_ack}


def matched_by_tx(state: State, ack: Ack, pick: Pick) -> Step[State, Any]:
    """Takes the ack for one of a ping to its sender, if any node was pinged with that tx."""
    if is_accepted(state, ack) and any(ack.target_tx in row.unanswered for row in state.rows.values()):
        pings = {*state.rows[ack.sender].unanswered, ack.target_tx}
        state = changed(state, ack.sender, unanswered=tuple(sorted(pings)))
    return ON_ACK(state, ack, pick)


def cut(bits: int) -> dict[str, Any]:
    """What is replaced to compare the tx of an ack by its lowest bits."""
    return {"transitions.on_ack": lambda state, ack, pick: ON_ACK(state, replace(ack, target_tx=ack.target_tx % 2**bits), pick)}


def _misses_until_the_close(state: State, after: State, ack: Ack) -> State:
    before = state.rows.get(ack.sender)
    if before is None or ack.sender in state.pinged:
        return after
    return changed(after, ack.sender, misses=before.misses)


def _forgotten_answers(state: State, pick: Pick) -> Step[State, Any]:
    after, sends = ON_QUANTUM(state, pick)
    return Step(replace(after, answered=frozenset()), sends)


def heard(by: Callable[[State, Ack], bool]) -> dict[str, Any]:
    """What is replaced to have more acks show that others are there."""
    return acked(lambda state, after, ack: replace(after, heard=True) if by(state, ack) else after)


def pinged_by(change: Callable[[State, State, Ping], State]) -> dict[str, Any]:
    """What is replaced to have another state after a ping, from that before it and that which is right."""

    def on_ping(state: State, sender: NodeId, ping: Ping, pick: Pick) -> Step[State, Any]:
        after, sends = ON_PING(state, sender, ping, pick)
        return Step(change(state, after, ping), sends)

    return {"transitions.on_ping": on_ping}


def is_silent(state: State) -> bool:
    """Whether the round that closes shows that the node is isolated."""
    return len(state.pinged) > 1 and not state.heard


def _burying(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = CLOSED(state, pick)
    if not is_silent(state):
        return after, sends
    settled = replace(after, pinged=frozenset())
    for node, row in after.rows.items():
        settled = SETTLED(settled, node, row)
    return replace(settled, pinged=after.pinged), sends


def _relays_stay(state: State, pick: Pick) -> tuple[State, Sends]:
    after, sends = CLOSED(state, pick)
    return (replace(after, relays=state.relays), sends) if is_silent(state) else (after, sends)


def asking(is_relay: Callable[[Row], bool]) -> dict[str, Any]:
    """What is replaced to ask others than those who should be asked."""

    def indirect_pings(state: State, pick: Pick) -> tuple[State, Sends]:
        sends: Sends = ()
        for node, row in state.rows.items():
            relays = [other for other, relay in state.rows.items() if is_relay(relay)]
            if row.status is not Status.SUSPICIOUS or not relays:
                continue
            (relay,) = pick("indirect.relay", relays)
            state = changed(state, node, indirect_asked=True)
            state, sent = REQUEST(state, Uuid(str(relay)), pick, (IndirectPing(node, row.host, row.port),))
            sends += sent
        return state, sends

    return {"detector._indirect_pings": indirect_pings}


def _unremembered(
    state: State, node: Uuid, pick: Pick, purpose: tuple[Any, ...] = (), where: NodeId | None = None
) -> tuple[State, Sends]:
    after, sends = REQUEST(state, node, pick, purpose, where)
    return changed(after, node, unanswered=state.rows[node].unanswered), sends


def _misses_kept(state: State, node: Uuid, incarnation: Incarnation) -> State:
    after = INDIRECT(state, node, incarnation)
    if node not in state.rows or after.rows[node].incarnation > state.rows[node].incarnation:
        return after
    return changed(after, node, indirect_misses=state.rows[node].indirect_misses)


def believing(is_believed: Callable[[Row], bool]) -> dict[str, Any]:
    """What is replaced to believe fewer indirect acks."""
    return {
        "transitions.indirect_answer": lambda state, node, incarnation: (
            INDIRECT(state, node, incarnation) if node in state.rows and is_believed(state.rows[node]) else state
        )
    }


def merged(change: Callable[[Row, Claim, Row], Row]) -> dict[str, Any]:
    """What is replaced for another row after a claim, from that before, the claim, and the row that is right."""

    def merge(row: Row, claim: Claim) -> Row:
        right = MERGED(row, claim)
        return row if right is row else change(row, claim, right)

    return {"gossip.merge": merge}


def _members_leave_misses(state: State, claim: Claim) -> State:
    row = state.rows.get(claim.node)
    after = WITH_MEMBER(state, claim)
    return after if row is None else changed(after, claim.node, indirect_misses=row.indirect_misses)


def _past_is_passed_on(state: State, ack: Ack, pick: Pick) -> Any:
    if ack.target == state.uuid and IS_PAST(state, ack):
        after, waiting_for_it = TAKEN(state, ack)
        return Step(*FORWARD(after, ack, waiting_for_it, pick))
    return ON_ACK(state, ack, pick)


class ReportsToWhereItWasAsked(Wrong):
    """Reports to where the request came from. [SA-51, SA-55]"""

    caught_by: ClassVar = ("relay-reports-to-the-address-in-the-row",)

    def __init__(self) -> None:
        super().__init__()
        self.came_from: dict[tuple[Uuid, Uuid], NodeId] = {}

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Changes where a report goes."""
        message = event.message if isinstance(event, Received) else None
        if isinstance(message, Ping):
            self.came_from[state.uuid, message.sender] = event.sender
        step = super().step(state, event, pick)
        if not isinstance(message, Ack):
            return step
        effects = (
            replace(effect, to=self.came_from.get((state.uuid, effect.message.target), effect.to))
            if isinstance(effect, Send)
            else effect
            for effect in step.effects
        )
        return step._replace(effects=tuple(effects))


def _older_with_each_quantum(state: State, pick: Pick) -> Step[State, Any]:
    after, sends = ON_QUANTUM(state, pick)
    if rounds.still_live(state):
        after = replace(after, relays=tuple(relay._replace(fresh=False) for relay in state.relays if relay.fresh))
    return Step(after, sends)


def counting(count: Callable[[State, State], int]) -> dict[str, Any]:
    """What is replaced to ping another number of nodes, from the state before and after the close, with its vector."""

    def on_quantum(state: State, pick: Pick) -> Step[State, Any]:
        before, sends = state, tuple[Any, ...]()
        vector = rounds.still_live(state)
        if not vector:
            state, sends = CLOSED(state, pick)
            vector = pick("round.order", state.live, len(state.live)) if state.live else ()
            state = replace(state, pinged=frozenset(), answered=frozenset(), heard=False)
        state = replace(state, vector=vector)
        number = count(before, state)
        state = replace(state, vector=vector[number:], pinged=state.pinged | set(vector[:number]))
        for node in vector[:number]:
            state, sent = REQUEST(state, node, pick)
            sends += sent
        return Step(state, sends)

    return {"transitions.on_quantum": on_quantum}


def refuting(is_above: Callable[[Incarnation, Incarnation], bool]) -> dict[str, Any]:
    """What is replaced to refute what is above by another order."""

    def refute(state: State, teller: Uuid, said: Any) -> State:
        told = said.incarnation if isinstance(said, (Suspicious, Dead)) else None
        if told is None or told.restart == COUNTER_MAX or not is_above(told, state.incarnation):
            return state
        return REFUTED(replace(state, incarnation=Incarnation(0, 0)), teller, Dead(said.node, told))

    return {"transitions.refute": refute}


def forgetting(**values: Any) -> dict[str, Any]:
    """What is replaced to begin a new life with less."""

    def refute(state: State, teller: Uuid, said: Any) -> State:
        after = REFUTED(state, teller, said)
        return state if after is state else replace(after, **values)

    return {"transitions.refute": refute}


def _joiners_are_not_live(state: State, teller: Uuid, said: Any) -> State:
    after = REFUTED(state, teller, said)
    row = state.rows.get(teller)
    if after is state or row is None or row.status is not Status.JOINING:
        return after
    rows = {node: replace(after.rows[node], exchange=Exchange.FIRST) for node in after.live}
    return replace(after, rows=after.rows.put(rows))


def _own_entry_is_skipped(state: State, message: Any) -> State:
    vectors = tuple(
        replace(vector, members=tuple(member for member in vector.members if member.uuid != message.sender))
        if isinstance(vector, AntiEntropy)
        else vector
        for vector in message.vectors
    )
    return APPLIED(state, replace(message, vectors=vectors))


def _news_introduces(state: State, claim: Claim) -> State:
    after = WITH_MEMBER(state, claim)
    return changed(after, claim.node, exchange=Exchange.DONE) if claim.node in state.rows and after is not state else after


def _introduced_by_a_ping(_: State, after: State, ping: Ping) -> State:
    if ping.target != after.uuid or ping.sender not in after.rows:
        return after
    return INTRODUCED(after, Ack(ping.sender, ping.incarnation, ping.target, 0, ping.vectors))


def _introduced_by_a_match(state: State, after: State, ack: Ack) -> State:
    if ack.sender not in state.rows or is_answer(state, ack):
        return after
    return changed(after, ack.sender, exchange=state.rows[ack.sender].exchange)


def adding(change: Callable[[State, State, AddNode], State]) -> dict[str, Any]:
    """What is replaced to have another state after add-node, from that before it and that which is right."""

    def on_add_node(state: State, command: AddNode) -> Step[State, Any]:
        return Step(change(state, ADDED(state, command).state, command))

    return {"transitions.on_add_node": on_add_node}


def _left_once(state: State, node: Uuid) -> State:
    if node == state.uuid and state.left:
        raise NotEnabled("has_left", "this node has left")
    return HAS_LEFT(state, node)


#: The payloads of those who were removed, by the names of both nodes.
_PAYLOADS: Final[dict[tuple[Uuid, Uuid], str | None]] = {}


def _removed(state: State, command: RemoveNode) -> Step[State, Any]:
    if command.uuid in state.rows:
        _PAYLOADS[state.uuid, command.uuid] = state.rows[command.uuid].payload
    return REMOVED(state, command)


def _back_with_its_payload(state: State, message: Any) -> State:
    after = APPLIED(state, message)
    if message.sender in state.rows or message.sender not in after.rows:
        return after
    return changed(after, message.sender, payload=_PAYLOADS.pop((state.uuid, message.sender), None))


class TellsOfItself(Wrong):
    """Tells its subscribers that it leaves itself. [SA-40]"""

    caught_by: ClassVar = ("leave-by-itself-is-no-change-of-a-row",)

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """One event more."""
        right = super().step(state, event, pick)
        if state.left or not right.state.left or EventType.LEAVE not in state.cluster_subscriptions:
            return right
        return right._replace(effects=(*right.effects, Notify(ClusterEvent(state.uuid, EventType.LEAVE))))


class TellsOfMessagesOnly(Wrong):
    """Does not tell subscribers of one node what it finds out by itself. [S-56, SA-40]"""

    caught_by: ClassVar = ("told-what-the-detector-finds",)

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """Without those events."""
        right = super().step(state, event, pick)
        if not isinstance(event, Expired):
            return right
        told = [e for e in right.effects if isinstance(e, Notify) and isinstance(e.notice, NodeEvent)]
        return right._replace(effects=tuple(e for e in right.effects if e not in told))


def _known_there(state: State, sender: NodeId, node: Uuid, tx: int) -> Any:
    there = [known for known, row in state.rows.items() if address(row.host, row.port) == sender]
    return PROBE_ACKED(state, sender, there[0] if there else node, tx)


class AnswersProbesToTheRow(Wrong):
    """Answers a probe of a known node to the address in its row. [SA-41, SA-51]"""

    caught_by: ClassVar = ("probe-is-answered-to-where-it-came-from",)

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """As if the probe came from there."""
        if isinstance(event, Received) and isinstance(event.message, Probe) and event.message.sender in state.rows:
            row = state.rows[event.message.sender]
            event = replace(event, sender=address(row.host, row.port))
        return super().step(state, event, pick)


class ProbesOfStrangersEndIsolation(Wrong):
    """Lets the probe of an unknown node end the isolation. [SA-07]"""

    caught_by: ClassVar = ("isolation-goes-on-for-probes-of-strangers",)

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """Isolated no more."""
        right = super().step(state, event, pick)
        if not (isinstance(event, Received) and isinstance(event.message, Probe) and event.message.sender not in state.rows):
            return right
        return right._replace(state=replace(right.state, isolated=False))


def _others_are_reported(state: State, ack: Ack, pick: Pick) -> Any:
    if ack.target == state.uuid:
        return ON_ACK(state, ack, pick)
    after, waiting_for_it = TAKEN(state, ack)
    return Step(*FORWARD(after, ack, waiting_for_it, pick))


def _bare_answer(state: State, ping: Ping, to: NodeId, pick: Pick) -> Any:
    row = state.rows.get(ping.sender)
    if row is None or row.exchange is Exchange.DONE:
        return ANSWERED(state, ping, to, pick)
    after, message = gossip.datagram(state, (ping.sender, to), gossip.ack_of(state, ping), (), gossip.BARE, pick)
    return after, () if message is None else (Send(to, message),)


def reviving(change: Callable[[Row, Row, bool], Row]) -> dict[str, Any]:
    """What is replaced to have other rows in a new life, from the former one, the right one, and whether it is the teller's."""

    def refute(state: State, teller: Uuid, said: Any) -> State:
        after = REFUTED(state, teller, said)
        if after is state:
            return after
        rows = {node: change(state.rows[node], row, node == teller) for node, row in after.rows.items()}
        return replace(after, rows=after.rows.put(rows))

    return {"transitions.refute": refute}


def comparing(number: Callable[[int], Any]) -> dict[str, Any]:
    """What is replaced to compare incarnations by something else than their numbers."""

    def is_past(state: State, message: Any) -> bool:
        row = state.rows.get(message.sender)
        return row is not None and tuple(map(number, message.incarnation)) < tuple(map(number, row.incarnation))

    return {"transitions.is_past": is_past}


def _signed(bits: int) -> Callable[[int], int]:
    return lambda number: (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _newer_as_doubles(state: State, claim: Claim) -> State:
    row = state.rows.get(claim.node)
    if row is not None and tuple(map(float, claim.incarnation)) <= tuple(map(float, row.incarnation)):
        return state
    return WITH_MEMBER(state, claim)


class _Reads(Wrong):
    """Makes something else of a header or a vector."""

    def decode(self, data: bytes) -> Any:
        """With that in its place."""
        message = self.read(super().decode(data))
        if not isinstance(message, (Ping, Ack)):
            return message
        return replace(message, vectors=tuple(map(self.read, message.vectors)))

    def read(self, vector: Any) -> Any:
        """What it makes of a header or a vector."""
        return vector


def double(number: int) -> int:
    """What is left of a counter in a double."""
    return min(int(float(number)), COUNTER_MAX)


def in_doubles(vector: Any) -> Any:
    """A header or vector with doubles for counters."""
    if isinstance(vector, AntiEntropy):
        members = [m._replace(restart_counter=double(m.restart_counter), tx_counter=double(m.tx_counter)) for m in vector.members]
        return replace(vector, members=tuple(members))
    if getattr(vector, "incarnation", None) is not None:
        vector = replace(vector, incarnation=Incarnation(*map(double, vector.incarnation)))
    for name in ("target_tx", "probe_tx"):
        if hasattr(vector, name):
            vector = replace(vector, **{name: double(getattr(vector, name))})
    return vector


class _DoublesIn(_Reads):
    """Reads the counters of some headers or vectors as doubles."""

    kinds: ClassVar[tuple[type[Any], ...]] = ()

    def read(self, vector: Any) -> Any:
        """With what is left of its counters."""
        return in_doubles(vector) if isinstance(vector, self.kinds) else vector


class DoublesInJoinings(_DoublesIn):
    """Reads the counters of a joining as doubles. [SA-47]"""

    caught_by: ClassVar = ("counters-beyond-53-bits",)
    kinds: ClassVar = (Joining,)


class DoublesInEvents(_DoublesIn):
    """Reads the counters of a normal, a suspicious and a dead as doubles. [SA-12, SA-47]"""

    caught_by: ClassVar = ("counters-beyond-53-bits",)
    kinds: ClassVar = (Normal, Suspicious, Dead)


class DoublesInAntiEntropy(_DoublesIn):
    """Reads the counters of anti-entropy as doubles. [S-22, SA-47]"""

    caught_by: ClassVar = ("counters-beyond-53-bits", "anti-entropy-that-is-newer-beyond-53-bits")
    kinds: ClassVar = (AntiEntropy,)


class DoublesInLeaves(_DoublesIn):
    """Reads the counters of a leave as doubles. [SA-05, SA-47]"""

    caught_by: ClassVar = ("counters-of-our-vectors-beyond-53-bits",)
    kinds: ClassVar = (Leave,)


class DoublesInIndirectAcks(_DoublesIn):
    """Reads the counters of an indirect ack as doubles. [SA-04, SA-47]"""

    caught_by: ClassVar = ("counters-of-our-vectors-beyond-53-bits",)
    kinds: ClassVar = (IndirectAck,)


class DoublesInAcks(_DoublesIn):
    """Reads the counters of an ack as doubles. [S-17, SA-47]"""

    caught_by: ClassVar = ("counters-of-an-ack-beyond-53-bits",)
    kinds: ClassVar = (Ack,)


class DoublesInProbes(_DoublesIn):
    """Reads the counters of a probe and of its answer as doubles. [SA-41, SA-47]"""

    caught_by: ClassVar = ("counters-of-a-probe-beyond-53-bits", "counters-of-the-answer-to-a-probe-beyond-53-bits")
    kinds: ClassVar = (Probe, ProbeAck)


class _Hosts(_Reads):
    """Makes another name of a host."""

    def read(self, vector: Any) -> Any:
        """With other hosts."""
        if isinstance(vector, (Joining, IndirectPing)):
            return replace(vector, host=self.host(vector.host))
        if isinstance(vector, AntiEntropy):
            return replace(vector, members=tuple(member._replace(host=self.host(member.host)) for member in vector.members))
        return vector

    def host(self, host: str) -> str:
        """What it makes of a host."""
        return host


class HostsInSmallLetters(_Hosts):
    """Reads hosts in small letters. [SA-61, SA-65]"""

    caught_by: ClassVar = ("hosts-as-they-are-written",)

    def host(self, host: str) -> str:
        """In small letters."""
        return host.lower()


class HostsWithoutBlanks(_Hosts):
    """Cuts blanks off the ends of hosts. [SA-61, SA-65]"""

    caught_by: ClassVar = ("hosts-as-they-are-written",)

    def host(self, host: str) -> str:
        """Without them."""
        return host.strip()


class HostsComposed(_Hosts):
    """Composes letters and marks in hosts. [SA-61, SA-65]"""

    caught_by: ClassVar = ("hosts-as-they-are-written",)

    def host(self, host: str) -> str:
        """In the normal form C."""
        return unicodedata.normalize("NFC", host)


class HostsEndAtZero(_Hosts):
    """Ends a host at a character U+0000. [SA-61, SA-65]"""

    caught_by: ClassVar = ("hosts-as-they-are-written",)

    def host(self, host: str) -> str:
        """What is before it."""
        return host.partition("\0")[0]


class HostsWithoutBrackets(_Hosts):
    """Takes brackets off a host, and the dot from its end. [SA-61, SA-65]"""

    caught_by: ClassVar = ("hosts-as-they-are-written",)

    def host(self, host: str) -> str:
        """The bare name."""
        return host.strip("[]").rstrip(".")


def rendering(change: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to make something else of the texts of a payload."""

    def render(value: Any, depth: int = transit_json.PAYLOAD_DEPTH) -> str:
        return RENDERED(change(value) if type(value) is str else value, depth)

    return {"transit_json.render_json": render, "codec.render_json": render}


def _keys_twice_within(pairs: Any, depth: int) -> str:
    last = dict(pairs)
    return OBJECT(transit.Pairs(last.items()) if depth > transit_json.PAYLOAD_DEPTH else pairs, depth)


def _keys_by_form(pairs: Any, depth: int) -> str:
    if len({(type(key), key) for key, _ in pairs}) < len(pairs):
        return OBJECT(pairs, depth)
    return OBJECT(transit.Pairs({transit_json._key(key): value for key, value in pairs}.items()), depth)


class _ReadsUpTo(Wrong):
    """Reads so many bytes of a datagram."""

    most: ClassVar[int]

    def decode(self, data: bytes) -> Any:
        """What is longer is no message."""
        if len(data) > self.most:
            raise MalformedMessage("too_large", self.most, "a longer datagram than there is room for")
        return super().decode(data)


class ReadsUpTo16384(_ReadsUpTo):
    """Has room for datagrams of 16384 bytes. [SA-32]"""

    caught_by: ClassVar = ("datagrams-of-all-sizes", "datagrams-with-much-in-them")
    most: ClassVar = 16384


class ReadsUpTo32767(_ReadsUpTo):
    """Has room for datagrams of 32767 bytes. [SA-32]"""

    caught_by: ClassVar = ("datagrams-of-all-sizes", "datagrams-with-much-in-them")
    most: ClassVar = 32767


class ReadsUpTo65506(_ReadsUpTo):
    """Has room for datagrams of 65506 bytes. [SA-32]"""

    caught_by: ClassVar = ("datagrams-of-all-sizes",)
    most: ClassVar = 65506


class ReadsFewVectors(Wrong):
    """Has room for 255 vectors, and 100 maps of anti-entropy. [SA-31, SA-63]"""

    caught_by: ClassVar = ("datagrams-with-much-in-them",)

    def decode(self, data: bytes) -> Any:
        """What has more is no message."""
        message = super().decode(data)
        vectors = getattr(message, "vectors", ())
        if len(vectors) > 2**8 or any(isinstance(vector, AntiEntropy) and len(vector.members) > 100 for vector in vectors):
            raise MalformedMessage("too_large", 0, "more than there is room for")
        return message


class SendsUpTo1432(Wrong):
    """Sends no more than 1432 bytes, whatever it is configured with. [SA-32]"""

    caught_by: ClassVar = ("payload-in-a-datagram-of-3000-bytes",)

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """With another limit."""
        return super().initial(self_id, replace(config, max_datagram=min(config.max_datagram, 1432)))


def _empty_at_any_depth(value: Any, depth: int = transit_json.PAYLOAD_DEPTH) -> str:
    return "[]" if value == [] else RENDERED(value, depth)


def _whole_if_it_can_be(digits: str) -> float:
    number = float(digits)
    return int(number) if number.is_integer() else number


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "CountsNoEmptyArrays": (
            "Does not count how deep an array without elements nests in the text of a payload.",
            {"transit_json.render_json": _empty_at_any_depth, "codec.render_json": _empty_at_any_depth},
            "reject-payload-of-composite-keys-too-deep-around-nothing",
        ),
        "WritesLargeFloatsAsIntegers": (
            "Writes a float without a fraction as an integer, however large it is.",
            {
                "transit_json.EXACT": 2**63,
                "codec._concise": lambda data: transit_json.concise(json.loads(data, parse_float=_whole_if_it_can_be)),
            },
            "payload-with-bare-numbers-at-2-53",
        ),
        "AnswersBeforeThePing": (
            "Takes an ack that came in a round before the round's ping for its answer. [SA-02]",
            acked(
                lambda state, after, ack: (
                    replace(after, answered=after.answered | {ack.sender}) if is_answer(state, ack) else after
                )
            ),
            "ack-before-the-ping-is-no-answer",
        ),
        "MatchesByTxAlone": (
            "Matches an ack by its tx, whichever node was pinged with it. [SA-42]",
            {"transitions.on_ack": matched_by_tx},
            "ack-with-the-tx-of-a-ping-to-another",
        ),
        "MatchesByTheLowest32Bits": (
            "Compares the tx of acks by 32 bits. [SA-42]",
            cut(32),
            "ack-with-a-tx-that-differs-in-its-high-bits relay-reports-no-ack-with-a-high-bit-more",
        ),
        "MatchesByTheLowest31Bits": (
            "Compares the tx of acks by 31 bits. [SA-42]",
            cut(31),
            "ack-with-a-tx-that-differs-in-its-high-bits relay-reports-no-ack-with-a-high-bit-more",
        ),
        "MatchesByTheLowest16Bits": (
            "Compares the tx of acks by 16 bits. [SA-42]",
            cut(16),
            "ack-with-a-tx-that-differs-in-its-high-bits relay-reports-no-ack-with-a-high-bit-more",
        ),
        "OneAckForgetsAllPings": (
            "Forgets with an ack the newer pings to its sender too. [SA-52]",
            acked(lambda state, after, ack: changed(after, ack.sender, unanswered=()) if is_answer(state, ack) else after),
            "ack-leaves-the-newer-pings",
        ),
        "EarlierAnswersLeaveMisses": (
            "Sets misses to 0 by answers of nodes that it has pinged in this round already. [SA-02]",
            acked(_misses_until_the_close),
            "ack-of-an-earlier-round-sets-misses-to-0",
        ),
        "AnswersOfOneQuantum": (
            "Forgets with each quantum of a round which nodes have answered. [SA-02]",
            {"transitions.on_quantum": _forgotten_answers},
            "answer-counts-in-all-quanta-of-its-round",
        ),
        "ThePastIsHeard": (
            "Takes an ack of the past for a sign that it is not isolated. [SA-07]",
            heard(lambda state, ack: ack.target == state.uuid and ack.sender in state.rows),
            "isolation-whatever-comes-and-is-not-accepted",
        ),
        "StrangersAreHeard": (
            "Takes an ack of an unknown node for a sign that it is not isolated. [SA-07, SA-21]",
            heard(lambda state, ack: ack.target == state.uuid and not IS_PAST(state, ack)),
            "isolation-whatever-comes-and-is-not-accepted",
        ),
        "AnswersToOthersAreHeard": (
            "Takes an ack for another node for a sign that it is not isolated. [SA-07, SA-22]",
            heard(lambda state, ack: ack.sender in state.rows and not IS_PAST(state, ack)),
            "isolation-whatever-comes-and-is-not-accepted",
        ),
        "TheGoneAreNotHeard": (
            "Takes acks of live nodes only for a sign that it is not isolated. [SA-07]",
            acked(
                lambda state, after, ack: (
                    replace(after, heard=state.heard)
                    if ack.sender in state.rows and not state.rows[ack.sender].is_live
                    else after
                )
            ),
            "ack-of-one-who-has-left-shows-that-others-are-there",
        ),
        "PingsAreHeard": (
            "Takes a ping for a sign that it is not isolated. [SA-07]",
            pinged_by(lambda _, after, ping: replace(after, heard=True) if ping.sender in after.rows else after),
            "isolation-whoever-pings",
        ),
        "StrangersEndIsolation": (
            "Lets the ping of an unknown node end the isolation. [SA-07, SA-21]",
            pinged_by(
                lambda state, after, ping: (
                    replace(after, isolated=False) if ping.target == state.uuid and ping.sender not in state.rows else after
                )
            ),
            "isolation-goes-on-for-strangers",
        ),
        "AcksOfStrangersEndIsolation": (
            "Lets the ack of an unknown node end the isolation. [SA-07, SA-21]",
            acked(
                lambda state, after, ack: (
                    replace(after, isolated=False) if ack.target == state.uuid and ack.sender not in state.rows else after
                )
            ),
            "isolation-goes-on-for-strangers",
        ),
        "PingsToOthersEndIsolation": (
            "Lets a ping for another node end the isolation. [SA-07, SA-22]",
            pinged_by(
                lambda state, after, ping: (
                    replace(after, isolated=False) if ping.target != state.uuid and ping.sender in state.rows else after
                )
            ),
            "isolation-goes-on-for-strangers",
        ),
        "JoinersDoNotEndIsolation": (
            "Goes on as isolated when a node joins that it did not know. [SA-07]",
            pinged_by(lambda state, after, ping: after if ping.sender in state.rows else replace(after, isolated=state.isolated)),
            "isolation-ends-with-a-joiner",
        ),
        "TheGoneDoNotEndIsolation": (
            "Goes on as isolated when a node is heard that has left. [SA-07]",
            pinged_by(
                lambda state, after, ping: (
                    replace(after, isolated=state.isolated)
                    if ping.sender in after.rows and not after.rows[ping.sender].is_live
                    else after
                )
            ),
            "isolation-ends-with-one-who-has-left",
        ),
        "BuriesInIsolation": (
            "Settles the indirect pings that are under way when it finds itself isolated. [S-08, SA-07]",
            {"rounds.close_round": _burying},
            "isolation-buries-no-suspicious-node",
        ),
        "IsolationLastsUntilItEnds": (
            "Settles no round as long as it is isolated, also if it has pinged one node only. [SA-07]",
            {"rounds.close_round": lambda state, pick: (state, ()) if state.isolated else CLOSED(state, pick)},
            "isolation-is-one-of-each-round",
        ),
        "IsolationOfTheLive": (
            "Counts of the nodes that were pinged those that are still live. [SA-07]",
            {"rounds.close_round": lambda state, pick: CLOSED(replace(state, pinged=state.pinged & set(state.live)), pick)},
            "isolation-counts-who-has-left-since",
        ),
        "IsolationOfNewcomers": (
            "Counts the nodes that are live, not those that were pinged. [SA-07]",
            {
                "rounds.close_round": lambda state, pick: (
                    (replace(state, isolated=True), ())
                    if state.pinged and not state.heard and len(state.live) > 1
                    else CLOSED(state, pick)
                )
            },
            "isolation-counts-who-was-pinged",
        ),
        "RelaysStayInIsolation": (
            "Remembers requests over any number of closes in isolation. [SA-55]",
            {"rounds.close_round": _relays_stay},
            "relay-forgets-in-isolation",
        ),
        "AsksTheNormalOnly": (
            "Asks no node that is joining to ping another. [SA-03, SA-27]",
            asking(lambda row: row.status is Status.NORMAL),
            "relay-that-is-joining",
        ),
        "AsksThoseThatKnowIt": (
            "Asks no node to ping another that it has still to introduce itself to. [SA-03, SA-57]",
            asking(lambda row: row.is_live and row.status is not Status.SUSPICIOUS and row.exchange is Exchange.DONE),
            "relay-that-does-not-know-the-node-yet",
        ),
        "RequestsAreNoPings": (
            "Takes the ack of a request to ping another for no answer. [SA-02, SA-42]",
            {"detector.request": _unremembered},
            "ack-of-the-request-to-a-relay",
        ),
        "IndirectAcksLeaveMisses": (
            "Counts on after an indirect ack with the incarnation known. [SA-03]",
            {"transitions.indirect_answer": _misses_kept},
            "indirect-ack-leaves-nothing-missed",
        ),
        "IndirectAcksOfTheSuspicious": (
            "Ignores an indirect ack about a node that is not suspicious. [SA-04]",
            believing(lambda row: row.status is Status.SUSPICIOUS),
            "indirect-ack-that-was-not-asked-for indirect-ack-brings-the-dead-back",
        ),
        "IndirectAcksAskedFor": (
            "Ignores an indirect ack that it has not asked for. [SA-04]",
            believing(lambda row: row.indirect_asked),
            "indirect-ack-that-was-not-asked-for indirect-ack-brings-the-dead-back",
        ),
        "IndirectAcksOfTheLive": (
            "Ignores an indirect ack about a dead node. [SA-04, SA-15]",
            believing(lambda row: row.status is not Status.DEAD),
            "indirect-ack-brings-the-dead-back",
        ),
        "TheDeadKeepTheirMisses": (
            "Holds against a dead node that comes back what it missed before. [SA-02]",
            merged(lambda row, _, right: replace(right, misses=row.misses) if row.status is Status.DEAD else right),
            "dead-node-comes-back-without-misses",
        ),
        "LeaversKeepTheirMisses": (
            "Holds against a node that had left and restarts what it missed before. [SA-02]",
            merged(lambda row, _, right: replace(right, misses=row.misses) if row.status is Status.LEAVE else right),
            "leaver-that-restarts-has-missed-nothing",
        ),
        "JoinersKeepTheirMisses": (
            "Holds against a suspicious node that joins again what it missed before. [SA-02]",
            merged(lambda row, claim, right: replace(right, misses=row.misses) if claim.status is Status.JOINING else right),
            "suspicious-node-joins-again-without-misses",
        ),
        "RestartsForgive": (
            "Forgets misses with news of a restart. [SA-02]",
            merged(
                lambda row, claim, right: (
                    replace(right, misses=0) if claim.incarnation.restart > row.incarnation.restart else right
                )
            ),
            "restart-heard-of-from-others-is-no-answer",
        ),
        "ChangesForgive": (
            "Forgets misses with any change of status. [SA-02]",
            merged(lambda row, _, right: right if right.status is row.status else replace(right, misses=0)),
            "joining-heard-of-from-others-is-no-answer joining-node-that-becomes-normal-has-missed-what-it-has",
        ),
        "RestartsForgetPings": (
            "Forgets the pings to a node that restarts. [SA-42]",
            merged(
                lambda row, claim, right: (
                    replace(right, unanswered=()) if claim.incarnation.restart > row.incarnation.restart else right
                )
            ),
            "ack-after-a-restart-of-its-sender",
        ),
        "DeathForgetsPings": (
            "Forgets the pings to a node that is not live any more. [SA-42, SA-52]",
            merged(lambda _, __, right: right if right.is_live else replace(right, unanswered=())),
            "ack-of-a-dead-node-is-an-answer",
        ),
        "RefutationLeavesMisses": (
            "Counts indirect misses on after a suspicion was refuted. [SA-03]",
            merged(
                lambda row, _, right: (
                    replace(right, indirect_misses=row.indirect_misses) if right.status is Status.NORMAL else right
                )
            ),
            (
                "suspicion-after-a-refutation-begins-anew suspicion-after-anti-entropy-begins-anew suspicion-after-a-"
                "death-begins-anew"
            ),
        ),
        "ReturnLeavesMisses": (
            "Counts indirect misses on after a node was dead. [SA-03, SA-15]",
            merged(
                lambda row, _, right: replace(right, indirect_misses=row.indirect_misses) if row.status is Status.DEAD else right
            ),
            "suspicion-after-a-death-begins-anew",
        ),
        "AntiEntropyLeavesMisses": (
            "Counts indirect misses on after a newer incarnation in anti-entropy. [SA-03, SA-29]",
            {"transitions.with_member": _members_leave_misses},
            "suspicion-after-anti-entropy-begins-anew",
        ),
        "JoinersAreNotSuspected": (
            "Suspects no node that is joining. [SA-02]",
            {
                "detector.settle_row": lambda state, node, row: (
                    state if row.status is Status.JOINING else SETTLED(state, node, row)
                )
            },
            "joining-node-is-suspected joining-heard-of-from-others-is-no-answer",
        ),
        "PassesOnThePast": (
            "Reports an ack of the past. [S-41, SA-55]",
            {"transitions.on_ack": _past_is_passed_on},
            "relay-passes-on-no-ack-of-the-past",
        ),
        "ThePastUsesRequestsUp": (
            "Forgets a request with an ack of the past. [S-41, SA-55]",
            {
                "transitions.on_ack": lambda state, ack, pick: (
                    Step(TAKEN(state, ack)[0]) if ack.target == state.uuid and IS_PAST(state, ack) else ON_ACK(state, ack, pick)
                )
            },
            "relay-passes-on-no-ack-of-the-past",
        ),
        "ReportsByTheLowestBits": (
            "Compares the tx of an ack with that of the ping for another by 32 bits. [SA-55]",
            {"transitions.take_relays": lambda state, ack: TAKEN(state, replace(ack, target_tx=ack.target_tx % 2**32))},
            "relay-reports-no-ack-with-a-high-bit-more",
        ),
        "RelaysForTheLiveOnly": (
            "Pings on behalf of live nodes only. [SA-55]",
            {
                "transitions.request_relays": lambda state, ping, pick: (
                    RELAYED(state, ping, pick) if ping.sender in state.live else (state, ())
                )
            },
            "relay-for-one-who-has-left",
        ),
        "RemembersOverOneQuantum": (
            "Remembers a request over one quantum, not over one close. [SA-55]",
            {"transitions.on_quantum": _older_with_each_quantum},
            "relay-remembers-over-the-quanta-of-a-round",
        ),
        "FanoutBeforeTheClose": (
            "Counts the active nodes before the round is closed. [SA-24, SA-53]",
            counting(lambda before, _: FANOUT(active_size(before))),
            "fanout-after-a-death-at-the-close",
        ),
        "FanoutOfTheVector": (
            "Takes the logarithm of the number of nodes that are left in the vector. [SA-24]",
            counting(lambda _, after: FANOUT(1 + len(after.vector))),
            "six-others-are-pinged-in-two-quanta",
        ),
        "FanoutOfAllRows": (
            "Counts nodes that are gone among the active ones when it pings. [SA-24, SA-27]",
            counting(lambda _, after: FANOUT(1 + len(after.rows))),
            "fanout-without-those-who-have-left",
        ),
        "RefutesPartByPart": (
            "Refutes what is above its own incarnation in both parts. [SA-10, SA-17]",
            refuting(lambda told, own: told != own and told.restart >= own.restart and told.tx >= own.tx),
            "told-dead-at-a-larger-restart-counter-and-a-smaller-tx",
        ),
        "RefutesByDoubles": (
            "Compares what it is told with its own incarnation as floating-point numbers. [SA-17, SA-47]",
            refuting(lambda told, own: tuple(map(float, told)) > tuple(map(float, own))),
            "told-dead-at-restart-counters-around-31-and-32-bits",
        ),
        "RefutesBy32Bits": (
            "Compares what it is told with its own incarnation by 32 bits. [SA-17, SA-47]",
            refuting(lambda told, own: tuple(part % 2**32 for part in told) > tuple(part % 2**32 for part in own)),
            "told-dead-at-restart-counters-around-31-and-32-bits",
        ),
        "NewLifeWithoutQueue": (
            "Empties its queue when it begins a new life. [SA-17, SA-25]",
            forgetting(queue=()),
            "told-dead-keeps-the-queue",
        ),
        "NewLifeWithoutPayload": (
            "Loses its payload when it begins a new life. [SA-17, SA-33]",
            forgetting(payload="{}"),
            "told-dead-keeps-the-payload",
        ),
        "NewLifeWithoutProbes": (
            "Forgets its probes when it begins a new life. [SA-17, SA-60]",
            forgetting(probes=Table()),
            "told-dead-keeps-the-probes",
        ),
        "AsksAllIfAJoinerTold": (
            "Introduces itself to all nodes again if one that is joining told it of its death. [SA-17, SA-27]",
            {"transitions.refute": _joiners_are_not_live},
            "told-dead-by-one-that-is-joining",
        ),
        "EntriesAboutTheSender": (
            "Ignores an entry of anti-entropy about its sender. [SA-29]",
            {"transitions.apply_message": _own_entry_is_skipped},
            "anti-entropy-about-its-sender",
        ),
        "AntiEntropyIntroduces": (
            "Takes itself for introduced to a node that others tell of. [SA-57]",
            {"transitions.with_member": _news_introduces},
            "introduction-goes-on-after-anti-entropy",
        ),
        "DeathIntroduces": (
            "Takes itself for introduced to a node that was dead. [SA-57]",
            merged(lambda _, __, right: replace(right, exchange=Exchange.DONE) if right.status is Status.DEAD else right),
            "introduction-goes-on-after-a-death",
        ),
        "PingsIntroduce": (
            "Takes a ping for the answer to its introduction. [SA-57]",
            pinged_by(_introduced_by_a_ping),
            "introduction-is-not-moved-by-a-ping",
        ),
        "AnswersIntroduce": (
            "Takes an ack that matches no ping for no answer to its introduction. [SA-57]",
            acked(_introduced_by_a_match),
            "introduction-is-moved-by-any-accepted-ack",
        ),
        "OneAckIntroduces": (
            "Ends its introduction with one ack that holds both answers. [SA-57]",
            {"transitions.advance_introduction": lambda state, ack: INTRODUCED(INTRODUCED(state, ack), ack)},
            "introduction-takes-two-acks",
        ),
        "AcksOfJoiners": (
            "Makes a row of an unknown node whose ack says that it is joining. [SA-21]",
            {
                "transitions.on_ack": lambda state, ack, pick: (
                    Step(APPLIED(state, ack)) if ack.sender not in state.rows else ON_ACK(state, ack, pick)
                )
            },
            "ack-of-an-unknown-sender-with-a-joining",
        ),
        "NoPayloadsOfTheGone": (
            "Keeps no payload of a node that has left. [S-34]",
            pinged_by(
                lambda state, after, ping: (
                    changed(after, ping.sender, payload=state.rows[ping.sender].payload)
                    if ping.sender in state.rows and not after.rows[ping.sender].is_live
                    else after
                )
            ),
            "payload-of-one-who-has-left",
        ),
        "EmptyPayloadsAreNone": (
            "Ignores an empty payload. [S-34, SA-56]",
            {
                "transitions.apply_message": lambda state, message: APPLIED(
                    state, replace(message, vectors=tuple(v for v in message.vectors if v != Payload("{}")))
                )
            },
            "payload-that-is-empty-replaces",
        ),
        "LeavesOnce": ("Refuses to leave if it has left. [SA-37]", {"commands.with_left": _left_once}, "leave-by-itself-twice"),
        "AddingBringsBack": (
            "Makes a node that has left joining when it is added. [SA-38]",
            adding(
                lambda _, after, command: (
                    after if after.rows[command.uuid].is_live else changed(after, command.uuid, status=Status.JOINING)
                )
            ),
            "add-node-that-has-left",
        ),
        "AddingForgetsThePayload": (
            "Forgets the payload of a known node that is added. [SA-38]",
            adding(lambda _, after, command: changed(after, command.uuid, payload=None)),
            "add-node-keeps-the-payload",
        ),
        "AddsToTheRound": (
            "Pings a node that is added in the round that is under way. [SA-26, SA-38]",
            adding(
                lambda state, after, command: (
                    replace(after, vector=(*after.vector, command.uuid))
                    if state.vector and command.uuid not in state.rows
                    else after
                )
            ),
            "add-node-waits-for-the-next-round",
        ),
        "AddingDropsEvents": (
            "Drops what is queued about a node when it is added. [SA-25, SA-38]",
            adding(lambda _, after, command: replace(after, queue=tuple(q for q in after.queue if q.event.node != command.uuid))),
            "add-node-keeps-the-queue",
        ),
        "RemovingKeepsThePayload": (
            "Keeps the payload of a node that it removes, until that is back. [S-51]",
            {"transitions.on_remove_node": _removed, "transitions.apply_message": _back_with_its_payload},
            "removed-node-comes-back-without-its-payload",
        ),
        "ProbesByTheLowest8Bits": (
            "Compares the tx of an answer with that of the probe by 8 bits. [SA-60]",
            {
                "transitions.on_probe_ack": lambda state, sender, node, tx: PROBE_ACKED(state, sender, node, tx % 2**8),
            },
            "probe-answered-with-a-high-bit-more",
        ),
        "ProbesByTheLowest32Bits": (
            "Compares the tx of an answer with that of the probe by 32 bits. [SA-60]",
            {
                "transitions.on_probe_ack": lambda state, sender, node, tx: PROBE_ACKED(state, sender, node, tx % 2**32),
            },
            "probe-answered-with-a-high-bit-more",
        ),
        "ReachesWhomItKnows": (
            "Names the node that it knows at the address of a probe, whichever answers. [SA-60]",
            {"transitions.on_probe_ack": _known_there},
            "probe-answered-in-another-name",
        ),
        "ReportsAcksForOthers": (
            "Reports the ack of a node that was pinged for another, whichever node that ack is for. [SA-22, SA-55]",
            {"transitions.on_ack": _others_are_reported},
            "relay-passes-on-no-ack-for-another",
        ),
        "AcksHoldNothingUntilIntroduced": (
            "Sends acks with nothing else to nodes that it has still to introduce itself to. [S-32, SA-57]",
            {"transitions.answer": _bare_answer},
            "introduction-leaves-acks-as-they-are",
        ),
        "SuspicionUndoesTheFirstRequest": (
            "Goes back to the first request if a node is suspicious at the second. [SA-57]",
            merged(
                lambda _, __, right: (
                    replace(right, exchange=Exchange.FIRST)
                    if right.status is Status.SUSPICIOUS and right.exchange is Exchange.SECOND
                    else right
                )
            ),
            "introduction-goes-on-after-a-suspicion",
        ),
        "NewLifeForgetsPingsToTheTeller": (
            "Forgets in a new life only the pings to the node that told it. [SA-52]",
            reviving(lambda former, row, is_teller: row if is_teller else replace(row, unanswered=former.unanswered)),
            "told-dead-forgets-pings-to-all",
        ),
        "NewLifeAtTheSecondRequest": (
            "Stays in a new life at the second request where it was at that. [SA-17, SA-57]",
            reviving(
                lambda former, row, _: replace(row, exchange=Exchange.SECOND) if former.exchange is Exchange.SECOND else row
            ),
            "told-dead-at-the-second-request",
        ),
        "LeavesTheLastInSilence": (
            "Has no quanta any more when it has left and knows no live node. [SA-59]",
            {
                "transitions.on_quantum": lambda state, pick: (
                    Step(state) if state.left and not state.live else ON_QUANTUM(state, pick)
                )
            },
            "leave-by-itself-with-no-neighbours-left",
        ),
        "PastIn16Bits": (
            "Looks for messages of the past with signed numbers of 16 bits. [SA-10, SA-47]",
            comparing(_signed(16)),
            "tx-grows-over-all-borders restart-counter-grows-over-all-borders",
        ),
        "PastInSigned32Bits": (
            "Looks for messages of the past with signed numbers of 32 bits. [SA-10, SA-47]",
            comparing(_signed(32)),
            "tx-grows-over-all-borders restart-counter-grows-over-all-borders counters-that-grow-by-much",
        ),
        "PastIn53Bits": (
            "Looks for messages of the past with numbers of 53 bits. [SA-10, SA-47]",
            comparing(lambda number: number % 2**53),
            "tx-grows-over-all-borders restart-counter-grows-over-all-borders",
        ),
        "PastInOneNumber": (
            "Looks for messages of the past with one number, whose upper half is the restart counter. [SA-10]",
            {
                "transitions.is_past": lambda state, message: (
                    message.sender in state.rows
                    and message.incarnation.restart * 2**32 + message.incarnation.tx
                    < state.rows[message.sender].incarnation.restart * 2**32 + state.rows[message.sender].incarnation.tx
                )
            },
            "counters-that-grow-by-much",
        ),
        "AntiEntropyByDoubles": (
            "Compares an entry of anti-entropy with the row as doubles. [SA-10, SA-29]",
            {"transitions.with_member": _newer_as_doubles},
            "anti-entropy-that-is-newer-beyond-53-bits",
        ),
        "IndirectMissesByDoubles": (
            "Compares incarnations as doubles when it sets to 0 what was missed. [SA-03, SA-10]",
            merged(
                lambda row, _, right: (
                    replace(right, indirect_misses=row.indirect_misses, indirect_asked=row.indirect_asked)
                    if tuple(map(float, right.incarnation)) == tuple(map(float, row.incarnation))
                    else right
                )
            ),
            "suspicion-after-a-refutation-beyond-53-bits",
        ),
        "AddsHostsInSmallLetters": (
            "Adds a node with its host in small letters and without blanks. [SA-38, SA-65]",
            {"transitions.on_add_node": lambda state, command: ADDED(state, replace(command, host=command.host.lower().strip()))},
            "add-node-with-a-host-as-it-is-written",
        ),
        "TextsWithoutBlanks": (
            "Cuts blanks off the ends of strings in a payload. [S-23, SA-63]",
            rendering(str.strip),
            "payload-with-texts-as-they-are-written",
        ),
        "TextsComposed": (
            "Composes letters and marks in strings of a payload. [S-23, SA-63]",
            rendering(lambda text: unicodedata.normalize("NFC", text)),
            "payload-with-texts-as-they-are-written",
        ),
        "TextsEndAtZero": (
            "Ends strings in a payload at a character U+0000. [S-23, SA-63]",
            rendering(lambda text: text.partition("\0")[0]),
            "payload-with-texts-as-they-are-written",
        ),
        "TextsWithOtherLines": (
            "Makes one character of the two at the end of a line in a payload. [S-23, SA-63]",
            rendering(lambda text: text.replace("\r\n", "\n")),
            "payload-with-texts-as-they-are-written",
        ),
        "NumbersForKeysAreNotCached": (
            "Puts no key that is a number into its cache when it reads. [SA-62]",
            {
                "transit.Reader.text": lambda self, raw, *, is_key=False: TEXT(
                    self, raw, is_key=is_key and raw[:2] not in ("~i", "~d")
                )
            },
            "payload-with-keys-of-other-kinds-again",
        ),
        "EscapedKeysAreNotCached": (
            "Puts no key with an escape into its cache when it reads. [SA-62]",
            {
                "transit.Reader.text": lambda self, raw, *, is_key=False: TEXT(
                    self, raw, is_key=is_key and raw[:2] not in ("~~", "~^", "~`")
                )
            },
            "payload-with-keys-of-other-kinds-again",
        ),
        "KeysTwiceWithin": (
            "Takes the last of two entries of one key in a map within a payload. [SA-64]",
            {"transit_json._object": _keys_twice_within},
            "reject-payload-with-a-key-twice-within",
        ),
        "KeysTwiceInTwoForms": (
            "Takes two forms of one key for two keys, and the last of them. [SA-64, SA-66]",
            {
                "transit_json._object": _keys_by_form,
                "transit.Reader.key": lambda self, raw, depth: (
                    raw if type(raw) is str and raw[:2] == "~i" else KEY(self, raw, depth)
                ),
            },
            "reject-payload-with-a-key-twice-in-two-forms",
        ),
    },
)
__getattr__ = MISTAKES.find
