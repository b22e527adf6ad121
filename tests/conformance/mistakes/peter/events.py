"""Mistakes in how events go round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.peter import FANNED_OUT, ON_MESSAGE, TOLD, Next, sent_to
from peerproof.spec import peter, wendy
from peerproof.spec.core import Asked, Notify, Pick, Step
from peerproof.spec.peter import messages, tree
from peerproof.spec.peter.messages import NOTIFY, PUBLISH, Update
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Request, Seek

Id = wendy.Id


def updates(step: Next) -> list[Any]:
    """The events that the application is told of."""
    return [effect for effect in step.effects if isinstance(effect, Notify) and isinstance(effect.notice, Update)]


def copies_with(effects: tuple[Any, ...], **changes: int) -> tuple[Any, ...]:
    """The effects, copies with other members."""
    return tuple([Request(replace(e.command, **changes)) if sent_to(e, NOTIFY) else e for e in effects])


def _back_too(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:  # not asked
    return FANNED_OUT(state, topic, value, hop)


def _not_to_the_publisher(state: State, message: Any, seek: Seek) -> Next:
    if isinstance(message, messages.PublishMessage):
        header = message.header
        return tree.fan_out(state, header.key, message.value, header.hop, source=header.sender.id)
    return ON_MESSAGE(state, message, seek)


def _counted_anew(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    step = FANNED_OUT(state, topic, value, hop, source)
    return Step(step.state, copies_with(step.effects, hop=0))


def _delivered_anyway(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    step = FANNED_OUT(state, topic, value, hop, source)
    return step if updates(step) else Step(step.state, (Notify(Update(topic, value)), *step.effects))


def _children_first(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    step = FANNED_OUT(state, topic, value, hop, source)
    return (
        Step(step.state, tuple(effect for effect in step.effects if not isinstance(effect, Notify)))
        if any(sent_to(effect, NOTIFY) for effect in step.effects)
        else step
    )


def _root_only(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    step = FANNED_OUT(state, topic, value, hop, source)
    return step if source is None else Step(step.state, tuple(updates(step)))


def _published(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    step = FANNED_OUT(state, topic, value, hop, source)
    return Step(step.state, copies_with(step.effects, purpose=PUBLISH))


def _on_the_way_back(state: State, notice: Any, seek: Seek) -> Next:
    if isinstance(notice, wendy.Forwarding):
        message = messages.lift_message(notice.message)
        if isinstance(message, messages.NotifyMessage):
            step = TOLD(state, notice, seek)
            return Step(step.state, (*step.effects, Request(wendy.Forward(notice.message))))
    return TOLD(state, notice, seek)


def _ends_here(state: State, notice: Any, seek: Seek) -> Next:
    if isinstance(notice, wendy.Forwarding) and isinstance(
        message := messages.lift_message(notice.message), messages.PublishMessage
    ):
        return ON_MESSAGE(state, message, seek)
    return TOLD(state, notice, seek)


def _from_the_parent(state: State, message: Any, seek: Seek) -> Next:
    if isinstance(message, messages.NotifyMessage):
        parent = state.row(message.header.key).parent
        if parent is None or parent.id != message.header.sender.id:
            return Step(state)
    return ON_MESSAGE(state, message, seek)


class PublishesItsOwn(Wrong):
    """Delivers what it publishes at once, if it is subscribed."""

    caught_by: ClassVar = ("publish-as-a-subscriber", "everybody-subscribes")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Once more."""
        step = super().step(state, event, pick)
        if isinstance(event, Asked) and isinstance(command := event.command, peter.Publish):
            topic = peter.id_of_topic(command.topic)
            if step.state.upper.row(topic).is_local and not updates(step):
                return step._replace(effects=(*step.effects, Notify(Update(topic, command.value))))
        return step


class SubscribersPublish(Wrong):
    """Publishes nothing unless it is subscribed."""

    caught_by: ClassVar = ("publish-to-the-next-hop", "some-subscribe", "publish-at-the-meeting-point-itself")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Does nothing."""
        is_published = isinstance(event, Asked) and isinstance(event.command, peter.Publish)
        if is_published and not state.upper.row(peter.id_of_topic(event.command.topic)).is_local:
            return Step(state)
        return super().step(state, event, pick)


class DeliversOnce(Wrong):
    """Delivers nothing that it has delivered before."""

    caught_by: ClassVar = ("the-same-event-twice", "one-event-after-the-other")
    seen: frozenset[Any] = frozenset()

    def initial(self, self_id: Any, config: Any) -> Next:
        """Nothing yet."""
        self.seen = frozenset()
        return super().initial(self_id, config)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Leaves out."""
        step = super().step(state, event, pick)
        kept = tuple(effect for effect in step.effects if effect not in updates(step) or effect not in self.seen)
        self.seen |= frozenset(updates(step))
        return step._replace(effects=kept)


class SendsHistory(Wrong):
    """Sends a new child the last event of the topic."""

    caught_by: ClassVar = ("no-history",)
    last: ClassVar[dict[Any, bytes]] = {}

    def initial(self, self_id: Any, config: Any) -> Next:
        """There was none."""
        self.last.clear()
        return super().initial(self_id, config)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Delivers it to a new subscriber."""
        step = super().step(state, event, pick)
        message = getattr(event, "message", None)
        if isinstance(message, messages.PublishMessage):
            self.last[message.header.key] = message.value
        if isinstance(event, Asked) and isinstance(command := event.command, peter.Subscribe):
            topic = peter.id_of_topic(command.topic)
            if topic in self.last:
                return step._replace(effects=(*step.effects, Notify(Update(topic, self.last[topic]))))
        return step


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "CopiesBack": (
            "Sends a copy to the child that the event came from, too.",
            {"tree.fan_out": _back_too},
            "copy-not-back copy-not-back-to-the-only-child",
        ),
        "CopiesNotToThePublisher": (
            "Sends the publisher no copy of its own event.",
            {"tree.on_message": _not_to_the_publisher},
            "publish-of-a-child everybody-subscribes",
        ),
        "CopiesForEver": (
            "Copies an event however often it was received.",
            {"tree.MOST_HOPS": 2**31},
            "copy-received-255-times copy-received-301-times publish-received-254-times",
        ),
        "CopiesOneHopLess": (
            "Stops copying one hop too early.",
            {"tree.MOST_HOPS": 254},
            "copy-received-254-times publish-received-254-times",
        ),
        "CountsAnew": (
            "Counts the hops of each copy from 0.",
            {"tree.fan_out": _counted_anew},
            "publish-at-the-meeting-point copy-goes-down copy-received-254-times copies-in-bytes",
        ),
        "DeliversEverything": (
            "Delivers each event that comes by, subscribed or not.",
            {"tree.fan_out": _delivered_anyway},
            "copy-goes-through publish-without-subscribers copy-after-unsubscribing nobody-subscribes",
        ),
        "DeliversAtTheLeaves": (
            "Delivers only where it sends no copies.",
            {"tree.fan_out": _children_first},
            "copy-goes-down publish-at-a-subscribed-meeting-point everybody-subscribes",
        ),
        "NeverCopiesCopies": (
            "Leaves all copies to the meeting point.",
            {"tree.fan_out": _root_only},
            "copy-goes-down copy-goes-through copies-in-bytes a-deeper-tree",
        ),
        "CopiesArePublished": (
            "Sends copies as a PUBLISH.",
            {"tree.fan_out": _published},
            "publish-at-the-meeting-point copy-goes-down copies-in-bytes",
        ),
        "RoutesCopies": (
            "Also sends a copy that it gets to where routing leads.",
            {"tree.on_notice": _on_the_way_back},
            "copy-goes-down copy-for-an-unknown-topic copy-not-back-to-the-only-child",
        ),
        "EndsEventsAtOnce": (
            "Takes itself for the meeting point of each event that comes by.",
            {"tree.on_notice": _ends_here},
            "publish-passes-by publish-to-the-next-hop publish-passes-by-without-a-tree publish-in-bytes",
        ),
        "BelievesItsParentOnly": (
            "Drops a copy that is not from its parent.",
            {"tree.on_message": _from_the_parent},
            "copy-from-somebody-else copy-at-the-meeting-point",
        ),
        "MixesTopics": (
            "Delivers an event to whoever is subscribed to anything.",
            {
                "tree.fan_out": lambda state, topic, value, hop, source=None: (
                    _delivered_anyway(state, topic, value, hop, source)
                    if any(row.is_local for row in state.topics.values())
                    else FANNED_OUT(state, topic, value, hop, source)
                )
            },
            "topics-have-trees-of-their-own events-of-another-topic",
        ),
    },
)
__getattr__ = MISTAKES.find
