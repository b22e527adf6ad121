"""Other readings of Scuttlebutt's document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from peerproof.conformance.readings.reading import Reading
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


def _decode_utf_8(right: Callable[[bytes], Any], data: bytes) -> Any:
    message = right(data)
    for entry in message.entries:
        for part in entry:
            if isinstance(part, str) and any("\udc80" <= letter <= "\udcff" for letter in part):
                raise MalformedMessage("bad_value", 0, "a string is not UTF-8")
    return message


def _accept_any_pair(right: Right, state: State, event: Any, pick: Pick) -> Next:
    command = getattr(event, "command", None)
    own = state.store[state.self_id]
    if not isinstance(command, UpdateLocal) or own.version == U64_MAX:
        return right(state, event, pick)
    return _with_own_pair(state, command, own.version + 1)


def _keep_what_is_unchanged(right: Right, state: State, event: Any, pick: Pick) -> Next:
    command = getattr(event, "command", None)
    if isinstance(command, UpdateLocal) and (known := state.store[state.self_id].pairs.get(command.key)):
        return Step(state) if known.value == command.value else right(state, event, pick)
    return right(state, event, pick)


def _respond_always(right: Right, state: State, event: Any, pick: Pick) -> Next:
    after = right(state, event, pick)
    if not isinstance(event, Received) or not isinstance(event.message, DigestRequest):
        return after
    is_sent = any(isinstance(effect, Send) and isinstance(effect.message, DigestResponse) for effect in after.effects)
    return after if is_sent else after._replace(effects=(*after.effects, Send(event.sender, DigestResponse(()))))


def _wrap_around(right: Right, state: State, event: Any, pick: Pick) -> Next:
    command, own = getattr(event, "command", None), state.store[state.self_id]
    if not isinstance(command, UpdateLocal) or own.version < U64_MAX:
        return right(state, event, pick)
    return _with_own_pair(state, command, 0)


def _with_own_pair(state: State, command: UpdateLocal, version: int) -> Next:
    pairs = state.store[state.self_id].pairs.put({command.key: Versioned(command.value, version)})
    store = state.store.put({state.self_id: Peer(pairs, version)})
    return Step(State(state.self_id, state.config, store, state.liveness))


def _fit_below(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterator[Any]:
    return fitting(entries, size, limit - 1)


def _fit_without_type(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterator[Any]:
    return fitting(entries, size, limit + TYPE_SIZE)


def _answer_for_all(state: State, entries: Iterable[DigestEntry]) -> tuple[DeltaEntry, ...]:
    listed = tuple(entries)
    others = state.store.keys() - {entry.addr for entry in listed}
    return delta(state, (*listed, *(DigestEntry(addr, 0) for addr in others)))


def _reverse_response(state: State, entries: Iterable[DigestEntry]) -> Entries:
    return lacking_here(state, reversed(tuple(entries)))


def _ties_descending(state: State, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    descending = sorted(most_outdated_first(state, entries), key=lambda entry: octets(entry.addr), reverse=True)
    return sorted(descending, key=lambda entry: entry.version - version_of(state, entry.addr))


def _newer_pairs_descending(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
    newer = [DeltaEntry(addr, key, value, at) for key, (value, at) in peer.pairs.items() if at > version]
    return sorted(sorted(newer, key=lambda pair: octets(pair.key), reverse=True), key=lambda pair: pair.version)


def _count_once(right: Right, state: State, event: Any, pick: Pick) -> Next:
    if not isinstance(event, Received) or not isinstance(event.message, DigestRequest | DigestResponse):
        return right(state, event, pick)
    entries = tuple({entry.addr: entry for entry in event.message.entries}.values())
    return right(state, Received(event.now, event.sender, type(event.message)(entries)), pick)


def _merge_above_peer(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    return merge(peer, [pair for pair in pairs if pair.version > peer.version])


def _merge_version_0(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    known, version, news = dict(peer.pairs), peer.version, []
    for pair in pairs:
        if pair.key not in known or pair.version > known[pair.key].version:
            known[pair.key] = Versioned(pair.value, pair.version)
            version = max(version, pair.version)
            news.append(pair)
    return (Peer(Table(known), version) if news else peer), tuple(news)


def _store_strangers(right: Right, state: State, event: Any, pick: Pick) -> Next:
    if not isinstance(event, Received) or not isinstance(event.message, Delta):
        return right(state, event, pick)
    named = [DigestEntry(entry.addr, 0) for entry in event.message.entries]
    state, joins = add_peers(state, event.now, named)
    after = right(state, event, pick)
    return after._replace(effects=(*joins, *after.effects))


def _ask_about_itself(state: State, entries: Iterable[DigestEntry]) -> Entries:
    listed = tuple(entries)
    own = [entry for entry in listed if entry.addr == state.self_id and entry.version > version_of(state, entry.addr)]
    return (*lacking_here(state, listed), *(DigestEntry(state.self_id, version_of(state, state.self_id)) for _ in own))


def _die_of_what_is_malformed(right: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return right(data)
    except MalformedMessage as error:
        raise RuntimeError(error.detail) from None


def _hear_digests(right: Right, state: State, event: Any, pick: Pick) -> Next:
    detector = state.config.detector
    if detector and isinstance(event, Received) and isinstance(event.message, DigestRequest | DigestResponse):
        known = state.liveness.get(event.sender)
        if known:
            window = record_arrival(known.window, event.now, detector)
            state = with_liveness(state, {event.sender: Liveness(window, known.status, known.digest_sent)})
    return right(state, event, pick)


def _ask_in_another_order(state: State, now: Instant, pick: Pick) -> Iterator[NodeId]:
    yield from reversed(tuple(round_targets(state, now, pick)))


def _ask_seeds_as_listed(state: State, now: Instant, pick: Pick) -> Iterator[NodeId]:
    if len(state.store) > 1:
        yield from round_targets(state, now, pick)
    else:
        yield from (addr for addr in state.config.seeds if addr not in state.store)


def _tell_every_pair(right: Right, state: State, event: Any, pick: Pick) -> Next:
    after = right(state, event, pick)
    if not isinstance(event, Received) or not isinstance(event.message, Delta):
        return after
    told: list[Effect] = [effect for effect in after.effects if not _is_update(effect)]
    known = [pair for pair in event.message.entries if pair.addr in state.store and pair.addr != state.self_id]
    return after._replace(effects=(*told, *(Notify(Update(pair.addr, pair.key, pair.value, pair.version)) for pair in known)))


def _is_update(effect: Any) -> bool:
    return isinstance(effect, Notify) and isinstance(effect.notice, Update)


def _open_when_heard(right: Right, state: State, event: Any, pick: Pick) -> Next:
    detector = state.config.detector
    if isinstance(event, Received) and isinstance(event.message, Delta) and detector and event.sender in state.store:
        known = state.liveness.get(event.sender)
        if known is None:
            state = with_liveness(state, {event.sender: Liveness(open_window(event.now, detector))})
    after = right(state, event, pick)
    unheard = [addr for addr in after.state.liveness if addr not in state.liveness]
    kept = Table({addr: known for addr, known in after.state.liveness.items() if addr not in unheard})
    return after._replace(state=State(after.state.self_id, after.state.config, after.state.store, kept))


def _sample_every_delta(state: State, now: Instant, sender: NodeId) -> tuple[State, Effect]:
    known = state.liveness.get(sender)
    after, heartbeat = with_heartbeat(state, now, sender)
    if known is None or sender not in after.liveness:
        return after, heartbeat
    kept = after.liveness[sender]
    return with_liveness(after, {sender: Liveness(kept.window, kept.status, known.digest_sent)}), heartbeat


def _ask_each_once(state: State, now: Instant, pick: Pick) -> Iterator[NodeId]:
    yield from dict.fromkeys(round_targets(state, now, pick))


READINGS: Final = (
    Reading(
        clause="BA-02",
        name="utf-8-only",
        text="A string that is not UTF-8 makes a datagram malformed.",
        decode=_decode_utf_8,
    ),
    Reading(
        clause="BA-03",
        name="accepted",
        text="A pair that can never be sent is set nevertheless; the document does not say what follows.",
        step=_accept_any_pair,
        ends=True,
    ),
    Reading(
        clause="BA-05",
        name="below-the-limit",
        text="A datagram stays below the limit and never reaches it.",
        instead={"reconcile.fitting": _fit_below},
    ),
    Reading(
        clause="BA-05",
        name="entries-only",
        text="The limit counts the entries of a datagram without its type byte.",
        instead={"reconcile.fitting": _fit_without_type},
    ),
    Reading(
        clause="BA-07",
        name="ends-the-delta",
        text="An entry too large for any datagram ends the whole delta, like any other that does not fit.",
        instead={"reconcile.until_oversize": lambda pairs, _: iter(pairs)},
    ),
    Reading(
        clause="BA-08",
        name="all-known-peers",
        text="A delta covers all peers that the node knows; one that the digest does not list counts as known at version 0.",
        instead={"transitions.delta": _answer_for_all},
    ),
    Reading(
        clause="BA-11",
        name="any-order",
        text="A digest response has its entries in any order.",
        instead={"transitions.lacking_here": _reverse_response},
        is_open=True,
    ),
    Reading(
        clause="BA-12",
        name="descending",
        text="Peers that are equally far behind come by descending address.",
        instead={"reconcile.most_outdated_first": _ties_descending, "reconcile.newer_pairs": _newer_pairs_descending},
    ),
    Reading(
        clause="BA-12",
        name="any-order",
        text="Peers that are equally far behind, and pairs with equal versions, come in any order.",
        instead={"reconcile.most_outdated_first": _ties_descending, "reconcile.newer_pairs": _newer_pairs_descending},
        is_open=True,
    ),
    Reading(
        clause="BA-13",
        name="last-counts",
        text="Of an address that a digest lists twice the last entry counts.",
        step=_count_once,
    ),
    Reading(
        clause="BA-14",
        name="above-the-peer",
        text="A pair is taken over only if its version is above the one at which the peer is known.",
        instead={"transitions.merge": _merge_above_peer},
    ),
    Reading(
        clause="BA-14",
        name="from-0",
        text="A pair under a key not seen before is taken over at any version, 0 too.",
        instead={"transitions.merge": _merge_version_0},
    ),
    Reading(
        clause="BA-15",
        name="strangers-are-stored",
        text="Pairs about a peer that is not known make it known.",
        step=_store_strangers,
    ),
    Reading(
        clause="BA-16",
        name="asks-about-itself",
        text="A node that a digest shows at a higher version than its own lists itself in the response.",
        instead={"transitions.lacking_here": _ask_about_itself},
    ),
    Reading(
        clause="BA-18",
        name="unchanged-is-none",
        text="To set a pair to the value that it has is no update: the version stays.",
        step=_keep_what_is_unchanged,
    ),
    Reading(
        clause="BA-19",
        name="unspecified",
        text="The document does not say what comes after the last version.",
        step=_wrap_around,
        is_open=True,
    ),
    Reading(
        clause="BA-20",
        name="unspecified",
        text="The document does not say how malformed messages are handled.",
        decode=_die_of_what_is_malformed,
        ends=True,
    ),
    Reading(
        clause="BA-23",
        name="digests-too",
        text="A digest is a sign of life of its sender, too.",
        step=_hear_digests,
    ),
    Reading(
        clause="BA-24",
        name="any-order",
        text="The digest requests of a round go out in any order.",
        instead={"transitions.round_targets": _ask_in_another_order},
        is_open=True,
    ),
    Reading(
        clause="BA-24",
        name="seeds-as-listed",
        text="A seed that is configured twice is asked twice.",
        instead={"transitions.round_targets": _ask_seeds_as_listed},
    ),
    Reading(
        clause="BA-26",
        name="every-pair",
        text="Every received pair is reported to the application, changed or not.",
        step=_tell_every_pair,
    ),
    Reading(
        clause="BA-26",
        name="unspecified",
        text="The document does not say whether pairs that change nothing are reported to the application.",
        step=_tell_every_pair,
        is_open=True,
    ),
    Reading(
        clause="BA-28",
        name="another-detector",
        text="The level of suspicion grows otherwise, as by a factor of 1.",
        instead={"arrival.ONE_BY_LN_10": (1, 1)},
        is_open=True,
    ),
    Reading(
        clause="BA-29",
        name="opens-when-heard",
        text="Suspicion begins with the first sign of life.",
        step=_open_when_heard,
        is_open=True,
    ),
    Reading(
        clause="BA-30",
        name="every-delta",
        text="Every delta gives a sample of the round-trip time since the last digest.",
        instead={"transitions.with_heartbeat": _sample_every_delta},
        is_open=True,
    ),
    Reading(
        clause="BA-31",
        name="once-a-round",
        text="A critical peer that was the partner or the seed of a round gets no second request in it.",
        instead={"transitions.round_targets": _ask_each_once},
    ),
    Reading(
        clause="BA-32",
        name="empty-responses",
        text="A digest response is sent even if it has no entries.",
        step=_respond_always,
    ),
)

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
