"""Mistakes with hundreds of peers and pairs, with peers that are down or join in between, and with what was said before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, around, hearing, passing_over, reading, received, remembering

from peerproof.spec.core import Instant, NodeId, Pick, Send
from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt import arrival, reconcile, transitions
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow, Detector
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, DigestRequest, DigestResponse, Effect
from peerproof.spec.scuttlebutt.state import Liveness, Peer, State, Status

wrong = Variants(__name__, Wrong)
LACKING_HERE = reconcile.lacking_here


def is_down(state: State, addr: NodeId) -> bool:
    """Whether this peer is down."""
    return addr in state.liveness and state.liveness[addr].status is Status.DOWN


@wrong("transitions.add_peers", "peers-beyond-a-thousand-are-stored")
def KnowsAThousand(right: Any, state: State, now: Instant, entries: Iterable[DigestEntry]) -> Any:
    """Stores no more than a thousand peers. [B-11]"""
    unknown = dict.fromkeys(entry.addr for entry in entries if entry.addr not in state.store)
    room = max(0, 1000 - len(state.store))
    return right(state, now, [DigestEntry(addr, 0) for addr in islice(unknown, room)])


@wrong("transitions.merge", "pairs-beyond-a-thousand-are-stored")
def KeepsAThousandPairs(right: Any, peer: Peer, pairs: Iterable[DeltaEntry]) -> Any:
    """Stores no more than a thousand pairs of a peer. [B-36]"""
    known = dict.fromkeys(peer.pairs)
    taken = []
    for pair in pairs:
        if pair.key in known or len(known) < 1000:
            known[pair.key] = None
            taken.append(pair)
    return right(peer, taken)


@wrong("transitions.round_targets", "unknown-seed-is-asked-after-a-partner-that-is-down")
def AllDownIsAlone(right: Any, state: State, now: Instant, pick: Pick) -> Any:
    """Takes itself for alone where all peers are down. [B-17]"""
    seeds = sorted(set(state.config.seeds) - set(state.store))
    peers = [addr for addr in state.store if addr != state.self_id]
    yield from seeds if seeds and all(is_down(state, addr) for addr in peers) else right(state, now, pick)


def prefers(is_preferred: Callable[[State, NodeId], bool]) -> dict[str, Any]:
    """A partner among some of the peers, where there are any of these."""

    def round_targets(right: Any, state: State, now: Instant, pick: Pick) -> Any:
        def choose(why: str, among: Any, some: int = 1) -> Any:
            rather = [addr for addr in among if is_preferred(state, addr)] if why == "round.partner" else []
            return pick(why, rather or among, some)

        return right(state, now, choose)

    return around("transitions.round_targets", round_targets)


@wrong("reconcile.most_outdated_first", "ties-with-the-own-pairs-go-by-address")
def OwnRecordFirst(right: Any, node: State, entries: Iterable[DigestEntry]) -> Any:
    """Puts the own record before peers that are as far behind. [BA-12]"""
    outdated = (entry for entry in entries if reconcile.version_of(node, entry.addr) > entry.version)
    return sorted(
        outdated,
        key=lambda entry: (
            entry.version - reconcile.version_of(node, entry.addr),
            entry.addr != node.self_id,
            octets(entry.addr),
        ),
    )


@wrong("transitions.with_statuses", "round-trip-of-a-peer-that-comes-up")
def BeginsAnewWithUp(right: Any, state: State, now: Instant) -> Any:
    """Forgets the digest to a peer that it sets up. [BA-30]"""
    after, notices = right(state, now)
    risen = {addr: replace(row, digest_sent=None) for addr, row in after.liveness.items() if is_down(state, addr)}
    up = {addr: row for addr, row in risen.items() if row.status is Status.UP}
    return transitions.with_liveness(after, up), notices


def joins_change(change: Callable[[State, Instant, Liveness], Liveness]) -> dict[str, Any]:
    """Something happens to those that are known when somebody joins."""

    def add_peers(right: Any, state: State, now: Instant, entries: Iterable[DigestEntry]) -> Any:
        after, joins = right(state, now, entries)
        changed = {addr: change(state, now, row) for addr, row in state.liveness.items()} if joins else {}
        return transitions.with_liveness(after, changed), joins

    return around("transitions.add_peers", add_peers)


@wrong(joins_change, "silence-goes-on-while-others-join")
def JoinsEndSilences(state: State, now: Instant, row: Liveness) -> Liveness:
    """Opens all windows when a peer becomes known. [BA-29]"""
    assert state.config.detector is not None
    return replace(row, window=arrival.open_window(now, state.config.detector))


@wrong("transitions.record_arrival", "long-interval-counts-in-the-mean")
def LeavesLongIntervalsOut(right: Any, window: ArrivalWindow, now: Instant, detector: Detector) -> Any:
    """Remembers no interval of more than ten times the first. [BA-28]"""
    is_long = now - window.last > 10 * detector.bootstrap
    return replace(window, last=now) if is_long else right(window, now, detector)


@wrong(remembering, "late-pair-is-told-although-versions-stay")
def CachesDeltas(said: dict[Any, Any], right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Keeps what it has answered to a digest, as long as no peer in it has another version. [B-29]"""
    step = right(state, event, pick)
    if not (received(event, DigestRequest) or received(event, DigestResponse)):
        return step
    versions = tuple((entry, reconcile.version_of(state, entry.addr)) for entry in event.message.entries)
    return step._replace(
        effects=tuple(
            Send(effect.to, said.setdefault((state.self_id, versions), effect.message))
            if isinstance(effect, Send) and isinstance(effect.message, Delta)
            else effect
            for effect in step.effects
        )
    )


@wrong(remembering, "what-one-peer-was-asked-for-is-asked-of-another")
def AsksOnePeer(said: dict[Any, Any], right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Does not ask a second peer for what it has asked another for. [B-14]"""
    step = right(state, event, pick)
    effects: list[Effect] = []
    for effect in step.effects:
        if isinstance(effect, Send) and isinstance(effect.message, DigestResponse):
            asked = {entry: said.setdefault((state.self_id, entry), effect.to) for entry in effect.message.entries}
            left = tuple(entry for entry in effect.message.entries if asked[entry] == effect.to)
            effects += [Send(effect.to, DigestResponse(left))] if left else []
        else:
            effects.append(effect)
    return step._replace(effects=tuple(effects))


@wrong(remembering, "response-of-the-first-each-time")
def TakesTurns(said: dict[Any, Any], right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Asks first for what the response before had no room for. [BA-11]"""
    if received(event, DigestRequest) and (entries := event.message.entries):
        turned = said.setdefault(state.self_id, 0) % len(entries)
        event = replace(event, message=DigestRequest((*entries[turned:], *entries[:turned])))
        said[state.self_id] += len(LACKING_HERE(state, entries))
    return right(state, event, pick)


@wrong("step", "pairs-of-a-down-peer-are-taken-over")
def TakesNothingFromTheDown(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes a delta of a peer that is down for a sign of life, and for no more. [B-36]"""
    if received(event, Delta) and is_down(state, event.sender):
        event = replace(event, message=Delta(()))
    return right(state, event, pick)


@wrong.after("step", "round-trip-though-the-response-comes-first")
def ResponsesEndRoundTrips(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes a digest response for the end of the round trip. [BA-23]"""
    row = step.state.liveness.get(event.sender) if received(event, DigestResponse) else None
    if row is None:
        return step
    return step._replace(state=transitions.with_liveness(step.state, {event.sender: replace(row, digest_sent=None)}))


@wrong.after("step", "round-trip-from-a-response-after-a-request")
def MeasuresTheFirstOfTwo(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Measures from a request although a digest response has followed it. [BA-23]"""
    row = state.liveness.get(event.sender) if received(event, DigestRequest) else None
    if row is None or row.digest_sent is None:
        return step
    kept = replace(step.state.liveness[event.sender], digest_sent=row.digest_sent)
    return step._replace(state=transitions.with_liveness(step.state, {event.sender: kept}))


@wrong.after("step", "digest-ahead-is-no-heartbeat-of-whom-it-lists")
def HearsOfIt(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes a higher version of a peer in a digest for its sign of life. [BA-23]"""
    if not received(event, DigestRequest):
        return step
    ahead = [entry.addr for entry in event.message.entries if entry.version > reconcile.version_of(state, entry.addr)]
    rows = {addr: state.liveness[addr] for addr in ahead if addr in state.liveness}
    heard = {addr: replace(row, window=replace(row.window, last=event.now)) for addr, row in rows.items()}
    return step._replace(state=transitions.with_liveness(step.state, heard))


wrong |= {
    # Takes over no pairs about a peer that is down. [B-36]
    "LearnsNothingOfTheDown: pairs-of-a-down-peer-are-taken-over": hearing(
        Delta, lambda delta, state: Delta(tuple(pair for pair in delta.entries if not is_down(state, pair.addr)))
    ),
    # Does not answer a digest response of a peer that is down. [B-39]
    "DoesNotAnswerTheDown: response-of-a-down-peer-is-answered": passing_over(
        lambda state, event: received(event, DigestResponse) and is_down(state, event.sender)
    ),
    # Reads 1,000 entries of a delta. [B-45]
    "ReadsAThousandPairs: delta-of-5000-entries-is-read-to-its-end": reading(
        lambda message: Delta(message.entries[:1000]) if isinstance(message, Delta) else message
    ),
    # Sends no more than 255 pairs in a delta. [B-31]
    "SendsAByteOfPairs: delta-of-300-pairs": around(
        "transitions.delta", lambda right, state, entries: right(state, entries)[:255]
    ),
    # Lists no more than 255 peers in a digest request. [B-24]
    "ListsAByteOfPeers: request-lists-300-peers": around(
        "transitions.digest", lambda right, state, order: right(state, order)[:255]
    ),
    # Picks its partner among those that are up, if there are any. [BA-25]
    "PrefersUp: down-peer-can-be-the-partner-though-others-are-up": prefers(lambda state, addr: not is_down(state, addr)),
    # Picks its partner among those of whom it knows a pair, if there are any. [B-09]
    "PrefersWhoHasPairs: peer-without-pairs-can-be-the-partner": prefers(lambda state, addr: state.store[addr].version > 0),
    # Asks no seed because it is critical. [B-19]
    "SeedsAreNotCritical: critical-seed-is-asked": around(
        "transitions.is_critical", lambda right, state, addr, now: addr not in state.config.seeds and right(state, addr, now)
    ),
    # Forgets its digests to others when a peer becomes known. [BA-30]
    "JoinsEndRoundTrips: round-trip-though-another-peer-joins": joins_change(
        lambda _state, _now, row: replace(row, digest_sent=None)
    ),
    # Sets all peers up when one becomes known. [B-20]
    "JoinsSetAllUp: silence-goes-on-while-others-join": joins_change(lambda _state, _now, row: replace(row, status=Status.UP)),
    # Remembers 100 intervals where more are configured. [BA-29]
    "WindowOf100AtMost: window-of-200": around(
        "transitions.record_arrival",
        lambda right, window, now, detector: right(window, now, replace(detector, window=min(100, detector.window))),
    ),
}
__getattr__ = wrong.find
