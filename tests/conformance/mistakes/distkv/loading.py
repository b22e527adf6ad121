"""Mistakes about downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants, without_effects

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import Asked, Notify, Pick, Send, Step, Table
from peerproof.spec.distkv import election, startup
from peerproof.spec.distkv.messages import Info, Loaded, NeedsDownload, SetValue
from peerproof.spec.distkv.state import Phase, State
from peerproof.spec.distkv.values import NULL
from peerproof.spec.errors import NotEnabled

ON_LOADED = startup.on_loaded
SEEK_DOWNLOAD = election.seek_download


def asking(first: Callable[[State], Any]) -> dict[str, Any]:
    """What is replaced to download from another node."""

    def try_next(state: State) -> Next:
        found = first(state)
        if found is None:
            return Step(replace(state, source=None))
        return Step(replace(state, source=found, tried=state.tried | {found}), (Notify(NeedsDownload(found)),))

    return {"election.try_next": try_next}


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


class IsReadyNoMore(Wrong):
    """Refuses changes as soon as something is missing."""

    caught_by: ClassVar = ("asked-once", "a-tick-of-its-own-is-missing", "tick-of-its-own-is-continued")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Or refuses."""
        if isinstance(event, Asked) and isinstance(event.command, SetValue) and state.misses:
            raise NotEnabled("not_ready", "something is missing")
        return super().step(state, event, pick)


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
        "AsksItself": (
            "Downloads from itself.",
            asking(
                lambda state: next(
                    (n for n, t in (state.last.chain.elements if state.last else ()) if t and n not in state.tried), None
                )
            ),
            "not-itself",
        ),
        "AsksOnce": (
            "Does not try another node.",
            {"startup.try_next": lambda state: Step(replace(state, source=None))},
            "the-next-after-a-failure each-node-once next-of-the-newer-chain",
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
        "NeverSettles": (
            "Does not look again whether something is missing.",
            {"transitions.check_settled": Step},
            "had-lost-its-data settled-by-an-update",
        ),
        "TellsNotWhatItHas": (
            "Does not tell what it had and others have not.",
            {"startup.tell_ticks": lambda state, _prev, _reason: Step(state)},
            "old-data-and-a-download two-old-nodes-the-one-that-follows",
        ),
        "SettlingNodesAsk": (
            "Downloads again before it is ready. [DA-59, DA-70]",
            {"election.seek_download": seek_when_settling},
            "settling-nodes-download-nothing",
        ),
        "TellsOfItselfOnly": (
            "Tells what it had and others have not only if it is its own. [DA-73]",
            {"transitions.on_loaded": tell_of_itself},
            "old-data-and-a-download-without-the-last-of-another",
        ),
    },
)
__getattr__ = MISTAKES.find
