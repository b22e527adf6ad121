"""Mistakes about which topic a text is."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import variants

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Publish, Subscribe, Unsubscribe
from peerproof.spec.peter.topics import id_of_topic

Next = Step[Any, Any]

Topical = Subscribe | Unsubscribe | Publish


def naming(other: Any) -> dict[str, Any]:
    """What is replaced for topics to have other ids."""
    return {"tree.id_of_topic": other}


def _by_letters(topic: str) -> Any:
    if len(topic) < 16:  # letters of an id, as this one has it
        raise NotEnabled("short_topic", "too few letters")
    return wendy.id_of_bytes(topic.encode())


class LongerTopicsOnly(Wrong):
    """Wants one byte more than an id has."""

    caught_by: ClassVar = ("topic-of-sixteen-bytes", "topic-of-eight-letters", "topic-of-four-letters")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Refuses."""
        if (
            isinstance(event, Asked) and isinstance(command := event.command, Topical) and len(command.topic.encode()) < 17
        ):  # one more
            raise NotEnabled("short_topic", "too short")
        return super().step(state, event, pick)


class TellsOfOneTopic(Wrong):
    """Tells the application of every event as if it were of the last of its topics."""

    caught_by: ClassVar = ("topics-different-in-the-last-byte",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Replaces the topic."""
        after, effects = super().step(state, event, pick)
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


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "HashesTopics": (
            "Takes the first bytes of a hash.",
            naming(lambda topic: wendy.id_of_bytes(sha256(topic.encode()).digest())),
            "topic-of-sixteen-bytes topic-longer-than-its-id topics-equal-in-32-bytes",
        ),
        "HashesThirtyTwoBytes": (
            "Takes a hash of the first 32 bytes, so that they all count.",
            naming(lambda topic: wendy.id_of_bytes(sha256(topic.encode()[:32]).digest())),
            "topics-equal-in-16-bytes topic-of-a-thousand-bytes",
        ),
        "TakesTheLastBytes": (
            "Takes the last 16 bytes.",
            naming(lambda topic: wendy.id_of_bytes(_long(topic)[-16:])),
            "topic-longer-than-its-id topics-equal-in-32-bytes",
        ),
        "TakesFifteenBytes": (
            "Takes one byte too few for the id.",
            naming(lambda topic: wendy.id_of_bytes(_long(topic)[:15] + b"\0")),
            "topics-different-in-the-last-byte topic-that-ends-within-a-letter",
        ),
        "CountsLetters": (
            "Counts letters instead of bytes.",
            naming(_by_letters),
            "topic-of-four-letters topic-of-eight-letters topic-of-letters-of-two-bytes",
        ),
        "WritesLatin": (
            "Writes one byte for each letter.",
            naming(lambda topic: wendy.id_of_bytes(_long(topic, "latin-1"))),
            "topic-that-ends-within-a-letter topic-of-eight-letters",
        ),
        "EndsWithALetter": (
            "Leaves out a letter that the sixteenth byte is within.",
            naming(lambda topic: wendy.id_of_bytes(_long(topic)[:16].decode(errors="ignore").encode().ljust(16, b"\0"))),
            "topic-that-ends-within-a-letter",
        ),
        "IgnoresCapitals": (
            "Has capital letters for small ones, and passes over blanks.",
            naming(lambda topic: id_of_topic(topic.strip().lower())),
            "topic-with-capitals topics-different-in-the-last-byte",
        ),
        "EndsAtZero": (
            "Has texts end at a zero byte.",
            naming(lambda topic: id_of_topic(topic.partition("\0")[0])),
            "topic-of-zero-bytes",
        ),
    },
)
__getattr__ = MISTAKES.find
