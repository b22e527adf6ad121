"""Mistakes that a language makes by itself: in JavaScript they are the usual way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, received

from peerproof.spec.core import Pick
from peerproof.spec.scuttlebutt.messages import Delta, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.state import State

wrong = Variants(__name__, Wrong)


#: What every object has there.
_OF_OBJECTS = ("__proto__", "constructor")


@wrong("decode", "delta-of-a-byte-order-mark")
def ByteOrderMarksAreEaten(right: Any, data: bytes) -> Any:
    """Takes a byte order mark at the beginning of a text for a remark about the text."""
    message = right(data)
    if not isinstance(message, Delta):
        return message
    return Delta(
        tuple(
            entry._replace(key=entry.key.removeprefix("\ufeff"), value=entry.value.removeprefix("\ufeff"))
            for entry in message.entries
        )
    )


@wrong("step", "words-of-a-language-are-addresses")
def ObjectsAreStores(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Finds whatever every object has in the store too, and so takes such a peer for known, at no version."""
    if received(event, DigestRequest) or received(event, DigestResponse):
        entries = tuple(entry for entry in event.message.entries if entry.addr not in _OF_OBJECTS)
        event = replace(event, message=replace(event.message, entries=entries))
    return right(state, event, pick)


@wrong("step", "round-trip-from-a-digest-at-0")
def NoughtIsNoTime(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes a digest that was sent at the time 0 for none."""
    known = {addr: replace(known, digest_sent=known.digest_sent or None) for addr, known in state.liveness.items()}
    return right(replace(state, liveness=state.liveness.put(known)), event, pick)


__getattr__ = wrong.find
