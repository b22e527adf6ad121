"""Records of Scuttlebutt on terms, with any number of keys or with a few, and the invariants between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Rows, any_rows, no_rows, same_row
from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import U64_MAX
from peerproof.spec.scuttlebutt.messages import DeltaEntry
from peerproof.spec.scuttlebutt.state import Peer, Versioned

Key: Final = smt.DeclareSort("Key")
Value: Final = smt.DeclareSort("Value")

PEER: Final = NodeId("p:1")


def any_record(path: Path, name: str) -> Peer:
    """Returns any record; its version need not be the maximum."""
    table: Any = any_rows(name, Key, Versioned, value=Value, version=smt.IntSort())
    return Peer(table, path.integer(f"{name}.version"))


def any_pair(path: Path, name: str, least: int = 0) -> DeltaEntry:
    """Returns any pair of one peer."""
    key, value = path.any_of(f"{name}.key", Key), path.any_of(f"{name}.value", Value)
    return DeltaEntry(PEER, key, value, path.integer(f"{name}.version", least))


def some_record(path: Path, name: str, values: Mapping[Any, Any]) -> Peer:
    """Returns a record with exactly these values, at any versions; its version is the maximum."""
    table: Any = {key: Versioned(value, path.integer(f"{name}[{key}]", 1, U64_MAX)) for key, value in values.items()}
    versions = [pair.version for pair in table.values()]
    top = path.integer(f"{name}.version", 0, U64_MAX)
    path.assume(
        smt.Distinct(*versions), *(version <= top for version in versions), smt.Or(*(version == top for version in versions))
    )
    return Peer(table, top)


def rows(peer: Peer) -> Rows:
    """Returns the table of a record on terms."""
    table: Any = peer.pairs
    return table if isinstance(table, Rows) else no_rows(Versioned, value=Value, version=smt.IntSort()).put(table)


def everywhere(formula: Callable[[Term], Term]) -> Term:
    """States that something holds for every key."""
    key = smt.Const("k", Key)
    return smt.ForAll([key], formula(key))


def is_max(peer: Peer) -> Term:
    """States VersionIsMax of a record: no pair is above its version, and one has it unless it is 0."""
    table, key = rows(peer), smt.Const("top", Key)
    return smt.And(
        peer.version >= 0,
        everywhere(lambda k: smt.Implies(table.has(k), table.row(k).version <= peer.version)),
        smt.Or(peer.version == 0, smt.Exists([key], smt.And(table.has(key), table.row(key).version == peer.version))),
    )


def one_each(one: DeltaEntry, other: DeltaEntry) -> Term:
    """States SameVersionSameValue of two pairs of one peer."""
    same = smt.And(one.key == other.key, one.version == other.version)
    return smt.Implies(same, one.value == other.value)


class History(NamedTuple):
    """All pairs that an owner has ever written: the key and the value of each version, which it uses once."""

    key: Callable[[Term], Term]
    value: Callable[[Term], Term]

    def has(self, pair: DeltaEntry) -> Term:
        """States that the owner once wrote this pair."""
        return smt.And(self.key(pair.version) == pair.key, self.value(pair.version) == pair.value)

    def and_then(self, pair: DeltaEntry) -> History:
        """Returns the history after one more pair."""
        return History(
            lambda version: smt.If(version == pair.version, pair.key, self.key(version)),
            lambda version: smt.If(version == pair.version, pair.value, self.value(version)),
        )


def any_history() -> History:
    """Returns any history of an owner."""
    return History(smt.Function("key of", smt.IntSort(), Key), smt.Function("value of", smt.IntSort(), Value))


def all_of(history: History, peer: Peer) -> Term:
    """States SameVersionSameValue: each pair of a record is one that the owner wrote, so each version belongs to one pair."""
    table = rows(peer)
    return everywhere(lambda k: smt.Implies(table.has(k), history.has(DeltaEntry(PEER, k, *table.row(k)))))


def no_gap(owner: Peer, known: Peer) -> Term:
    """States NoGap: every current pair of the owner up to the known version is known."""
    own, theirs = rows(owner), rows(known)
    return everywhere(
        lambda k: smt.Implies(
            smt.And(own.has(k), own.row(k).version <= known.version), smt.And(theirs.has(k), same_row(own.row(k), theirs.row(k)))
        )
    )


def dominates(owner: Peer, known: Peer) -> Term:
    """States OwnerDominates of the versions of pairs."""
    own, theirs = rows(owner), rows(known)
    return everywhere(lambda k: smt.Implies(theirs.has(k), smt.And(own.has(k), theirs.row(k).version <= own.row(k).version)))


def in_flight(owner: Peer, history: History, pair: DeltaEntry, since: Term) -> Term:
    """
    States InFlight of one pair of a delta; the pair before it has version `since` (for the first one: the digest's version).

    The owner wrote it, and no other current pair is between the two.
    """
    own = rows(owner)
    return smt.And(
        history.has(pair),
        since < pair.version,
        pair.version <= owner.version,
        own.has(pair.key),
        pair.version <= own.row(pair.key).version,
        everywhere(
            lambda k: smt.Implies(
                smt.And(own.has(k), since < own.row(k).version, own.row(k).version <= pair.version), k == pair.key
            )
        ),
    )
