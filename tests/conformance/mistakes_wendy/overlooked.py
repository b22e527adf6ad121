"""Mistakes between two things that happen: too early, too late, or to the wrong one of several."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.variant import received
from tests.conformance.wrong_wendy import Wrong

from peerproof.spec.core import Asked, Duration, Expired, Pick, Sent, SetTimer, Step
from peerproof.spec.wendy import joining, repair
from peerproof.spec.wendy.messages import Announce, FlushCache, Heartbeat, NodeExit, NodeRace, RepairTimeout, StateData
from peerproof.spec.wendy.state import Stage, State

ANNOUNCE = joining.announce
AT = State.at
DEPARTED = repair.on_departure


class StaysMeasured(Wrong):
    """Waits for the score of a node that could not be reached, and does not ask for it again. [WA-20, WA-69]"""

    caught_by: ClassVar = ("met-again-after-a-failed-request",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Has it measured for ever."""
        step = super().step(state, event, pick)
        if isinstance(event, Sent) and event.took is None:
            lost = {name: node for name, node in state.measured.items() if name not in step.state.measured}
            return step._replace(state=replace(step.state, measured=step.state.measured.put(lost)))
        return step


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


class WarnedForEver(Wrong):
    """Announces itself again and again after one warning. [WA-67]"""

    caught_by: ClassVar = ("one-warning-one-announcement",)

    instead: ClassVar = {
        "joining.announce": lambda state: (
            (step := ANNOUNCE(state))._replace(state=replace(step.state, is_warned=state.is_warned))
        ),
    }


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


def _at_host(state: State, address: Any) -> Any:
    host = address.rpartition(":")[0]
    for table in (state.known, state.measured):
        for node in table.values():
            if host in (node.local_ip, node.global_ip):
                yield node


class HostsAreNodes(Wrong):
    """Has all nodes of a host be the one that a message went to. [WA-18, WA-24, WA-52]"""

    caught_by: ClassVar = ("two-nodes-of-one-host", "one-of-two-nodes-of-a-host-has-gone")
    instead: ClassVar = {"state.State.at": _at_host}


class OneNodeAtAnAddress(Wrong):
    """Measures one of two nodes that are reached at one address. [WA-18]"""

    caught_by: ClassVar = ("two-nodes-at-one-address",)
    instead: ClassVar = {"state.State.at": lambda state, address: iter(list(AT(state, address))[:1])}


class AnybodyAnswers(Wrong):
    """Takes the routing table of a node that was not asked for an answer. [WA-26, WA-71]"""

    caught_by: ClassVar = ("an-answer-of-somebody-else",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Waits for nobody any more."""
        if received(event, StateData) and event.message.tables.routing_table is not None:
            repairs = {cell: one._replace(waiting=frozenset()) for cell, one in state.repairs.items()}
            state = replace(state, repairs=state.repairs.put(repairs))
        return super().step(state, event, pick)


class AnswersPutItOff(Wrong):
    """Waits the whole network timeout again after each answer. [WA-26]"""

    caught_by: ClassVar = ("an-answer-does-not-put-off-the-timeout",)

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


class WaitsFromTheJoin(Wrong):
    """Waits from when it asked to join. [W-58]"""

    caught_by: ClassVar = ("one-announcement-after-the-wait",)
    since: Duration = Duration(0)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Counts what has passed."""
        step = super().step(state, event, pick)
        if isinstance(event, Asked) and step.state.stage is Stage.JOINING and state.stage is Stage.ALONE:
            self.since = event.at
        return step._replace(
            effects=tuple(
                replace(effect, after=Duration(max(0, effect.after - (event.at - self.since))))
                if isinstance(effect, SetTimer) and isinstance(effect.timer, Announce)
                else effect
                for effect in step.effects
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


class CacheOfTheTables(Wrong):
    """Forgets the cached score of a node that has gone. [W-08, W-10]"""

    caught_by: ClassVar = ("back-with-a-cached-score",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Has no score of it."""
        step = super().step(state, event, pick)
        gone = [name for name in step.state.cache if name in step.state.departed]
        return step._replace(state=replace(step.state, cache=step.state.cache.without(gone))) if gone else step


class ScoresStay(Wrong):
    """Compares a node that is back by its score of before. [W-05, WA-70]"""

    caught_by: ClassVar = ("back-after-the-cache-was-emptied",)
    instead: ClassVar = {"transitions.prune": lambda state: state}


class VersionsStay(Wrong):
    """Keeps the versions of a node that has gone, and announces itself to its next life with them. [WA-70]"""

    caught_by: ClassVar = ("versions-of-an-earlier-life",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Has them again."""
        step = super().step(state, event, pick)
        self.kept = getattr(self, "kept", {}) | dict(step.state.stored.items())
        known = step.state.known
        lost = {name: versions for name, versions in self.kept.items() if name in known and name not in step.state.stored}
        return step._replace(state=replace(step.state, stored=step.state.stored.put(lost))) if lost else step


class CredentialsByTheirBeginning(Wrong):
    """Takes a message whose credentials begin as the own. [WA-53]"""

    caught_by: ClassVar = ("credentials-that-are-not-the-same",)
    instead: ClassVar = {
        "transitions.is_admitted": lambda state, message: (
            state.config.credentials is None or (message.header.credentials or b"").startswith(state.config.credentials)
        ),
    }


class CredentialsWithoutCase(Wrong):
    """Compares credentials as texts, without a look at capitals and blanks. [WA-53]"""

    caught_by: ClassVar = ("credentials-that-are-not-the-same",)
    instead: ClassVar = {
        "transitions.is_admitted": lambda state, message: (
            state.config.credentials is None
            or (message.header.credentials or b"").strip().lower() == state.config.credentials.strip().lower()
        ),
    }


class CountsForgottenHeartbeats(Wrong):
    """Has the cache emptied an hour after its first entry. [WA-19]"""

    caught_by: ClassVar = ("the-cache-just-before-an-hour",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Sets the timer again when the first score comes."""
        step = super().step(state, event, pick)
        if step.state.cache and not state.cache:
            return step._replace(effects=(*step.effects, SetTimer(FlushCache(), Duration(3_600_000))))
        return step
