"""Answers of `pick` that represent all others, for checks of a Scuttlebutt node's steps without its recorded answers."""

from __future__ import annotations

from collections.abc import Iterable

from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt.messages import DigestRequest
from peerproof.spec.traces.relation import Answer, Question


def narrow(question: Question) -> Iterable[Answer] | None:
    """
    One order of a digest, where there are n!: the order is visible in the request and nowhere else. [B-22, B-24]

    The peers in the request come in its order. Of the rest it only matters whether the first entry fits; so the longest comes
    first, which does not fit if any does not.
    """
    if question.why != "digest.order":
        return None
    number = sum(why == "digest.order" for why, _ in question.asked)
    requests = [send.message for send in question.sends or () if isinstance(send.message, DigestRequest)]
    shown = tuple(entry.addr for entry in requests[number].entries) if number < len(requests) else ()
    if len(set(shown)) < len(shown) or not set(shown) <= set(question.among):
        return [question.among]  # no order leads to the observed request
    rest = sorted(set(question.among) - set(shown), key=lambda addr: (-len(octets(addr)), addr))
    return [(*shown, *rest)]
