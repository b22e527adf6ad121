"""Mistakes in what goes straight to a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.wendy import Wrong

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Received, Step
from peerproof.spec.wendy import transitions
from peerproof.spec.wendy.messages import Application, SendTo

Next = Step[Any, Any]

ON_SEND_TO = transitions.on_send_to


class SendsAfterLeaving(Wrong):
    """Still sends after it has left."""

    caught_by: ClassVar = ("sent-straight-after-leaving",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Does."""
        if isinstance(event, Asked) and isinstance(event.command, SendTo):
            return ON_SEND_TO(state, event.command)
        return super().step(state, event, pick)


class DeliversWhatComesStraight(Wrong):
    """Delivers whatever has had a hop, as if it were meant for this node."""

    caught_by: ClassVar = ("received-straight",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Delivers it."""
        if isinstance(event, Received) and isinstance(message := event.message, Application) and message.header.hop:
            counted = replace(message, header=replace(message.header, hop=message.header.hop + 1))
            return Step(state, (Notify(wendy.Delivered(counted)),))
        return super().step(state, event, pick)
