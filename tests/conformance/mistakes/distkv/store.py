"""Mistakes about what an update does to an entry, and what is known afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import APPLY, OUTCOME, WITH_CHANGE, Next
from peerproof.spec.core import Notify, Pick, Step, Table
from peerproof.spec.distkv import entries
from peerproof.spec.distkv.chains import Chain, Claim, Relation, relation
from peerproof.spec.distkv.entries import Entries, Outcome
from peerproof.spec.distkv.messages import EntryChanged, Update
from peerproof.spec.distkv.ticks import difference, union
from peerproof.spec.distkv.values import NULL

UPDATED = Entries.apply_update


def where_concurrent(wins: Callable[[Update, Any], bool]) -> dict[str, Any]:
    """What is replaced to have another rule for changes of which none came before the other."""

    def outcome(entry: Any, arrived: Update) -> Outcome:
        if relation(arrived.chain, entry.chain) is not Relation.CONCURRENT:
            return Outcome(OUTCOME(entry, arrived))
        return Outcome.CONFLICT_ACCEPT if wins(arrived, entry) else Outcome.CONFLICT_IGNORE

    return {"entries._outcome": outcome}


def _named(key: Callable[[str], Any]) -> dict[str, Any]:
    def wins(arrived: Update, entry: Any) -> bool:
        (node, tick), (other, other_tick) = arrived.chain.head, entry.chain.head
        if (arrived.tock, tick) != (entry.tock, other_tick):
            return bool((arrived.tock, tick) > (entry.tock, other_tick))
        return bool(key(node) < key(other))

    return where_concurrent(wins)


def _tocks_first(entry: Any, arrived: Update) -> Outcome:
    if arrived.chain.head == entry.chain.head:
        return Outcome(OUTCOME(entry, arrived))
    wins = Claim(arrived.tock, arrived.chain.head).beats(Claim(entry.tock, entry.chain.head))
    return Outcome.ACCEPT if wins else Outcome.STALE


def _first_asked(chain: Chain | None, other: Chain | None) -> Relation:
    found = relation(chain, other)
    if chain is None or other is None or found is not Relation.CONCURRENT:
        return found
    tick = chain.tick_of(other.head.node)
    return Relation.AFTER if tick is not None and tick >= (other.head.tick or 0) else found


class _Silent(Wrong):
    unwanted: ClassVar[type[Any]]

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without some notices."""
        after, effects = super().step(state, event, pick)
        kept = [e for e in effects if not (isinstance(e, Notify) and isinstance(e.notice, self.unwanted))]
        return Step(after, tuple(kept))


class SilentAboutChanges(_Silent):
    """Tells nobody that an entry has changed."""

    caught_by: ClassVar = ("no-entry", "sets-a-value", "deletion-arrives", "loads-everything")
    unwanted: ClassVar = EntryChanged


def _cut_without_a_sign(entry: Any, update: Update, most: int) -> Any:
    return APPLY(entry, replace(update, chain=Chain(update.chain.elements[:most], update.chain.cut)), most)


def _changed_without_a_sign(chain: Chain, element: Any, most: int) -> Any:
    found = WITH_CHANGE(chain, element, most)
    return found._replace(chain=Chain(found.chain.elements, chain.cut))


def _forgets_the_cut(chain: Chain, element: Any, most: int) -> Any:
    return WITH_CHANGE(Chain(chain.elements), element, most)


def _pushed_first(chain: Chain, element: Any, most: int) -> Any:
    return WITH_CHANGE(chain.within(most - 1) if most > 1 else Chain((), cut=True), element, most)


def _known_if_kept(self: Entries, update: Update, most: int) -> Any:
    after, outcome = UPDATED(self, update, most)
    return Entries(after.rows, union(self.known, entries.on_chains(after.rows))), outcome


def _forgets_what_was(self: Entries, update: Update, most: int) -> Any:
    after, outcome = UPDATED(self, update, most)
    gone = difference(entries.on_chains(self.rows), entries.on_chains(after.rows))
    return Entries(after.rows, difference(after.known, gone)), outcome


class DropsDeletions(Wrong):
    """Forgets an entry that is deleted."""

    caught_by: ClassVar = ("deletes", "deletes-twice", "deleted-stays-deleted", "answers-with-a-deletion")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without its deleted entries."""
        after, effects = super().step(state, event, pick)
        rows = Table({path: entry for path, entry in after.entries.rows.items() if entry.value != NULL})
        return Step(replace(after, entries=after.entries._replace(rows=rows)), effects)

    def initial(self, self_id: Any, config: Any) -> Next:
        """Without its deleted entries."""
        after, effects = super().initial(self_id, config)
        rows = Table({path: entry for path, entry in after.entries.rows.items() if entry.value != NULL})
        return Step(replace(after, entries=after.entries._replace(rows=rows)), effects)


class PassiveNodesHearNothing(Wrong):
    """Takes no update before it is ready."""

    caught_by: ClassVar = ("new-node-hears-updates", "old-nodes-hear-updates", "no-entry")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Does nothing about them."""
        if isinstance(getattr(event, "message", None), Update) and not state.participates:
            return Step(state)
        return super().step(state, event, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "TakesTheLowerTock": (
            "Has the lower tock win.",
            where_concurrent(lambda arrived, entry: arrived.tock < entry.tock),
            "conflict-won conflict-lost three-way-conflict",
        ),
        "TakesTheHigherName": (
            "Has the higher name win.",
            _named(lambda name: [-ord(letter) for letter in name]),
            "conflict-by-name-won conflict-by-name-lost two-first-nodes-at-once",
        ),
        "IgnoresCapitals": (
            "Compares names as if they were in small letters.",
            _named(str.casefold),
            "conflict-by-name-in-capitals",
        ),
        "ComparesHalfLetters": (
            "Compares names by units of 16 bits.",
            _named(lambda name: name.encode("utf-16-be")),
            "conflict-by-name-in-bytes",
        ),
        "KeepsItsOwn": (
            "Keeps what it has, where neither came before the other.",
            where_concurrent(lambda _arrived, _entry: False),
            "conflict-won conflict-by-tick-won three-way-conflict two-first-nodes",
        ),
        "TocksFirst": (
            "Does not ask whether one came before the other.",
            {"entries._outcome": _tocks_first},
            "stale-with-a-higher-tock after-with-a-lower-tock",
        ),
        "BelievesBoth": (
            "Lets the one that arrives come after, if each came before the other.",
            {"entries.relation": _first_asked},
            "conflict-of-two-that-follow-each-other-lost",
        ),
        "CutsWithoutASign": (
            "Cuts a longer chain as if it ended there.",
            {"entries.apply": _cut_without_a_sign},
            "cut-to-the-own-maximum cut-to-one longer-than-the-usual-maximum",
        ),
        "PushesOutWithoutASign": (
            "Writes a chain that was cut as if it ended there.",
            {"entries.with_change": _changed_without_a_sign},
            "pushes-the-oldest-out a-maximum-of-one the-usual-maximum-is-five",
        ),
        "ForgetsThatItWasCut": (
            "Forgets that a chain was cut, if it is not as long as can be.",
            {"entries.with_change": _forgets_the_cut},
            "what-was-cut-stays-cut what-was-cut-stays-cut-when-it-shrinks",
        ),
        "PushesOutFirst": (
            "Removes the oldest element before its own.",
            {"entries.with_change": _pushed_first},
            "makes-room-for-itself",
        ),
        "FourIsEnough": (
            "Has a maximum of 4 for changes.",
            {
                "entries.apply": lambda entry, update, most: APPLY(entry, update, 4 if most == 5 else most),
                "entries.with_change": lambda chain, element, most: WITH_CHANGE(chain, element, 4 if most == 5 else most),
            },
            "the-usual-maximum-is-five as-long-as-the-maximum longer-than-the-usual-maximum",
        ),
        "KnowsWhatItKeeps": (
            "Does not remember the ticks of what it does not keep.",
            {"entries.Entries.apply_update": _known_if_kept},
            "stale conflict-lost duplicate-with-another-chain cut-to-the-own-maximum",
        ),
        "ForgetsWhatItReplaces": (
            "Does not remember the ticks of what was on a chain before.",
            {"entries.Entries.apply_update": _forgets_what_was},
            "the-next-of-the-same-node conflict-won sets-it-again pushes-the-oldest-out",
        ),
        "BelievesNothingIsSuperseded": (
            "Does not take from a known what it has not seen itself.",
            {"entries.Entries.mark_superseded": lambda self, _: self},
            "known-of-what-is-missing had-lost-its-data a-split-with-many-changes",
        ),
    },
)
__getattr__ = MISTAKES.find
