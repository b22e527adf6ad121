"""Mistakes with two peers, with what comes a round too early, with orders of texts, with borders of numbers and sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import takewhile
from typing import Any, ClassVar, Final
from unicodedata import normalize

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import received, variants, without_effects

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
    Effect,
    Heartbeat,
    Up,
)
from peerproof.spec.scuttlebutt.state import Liveness, Peer, State, Status
from peerproof.spec.scuttlebutt.transitions import Next

DELTA = reconcile.delta
LACKING_HERE = reconcile.lacking_here
MERGE = reconcile.merge
NEWER_PAIRS = reconcile.newer_pairs
PHI_EXCEEDS = arrival.phi_exceeds
ON_DELTA = transitions.on_delta
ON_UPDATE = transitions.on_update_local
WITH_STATUSES = transitions.with_statuses
IS_CRITICAL = transitions.is_critical
ON_DIGEST_REQUEST = transitions.on_digest_request
RECORD_DIGESTS = transitions.record_digests
WITH_HEARTBEAT = transitions.with_heartbeat


class ComesUpAtOnce(Wrong):
    """Sets a peer up when it is heard, not in the next round. [B-20]"""

    caught_by: ClassVar = ("peer-heard-again-comes-up",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """And says so."""
        after, effects = super().step(state, event, pick)
        peer = after.liveness.get(event.sender) if received(event, Delta) else None
        if peer is None or peer.status is Status.UP:
            return Step(after, effects)
        risen = transitions.with_liveness(after, {event.sender: replace(peer, status=Status.UP)})
        return Step(risen, (*effects, Notify(Up(event.sender))))


def reopened(state: State, now: Instant, sender: NodeId) -> tuple[State, Effect]:
    """With a new window for who was down."""
    after, heartbeat = WITH_HEARTBEAT(state, now, sender)
    peer, detector = after.liveness.get(sender), state.config.detector
    if detector is not None and peer is not None and peer.status is Status.DOWN:
        after = transitions.with_liveness(after, {sender: replace(peer, window=arrival.open_window(now, detector))})
    return after, heartbeat


def others(state: State, now: Instant, targets: Iterable[NodeId]) -> State:
    """With the window of another peer, if there is one."""
    known = {addr: next((other for other in state.liveness if other != addr), addr) for addr in targets if addr in state.liveness}
    changed = {addr: state.liveness[other] for addr, other in known.items()}
    return transitions.with_liveness(state, {addr: Liveness(row.window, row.status, now) for addr, row in changed.items()})


class MixesUpStatuses(Wrong):
    """Shows the status of one peer for that of the next. [B-20]"""

    caught_by: ClassVar = ("down-peer-is-critical-in-every-round",)
    queries: ClassVar = {
        "status": lambda node: [
            {**row, "status": other["status"]}
            for row, other in zip(state.status(node), state.status(node)[1:] + state.status(node)[:1], strict=True)
        ]
    }


def by_numbers(text: bytes) -> list[tuple[int, Any]]:
    """A key that people find natural: n9 before n10."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text.decode("latin-1"))]


def by_utf_16(text: bytes) -> bytes:
    """A key by the units of UTF-16."""
    return text.decode("utf-8", "surrogateescape").encode("utf-16-be", "surrogatepass")


def peers_by(key: Callable[[bytes], Any]) -> dict[str, Any]:
    """Ties between peers in another order."""

    def most_outdated_first(node: State, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
        outdated = (entry for entry in entries if reconcile.version_of(node, entry.addr) > entry.version)
        return sorted(
            outdated, key=lambda entry: (entry.version - reconcile.version_of(node, entry.addr), key(octets(entry.addr)))
        )

    return {"reconcile.most_outdated_first": most_outdated_first}


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


def lower_half_first(node: State, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    """By the lower half of the difference."""
    behind = {entry: reconcile.version_of(node, entry.addr) - entry.version for entry in entries}
    outdated = (entry for entry, by in behind.items() if by > 0)
    return sorted(outdated, key=lambda entry: (-(behind[entry] % 2**32), octets(entry.addr)))


class _Reads(Wrong):
    """Does not read datagrams that are longer."""

    most: ClassVar = 0

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """They are lost."""
        is_lost = self.most and received(event, Delta) and len(MESSAGE.encode(event.message)) > self.most
        return Step(state) if is_lost else super().step(state, event, pick)


class ReadsAFrame(_Reads):
    """Reads into a buffer of an Ethernet frame."""

    caught_by: ClassVar = ("delta-of-1501-bytes-is-read", "delta-of-9001-bytes-is-read", "delta-of-65507-bytes-is-read")
    most: ClassVar = 1_500


class ReadsALargeFrame(_Reads):
    """Reads into a buffer of 9,000 bytes."""

    caught_by: ClassVar = ("delta-of-9001-bytes-is-read", "delta-of-65507-bytes-is-read")
    most: ClassVar = 9_000


class ReadsNearlyAll(_Reads):
    """Reads into a buffer of 65,000 bytes."""

    caught_by: ClassVar = ("delta-of-65507-bytes-is-read",)
    most: ClassVar = 65_000


class _Changes(Wrong):
    """Changes the pairs that it reads."""

    change: ClassVar[Any]

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Each."""
        if received(event, Delta):
            event = replace(event, message=Delta(tuple(map(type(self).change, event.message.entries))))
        return super().step(state, event, pick)


class StripsKeys(_Changes):
    """Strips blanks from keys."""

    caught_by: ClassVar = ("blanks-capitals-and-digits-stay",)
    change: ClassVar = staticmethod(lambda pair: pair._replace(key=pair.key.strip()))


class StripsValues(_Changes):
    """Strips blanks from values."""

    caught_by: ClassVar = ("blanks-capitals-and-digits-stay",)
    change: ClassVar = staticmethod(lambda pair: pair._replace(value=pair.value.strip()))


class LowersAddresses(_Changes):
    """Reads addresses without regard to capitals."""

    caught_by: ClassVar = ("blanks-capitals-and-digits-stay",)
    change: ClassVar = staticmethod(lambda pair: pair._replace(addr=NodeId(pair.addr.lower())))


class ReadsNumbers(_Changes):
    """Takes keys that look like numbers for numbers."""

    caught_by: ClassVar = ("blanks-capitals-and-digits-stay",)
    change: ClassVar = staticmethod(
        lambda pair: pair._replace(key=str(float(pair.key))) if re.fullmatch(r"\d+(\.\d+)?", pair.key) else pair
    )


def pairs_sorted_by(number: Callable[[int], float]) -> dict[str, Any]:
    """Pairs in the order of versions of another type."""

    def newer_pairs(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
        return sorted(NEWER_PAIRS(addr, peer, version), key=lambda pair: (number(pair.version), octets(pair.key)))

    return {"reconcile.newer_pairs": newer_pairs}


def at_most_2_63(node: State, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    """By differences that end at 2^63-1."""
    behind = [(min(reconcile.version_of(node, entry.addr) - entry.version, 2**63 - 1), entry) for entry in entries]
    return [entry for by, entry in sorted(behind, key=lambda row: (-row[0], octets(row[1].addr))) if by > 0]


def lacking_without(is_left_out: Callable[[State, DigestEntry], bool]) -> dict[str, Any]:
    """A digest response without some peers."""
    return {
        "transitions.lacking_here": lambda state, entries: tuple(
            entry for entry in LACKING_HERE(state, entries) if not is_left_out(state, entry)
        )
    }


class LearnsAByteOfPeers(Wrong):
    """Reads 255 entries of a digest. [B-11]"""

    caught_by: ClassVar = ("digest-of-260-unknown-peers", "request-of-65507-bytes-is-read-to-its-end")

    def decode(self, data: bytes) -> Any:
        """The others are lost."""
        message = super().decode(data)
        return message if isinstance(message, Delta) else replace(message, entries=message.entries[:255])


class ReadsResponsesOfAFrame(Wrong):
    """Does not read digest responses that are longer than an Ethernet frame. [B-44]"""

    caught_by: ClassVar = ("response-of-65507-bytes-is-read-to-its-end",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """They are lost."""
        is_lost = received(event, DigestResponse) and len(MESSAGE.encode(event.message)) > 1_500
        return Step(state) if is_lost else super().step(state, event, pick)


class OffersOwnersNothing(Wrong):
    """Does not tell a peer what it knows of that peer. [B-13]"""

    caught_by: ClassVar = ("digest-behind-on-its-sender",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Skips the sender's entry."""
        step = super().step(state, event, pick)
        return step._replace(
            effects=tuple(
                Send(effect.to, Delta(tuple(pair for pair in effect.message.entries if pair.addr != effect.to)))
                if isinstance(effect, Send) and isinstance(effect.message, Delta)
                else effect
                for effect in step.effects
            )
        )


class ForgetsWhoSeemsRestarted(Wrong):
    """Empties the record of a peer whose own digest shows it at a lower version. [B-13]"""

    caught_by: ClassVar = ("digest-behind-on-its-sender",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Before it answers."""
        if received(event, DigestRequest) or received(event, DigestResponse):
            entries = [entry for entry in event.message.entries if entry.addr == event.sender != state.self_id]
            lower = {entry.addr: Peer() for entry in entries if entry.version < reconcile.version_of(state, entry.addr)}
            state = replace(state, store=state.store.put(lower))
        return super().step(state, event, pick)


class DoesNotAskTwice(Wrong):
    """Answers without a digest response while its own request is unanswered. [B-14]"""

    caught_by: ClassVar = ("digests-that-cross",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves it out."""
        peer = state.liveness.get(event.sender) if received(event, DigestRequest) else None
        step = super().step(state, event, pick)
        if peer is None or peer.digest_sent is None:
            return step
        return without_effects(step, lambda effect: isinstance(effect, Send) and isinstance(effect.message, DigestResponse))


class StopsWhenAlone(Wrong):
    """Ends its rounds with the first that has nobody to ask. [B-08]"""

    caught_by: ClassVar = ("rounds-go-on-while-nobody-is-known",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sets no timer."""
        step = super().step(state, event, pick)
        sends = any(isinstance(effect, Send) for effect in step.effects)
        return step if sends else without_effects(step, lambda effect: isinstance(effect, SetTimer))


class _OtherSeeds(Wrong):
    """Is configured with other seeds."""

    change: ClassVar[Any]

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """A fresh node with them."""
        return super().initial(self_id, replace(config, seeds=tuple(map(NodeId, type(self).change(config.seeds)))))


class LowersSeeds(_OtherSeeds):
    """Reads seeds without regard to capitals. [B-17]"""

    caught_by: ClassVar = ("seeds-are-what-they-are-called", "seed-that-a-peer-looks-like-is-unknown")
    change: ClassVar = staticmethod(lambda seeds: [seed.lower() for seed in seeds])


class StripsSeeds(_OtherSeeds):
    """Strips blanks from seeds. [B-17]"""

    caught_by: ClassVar = ("seeds-are-what-they-are-called",)
    change: ClassVar = staticmethod(lambda seeds: [seed.strip() for seed in seeds])


class OneSeedAHost(_OtherSeeds):
    """Keeps one seed of each host. [B-17]"""

    caught_by: ClassVar = ("seeds-are-what-they-are-called",)
    change: ClassVar = staticmethod(lambda seeds: {seed.rpartition(":")[0]: seed for seed in seeds}.values())


class LowersItself(Wrong):
    """Takes its own address without capitals. [B-23]"""

    caught_by: ClassVar = ("own-address-stays-as-it-is",)

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """Is another."""
        return super().initial(NodeId(self_id.lower()), config)


class NormalisesDigests(Wrong):
    """Brings addresses in digests into one form of Unicode. [BA-02]"""

    caught_by: ClassVar = ("addresses-in-digests-stay-as-they-are",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Each."""
        if received(event, DigestRequest):
            entries = [entry._replace(addr=NodeId(normalize("NFC", entry.addr))) for entry in event.message.entries]
            event = replace(event, message=DigestRequest(tuple(entries)))
        return super().step(state, event, pick)


class NormalisesValues(_Changes):
    """Brings values into one form of Unicode. [BA-02]"""

    caught_by: ClassVar = ("texts-of-deltas-stay-as-they-are",)
    change: ClassVar = staticmethod(lambda pair: pair._replace(value=normalize("NFC", pair.value)))


def first_change_only(state: State, now: Instant) -> tuple[State, tuple[Effect, ...]]:
    """The first change of a status."""
    after, notices = WITH_STATUSES(state, now)
    changed = [addr for addr, peer in after.liveness.items() if peer.status is not state.liveness[addr].status][:1]
    return transitions.with_liveness(state, {addr: after.liveness[addr] for addr in changed}), notices[:1]


def clock_of_32_bits(window: arrival.ArrivalWindow, now: Instant, thousandths: int) -> bool:
    """With times that wrap around."""
    return PHI_EXCEEDS(replace(window, last=Instant(window.last % 2**32)), Instant(now % 2**32), thousandths)


def remembered_too_much(state: State, now: Instant, sender: NodeId, entries: tuple[DigestEntry, ...]) -> Next:
    """With the time of a digest response into which nothing fits."""
    step = ON_DIGEST_REQUEST(state, now, sender, entries)
    is_behind = any(entry.version > reconcile.version_of(state, entry.addr) for entry in entries)
    return Step(RECORD_DIGESTS(step.state, now, [sender] if is_behind else []), step.effects)


def known_before(state: State, now: Instant, sender: NodeId, entries: tuple[DigestEntry, ...]) -> Next:
    """Without the time of a digest response to a peer that was not known."""
    step = ON_DIGEST_REQUEST(state, now, sender, entries)
    if sender in state.liveness or sender not in step.state.liveness:
        return step
    peer = replace(step.state.liveness[sender], digest_sent=None)
    return Step(transitions.with_liveness(step.state, {sender: peer}), step.effects)


class NoHeartbeatWithoutADetector(Wrong):
    """Tells no sign of life where no failure detector is configured. [B-33]"""

    caught_by: ClassVar = ("heartbeat-without-a-detector",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves it out."""
        step = super().step(state, event, pick)
        is_told = state.config.detector is not None
        return step if is_told else without_effects(step, lambda effect: isinstance(getattr(effect, "notice", None), Heartbeat))


class JumpsAtAResponse(Wrong):
    """Takes a higher version of itself in a digest response for its own. [BA-16]"""

    caught_by: ClassVar = ("response-ahead-on-the-receiver",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Before it answers."""
        if received(event, DigestResponse):
            own = state.store[state.self_id]
            shown = [entry.version for entry in event.message.entries if entry.addr == state.self_id]
            state = replace(state, store=state.store.put({state.self_id: replace(own, version=max(own.version, *shown, 0))}))
        return super().step(state, event, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "BeginsAnewWithWhoReturns": (
            "Opens a new window for a peer that returns. [BA-29]",
            {"transitions.with_heartbeat": reopened},
            "window-stays-when-a-peer-returns",
        ),
        "AsksTheDownOnce": (
            "Asks a critical peer only as long as it is up. [B-19]",
            {
                "transitions.is_critical": lambda state, addr, now: (
                    IS_CRITICAL(state, addr, now) and state.liveness[addr].status is Status.UP
                )
            },
            "down-peer-is-critical-in-every-round",
        ),
        "MixesUpWindows": (
            "Remembers a digest to one peer with the window of another. [B-33, BA-23]",
            {"transitions.record_digests": others},
            "down-peer-is-critical-in-every-round",
        ),
        "MeasuresWithoutADigest": (
            "Remembers the time of a request that it answers without a digest. [BA-23]",
            {
                "transitions.on_digest_request": lambda state, now, sender, entries: Step(
                    RECORD_DIGESTS(
                        (taken := ON_DIGEST_REQUEST(state, now, sender, entries)).state, now, [sender] if entries else []
                    ),
                    taken.effects,
                )
            },
            "no-round-trip-from-a-request-that-needs-no-digest",
        ),
        "OrdersPeersNaturally": (
            "Orders addresses with their numbers as numbers. [BA-12]",
            peers_by(by_numbers),
            "ties-go-neither-by-case-nor-by-numbers",
        ),
        "OrdersPeersWithoutCase": (
            "Orders addresses without regard to capitals. [BA-12]",
            peers_by(lambda text: (text.lower(), text)),
            "ties-go-neither-by-case-nor-by-numbers",
        ),
        "OrdersPairsNaturally": (
            "Orders keys with their numbers as numbers. [BA-12]",
            pairs_by(by_numbers),
            "pairs-with-equal-versions-go-neither-by-case-nor-by-length",
        ),
        "OrdersPairsByLength": (
            "Orders keys by their length first. [BA-12]",
            pairs_by(lambda text: (len(text), text)),
            "pairs-with-equal-versions-go-neither-by-case-nor-by-length",
        ),
        "OrdersPairsByUnits": (
            "Orders keys by the units of UTF-16. [BA-12]",
            pairs_by(by_utf_16),
            "pairs-with-equal-versions-go-neither-by-case-nor-by-length",
        ),
        "OrdersPairsWithoutCase": (
            "Orders keys without regard to capitals. [BA-12]",
            pairs_by(lambda text: (text.lower(), text)),
            "pairs-with-equal-versions-go-neither-by-case-nor-by-length",
        ),
        "ComparesLowerHalves": (
            "Compares versions as numbers of 32 bits. [B-12]",
            lacking_by(lambda version: version % 2**32),
            "versions-behind-by-one-at-every-border",
        ),
        "ComparesDoubles": ("Compares versions as doubles. [B-12]", lacking_by(float), "versions-behind-by-one-at-every-border"),
        "SubtractsLowerHalves": (
            "Orders peers by differences of 32 bits. [B-28]",
            {"reconcile.most_outdated_first": lower_half_first},
            "difference-of-2-32-is-the-greatest",
        ),
        "SortsPairsByDoubles": (
            "Orders pairs by versions that are doubles. [B-30]",
            pairs_sorted_by(float),
            "pairs-go-by-version-at-every-border",
        ),
        "SortsPairsBySign": (
            "Orders pairs by versions that have a sign. [B-30]",
            pairs_sorted_by(lambda version: version - 2**64 if version >= 2**63 else version),
            "pairs-go-by-version-at-every-border",
        ),
        "SortsPairsByLowerHalves": (
            "Orders pairs by the lower halves of their versions. [B-30]",
            pairs_sorted_by(lambda version: version % 2**32),
            "pairs-go-by-version-at-every-border",
        ),
        "SaturatesDifferences": (
            "Takes differences above 2^63-1 for equal. [B-28, BA-19]",
            {"reconcile.most_outdated_first": at_most_2_63},
            "differences-around-2-63-are-no-tie",
        ),
        "ComparesToTheZeroByte": (
            "Compares addresses up to their first zero byte. [BA-12]",
            peers_by(lambda text: text.split(b"\0")[0]),
            "ties-go-on-behind-a-zero-byte",
        ),
        "ComparesReplacements": (
            "Compares keys with replacement characters for what is not UTF-8. [BA-12]",
            pairs_by(lambda text: text.decode(errors="replace").encode()),
            "ties-go-on-behind-a-zero-byte",
        ),
        "IsWhoBeginsLikeIt": (
            "Takes every address that begins with its own for its own. [B-14]",
            lacking_without(lambda state, entry: entry.addr.startswith(state.self_id)),
            "addresses-that-look-like-the-own",
        ),
        "IsWhoDiffersInCase": (
            "Takes its own address in capitals for its own. [B-14]",
            lacking_without(lambda state, entry: entry.addr.lower() == state.self_id.lower()),
            "addresses-that-look-like-the-own",
        ),
        "IsWhoDiffersInBlanks": (
            "Takes its own address with a blank behind it for its own. [B-14]",
            lacking_without(lambda state, entry: entry.addr.strip() == state.self_id),
            "addresses-that-look-like-the-own",
        ),
        "DoesNotAskForTheDown": (
            "Does not ask for pairs of a peer that is down. [B-14]",
            lacking_without(lambda state, entry: state.liveness[entry.addr].status is Status.DOWN),
            "down-peer-is-asked-for",
        ),
        "AsksForEqualEntriesOnce": (
            "Asks once for what a digest lists twice at one version. [BA-13]",
            {"transitions.lacking_here": lambda state, entries: tuple(dict.fromkeys(LACKING_HERE(state, entries)))},
            "same-entry-twice-is-treated-twice",
        ),
        "AnswersEqualEntriesOnce": (
            "Answers once what a digest lists twice at one version. [BA-13]",
            {"transitions.delta": lambda state, entries: DELTA(state, dict.fromkeys(entries))},
            "same-entry-twice-is-treated-twice",
        ),
        "StopsAtLevelEntries": (
            "Asks for nothing behind an entry that is level. [B-12]",
            {
                "transitions.lacking_here": lambda state, entries: LACKING_HERE(
                    state, takewhile(lambda entry: entry.version != reconcile.version_of(state, entry.addr), entries)
                )
            },
            "level-entries-end-nothing",
        ),
        "NormalisesUpdates": (
            "Brings texts that are set into one form of Unicode. [B-07]",
            {
                "transitions.on_update_local": lambda state, key, value: ON_UPDATE(
                    state, normalize("NFC", key), normalize("NFC", value)
                )
            },
            "texts-of-updates-stay-as-they-are",
        ),
        "CutsUpdates": (
            "Keeps texts that are set up to their first zero byte. [B-07]",
            {"transitions.on_update_local": lambda state, key, value: ON_UPDATE(state, key.split("\0")[0], value.split("\0")[0])},
            "texts-of-updates-stay-as-they-are",
        ),
        "DropsEmptyAddresses": (
            "Takes an empty address in a delta for none. [BA-04]",
            {
                "transitions.on_delta": lambda state, now, sender, entries: ON_DELTA(
                    state, now, sender, tuple(pair for pair in entries if pair.addr)
                )
            },
            "peer-with-an-empty-address-has-pairs",
        ),
        "StopsAtItself": (
            "Ends a delta at a pair about itself. [BA-15]",
            {
                "transitions.on_delta": lambda state, now, sender, entries: ON_DELTA(
                    state, now, sender, tuple(takewhile(lambda pair: pair.addr != state.self_id, entries))
                )
            },
            "what-is-ignored-ends-nothing",
        ),
        "SameValueIsNoNews": (
            "Ignores a greater version of a value that it has. [B-36]",
            {
                "transitions.merge": lambda peer, pairs: MERGE(
                    peer, [pair for pair in pairs if pair.key not in peer.pairs or peer.pairs[pair.key].value != pair.value]
                )
            },
            "same-value-at-a-greater-version-is-taken-over",
        ),
        "OneStatusARound": (
            "Changes one status in a round. [B-20]",
            {"transitions.with_statuses": first_change_only},
            "a-round-sets-every-status",
        ),
        "ClockOf32Bits": (
            "Keeps times in 32 bits. [BA-28]",
            {"transitions.phi_exceeds": clock_of_32_bits},
            "clock-goes-on-beyond-2-32",
        ),
        "MeasuresFromWhatDidNotFit": (
            "Remembers the time of a digest response that it does not send. [BA-23]",
            {"transitions.on_digest_request": remembered_too_much},
            "no-round-trip-from-a-response-that-did-not-fit",
        ),
        "MeasuresOnlyThoseKnownBefore": (
            "Does not remember a digest response to a peer that the request made known. [BA-23]",
            {"transitions.on_digest_request": known_before},
            "round-trip-of-a-peer-just-stored",
        ),
        "MeasuresTheFirstAsked": (
            "Remembers of a round only the request to the partner. [BA-23]",
            {"transitions.record_digests": lambda state, now, targets: RECORD_DIGESTS(state, now, [*targets][:1])},
            "round-trips-of-all-who-were-asked",
        ),
        "MeasuresPairsInLetters": (
            "Counts letters where a delta is filled. [B-26]",
            {"reconcile.delta_entry_size": lambda pair: 11 + len(pair.addr) + len(pair.key) + len(pair.value)},
            "limit-counts-bytes-not-letters",
        ),
        "MeasuresEntriesInLetters": (
            "Counts letters where a digest is filled. [BA-11]",
            {"reconcile.digest_entry_size": lambda entry: 9 + len(entry.addr)},
            "limit-counts-bytes-not-letters",
        ),
        "MeasuresUpdatesInLetters": (
            "Counts letters where a pair is set. [BA-03]",
            {"transitions.delta_entry_size": lambda pair: 11 + len(pair.addr) + len(pair.key) + len(pair.value)},
            "limit-counts-bytes-not-letters",
        ),
    },
)
__getattr__ = MISTAKES.find
