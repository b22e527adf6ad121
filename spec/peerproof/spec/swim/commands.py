"""Handlers of the application's commands. A command that is refused has changed nothing."""

from __future__ import annotations

from peerproof.spec.core import Duration, Send, SetTimer, Step, replace
from peerproof.spec.errors import NotEnabled
from peerproof.spec.swim.codec import payload_fits
from peerproof.spec.swim.gossip import apply_claim, count_datagram, enqueue, with_row
from peerproof.spec.swim.messages import (
    AddNode,
    Effect,
    Incarnation,
    Leave,
    LeaveNode,
    Probe,
    ProbeNode,
    ProbeTimeout,
    RemoveNode,
    SetPayload,
    Uuid,
)
from peerproof.spec.swim.state import Exchange, Probing, Row, State, Status, address
from peerproof.spec.swim.table import Claim

Next = Step[State, Effect]

#: The timeout of a probe, in quanta. [SA-60]
PROBE_QUANTA = 2


def on_add_node(state: State, command: AddNode) -> Next:
    """Adds a node, for this one to introduce itself to; of a known one only the address changes. [S-49, SA-38, SA-57]"""
    if command.uuid == state.uuid:
        raise NotEnabled("own_node", "a node cannot be added to itself")
    return Step(with_row(state, command.uuid, build_row(state, command)))


def build_row(state: State, command: AddNode) -> Row:
    """Returns the row of an added node. [SA-38]"""
    known: Row | None = state.rows.get(command.uuid)
    if known is None:
        return Row(command.host, command.port, Status.JOINING, Incarnation(0, 0), exchange=Exchange.FIRST)
    return replace(known, host=command.host, port=command.port)


def on_leave_node(state: State, command: LeaveNode) -> Next:
    """Takes a node, or this one, out of communication. [S-50, SA-37, SA-59]"""
    return Step(with_left(state, command.uuid))


def with_left(state: State, node: Uuid) -> State:
    """Returns the node after another, or itself, has left. Raises NotEnabled for an unknown one."""
    if node == state.uuid:
        return state if state.left else enqueue(replace(state, left=True), Leave(node, state.incarnation))
    if node not in state.rows:
        raise NotEnabled("unknown_node", f"{node} is not known")
    return apply_claim(state, Claim(node, Status.LEAVE, state.rows[node].incarnation))


def on_remove_node(state: State, command: RemoveNode) -> Next:
    """Deletes the row of a node, after marking it as left; that event is still sent to others. [S-51, SA-36]"""
    if command.uuid == state.uuid:
        raise NotEnabled("own_node", "a node cannot be removed from itself")
    state = with_left(state, command.uuid)
    return Step(replace(state, rows=state.rows.without((command.uuid,))))


def on_probe_node(state: State, command: ProbeNode) -> Next:
    """Sends one probe and starts its timeout. [S-52, SA-41, SA-60]"""
    sending = count_datagram(state)
    if sending is None:
        raise NotEnabled("overflow", "the counters of this node are at their end, it can send nothing more")
    where = address(command.host, command.port)
    probe = Send(where, Probe(state.uuid, sending.incarnation))
    waits = SetTimer(ProbeTimeout(command.host, command.port), Duration(PROBE_QUANTA * state.config.interval))
    probing = Probing(command.host, command.port, sending.incarnation.tx)
    return Step(replace(sending, probes=sending.probes.put({where: probing})), (probe, waits))


def on_set_payload(state: State, command: SetPayload) -> Next:
    """Sets this node's data, which its next pings carry. [S-58, SA-33, SA-35]"""
    if command.uuid != state.uuid:
        raise NotEnabled("not_own", f"the payload of {command.uuid} belongs to that node")
    if not payload_fits(command.data, state.config.max_datagram):
        raise NotEnabled("too_large", f"the payload does not fit into a ping of {state.config.max_datagram} bytes")
    return Step(replace(state, payload=command.data))
