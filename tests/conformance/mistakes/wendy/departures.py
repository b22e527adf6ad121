"""Mistakes about those who have gone: in noticing it, in repairing tables, and in leaving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.joining import with_messages
from tests.support.variant import variants

from peerproof.spec.core import Asked, CancelTimer, Expired, Pick, Received, Send, Sent, SetTimer, Step
from peerproof.spec.wendy import repair
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import (
    Heartbeat,
    HeartbeatDue,
    Leave,
    NodeExit,
    RepairTimeout,
)
from peerproof.spec.wendy.proximity import header
from peerproof.spec.wendy.state import Stage, State

Next = Step[Any, Any]

DEPARTED = repair.on_departure


class TrustsEverybody(Wrong):
    """Does not care whether a message arrives."""

    caught_by: ClassVar = ("a-message-that-fails", "a-heartbeat-that-fails", "leaf-that-does-not-answer")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Learns nothing from a failure."""
        if isinstance(event, Sent) and event.took is None and state.stage is not Stage.JOINING:
            return Step(state)
        return super().step(state, event, pick)


class OneHeartbeat(Wrong):
    """Sends heartbeats once."""

    caught_by: ClassVar = ("heartbeats-again",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Forgets the timer."""
        step = super().step(state, event, pick)
        return step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, SetTimer) and isinstance(e.timer, HeartbeatDue)))
        )


class HeartbeatsAsByDefault(Wrong):
    """Sends heartbeats each 300 s, whatever is configured."""

    caught_by: ClassVar = ("heartbeats-as-configured", "no-heartbeats")

    def initial(self, self_id: Any, config: Any) -> Next:
        """With the default."""
        return super().initial(self_id, replace(config, heartbeat=300_000))


class AnswersHeartbeats(Wrong):
    """Sends a heartbeat for a heartbeat."""

    caught_by: ClassVar = ("a-heartbeat-changes-nothing",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Answers it."""
        if isinstance(event, Received) and isinstance(event.message, Heartbeat):
            return (
                super()
                .step(state, Expired(event.now, HeartbeatDue()), pick)
                ._replace(effects=(Send(event.sender, Heartbeat(header(state))),))
            )
        return super().step(state, event, pick)


class DepartedForEver(Wrong):
    """Never takes back who has departed."""

    caught_by: ClassVar = ("the-departed-comes-back", "the-departed-comes-back-and-is-warned")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Passes its announcements over."""
        if isinstance(event, Received) and event.message.header.sender.id in state.departed:
            return Step(state)
        return super().step(state, event, pick)


class AnybodyDeparts(Wrong):
    """Remembers whoever is said to have gone, known or not."""

    caught_by: ClassVar = ("nobody-known-has-departed", "the-failed-are-departed")

    @staticmethod
    def _departed(state: State, gone: Id) -> Next:
        step = DEPARTED(state, gone)
        return step._replace(state=replace(step.state, departed=step.state.departed | {gone}))

    instead: ClassVar = {"repair.on_departure": _departed}


class NeverAsksAgain(Wrong):
    """Waits for answers for ever."""

    caught_by: ClassVar = (
        "cell-who-does-not-answer",
        "cell-who-does-not-answer-by-messages",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sees no time run out."""
        is_late = isinstance(event, Expired) and isinstance(event.timer, RepairTimeout)
        return Step(state) if is_late else super().step(state, event, pick)


class LeavesSilently(Wrong):
    """Leaves without a word."""

    caught_by: ClassVar = ("leaving", "leaving-while-waiting", "a-node-leaves")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sends no exits."""
        return with_messages(super().step(state, event, pick), NodeExit, lambda _: None)


class GoesOnAfterLeaving(Wrong):
    """Goes on as if it had not left."""

    caught_by: ClassVar = (
        *("nothing-after-leaving", "no-answers-after-leaving", "leaving-while-waiting", "learns-nothing-after-leaving"),
        *("no-join-after-leaving", "no-leave-after-leaving", "no-route-after-leaving"),
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Says that it has left, and has not."""
        step = super().step(state, event, pick)
        if not (isinstance(event, Asked) and isinstance(event.command, Leave)):
            return step
        return Step(state, tuple(effect for effect in step.effects if not isinstance(effect, CancelTimer)))


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "HeartbeatsToLeaves": (
            "Sends heartbeats and exits to the routing table only.",
            {"transitions.everybody": lambda state: list(state.routing_table.values())},
            "heartbeats-to-everybody leaving heartbeats-and-exits-to-leaves",
        ),
    },
)
__getattr__ = MISTAKES.find
