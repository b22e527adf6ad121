"""Why a world answers a question of the models with no: because of its nodes, of messages under way, or of what these will do."""

from __future__ import annotations

from typing import Any, Final

from peerproof.conformance.models.counterexamples import questions_of
from peerproof.spec.model.bounded import Model
from peerproof.spec.model.questions import Arrival, OfArrivals, Question

#: Of a question, what answers it: the state of the nodes and the messages under way, or the arrival of these.
HERE: Final = "here"
ARRIVAL: Final = "arrival"


def question_of(protocol: str, name: str) -> Question:
    """Returns a question of a protocol's models. Raises KeyError."""
    found: Question = questions_of(protocol).QUESTIONS[name]
    return found


def find_cause(question: Question, model: Model, cluster: Any) -> list[int] | None:
    """
    Returns the places of messages under way without any of which the question would hold; none of them if the nodes alone decide.

    None if the question holds.
    """
    if question(model, cluster):
        return None
    messages = tuple(cluster.in_flight)
    needed = [*range(len(messages))]
    for place in range(len(messages)):
        fewer = [each for each in needed if each != place]
        if not question(model, cluster._replace(in_flight=tuple(messages[each] for each in fewer))):
            needed = fewer
    return needed


def is_decided_by(question: Question, arrivals: list[Arrival]) -> bool:
    """Whether an arrival, at its receiver or at its sender, is one that the question asks for; True if no single one decides."""
    if not isinstance(question, OfArrivals) or question.is_it is None:
        return True
    return any(map(question.is_it, arrivals))
