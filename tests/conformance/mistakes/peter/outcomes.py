"""Mistakes about what is a departure, and about when there are other routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.peter import TOLD, Next, Rule
from peerproof.spec import wendy
from peerproof.spec.core import Sent, Step
from peerproof.spec.peter import tree
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Seek
from peerproof.spec.wendy.state import address_of

ON_REROUTED: Rule = tree.on_rerouted


def _after_any_join(state: State, notice: Any, seek: Seek) -> Next:
    if isinstance(notice, wendy.JoinFailed):
        return tree.after(notice, ON_REROUTED(state, seek))
    return TOLD(state, notice, seek)


def _whatever_it_was(state: State, sent: Sent[Any], seek: Seek) -> Next:
    if sent.took is not None:
        return Step(state)
    return tree.on_departure(state, lambda node: address_of(state.config, node) == sent.to, seek)


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
        "LooksAfterAJoinInVain": (
            "Looks for next hops when a join has come to its end, whatever came of it.",
            {"tree.on_notice": _after_any_join},
            "own-join-in-vain-after-hearsay",
        ),
        "AnyFailureIsADeparture": (
            "Takes a child for gone if a message of Wendy's did not arrive.",
            {"tree.on_sent": _whatever_it_was},
            "answer-to-a-join-that-does-not-arrive",
        ),
        "AsksForNobody": (
            "Looks for another parent whenever one has gone, also where nobody is left who wants the events.",
            {"tree.on_departure": _asked_for_in_any_case},
            "parent-that-is-the-only-child-leaves",
        ),
    },
)
__getattr__ = MISTAKES.find
