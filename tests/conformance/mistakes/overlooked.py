"""Mistakes with two peers, with what comes a round too early, with orders of texts, with borders of numbers and sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.variant import received
from tests.conformance.wrong import Wrong

from peerproof.spec.core import Instant, NodeId, Notify, Pick, Step
from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt import arrival, reconcile, state, transitions
from peerproof.spec.scuttlebutt.codec import MESSAGE
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, Effect, Up
from peerproof.spec.scuttlebutt.state import Liveness, Peer, State, Status
from peerproof.spec.scuttlebutt.transitions import Next

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


class BeginsAnewWithWhoReturns(Wrong):
    """Opens a new window for a peer that returns. [BA-29]"""

    caught_by: ClassVar = ("window-stays-when-a-peer-returns",)
    instead: ClassVar = {"transitions.with_heartbeat": reopened}


class AsksTheDownOnce(Wrong):
    """Asks a critical peer only as long as it is up. [B-19]"""

    caught_by: ClassVar = ("down-peer-is-critical-in-every-round",)
    instead: ClassVar = {
        "transitions.is_critical": lambda state, addr, now: (
            IS_CRITICAL(state, addr, now) and state.liveness[addr].status is Status.UP
        )
    }


def others(state: State, now: Instant, targets: Iterable[NodeId]) -> State:
    """With the window of another peer, if there is one."""
    known = {addr: next((other for other in state.liveness if other != addr), addr) for addr in targets if addr in state.liveness}
    changed = {addr: state.liveness[other] for addr, other in known.items()}
    return transitions.with_liveness(state, {addr: Liveness(row.window, row.status, now) for addr, row in changed.items()})


class MixesUpWindows(Wrong):
    """Remembers a digest to one peer with the window of another. [B-33, BA-23]"""

    caught_by: ClassVar = ("down-peer-is-critical-in-every-round",)
    instead: ClassVar = {"transitions.record_digests": others}


class MixesUpStatuses(Wrong):
    """Shows the status of one peer for that of the next. [B-20]"""

    caught_by: ClassVar = ("down-peer-is-critical-in-every-round",)
    queries: ClassVar = {
        "status": lambda node: [
            {**row, "status": other["status"]}
            for row, other in zip(state.status(node), state.status(node)[1:] + state.status(node)[:1], strict=True)
        ]
    }


class MeasuresWithoutADigest(Wrong):
    """Remembers the time of a request that it answers without a digest. [BA-23]"""

    caught_by: ClassVar = ("no-round-trip-from-a-request-that-needs-no-digest",)

    instead: ClassVar = {
        "transitions.on_digest_request": lambda state, now, sender, entries: Step(
            RECORD_DIGESTS((taken := ON_DIGEST_REQUEST(state, now, sender, entries)).state, now, [sender] if entries else []),
            taken.effects,
        )
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


class OrdersPeersNaturally(Wrong):
    """Orders addresses with their numbers as numbers. [BA-12]"""

    caught_by: ClassVar = ("ties-go-neither-by-case-nor-by-numbers",)
    instead: ClassVar = peers_by(by_numbers)


class OrdersPeersWithoutCase(Wrong):
    """Orders addresses without regard to capitals. [BA-12]"""

    caught_by: ClassVar = ("ties-go-neither-by-case-nor-by-numbers",)
    instead: ClassVar = peers_by(lambda text: (text.lower(), text))


class OrdersPairsNaturally(Wrong):
    """Orders keys with their numbers as numbers. [BA-12]"""

    caught_by: ClassVar = ("pairs-with-equal-versions-go-neither-by-case-nor-by-length",)
    instead: ClassVar = pairs_by(by_numbers)


class OrdersPairsByLength(Wrong):
    """Orders keys by their length first. [BA-12]"""

    caught_by: ClassVar = ("pairs-with-equal-versions-go-neither-by-case-nor-by-length",)
    instead: ClassVar = pairs_by(lambda text: (len(text), text))


class OrdersPairsByUnits(Wrong):
    """Orders keys by the units of UTF-16. [BA-12]"""

    caught_by: ClassVar = ("pairs-with-equal-versions-go-neither-by-case-nor-by-length",)
    instead: ClassVar = pairs_by(by_utf_16)


class OrdersPairsWithoutCase(Wrong):
    """Orders keys without regard to capitals. [BA-12]"""

    caught_by: ClassVar = ("pairs-with-equal-versions-go-neither-by-case-nor-by-length",)
    instead: ClassVar = pairs_by(lambda text: (text.lower(), text))


def lacking_by(number: Callable[[int], float]) -> dict[str, Any]:
    """What is lacking, by versions of another type."""

    def lacking_here(node: State, entries: Iterable[DigestEntry]) -> tuple[DigestEntry, ...]:
        known = {entry.addr: reconcile.version_of(node, entry.addr) for entry in entries}
        lacking = [DigestEntry(addr, known[addr]) for addr, said in entries if number(said) > number(known[addr])]
        return tuple(entry for entry in lacking if entry.addr != node.self_id)

    return {"transitions.lacking_here": lacking_here}


class ComparesLowerHalves(Wrong):
    """Compares versions as numbers of 32 bits. [B-12]"""

    caught_by: ClassVar = ("versions-behind-by-one-at-every-border",)
    instead: ClassVar = lacking_by(lambda version: version % 2**32)


class ComparesDoubles(Wrong):
    """Compares versions as doubles. [B-12]"""

    caught_by: ClassVar = ("versions-behind-by-one-at-every-border",)
    instead: ClassVar = lacking_by(float)


def lower_half_first(node: State, entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    """By the lower half of the difference."""
    behind = {entry: reconcile.version_of(node, entry.addr) - entry.version for entry in entries}
    outdated = (entry for entry, by in behind.items() if by > 0)
    return sorted(outdated, key=lambda entry: (-(behind[entry] % 2**32), octets(entry.addr)))


class SubtractsLowerHalves(Wrong):
    """Orders peers by differences of 32 bits. [B-28]"""

    caught_by: ClassVar = ("difference-of-2-32-is-the-greatest",)
    instead: ClassVar = {"reconcile.most_outdated_first": lower_half_first}


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
