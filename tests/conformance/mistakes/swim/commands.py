"""Mistakes in what an application asks of its own node, and in how that begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import variants

from peerproof.spec.core import NodeId, Step
from peerproof.spec.swim import commands
from peerproof.spec.swim.gossip import apply_claim, enqueue
from peerproof.spec.swim.messages import Incarnation, Leave, LeaveNode, ProbeNode, RemoveNode, SetPayload
from peerproof.spec.swim.state import State, Status, active_size
from peerproof.spec.swim.table import Claim

Next = Step[Any, Any]

ON_PROBE_NODE = commands.on_probe_node
ON_REMOVE_NODE = commands.on_remove_node
ON_SET_PAYLOAD = commands.on_set_payload
PAYLOAD_FITS = commands.payload_fits  # type: ignore[attr-defined]  # the name that is replaced there


class CountsTheOthers(Wrong):
    """Counts all nodes but itself."""

    caught_by: ClassVar = ("sizes-of-a-lone-node",)
    queries: ClassVar = {"total_size": lambda state: len(state.rows), "active_size": lambda state: active_size(state) - 1}


class CountsFromOne(Wrong):
    """Begins with tx 1."""

    caught_by: ClassVar = ("nothing-sent-yet",)

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """As if it had sent something."""
        state, effects = super().initial(self_id, config)
        return Step(replace(state, incarnation=Incarnation(state.incarnation.restart, 1)), effects)


def _unknown_payload_is_dropped(state: State, command: SetPayload) -> Next:
    if command.uuid != state.uuid and command.uuid not in state.rows:
        return Step(state)
    return ON_SET_PAYLOAD(state, command)


def _any_payload(state: State, command: SetPayload) -> Next:
    if command.uuid in state.rows:
        row = replace(state.rows[command.uuid], payload=command.data)
        return Step(replace(state, rows=state.rows.put({command.uuid: row})))
    return ON_SET_PAYLOAD(state, command)


def _only_others(state: State, command: LeaveNode) -> Next:
    return Step(state) if command.uuid == state.uuid else Step(commands.with_left(state, command.uuid))


def _whoever_it_is(state: State, command: LeaveNode) -> Next:
    if command.uuid not in state.rows and command.uuid != state.uuid:
        return Step(enqueue(state, Leave(command.uuid, Incarnation(0, 0))))
    return Step(commands.with_left(state, command.uuid))


def _kept(state: State, command: RemoveNode) -> Next:
    after, effects = ON_REMOVE_NODE(state, command)
    gone = apply_claim(state, Claim(command.uuid, Status.LEAVE, state.rows[command.uuid].incarnation)).rows[command.uuid]
    return Step(replace(after, rows=after.rows.put({command.uuid: gone})), effects)


def _silent_removal(state: State, command: RemoveNode) -> Next:
    after, effects = ON_REMOVE_NODE(state, command)
    return Step(replace(after, queue=state.queue), effects)


def _uncounted(state: State, command: ProbeNode) -> Next:
    after, effects = ON_PROBE_NODE(state, command)
    return Step(replace(after, incarnation=state.incarnation), effects)


class CountsTheGone(Wrong):
    """Takes the dead and those who have left for active."""

    caught_by: ClassVar = ("sizes", "eight-nodes")
    queries: ClassVar = {"active_size": lambda state: 1 + len(state.rows)}


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "DropsThePayloadOfTheUnknown": (
            "Takes the payload of a node that it does not know, and does nothing with it.",
            {"transitions.on_set_payload": _unknown_payload_is_dropped},
            "payload-of-an-unknown-node-cannot-be-set",
        ),
        "AllowsWhatEthernetCarries": (
            "Takes payloads for datagrams of 1472 bytes.",
            {"commands.payload_fits": lambda data, limit: PAYLOAD_FITS(data, 1472 if limit == 1432 else limit)},
            "payload-that-fits-unless-configured",
        ),
        "SetsThePayloadOfOthers": (
            "Lets an application set what another node has to say of itself.",
            {"transitions.on_set_payload": _any_payload},
            "payload-of-another",
        ),
        "CannotLeave": (
            "Ignores that it should leave itself.",
            {"transitions.on_leave_node": _only_others},
            "leave-by-itself-is-told-with-acks left-by-itself-still-answers",
        ),
        "LeavesTheUnknown": (
            "Tells everybody that a node has left of which it has never heard.",
            {"transitions.on_leave_node": _whoever_it_is},
            "leave-node-of-an-unknown-one",
        ),
        "RemovingIsLeaving": (
            "Keeps the row of a node that is removed.",
            {"transitions.on_remove_node": _kept},
            "remove-node-that-has-left removed-node-comes-back",
        ),
        "RemovesSilently": (
            "Removes a node and tells nobody.",
            {"transitions.on_remove_node": _silent_removal},
            "anti-entropy-brings-the-removed-back remove-node",
        ),
        "ProbesAreNotCounted": (
            "Sends a probe with the next tx, and does not count it.",
            {"transitions.on_probe_node": _uncounted},
            "probe-again-forgets-the-first probe-again-starts-over",
        ),
        "ProbesWaitLonger": (
            "Waits for a probe one quantum more.",
            {"commands.PROBE_QUANTA": 3},
            "probe-answered-late probe-answered-by-another",
        ),
        "ProbesWaitShorter": (
            "Waits for a probe one quantum only.",
            {"commands.PROBE_QUANTA": 1},
            "probe-reaches-nobody probe-again-starts-over",
        ),
    },
)
__getattr__ = MISTAKES.find
