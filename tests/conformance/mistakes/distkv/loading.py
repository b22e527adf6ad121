"""Mistakes about downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants, without_effects

from peerproof.reference.divergences.distkv import DECIDE, Next
from peerproof.spec.core import Asked, Notify, Pick, Send, Step, Table
from peerproof.spec.distkv import election, snapshot, startup
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.messages import Info, Loaded, NeedsDownload, Ready, SetValue
from peerproof.spec.distkv.outgoing import then
from peerproof.spec.distkv.state import Phase, State, download_of, is_authoritative_for
from peerproof.spec.distkv.values import NULL
from peerproof.spec.errors import NotEnabled

INITIAL = startup.initial
ON_FOUNDING_DUE = startup.on_founding_due
ON_LOADED = startup.on_loaded
ON_OLD_DATA_DUE = startup.on_old_data_due
SEEK_DOWNLOAD = election.seek_download
TRY_NEXT = election.try_next


def asking(first: Callable[[State], Any]) -> dict[str, Any]:
    """What is replaced to download from another node."""

    def try_next(state: State) -> Next:
        found = first(state)
        if found is None:
            return Step(replace(state, source=None))
        return Step(replace(state, source=found, tried=state.tried | {found}), (Notify(NeedsDownload(found)),))

    return {"election.try_next": try_next}


def _left(state: State, *, also: frozenset[Any] = frozenset()) -> list[Any]:
    elements = () if state.last is None else state.last.chain.elements
    return [node for node, tick in elements if tick and node not in (state.tried | {state.self_id}) - also]


class NeverAsksAgain(Wrong):
    """Does not begin anew with the next ping."""

    caught_by: ClassVar = ("again-after-the-next-ping",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without those who were tried."""
        after, effects = super().step(state, event, pick)
        asked = [e.notice.node for e in effects if isinstance(e, Notify) and isinstance(e.notice, NeedsDownload)]
        if any(node in state.tried for node in asked):
            return Step(replace(after, source=None), tuple(e for e in effects if not isinstance(e, Notify)))
        return Step(replace(after, tried=after.tried | state.tried), effects)


class AsksForEachPing(Wrong):
    """Begins another download with each ping."""

    caught_by: ClassVar = ("one-download-at-a-time", "another-chain-while-passive-wins")
    instead: ClassVar = {
        "election.seek_download": lambda state: (
            Step(state)
            if state.participates or not election.is_authoritative_for(state)  # type: ignore[attr-defined]  # it is there
            else TRY_NEXT(replace(state, tried=frozenset()))
        )
    }


class ReadyNodesAsk(Wrong):
    """Downloads whenever it accepts a ping."""

    caught_by: ClassVar = ("next", "collision-by-tock", "split-won")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Asks."""
        after, effects = super().step(state, event, pick)
        if (
            after.participates
            and state.participates
            and after.last is not state.last
            and after.last.chain.head.node != after.self_id
        ):
            effects = (*effects, Notify(NeedsDownload(after.last.chain.head.node)))
        return Step(after, effects)


def loading(change: Callable[[State, Loaded], Loaded]) -> dict[str, Any]:
    """What is replaced to take something else for what was loaded."""
    return {"transitions.on_loaded": lambda state, loaded, pick: ON_LOADED(state, change(state, loaded), pick)}


class LoadsOverItsOwn(Wrong):
    """Has what is loaded in the place of what it has."""

    caught_by: ClassVar = ("loads-what-is-older",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without its own."""
        if isinstance(event, Asked) and isinstance(event.command, Loaded):
            kept = state.entries.rows.without([entry.path for entry in event.command.entries])
            state = replace(state, entries=state.entries._replace(rows=kept))
        return super().step(state, event, pick)


def _until_nothing_is_missing(state: State) -> Next:
    if state.participates:
        return Step(state)
    return Step(replace(state, phase=Phase.SETTLING)) if state.misses else startup.ready(state)


class IsReadyNoMore(Wrong):
    """Refuses changes as soon as something is missing."""

    caught_by: ClassVar = ("asked-once", "a-tick-of-its-own-is-missing", "tick-of-its-own-is-continued")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Or refuses."""
        if isinstance(event, Asked) and isinstance(event.command, SetValue) and state.misses:
            raise NotEnabled("not_ready", "something is missing")
        return super().step(state, event, pick)


class TellsNobodyThatItIsReady(Wrong):
    """Does not say that it is ready."""

    caught_by: ClassVar = ("first-node", "new-node-is-ready-after-the-download", "old-data-is-sent-again")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that."""
        after, effects = super().step(state, event, pick)
        return Step(after, tuple(effect for effect in effects if effect != Notify(Ready())))


class TellsInAnyCase(Wrong):
    """Tells its ticks after each download."""

    caught_by: ClassVar = ("old-data-and-a-download-of-all", "new-node-is-ready-after-the-download")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Once more."""
        step = super().step(state, event, pick)
        if isinstance(event, Asked) and isinstance(event.command, Loaded) and not _tells(step):
            return then(step, lambda now: startup.tell_ticks(now, None, None))  # type: ignore[attr-defined]  # it is there
        return step


def _tells(step: Next) -> bool:
    return any(isinstance(effect, Send) and isinstance(effect.message, Info) for effect in step.effects)


class GivesInAnyPhase(Wrong):
    """Gives what it has in every phase."""

    caught_by: ClassVar = ("download-of-an-empty-node", "download-of-a-settling-node")
    queries: ClassVar = {"download": lambda state: snapshot.download(replace(state, phase=Phase.READY))}


class GivesWhenReady(Wrong):
    """Gives nothing unless it is ready."""

    caught_by: ClassVar = ("download-of-an-old-node", "two-old-nodes-the-later-start")
    queries: ClassVar = {"download": lambda state: snapshot.download(state) if state.phase is Phase.READY else None}


class GivesEntriesOnly(Wrong):
    """Leaves out of a download what is superseded."""

    caught_by: ClassVar = ("download-of-an-old-node", "download-of-a-ready-node", "loads-everything")
    queries: ClassVar = {
        "download": lambda state: None if download_of(state) is None else snapshot.download(state) | {"superseded": {}}
    }


def seek_with(tried: Callable[[State], frozenset[Any]]) -> dict[str, Any]:
    """What is replaced to remember others as tried while a download is under way."""

    def seek_download(state: State) -> Next:
        if state.source is None or state.participates or not is_authoritative_for(state):
            return SEEK_DOWNLOAD(state)
        return Step(replace(state, tried=tried(state)))

    return {"election.seek_download": seek_download}


def seek_when_settling(state: State) -> Next:
    """Another download, before it is ready."""
    if state.phase is not Phase.SETTLING:
        return SEEK_DOWNLOAD(state)
    after, effects = SEEK_DOWNLOAD(replace(state, phase=Phase.EMPTY))
    return Step(replace(after, phase=Phase.SETTLING), effects)


def tell_of_itself(state: State, loaded: Loaded, pick: Pick) -> Next:
    """A download, and its ticks if its own is above those loaded."""
    taken = ON_LOADED(state, loaded, pick)
    if state.own_tick > loaded.ticks.get(state.self_id, 0):
        return taken
    return without_effects(taken, lambda effect: isinstance(effect, Send) and isinstance(effect.message, Info))


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "AsksTheOldest": (
            "Downloads from the oldest node of the chain.",
            asking(lambda state: next(reversed(_left(state)), None)),
            "newest-with-data the-next-after-a-failure",
        ),
        "AsksTheHead": (
            "Downloads from the head of the chain, whether it has data or not.",
            asking(lambda state: state.last.chain.head.node if state.last is not None and not state.tried else None),
            "newest-with-data not-itself not-from-a-node-without-a-tick zero-after-0-5-0-0",
        ),
        "AsksItself": (
            "Downloads from itself.",
            asking(
                lambda state: next(
                    (n for n, t in (state.last.chain.elements if state.last else ()) if t and n not in state.tried), None
                )
            ),
            "not-itself",
        ),
        "AsksTheSameAgain": (
            "Tries a node again that has failed.",
            asking(lambda state: next(iter(_left(state, also=state.tried)), None)),
            "the-next-after-a-failure each-node-once",
        ),
        "AsksOnce": (
            "Does not try another node.",
            {"startup.try_next": lambda state: Step(replace(state, source=None))},
            "the-next-after-a-failure each-node-once next-of-the-newer-chain",
        ),
        "LoadsFromAnybody": (
            "Takes what is loaded from any node.",
            {"startup._is_from_source": lambda _state, _node: None},
            "loaded-from-another loaded-without-being-asked loaded-twice failed-of-another",
        ),
        "LoadsNoTock": (
            "Does not take the tock of a download.",
            loading(lambda _, loaded: replace(loaded, tock=0)),
            "loads-everything had-lost-its-data",
        ),
        "LoadsNoTicks": (
            "Does not take the ticks of a download.",
            loading(lambda _, loaded: replace(loaded, ticks=Table())),
            "had-lost-its-data without-a-tick-of-its-own settling-misses-of-others",
        ),
        "LoadsEntriesOnly": (
            "Does not take what is superseded.",
            loading(lambda _, loaded: replace(loaded, superseded=Table())),
            "loads-everything had-lost-its-data-and-has-it-all had-lost-its-data",
        ),
        "LoadsNoDeletions": (
            "Does not take deleted entries.",
            loading(lambda _, loaded: replace(loaded, entries=tuple(entry for entry in loaded.entries if entry.value != NULL))),
            "loads-everything",
        ),
        "LoadsInAnyOrder": (
            "Applies entries in the order in which they are given.",
            {"startup.in_order": lambda _: 0},
            "loads-in-order loads-everything",
        ),
        "ReadyAtOnce": (
            "Is ready after the download, whatever is missing.",
            {"startup._finish_load": lambda state: Step(state) if state.participates else startup.ready(state)},
            "had-lost-its-data settled-by-an-update settling-misses-of-others download-of-a-settling-node",
        ),
        "SettlesInAnyCase": (
            "Waits until nothing is missing, although it has lost nothing.",
            {"startup._finish_load": _until_nothing_is_missing},
            "without-a-tick-of-its-own",
        ),
        "SettlesForItsOwn": (
            "Waits for its own changes only.",
            {
                "transitions.check_settled": lambda state: (
                    startup.ready(state) if state.phase is Phase.SETTLING and state.self_id not in state.missing else Step(state)
                )
            },
            "settling-misses-of-others settling-stays-settling",
        ),
        "NeverSettles": (
            "Does not look again whether something is missing.",
            {"transitions.check_settled": Step},
            "had-lost-its-data settled-by-an-update",
        ),
        "KeepsItsPing": (
            "Does not decide again when to ping once it has loaded.",
            {
                "startup.decide": lambda state, pick: (
                    Step(state) if state.phase is Phase.READY and state.entries.rows else DECIDE(state, pick)
                )
            },
            "new-node-decides-anew-when-ready silenced-node-becomes-ready",
        ),
        "TellsNotWhatItHas": (
            "Does not tell what it had and others have not.",
            {"startup.tell_ticks": lambda state, _prev, _reason: Step(state)},
            "old-data-and-a-download two-old-nodes-the-one-that-follows",
        ),
        "KeepsWhatItHasTried": (
            "Does not empty tried while a download is under way. [DA-70]",
            seek_with(lambda state: state.tried),
            "tries-all-again-but-the-one-under-way",
        ),
        "ForgetsWhomItIsTrying": (
            "Empties tried also of the node that it is downloading from. [DA-70]",
            seek_with(lambda _: frozenset()),
            "tries-all-again-but-the-one-under-way",
        ),
        "SettlingNodesAsk": (
            "Downloads again before it is ready. [DA-59, DA-70]",
            {"election.seek_download": seek_when_settling},
            "settling-nodes-download-nothing",
        ),
        "LoadsWholeChains": (
            "Takes chains of a download as if they ended. [DA-11, DA-73]",
            {
                "transitions.on_loaded": lambda state, loaded, pick: ON_LOADED(
                    state,
                    replace(loaded, entries=tuple(replace(entry, chain=Chain(entry.chain.elements)) for entry in loaded.entries)),
                    pick,
                )
            },
            "loads-chains-that-were-cut",
        ),
        "TellsOfItselfOnly": (
            "Tells what it had and others have not only if it is its own. [DA-73]",
            {"transitions.on_loaded": tell_of_itself},
            "old-data-and-a-download-without-the-last-of-another",
        ),
    },
)
__getattr__ = MISTAKES.find
