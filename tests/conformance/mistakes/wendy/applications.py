"""Mistakes in what is done for applications."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import variants

from peerproof.spec.core import Asked, NodeId, Notify, Pick, Received, Sent, Step
from peerproof.spec.wendy import transitions
from peerproof.spec.wendy.messages import Application, Delivered, Forward, Forwarding, Header, Mask, Route
from peerproof.spec.wendy.proximity import header
from peerproof.spec.wendy.state import State
from peerproof.spec.wendy.tables import insert_node

Next = Step[Any, Any]

ROUTED = transitions.route_message


def told(step: Next, kind: type[Any]) -> list[Any]:
    """What the application is told of this kind."""
    return [effect.notice for effect in step.effects if isinstance(effect, Notify) and isinstance(effect.notice, kind)]


class SmallPurposesOnly(Wrong):
    """Passes over purposes that it has not given out."""

    caught_by: ClassVar = ("purpose-255-is-delivered", "route-with-a-purpose")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Drops them."""
        about = getattr(event, "message", getattr(event, "command", None))
        return Step(state) if getattr(about, "purpose", 0) >= 128 else super().step(state, event, pick)


class ApplicationsFromSixteen(Wrong):
    """Keeps the purposes below 16 for itself."""

    caught_by: ClassVar = ("purpose-8-is-delivered",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Drops them."""
        message = getattr(event, "message", None)
        return Step(state) if isinstance(message, Application) and message.purpose < 16 else super().step(state, event, pick)


class DeliversEverything(Wrong):
    """Tells the application of messages that are none of its business."""

    caught_by: ClassVar = (
        *(f"a-{name}-is-not-delivered" for name in ("join", "heartbeat", "state", "request", "race", "repair")),
        *("an-exit-is-not-delivered", "an-announcement-is-not-delivered"),
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Once more with the next message."""
        step = super().step(state, event, pick)
        if isinstance(event, Received) and not isinstance(event.message, Application):
            self.others = (*self.others, event.message)
        more = [Notify(Delivered(Application(other.header, 8, None))) for other in self.others]
        return step._replace(effects=(*step.effects, *more)) if told(step, Delivered) else step

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """Another node knows of none yet."""
        self.others = ()
        return super().initial(self_id, config)

    others: tuple[Any, ...] = ()


def _counted(message: Any, more: int) -> Any:
    return replace(message, header=replace(message.header, hop=message.header.hop + more))


class CountsTheFirstNode(Wrong):
    """Counts a hop where a message begins."""

    caught_by: ClassVar = ("route-has-no-hops", "route-to-itself-is-delivered")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Routes it as if it had come from elsewhere."""
        if isinstance(event, Asked) and isinstance(event.command, Route):
            command = event.command
            message = Application(header(state, command.key), command.purpose, command.value)
            event = Received(event.now, state.self_id, message)
        return super().step(state, event, pick)


class HopsWithoutEnd(Wrong):
    """Counts hops beyond what a message can hold, and begins anew there."""

    caught_by: ClassVar = ("hops-end", "largest-hops-of-a-join")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Lets the largest count be followed by 0."""
        if isinstance(event, Received) and event.message.header.hop == 2**31 - 1:
            event = replace(event, message=_counted(event.message, -(2**31 - 1) - 1))
        return super().step(state, event, pick)


class OwnCredentialsOnTheWay(Wrong):
    """Puts its own credentials into what it sends on."""

    caught_by: ClassVar = ("sent-on-with-the-credentials-of-its-sender",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces them."""
        if isinstance(event, Received) and isinstance(event.message, Application):
            event = replace(
                event, message=replace(event.message, header=replace(event.message.header, credentials=state.config.credentials))
            )
        return super().step(state, event, pick)


class ItsOwnMessages(Wrong):
    """Says that it is the sender of what it sends on."""

    caught_by: ClassVar = ("sent-on-with-its-hops", "an-unreachable-hop-then-here")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Writes itself into the header."""
        if isinstance(event, Received) and isinstance(event.message, Application):
            said: Header = replace(event.message.header, sender=state.node)
            event = replace(event, message=replace(event.message, header=said))
        return super().step(state, event, pick)


class AsksAboutDeliveries(Wrong):
    """Asks the application whether a message may be delivered to it."""

    caught_by: ClassVar = ("deliveries-are-not-asked-about",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Asks instead."""
        step = super().step(state, event, pick)
        if not state.config.is_consulted or (isinstance(event, Asked) and isinstance(event.command, Forward)):
            return step
        return step._replace(
            effects=tuple(Notify(Forwarding(d.message, state.node)) for d in told(step, Delivered)) or step.effects
        )


class TellsNothingOfForwarding(Wrong):
    """Does not tell where a message goes next."""

    caught_by: ClassVar = ("sent-on-with-its-hops", "route-to-the-cell")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves it out."""
        step = super().step(state, event, pick)
        return step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, Notify) and isinstance(e.notice, Forwarding)))
        )


class DeliversWhatHasArrived(Wrong):
    """Takes a confirmation for a delivery."""

    caught_by: ClassVar = ("a-message-that-has-arrived-is-done",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Tells the application."""
        step = super().step(state, event, pick)
        if isinstance(event, Sent) and event.took is not None and isinstance(event.message, Application):
            return step._replace(effects=(*step.effects, Notify(Delivered(event.message))))
        return step


class MeetsEverySender(Wrong):
    """Takes whoever sends something into its leaf set."""

    caught_by: ClassVar = (
        "the-sender-is-not-met",
        "a-heartbeat-changes-nothing",
        "asked-by-a-stranger",
        "contact-that-is-alone",
        "a-second-join",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Meets it first."""
        step = super().step(state, event, pick)
        if not isinstance(event, Received) or step.state is not state:
            return step
        return step._replace(state=insert_node(state, event.message.header.sender, Mask(leaf_set=True)))


class AnyLengthMayGo(Wrong):
    """Sends on what nobody can read."""

    caught_by: ClassVar = ("credentials-too-long-to-forward",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Checks nothing."""
        if isinstance(event, Asked) and isinstance(event.command, Forward):
            return ROUTED(state, event.command.message, is_allowed=True)
        return super().step(state, event, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "CountsNoHops": (
            "Leaves the count of hops as it is.",
            {"transitions.on_application": ROUTED},
            "sent-on-with-its-hops purpose-16-is-delivered",
        ),
        "NeverAsks": (
            "Sends messages on without asking an application that wants to be asked.",
            {
                "transitions.route_message": lambda state, message, **_: ROUTED(
                    replace(state, config=replace(state.config, is_consulted=False)), message
                )._replace(state=state)
            },
            "asked-first asked-about-the-own asked-again-on-the-way-round",
        ),
    },
)
__getattr__ = MISTAKES.find
