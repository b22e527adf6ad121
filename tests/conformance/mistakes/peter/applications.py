"""Mistakes about what is the application's, and in leaving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.peter import Wrong

from peerproof.reference.divergences.peter import TOLD, Next
from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Received, Send, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import messages
from peerproof.spec.peter.messages import NOTIFY, SUBSCRIBE
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Seek
from peerproof.spec.wendy.proximity import header
from peerproof.spec.wendy.state import address_of


def purpose_of(event: Any) -> int:
    """The purpose with which the application routes something; 0 if it does not."""
    return event.command.purpose if isinstance(event, Asked) and isinstance(event.command, wendy.Route) else 0


class ReservesNothing(Wrong):
    """Lets the application route with any purpose."""

    caught_by: ClassVar = tuple(f"reserved-purpose-{purpose}" for purpose in range(17, 21))

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Has Wendy do it."""
        if SUBSCRIBE <= purpose_of(event) <= NOTIFY:
            lower, _ = wendy.step(state.lower, event, pick)
            return Step(replace(state, lower=lower))
        return super().step(state, event, pick)


class ReservesThree(Wrong):
    """Reserves the purposes of the original, which has no copies."""

    caught_by: ClassVar = ("reserved-purpose-20",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Takes one more."""
        if purpose_of(event) == NOTIFY:
            return Step(state)
        return super().step(state, event, pick)


class ReservesEverything(Wrong):
    """Refuses all purposes of applications but one."""

    caught_by: ClassVar = ("own-purpose-8", "own-purpose-21", "own-purpose-255")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Refuses."""
        if purpose_of(event) not in (0, 16):
            raise NotEnabled("reserved", "not this one")
        return super().step(state, event, pick)


class RefusesSixteen(Wrong):
    """Has the first purpose of applications for its own."""

    caught_by: ClassVar = ("own-purpose-16",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Refuses."""
        if purpose_of(event) == 16:
            raise NotEnabled("reserved", "not this one")
        return super().step(state, event, pick)


def _held_back(state: State, notice: Any, seek: Seek) -> Next:
    if isinstance(notice, wendy.Forwarding) and messages.lift_message(notice.message) is notice.message:
        return Step(state, (Notify(notice),))
    return TOLD(state, notice, seek)


class HoldsForeignMessagesBack(Wrong):
    """Does not send on what is not its own."""

    caught_by: ClassVar = (
        *("message-of-an-application-passes-by", "message-of-an-application-passes-by-unasked"),
        *("own-purpose-16", "message-of-an-application-goes-another-way"),
    )
    instead: ClassVar = {"tree.on_notice": _held_back}


class AsksAboutForeignMessages(Wrong):
    """Asks the application about its messages if the configuration says so."""

    caught_by: ClassVar = ("message-of-an-application-passes-by-unasked",)
    is_consulted = False

    def initial(self, self_id: Any, config: Any) -> Next:
        """Notes what it says."""
        self.is_consulted = config.is_consulted
        return super().initial(self_id, config)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Waits for an answer."""
        step = super().step(state, event, pick)
        if not self.is_consulted:
            return step
        return step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, Send) and isinstance(e.message, wendy.Application)))
        )


class KeepsForeignMessages(Wrong):
    """Drops what is for the application."""

    caught_by: ClassVar = ("message-of-an-application-is-delivered", "message-of-the-application-that-does-not-arrive")
    instead: ClassVar = {
        "tree.on_notice": lambda state, notice, seek: (
            Step(state)
            if isinstance(notice, wendy.Delivered) and messages.lift_message(notice.message) is notice.message
            else TOLD(state, notice, seek)
        )
    }


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


class TellsNobody(Wrong):
    """Does not tell the application who joins and who goes."""

    caught_by: ClassVar = ("joined-elsewhere", "somebody-else-leaves", "own-join", "own-join-in-vain", "joined-on-the-way")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Leaves it out."""
        step = super().step(state, event, pick)
        unwanted = (wendy.Joined, wendy.JoinFailed, wendy.NodeJoined, wendy.NodeExited)
        return step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, Notify) and isinstance(e.notice, unwanted)))
        )


class UnsubscribesWhenItLeaves(Wrong):
    """Takes back what it has asked for when it leaves."""

    caught_by: ClassVar = ("leaving", "after-leaving")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Sends more."""
        step = super().step(state, event, pick)
        if not (isinstance(event, Asked) and isinstance(event.command, wendy.Leave)):
            return step
        farewells = [
            Send(where, messages.UnsubscribeMessage(header(state.lower, topic)))
            for topic, row in state.upper.topics.items()
            if row.parent is not None and (where := address_of(state.lower.config, row.parent)) is not None
        ]
        return step._replace(effects=(*step.effects, *farewells))


class TellsItsChildrenThatItLeaves(Wrong):
    """Sends an exit to its children, too."""

    caught_by: ClassVar = ("leaving",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Sends more."""
        step = super().step(state, event, pick)
        if not (isinstance(event, Asked) and isinstance(event.command, wendy.Leave)):
            return step
        children = {address_of(state.lower.config, node) for row in state.upper.topics.values() for node in row.children.values()}
        told = {effect.to for effect in step.effects if isinstance(effect, Send)}
        exits = [
            Send(where, wendy.NodeExit(header(state.lower)))
            for where in sorted(where for where in children - told if where is not None)
        ]
        return step._replace(effects=(*step.effects, *exits))


class ServesAfterLeaving(Wrong):
    """Still subscribes and publishes after it has left, as far as it can."""

    caught_by: ClassVar = ("after-leaving", "leaving-with-a-bad-topic")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Does not refuse."""
        try:
            return super().step(state, event, pick)
        except NotEnabled as refusal:
            if refusal.reason != "left":
                raise
            return Step(state)


class DeliversAfterLeaving(Wrong):
    """Still delivers after it has left."""

    caught_by: ClassVar = ("after-leaving-copies",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Tells the application."""
        step = super().step(state, event, pick)
        if state.upper.has_left and isinstance(event, Received) and isinstance(message := event.message, messages.NotifyMessage):
            return step._replace(effects=(Notify(messages.Update(message.header.key, message.value)),))
        return step


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
