"""Mistakes about which topic a text is, about what is the application's, and in leaving."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants, forbidding, is_sent, sending, with_header

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Publish, Subscribe, Unsubscribe, messages
from peerproof.spec.peter.messages import Update
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


@wrong.after("step", "topics-different-in-the-last-byte")
def TellsOfOneTopic(step: Next, *_: Any) -> Next:
    """Tells the application of every event as if it were of the last of its topics."""
    last: Any = next(reversed(list(step.state.upper.topics)), None)
    told = [Notify(Update(last, e.notice.value)) if isinstance(getattr(e, "notice", None), Update) else e for e in step.effects]
    return step._replace(effects=tuple(told))


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
def ShowsTopicsBackwards(step: Next, *_: Any) -> Next:
    """Copies to the largest id first."""
    copies = [effect for effect in step.effects if is_sent(effect, messages.NotifyMessage)]
    return step._replace(effects=(*(effect for effect in step.effects if effect not in copies), *reversed(copies)))


wrong |= {
    # Refuses to subscribe and to publish before it has joined.
    "NeedsToHaveJoined: commands-before-joining several-topics-in-order alone own-join": forbidding(
        "step",
        lambda state, event, _: (
            isinstance(event, Asked) and isinstance(event.command, Topical) and state.lower.stage is wendy.Stage.ALONE
        ),
    ),
    # Wants one byte more than an id has.
    "LongerTopicsOnly: topic-of-sixteen-bytes topic-of-eight-letters topic-of-four-letters": forbidding(
        "step",
        lambda state, event, _: (
            isinstance(event, Asked) and isinstance(event.command, Topical) and len(event.command.topic.encode()) < 17
        ),
    ),
    # Leaves out what Wendy does of itself: answers to joins, and heartbeats.
    "BeatsForNobody: join-of-another heartbeats-of-wendy": sending((wendy.Heartbeat, wendy.StateData), lambda *_: None),
    # Leaves the credentials out of the messages of the tree.
    "SendsWithoutCredentials: credentials-in-tree-messages": sending(
        (messages.SubscribeMessage, messages.UnsubscribeMessage, messages.NotifyMessage),
        lambda message, _: with_header(message, credentials=None),
    ),
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
