"""Who takes P-18 to the letter, or sends nothing, violates nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from tests.conformance.mistakes.peter import Wrong
from tests.support.catching import suite

from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner.cases import cases
from peerproof.spec.core import Step
from peerproof.spec.peter import tree
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Seek
from peerproof.spec.wendy import Node

READINGS = readings_of("peter")


def _to_the_letter(state: State, node: Node, seek: Seek) -> Step[Any, Any]:
    """P-17 to P-19 word for word."""
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        there = seek(topic)
        if there is not None and there.id == node.id:
            effects += tree.tree_message(row.parent, topic, UNSUBSCRIBE) + tree.tree_message(there, topic, SUBSCRIBE)
            state = state.with_row(topic, row._replace(parent=there))
    return Step(state, effects)


class ToTheLetter(Wrong):
    """Unsubscribes from, and subscribes again at, whoever has joined and is the next hop, its parent or not."""

    instead: ClassVar = {"tree.on_node_joined": _to_the_letter}


class Nothing(Wrong):
    """Has nothing to repair where the joined node is the parent already."""

    instead: ClassVar = next(one for one in READINGS if (one.clause, one.name) == ("PA-12", "nothing")).instead


@pytest.mark.parametrize("variant", [ToTheLetter, Nothing])
def test_to_tell_a_parent_that_joins_again_what_the_document_says_violates_nothing(variant: type[Wrong]) -> None:
    vectors = [vector for vector in suite().vectors if vector.protocol == "peter" and vector.layer != "model"]

    report = run_implementation(f"py:{__name__}:{variant.__name__}", list(cases(suite(), vectors))).report

    assert {result.status for result in report.results} == {"passed", "differs"}
    assert {result.decisions for result in report.results if result.status == "differs"} == {("PA-12",)}
    assert report.violates == 0
