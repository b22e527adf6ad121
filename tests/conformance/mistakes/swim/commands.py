"""Mistakes in what an application asks of its own node, and in how that begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, after, around, keeping, with_values

from peerproof.spec.core import Step
from peerproof.spec.swim import commands
from peerproof.spec.swim.gossip import apply_claim, enqueue
from peerproof.spec.swim.messages import Incarnation, Leave, LeaveNode, RemoveNode, SetPayload
from peerproof.spec.swim.state import State, Status, active_size
from peerproof.spec.swim.table import Claim

wrong = Variants(__name__, Wrong)


@wrong("transitions.on_set_payload", "payload-of-an-unknown-node-cannot-be-set")
def DropsThePayloadOfTheUnknown(right: Any, state: State, command: SetPayload) -> Any:
    """Takes the payload of a node that it does not know, and does nothing with it."""
    if command.uuid != state.uuid and command.uuid not in state.rows:
        return Step(state)
    return right(state, command)


@wrong("transitions.on_set_payload", "payload-of-another")
def SetsThePayloadOfOthers(right: Any, state: State, command: SetPayload) -> Any:
    """Lets an application set what another node has to say of itself."""
    if command.uuid in state.rows:
        row = replace(state.rows[command.uuid], payload=command.data)
        return Step(replace(state, rows=state.rows.put({command.uuid: row})))
    return right(state, command)


@wrong("transitions.on_leave_node", "leave-node-of-an-unknown-one")
def LeavesTheUnknown(right: Any, state: State, command: LeaveNode) -> Any:
    """Tells everybody that a node has left of which it has never heard."""
    if command.uuid not in state.rows and command.uuid != state.uuid:
        return Step(enqueue(state, Leave(command.uuid, Incarnation(0, 0))))
    return Step(commands.with_left(state, command.uuid))


@wrong("transitions.on_remove_node", "remove-node-that-has-left removed-node-comes-back")
def RemovingIsLeaving(right: Any, state: State, command: RemoveNode) -> Any:
    """Keeps the row of a node that is removed."""
    after, effects = right(state, command)
    gone = apply_claim(state, Claim(command.uuid, Status.LEAVE, state.rows[command.uuid].incarnation)).rows[command.uuid]
    return Step(replace(after, rows=after.rows.put({command.uuid: gone})), effects)


wrong |= {
    # Counts all nodes but itself.
    "CountsTheOthers: sizes-of-a-lone-node": {
        "queries.total_size": lambda state: len(state.rows),
        "queries.active_size": lambda state: active_size(state) - 1,
    },
    # Takes the dead and those who have left for active.
    "CountsTheGone: sizes eight-nodes": {"queries.active_size": lambda state: 1 + len(state.rows)},
    # Begins with tx 1.
    "CountsFromOne: nothing-sent-yet": after(
        "initial", lambda step, *_: with_values(step, incarnation=Incarnation(step.state.incarnation.restart, 1))
    ),
    # Removes a node and tells nobody.
    "RemovesSilently: anti-entropy-brings-the-removed-back remove-node": keeping("transitions.on_remove_node", "queue"),
    # Sends a probe with the next tx, and does not count it.
    "ProbesAreNotCounted: probe-again-forgets-the-first probe-again-starts-over": keeping(
        "transitions.on_probe_node", "incarnation"
    ),
    # Takes payloads for datagrams of 1472 bytes.
    "AllowsWhatEthernetCarries: payload-that-fits-unless-configured": around(
        "commands.payload_fits", lambda right, data, limit: right(data, 1472 if limit == 1432 else limit)
    ),
    # Ignores that it should leave itself.
    "CannotLeave: leave-by-itself-is-told-with-acks left-by-itself-still-answers": {
        "transitions.on_leave_node": lambda state, command: (
            Step(state) if command.uuid == state.uuid else Step(commands.with_left(state, command.uuid))
        )
    },
    # Waits for a probe one quantum more.
    "ProbesWaitLonger: probe-answered-late probe-answered-by-another": {"commands.PROBE_QUANTA": 3},
    # Waits for a probe one quantum only.
    "ProbesWaitShorter: probe-reaches-nobody probe-again-starts-over": {"commands.PROBE_QUANTA": 1},
}
__getattr__ = wrong.find
