"""
Reconciliation: what two nodes must tell each other so that neither lacks what the other knows.

Pure functions of a store and a digest. All of them stop at the first entry that would take the datagram over its limit:
entries are in order of need, and a gap inside a peer could never be filled again.
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
    """The version of a peer as known here; 0 for one that is not known. [B-04, B-11]"""
    peer = state.store.get(addr)
    return peer.version if peer else 0


def digest(state: State, order: Iterable[NodeId]) -> tuple[DigestEntry, ...]:
    """The peers in this order with their versions, as many as fit. [B-10, B-22, B-23, B-24, B-25]"""
    entries = (DigestEntry(addr, state.store[addr].version) for addr in order)
    return tuple(fitting(entries, digest_entry_size, state.config.max_payload))


def lacking_here(state: State, entries: Iterable[DigestEntry]) -> tuple[DigestEntry, ...]:
    """
    The peers of a digest that its sender knows more of than this node, with the versions known here. [B-12, B-14, BA-10]

    Never the node itself: nobody can tell it anything about itself that it would accept. [BA-16]
    """
    lacking = (
        DigestEntry(entry.addr, version_of(state, entry.addr))
        for entry in entries
        if entry.version > version_of(state, entry.addr) and entry.addr != state.self_id
    )
    return tuple(fitting(lacking, digest_entry_size, state.config.max_payload))  # [BA-11]


def delta(state: State, entries: Iterable[DigestEntry]) -> tuple[DeltaEntry, ...]:
    """
    The pairs that the sender of a digest lacks, as many as fit, most outdated peer first. [B-13, B-26…B-31]

    Only peers that the digest lists: of the others nothing is certain. [BA-08]
    """
    limit = state.config.max_payload
    offered = (
        pair
        for entry in most_outdated_first(state, entries)
        for pair in until_oversize(newer_pairs(entry.addr, state.store[entry.addr], entry.version), limit)
    )
    return tuple(fitting(offered, delta_entry_size, limit))


def most_outdated_first(state: State, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    """The entries whose version is below the one known here, by how far, ties by address. [B-27, B-28, BA-12]"""
    outdated = (entry for entry in entries if version_of(state, entry.addr) > entry.version)
    return sorted(outdated, key=lambda entry: (entry.version - version_of(state, entry.addr), octets(entry.addr)))


def newer_pairs(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
    """A peer's pairs above a version, oldest first, so that a cut leaves no gap. [B-29, B-30, BA-12]"""
    newer = [DeltaEntry(addr, key, value, at) for key, (value, at) in peer.pairs.items() if at > version]
    return sorted(newer, key=lambda pair: (pair.version, octets(pair.key)))


def until_oversize(pairs: Iterable[DeltaEntry], limit: int) -> Iterator[DeltaEntry]:
    """
    The pairs before the first one that no datagram could hold.

    Without it, "once the message is full we stop" would let one such pair, which may come from a peer with a higher limit,
    keep every other peer from being told anything, for ever. [BA-07]
    """
    for pair in pairs:
        if TYPE_SIZE + delta_entry_size(pair) > limit:
            return
        yield pair


def fitting(entries: Iterable[Entry], size: Callable[[Entry], int], limit: int) -> Iterator[Entry]:
    """The entries before the first one that would take the datagram over its limit. [B-24, B-31, BA-05, BA-06]"""
    used = TYPE_SIZE
    for entry in entries:
        used += size(entry)
        if used > limit:
            return
        yield entry


def merge(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    """
    A peer's record after these pairs, one by one, and those of them that were news. [B-36, B-37, B-38]

    A pair counts against the same key only: an unseen key is news even below the peer's version, which then stays, and
    version 0 never is. An equal version with another value is not newer. [BA-14, BA-17]
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
