"""Mistakes about those who have gone: in noticing it, in repairing tables, and in leaving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, after, around, passing_over, sending, with_values

from peerproof.spec.core import Asked, CancelTimer, Expired, Pick, Received, Send, Sent, SetTimer, Step
from peerproof.spec.wendy.messages import Heartbeat, HeartbeatDue, Leave, NodeExit, RepairTimeout
from peerproof.spec.wendy.proximity import header
from peerproof.spec.wendy.state import Stage, State

wrong = Variants(__name__, Wrong)


@wrong("step", "a-heartbeat-changes-nothing")
def AnswersHeartbeats(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Sends a heartbeat for a heartbeat."""
    if isinstance(event, Received) and isinstance(event.message, Heartbeat):
        return right(state, Expired(event.now, HeartbeatDue()), pick)._replace(
            effects=(Send(event.sender, Heartbeat(header(state))),)
        )
    return right(state, event, pick)


@wrong.after(
    "step",
    "nothing-after-leaving no-answers-after-leaving leaving-while-waiting learns-nothing-after-leaving "
    "no-join-after-leaving no-leave-after-leaving no-route-after-leaving",
)
def GoesOnAfterLeaving(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Goes on as if it had not left."""
    if not (isinstance(event, Asked) and isinstance(event.command, Leave)):
        return step
    return Step(state, tuple(effect for effect in step.effects if not isinstance(effect, CancelTimer)))


wrong |= {
    # Remembers whoever is said to have gone, known or not.
    "AnybodyDeparts: nobody-known-has-departed the-failed-are-departed": after(
        "repair.on_departure", lambda step, _, gone: with_values(step, departed=step.state.departed | {gone})
    ),
    # Does not care whether a message arrives.
    "TrustsEverybody: a-message-that-fails a-heartbeat-that-fails leaf-that-does-not-answer": passing_over(
        lambda state, event: isinstance(event, Sent) and event.took is None and state.stage is not Stage.JOINING
    ),
    # Never takes back who has departed.
    "DepartedForEver: the-departed-comes-back the-departed-comes-back-and-is-warned": passing_over(
        lambda state, event: isinstance(event, Received) and event.message.header.sender.id in state.departed
    ),
    # Waits for answers for ever.
    "NeverAsksAgain: cell-who-does-not-answer cell-who-does-not-answer-by-messages": passing_over(
        lambda state, event: isinstance(event, Expired) and isinstance(event.timer, RepairTimeout)
    ),
    # Sends heartbeats once.
    "OneHeartbeat: heartbeats-again": after(
        "step",
        lambda step, *_: step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, SetTimer) and isinstance(e.timer, HeartbeatDue)))
        ),
    ),
    # Sends heartbeats each 300 s, whatever is configured.
    "HeartbeatsAsByDefault: heartbeats-as-configured no-heartbeats": around(
        "initial", lambda right, self_id, config: right(self_id, replace(config, heartbeat=300_000))
    ),
    # Leaves without a word.
    "LeavesSilently: leaving leaving-while-waiting a-node-leaves": sending(NodeExit, lambda *_: None),
    # Sends heartbeats and exits to the routing table only.
    "HeartbeatsToLeaves: heartbeats-to-everybody leaving heartbeats-and-exits-to-leaves": {
        "transitions.everybody": lambda state: list(state.routing_table.values())
    },
}
__getattr__ = wrong.find
