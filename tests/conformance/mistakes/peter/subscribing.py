"""Mistakes about who is interested, and whom to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants, around, with_header, with_values

from peerproof.reference.divergences.peter import ASKED_FOR, ON_SUBSCRIBE_MESSAGE, TURNED, Next, sent_to
from peerproof.spec import wendy
from peerproof.spec.core import Pick, Received, Step
from peerproof.spec.peter import messages, tree
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Request, Seek

wrong = Variants(__name__, Wrong)
Id = wendy.Id
Node = wendy.Node


def told_otherwise(state: State, topic: Id, row: Row, seek: Seek, other: Callable[[Any], tuple[Any, ...]]) -> Next:
    """A step whose UNSUBSCRIBE is something else."""
    step = TURNED(state, topic, row, seek)
    effects: tuple[Any, ...] = ()
    for effect in step.effects:
        effects += other(effect) if sent_to(effect, UNSUBSCRIBE) else (effect,)
    return Step(step.state, effects)


@wrong(
    "tree.update_row",
    "last-child-of-a-subscriber-goes subscriber-with-a-child-unsubscribes subscriber-gets-a-child forwarder-subscribes "
    "subscriber-then-child-both-go again-and-again",
)
def CountsEachForItself(right: Any, state: State, topic: Id, row: Row, seek: Seek) -> Any:
    """Asks for its own interest and for that of its children as if the other were not there [PX-01]."""
    before = state.row(topic)
    begins = (row.children and not before.children) or (row.is_local and not before.is_local)
    ceases = (before.children and not row.children) or (before.is_local and not row.is_local)
    if begins:
        return ASKED_FOR(state, topic, row, seek)
    return Step(state.with_row(topic, row), tree.tree_message(before.parent, topic, UNSUBSCRIBE) if ceases else ())


@wrong("step", "unsubscribe-from-another-address")
def TakesTheSenderOfTheConnection(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Has for the child whoever the message came from, and not who it says it is."""
    tree_message = (messages.SubscribeMessage, messages.UnsubscribeMessage)
    if isinstance(event, Received) and isinstance(message := event.message, tree_message):
        host, _, port = event.sender.rpartition(":")
        sender = message.header.sender._replace(local_ip=host, global_ip=host, port=int(port))
        if isinstance(message, messages.UnsubscribeMessage) and sender != message.header.sender:
            return Step(state)
        event = replace(event, message=with_header(message, sender=sender))
    return right(state, event, pick)


@wrong("tree.on_subscribe_message", "forwarder-asks-for-its-child subscribe-messages-in-bytes")
def KeepsTheOriginator(right: Any, state: State, topic: Id, child: Node, seek: Seek) -> Any:
    """Sends the SUBSCRIBE on in the name of its child."""
    state, effects = right(state, topic, child, seek)
    header = wendy.Header(child, topic)
    passed_on = tuple(
        Request(wendy.Forward(wendy.Application(header, SUBSCRIBE, b""))) if sent_to(effect, SUBSCRIBE) else effect
        for effect in effects
    )
    return Step(state, passed_on)


@wrong("tree.on_subscribe_message", "child-that-is-in-no-table forty-children")
def WantsToKnowItsChildren(right: Any, state: State, topic: Id, child: Node, seek: Seek) -> Any:
    """Takes nobody for a child who is in none of its tables."""
    there = seek(child.id)
    return right(state, topic, child, seek) if there is not None and there.id == child.id else Step(state)


@wrong("tree.on_subscribe_message", "child-on-the-way-to-the-topic child-and-parent-leaves joined-as-a-child")
def WantsFurtherChildren(right: Any, state: State, topic: Id, child: Node, seek: Seek) -> Any:
    """Takes nobody for a child who is nearer to the topic."""
    rank = state.config.ring.rank
    is_further = rank(child.id, topic) > rank(state.config.id, topic)
    return right(state, topic, child, seek) if is_further else Step(state)


@wrong("tree.on_message", "meeting-point-sends-nothing publish-at-the-meeting-point some-subscribe")
def PassesOverSubscriptionsAtTheEnd(right: Any, state: State, message: Any, seek: Seek) -> Any:
    """Looks at messages of the tree only while they are on their way."""
    is_tree = isinstance(message, (messages.SubscribeMessage, messages.UnsubscribeMessage))
    return Step(state) if is_tree and seek(message.header.key) is None else right(state, message, seek)


@wrong("tree.on_message", "subscribe-with-many-hops")
def DropsOldSubscriptions(right: Any, state: State, message: Any, seek: Seek) -> Any:
    """Drops a SUBSCRIBE that was sent on often."""
    is_old = isinstance(message, messages.SubscribeMessage) and message.header.hop > 16  # many, to this one
    return Step(state) if is_old else right(state, message, seek)


@wrong("step", "tie-seen-from-above tie-seen-from-below")
def AsksBelow(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Takes of two nodes that are equally far the upper one."""
    from unittest import mock

    from peerproof.spec.wendy.ids import Ring

    rank = Ring.rank

    def flipped(ring: Ring, node: Any, key: Any) -> int:
        return rank(ring, node, key) ^ 1

    with mock.patch.object(Ring, "rank", flipped):
        return right(state, event, pick)


class RemembersOverRestarts(Wrong):
    """Is subscribed to what it was subscribed to before it started again."""

    caught_by: ClassVar = ("after-a-restart-nothing-is-left", "back-after-a-crash")

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[Any, Any] = {}

    def initial(self, self_id: Any, config: Any) -> Any:
        """Puts the topics back."""
        first = super().initial(self_id, config)
        return with_values(first, upper=self.kept[self_id]) if self_id in self.kept else first

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Keeps the topics."""
        step = super().step(state, event, pick)
        self.kept[state.self_id] = step.state.upper
        return step


wrong |= {
    # Sends to the address that a child had first.
    "KeepsTheFirstAddress: child-at-a-new-address copy-to-the-new-address": around(
        "tree.on_subscribe_message",
        lambda right, state, topic, child, seek: right(state, topic, state.row(topic).children.get(child.id, child), seek),
    ),
    # Sends a SUBSCRIBE each time that it subscribes.
    "AsksEachTime: subscribe-twice forwarder-subscribes": {
        "tree.on_subscribe": lambda state, topic, seek: ASKED_FOR(state, topic, state.row(topic)._replace(is_local=True), seek)
    },
    # Never sends an UNSUBSCRIBE.
    "LeavesQuietly: subscriber-unsubscribes last-child-goes unsubscribe-messages-in-bytes": {
        "tree.update_row": lambda state, topic, row, seek: told_otherwise(state, topic, row, seek, lambda _: ())
    },
    # Keeps its children to itself, as if it were the meeting point of everything.
    "AsksForNobody: forwarder-asks-for-its-child subscriber-asks-its-next-hop subscribe-messages-in-bytes": {
        "tree.subscribe_to_parent": lambda state, topic, row, _: Step(state.with_row(topic, row))
    },
    # Shows topics that nobody wants any more.
    "KeepsForgottenTopics: subscriber-unsubscribes last-child-of-the-root-goes unsubscribed-again": {
        "topics.State.with_row": lambda state, topic, row: replace(state, topics=state.topics.put({topic: row}))
    },
    # Has room for a hundred children.
    "HasFewChildren: three-hundred-children a-hundred-and-twenty-children": {"tree.MOST_CHILDREN": 100},
    # Has room for sixteen children.
    "HasVeryFewChildren: forty-children three-hundred-children": {"tree.MOST_CHILDREN": 16},
    # Takes itself for a child, whoever says so.
    "IsItsOwnChild: own-id-as-the-child own-id-as-the-child-at-the-root": {
        "tree.is_reachable": lambda _, node: node.port > 0 and bool(node.local_ip)
    }
    | around(
        "tree.on_message",
        lambda right, state, message, seek: (
            ON_SUBSCRIBE_MESSAGE(state, message.header.key, message.header.sender, seek)
            if isinstance(message, messages.SubscribeMessage)
            else right(state, message, seek)
        ),
    ),
    # Takes for children whoever cannot be sent to.
    "TakesAnyAddress: child-without-an-address child-without-a-port child-at-the-own-address": {
        "tree.is_reachable": lambda state, node: node.id != state.config.id
    },
    # Believes an UNSUBSCRIBE in its own name.
    "BelievesItself: own-id-as-the-child-that-goes": around(
        "tree.on_message",
        lambda right, state, message, seek: (
            tree.on_unsubscribe(state, message.header.key, seek)
            if isinstance(message, messages.UnsubscribeMessage) and message.header.sender.id == state.config.id
            else right(state, message, seek)
        ),
    ),
    # Removes the first child, whoever unsubscribes.
    "AnyChildGoes: unsubscribe-of-no-child": around(
        "tree.on_unsubscribe_message",
        lambda right, state, topic, child, seek: right(state, topic, next(iter(state.row(topic).children.values()), child), seek),
    ),
    # Asks the parent of its first topic for all others, too.
    "KnowsOneParent: two-topics-with-two-parents": around(
        "tree.subscribe_to_parent",
        lambda right, state, topic, row, seek: right(state, topic, row, lambda key: seek(next(iter(state.topics), key))),
    ),
    # Knows no limit to its children.
    "KeepsEverybody: children-of-all-topics": {"tree.MOST_CHILDREN": 2**20},
}
__getattr__ = wrong.find
