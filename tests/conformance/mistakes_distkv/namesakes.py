"""Mistakes about what bears a node's own name."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.conformance.wrong_distkv import Next, Wrong

from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import election, recovery, transitions
from peerproof.spec.distkv.messages import Info, Ping, Update

IS_NAMESAKE = transitions.is_of_namesake


class NoticesNoNamesake(Wrong):
    """Does not see that another node has its name."""

    caught_by: ClassVar = ("a-ping-above", "an-info-above", "an-update-above", "each-time")
    instead: ClassVar = {"transitions.is_of_namesake": lambda _state, _message: False}


class TakesItselfForANamesake(Wrong):
    """Takes a message at its own tock for another's."""

    caught_by: ClassVar = ("a-ping-at-its-tock", "an-info-at-its-tock", "the-own-ping-comes-back")
    instead: ClassVar = {
        "transitions.is_of_namesake": lambda state, message: (
            IS_NAMESAKE(state, message)
            or (state.participates and message.chain.head.node == state.self_id and message.tock == state.tock)
        )
    }


class NoticesNamesakesTooSoon(Wrong):
    """Takes its own past for another node."""

    caught_by: ClassVar = ("before-it-participates", "before-it-participates-with-data")
    instead: ClassVar = {
        "transitions.is_of_namesake": lambda state, message: (
            message.chain.head.node == state.self_id and message.tock > state.tock and not isinstance(message, Update)
        )
    }


class LooksAtTocksOfUpdates(Wrong):
    """Takes an own update with a higher tock for another's."""

    caught_by: ClassVar = ("an-update-at-its-tick",)
    instead: ClassVar = {
        "transitions.is_of_namesake": lambda state, message: (
            state.participates and message.chain.head.node == state.self_id and message.tock > state.tock
        )
    }


class AnswersItsNamesake(Wrong):
    """Treats infos with its own name as anybody's."""

    caught_by: ClassVar = ("answers-no-namesake", "answers-not-itself", "reason-of-its-own", "greeted-by-its-own-echo")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if another had sent it."""
        step = super().step(state, event, pick)
        message = getattr(event, "message", None)
        if isinstance(message, Info) and message.chain.head.node == state.self_id:
            after, effects = recovery.on_info(step.state, message)
            return Step(after, (*step.effects, *effects))
        return step


class PingsItsNamesake(Wrong):
    """Treats pings with its own name as anybody's."""

    caught_by: ClassVar = ("start-up-ping-of-a-former-life", "greets-not-itself", "answers-no-namesake")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if another had sent it."""
        step = super().step(state, event, pick)
        message = getattr(event, "message", None)
        if isinstance(message, Ping) and message.chain.head.node == state.self_id:
            after, effects = election.on_ping(step.state, message, pick)
            return Step(after, (*step.effects, *effects))
        return step
