"""Mistakes in announcing oneself, in noticing races, and in what a warning leads to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.joining import with_messages
from tests.support.variant import Variants, around

from peerproof.spec.core import Notify, Pick, Send, Step
from peerproof.spec.wendy import joining, proximity
from peerproof.spec.wendy.messages import NO_VERSIONS, Joined, NodeAnnouncement, Tables
from peerproof.spec.wendy.state import State

wrong = Variants(__name__, Wrong)
Next = Step[Any, Any]
ANNOUNCED = joining.announce
ON_NODE_ANNOUNCEMENT = joining.on_node_announcement
TOLD = proximity.learn_tables


def told_by(told: Any) -> dict[str, Any]:
    """What is replaced to learn something else from a message."""
    return {"joining.learn_tables": told}


class InsertsWhomItWarns(Wrong):
    """Warns an announcer, and inserts it."""

    caught_by: ClassVar = (
        *(f"announcement-with-an-old-{table}" for table in ("routing-table", "leaf-set", "neighborhood-set")),
        "the-departed-comes-back-and-is-warned",
    )

    @staticmethod
    def _on_announcement(state: State, announcement: NodeAnnouncement) -> Next:
        step = ON_NODE_ANNOUNCEMENT(state, announcement)
        after, effects = TOLD(step.state, announcement.header.sender, announcement.tables)
        return step if after is step.state else Step(after, (*step.effects, *effects))

    instead: ClassVar = {"transitions.on_node_announcement": _on_announcement}


@wrong("step", "announcement-after-the-wait the-versions-of-each versions-that-were-sent")
def OwnVersionsInAnnouncements(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Puts its own versions into announcements."""
    step = right(state, event, pick)
    own = step.state.versions
    return with_messages(step, NodeAnnouncement, lambda said: replace(said, header=replace(said.header, versions=own)))


@wrong("step", "the-versions-of-each versions-that-were-sent the-larger-versions-stay a-warning-is-applied-and-announced")
def NoVersionsInAnnouncements(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Keeps no versions."""
    step = right(state, event, pick)
    return with_messages(step, NodeAnnouncement, lambda said: replace(said, header=replace(said.header, versions=NO_VERSIONS)))


class AnnouncesToLeaves(Wrong):
    """Announces itself to its leaves only."""

    caught_by: ClassVar = (
        "everybody-is-told-once",
        "who-is-no-leaf-is-announced-to",
    )

    @staticmethod
    def _announced(state: State) -> Next:
        leaves = {node.id for side in state.leaf_set for node in side}
        after, effects = ANNOUNCED(state)
        addresses = {f"{node.local_ip}:{node.port}" for node in state.known.values() if node.id in leaves}
        return Step(after, tuple(effect for effect in effects if isinstance(effect, Send) and effect.to in addresses))

    instead: ClassVar = {"joining.announce": _announced}


class AnnouncesPerTable(Wrong):
    """Announces itself once for each table that somebody is in."""

    caught_by: ClassVar = ("everybody-is-told-once", "announcement-after-the-wait")

    @staticmethod
    def _announced(state: State) -> Next:
        after, effects = ANNOUNCED(state)
        return Step(after, (*effects, *effects))

    instead: ClassVar = {"joining.announce": _announced}


@wrong("step", "announcement-after-the-wait")
def JoinsInSilence(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Does not tell that it has joined."""
    step = right(state, event, pick)
    return step._replace(effects=tuple(e for e in step.effects if not (isinstance(e, Notify) and isinstance(e.notice, Joined))))


wrong |= {
    # Accepts every announcement.
    "NeverWarns: who-is-known-is-warned-too announcement-with-an-old-routing-table announcement-with-an-old-leaf-set "
    "announcement-with-an-old-neighborhood-set the-same-announcement-twice the-versions-of-the-moment two-join-at-once": {
        "joining.is_newer": lambda *_: False
    },
    # Announces itself without its tables.
    "AnnouncesNoTables: warned-by-a-leaf announcement-after-the-wait stragglers-are-applied "
    "a-warning-is-applied-and-announced": around(
        "step",
        lambda right, state, event, pick: with_messages(
            right(state, event, pick), NodeAnnouncement, lambda said: replace(said, tables=Tables())
        ),
    ),
    # Warns also of versions that are later than its own.
    "WarnsAtAnyDifference: announcement-with-later-versions the-departed-comes-back "
    "versions-in-an-announcement-are-the-receivers": {"joining.is_newer": lambda own, included: own != included},
    # Warns of the versions that it has.
    "WarnsAtEqualVersions: who-is-known-is-not-warned-in-vain announcement-with-the-same-versions "
    "announcement-to-somebody-alone": {
        "joining.is_newer": lambda own, included: any(a >= b for a, b in zip(own, included, strict=True))
    },
}
__getattr__ = wrong.find
