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


def _with_itself(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    step = ON_SUBSCRIBE_MESSAGE(state, topic, child, seek)
    if not step.effects:
        return step
    row, own = step.state.row(topic), own_node(state)
    return step._replace(state=step.state.with_row(topic, row._replace(children=row.children.put({own.id: own}))))


class PD02(Diverging):
    """Becomes its own child when it passes a subscription on."""

    instead: ClassVar = {"tree.on_subscribe_message": _with_itself}


def _upward_each_time(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    row, step = state.row(topic), ON_SUBSCRIBE_MESSAGE(state, topic, child, seek)
    is_further = row.is_wanted and child.id not in row.children
    return ASKED_FOR(step.state, topic, step.state.row(topic), seek) if is_further else step


class PD03(Diverging):
    """Sends another SUBSCRIBE upward for each new child."""

    instead: ClassVar = {"tree.on_subscribe_message": _upward_each_time}


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


def _no_copies(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    step = FANNED_OUT(state, topic, value, hop, source)
    return step if source is not None else Step(step.state, tuple(e for e in step.effects if not sent_to(e, NOTIFY)))


class PD06(Diverging):
    """Sends no copies as the meeting point."""

    instead: ClassVar = {"tree.fan_out": _no_copies}


def _at_each_hop(state: State, notice: Any, seek: Seek) -> Next:
    step = TOLD(state, notice, seek)
    if isinstance(notice, wendy.Forwarding) and isinstance(event := lift_message(notice.message), messages.PublishMessage):
        return Step(step.state, (*step.effects, *FANNED_OUT(state, event.header.key, event.value, event.header.hop).effects))
    return step


class PD07(Diverging):
    """Sends copies at each hop of the event."""

    instead: ClassVar = {"tree.on_notice": _at_each_hop}


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


def _without_a_word(state: State, is_gone: Any, seek: Seek) -> Next:
    step = DEPARTED(state, is_gone, seek)
    return Step(step.state, tuple(effect for effect in step.effects if not sent_to(effect, UNSUBSCRIBE)))


class PD11(Diverging):
    """Sends no UNSUBSCRIBE when its last child has departed."""

    instead: ClassVar = {"tree.on_departure": _without_a_word}


class PD12(Diverging):
    """Does not check its topics when a node has joined."""

    instead: ClassVar = {"tree.on_node_joined": nothing, "tree.on_rerouted": nothing}


def _from_all(state: State, topic: Id, seek: Seek) -> Next:
    state, effects = ON_UNSUBSCRIBE(state, topic, seek)
    for other, row in state.topics.items():
        state = state.with_row(other, row._replace(is_local=False))
    return Step(state, effects)


class PD13(Diverging):
    """Drops all its subscriptions when it unsubscribes from one topic."""

    instead: ClassVar = {"tree.on_unsubscribe": _from_all}


#: The divergences by their ids.
DIVERGENCES: Final = by_id(Diverging)
