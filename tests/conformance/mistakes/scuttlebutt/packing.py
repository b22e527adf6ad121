"""Mistakes in what a datagram is filled with, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE

wrong = Variants(__name__, Wrong)


@wrong(
    "reconcile.fitting",
    "delta-stops-at-what-does-not-fit delta-leaves-no-gap-in-a-peer request-stops-at-what-does-not-fit "
    "response-stops-at-what-does-not-fit",
)
def SkipsWhatDoesNotFit(right: Any, entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Any:
    """Goes on with smaller entries where one does not fit."""
    used = TYPE_SIZE
    for entry in entries:
        if used + size(entry) <= limit:
            used += size(entry)
            yield entry


wrong |= {
    # Packs the newest pairs of a peer first, so that a cut leaves a gap [BX-05].
    "NewestFirst: cut-delta-goes-on-where-it-ended two-nodes-agree-on-many-pairs-under-a-limit": around(
        "reconcile.newer_pairs", lambda right, addr, peer, version: right(addr, peer, version)[::-1]
    ),
    # Puts pairs with equal versions in descending order of their keys.
    "PairsWithEqualVersionsBackwards: pairs-with-equal-versions-go-by-key-bytes": around(
        "reconcile.newer_pairs",
        lambda right, *about: sorted(right(*about), key=lambda pair: (pair.version, [-octet for octet in octets(pair.key)])),
    ),
    # Sends all pairs of a peer, also those that the digest's sender has.
    "AllPairs: digest-behind-gets-newer-pairs-only versions-between-pairs-do-not-matter": around(
        "reconcile.newer_pairs", lambda right, addr, peer, _: right(addr, peer, 0)
    ),
    # Takes the limit for the first size that is too large.
    "LimitIsExclusive: delta-with-limit-16 delta-with-limit-63 delta-of-1400-bytes "
    "delta-of-twenty-pairs-reaches-the-limit request-with-limit-14 request-with-limit-27 request-lists-both-with-limit-27 "
    "request-with-limit-40 response-with-limit-13 response-with-limit-25 response-with-limit-37": around(
        "reconcile.fitting", lambda right, entries, size, limit: right(entries, size, limit - 1)
    ),
    # Does not count the type byte.
    "TypeIsFree: delta-with-limit-15 delta-with-limit-30 delta-with-limit-46 delta-with-limit-62 "
    "delta-with-limit-below-a-pair delta-of-1401-bytes request-with-limit-13 request-with-limit-26 "
    "request-lists-one-of-two-with-limit-26 response-with-limit-12 response-with-limit-24 response-with-limit-36 "
    "update-that-could-never-be-sent": {"reconcile.TYPE_SIZE": 0, "transitions.TYPE_SIZE": 0},
}
__getattr__ = wrong.find
