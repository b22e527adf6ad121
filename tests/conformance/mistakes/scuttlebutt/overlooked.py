"""Mistakes with two peers, with what comes a round too early, with orders of texts, with borders of numbers and sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import takewhile
from typing import Any
from unicodedata import normalize

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, around, configured, hearing, passing_over, reading, received, without_effects

from peerproof.spec.core import Instant, NodeId, Notify, Pick, Send, SetTimer, Step
from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt import arrival, reconcile, state, transitions
from peerproof.spec.scuttlebutt.codec import MESSAGE
from peerproof.spec.scuttlebutt.messages import (
    Delta,
    DeltaEntry,
    DigestEntry,
    DigestRequest,
    DigestResponse,
    Heartbeat,
    Up,
)
from peerproof.spec.scuttlebutt.state import Liveness, Peer, State, Status

wrong = Variants(__name__, Wrong)
RECORD_DIGESTS = transitions.record_digests


@wrong("step", "peer-heard-again-comes-up")
def ComesUpAtOnce(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Sets a peer up when it is heard, not in the next round. [B-20]"""
    after, effects = right(state, event, pick)
    peer = after.liveness.get(event.sender) if received(event, Delta) else None
    if peer is None or peer.status is Status.UP:
        return Step(after, effects)
    risen = transitions.with_liveness(after, {event.sender: replace(peer, status=Status.UP)})
    return Step(risen, (*effects, Notify(Up(event.sender))))


@wrong("transitions.with_heartbeat", "window-stays-when-a-peer-returns")
def BeginsAnewWithWhoReturns(right: Any, state: State, now: Instant, sender: NodeId) -> Any:
    """Opens a new window for a peer that returns. [BA-29]"""
    after, heartbeat = right(state, now, sender)
    peer, detector = after.liveness.get(sender), state.config.detector
    if detector is not None and peer is not None and peer.status is Status.DOWN:
        after = transitions.with_liveness(after, {sender: replace(peer, window=arrival.open_window(now, detector))})
    return after, heartbeat


@wrong("transitions.record_digests", "down-peer-is-critical-in-every-round")
def MixesUpWindows(right: Any, state: State, now: Instant, targets: Iterable[NodeId]) -> Any:
    """Remembers a digest to one peer with the window of another. [B-33, BA-23]"""
    known = {addr: next((other for other in state.liveness if other != addr), addr) for addr in targets if addr in state.liveness}
    changed = {addr: state.liveness[other] for addr, other in known.items()}
    return transitions.with_liveness(state, {addr: Liveness(row.window, row.status, now) for addr, row in changed.items()})


def by_numbers(text: bytes) -> list[tuple[int, Any]]:
    """A key that people find natural: n9 before n10."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text.decode("latin-1"))]


def peers_by(key: Callable[[bytes], Any]) -> dict[str, Any]:
    """Ties between peers in another order."""
    return {
        "reconcile.most_outdated_first": lambda node, entries: sorted(
            ((entry for entry in entries if reconcile.version_of(node, entry.addr) > entry.version)),
            key=lambda entry: (entry.version - reconcile.version_of(node, entry.addr), key(octets(entry.addr))),
        )
    }


def pairs_by(key: Callable[[bytes], Any]) -> dict[str, Any]:
    """Ties between pairs in another order."""

    def newer_pairs(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
        newer = [DeltaEntry(addr, name, value, at) for name, (value, at) in peer.pairs.items() if at > version]
        return sorted(newer, key=lambda pair: (pair.version, key(octets(pair.key))))

    return {"reconcile.newer_pairs": newer_pairs}


def lacking_by(number: Callable[[int], float]) -> dict[str, Any]:
    """What is lacking, by versions of another type."""

    def lacking_here(node: State, entries: Iterable[DigestEntry]) -> tuple[DigestEntry, ...]:
        known = {entry.addr: reconcile.version_of(node, entry.addr) for entry in entries}
        lacking = [DigestEntry(addr, known[addr]) for addr, said in entries if number(said) > number(known[addr])]
        return tuple(entry for entry in lacking if entry.addr != node.self_id)

    return {"transitions.lacking_here": lacking_here}


@wrong("reconcile.most_outdated_first", "difference-of-2-32-is-the-greatest")
def SubtractsLowerHalves(right: Any, node: State, entries: Iterable[DigestEntry]) -> Any:
    """Orders peers by differences of 32 bits. [B-28]"""
    behind = {entry: reconcile.version_of(node, entry.addr) - entry.version for entry in entries}
    outdated = (entry for entry, by in behind.items() if by > 0)
    return sorted(outdated, key=lambda entry: (-(behind[entry] % 2**32), octets(entry.addr)))


def reading_up_to(most: int) -> dict[str, Any]:
    """What is replaced to lose deltas of more bytes."""
    return hearing(Delta, lambda delta, _: delta if len(MESSAGE.encode(delta)) <= most else None)


def changing(change: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to change the pairs that it reads."""
    return hearing(Delta, lambda delta, _: Delta(tuple(map(change, delta.entries))))


def pairs_sorted_by(number: Callable[[int], float]) -> dict[str, Any]:
    """Pairs in the order of versions of another type."""

    def newer_pairs(right: Any, addr: NodeId, peer: Peer, version: int) -> Any:
        return sorted(right(addr, peer, version), key=lambda pair: (number(pair.version), octets(pair.key)))

    return around("reconcile.newer_pairs", newer_pairs)


@wrong("reconcile.most_outdated_first", "differences-around-2-63-are-no-tie")
def SaturatesDifferences(right: Any, node: State, entries: Iterable[DigestEntry]) -> Any:
    """Takes differences above 2^63-1 for equal. [B-28, BA-19]"""
    behind = [(min(reconcile.version_of(node, entry.addr) - entry.version, 2**63 - 1), entry) for entry in entries]
    return [entry for by, entry in sorted(behind, key=lambda row: (-row[0], octets(row[1].addr))) if by > 0]


def lacking_without(is_left_out: Callable[[State, DigestEntry], bool]) -> dict[str, Any]:
    """A digest response without some peers."""
    return around(
        "transitions.lacking_here",
        lambda right, state, entries: tuple(entry for entry in right(state, entries) if not is_left_out(state, entry)),
    )


@wrong.after("step", "digest-behind-on-its-sender")
def OffersOwnersNothing(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Does not tell a peer what it knows of that peer. [B-13]"""
    return step._replace(
        effects=tuple(
            Send(effect.to, Delta(tuple(pair for pair in effect.message.entries if pair.addr != effect.to)))
            if isinstance(effect, Send) and isinstance(effect.message, Delta)
            else effect
            for effect in step.effects
        )
    )


@wrong("step", "digest-behind-on-its-sender")
def ForgetsWhoSeemsRestarted(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Empties the record of a peer whose own digest shows it at a lower version. [B-13]"""
    if received(event, DigestRequest) or received(event, DigestResponse):
        entries = [entry for entry in event.message.entries if entry.addr == event.sender != state.self_id]
        lower = {entry.addr: Peer() for entry in entries if entry.version < reconcile.version_of(state, entry.addr)}
        state = replace(state, store=state.store.put(lower))
    return right(state, event, pick)


@wrong("step", "digests-that-cross")
def DoesNotAskTwice(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Answers without a digest response while its own request is unanswered. [B-14]"""
    peer = state.liveness.get(event.sender) if received(event, DigestRequest) else None
    step = right(state, event, pick)
    if peer is None or peer.digest_sent is None:
        return step
    return without_effects(step, lambda effect: isinstance(effect, Send) and isinstance(effect.message, DigestResponse))


@wrong.after("step", "rounds-go-on-while-nobody-is-known")
def StopsWhenAlone(step: Any, *_: Any) -> Any:
    """Ends its rounds with the first that has nobody to ask. [B-08]"""
    sends = any(isinstance(effect, Send) for effect in step.effects)
    return step if sends else without_effects(step, lambda effect: isinstance(effect, SetTimer))


def with_seeds(change: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to know other seeds."""
    return configured(seeds=lambda seeds: tuple(map(NodeId, change(seeds))))


@wrong("transitions.with_statuses", "a-round-sets-every-status")
def OneStatusARound(right: Any, state: State, now: Instant) -> Any:
    """Changes one status in a round. [B-20]"""
    after, notices = right(state, now)
    changed = [addr for addr, peer in after.liveness.items() if peer.status is not state.liveness[addr].status][:1]
    return transitions.with_liveness(state, {addr: after.liveness[addr] for addr in changed}), notices[:1]


@wrong.after("transitions.on_digest_request", "no-round-trip-from-a-response-that-did-not-fit")
def MeasuresFromWhatDidNotFit(step: Any, state: State, now: Instant, sender: NodeId, entries: tuple[DigestEntry, ...]) -> Any:
    """Remembers the time of a digest response that it does not send. [BA-23]"""
    is_behind = any(entry.version > reconcile.version_of(state, entry.addr) for entry in entries)
    return Step(RECORD_DIGESTS(step.state, now, [sender] if is_behind else []), step.effects)


@wrong.after("transitions.on_digest_request", "round-trip-of-a-peer-just-stored")
def MeasuresOnlyThoseKnownBefore(step: Any, state: State, now: Instant, sender: NodeId, entries: tuple[DigestEntry, ...]) -> Any:
    """Does not remember a digest response to a peer that the request made known. [BA-23]"""
    if sender in state.liveness or sender not in step.state.liveness:
        return step
    peer = replace(step.state.liveness[sender], digest_sent=None)
    return Step(transitions.with_liveness(step.state, {sender: peer}), step.effects)


@wrong.after("step", "heartbeat-without-a-detector")
def NoHeartbeatWithoutADetector(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Tells no sign of life where no failure detector is configured. [B-33]"""
    is_told = state.config.detector is not None
    return step if is_told else without_effects(step, lambda effect: isinstance(getattr(effect, "notice", None), Heartbeat))


@wrong("step", "response-ahead-on-the-receiver")
def JumpsAtAResponse(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Takes a higher version of itself in a digest response for its own. [BA-16]"""
    if received(event, DigestResponse):
        own = state.store[state.self_id]
        shown = [entry.version for entry in event.message.entries if entry.addr == state.self_id]
        state = replace(state, store=state.store.put({state.self_id: replace(own, version=max(own.version, *shown, 0))}))
    return right(state, event, pick)


wrong |= {
    # Brings addresses in digests into one form of Unicode. [BA-02]
    "NormalisesDigests: addresses-in-digests-stay-as-they-are": hearing(
        DigestRequest,
        lambda request, _: DigestRequest(
            tuple(entry._replace(addr=NodeId(normalize("NFC", entry.addr))) for entry in request.entries)
        ),
    ),
    # Shows the status of one peer for that of the next. [B-20]
    "MixesUpStatuses: down-peer-is-critical-in-every-round": {
        "queries.status": lambda node: [
            {**row, "status": other["status"]}
            for row, other in zip(state.status(node), state.status(node)[1:] + state.status(node)[:1], strict=True)
        ]
    },
    # Does not read digest responses that are longer than an Ethernet frame. [B-44]
    "ReadsResponsesOfAFrame: response-of-65507-bytes-is-read-to-its-end": passing_over(
        lambda state, event: received(event, DigestResponse) and len(MESSAGE.encode(event.message)) > 1_500
    ),
    # Reads 255 entries of a digest. [B-11]
    "LearnsAByteOfPeers: digest-of-260-unknown-peers request-of-65507-bytes-is-read-to-its-end": reading(
        lambda message: message if isinstance(message, Delta) else replace(message, entries=message.entries[:255])
    ),
    # Reads into a buffer of an Ethernet frame.
    "ReadsAFrame: delta-of-1501-bytes-is-read delta-of-9001-bytes-is-read delta-of-65507-bytes-is-read": reading_up_to(1_500),
    # Reads into a buffer of 9,000 bytes.
    "ReadsALargeFrame: delta-of-9001-bytes-is-read delta-of-65507-bytes-is-read": reading_up_to(9_000),
    # Reads into a buffer of 65,000 bytes.
    "ReadsNearlyAll: delta-of-65507-bytes-is-read": reading_up_to(65_000),
    # Strips blanks from keys.
    "StripsKeys: blanks-capitals-and-digits-stay": changing(staticmethod(lambda pair: pair._replace(key=pair.key.strip()))),
    # Strips blanks from values.
    "StripsValues: blanks-capitals-and-digits-stay": changing(staticmethod(lambda pair: pair._replace(value=pair.value.strip()))),
    # Reads addresses without regard to capitals.
    "LowersAddresses: blanks-capitals-and-digits-stay": changing(
        staticmethod(lambda pair: pair._replace(addr=NodeId(pair.addr.lower())))
    ),
    # Takes keys that look like numbers for numbers.
    "ReadsNumbers: blanks-capitals-and-digits-stay": changing(
        staticmethod(lambda pair: pair._replace(key=str(float(pair.key))) if re.fullmatch(r"\d+(\.\d+)?", pair.key) else pair)
    ),
    # Reads seeds without regard to capitals. [B-17]
    "LowersSeeds: seeds-are-what-they-are-called seed-that-a-peer-looks-like-is-unknown": with_seeds(
        staticmethod(lambda seeds: [seed.lower() for seed in seeds])
    ),
    # Strips blanks from seeds. [B-17]
    "StripsSeeds: seeds-are-what-they-are-called": with_seeds(staticmethod(lambda seeds: [seed.strip() for seed in seeds])),
    # Keeps one seed of each host. [B-17]
    "OneSeedAHost: seeds-are-what-they-are-called": with_seeds(
        staticmethod(lambda seeds: {seed.rpartition(":")[0]: seed for seed in seeds}.values())
    ),
    # Takes its own address without capitals. [B-23]
    "LowersItself: own-address-stays-as-it-is": around(
        "initial", lambda right, self_id, config: right(NodeId(self_id.lower()), config)
    ),
    # Brings values into one form of Unicode. [BA-02]
    "NormalisesValues: texts-of-deltas-stay-as-they-are": changing(
        staticmethod(lambda pair: pair._replace(value=normalize("NFC", pair.value)))
    ),
    # Asks a critical peer only as long as it is up. [B-19]
    "AsksTheDownOnce: down-peer-is-critical-in-every-round": around(
        "transitions.is_critical",
        lambda right, state, addr, now: right(state, addr, now) and state.liveness[addr].status is Status.UP,
    ),
    # Remembers the time of a request that it answers without a digest. [BA-23]
    "MeasuresWithoutADigest: no-round-trip-from-a-request-that-needs-no-digest": around(
        "transitions.on_digest_request",
        lambda right, state, now, sender, entries: Step(
            RECORD_DIGESTS((taken := right(state, now, sender, entries)).state, now, [sender] if entries else []),
            taken.effects,
        ),
    ),
    # Orders addresses with their numbers as numbers. [BA-12]
    "OrdersPeersNaturally: ties-go-neither-by-case-nor-by-numbers": peers_by(by_numbers),
    # Orders addresses without regard to capitals. [BA-12]
    "OrdersPeersWithoutCase: ties-go-neither-by-case-nor-by-numbers": peers_by(lambda text: (text.lower(), text)),
    # Orders keys with their numbers as numbers. [BA-12]
    "OrdersPairsNaturally: pairs-with-equal-versions-go-neither-by-case-nor-by-length": pairs_by(by_numbers),
    # Orders keys by their length first. [BA-12]
    "OrdersPairsByLength: pairs-with-equal-versions-go-neither-by-case-nor-by-length": pairs_by(lambda text: (len(text), text)),
    # Orders keys by the units of UTF-16. [BA-12]
    "OrdersPairsByUnits: pairs-with-equal-versions-go-neither-by-case-nor-by-length": pairs_by(
        lambda text: text.decode("utf-8", "surrogateescape").encode("utf-16-be", "surrogatepass")
    ),
    # Orders keys without regard to capitals. [BA-12]
    "OrdersPairsWithoutCase: pairs-with-equal-versions-go-neither-by-case-nor-by-length": pairs_by(
        lambda text: (text.lower(), text)
    ),
    # Compares versions as numbers of 32 bits. [B-12]
    "ComparesLowerHalves: versions-behind-by-one-at-every-border": lacking_by(lambda version: version % 2**32),
    # Compares versions as doubles. [B-12]
    "ComparesDoubles: versions-behind-by-one-at-every-border": lacking_by(float),
    # Orders pairs by versions that are doubles. [B-30]
    "SortsPairsByDoubles: pairs-go-by-version-at-every-border": pairs_sorted_by(float),
    # Orders pairs by versions that have a sign. [B-30]
    "SortsPairsBySign: pairs-go-by-version-at-every-border": pairs_sorted_by(
        lambda version: version - 2**64 if version >= 2**63 else version
    ),
    # Orders pairs by the lower halves of their versions. [B-30]
    "SortsPairsByLowerHalves: pairs-go-by-version-at-every-border": pairs_sorted_by(lambda version: version % 2**32),
    # Takes every address that begins with its own for its own. [B-14]
    "IsWhoBeginsLikeIt: addresses-that-look-like-the-own": lacking_without(
        lambda state, entry: entry.addr.startswith(state.self_id)
    ),
    # Takes its own address in capitals for its own. [B-14]
    "IsWhoDiffersInCase: addresses-that-look-like-the-own": lacking_without(
        lambda state, entry: entry.addr.lower() == state.self_id.lower()
    ),
    # Takes its own address with a blank behind it for its own. [B-14]
    "IsWhoDiffersInBlanks: addresses-that-look-like-the-own": lacking_without(
        lambda state, entry: entry.addr.strip() == state.self_id
    ),
    # Does not ask for pairs of a peer that is down. [B-14]
    "DoesNotAskForTheDown: down-peer-is-asked-for": lacking_without(
        lambda state, entry: state.liveness[entry.addr].status is Status.DOWN
    ),
    # Asks once for what a digest lists twice at one version. [BA-13]
    "AsksForEqualEntriesOnce: same-entry-twice-is-treated-twice": around(
        "transitions.lacking_here", lambda right, state, entries: tuple(dict.fromkeys(right(state, entries)))
    ),
    # Answers once what a digest lists twice at one version. [BA-13]
    "AnswersEqualEntriesOnce: same-entry-twice-is-treated-twice": around(
        "transitions.delta", lambda right, state, entries: right(state, dict.fromkeys(entries))
    ),
    # Asks for nothing behind an entry that is level. [B-12]
    "StopsAtLevelEntries: level-entries-end-nothing": around(
        "transitions.lacking_here",
        lambda right, state, entries: right(
            state, takewhile(lambda entry: entry.version != reconcile.version_of(state, entry.addr), entries)
        ),
    ),
    # Brings texts that are set into one form of Unicode. [B-07]
    "NormalisesUpdates: texts-of-updates-stay-as-they-are": around(
        "transitions.on_update_local",
        lambda right, state, key, value: right(state, normalize("NFC", key), normalize("NFC", value)),
    ),
    # Keeps texts that are set up to their first zero byte. [B-07]
    "CutsUpdates: texts-of-updates-stay-as-they-are": around(
        "transitions.on_update_local", lambda right, state, key, value: right(state, key.split("\0")[0], value.split("\0")[0])
    ),
    # Takes an empty address in a delta for none. [BA-04]
    "DropsEmptyAddresses: peer-with-an-empty-address-has-pairs": around(
        "transitions.on_delta",
        lambda right, state, now, sender, entries: right(state, now, sender, tuple(pair for pair in entries if pair.addr)),
    ),
    # Ends a delta at a pair about itself. [BA-15]
    "StopsAtItself: what-is-ignored-ends-nothing": around(
        "transitions.on_delta",
        lambda right, state, now, sender, entries: right(
            state, now, sender, tuple(takewhile(lambda pair: pair.addr != state.self_id, entries))
        ),
    ),
    # Ignores a greater version of a value that it has. [B-36]
    "SameValueIsNoNews: same-value-at-a-greater-version-is-taken-over": around(
        "transitions.merge",
        lambda right, peer, pairs: right(
            peer, [pair for pair in pairs if pair.key not in peer.pairs or peer.pairs[pair.key].value != pair.value]
        ),
    ),
    # Keeps times in 32 bits. [BA-28]
    "ClockOf32Bits: clock-goes-on-beyond-2-32": around(
        "transitions.phi_exceeds",
        lambda right, window, now, thousandths: right(
            replace(window, last=Instant(window.last % 2**32)), Instant(now % 2**32), thousandths
        ),
    ),
    # Remembers of a round only the request to the partner. [BA-23]
    "MeasuresTheFirstAsked: round-trips-of-all-who-were-asked": around(
        "transitions.record_digests", lambda right, state, now, targets: right(state, now, [*targets][:1])
    ),
    # Counts letters where a delta is filled. [B-26]
    "MeasuresPairsInLetters: limit-counts-bytes-not-letters": {
        "reconcile.delta_entry_size": lambda pair: 11 + len(pair.addr) + len(pair.key) + len(pair.value)
    },
    # Counts letters where a digest is filled. [BA-11]
    "MeasuresEntriesInLetters: limit-counts-bytes-not-letters": {
        "reconcile.digest_entry_size": lambda entry: 9 + len(entry.addr)
    },
    # Counts letters where a pair is set. [BA-03]
    "MeasuresUpdatesInLetters: limit-counts-bytes-not-letters": {
        "transitions.delta_entry_size": lambda pair: 11 + len(pair.addr) + len(pair.key) + len(pair.value)
    },
}
__getattr__ = wrong.find
