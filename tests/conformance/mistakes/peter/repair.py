"""Mistakes in what is done when somebody has joined, or has gone."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.peter import DEPARTED, TOLD, Next, Rule, nothing, sent_to
from peerproof.spec import wendy
from peerproof.spec.core import Sent, Step
from peerproof.spec.peter import messages, tree
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Request, Seek

ON_NODE_JOINED: Rule = tree.on_node_joined
STEP: Rule = tree.step


def without(step: Next, purpose: int) -> Next:
    """The step without messages of one purpose."""
    return Step(step.state, tuple(effect for effect in step.effects if not sent_to(effect, purpose)))


def topic_by_topic(state: State, event: Any, each: Any) -> Next:
    """Each topic for itself, and the others as they are."""
    effects: tuple[Any, ...] = ()
    for topic in state.topics:
        step = each(state, topic, event)
        state, effects = step.state, effects + step.effects
    return Step(state, effects)


def _unsubscribed_there(state: State, node: wendy.Node, seek: Seek) -> Next:
    step = ON_NODE_JOINED(state, node, seek)
    effects = tuple(
        [Request(wendy.SendTo(node, e.command.key, b"", UNSUBSCRIBE)) if sent_to(e, UNSUBSCRIBE) else e for e in step.effects]
    )
    return Step(step.state, effects)


def _the_other_way_round(state: State, node: wendy.Node, seek: Seek) -> Next:
    step = ON_NODE_JOINED(state, node, seek)
    return Step(step.state, tuple(reversed(step.effects)))


def _always(state: State, node: wendy.Node, seek: Seek) -> Next:
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        there = seek(topic)
        if there is not None:
            effects += tree.tree_message(row.parent, topic, UNSUBSCRIBE) + tree.tree_message(there, topic, SUBSCRIBE)
            state = state.with_row(topic, row._replace(parent=there))
    return Step(state, effects)


class SubscribesAnewEachTime(Wrong):
    """Unsubscribes and subscribes again whenever somebody joins."""

    caught_by: ClassVar = (
        *("joined-elsewhere", "joined-nearer-to-one-topic", "joined-again-as-the-parent", "joined-again-not-the-parent"),
        "joined-again-as-the-parent-of-two-topics",
    )
    instead: ClassVar = {"tree.on_node_joined": _always}


def _not_as_the_root(state: State, node: wendy.Node, seek: Seek) -> Next:
    return topic_by_topic(
        state,
        node,
        lambda state, topic, node: (
            ON_NODE_JOINED(state, node, lambda key: seek(key) if key == topic else None)
            if state.row(topic).parent is not None
            else Step(state)
        ),
    )


def _own_topics(state: State, node: wendy.Node, seek: Seek) -> Next:
    return ON_NODE_JOINED(state, node, lambda key: seek(key) if state.row(key).is_local else None)


def _another_parent(state: State, node: wendy.Node, seek: Seek) -> Next:
    is_parent = any(row.parent is not None and row.parent.id == node.id for row in state.topics.values())
    return Step(state) if is_parent else ON_NODE_JOINED(state, node, seek)


class TrustsItsParent(Wrong):
    """Does nothing when its parent announces itself again."""

    caught_by: ClassVar = (
        *(
            "joined-again-as-the-parent",
            "joined-again-as-the-parent-of-two-topics",
            "parent-in-no-table-joins",
            "the-parent-is-back",
        ),
        "parent-at-a-new-address-joins",
    )
    instead: ClassVar = {"tree.on_node_joined": _another_parent}


def _at_the_old_address(state: State, node: wendy.Node, seek: Seek) -> Next:
    known = [row.parent for row in state.topics.values() if row.parent is not None and row.parent.id == node.id]
    return ON_NODE_JOINED(state, known[0] if known else node, seek)


def _all_again(state: State, seek: Seek, *_: Any) -> Next:
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        state, more = tree.subscribe_to_parent(state, topic, row, seek)
        effects += more
    return Step(state, effects)


ON_REROUTED = tree.on_rerouted


def _without_new(state: State, notice: Any, seek: Seek) -> Next:
    return TOLD(state, messages.Rerouted() if isinstance(notice, messages.Rerouted) else notice, seek)


def _whenever_measured(state: State, seek: Seek, new: Any) -> Next:
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        hop = seek(topic)
        if hop is not None and new:
            effects += (*tree.tree_message(row.parent, topic, UNSUBSCRIBE), *tree.tree_message(hop, topic, SUBSCRIBE))
            state = state.with_row(topic, row._replace(parent=hop))
    return Step(state, effects)


def _one_by_one(state: State, is_gone: Any, seek: Seek) -> Next:
    step = DEPARTED(state, is_gone, seek)
    return Step(step.state, tuple(reversed(step.effects)))


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


def _of_all_topics(state: State, is_gone: Any, seek: Seek) -> Next:
    is_lost = any(row.parent is not None and is_gone(row.parent) for row in state.topics.values())
    state, effects = DEPARTED(state, is_gone, seek)
    asked = {effect.command.key for effect in effects if sent_to(effect, SUBSCRIBE)}
    for topic in state.topics:
        if is_lost and topic not in asked:
            effects += tree.tree_message(seek(topic), topic, SUBSCRIBE)
    return Step(state, effects)


def _whoever(state: State, is_gone: Any, seek: Seek) -> Next:
    state, effects = DEPARTED(state, is_gone, seek)
    if not effects:
        for topic, row in state.topics.items():
            effects += tree.tree_message(row.parent, topic, SUBSCRIBE)
    return Step(state, effects)


def _to_the_departed(state: State, is_gone: Any, seek: Seek) -> Next:
    gone = {topic: row.parent for topic, row in state.topics.items() if row.parent is not None and is_gone(row.parent)}
    state, effects = DEPARTED(state, is_gone, seek)
    for topic, parent in gone.items():
        if topic not in state.topics:
            effects += tree.tree_message(parent, topic, UNSUBSCRIBE)
    return Step(state, effects)


class KnowsWhatWendyKnows(Wrong):
    """Learns only from Wendy who has departed."""

    caught_by: ClassVar = (
        *("copy-that-does-not-arrive", "copy-that-does-not-arrive-at-one-of-two", "child-of-two-topics-does-not-answer"),
        "parent-of-two-topics-does-not-answer",
    )
    instead: ClassVar = {
        "overlay.Trees.step": staticmethod(
            lambda state, event, seek: Step(state) if isinstance(event, Sent) else STEP(state, event, seek)
        )
    }


def _rerouted(state: State, notice: Any, seek: Seek) -> Next:
    if isinstance(notice, wendy.Forwarding):
        message = messages.lift_message(notice.message)
        if isinstance(message, messages.NotifyMessage) and message.header.sender.id == state.config.id:
            return Step(state, (Request(wendy.Forward(notice.message)),))
    return TOLD(state, notice, seek)


class DepartedForEver(Wrong):
    """Takes nobody back for a child who had departed."""

    caught_by: ClassVar = ("departed-child-is-back",)
    gone: frozenset[Any] = frozenset()

    def initial(self, self_id: Any, config: Any) -> Next:
        """Nobody yet."""
        self.gone = frozenset()
        return super().initial(self_id, config)

    def step(self, state: Any, event: Any, pick: Any) -> Next:
        """Passes over them."""
        message = getattr(event, "message", None)
        if isinstance(message, messages.SubscribeMessage) and message.header.sender.id in self.gone:
            return Step(state)
        step = super().step(state, event, pick)
        self.gone |= {e.notice.node.id for e in step.effects if isinstance(getattr(e, "notice", None), wendy.NodeExited)}
        return step


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "AsksWithoutTakingBack": (
            "Subscribes at the joined node and says nothing to the parent of before.",
            {"tree.on_node_joined": lambda state, node, seek: without(ON_NODE_JOINED(state, node, seek), UNSUBSCRIBE)},
            "joined-on-the-way joined-nearer-to-one-topic",
        ),
        "TakesBackByRouting": (
            "Sends the UNSUBSCRIBE where routing leads, which is the joined node [PX-04].",
            {"tree.on_node_joined": _unsubscribed_there},
            "joined-on-the-way joined-nearer-to-two-topics",
        ),
        "SubscribesFirst": (
            "Subscribes at the joined node before it unsubscribes, and begins with the largest id.",
            {"tree.on_node_joined": _the_other_way_round},
            "joined-on-the-way joined-nearer-to-two-topics joined-again-as-the-parent-of-two-topics",
        ),
        "LooksAtTopicsWithParents": (
            "Looks at the topics that have a parent, as the original meant to.",
            {"tree.on_node_joined": _not_as_the_root, "tree.on_rerouted": nothing},
            "joined-as-the-new-meeting-point joined-as-the-new-meeting-point-of-children new-meeting-point",
        ),
        "LooksAtOwnTopics": (
            "Looks at the topics to which it is subscribed itself.",
            {"tree.on_node_joined": _own_topics},
            "joined-on-the-way",
        ),
        "AsksAtTheOldAddress": (
            "Asks a parent that is back at the address that it had before.",
            {"tree.on_node_joined": _at_the_old_address},
            "parent-at-a-new-address-joins",
        ),
        "StaysTheMeetingPoint": (
            "Stays the meeting point of what it was the meeting point of, as long as nobody announces itself.",
            {"tree.on_rerouted": nothing},
            "own-join own-join-of-two-topics meeting-point-hears-of-a-nearer-node",
        ),
        "KeepsItsParent": (
            "Keeps its parent when a next hop is new of which it is not told as a joiner. [PA-27, PX-08]",
            {"tree.on_notice": _without_new},
            "measured-on-the-way next-hop-changes-by-hearsay",
        ),
        "KeepsItsParentAsItJoins": (
            "Keeps the parent that it chose while it was joining. [PA-27]",
            {"tree.on_rerouted": lambda state, seek, new: ON_REROUTED(state, seek, new or frozenset())},
            "own-join-on-another-way",
        ),
        "LeavesWhoeverIsItsParent": (
            "Unsubscribes and subscribes for each topic whenever its tables have somebody new, on the way or not. [P-19, PA-27]",
            {"tree.on_rerouted": _whenever_measured},
            "measured-beside-the-way",
        ),
        "LooksOnceOnly": (
            "Looks for a next hop when it has joined, and never again.",
            {
                "tree.on_notice": lambda state, notice, seek: (
                    Step(state) if isinstance(notice, messages.Rerouted) else TOLD(state, notice, seek)
                )
            },
            "meeting-point-hears-of-a-nearer-node meeting-point-of-three-topics-hears",
        ),
        "AsksAllAgainAfterJoining": (
            "Asks for all its topics again when it has joined.",
            {
                "tree.on_notice": lambda state, notice, seek: (
                    tree.after(notice, _all_again(state, seek)) if isinstance(notice, wendy.Joined) else TOLD(state, notice, seek)
                )
            },
            "own-join-before-it-is-over",
        ),
        "RepairsTheLastFirst": (
            "Repairs the topic with the largest id first.",
            {"tree.on_departure": _one_by_one},
            "child-of-three-topics-leaves",
        ),
        "KeepsDepartedChildren": (
            "Keeps who has departed as a child.",
            {"tree.on_departure": lambda state, is_gone, seek: _with(state, is_gone, seek, children=False, parents=True)},
            "one-of-two-children-leaves last-child-leaves copy-that-does-not-arrive a-child-crashes",
        ),
        "KeepsDepartedParents": (
            "Keeps who has departed as its parent.",
            {"tree.on_departure": lambda state, is_gone, seek: _with(state, is_gone, seek, children=True, parents=False)},
            "parent-leaves parent-leaves-and-nobody-is-nearer subscribe-that-does-not-arrive",
        ),
        "AsksForAllTopics": (
            "Subscribes to all its topics again when it has lost one parent.",
            {"tree.on_departure": _of_all_topics},
            "parent-of-one-of-two-topics-leaves",
        ),
        "SubscribesAtEachDeparture": (
            "Sends its SUBSCRIBEs again whoever departs.",
            {"tree.on_departure": _whoever},
            "somebody-else-leaves one-of-two-children-leaves",
        ),
        "TellsTheDeparted": (
            "Sends an UNSUBSCRIBE to a parent that has departed.",
            {"tree.on_departure": _to_the_departed},
            "child-and-parent-leaves",
        ),
        "RoutesLostCopies": ("Routes a copy that did not arrive.", {"tree.on_notice": _rerouted}, "copy-goes-nowhere-else"),
    },
)
__getattr__ = MISTAKES.find
