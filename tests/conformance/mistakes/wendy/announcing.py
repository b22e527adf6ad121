"""Mistakes in announcing oneself, in noticing races, and in what a warning leads to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.joining import with_messages
from tests.support.variant import received, variants

from peerproof.spec.core import Notify, Pick, Send, Sent, Step
from peerproof.spec.wendy import joining, proximity
from peerproof.spec.wendy.messages import NO_VERSIONS, Joined, NodeAnnouncement, NodeJoined, NodeRace, Tables, Versions
from peerproof.spec.wendy.state import Stage, State

Next = Step[Any, Any]

ANNOUNCED = joining.announce
ANNOUNCED_AGAIN = joining.announce_again
ON_NODE_ANNOUNCEMENT = joining.on_node_announcement
TOLD = proximity.learn_tables
WITH_VERSIONS = joining.with_versions


def told_by(told: Any) -> dict[str, Any]:
    """What is replaced to learn something else from a message."""
    return {"joining.learn_tables": told}


class NeverWarns(Wrong):
    """Accepts every announcement."""

    caught_by: ClassVar = (
        "who-is-known-is-warned-too",
        *(f"announcement-with-an-old-{table}" for table in ("routing-table", "leaf-set", "neighborhood-set")),
        *("the-same-announcement-twice", "the-versions-of-the-moment", "two-join-at-once"),
    )
    instead: ClassVar = {"joining.is_newer": lambda *_: False}


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


class WarnsWithoutTables(Wrong):
    """Sends warnings with nothing in them."""

    caught_by: ClassVar = ("announcement-with-an-old-leaf-set", "the-same-announcement-twice", "two-join-at-once")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves the tables out."""
        return with_messages(super().step(state, event, pick), NodeRace, lambda race: replace(race, tables=Tables()))


class LateVersions(Wrong):
    """Counts one more in the versions of a warning."""

    caught_by: ClassVar = ("the-versions-of-the-moment", "announcement-with-an-old-leaf-set")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """As if something had come between."""
        later = Versions(*(version + 1 for version in state.versions))
        step = super().step(state, event, pick)
        return with_messages(step, NodeRace, lambda race: replace(race, header=replace(race.header, versions=later)))


class OnlyTheAnnouncer(Wrong):
    """Inserts who announces itself, and nobody of its tables."""

    caught_by: ClassVar = ("announcement-with-the-same-versions", "all-tables-of-an-announcement")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Passes the tables over."""
        if received(event, NodeAnnouncement):
            event = replace(event, message=replace(event.message, tables=Tables()))
        return super().step(state, event, pick)


class OnlyTheTables(Wrong):
    """Inserts the nodes of an announcement's tables, and not the announcer."""

    caught_by: ClassVar = ("announcement-to-somebody-alone", "announcement-with-the-same-versions", "two-nodes")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Has a sender without an address."""
        if received(event, NodeAnnouncement):
            header = event.message.header
            nobody = header.sender._replace(local_ip="", global_ip="")
            event = replace(event, message=replace(event.message, header=replace(header, sender=nobody)))
        return super().step(state, event, pick)


class OwnVersionsInAnnouncements(Wrong):
    """Puts its own versions into announcements."""

    caught_by: ClassVar = ("announcement-after-the-wait", "the-versions-of-each", "versions-that-were-sent")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces them."""
        step = super().step(state, event, pick)
        own = step.state.versions
        return with_messages(step, NodeAnnouncement, lambda said: replace(said, header=replace(said.header, versions=own)))


class NoVersionsInAnnouncements(Wrong):
    """Keeps no versions."""

    caught_by: ClassVar = (
        "the-versions-of-each",
        "versions-that-were-sent",
        "the-larger-versions-stay",
        "a-warning-is-applied-and-announced",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces them."""
        step = super().step(state, event, pick)
        return with_messages(
            step, NodeAnnouncement, lambda said: replace(said, header=replace(said.header, versions=NO_VERSIONS))
        )


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


class AnnouncesNoTables(Wrong):
    """Announces itself without its tables."""

    caught_by: ClassVar = (
        "warned-by-a-leaf",
        "announcement-after-the-wait",
        "stragglers-are-applied",
        "a-warning-is-applied-and-announced",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves them out."""
        return with_messages(super().step(state, event, pick), NodeAnnouncement, lambda said: replace(said, tables=Tables()))


class JoinsInSilence(Wrong):
    """Does not tell that it has joined."""

    caught_by: ClassVar = ("announcement-after-the-wait",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves that out."""
        step = super().step(state, event, pick)
        return step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, Notify) and isinstance(e.notice, Joined)))
        )


class MeetsInSilence(Wrong):
    """Does not tell who has joined."""

    caught_by: ClassVar = ("announcement-with-the-same-versions", "announcement-to-somebody-alone", "the-departed-comes-back")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves that out."""
        step = super().step(state, event, pick)
        kept = tuple(e for e in step.effects if not (isinstance(e, Notify) and isinstance(e.notice, NodeJoined)))
        return step._replace(effects=kept)


class AnnouncesAtOnce(Wrong):
    """Announces itself for each warning, at once."""

    caught_by: ClassVar = (
        "warnings-wait-for-the-others",
        "several-warnings-one-announcement",
        "warnings-wait-for-the-others-by-messages",
        "several-warnings-one-announcement-by-messages",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Waits for nobody."""
        return super().step(replace(state, announcing=frozenset()), event, pick)


class WaitsForTheLost(Wrong):
    """Waits for an announcement that never arrives."""

    caught_by: ClassVar = (
        "a-warning-and-one-that-is-gone",
        "a-warning-and-one-that-is-gone-by-messages",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Goes on waiting."""
        step = super().step(state, event, pick)
        if isinstance(event, Sent) and event.took is None and isinstance(event.message, NodeAnnouncement):
            return with_messages(step, NodeAnnouncement, lambda _: None)
        return step


class AnnouncesToWhoWarned(Wrong):
    """Announces itself again to those only who have warned it."""

    caught_by: ClassVar = (
        "a-warning-without-news",
        "announced-again-to-everybody",
        "several-warnings-one-announcement",
        "announced-again-to-everybody-by-messages",
        "a-warning-without-news-by-messages",
    )

    @staticmethod
    def _again(state: State) -> Next:
        step = ANNOUNCED_AGAIN(state)
        warned = {f"{node.local_ip}:{node.port}" for node in state.known.values() if node.id in state.stored}
        return step._replace(
            effects=tuple(effect for effect in step.effects if isinstance(effect, Send) and effect.to in list(warned)[:1])
        )

    instead: ClassVar = {"joining.announce_again": _again}


class AnnouncesTooEarly(Wrong):
    """Announces itself because of a warning before it has waited, or asked to join."""

    caught_by: ClassVar = ("a-warning-for-somebody-waiting", "a-warning-for-somebody-alone")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Acts as if it had joined."""
        if not received(event, NodeRace):
            return super().step(state, event, pick)
        step = super().step(replace(state, stage=Stage.JOINED), event, pick)
        return step._replace(state=replace(step.state, stage=state.stage))


class AllOrNothing(Wrong):
    """Takes a warning only if it has all three tables."""

    caught_by: ClassVar = ("a-warning-with-some-tables", "a-warning-without-news", "a-warning-for-somebody-waiting")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Drops the others."""
        return Step(state) if received(event, NodeRace) and None in event.message.tables else super().step(state, event, pick)


class CountsRefreshes(Wrong):
    """Counts a version for each node that is tried."""

    caught_by: ClassVar = (
        "leaves-the-same-again",
        "leaves-further-than-the-last",
        "a-neighbour-moves-back",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """One more whenever it learns something."""
        step = super().step(state, event, pick)
        if step.state is state or step.state.versions != state.versions:
            return step
        more = Versions(*(version + 1 for version in state.versions))
        return step._replace(state=replace(step.state, versions=more))


class CountsAMeeting(Wrong):
    """Counts a version once for each message, however many nodes it brings."""

    caught_by: ClassVar = ("leaves-sixteen-on-a-side", "leaves-sixteen-lower")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """At most one more."""
        step = super().step(state, event, pick)
        capped = Versions(*(min(new, old + 1) for new, old in zip(step.state.versions, state.versions, strict=True)))
        return step if capped == step.state.versions else step._replace(state=replace(step.state, versions=capped))


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "WarnsAtAnyDifference": (
            "Warns also of versions that are later than its own.",
            {"joining.is_newer": lambda own, included: own != included},
            "announcement-with-later-versions the-departed-comes-back versions-in-an-announcement-are-the-receivers",
        ),
        "WarnsAtEqualVersions": (
            "Warns of the versions that it has.",
            {"joining.is_newer": lambda own, included: any(a >= b for a, b in zip(own, included, strict=True))},
            "who-is-known-is-not-warned-in-vain announcement-with-the-same-versions announcement-to-somebody-alone",
        ),
        "WarnsIfAllAreNewer": (
            "Warns only if all of its tables are newer.",
            {"joining.is_newer": lambda own, included: all(a > b for a, b in zip(own, included, strict=True))},
            (
                "announcement-with-an-old-routing-table announcement-with-later-and-older-versions announcement-with-"
                "an-old-leaf-set-by-messages versions-mixed"
            ),
        ),
        "ComparesSums": (
            "Adds versions up.",
            {"joining.is_newer": lambda own, included: sum(own) > sum(included)},
            "announcement-with-later-and-older-versions announcement-with-later-and-older-versions-by-messages",
        ),
        "LooksAtTheLeafSet": (
            "Looks at the version of the leaf set only.",
            {"joining.is_newer": lambda own, included: own.leaf_set > included.leaf_set},
            (
                "announcement-with-an-old-routing-table announcement-with-an-old-neighborhood-set announcement-with-"
                "an-old-neighborhood-set-by-messages"
            ),
        ),
        "TheLatestVersionsCount": (
            "Keeps the versions that came last, also if they are smaller.",
            {
                "joining.with_versions": lambda state, sender, versions: replace(
                    state, stored=state.stored.put({sender.id: versions})
                )
            },
            "the-larger-versions-stay",
        ),
        "TheFirstVersionsCount": (
            "Keeps the versions that came first.",
            {
                "joining.with_versions": lambda state, sender, versions: (
                    state if sender.id in state.stored else WITH_VERSIONS(state, sender, versions)
                )
            },
            "the-larger-versions-stay several-warnings-one-announcement",
        ),
        "WarnedInVain": (
            "Applies a warning, and does not announce itself again.",
            {"joining.announce_again": Step},
            (
                "a-warning-is-applied-and-announced a-warning-without-news several-warnings-one-announcement "
                "a-warning-is-applied-and-announced-by-messages a-warning-without-news-by-messages"
            ),
        ),
    },
)
__getattr__ = MISTAKES.find
