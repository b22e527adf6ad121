"""
Entries, and the effects of updates on them. [D-57…D-60, DA-01…DA-04, DA-10, DA-18, DA-84]

A known change is either *present*, on the chain of a stored entry, or *superseded*. A node stores the entries and all known
changes; the superseded ones are the difference, so no change can be both, even if a chain brings one back.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import Chain, Claim, Element, Relation, relation, with_change
from peerproof.spec.distkv.messages import Update
from peerproof.spec.distkv.paths import Path
from peerproof.spec.distkv.ranges import Ranges, of_ticks
from peerproof.spec.distkv.ticks import TickSets, difference, intersection, union, with_elements
from peerproof.spec.distkv.values import NULL, Value


class Entry(NamedTuple):
    """The value of a path, with its change chain. A deleted entry keeps its chain, and its value is Null. [DA-10]"""

    chain: Chain
    value: Value
    tock: int

    @property
    def is_deleted(self) -> bool:
        """Whether the entry is deleted. [D-59]"""
        return self.value == NULL


class Outcome(Enum):
    """The outcome of an update for an entry."""

    ACCEPT = "accept"  #: the update follows the stored change
    DUPLICATE = "duplicate"  #: the update is the stored change
    STALE = "stale"  #: the stored change follows the update
    CONFLICT_ACCEPT = "conflict-accept"  #: they are concurrent, and the update wins
    CONFLICT_IGNORE = "conflict-ignore"  #: they are concurrent, and the update loses
    CONTRADICTION = "contradiction"  #: the update has the chain head of the stored change, and another value


class Applied(NamedTuple):
    """An entry after an update, and the changes that are no longer on its chain. [D-16]"""

    outcome: Outcome
    entry: Entry
    superseded: tuple[Element, ...]


def apply(entry: Entry | None, update: Update, most: int) -> Applied:
    """
    Applies an update to an entry; nodes with the same updates agree, whatever their order was. [D-22, DA-84]

    The stored chain has at most `most` elements [DA-85].
    """
    outcome = Outcome.ACCEPT if entry is None else _outcome(entry, update)
    is_kept = entry is None or outcome in (Outcome.ACCEPT, Outcome.CONFLICT_ACCEPT)
    kept = Entry(update.chain.within(most), update.value, update.tock) if is_kept or entry is None else entry
    seen = (*update.chain.elements, *(() if entry is None else entry.chain.elements))
    return Applied(outcome, kept, tuple(dict.fromkeys(element for element in seen if element not in kept.chain.elements)))


def _outcome(entry: Entry, arrived: Update) -> Outcome:
    """Returns the outcome: by the relation of the two changes, or by the tocks if they are concurrent. [DA-02]"""
    stands = relation(arrived.chain, entry.chain)
    if stands is Relation.EQUAL:
        return Outcome.DUPLICATE if arrived.value == entry.value else Outcome.CONTRADICTION
    if stands is Relation.AFTER:
        return Outcome.ACCEPT
    if stands is Relation.BEFORE:
        return Outcome.STALE
    wins = Claim(arrived.tock, arrived.chain.head).beats(Claim(entry.tock, entry.chain.head))
    return Outcome.CONFLICT_ACCEPT if wins else Outcome.CONFLICT_IGNORE


class Entries(NamedTuple):
    """All entries of a node, including deleted ones, and all known changes, including superseded ones. [D-63, DA-04]"""

    rows: Table[Path, Entry] = Table()
    known: TickSets = Table()

    def present(self) -> TickSets:
        """The changes on the chains of entries."""
        return on_chains(self.rows)

    def superseded(self) -> TickSets:
        """The known changes that are on no chain any more. [D-16]"""
        return difference(self.known, self.present())

    def value(self, path: Path) -> Value | None:
        """Returns the value of a path; None if there is none. [D-59]"""
        entry = self.rows.get(path)
        return None if entry is None or entry.is_deleted else entry.value

    def apply_update(self, update: Update, most: int) -> tuple[Entries, Outcome]:
        """Returns the entries after an update, and its outcome. [D-57, D-58]"""
        before = self.rows.get(update.path)
        outcome, entry, _ = apply(before, update, most)
        rows = self.rows if entry is before else self.rows.put({update.path: entry})
        return Entries(rows, with_elements(self.known, update.chain.elements)), outcome

    def mark_superseded(self, known: Mapping[NodeId, Ranges]) -> Entries:
        """Returns the entries after another node has reported these changes as superseded. [D-117, DA-04]"""
        return self._replace(known=union(self.known, known))


def on_chains(rows: Mapping[Path, Entry]) -> TickSets:
    """Returns the changes on the chains of these entries, by node."""
    ticks: dict[NodeId, list[int]] = {}
    for entry in rows.values():
        for node, tick in entry.chain.elements:
            if tick is not None:
                ticks.setdefault(node, []).append(tick)
    return Table({node: of_ticks(found) for node, found in ticks.items()})


def change(entries: Entries, path: Path, value: Value, element: Element, tock: int, most: int) -> Update:
    """Returns the update of a change by this node: its name and new tick are put in front of the entry's chain. [D-49, DA-21]"""
    entry: Entry | None = entries.rows.get(path)
    chain = Chain() if entry is None else entry.chain
    return Update(with_change(chain, element, most).chain, path, value, tock)


class Answer(NamedTuple):
    """The answer to a request for missing changes. [D-116, D-117, DA-48]"""

    updates: tuple[Update, ...]  #: of the entries with these changes on their chains, as they were received
    known: TickSets  #: the superseded ones
    unanswered: TickSets  #: the ones that this node does not know either


def answer(entries: Entries, missing: TickSets) -> Answer:
    """
    Selects the entries to send again, each once with its whole chain and its own tock. [D-68, DA-03, DA-48]

    They are sorted by tock, then by path [DA-51].
    """
    found = {
        path: entry
        for path, entry in entries.rows.items()
        if any(tick is not None and node in missing and missing[node].has(tick) for node, tick in entry.chain.elements)
    }
    known = intersection(missing, entries.superseded())
    updates = [Update(entry.chain, path, entry.value, entry.tock) for path, entry in found.items()]
    updates.sort(key=lambda update: (update.tock, update.path))
    return Answer(tuple(updates), known, difference(difference(missing, on_chains(found)), known))
