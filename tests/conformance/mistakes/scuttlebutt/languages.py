"""Mistakes that a language makes by itself: in JavaScript they are the usual way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import received

from peerproof.spec.core import Pick
from peerproof.spec.scuttlebutt.messages import Delta, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.state import State
from peerproof.spec.scuttlebutt.transitions import Next

#: What every object has there.
_OF_OBJECTS = ("__proto__", "constructor")


class ByteOrderMarksAreEaten(Wrong):
    """Takes a byte order mark at the beginning of a text for a remark about the text."""

    caught_by: ClassVar = ("delta-of-a-byte-order-mark",)

    def decode(self, data: bytes) -> Any:
        """Leaves them out."""
        message = super().decode(data)
        if not isinstance(message, Delta):
            return message
        return Delta(
            tuple(
                entry._replace(key=entry.key.removeprefix("\ufeff"), value=entry.value.removeprefix("\ufeff"))
                for entry in message.entries
            )
        )


class ObjectsAreStores(Wrong):
    """Finds whatever every object has in the store too, and so takes such a peer for known, at no version."""

    caught_by: ClassVar = ("words-of-a-language-are-addresses",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Learns nothing of them."""
        if received(event, DigestRequest) or received(event, DigestResponse):
            entries = tuple(entry for entry in event.message.entries if entry.addr not in _OF_OBJECTS)
            event = replace(event, message=replace(event.message, entries=entries))
        return super().step(state, event, pick)


class NoughtIsNoTime(Wrong):
    """Takes a digest that was sent at the time 0 for none."""

    caught_by: ClassVar = ("round-trip-from-a-digest-at-0",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Forgets it."""
        known = {addr: replace(known, digest_sent=known.digest_sent or None) for addr, known in state.liveness.items()}
        return super().step(replace(state, liveness=state.liveness.put(known)), event, pick)
