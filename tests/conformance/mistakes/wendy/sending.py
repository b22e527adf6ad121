"""Mistakes in what goes straight to a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Received, Step
from peerproof.spec.wendy import transitions
from peerproof.spec.wendy.messages import Application, SendTo

wrong = Variants(__name__, Wrong)
Next = Step[Any, Any]
ON_SEND_TO = transitions.on_send_to


@wrong("step", "sent-straight-after-leaving")
def SendsAfterLeaving(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Still sends after it has left."""
    if isinstance(event, Asked) and isinstance(event.command, SendTo):
        return ON_SEND_TO(state, event.command)
    return right(state, event, pick)


@wrong("step", "received-straight")
def DeliversWhatComesStraight(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Delivers whatever has had a hop, as if it were meant for this node."""
    if isinstance(event, Received) and isinstance(message := event.message, Application) and message.header.hop:
        counted = replace(message, header=replace(message.header, hop=message.header.hop + 1))
        return Step(state, (Notify(wendy.Delivered(counted)),))
    return right(state, event, pick)


__getattr__ = wrong.find
