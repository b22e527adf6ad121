"""Mistakes about what is the application's, and in leaving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Send, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import messages
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Seek

wrong = Variants(__name__, Wrong)


@wrong(
    "tree.on_notice",
    "tree-messages-are-not-for-the-application tree-messages-that-pass-are-not-for-the-application "
    "publish-to-the-next-hop meeting-point-sends-nothing",
)
def ShowsItsMessages(right: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Tells the application of the messages of the tree."""
    step = right(state, notice, seek)
    is_own = (
        isinstance(notice, (wendy.Forwarding, wendy.Delivered)) and messages.lift_message(notice.message) is not notice.message
    )
    return Step(step.state, (Notify(notice), *step.effects)) if is_own else step


@wrong("step", "copies-in-the-order-of-children")
def ShowsTopicsBackwards(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Copies to the largest id first."""
    step = right(state, event, pick)
    copies = [e for e in step.effects if isinstance(e, Send) and isinstance(e.message, messages.NotifyMessage)]
    others = [effect for effect in step.effects if effect not in copies]
    return step._replace(effects=(*others, *reversed(copies)))


@wrong("step", "commands-before-joining several-topics-in-order alone own-join")
def NeedsToHaveJoined(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Refuses to subscribe and to publish before it has joined."""
    if isinstance(event, Asked) and hasattr(event.command, "topic") and state.lower.stage is wendy.Stage.ALONE:
        raise NotEnabled("alone", "join first")
    return right(state, event, pick)


@wrong("step", "join-of-another heartbeats-of-wendy")
def BeatsForNobody(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Leaves out what Wendy does of itself: answers to joins, and heartbeats."""
    step = right(state, event, pick)
    unwanted = (wendy.Heartbeat, wendy.StateData)
    return step._replace(effects=tuple(e for e in step.effects if not (isinstance(e, Send) and isinstance(e.message, unwanted))))


@wrong("step", "credentials-in-tree-messages")
def SendsWithoutCredentials(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Leaves the credentials out of the messages of the tree."""
    step = right(state, event, pick)
    own = (messages.SubscribeMessage, messages.UnsubscribeMessage, messages.NotifyMessage)
    return step._replace(
        effects=tuple(
            replace(e, message=replace(e.message, header=replace(e.message.header, credentials=None)))
            if isinstance(e, Send) and isinstance(e.message, own)
            else e
            for e in step.effects
        )
    )


__getattr__ = wrong.find
