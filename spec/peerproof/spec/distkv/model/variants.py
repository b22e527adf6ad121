"""Variants of DistKV: wrong readings; see `model.bounded.variant`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from peerproof.spec.core import EVERYBODY, Pick, Send, Step, replace
from peerproof.spec.distkv import entries, startup, transitions
from peerproof.spec.distkv import recovery as recovering
from peerproof.spec.distkv.chains import Claim, Element
from peerproof.spec.distkv.messages import Info, Loaded, RepairDue, Update
from peerproof.spec.distkv.model.bounded import Model
from peerproof.spec.distkv.outgoing import Next, cancel_timer, then
from peerproof.spec.distkv.state import State, is_authoritative_for
from peerproof.spec.distkv.ticks import TickSets, intersection, with_elements
from peerproof.spec.model.bounded import variant
from peerproof.spec.overrides import names_in


def says_all(stored: entries.Entries, missing: TickSets) -> entries.Answer:
    """A known message reports all requested known changes, superseded or not. [D-63; DX-01]"""
    found = _ANSWER(stored, missing)
    return found._replace(known=intersection(missing, stored.known))


_ANSWER: Final = entries.answer


class OwnFirst(NamedTuple):
    """Of two concurrent changes each node keeps its own. [DX-04]"""

    tock: int
    head: Element

    def beats(self, _: Claim) -> bool:
        """An arriving change never wins."""
        return False


class LaterFirst(NamedTuple):
    """Of two concurrent changes with the same tock the one that arrives later stays. [DD-09; DX-04]"""

    tock: int
    head: Element

    def beats(self, other: Claim) -> bool:
        """An arriving change wins unless its tock is lower."""
        return self.tock >= other.tock


def anew(state: State, updates: Iterable[Update]) -> Next:
    """Each change that is sent again gets a new tock. [DX-04]"""
    effects = []
    for update in updates:
        state = replace(state, tock=state.tock + 1)
        effects.append(Send(EVERYBODY, replace(update, tock=state.tock)))
    return Step(state, tuple(effects))


def short(state: State, updates: Iterable[Update]) -> Next:
    """A change that is sent again has only two elements of its chain. [DD-11; DX-15]"""
    return Step(state, tuple(Send(EVERYBODY, replace(update, chain=update.chain.within(2))) for update in updates))


def silence_chain(state: State, info: Info) -> Next:
    """A request keeps all nodes of its chain from requesting, whatever they miss. [D-127; DX-13]"""
    answered = _ON_MISSING(state, info)
    recovery = state.recovery
    if recovery is None:
        return answered
    kept = Step(replace(answered.state, recovery=recovery), answered.effects)
    is_on_chain = any(node == info.chain.head.node for node, _ in recovery.mine.elements)
    return then(kept, lambda now: cancel_timer(now, recovering.STEP_2)) if is_on_chain else kept


_ON_MISSING: Final[Callable[[State, Info], Next]] = vars(recovering)["_on_missing"]


def asks_nobody(state: State, _: Pick) -> Next:
    """No node schedules requests for missing changes. [DX-14]"""
    return Step(state)


def waits_once(state: State) -> Next:
    """The check for nodes with newer data runs once. [DX-21]"""
    return Step(state) if is_authoritative_for(state) else _ON_OLD_DATA_DUE(state)


_ON_OLD_DATA_DUE: Final = startup.on_old_data_due


class WithoutDeleted(Model):
    """A node that downloads does not learn of deletions. [DX-05]"""

    def serve_download(self, state: State) -> Loaded | None:
        """Returns only entries that are not deleted; the rest counts as known."""
        loaded = super().serve_download(state)
        if loaded is None:
            return None
        lost = [entry for entry in state.entries.rows.values() if entry.is_deleted]
        superseded = loaded.superseded
        for entry in lost:
            superseded = with_elements(superseded, entry.chain.elements)
        left = tuple(entry for entry in loaded.entries if not state.entries.rows[entry.path].is_deleted)
        return replace(loaded, entries=left, superseded=superseded)


class AsksNobody(Model):
    """Missing changes stay missing. [DX-14]"""

    overrides = names_in(transitions, look_for_repair=asks_nobody)

    def ready(self, state: State) -> State:
        """Returns a ready node that schedules no repair."""
        after = super().ready(state)
        return replace(after, timers=after.timers - {RepairDue()})


VARIANTS: Final[Mapping[frozenset[str], type[Model]]] = {
    frozenset(): Model,
    frozenset({"ReplacedOrNot"}): variant(Model, overrides=names_in(recovering, answer=says_all)),
    frozenset({"KeepsOwn"}): variant(Model, overrides=names_in(entries, Claim=OwnFirst)),
    frozenset({"TakesLater"}): variant(Model, overrides=names_in(entries, Claim=LaterFirst)),
    frozenset({"SentAnew"}): variant(Model, overrides=names_in(recovering, send_again=anew)),
    frozenset({"SentShort"}): variant(Model, overrides=names_in(recovering, send_again=short)),
    frozenset({"DownloadWithoutDeleted"}): WithoutDeleted,
    frozenset({"Silenced"}): variant(Model, overrides=names_in(recovering, _on_missing=silence_chain)),
    frozenset({"AsksNobody"}): AsksNobody,
    frozenset({"OldDataSentOnce"}): variant(Model, overrides=names_in(transitions, on_old_data_due=waits_once)),
}

BEHAVIOURS: Final[Mapping[str, None]] = {"Next": None, "FairSpec": None, "FairTimers": None}
