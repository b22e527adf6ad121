"""
The differences of the original implementation of Peter, one at a time [PD-01…PD-13].

Two are missing, because a runner in virtual time cannot detect them: a crash that needs parents, which the original never has
[PD-10], and messages that overtake each other, which needs two connections [PD-14].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from peerproof.reference.divergences.divergence import Divergence, by_id
from peerproof.spec import wendy
from peerproof.spec.core import Step
from peerproof.spec.peter import messages, tree
from peerproof.spec.peter.messages import NOTIFY, UNSUBSCRIBE, lift_message, lower_message
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Request, Seek

Next = Step[Any, Any]
Rule = Callable[..., Next]
Id = wendy.Id
Node = wendy.Node

ASKED_FOR: Rule = tree.subscribe_to_parent
DEPARTED: Rule = tree.on_departure
FANNED_OUT: Rule = tree.fan_out
ON_MESSAGE: Rule = tree.on_message
ON_SUBSCRIBE_MESSAGE: Rule = tree.on_subscribe_message
ON_UNSUBSCRIBE: Rule = tree.on_unsubscribe
ON_UNSUBSCRIBE_MESSAGE: Rule = tree.on_unsubscribe_message
TOLD: Rule = tree.on_notice
TURNED: Rule = tree.update_row


class Diverging(Divergence):
    """Peter with some functions replaced."""

    protocol = "peter"


def sent_to(effect: Any, purpose: int) -> bool:
    """Whether the effect sends a message of the tree with this purpose."""
    return isinstance(effect, Request) and isinstance(effect.command, wendy.SendTo) and effect.command.purpose == purpose


def own_node(state: State) -> Node:
    """Returns the node itself, as others know it."""
    return wendy.State(state.self_id, state.config).node


def nothing(state: State, *_: Any) -> Next:
    """Does nothing."""
    return Step(state)


def _shared(state: State, topic: Id) -> Id:
    return next((known for known, row in state.topics.items() if row.children), topic)


class PD01(Diverging):
    """Has the same children for all topics."""

    instead: ClassVar = {
        "tree.on_subscribe_message": lambda state, topic, child, seek: ON_SUBSCRIBE_MESSAGE(
            state, _shared(state, topic), child, seek
        ),
        "tree.on_unsubscribe_message": lambda state, topic, child, seek: ON_UNSUBSCRIBE_MESSAGE(
            state, _shared(state, topic), child, seek
        ),
    }


@Diverging.instead_of("tree.on_subscribe_message")
def PD02(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    """Becomes its own child when it passes a subscription on."""
    step = ON_SUBSCRIBE_MESSAGE(state, topic, child, seek)
    if not step.effects:
        return step
    row, own = step.state.row(topic), own_node(state)
    return step._replace(state=step.state.with_row(topic, row._replace(children=row.children.put({own.id: own}))))


@Diverging.instead_of("tree.on_subscribe_message")
def PD03(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    """Sends another SUBSCRIBE upward for each new child."""
    row, step = state.row(topic), ON_SUBSCRIBE_MESSAGE(state, topic, child, seek)
    is_further = row.is_wanted and child.id not in row.children
    return ASKED_FOR(step.state, topic, step.state.row(topic), seek) if is_further else step


def _passed_on(kind: type[Any], *, is_child: bool) -> Mapping[str, Any]:
    """Returns the overrides that pass on messages of one kind unchanged, if the sender is, or is not, a child."""

    def on_message(state: State, message: Any, seek: Seek) -> Next:
        header = message.header
        if isinstance(message, kind) and (header.sender.id in state.row(header.key).children) is is_child:
            application: Any = lower_message(message)
            return Step(state, () if seek(header.key) is None else (Request(wendy.Forward(application)),))
        return ON_MESSAGE(state, message, seek)

    return {"tree.on_message": on_message}


class PD04(Diverging):
    """Passes the SUBSCRIBE of a child on unchanged."""

    instead: ClassVar = _passed_on(messages.SubscribeMessage, is_child=True)


class PD05(Diverging):
    """Passes the UNSUBSCRIBE of a node that is no child on unchanged."""

    instead: ClassVar = _passed_on(messages.UnsubscribeMessage, is_child=False)


@Diverging.instead_of("tree.fan_out")
def PD06(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    """Sends no copies as the meeting point."""
    step = FANNED_OUT(state, topic, value, hop, source)
    return step if source is not None else Step(step.state, tuple(e for e in step.effects if not sent_to(e, NOTIFY)))


@Diverging.instead_of("tree.on_notice")
def PD07(state: State, notice: Any, seek: Seek) -> Next:
    """Sends copies at each hop of the event."""
    step = TOLD(state, notice, seek)
    if isinstance(notice, wendy.Forwarding) and isinstance(event := lift_message(notice.message), messages.PublishMessage):
        return Step(step.state, (*step.effects, *FANNED_OUT(state, event.header.key, event.value, event.header.hop).effects))
    return step


def _unrecorded(state: State, topic: Id, row: Row, seek: Seek) -> Next:
    step = ASKED_FOR(state, topic, row, seek)
    return step._replace(state=step.state.with_row(topic, row._replace(parent=None)))


def _unsubscribed_by_routing(state: State, topic: Id, row: Row, seek: Seek) -> Next:
    if topic in state.topics and not row.is_wanted:
        return Step(state.with_row(topic, row), tree.tree_message(seek(topic), topic, UNSUBSCRIBE))
    return TURNED(state, topic, row, seek)


class PD08(Diverging):
    """Stores no parent, so that nothing is repaired."""

    instead: ClassVar = {
        "tree.subscribe_to_parent": _unrecorded,
        "tree.update_row": _unsubscribed_by_routing,
        "tree.on_node_joined": nothing,
        "tree.on_rerouted": nothing,
    }


class PD09(Diverging):
    """Ignores departed nodes."""

    instead: ClassVar = {"tree.on_departure": nothing}


@Diverging.instead_of("tree.on_departure")
def PD11(state: State, is_gone: Any, seek: Seek) -> Next:
    """Sends no UNSUBSCRIBE when its last child has departed."""
    step = DEPARTED(state, is_gone, seek)
    return Step(step.state, tuple(effect for effect in step.effects if not sent_to(effect, UNSUBSCRIBE)))


class PD12(Diverging):
    """Does not check its topics when a node has joined."""

    instead: ClassVar = {"tree.on_node_joined": nothing, "tree.on_rerouted": nothing}


@Diverging.instead_of("tree.on_unsubscribe")
def PD13(state: State, topic: Id, seek: Seek) -> Next:
    """Drops all its subscriptions when it unsubscribes from one topic."""
    state, effects = ON_UNSUBSCRIBE(state, topic, seek)
    for other, row in state.topics.items():
        state = state.with_row(other, row._replace(is_local=False))
    return Step(state, effects)


#: The divergences by their ids.
DIVERGENCES: Final = by_id(Diverging)
