"""Mistakes about which topic a text is."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Publish, Subscribe, Unsubscribe
from peerproof.spec.peter.topics import id_of_topic

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
