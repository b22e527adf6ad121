"""
Proofs about Scuttlebutt: merging, NoGap, packing; and through `codec` the bytes of its messages.

A record has any number of keys where `Rows` stands for its table, and a few where the code looks at all of them. Keys and values
are opaque except for equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Final, TypeAlias

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.codec_proofs import Cites, codec_proofs
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.scuttlebutt import any_cluster
from peerproof.conformance.proofs.scuttlebutt.terms import (
    PEER,
    History,
    Key,
    Value,
    all_of,
    any_history,
    any_pair,
    any_record,
    dominates,
    in_flight,
    is_max,
    no_gap,
    one_each,
    rows,
    some_record,
)
from peerproof.conformance.proofs.terms import copy_rows, same_at, same_row
from peerproof.spec.core import NodeId, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import U64_MAX
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.scuttlebutt import codec, reconcile, transitions
from peerproof.spec.scuttlebutt.messages import DeltaEntry, DigestEntry
from peerproof.spec.scuttlebutt.state import MAX_DATAGRAM, Config, Peer, State, Versioned

#: Merges pairs into a record: `reconcile.merge`, or a broken one.
Merge: TypeAlias = Callable[[Any, Any], tuple[Any, Any]]


def merge(peer: Peer, *pairs: Any) -> Any:
    """Merges pairs with the running code, whose `dict` and `Table` are tables with any number of rows."""
    with overriding(names_in(reconcile, dict=copy_rows, Table=copy_rows)):
        return reconcile.merge(peer, pairs)[0]


_MERGED_ANY: Final = Evaluated(("scuttlebutt.reconcile.merge",), ("dict", "Table"))

PROOFS: Final = ProofTable(
    codec_proofs(
        codec.MESSAGE.form,
        {"digest-entry": codec.DIGEST_ENTRY, "delta-entry": codec.DELTA_ENTRY},
        Cites(
            string="BZ-04 B-42 BA-02 BA-04",
            integer="BZ-05 B-43 B-45 BA-01",
            entry="BZ-06 B-41 B-43 B-45",
            message="BZ-06 B-40 B-41 B-43 B-44 B-45",
            size="BZ-07 B-24 B-26 BA-05",
        ),
    )
)

# -- merging pairs ----------------------------------------------------------------------------------------------------


def merge_pair(one: Versioned, other: Versioned, merged: Merge | None = None) -> Versioned:
    """Returns the pair that a record with one pair keeps when it gets the other; the running code with its own tables."""
    record = Peer(Table({"k": one}), one.version)
    entry = DeltaEntry(PEER, "k", other.value, other.version)
    found: Versioned = (merged or reconcile.merge)(record, (entry,))[0].pairs["k"]
    return found


def next_version_only(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    """A merge that accepts nothing but the next version."""
    (pair,) = pairs
    known = peer.pairs[pair.key]
    taken = Versioned(pair.value, pair.version) if pair.version == known.version + 1 else known
    return Peer(Table({pair.key: taken}), taken.version), ()


def three_pairs(path: Path) -> Iterator[Versioned]:
    """Yields any versions of one key."""
    for name in "abc":
        yield Versioned(path.any_of(f"{name}.value", Value), path.integer(f"{name}.version"))


@PROOFS.add(
    "BZ-01 B-36 BA-17", "scuttlebutt.reconcile.merge", Twin("only the next version is taken over", {"merged": next_version_only})
)
def merging_is_associative_and_idempotent(path: Path, *, merged: Merge | None = None) -> None:
    """Of the pairs of a key the one with the greater version wins, of equal ones the first, in whatever groups they arrive."""
    a, b, c = three_pairs(path)

    path.claim("a + a is a", same_row(merge_pair(a, a, merged), a))
    greater = smt.If(b.version > a.version, same_row(merge_pair(a, b, merged), b), same_row(merge_pair(a, b, merged), a))
    path.claim("a + b is the greater", greater)
    left, right = merge_pair(merge_pair(a, b, merged), c, merged), merge_pair(a, merge_pair(b, c, merged), merged)
    path.claim("(a + b) + c is a + (b + c)", same_row(left, right))


@PROOFS.add("BZ-01 B-36", "scuttlebutt.reconcile.merge", Twin("a version may have two values", {"premise": False}))
def merging_commutes_if_a_version_has_one_value(path: Path, *, premise: bool = True) -> None:
    """Merging two pairs of a key commutes if and only if equal versions have equal values."""
    a, b, _ = three_pairs(path)

    commutes = same_row(merge_pair(a, b), merge_pair(b, a))
    path.claim(
        "it commutes if and only if", commutes == smt.Implies(a.version == b.version, a.value == b.value) if premise else commutes
    )


@PROOFS.add("BZ-01 B-36", _MERGED_ANY, Twin("a version may have two values", {"premise": False}))
def order_and_repetition_of_pairs_do_not_matter(path: Path, *, premise: bool = True) -> None:
    """Two pairs, of any keys, leave any record the same in either order, and a second time changes nothing."""
    record, a, b = any_record(path, "record"), any_pair(path, "a"), any_pair(path, "b")
    if premise:
        path.assume(one_each(a, b))

    once, other = merge(record, a, b), merge(record, b, a)
    again = merge(once, a, b)
    key = path.any_of("key", Key)
    path.claim("the other order", smt.And(same_at(rows(once), rows(other), key), once.version == other.version))
    path.claim("a second time", smt.And(same_at(rows(once), rows(again), key), once.version == again.version))


@PROOFS.add("BZ-02 B-36", _MERGED_ANY, Twin("the list is merged from its end", {"forwards": False}))
def pairs_merge_one_by_one(path: Path, *, forwards: bool = True) -> None:
    """
    Merging a list of pairs is merging its first, then the rest, so statements about one pair hold for all.

    Shown for two; the loop carries only the record from one pair to the next.
    """
    record, a, b = any_record(path, "record"), any_pair(path, "a"), any_pair(path, "b")

    together, apart = merge(record, *((a, b) if forwards else (b, a))), merge(merge(record, a), b)
    path.claim("the same pairs", same_at(rows(together), rows(apart), path.any_of("key", Key)))
    path.claim("the same version", together.version == apart.version)


@PROOFS.add("BZ-02 BI-01 B-03 B-37 B-38", _MERGED_ANY, Twin("the version was not the maximum before", {"premise": False}))
def version_stays_the_maximum(path: Path, *, premise: bool = True) -> None:
    """A record of any number of pairs keeps VersionIsMax under a merge."""
    record, pair = any_record(path, "record"), any_pair(path, "pair")
    if premise:
        path.assume(is_max(record))

    path.claim("VersionIsMax", is_max(merge(record, pair)))


@PROOFS.add("BZ-02 B-36 B-37 BA-14 BA-17", _MERGED_ANY, Twin("the version was not the maximum before", {"premise": False}))
def merging_a_record_is_merging_its_pairs(path: Path, *, premise: bool = True) -> None:
    """
    A pair merged into a record changes its own key only, there to the greater version, and the record's version to the
    greater of the two: merging is a join for each key and a maximum.
    """
    record, pair = any_record(path, "record"), any_pair(path, "pair", least=1)
    if premise:
        path.assume(is_max(record))
    before, own, other = rows(record), pair.key, path.any_of("other key", Key)

    merged = merge(record, pair)
    news = smt.Or(smt.Not(before.has(own)), pair.version > before.row(own).version)
    path.claim(
        "the greater version at its key",
        smt.If(news, same_row(rows(merged).row(own), pair[2:]), same_at(rows(merged), before, own)),
    )
    path.claim("no other key", smt.Implies(other != own, same_at(rows(merged), before, other)))
    path.claim(
        "the greater version of the record", merged.version == smt.If(pair.version > record.version, pair.version, record.version)
    )


# -- NoGap -----------------------------------------------------------------------------------------------------------


def invariant(owner: Peer, known: Peer, history: History) -> dict[str, Term]:
    """Returns the invariants between an owner and a node that knows it; the owner's own record is of its history too."""
    return {
        "NoGap": no_gap(owner, known),
        "VersionIsMax": is_max(known),
        "OwnerDominates": known.version <= owner.version,
        "OwnerDominates of pairs": dominates(owner, known),
        "SameVersionSameValue": all_of(history, known),
        "SameVersionSameValue of the owner": all_of(history, owner),
    }


def different_pairs(path: Path, count: int) -> dict[Term, Term]:
    """Returns this many different keys, each with any value."""
    found = {path.any_of(f"key{at}", Key): path.any_of(f"value{at}", Value) for at in range(count)}
    path.assume(smt.Distinct(*found))
    return found


@PROOFS.add(
    "BZ-03 BI-06 BI-07 B-29 B-30",
    Evaluated(("scuttlebutt.reconcile.newer_pairs",), ("octets",)),
    Twin("newest pairs first (BX-05)", {"oldest_first": False}),
)
def answering_puts_pairs_in_flight(path: Path, *, keys: int = 3, oldest_first: bool = True) -> None:
    """
    Each pair of a delta is in flight from the version before it on, the first from the digest's: InFlight, wherever it is cut.

    For a sender that knows up to three pairs, at any versions, of an owner with any number of them; the sender may be behind the
    owner as far as NoGap allows.
    """
    owner, teller, history = any_record(path, "owner"), some_record(path, "teller", different_pairs(path, keys)), any_history()
    since = path.integer("digest", 0, U64_MAX)
    path.assume(*invariant(owner, teller, history).values())

    with overriding(names_in(reconcile, octets=lambda key: key)):
        pairs = reconcile.newer_pairs(PEER, teller, since)
    for pair in pairs if oldest_first else reversed(pairs):
        path.claim("InFlight", in_flight(owner, history, pair, since))
        since = pair.version


def apply_update(path: Path, owner: Peer, new: DeltaEntry) -> Peer:
    """Returns the owner's record after an update of any key to any value; the same record if that is refused."""
    size = path.integer("size of the entry")
    state = State(PEER, Config(detector=None), Table({PEER: owner}), Table())
    try:
        with overriding(names_in(transitions, encode_string=lambda *_: b"", delta_entry_size=lambda _: size)):
            changed = transitions.on_update_local(state, new.key, new.value).state
    except NotEnabled:
        return owner
    return changed.store[PEER]


@PROOFS.add(
    "BZ-03 BI-02 BI-03 BI-04 BI-06 B-07",
    Evaluated(("scuttlebutt.transitions.on_update_local",), ("encode_string", "delta_entry_size")),
    Twin("the owner restarted, and others know more of it than it does (BX-03)", {"restarted": True}),
)
def owner_updating_keeps_no_gap(path: Path, *, restarted: bool = False) -> None:
    """A local update keeps NoGap of every record, InFlight of every delta, and all other assumptions."""
    owner, known, history = any_record(path, "owner"), any_record(path, "known"), any_history()
    pair, since = any_pair(path, "pair", least=1), path.integer("since")
    path.assume(is_max(owner), all_of(history, owner), in_flight(owner, history, pair, since))
    path.assume(*(holds for name, holds in invariant(owner, known, history).items() if not restarted or name == "NoGap"))

    new = any_pair(path, "new")
    updated = apply_update(path, owner, new)
    if updated is owner:
        return
    now = history.and_then(new._replace(version=updated.version))
    for name, holds in invariant(updated, known, now).items():
        path.claim(name, holds)
    path.claim("InFlight", in_flight(updated, now, pair, since))
    path.claim("the owner's version is the maximum", is_max(updated))
    path.claim("the owner's pairs are in its history", all_of(now, updated))
    path.claim("the history before is still the history", smt.Implies(history.has(pair), now.has(pair)))


@PROOFS.add(
    "BZ-03 BI-01 BI-02 BI-03 BI-04 B-30 B-36",
    _MERGED_ANY,
    Twin("the delta was made for a version above the receiver's (BX-04)", {"late": True}),
)
def receiving_keeps_no_gap(path: Path, *, late: bool = False) -> None:
    """
    A delta that was made for a version not above the receiver's keeps NoGap, and all other assumptions, pair by pair.

    For one pair of it, between any record and any owner: if all is known up to the version before the pair, then all is known up
    to the record's version afterwards, which is not below the pair's. So the same holds for the next pair.
    """
    owner, known, history = any_record(path, "owner"), any_record(path, "known"), any_history()
    pair, since = any_pair(path, "pair", least=1), path.integer("since")
    path.assume(*invariant(owner, known, history).values(), in_flight(owner, history, pair, since))
    if not late:
        path.assume(since <= known.version)

    merged = merge(known, pair)
    for name, holds in invariant(owner, merged, history).items():
        path.claim(name, holds)
    path.claim("the next pair is no later than the record", pair.version <= merged.version)


# -- packing ----------------------------------------------------------------------------------------------------------


def skipping(entries: Iterable[Any], size: Callable[[Any], Any], limit: Any) -> Iterator[Any]:
    """A packing that goes on after an entry that does not fit."""
    used = codec.TYPE_SIZE
    for entry in entries:
        if used + size(entry) <= limit:
            used += size(entry)
            yield entry


@PROOFS.add(
    "BZ-07 BI-08 B-24 B-26 BA-05",
    Evaluated(("scuttlebutt.reconcile.fitting",), ("TYPE_SIZE",)),
    Twin("the limit is one more than is allowed", {"above": 1}),
)
def packing_keeps_to_the_limit(path: Path, *, above: int = 0) -> None:
    """
    Packing never exceeds the limit: one more entry is taken only if it stays within it.

    From any number of used bytes up to the limit, so for any number of entries.
    """
    used, limit = path.integer("used"), path.integer("limit", 1, MAX_DATAGRAM)
    path.assume(used <= limit)
    size = path.integer("size", 1)

    with overriding(names_in(reconcile, TYPE_SIZE=used)):
        taken = list(reconcile.fitting([size], lambda entry: entry, limit + above))
    path.claim("within the limit", used + sum(taken) <= limit)
    path.claim("what fits is taken", smt.Implies(used + size <= limit, bool(taken)))


@PROOFS.add("BZ-07 B-31 BA-06", "scuttlebutt.reconcile.fitting", Twin("what does not fit is skipped", {"fitting": skipping}))
def packing_takes_a_prefix(path: Path, *, fitting: Callable[..., Iterator[Any]] | None = None) -> None:
    """Of a sequence of entries, as many as fit are taken from the first on, and none is left out."""
    sizes = [path.integer(f"size{at}", 1) for at in range(4)]
    limit = path.integer("limit", 1, MAX_DATAGRAM)
    entries = list(enumerate(sizes))

    taken = list((fitting or reconcile.fitting)(entries, lambda entry: entry[1], limit))
    path.claim("a prefix", taken == entries[: len(taken)])
    if len(taken) < len(entries):
        path.claim("it ends only where the next would not fit", 1 + sum(sizes[: len(taken) + 1]) > limit)


@PROOFS.add(
    "BZ-07 BI-07 BI-08 B-26 B-27 B-28 B-31",
    "scuttlebutt.reconcile.delta",
    Twin("what does not fit is skipped", {"fitting": skipping}),
)
def delta_is_bounded_and_a_prefix_of_each_peer(path: Path, *, fitting: Callable[..., Iterator[Any]] | None = None) -> None:
    """
    A whole delta is within the limit, has the peer furthest behind first, and of each peer the first of the missing pairs.

    For two peers, of which three pairs of different sizes are known.
    """
    p, q = some_record(path, "p", {"a": "", "long": "value"}), some_record(path, "q", {"b": ""})
    limit = path.integer("limit", 1, MAX_DATAGRAM)
    digest = [DigestEntry(NodeId(addr), path.integer(f"{addr} in the digest", 0, U64_MAX)) for addr in "pq"]
    records = {NodeId("p"): Peer(Table(p.pairs), p.version), NodeId("q"): Peer(Table(q.pairs), q.version)}
    state = State(PEER, Config(max_payload=limit, detector=None), Table(records), Table())

    with overriding(names_in(reconcile, fitting=fitting or reconcile.fitting)):
        pairs = reconcile.delta(state, digest)
    path.claim("within the limit", codec.TYPE_SIZE + sum(map(codec.delta_entry_size, pairs)) <= limit)
    for entry in digest:
        of_peer = [pair for pair in pairs if pair.addr == entry.addr]
        lacking = reconcile.newer_pairs(entry.addr, records[entry.addr], entry.version)
        path.claim("a prefix of each peer", of_peer == lacking[: len(of_peer)])
    behind = {entry.addr: records[entry.addr].version - entry.version for entry in digest}
    path.claim("furthest behind first", smt.And(*(behind[one.addr] >= behind[other.addr] for one, other in pairwise(pairs))))


PROOFS.extend(any_cluster.PROOFS)
