"""Mistakes in what a digest makes a node answer and store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import received, variants

from peerproof.reference.divergences.scuttlebutt import Entries
from peerproof.spec.core import Instant, NodeId, Pick, Send
from peerproof.spec.scuttlebutt import reconcile, transitions
from peerproof.spec.scuttlebutt.messages import DeltaEntry, DigestEntry, DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.state import Peer, State
from peerproof.spec.scuttlebutt.transitions import Next

_DELTA = reconcile.delta
_LACKING = reconcile.lacking_here
_LEARNED = transitions.add_peers
_ON_REQUEST = transitions.on_digest_request


def _delta_of_all(state: State, entries: Entries) -> tuple[DeltaEntry, ...]:
    entries = tuple(entries)
    listed = {entry.addr for entry in entries}
    return _DELTA(state, (*entries, *(DigestEntry(addr, 0) for addr in state.store if addr not in listed)))


class ResponseEvenIfEmpty(Wrong):
    """Sends digest responses that list nobody."""

    caught_by: ClassVar = ("digest-level-gets-empty-delta", "response-with-limit-12")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Adds the response."""
        step = super().step(state, event, pick)
        sent = any(isinstance(effect, Send) and isinstance(effect.message, DigestResponse) for effect in step.effects)
        if received(event, DigestRequest) and not sent:
            return step._replace(effects=(*step.effects, Send(event.sender, DigestResponse(()))))
        return step


class ResponseBeforeDelta(Wrong):
    """Asks first and answers then."""

    caught_by: ClassVar = ("delta-and-digest-in-one-answer", "digest-answers-delta-then-digest")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Turns the answers around."""
        step = super().step(state, event, pick)
        return step._replace(effects=step.effects[::-1]) if received(event, DigestRequest) else step


def _with_versions_of_digest(state: State, now: Instant, entries: Entries) -> Any:
    entries = tuple(entries)
    after, joins = _LEARNED(state, now, entries)
    new = {entry.addr: Peer(version=entry.version) for entry in entries if entry.addr not in state.store}
    return replace(after, store=after.store.put(new)), joins


def _jumped(state: State, now: Instant, entries: Entries) -> Any:
    entries = tuple(entries)
    after, joins = _LEARNED(state, now, entries)
    highest = max((entry.version for entry in entries if entry.addr == state.self_id), default=0)
    own = after.store[state.self_id]
    return replace(after, store=after.store.put({state.self_id: replace(own, version=max(own.version, highest))})), joins


class AnswersToTheDigestsFirst(Wrong):
    """Answers to the first address in a digest, as if that were its sender."""

    caught_by: ClassVar = ("answers-go-to-the-source", "response-is-answered-to-its-source")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Mistakes the sender."""
        if (received(event, DigestRequest) or received(event, DigestResponse)) and event.message.entries:
            event = replace(event, sender=event.message.entries[0].addr)
        return super().step(state, event, pick)


class IsTheWildcard(Wrong):
    """Takes a wildcard address for its identity, whatever it is told."""

    caught_by: ClassVar = ("wildcard-address-is-an-identity-like-any-other",)

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """A node that is everybody."""
        return super().initial(NodeId(f"0.0.0.0:{self_id.rpartition(':')[2]}"), config)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "OffersUnlistedPeers": (
            "Sends what it knows of peers that the digest does not list.",
            {"transitions.delta": _delta_of_all},
            "digest-is-told-of-listed-peers-only empty-digest-gets-empty-delta",
        ),
        "ResponseSorted": (
            "Sorts its digest responses by address.",
            {"transitions.lacking_here": lambda state, entries: tuple(sorted(_LACKING(state, entries)))},
            "digest-response-keeps-the-order-received",
        ),
        "ResponseEchoesVersions": (
            "Repeats the versions of the digest in its digest response instead of its own.",
            {
                "transitions.lacking_here": lambda state, entries: tuple(
                    replaced
                    for entry in _LACKING(state, entries)
                    for replaced in entries
                    if replaced.addr == entry.addr and replaced.version > entry.version
                )
            },
            "digest-answers-delta-then-digest a-whole-round-seen-by-its-partner",
        ),
        "StoresTheDigestsVersion": (
            "Stores peers that it did not know at the version in the digest, as if it had their pairs.",
            {"transitions.add_peers": _with_versions_of_digest},
            (
                "unknown-peers-are-stored-at-version-0 stored-peer-is-asked-for-again peers-beyond-the-limit-are-"
                "stored two-nodes-agree"
            ),
        ),
        "JumpsToTheDigestsVersion": (
            "Takes a higher version of itself in a digest for its own.",
            {"transitions.add_peers": _jumped},
            "digest-ahead-on-the-receiver restarted-node-does-not-ask-for-its-past",
        ),
        "LearnsNobody": (
            "Stores nobody of whom no pair is known.",
            {"transitions.add_peers": lambda state, *_: (state, ())},
            "unknown-peer-at-version-0-is-stored three-nodes-agree",
        ),
    },
)
__getattr__ = MISTAKES.find
