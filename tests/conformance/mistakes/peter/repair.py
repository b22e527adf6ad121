"""Mistakes about what is a departure, and in what is done when somebody has joined, or has gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants, around, remembering

from peerproof.reference.divergences.peter import DEPARTED, Next, sent_to
from peerproof.spec import wendy
from peerproof.spec.core import Pick, Step
from peerproof.spec.peter import messages, tree
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Request, Seek

wrong = Variants(__name__, Wrong)


def without(step: Next, purpose: int) -> Next:
    """The step without messages of one purpose."""
    return Step(step.state, tuple(effect for effect in step.effects if not sent_to(effect, purpose)))


@wrong("tree.on_rerouted", "measured-beside-the-way")
def LeavesWhoeverIsItsParent(right: Any, state: State, seek: Seek, new: Any) -> Any:
    """Unsubscribes and subscribes for each topic whenever its tables have somebody new, on the way or not. [P-19, PA-27]"""
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        hop = seek(topic)
        if hop is not None and new:
            effects += (*tree.tree_message(row.parent, topic, UNSUBSCRIBE), *tree.tree_message(hop, topic, SUBSCRIBE))
            state = state.with_row(topic, row._replace(parent=hop))
    return Step(state, effects)


def _with(state: State, is_gone: Any, seek: Seek, *, children: bool, parents: bool) -> Next:
    """A departure that is noticed as far as it is one of children, or of parents."""
    gone_children = {child.id for row in state.topics.values() for child in row.children.values() if is_gone(child)}
    before = state
    step = DEPARTED(state, is_gone, seek)
    state, effects = step.state, step.effects
    for topic, row in before.topics.items():
        is_orphaned = row.parent is not None and is_gone(row.parent)
        if is_orphaned and not parents:
            state = state.with_row(topic, state.row(topic)._replace(parent=row.parent))
        if not children and gone_children & set(row.children):
            state = state.with_row(topic, row._replace(parent=state.row(topic).parent))
            effects = tuple(e for e in effects if not (sent_to(e, UNSUBSCRIBE) and e.command.key == topic))
    return Step(state, effects if parents else without(Step(state, effects), SUBSCRIBE).effects)


@wrong("tree.on_departure", "parent-of-one-of-two-topics-leaves")
def AsksForAllTopics(right: Any, state: State, is_gone: Any, seek: Seek) -> Any:
    """Subscribes to all its topics again when it has lost one parent."""
    is_lost = any(row.parent is not None and is_gone(row.parent) for row in state.topics.values())
    state, effects = right(state, is_gone, seek)
    asked = {effect.command.key for effect in effects if sent_to(effect, SUBSCRIBE)}
    for topic in state.topics:
        if is_lost and topic not in asked:
            effects += tree.tree_message(seek(topic), topic, SUBSCRIBE)
    return Step(state, effects)


@wrong("tree.on_notice", "copy-goes-nowhere-else")
def RoutesLostCopies(right: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Routes a copy that did not arrive."""
    if isinstance(notice, wendy.Forwarding):
        message = messages.lift_message(notice.message)
        if isinstance(message, messages.NotifyMessage) and message.header.sender.id == state.config.id:
            return Step(state, (Request(wendy.Forward(notice.message)),))
    return right(state, notice, seek)


@wrong(remembering, "departed-child-is-back")
def DepartedForEver(gone: dict[Any, Any], right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Takes nobody back for a child who had departed."""
    message = getattr(event, "message", None)
    if isinstance(message, messages.SubscribeMessage) and message.header.sender.id in gone:
        return Step(state)
    step = right(state, event, pick)
    gone.update((e.notice.node.id, e) for e in step.effects if isinstance(getattr(e, "notice", None), wendy.NodeExited))
    return step


@wrong("tree.on_departure", "parent-that-is-the-only-child-leaves")
def SubscribesWithoutInterest(right: Any, state: State, is_gone: Callable[[wendy.Node], bool], seek: Seek) -> Any:
    """Looks for another parent whenever one has gone, also where no interest in the topic is left."""
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        gone = [child for child, node in row.children.items() if is_gone(node)]
        is_orphaned = row.parent is not None and is_gone(row.parent)
        left = Row(row.is_local, row.children.without(gone), None if is_orphaned else row.parent)
        state, more = (
            tree.subscribe_to_parent(state, topic, left, seek) if is_orphaned else tree.update_row(state, topic, left, seek)
        )
        effects += more
    return Step(state, effects)


wrong |= {
    # Keeps its parent when a next hop is new of which it is not told as a joiner. [PA-27, PX-08]
    "KeepsItsParent: measured-on-the-way next-hop-changes-by-hearsay": around(
        "tree.on_notice",
        lambda right, state, notice, seek: right(
            state, messages.Rerouted() if isinstance(notice, messages.Rerouted) else notice, seek
        ),
    ),
    # Keeps who has departed as its parent.
    "KeepsDepartedParents: parent-leaves parent-leaves-and-nobody-is-nearer subscribe-that-does-not-arrive": {
        "tree.on_departure": lambda state, is_gone, seek: _with(state, is_gone, seek, children=True, parents=False)
    },
}
__getattr__ = wrong.find
