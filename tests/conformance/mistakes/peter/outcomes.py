"""Mistakes about what is a departure, and about when there are other routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.peter import Next
from peerproof.spec import wendy
from peerproof.spec.core import Step
from peerproof.spec.peter import tree
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Seek


def _asked_for_in_any_case(state: State, is_gone: Callable[[wendy.Node], bool], seek: Seek) -> Next:
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        gone = [child for child, node in row.children.items() if is_gone(node)]
        is_orphaned = row.parent is not None and is_gone(row.parent)
        left = Row(row.is_local, row.children.without(gone), None if is_orphaned else row.parent)
        state, more = (
            tree.subscribe_to_parent(state, topic, left, seek) if is_orphaned else tree.update_row(state, topic, left, seek)
        )
        effects += more
    return Step(state, effects)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "AsksForNobody": (
            "Looks for another parent whenever one has gone, also where nobody is left who wants the events.",
            {"tree.on_departure": _asked_for_in_any_case},
            "parent-that-is-the-only-child-leaves",
        ),
    },
)
__getattr__ = MISTAKES.find
