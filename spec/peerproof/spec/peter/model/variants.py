"""Variants of Peter: wrong readings; see `model.bounded.variant`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from peerproof.spec.core import Step, replace
from peerproof.spec.model.bounded import Taking, variant
from peerproof.spec.overrides import names_in
from peerproof.spec.peter import tree
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE, Rerouted
from peerproof.spec.peter.model.bounded import Model
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Request, Seek, Told
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import SendTo


def literally(state: State, topic: Id, row: Row, seek: Seek) -> tree.Next:
    """
    The node's own interest and its children are separate: the parent gets a request for each change of either, as if alone.

    [P-11, P-22; PX-01]
    """
    before = state.row(topic)
    begins = (row.is_local and not before.is_local) or (row.children and not before.children)
    ends = (before.is_local and not row.is_local) or (before.children and not row.children)
    if begins:
        row = row._replace(parent=seek(topic))
        return Step(state.with_row(topic, row), tree.tree_message(row.parent, topic, SUBSCRIBE))
    if ends:
        effects = tree.tree_message(row.parent, topic, UNSUBSCRIBE)
        return Step(state.with_row(topic, row._replace(parent=None)), effects)
    return Step(state.with_row(topic, row))


def route_unsubscribe(step: Taking, state: State, event: Any, seek: Seek) -> tree.Next:
    """An UNSUBSCRIBE is routed towards the topic, and so does not find the old parent. [P-20, P-18; PX-04]"""
    after, effects = step(state, event, seek)
    return Step(after, tuple(routed for effect in effects for routed in _reroute(effect, seek)))


def _reroute(effect: Any, seek: Seek) -> tuple[Any, ...]:
    match effect:
        case Request(SendTo(_, topic, value, purpose)) if purpose == UNSUBSCRIBE:
            hop = seek(topic)
            return () if hop is None else (Request(SendTo(hop, topic, value, purpose)),)
    return (effect,)


def left_at_that(step: Taking, state: State, event: Any, seek: Seek) -> tree.Next:
    """A node that has learnt of others keeps its routes. [PA-27]"""
    is_news = isinstance(event, Told) and isinstance(event.notice, Rerouted)
    return Step(state) if is_news else step(state, event, seek)


def keep_parents(step: Taking, state: State, event: Any, seek: Seek) -> tree.Next:
    """A node that has learnt of others looks for a parent where it has none, but keeps the parents that it has. [PA-27; PX-08]"""
    if isinstance(event, Told) and isinstance(event.notice, Rerouted):
        event = replace(event, notice=Rerouted())
    return step(state, event, seek)


VARIANTS: Final[Mapping[frozenset[str], type[Model]]] = {
    frozenset(): Model,
    frozenset({"LiteralInterests"}): variant(Model, overrides=names_in(tree, update_row=literally)),
    frozenset({"RoutedUnsubscribe"}): variant(Model, route_unsubscribe),
    frozenset({"LeftAtThat"}): variant(Model, left_at_that),
    frozenset({"KeepsParents"}): variant(Model, keep_parents),
}

BEHAVIOURS: Final[Mapping[str, None]] = {"Next": None, "FairSpec": None}
