"""Mistakes in what goes straight to a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import variants

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Received, Send, Sent, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import transitions
from peerproof.spec.wendy.messages import Application, Forwarding, Route, SendTo
from peerproof.spec.wendy.state import State

Next = Step[Any, Any]

ON_SEND_TO = transitions.on_send_to
ROUTED = transitions.route_message


class SendsByRouting(Wrong):
    """Routes what should go straight to a node."""

    caught_by: ClassVar = (
        *("sent-straight", "sent-straight-against-the-own-key", "sent-straight-to-a-stranger", "sent-straight-and-arrived"),
        *("sent-straight-with-purpose-8", "sent-straight-with-purpose-255", "sent-straight-unasked"),
    )
    instead: ClassVar = {
        "transitions.on_send_to": lambda state, command: transitions.on_route(
            state, Route(command.key, command.value, command.purpose)
        )
    }


def _known_only(state: State, command: SendTo) -> Next:
    if command.node.id not in state.known:
        raise NotEnabled("bad_value", "a node that nobody knows")
    return ON_SEND_TO(state, command)


class AsksAboutIt(Wrong):
    """Asks the application about what it has just asked for."""

    caught_by: ClassVar = ("sent-straight", "sent-straight-unasked")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Asks, and sends it all the same."""
        step = super().step(state, event, pick)
        if isinstance(event, Asked) and isinstance(command := event.command, SendTo):
            told = [Notify(Forwarding(e.message, command.node)) for e in step.effects if isinstance(e, Send)]
            return step._replace(effects=(*told, *step.effects))
        return step


class SendsNowhereQuietly(Wrong):
    """Passes over what has no address to go to."""

    caught_by: ClassVar = ("sent-straight-nowhere", "sent-straight-to-itself")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Does not refuse."""
        try:
            return super().step(state, event, pick)
        except NotEnabled as refusal:
            if isinstance(event, Asked) and isinstance(event.command, SendTo) and refusal.reason == "bad_value":
                return Step(state)
            raise


class SendsToTheNearAddress(Wrong):
    """Sends to the local address, whatever the region."""

    caught_by: ClassVar = ("sent-straight-to-another-region",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With the region of its own."""
        if isinstance(event, Asked) and isinstance(command := event.command, SendTo):
            node = command.node._replace(region=state.config.region)
            event = replace(event, command=replace(command, node=node))
        return super().step(state, event, pick)


class GivesUpAtOnce(Wrong):
    """Drops what did not arrive straight away."""

    caught_by: ClassVar = (
        *("sent-straight-in-vain", "sent-straight-in-vain-and-asked", "sent-straight-in-vain-and-delivered"),
        "sent-straight-to-a-stranger-in-vain",
    )

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Takes the message for a heartbeat."""
        if isinstance(event, Sent) and event.took is None and isinstance(event.message, Application):
            event = replace(event, message=wendy.Heartbeat(event.message.header))
        return super().step(state, event, pick)


class SendsAgain(Wrong):
    """Routes what has arrived straight away once more."""

    caught_by: ClassVar = ("sent-straight-and-arrived",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Routes it."""
        after, effects = super().step(state, event, pick)
        if isinstance(event, Sent) and event.took is not None and isinstance(event.message, Application):
            after, more = ROUTED(after, event.message)
            effects += more
        return Step(after, effects)


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


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "ForgetsTheHops": (
            "Counts hops from 0, whatever the application says.",
            {"transitions.on_send_to": lambda state, command: ON_SEND_TO(state, replace(command, hop=0))},
            "sent-straight-with-hops sent-straight-in-vain sent-straight-in-vain-and-delivered",
        ),
        "RefusesStrangers": (
            "Sends only to nodes in its tables.",
            {"transitions.on_send_to": _known_only},
            "sent-straight-to-a-stranger sent-straight-to-a-stranger-in-vain",
        ),
    },
)
__getattr__ = MISTAKES.find
