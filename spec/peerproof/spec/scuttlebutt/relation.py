"""Which answers of chance stand for all others, when a Scuttlebutt node's steps are checked without knowing the answers."""

from __future__ import annotations

from collections.abc import Iterable

from peerproof.spec.forms.form import octets
from peerproof.spec.scuttlebutt.messages import DigestRequest
from peerproof.spec.traces.relation import Answer, Question


def narrow(question: Question) -> Iterable[Answer] | None:
    """
    One order of a digest, where there are n!: the order shows in the request and nowhere else. [B-22, B-24]

    What the request lists comes in its order. Of the rest only matters whether its first entry fits; so the longest is the first,
    which does not fit if any does not.
    """
    if question.why != "digest.order":
        return None
    number = sum(why == "digest.order" for why, _ in question.asked)
    requests = [send.message for send in question.sends or () if isinstance(send.message, DigestRequest)]
    shown = tuple(entry.addr for entry in requests[number].entries) if number < len(requests) else ()
    if len(set(shown)) < len(shown) or not set(shown) <= set(question.among):
        return [question.among]  # no order leads to that
    rest = sorted(set(question.among) - set(shown), key=lambda addr: (-len(octets(addr)), addr))
    return [(*shown, *rest)]
