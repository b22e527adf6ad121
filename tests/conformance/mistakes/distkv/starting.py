"""Mistakes about how a node starts: founding, old data, what is on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import DECIDE, Next
from peerproof.spec.core import Expired, Pick, Send, Step, Table
from peerproof.spec.distkv import election, snapshot, startup
from peerproof.spec.distkv.messages import FoundingDue, InitialPingDue, OldDataDue, Update
from peerproof.spec.distkv.outgoing import send_again, set_timer, then
from peerproof.spec.distkv.state import Phase, State, Stored, stored_of, updates_of
from peerproof.spec.distkv.values import NULL

INITIAL = startup.initial
ON_FOUNDING_DUE = startup.on_founding_due
ON_LOADED = startup.on_loaded
ON_OLD_DATA_DUE = startup.on_old_data_due
TRY_NEXT = election.try_next


class FoundsAtOnce(Wrong):
    """Founds a network when it starts."""

    caught_by: ClassVar = ("first-node", "first-node-that-starts-early", "first-node-hears-of-a-network")

    def initial(self, self_id: Any, config: Any) -> Next:
        """And ready."""
        first = super().initial(self_id, config)
        if FoundingDue() not in first.state.timers:
            return first
        return then(first, lambda now: ON_FOUNDING_DUE(now, lambda _why, among, _some=1: tuple(among)[:1]))


class FoundsWithoutTelling(Wrong):
    """Does not send the root that it makes."""

    caught_by: ClassVar = ("first-node", "first-node-with-the-usual-clock", "restart-as-the-first-without-data")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that update."""
        after, effects = super().step(state, event, pick)
        if not (isinstance(event, Expired) and event.timer == FoundingDue()):
            return Step(after, effects)
        return Step(after, tuple(e for e in effects if not (isinstance(e, Send) and isinstance(e.message, Update))))


class PingsAndFounds(Wrong):
    """Sends a start-up ping before it founds a network."""

    caught_by: ClassVar = ("first-node", "first-node-that-starts-early")

    def initial(self, self_id: Any, config: Any) -> Next:
        """With that timer, too."""
        first = super().initial(self_id, config)
        if FoundingDue() not in first.state.timers:
            return first
        return then(first, lambda now: set_timer(now, InitialPingDue(), (config.start or config.clock) - 1))


class FoundsAgain(Wrong):
    """Founds a network in which it has data already."""

    caught_by: ClassVar = ("first-node-with-data", "restart-as-the-first")

    def initial(self, self_id: Any, config: Any) -> Next:
        """With other timers."""
        if config.root is None or config.stored is None:
            return super().initial(self_id, config)
        fresh = super().initial(self_id, replace(config, stored=None))
        return Step(replace(super().initial(self_id, config).state, phase=Phase.EMPTY, timers=fresh.state.timers), fresh.effects)


class StartsAtOnce(Wrong):
    """Pings as soon as it is started."""

    caught_by: ClassVar = ("new-node", "new-node-that-starts-early")

    def initial(self, self_id: Any, config: Any) -> Next:
        """After a millisecond."""
        first = super().initial(self_id, config)
        return then(first, lambda now: set_timer(now, InitialPingDue(), 1)) if InitialPingDue() in first.state.timers else first  # type: ignore[arg-type]  # a duration


class StartsAfterAClock(Wrong):
    """Does not look at when it is to start."""

    caught_by: ClassVar = ("new-node-that-starts-early", "new-node-that-starts-in-between", "first-node-that-starts-early")

    def initial(self, self_id: Any, config: Any) -> Next:
        """As if nothing was said."""
        return super().initial(self_id, replace(config, start=None))


class SendsOldDataTwice(Wrong):
    """Sends its old data although it has become ready before."""

    caught_by: ClassVar = ("old-data-when-ready-before",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """All the same."""
        if isinstance(event, Expired) and event.timer == OldDataDue() and state.phase is Phase.READY:
            return send_again(state, updates_of(state.entries))
        return super().step(state, event, pick)


def _in_the_order_of_paths(entries: Any) -> tuple[Update, ...]:
    return tuple(sorted(updates_of(entries), key=lambda update: update.path))


class IsReadyWithOldData(Wrong):
    """Is ready at once if it has data."""

    caught_by: ClassVar = ("old-nodes-refuse-changes", "restart-with-data", "first-node-with-data")

    def initial(self, self_id: Any, config: Any) -> Next:
        """Ready."""
        first = super().initial(self_id, config)
        return then(first, startup.ready) if first.state.phase is Phase.OLD else first


class TicksAreData(Wrong):
    """Takes itself for old if it has ticks only."""

    caught_by: ClassVar = ("ticks-without-entries",)

    def initial(self, self_id: Any, config: Any) -> Next:
        """Old."""
        after, effects = super().initial(self_id, config)
        return Step(replace(after, phase=Phase.OLD) if config.stored is not None else after, effects)


def storing(change: Callable[[Stored], Stored]) -> dict[str, Any]:
    """Another answer to what is on disk."""
    return {"stored": lambda state: snapshot.STORED.plain(change(stored_of(state)))}


class StoresNoTock(Wrong):
    """Writes the tock of changes only."""

    caught_by: ClassVar = ("the-tock-of-a-ping-is-on-disk",)
    queries: ClassVar = storing(lambda stored: stored._replace(tock=max((entry.tock for entry in stored.entries), default=0)))


class StoresNoDeletions(Wrong):
    """Does not write what was deleted."""

    caught_by: ClassVar = ("what-is-on-disk",)
    queries: ClassVar = storing(lambda stored: stored._replace(entries=tuple(e for e in stored.entries if e.value != NULL)))


class StoresEntriesOnly(Wrong):
    """Does not write what is superseded."""

    caught_by: ClassVar = ("what-is-on-disk", "sets-it-again", "stale")
    queries: ClassVar = storing(lambda stored: stored._replace(superseded=Table()))


class StoresItsOwnTick(Wrong):
    """Writes its own tick only."""

    caught_by: ClassVar = ("what-is-on-disk", "what-is-heard-is-on-disk", "ticks-from-ticks")
    queries: ClassVar = storing(
        lambda stored: stored._replace(ticks=stored.ticks.without([n for n in stored.ticks if n != "n1"]))
    )


class ComesBackWithNothing(Wrong):
    """Does not read what is on disk."""

    caught_by: ClassVar = ("restart-with-data", "old-data-is-sent-again", "ticks-without-entries")

    def initial(self, self_id: Any, config: Any) -> Next:
        """As a new node."""
        first = INITIAL(self_id, replace(config, stored=None))
        return Step(replace(first.state, config=config), first.effects)


def decide_with_old_data(state: State) -> Next:
    """Begins to wait anew."""
    taken = ON_OLD_DATA_DUE(state)
    if taken.state.phase is state.phase:
        return taken
    return then(taken, lambda now: DECIDE(now, lambda _, among, count=1: tuple(among)[:count]))


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "FoundsInAnyCase": (
            "Founds a network although it has heard of one.",
            {"startup.is_authoritative_for": lambda _: False},
            "first-node-hears-of-a-network",
        ),
        "FoundsNothingBehindZeros": (
            "Founds no network once it has heard any ping.",
            {
                "transitions.on_founding_due": lambda state, pick: (
                    Step(state) if state.last is not None else ON_FOUNDING_DUE(state, pick)
                )
            },
            "first-node-hears-of-an-empty-network first-node-hears-of-its-own-past",
        ),
        "SendsOldDataInAnyCase": (
            "Sends its old data although there is a network.",
            {"startup.is_authoritative_for": lambda _: False},
            "old-data-behind-an-authoritative-chain",
        ),
        "CountsItsOwnTick": (
            "Takes a chain for authoritative in which it alone has a tick.",
            {
                "startup.is_authoritative_for": lambda state: (
                    state.last is not None and any(t for _, t in state.last.chain.elements)
                )
            },
            "old-data-behind-its-own-tick first-node-hears-of-its-own-past",
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
