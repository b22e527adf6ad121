"""
The transitions of a SWIM node: `initial` makes one, `step` handles one event.

A quantum pings a few nodes; each ping is answered by an ack; both carry news. A node that misses two rounds is suspicious, and
dead after two indirect pings. A node's next message refutes any statement about it, because it has a larger number.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from peerproof.spec.core import Asked, CancelTimer, Expired, NodeId, Notify, Pick, Received, Send, SetTimer, Step, Table, replace
from peerproof.spec.swim.commands import on_add_node, on_leave_node, on_probe_node, on_remove_node, on_set_payload
from peerproof.spec.swim.gossip import (
    BARE,
    ack_of,
    answer,
    apply_claim,
    count_datagram,
    datagram,
    enqueue,
    ping_to,
    reborn,
    request,
    waiting,
    with_row,
)
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AddNode,
    AntiEntropy,
    ClusterEvent,
    Command,
    Dead,
    Effect,
    Event,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    LeaveNode,
    Message,
    NodeEvent,
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
    Reachable,
    RemoveNode,
    SetPayload,
    Suspicious,
    Unreachable,
    Uuid,
    Vector,
)
from peerproof.spec.swim.rounds import on_quantum
from peerproof.spec.swim.state import Config, Exchange, Relay, Row, State, Status, address, host_and_port
from peerproof.spec.swim.table import GIVES, Claim, changes, event, of_sender

Next: TypeAlias = Step[State, Effect]
Sends: TypeAlias = tuple[Send[Message], ...]


def initial(self_id: NodeId, config: Config) -> Next:
    """Returns a node that knows its seeds, and introduces itself from its first quantum on. [S-24, SA-48, SA-57]"""
    host_and_port(self_id)
    rows = {
        seed.uuid: Row(seed.host, seed.port, Status.JOINING, Incarnation(0, 0), exchange=Exchange.FIRST)
        for seed in config.seeds
        if seed.uuid != config.uuid
    }
    state = State(
        self_id,
        config,
        Incarnation(config.restart_counter, 0),
        Table(rows),
        cluster_subscriptions=frozenset(config.cluster_events),
    )
    return Step(state, (SetTimer(Quantum(), config.interval),))


def step(state: State, event: Event, pick: Pick) -> Next:
    """Dispatches one event to its handler."""
    match event:
        case Received(_, sender, message):
            match message:
                case Ping():
                    return notify_subscribers(state, *on_ping(state, sender, message, pick))
                case Ack():
                    return notify_subscribers(state, *on_ack(state, message, pick))
                case Probe(_, incarnation):
                    return on_probe(state, sender, incarnation)
                case ProbeAck(node, _, probe_tx):
                    return on_probe_ack(state, sender, node, probe_tx)
                case _:
                    assert_never(message)
        case Expired(_, timer):
            match timer:
                case Quantum():
                    after, sends = on_quantum(state, pick)
                    return notify_subscribers(state, after, (*sends, SetTimer(Quantum(), state.config.interval)))
                case ProbeTimeout(host, port):
                    probes = state.probes.without((address(host, port),))
                    return Step(replace(state, probes=probes), (Notify(Unreachable(host, port)),))
                case _:
                    assert_never(timer)
        case Asked(_, command):
            after, effects = on_command(state, command)
            return notify_subscribers(state, after, effects)
        case _:
            assert_never(event)


def on_command(state: State, command: Command) -> Next:
    """Handles a command of the application. Raises NotEnabled."""
    match command:
        case AddNode():
            return on_add_node(state, command)
        case LeaveNode():
            return on_leave_node(state, command)
        case RemoveNode():
            return on_remove_node(state, command)
        case ProbeNode():
            return on_probe_node(state, command)
        case SetPayload():
            return on_set_payload(state, command)
        case OnNodeEvent(node, kind):
            return Step(replace(state, node_subscriptions=state.node_subscriptions | {(node, kind)}))
        case OnClusterEvent(kind):
            return Step(replace(state, cluster_subscriptions=state.cluster_subscriptions | {kind}))
        case _:
            assert_never(command)


def notify_subscribers(before: State, after: State, effects: tuple[Effect, ...]) -> Next:
    """Returns a step with its notifications of subscribers, which come last. [S-56, S-57, SA-40]"""
    if not (before.node_subscriptions or before.cluster_subscriptions):
        return Step(after, effects)
    notices: list[Effect] = []
    for node, kind in changes(before, after):
        if (node, kind) in before.node_subscriptions:
            notices.append(Notify(NodeEvent(node, kind)))
        if kind in before.cluster_subscriptions:
            notices.append(Notify(ClusterEvent(node, kind)))
    return Step(after, (*effects, *notices))


def on_ping(state: State, sender: NodeId, ping: Ping, pick: Pick) -> Step[State, Send[Message]]:
    """
    A node pings this one. [S-32, S-41, S-42, SA-22]

    A ping from the past gets the remembered incarnation back and is otherwise ignored [S-30, SA-16]. Any other ping is applied,
    and answered to its source address [SA-51]. A duplicate ping gets another ack and changes nothing [SA-11].
    """
    if ping.target != state.uuid:
        return Step(state)
    if is_past(state, ping):
        remembered = (Dead(ping.sender, state.rows[ping.sender].incarnation),)
        state, message = datagram(state, (ping.sender, sender), ack_of(state, ping), remembered, BARE, pick)
        return Step(state, () if message is None else (Send(sender, message),))
    state = apply_message(state, ping)
    state, answered = answer(state, ping, sender, pick)
    state, relayed = request_relays(state, ping, pick)
    return Step(state, answered + relayed)


def on_ack(state: State, ack: Ack, pick: Pick) -> Step[State, Send[Message]]:
    """
    A node answers a ping. [S-41, SA-16, SA-22]

    If the ack matches a ping of this life, its sender has no miss [SA-02, SA-42, SA-52], and the nodes that wait for it through
    this one are notified [SA-55]. A duplicate ack matches only once.
    """
    if ack.target != state.uuid or is_past(state, ack):
        return Step(state)
    state, waiting_for_it = take_relays(state, ack)
    if row := state.rows.get(ack.sender):
        state = replace(state, heard=True)
        if ack.target_tx in row.unanswered:
            later = tuple(tx for tx in row.unanswered if tx > ack.target_tx)
            state = with_row(state, ack.sender, replace(row, misses=0, unanswered=later))
            state = replace(state, answered=state.answered | ({ack.sender} & state.pinged))
        state = advance_introduction(apply_message(state, ack), ack)
    return Step(*forward_ack(state, ack, waiting_for_it, pick))


def is_past(state: State, message: Ping | Ack) -> bool:
    """Whether a larger incarnation of its sender is known. [S-41]"""
    row = state.rows.get(message.sender)
    return row is not None and message.incarnation < row.incarnation


def apply_message(state: State, message: Ping | Ack) -> State:
    """
    Returns the node after applying an accepted message: its header first, then its vectors in order, the payload last.

    Nothing of an unknown sender is applied, unless it is joining. [S-36, SA-14, SA-21, SA-34]
    """
    sender = message.sender
    joining = next((v for v in message.vectors if isinstance(v, Joining) and v.node == sender), None)
    if joining is not None and sender != state.uuid:
        state = with_vector(state, message, joining)
    elif sender in state.rows:
        state = apply_claim(state, of_sender(state, sender, message.incarnation))
    else:
        return state
    state = replace(state, isolated=False)  # [SA-07]
    for vector in message.vectors:
        if not isinstance(vector, Payload):
            state = with_vector(state, message, vector)
    for vector in message.vectors:
        if isinstance(vector, Payload):
            state = with_row(state, sender, replace(state.rows[sender], payload=vector.data))  # [S-34]
    return state


def with_vector(state: State, message: Ping | Ack, vector: Vector) -> State:
    """Returns the node after one vector of a message. Vectors that need an answer are handled elsewhere."""
    match vector:
        case Joining(node, incarnation, host, port):
            if node == state.uuid:
                return state
            if node in state.rows:
                return apply_claim(state, Claim(node, Status.JOINING, incarnation, (host, port)))
            row = Row(host, port, Status.JOINING, incarnation)
            return enqueue(with_row(state, node, row), event(node, row, emit_incarnation=False))  # [SA-45, SA-49]
        case Normal(node, incarnation) | Suspicious(node, incarnation) | Dead(node, incarnation) | Leave(node, incarnation):
            if node == state.uuid:
                return refute(state, message.sender, vector)
            if node not in state.rows:
                return state  # [SA-45]
            return apply_claim(state, Claim(node, GIVES[type(vector)], incarnation or state.rows[node].incarnation))  # [SA-12]
        case IndirectAck(node, incarnation):
            return indirect_answer(state, node, incarnation)
        case AntiEntropy(members):
            for member in members:
                state = with_member(state, Claim(member.uuid, Status.NORMAL, Incarnation(*member[3:]), member[:2]))
            return state
        case IndirectPing() | Payload():
            return state
        case _:
            assert_never(vector)


def with_member(state: State, claim: Claim) -> State:
    """Returns the node after an entry of anti-entropy: a new row, or a strictly newer claim about a known one. [SA-28, SA-29]"""
    if claim.node == state.uuid:
        return state
    row = state.rows.get(claim.node)
    if row is None:
        assert claim.place is not None
        return with_row(state, claim.node, Row(*claim.place, Status.NORMAL, claim.incarnation))
    return apply_claim(state, claim) if claim.incarnation > row.incarnation else state


def refute(state: State, teller: Uuid, said: Normal | Suspicious | Dead | Leave) -> State:
    """
    Returns the node after a statement about itself.

    Its next message refutes any statement that is not above its own incarnation. Above it, after a lost counter, only a new life
    helps, and the node has to introduce itself again. [S-11, S-12, SA-17, SA-45]
    """
    if not isinstance(said, (Suspicious, Dead)) or said.incarnation is None or said.incarnation <= state.incarnation:
        return state
    if said.incarnation.restart == COUNTER_MAX:
        return state
    state = reborn(state, Incarnation(said.incarnation.restart + 1, 0))
    hosts = [teller] if teller in state.rows and state.rows[teller].is_live else state.live
    return replace(state, rows=state.rows.put({n: replace(state.rows[n], exchange=Exchange.FIRST) for n in hosts}))


def advance_introduction(state: State, ack: Ack) -> State:
    """Returns the node one step further in its introduction, if the ack confirms it. [S-25, S-28, S-29, SA-20, SA-57]"""
    row = state.rows[ack.sender]
    said = {type(vector) for vector in ack.vectors if isinstance(vector, (Joining, Normal)) and vector.node == state.uuid}
    if row.exchange is Exchange.FIRST and Joining in said:
        return with_row(state, ack.sender, replace(row, exchange=Exchange.SECOND))
    if row.exchange is Exchange.SECOND and Normal in said:
        return with_row(state, ack.sender, replace(row, exchange=Exchange.DONE))
    return state


def indirect_answer(state: State, node: Uuid, incarnation: Incarnation) -> State:
    """Returns the node after an indirect ack: the target is alive and has no miss. [SA-03, SA-04]"""
    row = state.rows.get(node)
    if row is None:
        return state
    state = with_row(state, node, replace(row, indirect_misses=0, indirect_asked=False))
    return apply_claim(state, Claim(node, Status.NORMAL, incarnation))


def request_relays(state: State, ping: Ping, pick: Pick) -> tuple[State, Sends]:
    """Returns the pings that a known sender requests on its behalf. [S-05, SA-04, SA-55]"""
    sends: Sends = ()
    for wanted in ping.vectors:
        if not isinstance(wanted, IndirectPing) or ping.sender not in state.rows or wanted.target in (state.uuid, ping.sender):
            continue
        state, sent = relay_ping(state, wanted, pick)
        if not sent:
            continue
        others = tuple(r for r in state.relays if (r.target, r.requester) != (wanted.target, ping.sender))
        relay = Relay(wanted.target, ping.sender, state.incarnation.tx, fresh=True)
        state = replace(state, relays=(*others, relay))
        sends += sent
    return state, sends


def relay_ping(state: State, wanted: IndirectPing, pick: Pick) -> tuple[State, Sends]:
    """Returns the ping itself: an ordinary request for a live row, otherwise a bare one. [SA-55, SA-57]"""
    where = address(wanted.host, wanted.port)
    if wanted.target in state.rows and state.rows[wanted.target].is_live:
        return request(state, wanted.target, pick, where=where)
    state, message = datagram(state, (wanted.target, where), ping_to(state, wanted.target), (), BARE, pick)
    return (state, ()) if message is None else (waiting(state, wanted.target), (Send(where, message),))


def take_relays(state: State, ack: Ack) -> tuple[State, tuple[Relay, ...]]:
    """Removes and returns the relays that wait for this ack. [SA-55]"""
    done = tuple(r for r in state.relays if r.target == ack.sender and r.tx == ack.target_tx)
    return replace(state, relays=tuple(r for r in state.relays if r not in done)) if done else state, done


def forward_ack(state: State, ack: Ack, done: tuple[Relay, ...], pick: Pick) -> tuple[State, Sends]:
    """Reports this ack to the nodes that waited for it. [SA-04, SA-55]"""
    sends: Sends = ()
    for relay in done:
        if relay.requester in state.rows:
            state, sent = request(state, relay.requester, pick, (IndirectAck(ack.sender, ack.incarnation),))
            sends += sent
    return state, sends


def on_probe(state: State, sender: NodeId, incarnation: Incarnation) -> Step[State, Send[Message]]:
    """Answers a probe. [SA-41]"""
    sending = count_datagram(state)
    if sending is None:
        return Step(state)
    return Step(sending, (Send(sender, ProbeAck(state.uuid, sending.incarnation, incarnation.tx)),))


def on_probe_ack(state: State, sender: NodeId, node: Uuid, probe_tx: int) -> Next:
    """Handles the answer to a probe. Late, duplicate and foreign answers are ignored. [SA-60]"""
    probing = state.probes.get(sender)
    if probing is None or probing.tx != probe_tx:
        return Step(state)
    host, port, _ = probing
    state = replace(state, probes=state.probes.without((sender,)))
    return Step(state, (CancelTimer(ProbeTimeout(host, port)), Notify(Reachable(host, port, node))))
