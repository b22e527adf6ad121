"""Steps of the specifications that are wrong, for what must find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from peerproof.spec.core import Instant, NodeId, Notify, Pick, Step, Table
from peerproof.spec.distkv import Phase, election
from peerproof.spec.distkv import State as StoreState
from peerproof.spec.distkv import entries as stored_entries
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Applied
from peerproof.spec.peter import Update, tree
from peerproof.spec.peter import topics as of_topics
from peerproof.spec.scuttlebutt import DeltaEntry, Peer, State, Versioned, reconcile
from peerproof.spec.scuttlebutt import transitions as gossiping
from peerproof.spec.swim import Message, Row, Uuid, detector
from peerproof.spec.swim import State as MemberState
from peerproof.spec.swim.messages import ClusterEventVector
from peerproof.spec.swim.state import Queued
from peerproof.spec.swim.table import Claim
from peerproof.spec.wendy import Id


def newest_first(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
    """Pairs in the wrong order, so that a cut leaves a gap (BX-05)."""
    return NEWER_PAIRS(addr, peer, version)[::-1]


def believing(state: State, now: Instant, entries: Iterable[Any]) -> Any:
    """Stores unknown peers at the version of the digest."""
    entries = list(entries)
    learned, joins = LEARNED(state, now, entries)
    ahead = {entry.addr: Peer(Table(), entry.version) for entry in entries if entry.addr not in state.store}
    return replace(learned, store=learned.store.put(ahead)), joins


def unlimited(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterable[Any]:
    """Fills every datagram, however full."""
    return entries


def careless(peer: Peer, pairs: Iterable[DeltaEntry]) -> Any:
    """Takes whatever comes for news."""
    pairs = tuple(pairs)
    rows = {pair.key: Versioned(pair.value, pair.version) for pair in pairs}
    return Peer(peer.pairs.put(rows), max([peer.version, *(pair.version for pair in pairs)])), pairs


def every_event(state: MemberState, said: ClusterEventVector) -> MemberState:
    """Keeps older events about the same node (SD-08)."""
    return replace(state, queue=(*state.queue, Queued(said, frozenset())))


def any_news(row: Row, claim: Claim) -> Row:
    """Whatever comes last is believed."""
    return replace(row, status=claim.status, incarnation=claim.incarnation)


def blaming(state: MemberState, pick: Pick) -> Any:
    """Never looks for the fault in itself (SD-12)."""
    return CLOSED(replace(state, heard=True), pick)


def never_past(state: MemberState, message: Message) -> bool:
    """Believes messages from the past."""
    return False


def uncounted(state: MemberState) -> MemberState:
    """Sends without counting."""
    return state


def undead(state: MemberState, node: Uuid, row: Row) -> MemberState:
    """Dead after one indirect miss."""
    return SETTLED(state, node, replace(row, indirect_misses=1) if row.indirect_asked else row)


def twice(state: of_topics.State, topic: Id, row: of_topics.Row, seek: Any) -> Any:
    """Who becomes interested asks twice (PA-04)."""
    after, effects = TURNED(state, topic, row, seek)
    return Step(after, effects * 2)


def for_good(state: of_topics.State, topic: Id, row: of_topics.Row, seek: Any) -> Any:
    """What nobody wants any more is kept (PA-04)."""
    after, effects = TURNED(state, topic, row, seek)
    return Step(after if row.is_wanted else replace(after, topics=after.topics.put({topic: row})), effects)


def everybody(state: of_topics.State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Any:
    """Who is in the tree gets the event, subscribed or not (PA-17)."""
    after, effects = SPREAD(state, topic, value, hop, source)
    return Step(after, (Notify(Update(topic, value)), *[e for e in effects if not isinstance(e, Notify)]))


def unbounded(entry: Any, update: Any, most: int) -> Applied:  # as of `apply`
    """Stored chains have no bound (DD-07)."""
    return APPLY(entry, update, 99)


def unraised(state: StoreState, make: Any) -> Any:
    """Messages have the tock that the last one had."""
    message, (_, effects) = ORIGINATE(replace(state, tock=max(state.tock - 1, 0)), make)
    return message, Step(state, effects)


def always_ready(state: StoreState) -> Any:
    """Who has downloaded is ready, whatever is missing (D-124)."""
    return Step(replace(state, phase=Phase.READY)) if state.phase is Phase.EMPTY else Step(state)


def zeros_may_ping(chain: Chain) -> bool:
    """The tick zero keeps nobody from pinging (D-107)."""
    return len(chain.elements) > 0


NEWER_PAIRS, LEARNED = reconcile.newer_pairs, gossiping.add_peers
CLOSED, SETTLED = detector.close_round, detector.settle_row
TURNED, SPREAD = tree.update_row, tree.fan_out
APPLY, ORIGINATE = stored_entries.apply, election.originate  # type: ignore[attr-defined]  # it has imported it
