"""Mistakes in keeping the three tables, and the scores that they are filled by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, after, around

from peerproof.spec.core import Pick, Sent
from peerproof.spec.wendy import proximity
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.messages import Node
from peerproof.spec.wendy.state import State

wrong = Variants(__name__, Wrong)
IS_PASSED_OVER = proximity.is_passed_over


@wrong("ids.Ring.cell", "cell-of-the-last-digit digit-15 digit-31")
def DigitsOfABytes(right: Any, ring: Ring, own: Id, other: Id) -> Any:
    """Compares ids byte by byte."""
    row, _ = right(ring, own, other)
    return row - row % 2, ring.digit(other, row - row % 2)


@wrong("step", "a-table-with-wrong-rows")
def CellsAsTheyCome(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Believes what others say about where a node stands."""
    step = right(state, event, pick)
    sent = getattr(getattr(event, "message", None), "tables", None)
    if sent is None or not sent.routing_table or isinstance(event, Sent):
        return step
    placed = {(row, column): node for row, column, node in sent.routing_table if node.id != state.id}
    return step._replace(state=replace(step.state, routing_table=step.state.routing_table.put(placed)))


class AheadOfEquals(Wrong):
    """Puts a neighbour before those with the same score."""

    caught_by: ClassVar = ("neighbours-with-equal-scores", "a-neighbour-moves-ahead-behind-equals", "a-neighbour-between-equals")

    @staticmethod
    def _insert(state: State, node: Node) -> tuple[Node, ...]:
        score = state.score(node.id)
        others = tuple(member for member in state.neighborhood_set if member.id != node.id)
        if len(others) < len(state.neighborhood_set):
            return state.neighborhood_set
        place = next((index for index, member in enumerate(others) if score <= state.score(member.id)), len(others))
        return (*others[:place], node, *others[place:])[: state.config.neighborhood_set]

    instead: ClassVar = {"tables.in_neighborhood_set": _insert}


@wrong("proximity.consider_node", "no-request-for-a-known-score scores-outlive-the-cache a-cached-score-is-used")
def AsksOnceMore(right: Any, state: State, node: Node, *, is_leaf: bool) -> Any:
    """Measures whoever it meets, known or not."""
    after = right(state, node, is_leaf=is_leaf)
    return after if IS_PASSED_OVER(state, node) else replace(after, measured=after.measured.put({node.id: node}))


@wrong("step", "the-cache-after-an-hour the-cache-is-emptied-as-a-whole the-cache-after-two-hours")
def NeverEmptiesTheCache(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Keeps its cache."""
    step = right(state, event, pick)
    return step._replace(state=replace(step.state, cache=state.cache)) if state.cache and not step.state.cache else step


wrong |= {
    # Sets the timer of the cache once.
    "EmptiesTheCacheOnce: the-cache-after-two-hours": after(
        "step",
        lambda step, state, event, *_: (
            step if type(getattr(event, "timer", None)).__name__ != "FlushCache" else step._replace(effects=())
        ),
    ),
    # Takes the column from its own id.
    "ColumnFromTheOwner: cell-of-the-document cell-of-the-first-digit rows-and-columns-of-several digit-31": {
        "ids.Ring.cell": lambda ring, own, other: (row := ring.prefix(own, other), ring.digit(own, row))
    },
    # Counts columns from one: E is 15.
    "ColumnsFromOne: cell-of-the-document cell-of-the-last-digit cell-in-row-11 digit-0 digit-15 digit-16": {
        "ids.Ring.cell": lambda ring, own, other: (row := ring.prefix(own, other), ring.digit(other, row) + 1)
    },
    # Looks at one node of each table that it is sent.
    "TheFirstOfATable: all-cells-of-a-received-table everybody-is-evaluated more-than-sixteen-on-a-wire-side": around(
        "proximity.nodes_of", lambda right, sent: dict(list(right(sent).items())[:1])
    ),
    # Has as many neighbours as it meets.
    "NeighboursWithoutEnd: thirty-two-neighbours a-neighbour-that-is-too-far neighbours-of-another-number": around(
        "tables.in_neighborhood_set",
        lambda right, state, node: right(replace(state, config=replace(state.config, neighborhood_set=10**6)), node),
    ),
    # Lets somebody with the score of the last one into a full set.
    "TheLastOfEqualsGivesWay: a-neighbour-as-far-as-the-last": around(
        "tables.in_neighborhood_set",
        lambda right, state, node: (
            (*state.neighborhood_set[:-1], node)
            if len(state.neighborhood_set) == state.config.neighborhood_set
            and node.id not in (member.id for member in state.neighborhood_set)
            and state.score(node.id) == state.score(state.neighborhood_set[-1].id)
            else right(state, node)
        ),
    ),
    # Empties its cache each half of an hour.
    "EmptiesTheCacheEarly: the-cache-just-before-an-hour": {"transitions.CACHE_MS": 1_800_000},
    # Keeps the first address that it hears of a node.
    "NoNewAddress: a-new-address": {"proximity.update_address": lambda state, _: state},
}
__getattr__ = wrong.find
