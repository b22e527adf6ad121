"""Mistakes in what a datagram is filled with, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import variants

from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt import reconcile
from peerproof.spec.scuttlebutt.codec import TYPE_SIZE
from peerproof.spec.scuttlebutt.messages import DeltaEntry
from peerproof.spec.scuttlebutt.state import Peer


def _newest_first(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
    return _NEWER_PAIRS(addr, peer, version)[::-1]


_NEWER_PAIRS = reconcile.newer_pairs
_MOST_OUTDATED_FIRST = reconcile.most_outdated_first
_FITTING = reconcile.fitting


def _one_byte_less(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterator[Any]:
    return _FITTING(entries, size, limit - 1)


def _all_that_fit(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterator[Any]:
    used = TYPE_SIZE
    for entry in entries:
        if used + size(entry) <= limit:
            used += size(entry)
            yield entry


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "NewestFirst": (
            "Packs the newest pairs of a peer first, so that a cut leaves a gap [BX-05].",
            {"reconcile.newer_pairs": _newest_first},
            "cut-delta-goes-on-where-it-ended two-nodes-agree-on-many-pairs-under-a-limit",
        ),
        "PairsWithEqualVersionsBackwards": (
            "Puts pairs with equal versions in descending order of their keys.",
            {
                "reconcile.newer_pairs": lambda *about: sorted(
                    _NEWER_PAIRS(*about), key=lambda pair: (pair.version, [-octet for octet in octets(pair.key)])
                )
            },
            "pairs-with-equal-versions-go-by-key-bytes",
        ),
        "AllPairs": (
            "Sends all pairs of a peer, also those that the digest's sender has.",
            {"reconcile.newer_pairs": lambda addr, peer, _: _NEWER_PAIRS(addr, peer, 0)},
            "digest-behind-gets-newer-pairs-only versions-between-pairs-do-not-matter",
        ),
        "LimitIsExclusive": (
            "Takes the limit for the first size that is too large.",
            {"reconcile.fitting": _one_byte_less},
            (
                "delta-with-limit-16 delta-with-limit-63 delta-of-1400-bytes delta-of-twenty-pairs-reaches-the-limit "
                "request-with-limit-14 request-with-limit-27 request-lists-both-with-limit-27 request-with-limit-40 "
                "response-with-limit-13 response-with-limit-25 response-with-limit-37"
            ),
        ),
        "TypeIsFree": (
            "Does not count the type byte.",
            {"reconcile.TYPE_SIZE": 0, "transitions.TYPE_SIZE": 0},
            (
                "delta-with-limit-15 delta-with-limit-30 delta-with-limit-46 delta-with-limit-62 delta-with-limit-"
                "below-a-pair delta-of-1401-bytes request-with-limit-13 request-with-limit-26 request-lists-one-of-"
                "two-with-limit-26 response-with-limit-12 response-with-limit-24 response-with-limit-36 update-that-"
                "could-never-be-sent"
            ),
        ),
        "SkipsWhatDoesNotFit": (
            "Goes on with smaller entries where one does not fit.",
            {"reconcile.fitting": _all_that_fit},
            (
                "delta-stops-at-what-does-not-fit delta-leaves-no-gap-in-a-peer request-stops-at-what-does-not-fit "
                "response-stops-at-what-does-not-fit"
            ),
        ),
    },
)
__getattr__ = MISTAKES.find
