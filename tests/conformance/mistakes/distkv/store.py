"""Mistakes about what an update does to an entry, and what is known afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, after, around, passing_over, silent, with_values

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import Table
from peerproof.spec.distkv import entries
from peerproof.spec.distkv.chains import Chain, Claim, Relation, relation
from peerproof.spec.distkv.entries import Entries, Outcome
from peerproof.spec.distkv.messages import EntryChanged, Update
from peerproof.spec.distkv.ticks import difference, union
from peerproof.spec.distkv.values import NULL

wrong = Variants(__name__, Wrong)


def where_concurrent(wins: Callable[[Update, Any], bool]) -> dict[str, Any]:
    """What is replaced to have another rule for changes of which none came before the other."""

    def outcome(right: Any, entry: Any, arrived: Update) -> Any:
        if relation(arrived.chain, entry.chain) is not Relation.CONCURRENT:
            return Outcome(right(entry, arrived))
        return Outcome.CONFLICT_ACCEPT if wins(arrived, entry) else Outcome.CONFLICT_IGNORE

    return around("entries._outcome", outcome)


def _named(key: Callable[[str], Any]) -> dict[str, Any]:
    def wins(arrived: Update, entry: Any) -> bool:
        (node, tick), (other, other_tick) = arrived.chain.head, entry.chain.head
        if (arrived.tock, tick) != (entry.tock, other_tick):
            return bool((arrived.tock, tick) > (entry.tock, other_tick))
        return bool(key(node) < key(other))

    return where_concurrent(wins)


@wrong("entries._outcome", "stale-with-a-higher-tock after-with-a-lower-tock")
def TocksFirst(right: Any, entry: Any, arrived: Update) -> Any:
    """Does not ask whether one came before the other."""
    if arrived.chain.head == entry.chain.head:
        return Outcome(right(entry, arrived))
    wins = Claim(arrived.tock, arrived.chain.head).beats(Claim(entry.tock, entry.chain.head))
    return Outcome.ACCEPT if wins else Outcome.STALE


@wrong("entries.relation", "conflict-of-two-that-follow-each-other-lost")
def BelievesBoth(right: Any, chain: Chain | None, other: Chain | None) -> Any:
    """Lets the one that arrives come after, if each came before the other."""
    found = relation(chain, other)
    if chain is None or other is None or found is not Relation.CONCURRENT:
        return found
    tick = chain.tick_of(other.head.node)
    return Relation.AFTER if tick is not None and tick >= (other.head.tick or 0) else found


@wrong("entries.Entries.apply_update", "the-next-of-the-same-node conflict-won sets-it-again pushes-the-oldest-out")
def ForgetsWhatItReplaces(right: Any, self: Entries, update: Update, most: int) -> Any:
    """Does not remember the ticks of what was on a chain before."""
    after, outcome = right(self, update, most)
    gone = difference(entries.on_chains(self.rows), entries.on_chains(after.rows))
    return Entries(after.rows, difference(after.known, gone)), outcome


@wrong(
    lambda drops: after("step", drops) | after("initial", drops),
    "deletes deletes-twice deleted-stays-deleted answers-with-a-deletion",
)
def DropsDeletions(step: Next, *_: Any) -> Next:
    """Forgets an entry that is deleted."""
    stored = step.state.entries
    kept = {path: entry for path, entry in stored.rows.items() if entry.value != NULL}
    return with_values(step, entries=stored._replace(rows=Table(kept)))


wrong |= {
    # Takes no update before it is ready.
    "PassiveNodesHearNothing: new-node-hears-updates old-nodes-hear-updates no-entry": passing_over(
        lambda state, event: isinstance(getattr(event, "message", None), Update) and not state.participates
    ),
    # Does not remember the ticks of what it does not keep.
    "KnowsWhatItKeeps: stale conflict-lost duplicate-with-another-chain cut-to-the-own-maximum": after(
        "entries.Entries.apply_update",
        lambda found, self, *_: (Entries(found[0].rows, union(self.known, entries.on_chains(found[0].rows))), found[1]),
    ),
    # Writes a chain that was cut as if it ended there.
    "PushesOutWithoutASign: pushes-the-oldest-out a-maximum-of-one the-usual-maximum-is-five": after(
        "entries.with_change", lambda found, chain, *_: found._replace(chain=Chain(found.chain.elements, chain.cut))
    ),
    # Tells nobody that an entry has changed.
    "SilentAboutChanges: no-entry sets-a-value deletion-arrives loads-everything": silent(
        lambda effect: isinstance(getattr(effect, "notice", None), EntryChanged)
    ),
    # Has the lower tock win.
    "TakesTheLowerTock: conflict-won conflict-lost three-way-conflict": where_concurrent(
        lambda arrived, entry: arrived.tock < entry.tock
    ),
    # Has the higher name win.
    "TakesTheHigherName: conflict-by-name-won conflict-by-name-lost two-first-nodes-at-once": _named(
        lambda name: [-ord(letter) for letter in name]
    ),
    # Compares names as if they were in small letters.
    "IgnoresCapitals: conflict-by-name-in-capitals": _named(str.casefold),
    # Compares names by units of 16 bits.
    "ComparesHalfLetters: conflict-by-name-in-bytes": _named(lambda name: name.encode("utf-16-be")),
    # Keeps what it has, where neither came before the other.
    "KeepsItsOwn: conflict-won conflict-by-tick-won three-way-conflict two-first-nodes": where_concurrent(
        lambda _arrived, _entry: False
    ),
    # Cuts a longer chain as if it ended there.
    "CutsWithoutASign: cut-to-the-own-maximum cut-to-one longer-than-the-usual-maximum": around(
        "entries.apply",
        lambda right, entry, update, most: right(
            entry, replace(update, chain=Chain(update.chain.elements[:most], update.chain.cut)), most
        ),
    ),
    # Forgets that a chain was cut, if it is not as long as can be.
    "ForgetsThatItWasCut: what-was-cut-stays-cut what-was-cut-stays-cut-when-it-shrinks": around(
        "entries.with_change", lambda right, chain, element, most: right(Chain(chain.elements), element, most)
    ),
    # Removes the oldest element before its own.
    "PushesOutFirst: makes-room-for-itself": around(
        "entries.with_change",
        lambda right, chain, element, most: right(chain.within(most - 1) if most > 1 else Chain((), cut=True), element, most),
    ),
    # Has a maximum of 4 for changes.
    "FourIsEnough: the-usual-maximum-is-five as-long-as-the-maximum longer-than-the-usual-maximum": around(
        "entries.apply", lambda right, entry, update, most: right(entry, update, 4 if most == 5 else most)
    )
    | around("entries.with_change", lambda right, chain, element, most: right(chain, element, 4 if most == 5 else most)),
    # Does not take from a known what it has not seen itself.
    "BelievesNothingIsSuperseded: known-of-what-is-missing had-lost-its-data a-split-with-many-changes": {
        "entries.Entries.mark_superseded": lambda self, _: self
    },
}
__getattr__ = wrong.find
