"""
Reconciliation: the digests and deltas that two nodes exchange until both know the same.

Pure functions of a store and a digest. Each stops at the first entry that would take the datagram over its limit: entries are
in the order of priority, and a gap within a peer's pairs could never be filled again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from peerproof.spec.core import NodeId, Table
from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE, delta_entry_size, digest_entry_size
from peerproof.spec.scuttlebutt.messages import DeltaEntry, DigestEntry
from peerproof.spec.scuttlebutt.state import Peer, State, Versioned

Entry = TypeVar("Entry")


def version_of(state: State, addr: NodeId) -> int:
    """Returns the version of a peer as known here; 0 for an unknown peer. [B-04, B-11]"""
    peer = state.store.get(addr)
    return peer.version if peer else 0


def digest(state: State, order: Iterable[NodeId]) -> tuple[DigestEntry, ...]:
    """Returns the peers in this order with their versions, as many as fit. [B-10, B-22, B-23, B-24, B-25]"""
    entries = (DigestEntry(addr, state.store[addr].version) for addr in order)
    return tuple(fitting(entries, digest_entry_size, state.config.max_payload))


def lacking_here(state: State, entries: Iterable[DigestEntry]) -> tuple[DigestEntry, ...]:
    """
    Returns the peers of a digest that its sender knows more of than this node, with the versions known here. [B-12, B-14, BA-10]

    Never the node itself: it accepts no pairs about itself. [BA-16]
    """
    lacking = (
        DigestEntry(entry.addr, version_of(state, entry.addr))
        for entry in entries
        if entry.version > version_of(state, entry.addr) and entry.addr != state.self_id
    )
    return tuple(fitting(lacking, digest_entry_size, state.config.max_payload))  # [BA-11]


def delta(state: State, entries: Iterable[DigestEntry]) -> tuple[DeltaEntry, ...]:
    """
    Returns the pairs that the sender of a digest lacks, as many as fit, most outdated peer first. [B-13, B-26…B-31]

    Only of peers that the digest lists: nothing is certain about the others. [BA-08]
    """
    limit = state.config.max_payload
    offered = (
        pair
        for entry in most_outdated_first(state, entries)
        for pair in until_oversize(newer_pairs(entry.addr, state.store[entry.addr], entry.version), limit)
    )
    return tuple(fitting(offered, delta_entry_size, limit))


def most_outdated_first(state: State, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    """Returns the entries below the version known here, largest difference first, ties by address. [B-27, B-28, BA-12]"""
    outdated = (entry for entry in entries if version_of(state, entry.addr) > entry.version)
    return sorted(outdated, key=lambda entry: (entry.version - version_of(state, entry.addr), octets(entry.addr)))


def newer_pairs(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
    """Returns a peer's pairs above a version, oldest first, so that a cut leaves no gap. [B-29, B-30, BA-12]"""
    newer = [DeltaEntry(addr, key, value, at) for key, (value, at) in peer.pairs.items() if at > version]
    return sorted(newer, key=lambda pair: (pair.version, octets(pair.key)))


def until_oversize(pairs: Iterable[DeltaEntry], limit: int) -> Iterator[DeltaEntry]:
    """
    Yields the pairs before the first one that no datagram could hold.

    Otherwise, by "once the message is full we stop", one such pair, which may come from a peer with a higher limit, would keep
    the pairs of all other peers out of the delta for ever. [BA-07]
    """
    for pair in pairs:
        if TYPE_SIZE + delta_entry_size(pair) > limit:
            return
        yield pair


def fitting(entries: Iterable[Entry], size: Callable[[Entry], int], limit: int) -> Iterator[Entry]:
    """Yields the entries before the first one that would take the datagram over its limit. [B-24, B-31, BA-05, BA-06]"""
    used = TYPE_SIZE
    for entry in entries:
        used += size(entry)
        if used > limit:
            return
        yield entry


def merge(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    """
    Returns a peer's record after applying these pairs one by one, and those that were new. [B-36, B-37, B-38]

    A pair is compared with the same key only: an unseen key is new even below the peer's version, which then stays, and
    version 0 is never new. An equal version with another value is not newer. [BA-14, BA-17]
    """
    known = dict(peer.pairs)
    version = peer.version
    news = []
    for pair in pairs:
        if pair.version > (known[pair.key].version if pair.key in known else 0):
            known[pair.key] = Versioned(pair.value, pair.version)
            version = max(version, pair.version)
            news.append(pair)
    return (Peer(Table(known), version) if news else peer), tuple(news)
