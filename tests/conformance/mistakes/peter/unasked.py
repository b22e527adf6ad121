"""Mistakes for the wrong one of two, or with the wrong one of two addresses."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import variants

from peerproof.spec.core import Asked, Pick, Sent, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import Overrides
from peerproof.spec.peter import topics, tree
from peerproof.spec.peter.messages import Own, Publish, PublishMessage, SubscribeMessage
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Request, Seek
from peerproof.spec.wendy import Id, Node, SendTo
from peerproof.spec.wendy.messages import MOST_VALUE
from peerproof.spec.wendy.state import address_of

Next = Step[Any, Any]

FAN_OUT = tree.fan_out
ID_OF_TOPIC = topics.id_of_topic
ON_DEPARTURE = tree.on_departure
ON_PUBLISH = tree.on_publish
ON_SENT = tree.on_sent
ON_SUBSCRIBE = tree.on_subscribe_message
ON_UNSUBSCRIBE = tree.on_unsubscribe_message


def _says_nothing(kind: type[Any]) -> Overrides:
    """Learns nothing from messages of this kind that do not arrive."""
    return {
        "tree.on_sent": lambda state, sent, seek: Step(state) if isinstance(sent.message, kind) else ON_SENT(state, sent, seek)
    }


def _gone_by(where: Callable[[State, Node], Any]) -> Overrides:
    """Knows by this who is at an address."""

    def on_sent(state: State, sent: Sent[Any], seek: Seek) -> Next:
        if sent.took is not None or not isinstance(sent.message, Own):
            return Step(state)
        return ON_DEPARTURE(state, lambda node: where(state, node) == sent.to, seek)

    return {"tree.on_sent": on_sent}


def _without_brackets(state: State, node: Node) -> str:
    return str(address_of(state.config, node)).replace("[", "").replace("]", "")


def _is_parent(state: State, topic: Id, node: Node) -> bool:
    parent = state.row(topic).parent
    return parent is not None and parent.id == node.id


def _no_parents(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    return Step(state) if _is_parent(state, topic, child) else ON_SUBSCRIBE(state, topic, child, seek)


def _parent_no_more(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    after, effects = ON_UNSUBSCRIBE(state, topic, child, seek)
    if _is_parent(after, topic, child):
        after = after.with_row(topic, after.row(topic)._replace(parent=None))
    return Step(after, effects)


def _not_to_the_parent(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    after, effects = FAN_OUT(state, topic, value, hop, source)
    return Step(
        after,
        tuple(
            [
                e
                for e in effects
                if not (isinstance(e, Request) and isinstance(e.command, SendTo) and _is_parent(state, topic, e.command.node))
            ]
        ),
    )


def _not_from_children(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    row = state.row(topic)
    is_parent = row.parent is not None and row.parent.id == source
    return Step(state) if source in row.children and not is_parent else FAN_OUT(state, topic, value, hop, source)


def _events_up_to(most: int) -> Overrides:
    """Publishes events of so many bytes."""

    def on_publish(state: State, topic: Id, value: bytes) -> Next:
        if len(value) > most:
            raise NotEnabled("too_large", "a long event")
        return ON_PUBLISH(state, topic, value)

    return {"tree.on_publish": on_publish}


class _LongEvents(Wrong):
    """Does something else about events that are too long."""

    def event(self, event: Asked[Publish]) -> Any:
        """What is published instead, if anything."""
        raise NotImplementedError

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Publishes that."""
        if isinstance(event, Asked) and isinstance(event.command, Publish) and len(event.command.value) > MOST_VALUE:
            event = self.event(event)
            if event is None:
                return Step(state)
        return super().step(state, event, pick)


class CutsLongEvents(_LongEvents):
    """Publishes the beginning of an event that is too long. [P-01, WA-66]"""

    caught_by: ClassVar = ("longest-event",)

    def event(self, event: Asked[Publish]) -> Any:
        """Its beginning."""
        command = event.command
        return replace(event, command=replace(command, value=command.value[:MOST_VALUE]))


class DropsLongEvents(_LongEvents):
    """Does not publish an event that is too long, and says nothing. [P-01, WA-66]"""

    caught_by: ClassVar = ("longest-event",)

    def event(self, event: Asked[Publish]) -> Any:  # noqa: ARG002  # whatever it is
        """Nothing."""
        return None


def _topics(change: Callable[[str], str]) -> Overrides:
    """Changes topics before their bytes are counted."""
    return {"tree.id_of_topic": lambda topic: ID_OF_TOPIC(change(topic))}


def _short_topics(topic: str) -> Id:
    if len(topic) > 4096:
        raise NotEnabled("bad_value", "a long topic")
    return ID_OF_TOPIC(topic)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "EventsMayGetLost": (
            "Does not take a node for departed that a PUBLISH does not reach. [PA-28]",
            _says_nothing(PublishMessage),
            "a-publish-that-fails-at-an-address",
        ),
        "SubscriptionsMayGetLost": (
            "Does not take a node for departed that a SUBSCRIBE does not reach. [PA-28]",
            _says_nothing(SubscribeMessage),
            "a-subscribe-that-fails-at-an-address",
        ),
        "GoneFromTheLocalHost": (
            "Has a node gone from its local host, also in another region. [PA-28]",
            _gone_by(lambda _, node: f"{node.local_ip}:{node.port}"),
            "copies-that-fail-at-other-kinds-of-addresses",
        ),
        "GoneWithoutBrackets": (
            "Does not find who is at a host with colons. [PA-28]",
            _gone_by(_without_brackets),
            "copies-that-fail-at-other-kinds-of-addresses",
        ),
        "ParentsAreNoChildren": (
            "Takes no parent for a child. [P-09]",
            {"tree.on_subscribe_message": _no_parents},
            "the-parent-subscribes",
        ),
        "ParentsUnsubscribe": (
            "Has no parent any more when that unsubscribes. [PA-09]",
            {"tree.on_unsubscribe_message": _parent_no_more},
            "the-parent-unsubscribes",
        ),
        "NothingToTheParent": (
            "Never sends its parent a copy. [P-25]",
            {"tree.fan_out": _not_to_the_parent},
            "a-parent-that-is-a-child-gets-a-copy",
        ),
        "NothingFromChildren": (
            "Does not deliver what comes from a child. [PA-34]",
            {"tree.fan_out": _not_from_children},
            "copy-from-a-child",
        ),
        "EventsOf16Bits": (
            "Publishes events of at most 65535 bytes. [P-01, WA-66]",
            _events_up_to(65_535),
            "longest-event",
        ),
        "OneByteLess": (
            "Publishes no event of 2^19 bytes. [P-01, WA-66]",
            _events_up_to(MOST_VALUE - 1),
            "longest-event",
        ),
        "TopicsInOneForm": (
            "Puts a letter and its mark together. [PA-03]",
            _topics(lambda topic: unicodedata.normalize("NFC", topic)),
            "topics-as-they-are",
        ),
        "TopicsWithoutAMark": (
            "Leaves out the mark of an order of bytes. [PA-03]",
            _topics(lambda topic: topic.removeprefix("\ufeff")),
            "topics-as-they-are",
        ),
        "TopicsInLines": (
            "Has one line feed for each line end. [PA-03]",
            _topics(lambda topic: topic.replace("\r\n", "\n")),
            "topics-as-they-are",
        ),
        "TopicsAsPaths": (
            "Leaves out slashes at the end. [PA-03]",
            _topics(lambda topic: topic.rstrip("/")),
            "topics-as-they-are",
        ),
        "NoLongTopics": (
            "Refuses topics of some thousand letters. [P-04]",
            {"tree.id_of_topic": _short_topics},
            "topics-as-they-are",
        ),
    },
)
__getattr__ = MISTAKES.find
