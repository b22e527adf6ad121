"""
The transitions of a Scuttlebutt node: `initial` makes one, `step` handles one event.

A round of gossip is three datagrams between two nodes: a digest request ("this is what I know"), a delta ("this is what
you lack"), and, if the other lacks something too, a digest response that is answered by a delta.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeAlias, assert_never

from peerproof.spec.core import Asked, Duration, Expired, Instant, NodeId, Notify, Pick, Received, Send, SetTimer, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import U64_MAX, encode_string
from peerproof.spec.scuttlebutt.arrival import open_window, phi_exceeds, record_arrival
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE, delta_entry_size
from peerproof.spec.scuttlebutt.messages import (
    Delta,
    DeltaEntry,
    DigestEntry,
    DigestRequest,
    DigestResponse,
    Down,
    Effect,
    Event,
    Heartbeat,
    Join,
    Round,
    Up,
    Update,
    UpdateLocal,
)
from peerproof.spec.scuttlebutt.reconcile import delta, digest, lacking_here, merge
from peerproof.spec.scuttlebutt.state import MAX_STRING, Config, Liveness, Peer, State, Status, Versioned

Next: TypeAlias = Step[State, Effect]


def initial(self_id: NodeId, config: Config) -> Next:
    """Returns a node that knows only itself, at version 0; its first round comes after one interval. [B-01, B-04, B-08]"""
    encode_string("node's address", self_id, MAX_STRING)
    state = State(self_id, config, store=Table({self_id: Peer()}), liveness=Table())
    return Step(state, (SetTimer(Round(), config.interval),))


def step(state: State, event: Event, pick: Pick) -> Next:
    """Dispatches one event to its handler."""
    match event:
        case Expired(now, Round()):
            return on_round(state, now, pick)
        case Asked(_, UpdateLocal(key, value)):
            return on_update_local(state, key, value)
        case Received(now, sender, message):
            match message:
                case DigestRequest(entries):
                    return on_digest_request(state, now, sender, entries)
                case DigestResponse(entries):
                    return on_digest_response(state, now, sender, entries)
                case Delta(entries):
                    return on_delta(state, now, sender, entries)
                case _:
                    assert_never(message)
        case _:
            assert_never(event)


def on_update_local(state: State, key: str, value: str) -> Next:
    """
    The application sets one of this node's own pairs.

    The version grows even if the value stays the same [BA-18]. Before any change the node refuses what could never be sent: a
    string whose size does not fit into one byte, an entry that fills more than a datagram [BA-03], a version past the last
    one [BA-19]. Nothing is sent now; the next digests announce the change. [B-06, B-07]
    """
    own = state.store[state.self_id]
    if own.version == U64_MAX:
        raise NotEnabled("overflow", f"version {own.version} is the last one")
    for name, string in (("key", key), ("value", value)):
        encode_string(name, string, MAX_STRING)
    pair = DeltaEntry(state.self_id, key, value, own.version + 1)
    if (needed := TYPE_SIZE + delta_entry_size(pair)) > state.config.max_payload:
        raise NotEnabled("too_large", f"the pair needs {needed} bytes, max_payload is {state.config.max_payload}")
    updated = Peer(own.pairs.put({key: Versioned(value, pair.version)}), pair.version)
    return Step(State(state.self_id, state.config, state.store.put({state.self_id: updated}), state.liveness))


def on_round(state: State, now: Instant, pick: Pick) -> Next:
    """
    Starts a round: one digest request to every target, then each peer's status is updated. [B-08, B-10, B-20]

    Each request lists the peers, including this node, in an order of its own. [B-22, BA-09]
    """
    requests = tuple(
        Send(target, DigestRequest(digest(state, pick("digest.order", state.store, len(state.store)))))
        for target in round_targets(state, now, pick)
    )
    state = record_digests(state, now, (request.to for request in requests))
    state, changes = with_statuses(state, now)
    return Step(state, (*requests, *changes, SetTimer(Round(), state.config.interval)))


def round_targets(state: State, now: Instant, pick: Pick) -> Iterator[NodeId]:
    """
    Yields the receivers of this round's digest requests, in order. [BA-24]

    A node that knows no peer asks all its seeds [B-17]. Otherwise: one known peer, up or down [B-09, BA-25]; one of the seeds
    that are not known [B-18]; every critical peer, even if it was the partner [B-19, BA-31].
    """
    others = [addr for addr in state.store if addr != state.self_id]
    unknown_seeds = sorted(set(state.config.seeds) - set(state.store))
    if not others:
        yield from unknown_seeds
        return
    yield from pick("round.partner", others)
    if unknown_seeds:
        yield from pick("round.seed", unknown_seeds)
    yield from (addr for addr in others if is_critical(state, addr, now))


def on_digest_request(state: State, now: Instant, sender: NodeId, entries: tuple[DigestEntry, ...]) -> Next:
    """
    A peer sends its versions: the node answers with the pairs that the peer lacks, then requests the pairs that it lacks itself.

    Answers go to the source of the datagram, which does not become a peer by that [BA-22]. A duplicate request gets the same
    answer again; a late one gets a larger delta than needed, of which the receiver keeps the newer pairs. Every entry counts,
    also a second one about the same peer [BA-13]. [B-11…B-14, B-32, B-34, BA-32]
    """
    state, joins = add_peers(state, now, entries)
    effects: tuple[Effect, ...] = (*joins, Send(sender, Delta(delta(state, entries))))
    if lacking := lacking_here(state, entries):
        effects = (*effects, Send(sender, DigestResponse(lacking)))
    return Step(record_digests(state, now, [sender] if lacking else []), effects)


def on_digest_response(state: State, now: Instant, sender: NodeId, entries: tuple[DigestEntry, ...]) -> Next:
    """Answers like a request, but without a digest of its own, or two nodes could go on for ever. [B-16, B-39, BA-21]"""
    state, joins = add_peers(state, now, entries)
    return Step(state, (*joins, Send(sender, Delta(delta(state, entries)))))


def on_delta(state: State, now: Instant, sender: NodeId, entries: tuple[DeltaEntry, ...]) -> Next:
    """
    Pairs arrive: a sign of life of the sender; newer pairs are stored.

    Pairs about this node or about a peer that no digest has named are ignored [BA-15]; so a delta that comes late, twice or
    in the wrong order changes nothing that is already newer. [B-05, B-15, B-33, B-36, B-37, B-38]
    """
    state, heartbeat = with_heartbeat(state, now, sender)
    changed: dict[NodeId, Peer] = {}
    updates: list[Effect] = []
    for addr, pairs in groupby(entries, key=lambda entry: entry.addr):
        known = changed.get(addr) or state.store.get(addr)
        if known is None or addr == state.self_id:
            continue
        changed[addr], news = merge(known, pairs)
        updates += [Notify(Update(pair.addr, pair.key, pair.value, pair.version)) for pair in news]
    if updates:
        state = State(state.self_id, state.config, state.store.put(changed), state.liveness)
    return Step(state, (heartbeat, *updates))


def add_peers(state: State, now: Instant, entries: Iterable[DigestEntry]) -> tuple[State, tuple[Effect, ...]]:
    """
    Returns the node after storing the unknown peers of a digest.

    They start at version 0, not at the digest's: that would claim pairs that this node does not have and would never receive.
    [B-11]
    """
    unknown = dict.fromkeys(entry.addr for entry in entries if entry.addr not in state.store)
    if not unknown:
        return state, ()
    store = state.store.put(dict.fromkeys(unknown, Peer()))
    liveness = state.liveness
    if detector := state.config.detector:
        liveness = liveness.put(dict.fromkeys(unknown, Liveness(open_window(now, detector))))  # [BA-29]
    return State(state.self_id, state.config, store, liveness), tuple(Notify(Join(addr)) for addr in unknown)


def record_digests(state: State, now: Instant, targets: Iterable[NodeId]) -> State:
    """Returns the node after sending digests; it records the time, for round-trip times. [B-33, BA-23]"""
    known = {addr: state.liveness[addr] for addr in targets if addr in state.liveness}
    return with_liveness(state, {addr: Liveness(peer.window, peer.status, now) for addr, peer in known.items()})


def with_heartbeat(state: State, now: Instant, sender: NodeId) -> tuple[State, Effect]:
    """Returns the node after a sign of life; that of an unknown node is notified but not stored. [B-33, BA-22, BA-23, BA-30]"""
    detector, known = state.config.detector, state.liveness.get(sender)
    if detector is None or known is None:
        return state, Notify(Heartbeat(sender, None))
    round_trip = None if known.digest_sent is None else Duration(max(0, now - known.digest_sent))
    alive = Liveness(record_arrival(known.window, now, detector), known.status, None)
    return with_liveness(state, {sender: alive}), Notify(Heartbeat(sender, round_trip))


def is_critical(state: State, addr: NodeId, now: Instant) -> bool:
    """Whether a peer has been silent so long that it gets a digest now. [B-19, BA-23]"""
    detector, known = state.config.detector, state.liveness.get(addr)
    return detector is not None and known is not None and phi_exceeds(known.window, now, detector.critical)


def is_up(state: State, addr: NodeId, now: Instant) -> bool:
    """Whether a peer's silence is still within its usual intervals. [B-20, BA-23]"""
    detector, known = state.config.detector, state.liveness.get(addr)
    return detector is None or known is None or not phi_exceeds(known.window, now, detector.down)


def with_statuses(state: State, now: Instant) -> tuple[State, tuple[Effect, ...]]:
    """Returns the node with updated statuses, and the notices of changes. A peer that is heard again is up again. [B-20]"""
    changed: dict[NodeId, Liveness] = {}
    notices: list[Effect] = []
    for addr, known in state.liveness.items():
        status = Status.UP if is_up(state, addr, now) else Status.DOWN
        if status != known.status:
            changed[addr] = Liveness(known.window, status, known.digest_sent)
            notices.append(Notify(Up(addr) if status is Status.UP else Down(addr)))
    return with_liveness(state, changed), tuple(notices)


def with_liveness(state: State, changed: Mapping[NodeId, Liveness]) -> State:
    """Returns the node with this failure-detector data of these peers."""
    return State(state.self_id, state.config, state.store, state.liveness.put(changed)) if changed else state
