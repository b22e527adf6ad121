"""Mistakes about what is the application's, and in leaving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.peter import Wrong

from peerproof.reference.divergences.peter import TOLD, Next
from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Send, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import messages
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Seek


def _shown(state: State, notice: Any, seek: Seek) -> Next:
    step = TOLD(state, notice, seek)
    is_own = (
        isinstance(notice, (wendy.Forwarding, wendy.Delivered)) and messages.lift_message(notice.message) is not notice.message
    )
    return Step(step.state, (Notify(notice), *step.effects)) if is_own else step


class ShowsItsMessages(Wrong):
    """Tells the application of the messages of the tree."""

    caught_by: ClassVar = (
        *("tree-messages-are-not-for-the-application", "tree-messages-that-pass-are-not-for-the-application"),
        *("publish-to-the-next-hop", "meeting-point-sends-nothing"),
    )
    instead: ClassVar = {"tree.on_notice": _shown}


class ShowsTopicsBackwards(Wrong):
    """Copies to the largest id first."""

    caught_by: ClassVar = ("copies-in-the-order-of-children",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Reverses the copies."""
        step = super().step(state, event, pick)
        copies = [e for e in step.effects if isinstance(e, Send) and isinstance(e.message, messages.NotifyMessage)]
        others = [effect for effect in step.effects if effect not in copies]
        return step._replace(effects=(*others, *reversed(copies)))


class NeedsToHaveJoined(Wrong):
    """Refuses to subscribe and to publish before it has joined."""

    caught_by: ClassVar = ("commands-before-joining", "several-topics-in-order", "alone", "own-join")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Refuses."""
        if isinstance(event, Asked) and hasattr(event.command, "topic") and state.lower.stage is wendy.Stage.ALONE:
            raise NotEnabled("alone", "join first")
        return super().step(state, event, pick)


class BeatsForNobody(Wrong):
    """Leaves out what Wendy does of itself: answers to joins, and heartbeats."""

    caught_by: ClassVar = ("join-of-another", "heartbeats-of-wendy")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Sends less."""
        step = super().step(state, event, pick)
        unwanted = (wendy.Heartbeat, wendy.StateData)
        return step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, Send) and isinstance(e.message, unwanted)))
        )


class SendsWithoutCredentials(Wrong):
    """Leaves the credentials out of the messages of the tree."""

    caught_by: ClassVar = ("credentials-in-tree-messages",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Takes them out."""
        step = super().step(state, event, pick)
        own = (messages.SubscribeMessage, messages.UnsubscribeMessage, messages.NotifyMessage)
        return step._replace(
            effects=tuple(
                replace(e, message=replace(e.message, header=replace(e.message.header, credentials=None)))
                if isinstance(e, Send) and isinstance(e.message, own)
                else e
                for e in step.effects
            )
        )
