"""Other readings of Scuttlebutt's document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from peerproof.conformance.readings.reading import Readings
from peerproof.spec.core import Instant, NodeId, Notify, Pick, Received, Send, Step, Table
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import U64_MAX, octets
from peerproof.spec.scuttlebutt.arrival import open_window, record_arrival
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE
from peerproof.spec.scuttlebutt.messages import (
    Delta,
    DeltaEntry,
    DigestEntry,
    DigestRequest,
    DigestResponse,
    Effect,
    Update,
    UpdateLocal,
)
from peerproof.spec.scuttlebutt.reconcile import delta, fitting, lacking_here, merge, most_outdated_first, version_of
from peerproof.spec.scuttlebutt.state import Liveness, Peer, State, Versioned
from peerproof.spec.scuttlebutt.transitions import Next, add_peers, round_targets, with_heartbeat, with_liveness

Entries = tuple[DigestEntry, ...]
Right = Callable[..., Next]
READINGS: Final = Readings()


@READINGS.register("BA-02", "utf-8-only", "decode")
def _decode_utf_8(right: Callable[[bytes], Any], data: bytes) -> Any:
    """A string that is not UTF-8 makes a datagram malformed."""
    message = right(data)
    for entry in message.entries:
        for part in entry:
            if isinstance(part, str) and any("\udc80" <= letter <= "\udcff" for letter in part):
                raise MalformedMessage("bad_value", 0, "a string is not UTF-8")
    return message


def _with_own_pair(state: State, command: UpdateLocal, version: int) -> Next:
    pairs = state.store[state.self_id].pairs.put({command.key: Versioned(command.value, version)})
    store = state.store.put({state.self_id: Peer(pairs, version)})
    return Step(State(state.self_id, state.config, store, state.liveness))


@READINGS.register("BA-03", "accepted", "step", ends=True)
def _accept_any_pair(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """A pair that can never be sent is set nevertheless; the document does not say what follows."""
    command = getattr(event, "command", None)
    own = state.store[state.self_id]
    if not isinstance(command, UpdateLocal) or own.version == U64_MAX:
        return right(state, event, pick)
    return _with_own_pair(state, command, own.version + 1)


@READINGS.register("BA-05", "below-the-limit", "reconcile.fitting")
def _fit_below(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterator[Any]:
    """A datagram stays below the limit and never reaches it."""
    return fitting(entries, size, limit - 1)


@READINGS.register("BA-05", "entries-only", "reconcile.fitting")
def _fit_without_type(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterator[Any]:
    """The limit counts the entries of a datagram without its type byte."""
    return fitting(entries, size, limit + TYPE_SIZE)


READINGS.add(
    "BA-07",
    "ends-the-delta",
    "An entry too large for any datagram ends the whole delta, like any other that does not fit.",
    instead={"reconcile.until_oversize": lambda pairs, _: iter(pairs)},
)


@READINGS.register("BA-08", "all-known-peers", "transitions.delta")
def _answer_for_all(state: State, entries: Iterable[DigestEntry]) -> tuple[DeltaEntry, ...]:
    """A delta covers all peers that the node knows; one that the digest does not list counts as known at version 0."""
    listed = tuple(entries)
    others = state.store.keys() - {entry.addr for entry in listed}
    return delta(state, (*listed, *(DigestEntry(addr, 0) for addr in others)))


@READINGS.register("BA-11", "any-order", "transitions.lacking_here", is_open=True)
def _reverse_response(state: State, entries: Iterable[DigestEntry]) -> Entries:
    """A digest response has its entries in any order."""
    return lacking_here(state, reversed(tuple(entries)))


def _ties_descending(state: State, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    descending = sorted(most_outdated_first(state, entries), key=lambda entry: octets(entry.addr), reverse=True)
    return sorted(descending, key=lambda entry: entry.version - version_of(state, entry.addr))


def _newer_pairs_descending(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
    newer = [DeltaEntry(addr, key, value, at) for key, (value, at) in peer.pairs.items() if at > version]
    return sorted(sorted(newer, key=lambda pair: octets(pair.key), reverse=True), key=lambda pair: pair.version)


READINGS.add(
    "BA-12",
    "descending",
    "Peers that are equally far behind come by descending address.",
    instead={"reconcile.most_outdated_first": _ties_descending, "reconcile.newer_pairs": _newer_pairs_descending},
)
READINGS.add(
    "BA-12",
    "any-order",
    "Peers that are equally far behind, and pairs with equal versions, come in any order.",
    instead={"reconcile.most_outdated_first": _ties_descending, "reconcile.newer_pairs": _newer_pairs_descending},
    is_open=True,
)


@READINGS.register("BA-13", "last-counts", "step")
def _count_once(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Of an address that a digest lists twice the last entry counts."""
    if not isinstance(event, Received) or not isinstance(event.message, DigestRequest | DigestResponse):
        return right(state, event, pick)
    entries = tuple({entry.addr: entry for entry in event.message.entries}.values())
    return right(state, Received(event.now, event.sender, type(event.message)(entries)), pick)


@READINGS.register("BA-14", "above-the-peer", "transitions.merge")
def _merge_above_peer(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    """A pair is taken over only if its version is above the one at which the peer is known."""
    return merge(peer, [pair for pair in pairs if pair.version > peer.version])


@READINGS.register("BA-14", "from-0", "transitions.merge")
def _merge_version_0(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    """A pair under a key not seen before is taken over at any version, 0 too."""
    known, version, news = dict(peer.pairs), peer.version, []
    for pair in pairs:
        if pair.key not in known or pair.version > known[pair.key].version:
            known[pair.key] = Versioned(pair.value, pair.version)
            version = max(version, pair.version)
            news.append(pair)
    return (Peer(Table(known), version) if news else peer), tuple(news)


@READINGS.register("BA-15", "strangers-are-stored", "step")
def _store_strangers(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Pairs about a peer that is not known make it known."""
    if not isinstance(event, Received) or not isinstance(event.message, Delta):
        return right(state, event, pick)
    named = [DigestEntry(entry.addr, 0) for entry in event.message.entries]
    state, joins = add_peers(state, event.now, named)
    after = right(state, event, pick)
    return after._replace(effects=(*joins, *after.effects))


@READINGS.register("BA-16", "asks-about-itself", "transitions.lacking_here")
def _ask_about_itself(state: State, entries: Iterable[DigestEntry]) -> Entries:
    """A node that a digest shows at a higher version than its own lists itself in the response."""
    listed = tuple(entries)
    own = [entry for entry in listed if entry.addr == state.self_id and entry.version > version_of(state, entry.addr)]
    return (*lacking_here(state, listed), *(DigestEntry(state.self_id, version_of(state, state.self_id)) for _ in own))


@READINGS.register("BA-18", "unchanged-is-none", "step")
def _keep_what_is_unchanged(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """To set a pair to the value that it has is no update: the version stays."""
    command = getattr(event, "command", None)
    if isinstance(command, UpdateLocal) and (known := state.store[state.self_id].pairs.get(command.key)):
        return Step(state) if known.value == command.value else right(state, event, pick)
    return right(state, event, pick)


@READINGS.register("BA-19", "unspecified", "step", is_open=True)
def _wrap_around(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """The document does not say what comes after the last version."""
    command, own = getattr(event, "command", None), state.store[state.self_id]
    if not isinstance(command, UpdateLocal) or own.version < U64_MAX:
        return right(state, event, pick)
    return _with_own_pair(state, command, 0)


@READINGS.register("BA-20", "unspecified", "decode", ends=True)
def _die_of_what_is_malformed(right: Callable[[bytes], Any], data: bytes) -> Any:
    """The document does not say how malformed messages are handled."""
    try:
        return right(data)
    except MalformedMessage as error:
        raise RuntimeError(error.detail) from None


@READINGS.register("BA-23", "digests-too", "step")
def _hear_digests(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """A digest is a sign of life of its sender, too."""
    detector = state.config.detector
    if detector and isinstance(event, Received) and isinstance(event.message, DigestRequest | DigestResponse):
        known = state.liveness.get(event.sender)
        if known:
            window = record_arrival(known.window, event.now, detector)
            state = with_liveness(state, {event.sender: Liveness(window, known.status, known.digest_sent)})
    return right(state, event, pick)


@READINGS.register("BA-24", "any-order", "transitions.round_targets", is_open=True)
def _ask_in_another_order(state: State, now: Instant, pick: Pick) -> Iterator[NodeId]:
    """The digest requests of a round go out in any order."""
    yield from reversed(tuple(round_targets(state, now, pick)))


@READINGS.register("BA-24", "seeds-as-listed", "transitions.round_targets")
def _ask_seeds_as_listed(state: State, now: Instant, pick: Pick) -> Iterator[NodeId]:
    """A seed that is configured twice is asked twice."""
    if len(state.store) > 1:
        yield from round_targets(state, now, pick)
    else:
        yield from (addr for addr in state.config.seeds if addr not in state.store)


def _is_update(effect: Any) -> bool:
    return isinstance(effect, Notify) and isinstance(effect.notice, Update)


def _tell_every_pair(right: Right, state: State, event: Any, pick: Pick) -> Next:
    after = right(state, event, pick)
    if not isinstance(event, Received) or not isinstance(event.message, Delta):
        return after
    told: list[Effect] = [effect for effect in after.effects if not _is_update(effect)]
    known = [pair for pair in event.message.entries if pair.addr in state.store and pair.addr != state.self_id]
    return after._replace(effects=(*told, *(Notify(Update(pair.addr, pair.key, pair.value, pair.version)) for pair in known)))


READINGS.add("BA-26", "every-pair", "Every received pair is reported to the application, changed or not.", step=_tell_every_pair)
READINGS.add(
    "BA-26",
    "unspecified",
    "The document does not say whether pairs that change nothing are reported to the application.",
    step=_tell_every_pair,
    is_open=True,
)
READINGS.add(
    "BA-28",
    "another-detector",
    "The level of suspicion grows otherwise, as by a factor of 1.",
    instead={"arrival.ONE_BY_LN_10": (1, 1)},
    is_open=True,
)


@READINGS.register("BA-29", "opens-when-heard", "step", is_open=True)
def _open_when_heard(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Suspicion begins with the first sign of life."""
    detector = state.config.detector
    if isinstance(event, Received) and isinstance(event.message, Delta) and detector and event.sender in state.store:
        known = state.liveness.get(event.sender)
        if known is None:
            state = with_liveness(state, {event.sender: Liveness(open_window(event.now, detector))})
    after = right(state, event, pick)
    unheard = [addr for addr in after.state.liveness if addr not in state.liveness]
    kept = Table({addr: known for addr, known in after.state.liveness.items() if addr not in unheard})
    return after._replace(state=State(after.state.self_id, after.state.config, after.state.store, kept))


@READINGS.register("BA-30", "every-delta", "transitions.with_heartbeat", is_open=True)
def _sample_every_delta(state: State, now: Instant, sender: NodeId) -> tuple[State, Effect]:
    """Every delta gives a sample of the round-trip time since the last digest."""
    known = state.liveness.get(sender)
    after, heartbeat = with_heartbeat(state, now, sender)
    if known is None or sender not in after.liveness:
        return after, heartbeat
    kept = after.liveness[sender]
    return with_liveness(after, {sender: Liveness(kept.window, kept.status, known.digest_sent)}), heartbeat


@READINGS.register("BA-31", "once-a-round", "transitions.round_targets")
def _ask_each_once(state: State, now: Instant, pick: Pick) -> Iterator[NodeId]:
    """A critical peer that was the partner or the seed of a round gets no second request in it."""
    yield from dict.fromkeys(round_targets(state, now, pick))


@READINGS.register("BA-32", "empty-responses", "step")
def _respond_always(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """A digest response is sent even if it has no entries."""
    after = right(state, event, pick)
    if not isinstance(event, Received) or not isinstance(event.message, DigestRequest):
        return after
    is_sent = any(isinstance(effect, Send) and isinstance(effect.message, DigestResponse) for effect in after.effects)
    return after if is_sent else after._replace(effects=(*after.effects, Send(event.sender, DigestResponse(()))))


#: Reasons why a decision has only one reasonable reading -> the decisions.
SETTLED: Final[Mapping[str, str]] = {
    "to do otherwise contradicts B-24": "BA-06",
    "to do otherwise contradicts B-36": "BA-17",
    "to do otherwise contradicts B-16 or B-32": "BA-21",
    "to do otherwise contradicts B-11": "BA-22",
    "to do otherwise contradicts B-17, which says known peers": "BA-25",
    "to do otherwise contradicts B-42, by which every size of one byte is one": "BA-04",
    "otherwise there would be nodes that others never learn of, or cannot answer": "BA-09 BA-10",
    "it is how numbers are written, and an adapter can translate it": "BA-01",
    "it settles how the text is read, and is not tested": "BA-27",
}
