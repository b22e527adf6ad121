"""
Properties of every run of Scuttlebutt without restarts, and reachability checks.

BI- names are those of `spec/scuttlebutt.md`; the models use the same.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.core import Asked, NodeId, Received, Send
from peerproof.spec.properties import Cluster, Property, Taken
from peerproof.spec.scuttlebutt.codec import MESSAGE
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.reconcile import newer_pairs, version_of
from peerproof.spec.scuttlebutt.state import Peer, State


def version_is_max(state: State) -> bool:
    """A peer's version is the largest of its pairs' versions, 0 without pairs."""
    return all(peer.version == max((pair.version for pair in peer.pairs.values()), default=0) for peer in state.store.values())


def owner_dominates(cluster: Cluster) -> bool:
    """No node knows a higher version of a node than the node itself."""
    return all(
        known.version <= version_of(cluster.nodes[owner], owner)
        for state in cluster.nodes.values()
        for owner, known in _peer_records(state, cluster)
    )


def no_gap(cluster: Cluster) -> bool:
    """A node that knows a version of a peer has every current pair of that peer up to this version."""
    return all(
        known.pairs.get(key) == pair
        for state in cluster.nodes.values()
        for owner, known in _peer_records(state, cluster)
        for key, pair in cluster.nodes[owner].store[owner].pairs.items()
        if pair.version <= known.version
    )


def same_version_same_value(cluster: Cluster) -> bool:
    """A version of a key at one owner has the same value at all nodes."""
    seen: dict[tuple[NodeId, str, int], str] = {}
    return all(
        seen.setdefault((owner, key, pair.version), pair.value) == pair.value
        for state in cluster.nodes.values()
        for owner, known in state.store.items()
        for key, pair in known.pairs.items()
    )


def monotone(taken: Taken) -> bool:
    """No version of a peer or of a pair decreases, and nothing known is forgotten."""
    after: State = taken.after
    return all(
        addr in after.store
        and after.store[addr].version >= peer.version
        and all(
            key in after.store[addr].pairs and after.store[addr].pairs[key].version >= pair.version
            for key, pair in peer.pairs.items()
        )
        for addr, peer in taken.before.store.items()
    )


def in_flight_complete(cluster: Cluster) -> bool:
    """
    A delta under way has no gaps: it holds every current pair of a peer between the receiver's version, or its first pair, and
    its last.

    It was computed for a version that the receiver had then and cannot have lost since; so no pair above the receiver's present
    version may be missing.
    """
    for _, to, message in cluster.in_flight:
        if isinstance(message, Delta):
            for addr in {entry.addr for entry in message.entries} & set(cluster.nodes):
                carried = [entry for entry in message.entries if entry.addr == addr]
                lowest, highest = min(entry.version for entry in carried), max(entry.version for entry in carried)
                since = min(lowest - 1, version_of(cluster.nodes[to], addr)) if to in cluster.nodes else lowest - 1
                current = newer_pairs(addr, cluster.nodes[addr].store[addr], since)
                if any(pair.version <= highest and pair not in carried for pair in current):
                    return False
    return True


def delta_prefix(taken: Taken) -> bool:
    """
    A delta's pairs of a peer are a prefix, in the order of versions, of the pairs that the digest's sender lacks.

    If the digest names a peer several times, each of its entries has its own prefix, most outdated first. [BA-13]
    """
    if not _answers_digest(taken):
        return True
    lacking: dict[NodeId, list[list[DeltaEntry]]] = {}
    for entry in sorted(taken.event.message.entries, key=lambda entry: entry.version):
        known = taken.before.store.get(entry.addr, Peer())
        lacking.setdefault(entry.addr, []).append(newer_pairs(entry.addr, known, entry.version))
    return all(
        _are_prefixes([pair for pair in effect.message.entries if pair.addr == addr], lacking.get(addr, []))
        for effect in taken.effects
        if isinstance(effect, Send) and isinstance(effect.message, Delta)
        for addr in {entry.addr for entry in effect.message.entries}
    )


def _are_prefixes(sent: list[DeltaEntry], lists: list[list[DeltaEntry]]) -> bool:
    """Whether `sent` consists of a prefix of each list, in order."""
    ends = {0}  # the lengths of `sent` that the lists so far can explain
    for pairs in lists:
        ends |= {begin + n for begin in ends for n in range(1, len(pairs) + 1) if sent[begin : begin + n] == pairs[:n]}
    return len(sent) in ends


def always_a_delta(taken: Taken) -> bool:
    """Every digest is answered by one delta, to its source address."""
    deltas = [effect.to for effect in taken.effects if isinstance(effect, Send) and isinstance(effect.message, Delta)]
    return not _answers_digest(taken) or deltas == [taken.event.sender]


def delta_bounded(taken: Taken) -> bool:
    """No datagram is larger than the configured maximum."""
    limit = taken.before.config.max_payload
    return all(len(MESSAGE.encode(effect.message)) <= limit for effect in taken.effects if isinstance(effect, Send))


def no_digest_loop(taken: Taken) -> bool:
    """A digest response is never answered with a digest."""
    return not (isinstance(taken.event, Received) and isinstance(taken.event.message, DigestResponse)) or not any(
        isinstance(effect, Send) and isinstance(effect.message, (DigestRequest, DigestResponse)) for effect in taken.effects
    )


def own_untouched(taken: Taken) -> bool:
    """Only the application changes the node's own record."""
    own = taken.before.self_id
    return isinstance(taken.event, Asked) or taken.before.store[own] == taken.after.store[own]


def delta_is_news(taken: Taken) -> bool:
    """A delta contains a new pair."""
    return _is_delta(taken) and bool(taken.event.message.entries) and taken.before.store != taken.after.store


def delta_is_stale(taken: Taken) -> bool:
    """A delta contains only known pairs."""
    return _is_delta(taken) and bool(taken.event.message.entries) and taken.before.store == taken.after.store


def views_equal(cluster: Cluster) -> bool:
    """All nodes know the same about all nodes."""
    first, *others = cluster.nodes.values()
    return all(state.store == first.store for state in others)


def _peer_records(state: State, cluster: Cluster) -> list[tuple[NodeId, Peer]]:
    return [(owner, known) for owner, known in state.store.items() if owner in cluster.nodes]


def _answers_digest(taken: Taken) -> bool:
    return isinstance(taken.event, Received) and isinstance(taken.event.message, (DigestRequest, DigestResponse))


def _is_delta(taken: Taken) -> bool:
    return isinstance(taken.event, Received) and isinstance(taken.event.message, Delta)


PROPERTIES: Final = (
    Property(
        "VersionIsMax", "a peer's version is the maximum of its pairs'", ("BI-01", "B-03", "B-04", "B-38"), "node", version_is_max
    ),
    Property("OwnerDominates", "no node is ahead of a record's owner", ("BI-02", "B-05", "B-06"), "cluster", owner_dominates),
    Property("NoGap", "all current pairs up to the known version are known", ("BI-03", "B-30", "B-36"), "cluster", no_gap),
    Property("SameVersionSameValue", "a version has one value", ("BI-04", "B-06", "B-07"), "cluster", same_version_same_value),
    Property("Monotone", "no version decreases", ("BI-05", "B-36", "B-37"), "step", monotone),
    Property("InFlight", "a delta under way has no holes", ("BI-06", "B-30"), "cluster", in_flight_complete),
    Property(
        "DeltaPrefix", "a delta is a prefix, per peer, of the missing pairs", ("BI-07", "B-29", "B-30"), "step", delta_prefix
    ),
    Property("DeltaBounded", "no datagram is above the limit", ("BI-08", "B-24", "B-26"), "step", delta_bounded),
    Property("NoDigestLoop", "a digest response causes no digest", ("BI-09", "B-16", "B-39"), "step", no_digest_loop),
    Property("OwnUntouched", "only the application changes the own record", ("BI-10", "B-06"), "step", own_untouched),
    Property("AlwaysADelta", "every digest is answered by a delta", ("BL-02", "B-13", "B-32", "B-39"), "step", always_a_delta),
    Property("DeltaIsNews", "a delta brings something new", ("B-15",), "step", delta_is_news, "sometimes"),
    Property("DeltaIsStale", "a delta brings only known pairs", ("B-36",), "step", delta_is_stale, "sometimes"),
    Property("ViewsEqual", "all views are equal", ("BL-01", "B-05"), "cluster", views_equal, "eventually"),
)
