"""Mistakes for the wrong one of two, or with the wrong one of two addresses."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants, around, forbidding, without_effects

from peerproof.spec.core import Asked, Pick, Sent, Step
from peerproof.spec.overrides import Overrides
from peerproof.spec.peter import tree
from peerproof.spec.peter.messages import Own, Publish, PublishMessage, SubscribeMessage
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Seek
from peerproof.spec.wendy import Id, Node, SendTo
from peerproof.spec.wendy.messages import MOST_VALUE
from peerproof.spec.wendy.state import address_of

wrong = Variants(__name__, Wrong)
Next = Step[Any, Any]
ON_DEPARTURE = tree.on_departure


def _says_nothing(kind: type[Any]) -> Overrides:
    """Learns nothing from messages of this kind that do not arrive."""
    return around(
        "tree.on_sent",
        lambda right, state, sent, seek: Step(state) if isinstance(sent.message, kind) else right(state, sent, seek),
    )


def _gone_by(where: Callable[[State, Node], Any]) -> Overrides:
    """Knows by this who is at an address."""

    def on_sent(state: State, sent: Sent[Any], seek: Seek) -> Next:
        if sent.took is not None or not isinstance(sent.message, Own):
            return Step(state)
        return ON_DEPARTURE(state, lambda node: where(state, node) == sent.to, seek)

    return {"tree.on_sent": on_sent}


def _is_parent(state: State, topic: Id, node: Node) -> bool:
    parent = state.row(topic).parent
    return parent is not None and parent.id == node.id


@wrong("tree.on_unsubscribe_message", "the-parent-unsubscribes")
def ParentsUnsubscribe(right: Any, state: State, topic: Id, child: Node, seek: Seek) -> Any:
    """Has no parent any more when that unsubscribes. [PA-09]"""
    after, effects = right(state, topic, child, seek)
    if _is_parent(after, topic, child):
        after = after.with_row(topic, after.row(topic)._replace(parent=None))
    return Step(after, effects)


@wrong.after("tree.fan_out", "a-parent-that-is-a-child-gets-a-copy")
def NothingToTheParent(step: Next, state: State, topic: Id, *_: Any, **__: Any) -> Next:
    """Never sends its parent a copy. [P-25]"""
    return without_effects(
        step,
        lambda effect: isinstance(command := getattr(effect, "command", None), SendTo) and _is_parent(state, topic, command.node),
    )


@wrong("tree.fan_out", "copy-from-a-child")
def NothingFromChildren(right: Any, state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Any:
    """Does not deliver what comes from a child. [PA-34]"""
    row = state.row(topic)
    is_parent = row.parent is not None and row.parent.id == source
    return Step(state) if source in row.children and not is_parent else right(state, topic, value, hop, source)


def _events_up_to(most: int) -> Overrides:
    """Publishes events of so many bytes."""
    return forbidding("tree.on_publish", lambda state, topic, value: len(value) > most)


def with_long_events(change: Callable[[Asked[Publish]], Any]) -> dict[str, Any]:
    """What is replaced to publish something else than an event that is too long, if anything."""

    def step(right: Any, state: Any, event: Any, pick: Pick) -> Any:
        if isinstance(event, Asked) and isinstance(event.command, Publish) and len(event.command.value) > MOST_VALUE:
            event = change(event)
        return Step(state) if event is None else right(state, event, pick)

    return around("step", step)


@wrong(with_long_events, "longest-event")
def CutsLongEvents(event: Asked[Publish]) -> Any:
    """Publishes the beginning of an event that is too long. [P-01, WA-66]"""
    command = event.command
    return replace(event, command=replace(command, value=command.value[:MOST_VALUE]))


def _topics(change: Callable[[str], str]) -> Overrides:
    """Changes topics before their bytes are counted."""
    return around("tree.id_of_topic", lambda right, topic: right(change(topic)))


wrong |= {
    # Refuses topics of some thousand letters. [P-04]
    "NoLongTopics: topics-as-they-are": forbidding("tree.id_of_topic", lambda topic: len(topic) > 4096),
    # Does not publish an event that is too long, and says nothing. [P-01, WA-66]
    "DropsLongEvents: longest-event": with_long_events(lambda event: None),
    # Routes an event again while the node that it did not reach is still a child. [PA-28]
    "RoutesBeforeItRepairs: a-publish-that-fails-at-a-child": {"overlay.Trees.is_of_message": lambda *_: False},
    # Does not take a node for departed that a PUBLISH does not reach. [PA-28]
    "EventsMayGetLost: a-publish-that-fails-at-an-address": _says_nothing(PublishMessage),
    # Does not take a node for departed that a SUBSCRIBE does not reach. [PA-28]
    "SubscriptionsMayGetLost: a-subscribe-that-fails-at-an-address": _says_nothing(SubscribeMessage),
    # Has a node gone from its local host, also in another region. [PA-28]
    "GoneFromTheLocalHost: copies-that-fail-at-other-kinds-of-addresses": _gone_by(
        lambda _, node: f"{node.local_ip}:{node.port}"
    ),
    # Does not find who is at a host with colons. [PA-28]
    "GoneWithoutBrackets: copies-that-fail-at-other-kinds-of-addresses": _gone_by(
        lambda state, node: str(address_of(state.config, node)).replace("[", "").replace("]", "")
    ),
    # Takes no parent for a child. [P-09]
    "ParentsAreNoChildren: the-parent-subscribes": around(
        "tree.on_subscribe_message",
        lambda right, state, topic, child, seek: (
            Step(state) if _is_parent(state, topic, child) else right(state, topic, child, seek)
        ),
    ),
    # Publishes events of at most 65535 bytes. [P-01, WA-66]
    "EventsOf16Bits: longest-event": _events_up_to(65_535),
    # Publishes no event of 2^19 bytes. [P-01, WA-66]
    "OneByteLess: longest-event": _events_up_to(MOST_VALUE - 1),
    # Puts a letter and its mark together. [PA-03]
    "TopicsInOneForm: topics-as-they-are": _topics(lambda topic: unicodedata.normalize("NFC", topic)),
    # Leaves out the mark of an order of bytes. [PA-03]
    "TopicsWithoutAMark: topics-as-they-are": _topics(lambda topic: topic.removeprefix("\ufeff")),
    # Has one line feed for each line end. [PA-03]
    "TopicsInLines: topics-as-they-are": _topics(lambda topic: topic.replace("\r\n", "\n")),
    # Leaves out slashes at the end. [PA-03]
    "TopicsAsPaths: topics-as-they-are": _topics(lambda topic: topic.rstrip("/")),
}
__getattr__ = wrong.find
