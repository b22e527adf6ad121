"""Mistakes between two things that happen: too early, too late, or to the wrong one of several."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.variant import received
from tests.conformance.wrong_wendy import Wrong

from peerproof.spec.core import Expired, NodeId, Pick, Sent, SetTimer, Step
from peerproof.spec.wendy import joining
from peerproof.spec.wendy.messages import Heartbeat, NodeExit, NodeRace, RepairTimeout, StateData
from peerproof.spec.wendy.state import Stage, State


class ExitsLeaveRequests(Wrong):
    """Measures a node that has left, and takes it back when its request is confirmed. [WA-30, WA-69]"""

    caught_by: ClassVar = ("an-exit-before-the-score",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Keeps the request."""
        step = super().step(state, event, pick)
        if received(event, NodeExit):
            gone = {name: node for name, node in state.measured.items() if name == event.message.header.sender.id}
            return step._replace(state=replace(step.state, measured=step.state.measured.put(gone)))
        return step


class AnyMessageHasAnnounced(Wrong):
    """Takes the confirmation of any message for that of the announcement to the same node. [WA-67]"""

    caught_by: ClassVar = ("a-heartbeat-is-no-announcement",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Does not look at what was sent."""
        step = super().step(state, event, pick)
        if isinstance(event, Sent) and isinstance(event.message, Heartbeat) and event.to in step.state.announcing:
            after, effects = joining.on_announcement_sent(step.state, event.to)
            return Step(after, (*step.effects, *effects))
        return step


class AnybodyAnswers(Wrong):
    """Takes the routing table of a node that was not asked for an answer. [WA-26, WA-71]"""

    caught_by: ClassVar = ("cell-nobody-has-one-by-messages",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Waits for nobody any more."""
        if received(event, StateData) and event.message.tables.routing_table is not None:
            repairs = {cell: one._replace(waiting=frozenset()) for cell, one in state.repairs.items()}
            state = replace(state, repairs=state.repairs.put(repairs))
        return super().step(state, event, pick)


class AnswersPutItOff(Wrong):
    """Waits the whole network timeout again after each answer. [WA-26]"""

    caught_by: ClassVar = ("cell-who-does-not-answer-by-messages",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Sets the timers again."""
        step = super().step(state, event, pick)
        if received(event, StateData) and state.repairs:
            timers = [SetTimer(RepairTimeout(*cell), state.config.network_timeout) for cell in step.state.repairs]
            return step._replace(effects=(*step.effects, *timers))
        return step


class OneTimeoutForAllRows(Wrong):
    """Gives the next row what is left of the network timeout. [WA-26]"""

    caught_by: ClassVar = ("the-next-row-has-its-own-timeout",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Sets a timer for the first row only."""
        step = super().step(state, event, pick)
        if isinstance(event, Expired):
            return step
        return step._replace(
            effects=tuple(
                effect
                for effect in step.effects
                if not (
                    isinstance(effect, SetTimer)
                    and isinstance(effect.timer, RepairTimeout)
                    and (effect.timer.row, effect.timer.column) in state.repairs
                )
            )
        )


class WarnedWhileWaiting(Wrong):
    """Announces itself once more after the wait, because of a warning before. [WA-67]"""

    caught_by: ClassVar = ("a-warning-during-the-wait",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Remembers the warning."""
        step = super().step(state, event, pick)
        if received(event, NodeRace) and state.stage is Stage.WAITING:
            self.is_warned = True
        if state.stage is Stage.WAITING and step.state.stage is Stage.JOINED and getattr(self, "is_warned", False):
            return step._replace(state=replace(step.state, is_warned=True))
        return step


class TheDestinationMustStay(Wrong):
    """Does not announce itself if the destination of its join has gone during the wait. [W-58, W-60]"""

    caught_by: ClassVar = ("the-destination-goes-during-the-wait",)
    destination: Any = None

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Is alone again."""
        step = super().step(state, event, pick)
        if received(event, StateData) and event.message.destination:
            self.destination = event.message.header.sender.id
        if step.state.stage is Stage.WAITING and self.destination in step.state.departed:
            return step._replace(state=replace(step.state, stage=Stage.ALONE))
        return step


class VersionsStay(Wrong):
    """Keeps the versions of a node that has gone, and announces itself to its next life with them. [WA-70]"""

    caught_by: ClassVar = ("versions-of-who-was-never-measured-are-gone", "versions-from-before-a-departure-are-gone")

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """Has none yet."""
        self.kept: dict[Any, Any] = {}
        return super().initial(self_id, config)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Has them again."""
        step = super().step(state, event, pick)
        self.kept = getattr(self, "kept", {}) | dict(step.state.stored.items())
        known = step.state.known
        lost = {name: versions for name, versions in self.kept.items() if name in known and name not in step.state.stored}
        return step._replace(state=replace(step.state, stored=step.state.stored.put(lost))) if lost else step


class CredentialsWithoutCase(Wrong):
    """Compares credentials as texts, without a look at capitals and blanks. [WA-53]"""

    caught_by: ClassVar = ("credentials-that-are-not-the-same",)
    instead: ClassVar = {
        "transitions.is_admitted": lambda state, message: (
            state.config.credentials is None
            or (message.header.credentials or b"").strip().lower() == state.config.credentials.strip().lower()
        ),
    }
