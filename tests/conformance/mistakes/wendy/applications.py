"""Mistakes in what is done for applications."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, after, around, hearing, passing_over, remembering, with_effects, with_header

from peerproof.spec.core import Asked, Notify, Pick, Received, Sent, Step
from peerproof.spec.wendy import transitions
from peerproof.spec.wendy.messages import Application, Delivered, Forward, Forwarding, Mask, Route
from peerproof.spec.wendy.proximity import header
from peerproof.spec.wendy.state import State
from peerproof.spec.wendy.tables import insert_node

wrong = Variants(__name__, Wrong)
Next = Step[Any, Any]
ROUTED = transitions.route_message


def told(step: Next, kind: type[Any]) -> list[Any]:
    """What the application is told of this kind."""
    return [effect.notice for effect in step.effects if isinstance(effect, Notify) and isinstance(effect.notice, kind)]


@wrong("step", "purpose-8-is-delivered")
def ApplicationsFromSixteen(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Keeps the purposes below 16 for itself."""
    message = getattr(event, "message", None)
    return Step(state) if isinstance(message, Application) and message.purpose < 16 else right(state, event, pick)


@wrong(
    remembering,
    "a-join-is-not-delivered a-heartbeat-is-not-delivered a-state-is-not-delivered a-request-is-not-delivered "
    "a-race-is-not-delivered a-repair-is-not-delivered an-exit-is-not-delivered an-announcement-is-not-delivered",
)
def DeliversEverything(others: dict[Any, Any], right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Tells the application of messages that are none of its business."""
    step = right(state, event, pick)
    if isinstance(event, Received) and not isinstance(event.message, Application):
        others[len(others)] = event.message
    more = [Notify(Delivered(Application(other.header, 8, None))) for other in others.values()]
    return with_effects(step, *more) if told(step, Delivered) else step


@wrong("step", "route-has-no-hops route-to-itself-is-delivered")
def CountsTheFirstNode(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Counts a hop where a message begins."""
    if isinstance(event, Asked) and isinstance(event.command, Route):
        command = event.command
        message = Application(header(state, command.key), command.purpose, command.value)
        event = Received(event.now, state.self_id, message)
    return right(state, event, pick)


@wrong.after("step", "deliveries-are-not-asked-about")
def AsksAboutDeliveries(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Asks the application whether a message may be delivered to it."""
    if not state.config.is_consulted or (isinstance(event, Asked) and isinstance(event.command, Forward)):
        return step
    return step._replace(effects=tuple(Notify(Forwarding(d.message, state.node)) for d in told(step, Delivered)) or step.effects)


@wrong.after("step", "a-message-that-has-arrived-is-done")
def DeliversWhatHasArrived(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes a confirmation for a delivery."""
    if isinstance(event, Sent) and event.took is not None and isinstance(event.message, Application):
        return with_effects(step, Notify(Delivered(event.message)))
    return step


@wrong.after("step", "the-sender-is-not-met a-heartbeat-changes-nothing asked-by-a-stranger contact-that-is-alone a-second-join")
def MeetsEverySender(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes whoever sends something into its leaf set."""
    if not isinstance(event, Received) or step.state is not state:
        return step
    return step._replace(state=insert_node(state, event.message.header.sender, Mask(leaf_set=True)))


wrong |= {
    # Counts hops beyond what a message can hold, and begins anew there.
    "HopsWithoutEnd: hops-end largest-hops-of-a-join": hearing(
        object, lambda message, _: with_header(message, hop=-1) if message.header.hop == 2**31 - 1 else message
    ),
    # Puts its own credentials into what it sends on.
    "OwnCredentialsOnTheWay: sent-on-with-the-credentials-of-its-sender": hearing(
        Application, lambda message, state: with_header(message, credentials=state.config.credentials)
    ),
    # Says that it is the sender of what it sends on.
    "ItsOwnMessages: sent-on-with-its-hops an-unreachable-hop-then-here": hearing(
        Application, lambda message, state: with_header(message, sender=state.node)
    ),
    # Passes over purposes that it has not given out.
    "SmallPurposesOnly: purpose-255-is-delivered route-with-a-purpose": passing_over(
        lambda state, event: getattr(getattr(event, "message", getattr(event, "command", None)), "purpose", 0) >= 128
    ),
    # Does not tell where a message goes next.
    "TellsNothingOfForwarding: sent-on-with-its-hops route-to-the-cell": after(
        "step",
        lambda step, *_: step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, Notify) and isinstance(e.notice, Forwarding)))
        ),
    ),
    # Leaves the count of hops as it is.
    "CountsNoHops: sent-on-with-its-hops purpose-16-is-delivered": {"transitions.on_application": ROUTED},
    # Sends messages on without asking an application that wants to be asked.
    "NeverAsks: asked-first asked-about-the-own asked-again-on-the-way-round": around(
        "transitions.route_message",
        lambda right, state, message, **_: right(
            replace(state, config=replace(state.config, is_consulted=False)), message
        )._replace(state=state),
    ),
}
__getattr__ = wrong.find
