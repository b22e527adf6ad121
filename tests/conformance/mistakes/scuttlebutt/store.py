"""Mistakes in what a delta changes, and in what an update does to the own record."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, around, forbidding, hearing, received, with_effects

from peerproof.spec.core import Asked, Pick, Send, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.scuttlebutt import reconcile, transitions
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE, delta_entry_size
from peerproof.spec.scuttlebutt.messages import Delta, DeltaEntry, DigestEntry, DigestRequest
from peerproof.spec.scuttlebutt.state import MAX_STRING, Peer, State, Versioned

wrong = Variants(__name__, Wrong)
Merged = tuple[Peer, tuple[DeltaEntry, ...]]
Pairs = Iterable[DeltaEntry]
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


@wrong.after("transitions.merge", "empty-value-replaces empty-key-and-value-are-stored")
def EmptyValueDeletes(found: Merged, *_: Any) -> Merged:
    """Takes an empty value for a deletion."""
    peer, news = found
    return replace(peer, pairs=Table({key: pair for key, pair in peer.pairs.items() if pair.value})), news


@wrong("step", "delta-about-self-and-strangers-is-ignored delta-before-its-peer-is-known")
def StoresStrangers(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Stores peers that only a delta has named, with a part of their pairs."""
    if received(event, Delta):
        state = _LEARNED(state, event.now, [DigestEntry(pair.addr, 0) for pair in event.message.entries])[0]
    return right(state, event, pick)


@wrong.after("step", "delta-is-not-answered delta-without-a-digest")
def AnswersDeltas(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Thanks for a delta that brings something with an empty one."""
    thanks = received(event, Delta) and event.message.entries
    return with_effects(step, Send(event.sender, Delta(()))) if thanks else step


# The own record


def _own(state: State, pairs: Table[str, Versioned], version: int) -> State:
    return replace(state, store=state.store.put({state.self_id: Peer(pairs, version)}))


@wrong.after("step", "document-example-update updates-count-up digest-behind-gets-newer-pairs-only")
def AllPairsGetTheVersion(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Gives the new version to all own pairs."""
    if not isinstance(event, Asked):
        return step
    own = step.state.store[state.self_id]
    raised = Table({key: pair._replace(version=own.version) for key, pair in own.pairs.items()})
    return step._replace(state=_own(step.state, raised, own.version))


@wrong.after("step", "updates-count-up pairs-go-by-version-not-by-key document-example-update")
def VersionPerKey(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Counts versions per key instead of per node."""
    if not isinstance(event, Asked):
        return step
    before, after = state.store[state.self_id], step.state.store[state.self_id]
    key = event.command.key
    version = before.pairs[key].version + 1 if key in before.pairs else 1
    pairs = after.pairs.put({key: after.pairs[key]._replace(version=version)})
    return step._replace(state=_own(step.state, pairs, max(pair.version for pair in pairs.values())))


@wrong.after("step", "update-is-not-sent-at-once updates-do-not-shift-rounds")
def PushesUpdates(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Sends an update at once instead of waiting for the next round."""
    if not isinstance(event, Asked):
        return step
    request = DigestRequest(reconcile.digest(step.state, step.state.store))
    sent = (Send(addr, request) for addr in state.store if addr != state.self_id)
    return with_effects(step, *sent)


@wrong("transitions.encode_string", "update-length-counts-bytes")
def CountsLetters(right: Any, what: str, value: str, most: int) -> Any:
    """Counts letters where 255 bytes are allowed."""
    if len(value) > most:
        raise NotEnabled("too_large", f"a {what} takes at most {most} letters")


wrong |= {
    # Refuses to set an empty key.
    "EmptyStringsAreNotSet: update-with-empty-strings": forbidding(
        "step", lambda state, event, _: isinstance(event, Asked) and not event.command.key
    ),
    # Does not store a pair that it could not pass on.
    "RefusesPairsAboveItsLimit: pair-above-the-own-limit-is-stored oversize-pair-does-not-stop-the-others": hearing(
        Delta,
        lambda delta, state: Delta(
            tuple(pair for pair in delta.entries if TYPE_SIZE + delta_entry_size(pair) <= state.config.max_payload)
        ),
    ),
    # Takes a pair over whose version is not smaller, instead of greater.
    "EqualVersionReplaces: equal-version-is-ignored stale-delta-is-not-told pair-at-version-0-is-ignored": {
        "transitions.merge": _merging(lambda pair, peer: pair.version >= _known(pair, peer))
    },
    # Takes over whatever comes.
    "LastOneWins: older-pair-is-ignored late-delta-does-not-turn-back key-twice-in-a-delta-descending": {
        "transitions.merge": _merging(lambda pair, _: pair.version > 0)
    },
    # Takes a pair over only if it is above the peer's version, so that what comes late is lost.
    "ComparesWithThePeersVersion: late-delta-with-an-unseen-key unseen-key-at-the-peers-version "
    "pairs-out-of-order-are-all-applied unseen-key-below-the-version-is-passed-on pairs-of-another-peer-go-by-version": {
        "transitions.merge": _merging(lambda pair, peer: pair.version > peer.version)
    },
    # Gives a peer the version of the pair that came last instead of the greatest.
    "VersionOfTheLastPair: late-delta-with-an-unseen-key pairs-out-of-order-are-all-applied delta-applied-pair-by-pair": {
        "transitions.merge": _merging(_is_news, lambda pair, _: pair.version)
    },
    # Stores pairs and forgets the peer's version.
    "VersionStays: newer-pair-replaces delta-is-not-answered update-spreads": {
        "transitions.merge": _merging(_is_news, lambda _, version: version)
    },
    # Takes the number of changes for the version of a peer.
    "VersionCountsPairs: newer-pair-replaces applied-pairs-are-passed-on": {
        "transitions.merge": _merging(_is_news, lambda _, version: version + 1)
    },
    # Of several pairs with a key in one delta, looks at the first only.
    "FirstOfAKey: key-twice-in-a-delta-ascending": around(
        "transitions.merge", lambda right, peer, pairs: right(peer, {pair.key: pair for pair in reversed([*pairs])}.values())
    ),
    # Of several pairs with a key in one delta, looks at the last only.
    "LastOfAKey: key-twice-in-a-delta-descending": around(
        "transitions.merge", lambda right, peer, pairs: right(peer, {pair.key: pair for pair in pairs}.values())
    ),
    # Brings keys into one Unicode form, as some file systems do.
    "KeysAreNormalised: keys-differ-in-every-byte": around(
        "transitions.merge",
        lambda right, peer, pairs: right(peer, [pair._replace(key=unicodedata.normalize("NFC", pair.key)) for pair in pairs]),
    ),
    # Refuses strings of 255 bytes.
    "AtMost254: update-with-value-of-255-bytes update-with-key-of-255-bytes update-length-counts-bytes": {
        "transitions.MAX_STRING": MAX_STRING - 1
    },
    # Does not look at the payload limit when a pair is set.
    "AcceptsWhatItCannotSend: update-that-could-never-be-sent": {"transitions.TYPE_SIZE": -1000},
    # Refuses a pair that reaches the payload limit exactly.
    "RefusesWhatJustFits: update-that-just-fits delta-with-limit-of-a-pair": {"transitions.TYPE_SIZE": TYPE_SIZE + 1},
    # Counts on beyond the last version that a message can carry.
    "NoLastVersion: update-after-the-last-version update-to-the-last-version": {"transitions.U64_MAX": 2**64},
}
__getattr__ = wrong.find
