"""Variants of Scuttlebutt: faults that models must detect, and repairs of gaps in the document; see `model.bounded.variant`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

from peerproof.spec.core import NodeId, Pick, Received, Send, Step, Table, replace
from peerproof.spec.model.bounded import LOSE, RECEIVE, RESTART, Change, Taking, variant
from peerproof.spec.properties import Cluster, InFlight
from peerproof.spec.scuttlebutt.codec import delta_entry_size
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, DigestRequest, DigestResponse, Event
from peerproof.spec.scuttlebutt.model.bounded import Model
from peerproof.spec.scuttlebutt.reconcile import delta, fitting, most_outdated_first, newer_pairs, until_oversize, version_of
from peerproof.spec.scuttlebutt.state import State
from peerproof.spec.scuttlebutt.transitions import Next

Deltas = Callable[[State, Iterable[DigestEntry]], Iterable[DeltaEntry]]


def answering_with(deltas: Deltas) -> Change:
    """Wraps a step so that it answers a digest with this delta."""

    def answering(step: Taking, state: State, event: Event, pick: Pick) -> Next:
        after, effects = step(state, event, pick)
        if not (isinstance(event, Received) and isinstance(event.message, (DigestRequest, DigestResponse))):
            return Step(after, effects)
        answer = Delta(tuple(deltas(state, event.message.entries)))
        answered = [Send(e.to, answer) if isinstance(e, Send) and isinstance(e.message, Delta) else e for e in effects]
        return Step(after, tuple(answered))

    return answering


def newest_first(state: State, entries: Iterable[DigestEntry]) -> Iterable[DeltaEntry]:
    """The newest pairs of each peer first, so that a cut leaves gaps. [BX-05]"""
    limit = state.config.max_payload
    offered = (
        pair
        for entry in most_outdated_first(state, entries)
        for pair in until_oversize(newer_pairs(entry.addr, state.store[entry.addr], entry.version)[::-1], limit)
    )
    return fitting(offered, delta_entry_size, limit)


def stop_at_oversize(state: State, entries: Iterable[DigestEntry]) -> Iterable[DeltaEntry]:
    """An entry that no datagram could hold ends the message like any other entry that does not fit. [BX-06]"""
    offered = (
        pair
        for entry in most_outdated_first(state, entries)
        for pair in newer_pairs(entry.addr, state.store[entry.addr], entry.version)
    )
    return fitting(offered, delta_entry_size, state.config.max_payload)


class EntrySince(NamedTuple):
    """A pair, and the version for which the delta was computed. [mends BX-04]"""

    addr: NodeId
    key: str
    value: str
    version: int
    since: int


def since(state: State, entries: Iterable[DigestEntry]) -> Iterable[DeltaEntry]:
    """Returns the delta of the specification; its entries have the version of their peer for which it was computed."""
    asked = {entry.addr: entry.version for entry in entries}  # a node's digest names each peer once
    return cast("Iterable[DeltaEntry]", [EntrySince(*pair, asked[pair.addr]) for pair in delta(state, entries)])


def of_news(step: Taking, state: State, event: Event, pick: Pick) -> Next:
    """Entries that start from a version above the known one are ignored. [mends BX-04]"""
    if isinstance(event, Received) and isinstance(event.message, Delta):
        known = tuple(e for e in event.message.entries if cast("EntrySince", e).since <= version_of(state, e.addr))
        event = replace(event, message=Delta(known))
    return step(state, event, pick)


def unless_empty(step: Taking, state: State, event: Event, pick: Pick) -> Next:
    """An empty delta is not sent, as in the original. [BD-02, breaks BL-02]"""
    after, effects = step(state, event, pick)
    return Step(after, tuple(e for e in effects if not (isinstance(e, Send) and e.message == Delta(()))))


class OwnRecord(Model):
    """A node recovers its own record after a restart, and nothing else. [mends BX-03]"""

    def restart(self, state: State) -> State:
        """Returns a new node with its own record."""
        return replace(super().restart(state), store=Table({state.self_id: state.store[state.self_id]}))


class DeltasSince(Model):
    """Deltas that a node applies only if they start from its version. [mends BX-04]"""

    changes = (answering_with(since), of_news)

    def message_value(self, message: InFlight) -> Any:
        """Returns the usual value, with the version that an entry starts from."""
        sender, to, kind, entries = super().message_value(message)
        if isinstance(message.message, Delta):
            starts = [cast("EntrySince", entry).since for entry in message.message.entries]
            entries = tuple((*entry, start) for entry, start in zip(entries, starts, strict=True))
        return sender, to, kind, entries


VARIANTS: Final[Mapping[frozenset[str], type[Model]]] = {
    frozenset(): Model,
    frozenset({"NewestFirst"}): variant(Model, answering_with(newest_first)),
    frozenset({"EndsTheMessage"}): variant(Model, answering_with(stop_at_oversize)),
    frozenset({"OwnRecord"}): OwnRecord,
    frozenset({"AnswersUnlessEmpty"}): variant(Model, unless_empty),
    frozenset({"EntrySince", "IsNewsSince"}): DeltasSince,
}


class Exchange(NamedTuple):
    """A round with one partner: both nodes, and the peers that the digest listed."""

    begun_by: NodeId
    partner: NodeId
    listed: frozenset[NodeId]


class Quiet:
    """
    One round at a time, undisturbed: the best case of a round. [BX-01, BX-02]

    No node acts by itself while a message is under way. The memory is the latest round, if it was with one partner: a round that
    asks several nodes exceeds the document's.
    """

    start: Hashable = None
    names: Final = {label: f"Quiet{label}" for label in (RECEIVE, LOSE, "Update", "Round", RESTART)}

    def allows(self, before: Cluster, label: str, _after: Cluster) -> bool:
        """Whether a step with this label leaves the round undisturbed."""
        return label in (RECEIVE, LOSE) or (label in self.names and not before.in_flight)

    def remembers(self, memory: Hashable, label: str, after: Cluster) -> Hashable:
        """Returns the exchange that has just begun, or continues."""
        if label in (RECEIVE, LOSE):
            return memory
        match list(after.in_flight) if label == "Round" else ():
            case [InFlight(sender, to, DigestRequest(entries))]:
                return Exchange(sender, to, frozenset(entry.addr for entry in entries))
        return None

    def values(self, memory: Exchange | None) -> Mapping[str, Any]:
        """RoundSync's variable."""
        return {"exchange": (int(memory.begun_by), int(memory.partner), frozenset(map(int, memory.listed))) if memory else ()}


BEHAVIOURS: Final[Mapping[str, type[Quiet] | None]] = {
    "Next": None,
    "QuietNext": Quiet,
    "FairSpec": Quiet,
    "UnfairSpec": Quiet,
    "ArrivingSpec": Quiet,
}
UNFAIR: Final = frozenset({"UnfairSpec"})
