"""Checks of the models besides `properties`: expected counterexamples, and the same after a repair; by their TLA+ names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import permutations
from typing import Any, Final

from peerproof.spec.core import NodeId, Received, Send, outcomes
from peerproof.spec.model.bounded import NOW, RESTART
from peerproof.spec.model.liveness import Ending
from peerproof.spec.model.questions import Endings, OfArrivals, Question, never_message, of_cluster, of_nodes, one_ending
from peerproof.spec.model.run_monitor import Watched
from peerproof.spec.properties import Cluster, InFlight
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE, delta_entry_size
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.model.bounded import Model
from peerproof.spec.scuttlebutt.properties import no_gap, owner_dominates, same_version_same_value, views_equal
from peerproof.spec.scuttlebutt.reconcile import newer_pairs
from peerproof.spec.scuttlebutt.state import Peer, State


def same_view(_: Model, watched: Watched) -> bool:
    """After a complete round, both nodes know the same. [B-21, BX-01]"""
    return not _complete(watched) or _of_both(watched)[0].store == _of_both(watched)[1].store


def same_view_of_listed(_: Model, watched: Watched) -> bool:
    """After a complete round, both nodes know the same about the peers that the digest listed. [mends BX-01]"""
    if not _complete(watched):
        return True
    one, other = _of_both(watched)
    return all(one.store[peer] == other.store[peer] for peer in watched.memory.listed)


def learns_partner(_: Model, watched: Watched) -> bool:
    """The node that began a round knows its partner afterwards. [BX-02]"""
    return not _complete(watched) or watched.memory.partner in _of_both(watched)[0].store


def is_learnt_by_partner(_: Model, watched: Watched) -> bool:
    """The partner of a round knows afterwards which node began it. [mends BX-02]"""
    return not _complete(watched) or watched.memory.begun_by in _of_both(watched)[1].store


def _complete(watched: Watched) -> bool:
    return watched.memory is not None and not watched.in_flight


def _of_both(watched: Watched) -> tuple[State, State]:
    return watched.nodes[watched.memory.begun_by], watched.nodes[watched.memory.partner]


def no_gap_of_lasting(model: Model, cluster: Cluster) -> bool:
    """NoGap of the owners that do not restart. [BX-04]"""
    lasting = {addr: state for addr, state in cluster.nodes.items() if addr not in model.faults.restarting}
    return all(
        known.pairs.get(key) == pair
        for owner, own in lasting.items()
        for state in cluster.nodes.values()
        if (known := state.store.get(owner))
        for key, pair in own.store[owner].pairs.items()
        if pair.version <= known.version
    )


@OfArrivals
def nobody_starves(model: Model, cluster: Cluster) -> bool:
    """If the next pair of some peer fits, the answer to a digest is not empty. [BX-06]"""
    return all(
        _delta_for(model, cluster, digest)
        for digest in _digests(cluster)
        for missing in _missing(cluster.nodes[digest.to], digest)
        if missing and TYPE_SIZE + delta_entry_size(missing[0]) <= cluster.nodes[digest.to].config.max_payload
    )


def never_agreed(_: Model, cluster: Cluster) -> bool:
    """Views differ, or there is a node without any pairs."""
    return not (views_equal(cluster) and all(state.store[addr].version for addr, state in cluster.nodes.items()))


def never_partial_digest(_: Model, cluster: Cluster) -> bool:
    """Every digest request lists all peers that its sender knows."""
    return all(
        len(message.entries) >= len(cluster.nodes[sender].store)
        for sender, _, message in cluster.in_flight
        if isinstance(message, DigestRequest)
    )


@OfArrivals
def never_cut_delta(model: Model, cluster: Cluster) -> bool:
    """Every answer to a digest would be complete."""
    return all(
        len(missing) == sum(pair.addr == entry.addr for pair in _delta_for(model, cluster, digest))
        for digest in _digests(cluster)
        for entry, missing in zip(digest.message.entries, _missing(cluster.nodes[digest.to], digest), strict=True)
    )


def never_hearsay(_: Model, cluster: Cluster) -> bool:
    """Each node only sends pairs of its own."""
    return all(pair.addr == sender for sender, _, pair in _pairs(cluster))


@OfArrivals
def never_stale(_: Model, cluster: Cluster) -> bool:
    """Each arriving pair is new."""
    for _sender, to, pair in _pairs(cluster):
        known = cluster.nodes[to].store.get(pair.addr)
        if known and pair.addr != to and pair.key in known.pairs and pair.version <= known.pairs[pair.key].version:
            return False
    return True


def never_overwritten(_: Model, cluster: Cluster) -> bool:
    """The pairs that others know of a node were never overwritten."""
    return all(
        peer.version <= len(peer.pairs)
        for state in cluster.nodes.values()
        for addr, peer in state.store.items()
        if addr != state.self_id
    )


def _is_delta(message: Any) -> bool:
    return isinstance(message, Delta)


def _digests(cluster: Cluster) -> Iterator[InFlight]:
    return (sent for sent in cluster.in_flight if not _is_delta(sent.message))


def _pairs(cluster: Cluster) -> Iterator[tuple[NodeId, NodeId, DeltaEntry]]:
    return ((sender, to, pair) for sender, to, message in cluster.in_flight if _is_delta(message) for pair in message.entries)


def _missing(state: State, digest: InFlight) -> Iterator[list[DeltaEntry]]:
    """Yields the pairs that the sender lacks, for each peer that it lists."""
    entries: tuple[DigestEntry, ...] = digest.message.entries
    return (newer_pairs(entry.addr, state.store.get(entry.addr, Peer()), entry.version) for entry in entries)


def _delta_for(model: Model, cluster: Cluster, digest: InFlight) -> tuple[DeltaEntry, ...]:
    """Returns the answer that a digest under way would get now."""
    event = Received(NOW, digest.sender, digest.message)
    taken = next(outcomes(partial(model.spec.step, cluster.nodes[digest.to], event))).step
    return next(e.message.entries for e in taken.effects if isinstance(e, Send) and isinstance(e.message, Delta))


QUESTIONS: Final[Mapping[str, Question]] = {
    "OwnerDominates": of_cluster(owner_dominates),
    "NoGap": of_cluster(no_gap),
    "SameVersionSameValue": of_cluster(same_version_same_value),
    "SameView": same_view,
    "SameViewOfListed": same_view_of_listed,
    "LearnsPartner": learns_partner,
    "IsLearntByPartner": is_learnt_by_partner,
    "NoGapOfLasting": no_gap_of_lasting,
    "NobodyStarves": nobody_starves,
    "NeverAgreed": never_agreed,
    "NeverPartialDigest": never_partial_digest,
    "NeverCutDelta": never_cut_delta,
    "NeverDigestResponse": never_message(lambda message: isinstance(message, DigestResponse)),
    "NeverHearsay": never_hearsay,
    "NeverTwoPeers": never_message(lambda message: _is_delta(message) and len({pair.addr for pair in message.entries}) > 1),
    "NeverStale": never_stale,
    "NeverOverwritten": never_overwritten,
    "NeverUnknownSeed": of_nodes(lambda state: len(state.store) <= 1 or set(state.config.seeds) <= set(state.store)),
}


#: Actions that eventually end, also under their names in a monitor.
ENDED: Final = frozenset({"Update", RESTART, "QuietUpdate", "QuietRestart"})

CONVERGES: Final = Ending("Converges", "views become equal for good", ("BL-01",), views_equal, ENDED)
CAN_AGREE: Final = Ending("CanAgree", "there is always a way to equal views", ("BL-01",), views_equal, ENDED, returns=True)


def digests_are_answered(model: Model) -> Iterator[Ending]:
    """For each pair of nodes: a digest from one to the other is followed by a delta back. [BL-02]"""
    names = [addr for addr, _ in model.nodes]
    for sender, to in permutations(names, 2):
        yield Ending(
            "DigestsAreAnswered",
            f"a digest from {sender} to {to} is answered by a delta",
            ("BL-02",),
            goal=partial(_is_under_way, to, sender, (Delta,)),
            ended=ENDED,
            since=partial(_is_under_way, sender, to, (DigestRequest, DigestResponse)),
        )


def _is_under_way(sender: NodeId, to: NodeId, kinds: tuple[type, ...], cluster: Cluster) -> bool:
    return any(sent.sender == sender and sent.to == to and isinstance(sent.message, kinds) for sent in cluster.in_flight)


ENDINGS: Final[Mapping[str, Endings]] = {
    "Converges": one_ending(CONVERGES),
    "CanAgree": one_ending(CAN_AGREE),
    "DigestsAreAnswered": digests_are_answered,
}
