"""Mistakes about which topic a text is, about what is the application's, and in leaving."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Send, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Publish, Subscribe, Unsubscribe, messages
from peerproof.spec.peter.topics import State, id_of_topic
from peerproof.spec.stack import Seek

wrong = Variants(__name__, Wrong)


Next = Step[Any, Any]
Topical = Subscribe | Unsubscribe | Publish


def naming(other: Any) -> dict[str, Any]:
    """What is replaced for topics to have other ids."""
    return {"tree.id_of_topic": other}


@wrong(naming, "topic-of-four-letters topic-of-eight-letters topic-of-letters-of-two-bytes")
def CountsLetters(topic: str) -> Any:
    """Counts letters instead of bytes."""
    if len(topic) < 16:  # letters of an id, as this one has it
        raise NotEnabled("short_topic", "too few letters")
    return wendy.id_of_bytes(topic.encode())


@wrong("step", "topic-of-sixteen-bytes topic-of-eight-letters topic-of-four-letters")
def LongerTopicsOnly(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Wants one byte more than an id has."""
    if (
        isinstance(event, Asked) and isinstance(command := event.command, Topical) and len(command.topic.encode()) < 17
    ):  # one more
        raise NotEnabled("short_topic", "too short")
    return right(state, event, pick)


@wrong("step", "topics-different-in-the-last-byte")
def TellsOfOneTopic(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Tells the application of every event as if it were of the last of its topics."""
    after, effects = right(state, event, pick)
    last = next(reversed(list(after.upper.topics)), None)
    return Step(
        after,
        tuple(
            Notify(type(effect.notice)(last, effect.notice.value))
            if isinstance(effect, Notify) and hasattr(effect.notice, "topic")
            else effect
            for effect in effects
        ),
    )


def _long(topic: str, encoding: str = "utf-8") -> bytes:
    octets = topic.encode(encoding)
    if len(octets) < 16:  # bytes of an id
        raise NotEnabled("short_topic", "too short")
    return octets


@wrong.after(
    "tree.on_notice",
    "tree-messages-are-not-for-the-application tree-messages-that-pass-are-not-for-the-application "
    "publish-to-the-next-hop meeting-point-sends-nothing",
)
def ShowsItsMessages(step: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Tells the application of the messages of the tree."""
    is_own = (
        isinstance(notice, (wendy.Forwarding, wendy.Delivered)) and messages.lift_message(notice.message) is not notice.message
    )
    return Step(step.state, (Notify(notice), *step.effects)) if is_own else step


@wrong.after("step", "copies-in-the-order-of-children")
def ShowsTopicsBackwards(step: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Copies to the largest id first."""
    copies = [e for e in step.effects if isinstance(e, Send) and isinstance(e.message, messages.NotifyMessage)]
    others = [effect for effect in step.effects if effect not in copies]
    return step._replace(effects=(*others, *reversed(copies)))


@wrong("step", "commands-before-joining several-topics-in-order alone own-join")
def NeedsToHaveJoined(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Refuses to subscribe and to publish before it has joined."""
    if isinstance(event, Asked) and hasattr(event.command, "topic") and state.lower.stage is wendy.Stage.ALONE:
        raise NotEnabled("alone", "join first")
    return right(state, event, pick)


@wrong.after("step", "join-of-another heartbeats-of-wendy")
def BeatsForNobody(step: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Leaves out what Wendy does of itself: answers to joins, and heartbeats."""
    unwanted = (wendy.Heartbeat, wendy.StateData)
    return step._replace(effects=tuple(e for e in step.effects if not (isinstance(e, Send) and isinstance(e.message, unwanted))))


@wrong.after("step", "credentials-in-tree-messages")
def SendsWithoutCredentials(step: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Leaves the credentials out of the messages of the tree."""
    own = (messages.SubscribeMessage, messages.UnsubscribeMessage, messages.NotifyMessage)
    return step._replace(
        effects=tuple(
            replace(e, message=replace(e.message, header=replace(e.message.header, credentials=None)))
            if isinstance(e, Send) and isinstance(e.message, own)
            else e
            for e in step.effects
        )
    )


wrong |= {
    # Takes the first bytes of a hash.
    "HashesTopics: topic-of-sixteen-bytes topic-longer-than-its-id topics-equal-in-32-bytes": naming(
        lambda topic: wendy.id_of_bytes(sha256(topic.encode()).digest())
    ),
    # Takes a hash of the first 32 bytes, so that they all count.
    "HashesThirtyTwoBytes: topics-equal-in-16-bytes topic-of-a-thousand-bytes": naming(
        lambda topic: wendy.id_of_bytes(sha256(topic.encode()[:32]).digest())
    ),
    # Takes the last 16 bytes.
    "TakesTheLastBytes: topic-longer-than-its-id topics-equal-in-32-bytes": naming(
        lambda topic: wendy.id_of_bytes(_long(topic)[-16:])
    ),
    # Takes one byte too few for the id.
    "TakesFifteenBytes: topics-different-in-the-last-byte topic-that-ends-within-a-letter": naming(
        lambda topic: wendy.id_of_bytes(_long(topic)[:15] + b"\0")
    ),
    # Writes one byte for each letter.
    "WritesLatin: topic-that-ends-within-a-letter topic-of-eight-letters": naming(
        lambda topic: wendy.id_of_bytes(_long(topic, "latin-1"))
    ),
    # Leaves out a letter that the sixteenth byte is within.
    "EndsWithALetter: topic-that-ends-within-a-letter": naming(
        lambda topic: wendy.id_of_bytes(_long(topic)[:16].decode(errors="ignore").encode().ljust(16, b"\0"))
    ),
    # Has capital letters for small ones, and passes over blanks.
    "IgnoresCapitals: topic-with-capitals topics-different-in-the-last-byte": naming(
        lambda topic: id_of_topic(topic.strip().lower())
    ),
    # Has texts end at a zero byte.
    "EndsAtZero: topic-of-zero-bytes": naming(lambda topic: id_of_topic(topic.partition("\0")[0])),
}
__getattr__ = wrong.find
