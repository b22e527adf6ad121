"""The declared forms of answers to queries, and the one canonical form of an answer that has several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Form, Plain
from peerproof.spec.protocols import PROTOCOLS


def query_answers(protocol: str) -> Mapping[str, Any]:
    """Returns the declared answers to a protocol's queries."""
    declared = PROTOCOLS[protocol].query_answers
    return declared.load() if declared else {}


def canonical_answer(protocol: str, query: str, answer: Plain) -> Plain:
    """
    Returns the canonical form of an answer, as the specification gives it; an answer of another form as it is.

    No document says how an adapter writes, say, a set of ticks, so answers with the same meaning are equal. Whole states stay as
    they are.

    >>> canonical_answer("swim", "own", {"tx": 7})
    {'tx': 7}
    """
    declared = query_answers(protocol).get(query)
    if declared is None or not isinstance(declared.form, Form):
        return answer
    try:
        return declared.form.plain(declared.form.value(answer))
    except MalformedMessage:
        return answer
