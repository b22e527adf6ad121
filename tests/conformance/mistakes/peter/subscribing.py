"""Mistakes about who is interested, and whom to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.peter import ASKED_FOR, ON_SUBSCRIBE_MESSAGE, ON_UNSUBSCRIBE_MESSAGE, TURNED, Next, sent_to
from peerproof.spec import wendy
from peerproof.spec.core import Pick, Received, Step
from peerproof.spec.peter import messages, tree
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Request, Seek

Id = wendy.Id
Node = wendy.Node

ON_MESSAGE = tree.on_message


def told_otherwise(state: State, topic: Id, row: Row, seek: Seek, other: Callable[[Any], tuple[Any, ...]]) -> Next:
    """A step whose UNSUBSCRIBE is something else."""
    step = TURNED(state, topic, row, seek)
    effects: tuple[Any, ...] = ()
    for effect in step.effects:
        effects += other(effect) if sent_to(effect, UNSUBSCRIBE) else (effect,)
    return Step(step.state, effects)


def _children_only(state: State, topic: Id, row: Row, seek: Seek) -> Next:
    before = state.row(topic)
    begins = (row.children and not before.children) or (row.is_local and not before.is_local)
    ceases = (before.children and not row.children) or (before.is_local and not row.is_local)
    if begins:
        return ASKED_FOR(state, topic, row, seek)
    return Step(state.with_row(topic, row), tree.tree_message(before.parent, topic, UNSUBSCRIBE) if ceases else ())


class CountsEachForItself(Wrong):
    """Asks for its own interest and for that of its children as if the other were not there [PX-01]."""

    caught_by: ClassVar = (
        *("last-child-of-a-subscriber-goes", "subscriber-with-a-child-unsubscribes", "subscriber-gets-a-child"),
        *("forwarder-subscribes", "subscriber-then-child-both-go", "again-and-again"),
    )
    instead: ClassVar = {"tree.update_row": _children_only}


def _as_the_meeting_point(state: State, topic: Id, row: Row, _: Seek) -> Next:
    return Step(state.with_row(topic, row))


class TakesTheSenderOfTheConnection(Wrong):
    """Has for the child whoever the message came from, and not who it says it is."""

    caught_by: ClassVar = ("unsubscribe-from-another-address",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Replaces the sender."""
        tree_message = (messages.SubscribeMessage, messages.UnsubscribeMessage)
        if isinstance(event, Received) and isinstance(message := event.message, tree_message):
            host, _, port = event.sender.rpartition(":")
            sender = message.header.sender._replace(local_ip=host, global_ip=host, port=int(port))
            if isinstance(message, messages.UnsubscribeMessage) and sender != message.header.sender:
                return Step(state)
            event = replace(event, message=replace(message, header=replace(message.header, sender=sender)))
        return super().step(state, event, pick)


def _originator(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    state, effects = ON_SUBSCRIBE_MESSAGE(state, topic, child, seek)
    header = wendy.Header(child, topic)
    passed_on = tuple(
        Request(wendy.Forward(wendy.Application(header, SUBSCRIBE, b""))) if sent_to(effect, SUBSCRIBE) else effect
        for effect in effects
    )
    return Step(state, passed_on)


def _known_only(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    there = seek(child.id)
    return ON_SUBSCRIBE_MESSAGE(state, topic, child, seek) if there is not None and there.id == child.id else Step(state)


def _further_ones_only(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    rank = state.config.ring.rank
    is_further = rank(child.id, topic) > rank(state.config.id, topic)
    return ON_SUBSCRIBE_MESSAGE(state, topic, child, seek) if is_further else Step(state)


def _not_at_the_meeting_point(state: State, message: Any, seek: Seek) -> Next:
    is_tree = isinstance(message, (messages.SubscribeMessage, messages.UnsubscribeMessage))
    return Step(state) if is_tree and seek(message.header.key) is None else ON_MESSAGE(state, message, seek)


def _anybody(_: State, node: Node) -> bool:
    return node.port > 0 and bool(node.local_ip)


def _first_address(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    known = state.row(topic).children.get(child.id, child)
    return ON_SUBSCRIBE_MESSAGE(state, topic, known, seek)


def _by_hops(state: State, message: Any, seek: Seek) -> Next:
    is_old = isinstance(message, messages.SubscribeMessage) and message.header.hop > 16  # many, to this one
    return Step(state) if is_old else ON_MESSAGE(state, message, seek)


class AsksBelow(Wrong):
    """Takes of two nodes that are equally far the upper one."""

    caught_by: ClassVar = ("tie-seen-from-above", "tie-seen-from-below")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Has the other one for closer."""
        from unittest import mock

        from peerproof.spec.wendy.ids import Ring

        rank = Ring.rank

        def flipped(ring: Ring, node: Any, key: Any) -> int:
            return rank(ring, node, key) ^ 1

        with mock.patch.object(Ring, "rank", flipped):
            return super().step(state, event, pick)


class RemembersOverRestarts(Wrong):
    """Is subscribed to what it was subscribed to before it started again."""

    caught_by: ClassVar = ("after-a-restart-nothing-is-left", "back-after-a-crash")

    def initial(self, self_id: Any, config: Any) -> Any:
        """Puts the topics back."""
        first = super().initial(self_id, config)
        kept = self.kept.get(self_id)
        return first if kept is None else first._replace(state=replace(first.state, upper=kept))

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Keeps the topics."""
        step = super().step(state, event, pick)
        self.kept = {**self.kept, state.self_id: step.state.upper}
        return step

    kept: dict[Any, Any] = {}  # noqa: RUF012  # replaced, never changed


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "AsksEachTime": (
            "Sends a SUBSCRIBE each time that it subscribes.",
            {
                "tree.on_subscribe": lambda state, topic, seek: ASKED_FOR(
                    state, topic, state.row(topic)._replace(is_local=True), seek
                )
            },
            "subscribe-twice forwarder-subscribes",
        ),
        "LeavesQuietly": (
            "Never sends an UNSUBSCRIBE.",
            {"tree.update_row": lambda state, topic, row, seek: told_otherwise(state, topic, row, seek, lambda _: ())},
            "subscriber-unsubscribes last-child-goes unsubscribe-messages-in-bytes",
        ),
        "AsksForNobody": (
            "Keeps its children to itself, as if it were the meeting point of everything.",
            {"tree.subscribe_to_parent": _as_the_meeting_point},
            "forwarder-asks-for-its-child subscriber-asks-its-next-hop subscribe-messages-in-bytes",
        ),
        "KeepsForgottenTopics": (
            "Shows topics that nobody wants any more.",
            {"topics.State.with_row": lambda state, topic, row: replace(state, topics=state.topics.put({topic: row}))},
            "subscriber-unsubscribes last-child-of-the-root-goes unsubscribed-again",
        ),
        "KeepsTheOriginator": (
            "Sends the SUBSCRIBE on in the name of its child.",
            {"tree.on_subscribe_message": _originator},
            "forwarder-asks-for-its-child subscribe-messages-in-bytes",
        ),
        "WantsToKnowItsChildren": (
            "Takes nobody for a child who is in none of its tables.",
            {"tree.on_subscribe_message": _known_only},
            "child-that-is-in-no-table forty-children",
        ),
        "WantsFurtherChildren": (
            "Takes nobody for a child who is nearer to the topic.",
            {"tree.on_subscribe_message": _further_ones_only},
            "child-on-the-way-to-the-topic child-and-parent-leaves joined-as-a-child",
        ),
        "PassesOverSubscriptionsAtTheEnd": (
            "Looks at messages of the tree only while they are on their way.",
            {"tree.on_message": _not_at_the_meeting_point},
            "meeting-point-sends-nothing publish-at-the-meeting-point some-subscribe",
        ),
        "HasFewChildren": (
            "Has room for a hundred children.",
            {"tree.MOST_CHILDREN": 100},
            "three-hundred-children a-hundred-and-twenty-children",
        ),
        "HasVeryFewChildren": (
            "Has room for sixteen children.",
            {"tree.MOST_CHILDREN": 16},
            "forty-children three-hundred-children",
        ),
        "IsItsOwnChild": (
            "Takes itself for a child, whoever says so.",
            {
                "tree.is_reachable": _anybody,
                "tree.on_message": lambda state, message, seek: (
                    ON_SUBSCRIBE_MESSAGE(state, message.header.key, message.header.sender, seek)
                    if isinstance(message, messages.SubscribeMessage)
                    else ON_MESSAGE(state, message, seek)
                ),
            },
            "own-id-as-the-child own-id-as-the-child-at-the-root",
        ),
        "TakesAnyAddress": (
            "Takes for children whoever cannot be sent to.",
            {"tree.is_reachable": lambda state, node: node.id != state.config.id},
            "child-without-an-address child-without-a-port child-at-the-own-address",
        ),
        "KeepsTheFirstAddress": (
            "Sends to the address that a child had first.",
            {"tree.on_subscribe_message": _first_address},
            "child-at-a-new-address copy-to-the-new-address",
        ),
        "DropsOldSubscriptions": (
            "Drops a SUBSCRIBE that was sent on often.",
            {"tree.on_message": _by_hops},
            "subscribe-with-many-hops",
        ),
        "BelievesItself": (
            "Believes an UNSUBSCRIBE in its own name.",
            {
                "tree.on_message": lambda state, message, seek: (
                    tree.on_unsubscribe(state, message.header.key, seek)
                    if isinstance(message, messages.UnsubscribeMessage) and message.header.sender.id == state.config.id
                    else ON_MESSAGE(state, message, seek)
                )
            },
            "own-id-as-the-child-that-goes",
        ),
        "AnyChildGoes": (
            "Removes the first child, whoever unsubscribes.",
            {
                "tree.on_unsubscribe_message": lambda state, topic, child, seek: ON_UNSUBSCRIBE_MESSAGE(
                    state, topic, next(iter(state.row(topic).children.values()), child), seek
                )
            },
            "unsubscribe-of-no-child",
        ),
        "KnowsOneParent": (
            "Asks the parent of its first topic for all others, too.",
            {
                "tree.subscribe_to_parent": lambda state, topic, row, seek: ASKED_FOR(
                    state, topic, row, lambda key: seek(next(iter(state.topics), key))
                )
            },
            "two-topics-with-two-parents",
        ),
        "KeepsEverybody": ("Knows no limit to its children.", {"tree.MOST_CHILDREN": 2**20}, "children-of-all-topics"),
    },
)
__getattr__ = MISTAKES.find
