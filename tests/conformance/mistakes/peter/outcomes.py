"""Mistakes about what is a departure, and about when there are other routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants

from peerproof.spec import wendy
from peerproof.spec.core import Step
from peerproof.spec.peter import tree
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Seek

wrong = Variants(__name__, Wrong)


@wrong("tree.on_departure", "parent-that-is-the-only-child-leaves")
def AsksForNobody(right: Any, state: State, is_gone: Callable[[wendy.Node], bool], seek: Seek) -> Any:
    """Looks for another parent whenever one has gone, also where nobody is left who wants the events."""
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


__getattr__ = wrong.find
