"""Mistakes in keeping the three tables, and the scores that they are filled by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import variants

from peerproof.spec.core import Pick, Sent, Step
from peerproof.spec.wendy import proximity, tables
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.messages import Cell, Node
from peerproof.spec.wendy.state import State

CELL = Ring.cell
ENCOUNTERED = proximity.consider_node
IN_NEIGHBORHOOD_SET = tables.in_neighborhood_set
IS_PASSED_OVER = proximity.is_passed_over
NODES_OF = tables.nodes_of


def _by_bytes(ring: Ring, own: Id, other: Id) -> Cell:
    row, _ = CELL(ring, own, other)
    return row - row % 2, ring.digit(other, row - row % 2)


class CellsAsTheyCome(Wrong):
    """Believes what others say about where a node stands."""

    caught_by: ClassVar = ("a-table-with-wrong-rows",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Puts the nodes there."""
        step = super().step(state, event, pick)
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


def _measured_anyway(state: State, node: Node, *, is_leaf: bool) -> State:
    after = ENCOUNTERED(state, node, is_leaf=is_leaf)
    return after if IS_PASSED_OVER(state, node) else replace(after, measured=after.measured.put({node.id: node}))


class NeverEmptiesTheCache(Wrong):
    """Keeps its cache."""

    caught_by: ClassVar = ("the-cache-after-an-hour", "the-cache-is-emptied-as-a-whole", "the-cache-after-two-hours")

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Has it back."""
        step = super().step(state, event, pick)
        return step._replace(state=replace(step.state, cache=state.cache)) if state.cache and not step.state.cache else step


class EmptiesTheCacheOnce(Wrong):
    """Sets the timer of the cache once."""

    caught_by: ClassVar = ("the-cache-after-two-hours",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Leaves it out the second time."""
        step = super().step(state, event, pick)
        if type(getattr(event, "timer", None)).__name__ != "FlushCache":
            return step
        return step._replace(effects=())


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "ColumnFromTheOwner": (
            "Takes the column from its own id.",
            {"ids.Ring.cell": lambda ring, own, other: (row := ring.prefix(own, other), ring.digit(own, row))},
            "cell-of-the-document cell-of-the-first-digit rows-and-columns-of-several digit-31",
        ),
        "ColumnsFromOne": (
            "Counts columns from one: E is 15.",
            {
                "ids.Ring.cell": lambda ring, own, other: (row := ring.prefix(own, other), ring.digit(other, row) + 1),
            },
            "cell-of-the-document cell-of-the-last-digit cell-in-row-11 digit-0 digit-15 digit-16",
        ),
        "DigitsOfABytes": (
            "Compares ids byte by byte.",
            {"ids.Ring.cell": _by_bytes},
            "cell-of-the-last-digit digit-15 digit-31",
        ),
        "TheFirstOfATable": (
            "Looks at one node of each table that it is sent.",
            {"proximity.nodes_of": lambda sent: dict(list(NODES_OF(sent).items())[:1])},
            "all-cells-of-a-received-table everybody-is-evaluated more-than-sixteen-on-a-wire-side",
        ),
        "NeighboursWithoutEnd": (
            "Has as many neighbours as it meets.",
            {
                "tables.in_neighborhood_set": lambda state, node: IN_NEIGHBORHOOD_SET(
                    replace(state, config=replace(state.config, neighborhood_set=10**6)), node
                )
            },
            "thirty-two-neighbours a-neighbour-that-is-too-far neighbours-of-another-number",
        ),
        "TheLastOfEqualsGivesWay": (
            "Lets somebody with the score of the last one into a full set.",
            {
                "tables.in_neighborhood_set": lambda state, node: (
                    (*state.neighborhood_set[:-1], node)
                    if len(state.neighborhood_set) == state.config.neighborhood_set
                    and node.id not in (member.id for member in state.neighborhood_set)
                    and state.score(node.id) == state.score(state.neighborhood_set[-1].id)
                    else IN_NEIGHBORHOOD_SET(state, node)
                )
            },
            "a-neighbour-as-far-as-the-last",
        ),
        "AsksOnceMore": (
            "Measures whoever it meets, known or not.",
            {"proximity.consider_node": _measured_anyway},
            "no-request-for-a-known-score scores-outlive-the-cache a-cached-score-is-used",
        ),
        "EmptiesTheCacheEarly": (
            "Empties its cache each half of an hour.",
            {"transitions.CACHE_MS": 1_800_000},
            "the-cache-just-before-an-hour",
        ),
        "NoNewAddress": (
            "Keeps the first address that it hears of a node.",
            {"proximity.update_address": lambda state, _: state},
            "a-new-address",
        ),
    },
)
__getattr__ = MISTAKES.find
