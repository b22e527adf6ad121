"""Mistakes about how a node starts: founding, old data, what is on disk, and downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around, forbidding, without_effects

from peerproof.reference.divergences.distkv import DECIDE, Next
from peerproof.spec.core import Asked, Expired, Notify, Pick, Send, Step, Table
from peerproof.spec.distkv import snapshot, startup
from peerproof.spec.distkv.messages import FoundingDue, Info, Loaded, NeedsDownload, SetValue, Update
from peerproof.spec.distkv.outgoing import then
from peerproof.spec.distkv.state import Phase, State, Stored, stored_of, updates_of
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
    """What is replaced for another answer to what is on disk."""
    return {"queries.stored": lambda state: snapshot.STORED.plain(change(stored_of(state)))}


@wrong.after("transitions.on_old_data_due", "old-data-and-its-turn")
def DecidesWithOldData(taken: Any, state: State) -> Any:
    """Decides again when to ping when it has sent its old data. [DA-37, DA-51]"""
    if taken.state.phase is state.phase:
        return taken
    return then(taken, lambda now: DECIDE(now, lambda _, among, count=1: tuple(among)[:count]))


@wrong("initial", "restart-with-data old-data-is-sent-again ticks-without-entries known-and-ticks known-in-the-middle")
def ComesBackWithNothing(right: Any, self_id: Any, config: Any) -> Any:
    """Does not read what is on disk."""
    first = INITIAL(self_id, replace(config, stored=None))
    return Step(replace(first.state, config=config), first.effects)


def asking(first: Callable[[State], Any]) -> dict[str, Any]:
    """What is replaced to download from another node."""

    def try_next(state: State) -> Next:
        found = first(state)
        if found is None:
            return Step(replace(state, source=None))
        return Step(replace(state, source=found, tried=state.tried | {found}), (Notify(NeedsDownload(found)),))

    return {"election.try_next": try_next}


@wrong("step", "next collision-by-tock split-won")
def ReadyNodesAsk(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Downloads whenever it accepts a ping."""
    after, effects = right(state, event, pick)
    if after.participates and state.participates and after.last is not state.last and after.last.chain.head.node != after.self_id:
        effects = (*effects, Notify(NeedsDownload(after.last.chain.head.node)))
    return Step(after, effects)


def loading(change: Callable[[State, Loaded], Loaded]) -> dict[str, Any]:
    """What is replaced to take something else for what was loaded."""
    return around("transitions.on_loaded", lambda right, state, loaded, pick: right(state, change(state, loaded), pick))


@wrong("election.seek_download", "settling-nodes-download-nothing")
def SettlingNodesAsk(right: Any, state: State) -> Any:
    """Downloads again before it is ready. [DA-59, DA-70]"""
    if state.phase is not Phase.SETTLING:
        return right(state)
    after, effects = right(replace(state, phase=Phase.EMPTY))
    return Step(replace(after, phase=Phase.SETTLING), effects)


@wrong.after("transitions.on_loaded", "old-data-and-a-download-without-the-last-of-another")
def TellsOfItselfOnly(taken: Any, state: State, loaded: Loaded, pick: Pick) -> Any:
    """Tells what it had and others have not only if it is its own. [DA-73]"""
    if state.own_tick > loaded.ticks.get(state.self_id, 0):
        return taken
    return without_effects(taken, lambda effect: isinstance(effect, Send) and isinstance(effect.message, Info))


wrong |= {
    # Refuses changes as soon as something is missing.
    "IsReadyNoMore: asked-once a-tick-of-its-own-is-missing tick-of-its-own-is-continued": forbidding(
        "step", lambda state, event, _: isinstance(event, Asked) and isinstance(event.command, SetValue) and bool(state.misses)
    ),
    # Writes the tock of changes only.
    "StoresNoTock: the-tock-of-a-ping-is-on-disk": storing(
        lambda stored: stored._replace(tock=max((entry.tock for entry in stored.entries), default=0))
    ),
    # Writes its own tick only.
    "StoresItsOwnTick: what-is-on-disk what-is-heard-is-on-disk ticks-from-ticks": storing(
        lambda stored: stored._replace(ticks=stored.ticks.without([n for n in stored.ticks if n != "n1"]))
    ),
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
    # Downloads from itself.
    "AsksItself: not-itself": asking(
        lambda state: next((n for n, t in (state.last.chain.elements if state.last else ()) if t and n not in state.tried), None)
    ),
    # Does not try another node.
    "AsksOnce: the-next-after-a-failure each-node-once next-of-the-newer-chain": {
        "startup.try_next": lambda state: Step(replace(state, source=None))
    },
    # Does not take the tock of a download.
    "LoadsNoTock: loads-everything had-lost-its-data": loading(lambda _, loaded: replace(loaded, tock=0)),
    # Does not take the ticks of a download.
    "LoadsNoTicks: had-lost-its-data without-a-tick-of-its-own settling-misses-of-others": loading(
        lambda _, loaded: replace(loaded, ticks=Table())
    ),
    # Does not take what is superseded.
    "LoadsEntriesOnly: loads-everything had-lost-its-data-and-has-it-all had-lost-its-data": loading(
        lambda _, loaded: replace(loaded, superseded=Table())
    ),
    # Does not take deleted entries.
    "LoadsNoDeletions: loads-everything": loading(
        lambda _, loaded: replace(loaded, entries=tuple(entry for entry in loaded.entries if entry.value != NULL))
    ),
    # Applies entries in the order in which they are given.
    "LoadsInAnyOrder: loads-in-order loads-everything": {"startup.in_order": lambda _: 0},
    # Does not look again whether something is missing.
    "NeverSettles: had-lost-its-data settled-by-an-update": {"transitions.check_settled": Step},
    # Does not tell what it had and others have not.
    "TellsNotWhatItHas: old-data-and-a-download two-old-nodes-the-one-that-follows": {
        "startup.tell_ticks": lambda state, _prev, _reason: Step(state)
    },
}
__getattr__ = wrong.find
