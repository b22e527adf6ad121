"""Mistakes in what a digest makes a node answer and store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, after, around, received, with_effects

from peerproof.reference.divergences.scuttlebutt import Entries
from peerproof.spec.core import Instant, NodeId, Pick, Send
from peerproof.spec.scuttlebutt.messages import DigestEntry, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.state import Peer, State

wrong = Variants(__name__, Wrong)


@wrong("transitions.delta", "digest-is-told-of-listed-peers-only empty-digest-gets-empty-delta")
def OffersUnlistedPeers(right: Any, state: State, entries: Entries) -> Any:
    """Sends what it knows of peers that the digest does not list."""
    entries = tuple(entries)
    listed = {entry.addr for entry in entries}
    return right(state, (*entries, *(DigestEntry(addr, 0) for addr in state.store if addr not in listed)))


@wrong.after("step", "digest-level-gets-empty-delta response-with-limit-12")
def ResponseEvenIfEmpty(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Sends digest responses that list nobody."""
    sent = any(isinstance(effect, Send) and isinstance(effect.message, DigestResponse) for effect in step.effects)
    if received(event, DigestRequest) and not sent:
        return with_effects(step, Send(event.sender, DigestResponse(())))
    return step


@wrong(
    "transitions.add_peers",
    "unknown-peers-are-stored-at-version-0 stored-peer-is-asked-for-again peers-beyond-the-limit-are-stored two-nodes-agree",
)
def StoresTheDigestsVersion(right: Any, state: State, now: Instant, entries: Entries) -> Any:
    """Stores peers that it did not know at the version in the digest, as if it had their pairs."""
    entries = tuple(entries)
    after, joins = right(state, now, entries)
    new = {entry.addr: Peer(version=entry.version) for entry in entries if entry.addr not in state.store}
    return replace(after, store=after.store.put(new)), joins


@wrong("transitions.add_peers", "digest-ahead-on-the-receiver restarted-node-does-not-ask-for-its-past")
def JumpsToTheDigestsVersion(right: Any, state: State, now: Instant, entries: Entries) -> Any:
    """Takes a higher version of itself in a digest for its own."""
    entries = tuple(entries)
    after, joins = right(state, now, entries)
    highest = max((entry.version for entry in entries if entry.addr == state.self_id), default=0)
    own = after.store[state.self_id]
    return replace(after, store=after.store.put({state.self_id: replace(own, version=max(own.version, highest))})), joins


@wrong("step", "answers-go-to-the-source response-is-answered-to-its-source")
def AnswersToTheDigestsFirst(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Answers to the first address in a digest, as if that were its sender."""
    if (received(event, DigestRequest) or received(event, DigestResponse)) and event.message.entries:
        event = replace(event, sender=event.message.entries[0].addr)
    return right(state, event, pick)


wrong |= {
    # Asks first and answers then.
    "ResponseBeforeDelta: delta-and-digest-in-one-answer digest-answers-delta-then-digest": after(
        "step",
        lambda step, state, event, *_: step._replace(effects=step.effects[::-1]) if received(event, DigestRequest) else step,
    ),
    # Takes a wildcard address for its identity, whatever it is told.
    "IsTheWildcard: wildcard-address-is-an-identity-like-any-other": around(
        "initial", lambda right, self_id, config: right(NodeId(f"0.0.0.0:{self_id.rpartition(':')[2]}"), config)
    ),
    # Sorts its digest responses by address.
    "ResponseSorted: digest-response-keeps-the-order-received": around(
        "transitions.lacking_here", lambda right, state, entries: tuple(sorted(right(state, entries)))
    ),
    # Repeats the versions of the digest in its digest response instead of its own.
    "ResponseEchoesVersions: digest-answers-delta-then-digest a-whole-round-seen-by-its-partner": around(
        "transitions.lacking_here",
        lambda right, state, entries: tuple(
            replaced
            for entry in right(state, entries)
            for replaced in entries
            if replaced.addr == entry.addr and replaced.version > entry.version
        ),
    ),
    # Stores nobody of whom no pair is known.
    "LearnsNobody: unknown-peer-at-version-0-is-stored three-nodes-agree": {
        "transitions.add_peers": lambda state, *_: (state, ())
    },
}
__getattr__ = wrong.find
