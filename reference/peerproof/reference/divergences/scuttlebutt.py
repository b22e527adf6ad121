"""
The differences of the original library of Scuttlebutt, one at a time [BD-01…BD-17].

Two are missing, because no vector can detect them: the identity that a node uses [BD-12], and locks [BD-15].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, Final

from peerproof.reference.divergences.divergence import Divergence, by_id, without_effects
from peerproof.spec.core import Instant, NodeId, Notify, Pick, Send, Table
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.scuttlebutt import arrival, reconcile
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE, delta_entry_size
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, Up, UpdateLocal
from peerproof.spec.scuttlebutt.state import Peer, State, Status, Versioned
from peerproof.spec.scuttlebutt.transitions import Next

Entries = Iterable[DigestEntry]


class Diverging(Divergence):
    """Scuttlebutt with some functions replaced."""

    protocol = "scuttlebutt"


@Diverging.instead_of("transitions.delta")
def BD01(state: State, entries: Entries) -> tuple[DeltaEntry, ...]:
    """Compares the number of entries with the limit in bytes, so that a delta has no limit."""
    return tuple(
        pair
        for entry in reconcile.most_outdated_first(state, entries)
        for pair in reconcile.newer_pairs(entry.addr, state.store[entry.addr], entry.version)
    )


class BD02(Diverging):
    """Does not send an empty delta."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Leaves the empty delta out."""
        return without_effects(
            super().step(state, event, pick), lambda effect: isinstance(effect, Send) and effect.message == Delta(())
        )


class BD03(Diverging):
    """Answers every request with a digest response of all that it knows."""

    instead: ClassVar = {"transitions.lacking_here": lambda state, _: reconcile.digest(state, state.store)}


class BD04(Diverging):
    """Reads past the end of a datagram and crashes."""

    def decode(self, data: bytes) -> Any:
        """Crashes at a truncated datagram."""
        try:
            return super().decode(data)
        except MalformedMessage as error:
            if error.reason != "truncated":
                raise
            raise IndexError("index out of range") from None


class BD05(Diverging):
    """Accepts strings of more than 255 bytes, and then sends messages that cannot be decoded."""

    instead: ClassVar = {"transitions.MAX_STRING": 2**16}

    def encode(self, message: Any) -> bytes:
        """Crashes at a string that is too long for its size byte."""
        if any(len(str(part)) > 255 for entry in message.entries for part in entry):  # of ASCII alone
            raise RuntimeError("string too large")
        return super().encode(message)


def _partner_only(state: State, _: Instant, pick: Pick) -> Iterator[NodeId]:
    others = [addr for addr in state.store if addr != state.self_id]
    if others:
        yield from pick("round.partner", others)
    else:
        yield from sorted(set(state.config.seeds) - {state.self_id})


class BD06(Diverging):
    """Contacts no unknown seed and no critical peer, and takes all peers for up."""

    instead: ClassVar = {"transitions.round_targets": _partner_only, "transitions.is_up": lambda *_: True}


class BD07(Diverging):
    """Ignores an update that sets the current value again."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Skips an update that changes nothing."""
        command = getattr(event, "command", None)
        known = state.store[state.self_id].pairs.get(command.key) if isinstance(command, UpdateLocal) else None
        if known is not None and isinstance(command, UpdateLocal) and known.value == command.value:
            return Next(state)
        return super().step(state, event, pick)


@Diverging.instead_of("transitions.merge")
def BD08(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    """Stores a pair at version 0 under a key that it has not seen before."""
    known, version, news = dict(peer.pairs), peer.version, []
    for pair in pairs:
        if pair.key not in known or pair.version > known[pair.key].version:
            known[pair.key] = Versioned(pair.value, pair.version)
            version = max(version, pair.version)
            news.append(pair)
    return Peer(Table(known), version), tuple(news)


@Diverging.instead_of("transitions.delta")
def BD09(state: State, entries: Entries) -> tuple[DeltaEntry, ...]:
    """Continues with the next peer after a pair that does not fit."""
    used, packed = TYPE_SIZE, []
    for entry in reconcile.most_outdated_first(state, entries):
        for pair in reconcile.newer_pairs(entry.addr, state.store[entry.addr], entry.version):
            if used + delta_entry_size(pair) > state.config.max_payload:
                break
            used += delta_entry_size(pair)
            packed.append(pair)
    return tuple(packed)


@Diverging.instead_of("reconcile.most_outdated_first")
def BD10(state: State, entries: Entries) -> list[DigestEntry]:
    """Does not sort peers that are equally far behind."""
    known = reconcile.version_of
    outdated = [entry for entry in entries if known(state, entry.addr) > entry.version]
    return sorted(outdated, key=lambda entry: entry.version - known(state, entry.addr))


@Diverging.instead_of("transitions.merge")
def BD11(peer: Peer, pairs: Iterable[DeltaEntry]) -> tuple[Peer, tuple[DeltaEntry, ...]]:
    """Notifies the application of every received pair."""
    pairs = tuple(pairs)
    return reconcile.merge(peer, pairs)[0], pairs


class BD13(Diverging):
    """Never takes a peer for up again after it was down."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Keeps peers down."""
        step = super().step(state, event, pick)
        stuck = {
            addr: replace(step.state.liveness[addr], status=Status.DOWN)
            for addr, known in state.liveness.items()
            if known.status is Status.DOWN
        }
        step = step._replace(state=replace(step.state, liveness=step.state.liveness.put(stuck)))
        return without_effects(step, lambda effect: isinstance(effect, Notify) and isinstance(effect.notice, Up))


class BD14(Diverging):
    """Computes phi as silence over mean, without the factor 1/ln 10."""

    instead: ClassVar = {"arrival.ONE_BY_LN_10": (1, 1)}


@Diverging.instead_of("transitions.digest")
def BD16(state: State, order: Iterable[NodeId]) -> tuple[DigestEntry, ...]:
    """Leaves peers that are down out of its digests."""
    up = (addr for addr in order if addr == state.self_id or state.liveness[addr].status is Status.UP)
    return reconcile.digest(state, up)


@Diverging.instead_of("transitions.phi_exceeds")
def BD17(window: ArrivalWindow, now: Instant, thousandths: int) -> bool:
    """Allows a mean of 0, with which any silence is infinitely suspicious."""
    silence, total = max(0, now - window.last), sum(window.intervals)
    numerator, denominator = arrival.ONE_BY_LN_10
    return silence * len(window.intervals) * numerator * arrival.THOUSANDTHS > thousandths * total * denominator


#: The divergences by their ids.
DIVERGENCES: Final = by_id(Diverging)
