"""Mistakes in what a delta changes, and in what an update does to the own record."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import received, variants

from peerproof.spec.core import Asked, Pick, Send, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.scuttlebutt import reconcile, transitions
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE, delta_entry_size
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, DigestRequest
from peerproof.spec.scuttlebutt.state import MAX_STRING, Peer, State, Versioned
from peerproof.spec.scuttlebutt.transitions import Next

Merged = tuple[Peer, tuple[DeltaEntry, ...]]
Pairs = Iterable[DeltaEntry]

_MERGED = reconcile.merge
_LEARNED = transitions.add_peers


def _merging(
    replaces: Callable[[DeltaEntry, Peer], bool],
    version: Callable[[DeltaEntry, int], int] = lambda pair, version: max(pair.version, version),
) -> Callable[[Peer, Pairs], Merged]:
    """`merge` with another rule for what is news, or for the version of the peer."""

    def merged(peer: Peer, pairs: Pairs) -> Merged:
        news = []
        for pair in pairs:
            if replaces(pair, peer):
                known = peer.pairs.put({pair.key: Versioned(pair.value, pair.version)})
                peer = Peer(known, version(pair, peer.version))
                news.append(pair)
        return peer, tuple(news)

    return merged


def _known(pair: DeltaEntry, peer: Peer) -> int:
    return peer.pairs[pair.key].version if pair.key in peer.pairs else 0


def _is_news(pair: DeltaEntry, peer: Peer) -> bool:
    return pair.version > _known(pair, peer)


class EmptyValueDeletes(Wrong):
    """Takes an empty value for a deletion."""

    caught_by: ClassVar = ("empty-value-replaces", "empty-key-and-value-are-stored")

    @staticmethod
    def _merged(peer: Peer, pairs: Pairs) -> Merged:
        peer, news = _MERGED(peer, pairs)
        return replace(peer, pairs=Table({key: pair for key, pair in peer.pairs.items() if pair.value})), news

    instead: ClassVar = {"transitions.merge": _merged.__func__}  # type: ignore[attr-defined]  # of a static method


class RefusesPairsAboveItsLimit(Wrong):
    """Does not store a pair that it could not pass on."""

    caught_by: ClassVar = ("pair-above-the-own-limit-is-stored", "oversize-pair-does-not-stop-the-others")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Drops large pairs."""
        if received(event, Delta):
            small = [pair for pair in event.message.entries if TYPE_SIZE + delta_entry_size(pair) <= state.config.max_payload]
            event = replace(event, message=Delta(tuple(small)))
        return super().step(state, event, pick)


class StoresStrangers(Wrong):
    """Stores peers that only a delta has named, with a part of their pairs."""

    caught_by: ClassVar = ("delta-about-self-and-strangers-is-ignored", "delta-before-its-peer-is-known")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Stores them first."""
        if received(event, Delta):
            state = _LEARNED(state, event.now, [DigestEntry(pair.addr, 0) for pair in event.message.entries])[0]
        return super().step(state, event, pick)


class AnswersDeltas(Wrong):
    """Thanks for a delta that brings something with an empty one."""

    caught_by: ClassVar = ("delta-is-not-answered", "delta-without-a-digest")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Adds the answer."""
        step = super().step(state, event, pick)
        thanks = received(event, Delta) and event.message.entries
        return step._replace(effects=(*step.effects, Send(event.sender, Delta(())))) if thanks else step


# The own record


def _own(state: State, pairs: Table[str, Versioned], version: int) -> State:
    return replace(state, store=state.store.put({state.self_id: Peer(pairs, version)}))


class AllPairsGetTheVersion(Wrong):
    """Gives the new version to all own pairs."""

    caught_by: ClassVar = ("document-example-update", "updates-count-up", "digest-behind-gets-newer-pairs-only")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Gives it to all."""
        step = super().step(state, event, pick)
        if not isinstance(event, Asked):
            return step
        own = step.state.store[state.self_id]
        raised = Table({key: pair._replace(version=own.version) for key, pair in own.pairs.items()})
        return step._replace(state=_own(step.state, raised, own.version))


class VersionPerKey(Wrong):
    """Counts versions per key instead of per node."""

    caught_by: ClassVar = ("updates-count-up", "pairs-go-by-version-not-by-key", "document-example-update")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Counts per key."""
        step = super().step(state, event, pick)
        if not isinstance(event, Asked):
            return step
        before, after = state.store[state.self_id], step.state.store[state.self_id]
        key = event.command.key
        version = before.pairs[key].version + 1 if key in before.pairs else 1
        pairs = after.pairs.put({key: after.pairs[key]._replace(version=version)})
        return step._replace(state=_own(step.state, pairs, max(pair.version for pair in pairs.values())))


class PushesUpdates(Wrong):
    """Sends an update at once instead of waiting for the next round."""

    caught_by: ClassVar = ("update-is-not-sent-at-once", "updates-do-not-shift-rounds")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sends a digest to everybody."""
        step = super().step(state, event, pick)
        if not isinstance(event, Asked):
            return step
        request = DigestRequest(reconcile.digest(step.state, step.state.store))
        sent = (Send(addr, request) for addr in state.store if addr != state.self_id)
        return step._replace(effects=(*step.effects, *sent))


def _at_most_letters(what: str, value: str, most: int) -> None:
    if len(value) > most:
        raise NotEnabled("too_large", f"a {what} takes at most {most} letters")


class EmptyStringsAreNotSet(Wrong):
    """Refuses to set an empty key."""

    caught_by: ClassVar = ("update-with-empty-strings",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Refuses it."""
        if isinstance(event, Asked) and not event.command.key:
            raise NotEnabled("bad_value", "an empty key")
        return super().step(state, event, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "EqualVersionReplaces": (
            "Takes a pair over whose version is not smaller, instead of greater.",
            {"transitions.merge": _merging(lambda pair, peer: pair.version >= _known(pair, peer))},
            "equal-version-is-ignored stale-delta-is-not-told pair-at-version-0-is-ignored",
        ),
        "LastOneWins": (
            "Takes over whatever comes.",
            {"transitions.merge": _merging(lambda pair, _: pair.version > 0)},
            "older-pair-is-ignored late-delta-does-not-turn-back key-twice-in-a-delta-descending",
        ),
        "ComparesWithThePeersVersion": (
            "Takes a pair over only if it is above the peer's version, so that what comes late is lost.",
            {"transitions.merge": _merging(lambda pair, peer: pair.version > peer.version)},
            (
                "late-delta-with-an-unseen-key unseen-key-at-the-peers-version pairs-out-of-order-are-all-applied "
                "unseen-key-below-the-version-is-passed-on pairs-of-another-peer-go-by-version"
            ),
        ),
        "VersionOfTheLastPair": (
            "Gives a peer the version of the pair that came last instead of the greatest.",
            {"transitions.merge": _merging(_is_news, lambda pair, _: pair.version)},
            "late-delta-with-an-unseen-key pairs-out-of-order-are-all-applied delta-applied-pair-by-pair",
        ),
        "VersionStays": (
            "Stores pairs and forgets the peer's version.",
            {"transitions.merge": _merging(_is_news, lambda _, version: version)},
            "newer-pair-replaces delta-is-not-answered update-spreads",
        ),
        "VersionCountsPairs": (
            "Takes the number of changes for the version of a peer.",
            {"transitions.merge": _merging(_is_news, lambda _, version: version + 1)},
            "newer-pair-replaces applied-pairs-are-passed-on",
        ),
        "FirstOfAKey": (
            "Of several pairs with a key in one delta, looks at the first only.",
            {"transitions.merge": lambda peer, pairs: _MERGED(peer, {pair.key: pair for pair in reversed([*pairs])}.values())},
            "key-twice-in-a-delta-ascending",
        ),
        "LastOfAKey": (
            "Of several pairs with a key in one delta, looks at the last only.",
            {"transitions.merge": lambda peer, pairs: _MERGED(peer, {pair.key: pair for pair in pairs}.values())},
            "key-twice-in-a-delta-descending",
        ),
        "KeysAreNormalised": (
            "Brings keys into one Unicode form, as some file systems do.",
            {
                "transitions.merge": lambda peer, pairs: _MERGED(
                    peer, [pair._replace(key=unicodedata.normalize("NFC", pair.key)) for pair in pairs]
                )
            },
            "keys-differ-in-every-byte",
        ),
        "CountsLetters": (
            "Counts letters where 255 bytes are allowed.",
            {"transitions.encode_string": _at_most_letters},
            "update-length-counts-bytes",
        ),
        "AtMost254": (
            "Refuses strings of 255 bytes.",
            {"transitions.MAX_STRING": MAX_STRING - 1},
            "update-with-value-of-255-bytes update-with-key-of-255-bytes update-length-counts-bytes",
        ),
        "AcceptsWhatItCannotSend": (
            "Does not look at the payload limit when a pair is set.",
            {"transitions.TYPE_SIZE": -1000},
            "update-that-could-never-be-sent",
        ),
        "RefusesWhatJustFits": (
            "Refuses a pair that reaches the payload limit exactly.",
            {"transitions.TYPE_SIZE": TYPE_SIZE + 1},
            "update-that-just-fits delta-with-limit-of-a-pair",
        ),
        "NoLastVersion": (
            "Counts on beyond the last version that a message can carry.",
            {"transitions.U64_MAX": 2**64},
            "update-after-the-last-version update-to-the-last-version",
        ),
    },
)
__getattr__ = MISTAKES.find
