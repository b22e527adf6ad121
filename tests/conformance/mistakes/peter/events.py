"""Mistakes in how events go round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants, after, around, passing_over, remembering, with_effects, without_effects

from peerproof.reference.divergences.peter import FANNED_OUT, ON_MESSAGE, Next, sent_to
from peerproof.spec import peter, wendy
from peerproof.spec.core import Asked, Notify, Pick, Step
from peerproof.spec.peter import messages, tree
from peerproof.spec.peter.messages import NOTIFY, PUBLISH, Update
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Request, Seek

wrong = Variants(__name__, Wrong)
Id = wendy.Id


def updates(step: Next) -> list[Any]:
    """The events that the application is told of."""
    return [effect for effect in step.effects if isinstance(effect, Notify) and isinstance(effect.notice, Update)]


def copies_with(effects: tuple[Any, ...], **changes: int) -> tuple[Any, ...]:
    """The effects, copies with other members."""
    return tuple([Request(replace(e.command, **changes)) if sent_to(e, NOTIFY) else e for e in effects])


@wrong("tree.on_message", "publish-of-a-child everybody-subscribes")
def CopiesNotToThePublisher(right: Any, state: State, message: Any, seek: Seek) -> Any:
    """Sends the publisher no copy of its own event."""
    if isinstance(message, messages.PublishMessage):
        header = message.header
        return tree.fan_out(state, header.key, message.value, header.hop, source=header.sender.id)
    return right(state, message, seek)


def _delivered_anyway(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    step = FANNED_OUT(state, topic, value, hop, source)
    return step if updates(step) else Step(step.state, (Notify(Update(topic, value)), *step.effects))


@wrong("tree.fan_out", "copy-goes-down copy-goes-through copies-in-bytes a-deeper-tree")
def NeverCopiesCopies(right: Any, state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Any:
    """Leaves all copies to the meeting point."""
    step = right(state, topic, value, hop, source)
    return step if source is None else Step(step.state, tuple(updates(step)))


@wrong("tree.on_notice", "copy-goes-down copy-for-an-unknown-topic copy-not-back-to-the-only-child")
def RoutesCopies(right: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Also sends a copy that it gets to where routing leads."""
    if isinstance(notice, wendy.Forwarding):
        message = messages.lift_message(notice.message)
        if isinstance(message, messages.NotifyMessage):
            step = right(state, notice, seek)
            return Step(step.state, (*step.effects, Request(wendy.Forward(notice.message))))
    return right(state, notice, seek)


@wrong("tree.on_notice", "publish-passes-by publish-to-the-next-hop publish-passes-by-without-a-tree publish-in-bytes")
def EndsEventsAtOnce(right: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Takes itself for the meeting point of each event that comes by."""
    if isinstance(notice, wendy.Forwarding) and isinstance(
        message := messages.lift_message(notice.message), messages.PublishMessage
    ):
        return ON_MESSAGE(state, message, seek)
    return right(state, notice, seek)


@wrong("tree.on_message", "copy-from-somebody-else copy-at-the-meeting-point")
def BelievesItsParentOnly(right: Any, state: State, message: Any, seek: Seek) -> Any:
    """Drops a copy that is not from its parent."""
    if isinstance(message, messages.NotifyMessage):
        parent = state.row(message.header.key).parent
        if parent is None or parent.id != message.header.sender.id:
            return Step(state)
    return right(state, message, seek)


@wrong.after("step", "publish-as-a-subscriber everybody-subscribes")
def PublishesItsOwn(step: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Delivers what it publishes at once, if it is subscribed."""
    if isinstance(event, Asked) and isinstance(command := event.command, peter.Publish):
        topic = peter.id_of_topic(command.topic)
        if step.state.upper.row(topic).is_local and not updates(step):
            return with_effects(step, Notify(Update(topic, command.value)))
    return step


@wrong(remembering, "the-same-event-twice one-event-after-the-other")
def DeliversOnce(seen: dict[Any, Any], right: Any, *given: Any) -> Any:
    """Delivers nothing that it has delivered before."""
    step = right(*given)
    told = updates(step)
    kept = tuple(effect for effect in step.effects if effect not in told or effect not in seen)
    seen.update(dict.fromkeys(told))
    return step._replace(effects=kept)


@wrong(remembering, "no-history")
def SendsHistory(last: dict[Any, bytes], right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Sends a new child the last event of the topic."""
    step = right(state, event, pick)
    message = getattr(event, "message", None)
    if isinstance(message, messages.PublishMessage):
        last[message.header.key] = message.value
    if isinstance(event, Asked) and isinstance(command := event.command, peter.Subscribe):
        topic = peter.id_of_topic(command.topic)
        if topic in last:
            return with_effects(step, Notify(Update(topic, last[topic])))
    return step


wrong |= {
    # Counts the hops of each copy from 0.
    "CountsAnew: publish-at-the-meeting-point copy-goes-down copy-received-254-times copies-in-bytes": after(
        "tree.fan_out", lambda step, *_, **__: step._replace(effects=copies_with(step.effects, hop=0))
    ),
    # Sends copies as a PUBLISH.
    "CopiesArePublished: publish-at-the-meeting-point copy-goes-down copies-in-bytes": after(
        "tree.fan_out", lambda step, *_, **__: step._replace(effects=copies_with(step.effects, purpose=PUBLISH))
    ),
    # Delivers only where it sends no copies.
    "DeliversAtTheLeaves: copy-goes-down publish-at-a-subscribed-meeting-point everybody-subscribes": after(
        "tree.fan_out",
        lambda step, *_, **__: without_effects(
            step, lambda effect: isinstance(effect, Notify) and any(sent_to(other, NOTIFY) for other in step.effects)
        ),
    ),
    # Publishes nothing unless it is subscribed.
    "SubscribersPublish: publish-to-the-next-hop some-subscribe publish-at-the-meeting-point-itself": passing_over(
        lambda state, event: (
            (isinstance(event, Asked) and isinstance(event.command, peter.Publish))
            and not state.upper.row(peter.id_of_topic(event.command.topic)).is_local
        )
    ),
    # Sends a copy to the child that the event came from, too.
    "CopiesBack: copy-not-back copy-not-back-to-the-only-child": around(
        "tree.fan_out", lambda right, state, topic, value, hop, source=None: right(state, topic, value, hop)
    ),
    # Copies an event however often it was received.
    "CopiesForEver: copy-received-255-times copy-received-301-times publish-received-254-times": {"tree.MOST_HOPS": 2**31},
    # Stops copying one hop too early.
    "CopiesOneHopLess: copy-received-254-times publish-received-254-times": {"tree.MOST_HOPS": 254},
    # Delivers each event that comes by, subscribed or not.
    "DeliversEverything: copy-goes-through publish-without-subscribers copy-after-unsubscribing nobody-subscribes": {
        "tree.fan_out": _delivered_anyway
    },
    # Delivers an event to whoever is subscribed to anything.
    "MixesTopics: topics-have-trees-of-their-own events-of-another-topic": around(
        "tree.fan_out",
        lambda right, state, topic, value, hop, source=None: (
            _delivered_anyway(state, topic, value, hop, source)
            if any(row.is_local for row in state.topics.values())
            else right(state, topic, value, hop, source)
        ),
    ),
}
__getattr__ = wrong.find
