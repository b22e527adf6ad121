"""Mistakes about how a node starts: founding, old data, what is on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants

from peerproof.reference.divergences.distkv import DECIDE
from peerproof.spec.core import Expired, Pick, Send, Step
from peerproof.spec.distkv import snapshot, startup
from peerproof.spec.distkv.messages import FoundingDue, Update
from peerproof.spec.distkv.outgoing import then
from peerproof.spec.distkv.state import State, Stored, stored_of, updates_of
from peerproof.spec.distkv.values import NULL

wrong = Variants(__name__, Wrong)
INITIAL = startup.initial


@wrong("step", "first-node first-node-with-the-usual-clock restart-as-the-first-without-data")
def FoundsWithoutTelling(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Does not send the root that it makes."""
    after, effects = right(state, event, pick)
    if not (isinstance(event, Expired) and event.timer == FoundingDue()):
        return Step(after, effects)
    return Step(after, tuple(e for e in effects if not (isinstance(e, Send) and isinstance(e.message, Update))))


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


@wrong("transitions.on_old_data_due", "old-data-and-its-turn")
def DecidesWithOldData(right: Any, state: State) -> Any:
    """Decides again when to ping when it has sent its old data. [DA-37, DA-51]"""
    taken = right(state)
    if taken.state.phase is state.phase:
        return taken
    return then(taken, lambda now: DECIDE(now, lambda _, among, count=1: tuple(among)[:count]))


@wrong("initial", "restart-with-data old-data-is-sent-again ticks-without-entries known-and-ticks known-in-the-middle")
def ComesBackWithNothing(right: Any, self_id: Any, config: Any) -> Any:
    """Does not read what is on disk."""
    first = INITIAL(self_id, replace(config, stored=None))
    return Step(replace(first.state, config=config), first.effects)


wrong |= {
    # Founds a network although it has heard of one.
    "FoundsInAnyCase: first-node-hears-of-a-network": {"startup.is_authoritative_for": lambda _: False},
    # Sends its old data although there is a network.
    "SendsOldDataInAnyCase: old-data-behind-an-authoritative-chain": {"startup.is_authoritative_for": lambda _: False},
    # Sends its old data in the order of paths.
    "SendsByPath: old-data-is-sent-again": {
        "startup.updates_of": lambda entries: tuple(sorted(updates_of(entries), key=lambda update: update.path))
    },
    # Does not send what was deleted.
    "SendsOldDataWithoutDeletions: old-data-and-deletions old-data-is-sent-again": {
        "startup.updates_of": lambda entries: tuple(u for u in updates_of(entries) if u.value != NULL)
    },
}
__getattr__ = wrong.find
