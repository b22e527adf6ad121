"""Mistakes about how a node starts: founding, old data, what is on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import DECIDE, Next
from peerproof.spec.core import Expired, Pick, Send, Step
from peerproof.spec.distkv import snapshot, startup
from peerproof.spec.distkv.messages import FoundingDue, Update
from peerproof.spec.distkv.outgoing import then
from peerproof.spec.distkv.state import State, Stored, stored_of, updates_of
from peerproof.spec.distkv.values import NULL

INITIAL, ON_OLD_DATA_DUE = startup.initial, startup.on_old_data_due


class FoundsWithoutTelling(Wrong):
    """Does not send the root that it makes."""

    caught_by: ClassVar = ("first-node", "first-node-with-the-usual-clock", "restart-as-the-first-without-data")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that update."""
        after, effects = super().step(state, event, pick)
        if not (isinstance(event, Expired) and event.timer == FoundingDue()):
            return Step(after, effects)
        return Step(after, tuple(e for e in effects if not (isinstance(e, Send) and isinstance(e.message, Update))))


def _in_the_order_of_paths(entries: Any) -> tuple[Update, ...]:
    return tuple(sorted(updates_of(entries), key=lambda update: update.path))


def storing(change: Callable[[Stored], Stored]) -> dict[str, Any]:
    """Another answer to what is on disk."""
    return {"stored": lambda state: snapshot.STORED.plain(change(stored_of(state)))}


class StoresNoTock(Wrong):
    """Writes the tock of changes only."""

    caught_by: ClassVar = ("the-tock-of-a-ping-is-on-disk",)
    queries: ClassVar = storing(lambda stored: stored._replace(tock=max((entry.tock for entry in stored.entries), default=0)))


class StoresItsOwnTick(Wrong):
    """Writes its own tick only."""

    caught_by: ClassVar = ("what-is-on-disk", "what-is-heard-is-on-disk", "ticks-from-ticks")
    queries: ClassVar = storing(
        lambda stored: stored._replace(ticks=stored.ticks.without([n for n in stored.ticks if n != "n1"]))
    )


def decide_with_old_data(state: State) -> Next:
    """Begins to wait anew."""
    taken = ON_OLD_DATA_DUE(state)
    if taken.state.phase is state.phase:
        return taken
    return then(taken, lambda now: DECIDE(now, lambda _, among, count=1: tuple(among)[:count]))


class ComesBackWithNothing(Wrong):
    """Does not read what is on disk."""

    caught_by: ClassVar = (
        "restart-with-data",
        "old-data-is-sent-again",
        "ticks-without-entries",
        "known-and-ticks",
        "known-in-the-middle",
    )

    def initial(self, self_id: Any, config: Any) -> Next:
        """As a new node."""
        first = INITIAL(self_id, replace(config, stored=None))
        return Step(replace(first.state, config=config), first.effects)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "FoundsInAnyCase": (
            "Founds a network although it has heard of one.",
            {"startup.is_authoritative_for": lambda _: False},
            "first-node-hears-of-a-network",
        ),
        "SendsOldDataInAnyCase": (
            "Sends its old data although there is a network.",
            {"startup.is_authoritative_for": lambda _: False},
            "old-data-behind-an-authoritative-chain",
        ),
        "SendsByPath": (
            "Sends its old data in the order of paths.",
            {"startup.updates_of": _in_the_order_of_paths},
            "old-data-is-sent-again",
        ),
        "SendsOldDataWithoutDeletions": (
            "Does not send what was deleted.",
            {"startup.updates_of": lambda entries: tuple(u for u in updates_of(entries) if u.value != NULL)},
            "old-data-and-deletions old-data-is-sent-again",
        ),
        "DecidesWithOldData": (
            "Decides again when to ping when it has sent its old data. [DA-37, DA-51]",
            {"transitions.on_old_data_due": decide_with_old_data},
            "old-data-and-its-turn",
        ),
    },
)
__getattr__ = MISTAKES.find
