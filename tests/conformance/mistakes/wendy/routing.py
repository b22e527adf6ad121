"""Mistakes in finding the next hop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import variants

from peerproof.spec.core import Asked, Pick, Step, Table
from peerproof.spec.wendy import routing
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.messages import NO_LEAVES, Node, Route
from peerproof.spec.wendy.state import Stage, State

CLOSEST = routing.closest
ENDS = routing.leaf_ends
NEXT_HOP = routing.next_hop
SPAN = routing.leaf_span


def closer(state: State, key: Id, nodes: Iterable[Node]) -> list[Node]:
    """Those of the nodes that are closer to a key than this one, the closest first."""
    rank = state.config.ring.rank
    own = rank(state.id, key)
    return sorted((node for node in nodes if rank(node.id, key) < own), key=lambda node: rank(node.id, key))


def with_cells(state: State, rows: Iterable[int]) -> State:
    """The node with these rows of its routing table only."""
    kept = set(rows)
    return replace(state, routing_table=Table({cell: node for cell, node in state.routing_table.items() if cell[0] in kept}))


def _only_the_ends(state: State, key: Id) -> tuple[Node, ...] | None:
    span = SPAN(state, key)
    return None if span is None else ENDS(state)


def _a_closer_cell(state: State, key: Id) -> Node | None:
    node = NEXT_HOP(state, key)
    return node if node and closer(state, key, [node]) else None


def _row_zero(state: State, key: Id) -> Node | None:
    cells = Table({cell: node for cell, node in state.routing_table.items() if cell[0] == 0})
    return NEXT_HOP(replace(state, routing_table=cells), key)


def _first_of(state: State, key: Id, order: Any) -> Node | None:
    """As it should be, but for who is taken of those in the row of the key and below."""
    if key == state.id or SPAN(state, key) is not None:
        return NEXT_HOP(state, key)
    cell = state.config.ring.cell(state.id, key)
    if cell in state.routing_table:
        return NEXT_HOP(state, key)
    found = order([(at, node) for at, node in state.routing_table.items() if at[0] >= cell[0]])
    return found or NEXT_HOP(replace(state, routing_table=Table()), key)


def _without_the_last_look(state: State, key: Id) -> Node | None:
    if key == state.id or SPAN(state, key) is not None:
        return NEXT_HOP(state, key)
    return NEXT_HOP(replace(state, leaf_set=NO_LEAVES), key)


def _lower_rows(state: State, key: Id) -> Node | None:
    if key == state.id or SPAN(state, key) is not None:
        return NEXT_HOP(state, key)
    row = state.config.ring.prefix(state.id, key)
    node = NEXT_HOP(with_cells(state, (row,)), key)
    return node or NEXT_HOP(with_cells(state, range(row)), key)


def _every_row(state: State, key: Id) -> Node | None:
    if key == state.id or SPAN(state, key) is not None:
        return NEXT_HOP(state, key)
    return _without_the_last_look(state, key) or next(
        iter(closer(state, key, state.routing_table.values())), NEXT_HOP(state, key)
    )


def _above_is_closer(ring: Ring, node: Id, key: Id) -> int:
    above = (node - key) % ring.size
    below = ring.size - above
    return 2 * above if above <= below else 2 * below + 1


def _by_score(state: State, key: Id) -> Node | None:
    node = NEXT_HOP(state, key)
    if node is None or SPAN(state, key) is not None:
        return node
    return min(closer(state, key, state.routing_table.values()) or [node], key=lambda n: (state.score(n.id), n.id != node.id))


class NothingToItself(Wrong):
    """Keeps quiet about messages for its own id, and about all as long as it is alone."""

    caught_by: ClassVar = (
        "route-to-the-own-key",
        "route-with-empty-tables",
        "route-to-the-own-key-by-messages",
        "route-with-empty-tables-by-messages",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Drops them."""
        if isinstance(event, Asked) and isinstance(event.command, Route) and (event.command.key == state.id or not state.known):
            return Step(state)
        return super().step(state, event, pick)


class NotBeforeItHasJoined(Wrong):
    """Drops messages while it joins."""

    caught_by: ClassVar = ("route-while-joining",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Drops them."""
        if isinstance(event, Asked) and isinstance(event.command, Route) and state.stage in (Stage.JOINING, Stage.WAITING):
            return Step(state)
        return super().step(state, event, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "LeavesByTheirIdsOnly": (
            "Has only the ids of leaves for keys within the leaf set.",
            {"routing.leaf_span": lambda state, key: tuple(n for side in state.leaf_set for n in side if n.id == key) or None},
            (
                "route-to-itself-though-cells-fit route-of-two-at-the-closer route-to-itself-though-cells-fit-by-"
                "messages route-by-leaves-that-were-met"
            ),
        ),
        "NeverItself": (
            "Looks for the closest leaf, and forgets itself.",
            {
                "routing.leaf_span": lambda state, key: (span := SPAN(state, key)) and span[-1:],
                "routing.closest": lambda state, key, nodes: min(
                    nodes, key=lambda n: state.config.ring.rank(n.id, key), default=None
                ),
            },
            (
                "route-to-itself-within route-a-tie-of-neighbours route-by-all-bits route-a-tie-of-neighbours-by-"
                "messages route-of-two-at-the-closer-by-messages"
            ),
        ),
        "TheFurthestLeaves": (
            "Looks at the ends of its leaf set, also for what lies within.",
            {"routing.leaf_span": _only_the_ends},
            (
                "route-to-a-leaf-by-its-id route-a-tie-of-leaves route-to-the-nearer-of-lower-leaves-by-messages "
                "route-by-leaves-that-were-met"
            ),
        ),
        "LeavesWithoutTheirEnds": (
            "Has the furthest leaves' ids outside of the leaf set.",
            {
                "routing.leaf_span": lambda state, key: None if key in (n.id for n in ENDS(state)) else SPAN(state, key),
                "routing.leaf_ends": lambda _: (),
            },
            ("route-at-the-end-of-the-leaves route-at-the-end-of-the-leaves-by-messages route-to-a-leaf-by-its-id-by-messages"),
        ),
        "NoCells": (
            "Never looks at the cell of the key before the rest of the row.",
            {
                "routing.next_hop": lambda state, key: NEXT_HOP(
                    replace(state, routing_table=state.routing_table.without((state.config.ring.cell(state.id, key),)))
                    if key != state.id
                    else state,
                    key,
                )
            },
            (
                "route-to-a-cell-that-is-further route-to-the-cell-of-no-leaf route-to-the-cell-by-messages route-by-"
                "a-cell-that-was-met"
            ),
        ),
        "CellsOnlyIfCloser": (
            "Sends to the cell of the key only if that is closer to it.",
            {"routing.next_hop": _a_closer_cell},
            "route-to-a-cell-that-is-further route-to-a-cell-that-is-further-by-messages",
        ),
        "OneRow": (
            "Knows the first row of its routing table only.",
            {"routing.next_hop": _row_zero},
            (
                "route-to-a-cell-deeper route-to-later-rows route-to-later-rows-any-column route-to-a-cell-deeper-by-"
                "messages route-to-later-rows-that-were-met"
            ),
        ),
        "TheClosestInTheTable": (
            "Takes the closest one of the row and of those below instead of the first.",
            {
                "routing.next_hop": lambda state, key: _first_of(
                    state, key, lambda rows: next(iter(closer(state, key, [n for _, n in rows])), None)
                )
            },
            "route-to-the-first-not-the-closest route-to-the-first-not-the-closest-by-messages",
        ),
        "AnyoneInTheRow": (
            "Takes the first one of the row, closer or not.",
            {"routing.next_hop": lambda state, key: _first_of(state, key, lambda rows: rows[0][1] if rows else None)},
            "route-past-one-that-is-not route-past-one-that-is-not-by-messages route-to-the-first-closer-that-was-met",
        ),
        "FromTheLastColumn": (
            "Searches rows and columns backwards.",
            {
                "routing.next_hop": lambda state, key: _first_of(
                    state, key, lambda rows: next((n for _, n in reversed(rows) if closer(state, key, [n])), None)
                )
            },
            (
                "route-to-the-first-closer route-to-the-row-before-the-later route-to-the-first-closer-by-messages "
                "route-to-the-first-closer-that-was-met"
            ),
        ),
        "NotTheRestOfTheRow": (
            "Goes to the rows below at once.",
            {
                "routing.next_hop": lambda state, key: _first_of(
                    state,
                    key,
                    lambda rows: next(
                        (n for at, n in rows if at[0] > state.config.ring.prefix(state.id, key) and closer(state, key, [n])), None
                    ),
                )
            },
            (
                "route-to-the-first-closer route-to-the-row-before-the-later route-to-the-first-closer-by-messages "
                "route-to-the-first-closer-that-was-met"
            ),
        ),
        "NotTheRowsBelow": (
            "Searches the row of the key only.",
            {
                "routing.next_hop": lambda state, key: (
                    NEXT_HOP(state, key)
                    if key == state.id
                    else NEXT_HOP(with_cells(state, (state.config.ring.prefix(state.id, key),)), key)
                )
            },
            "route-to-later-rows route-to-later-rows-any-column route-to-later-rows-that-were-met",
        ),
        "NoLastLook": (
            "Takes the document's steps for all there are, and does not look at its leaves once more.",
            {"routing.next_hop": _without_the_last_look},
            (
                "route-to-the-furthest-leaf route-to-the-furthest-leaf-below route-to-the-furthest-leaf-by-messages "
                "route-to-the-furthest-of-two-leaves-by-messages"
            ),
        ),
        "LowerMeansSmaller": (
            "Takes the lower rows for those with smaller indices.",
            {"routing.next_hop": _lower_rows},
            "route-to-later-rows route-to-later-rows-by-messages route-to-later-rows-that-were-met",
        ),
        "EveryRow": (
            "Searches the rows above as well.",
            {"routing.next_hop": _every_row},
            "route-not-to-earlier-rows-though-closer route-not-to-earlier-rows-though-closer-by-messages",
        ),
        "AnybodyRatherThanItself": (
            "Sends to anybody in the routing table before it delivers.",
            {"routing.next_hop": lambda state, key: NEXT_HOP(state, key) or next(iter(state.routing_table.values()), None)},
            (
                "route-not-to-earlier-rows route-to-itself-though-cells-fit route-to-the-own-key-by-messages route-"
                "to-itself-though-cells-fit-by-messages"
            ),
        ),
        "TiesGoUp": (
            "Has the upper one of two that are equally far for the closer.",
            {"ids.Ring.rank": _above_is_closer},
            (
                "route-a-tie-of-neighbours route-a-tie-of-leaves route-a-tie-in-the-row route-a-tie-in-the-row-stays "
                "route-a-tie-in-the-row-by-messages"
            ),
        ),
        "TiesStay": (
            "Keeps a message if another is only as close.",
            {"ids.Ring.rank": Ring.distance},
            "route-a-tie-to-the-lower route-a-tie-in-the-row route-a-tie-in-the-row-by-messages",
        ),
        "NotRound": (
            "Takes the ids for numbers on a line.",
            {"ids.Ring.rank": lambda _, node, key: abs(node - key)},
            "route-round-the-top route-round-the-top-by-messages",
        ),
        "HalfOfTheBits": (
            "Compares the upper halves of ids.",
            {"ids.Ring.rank": lambda ring, node, key: abs((node >> 64) - (key >> 64)) if ring.bits > 64 else abs(node - key)},
            "route-by-all-bits route-by-all-bits-by-messages",
        ),
        "TheFastest": (
            "Takes the closest in proximity of those that are closer on the ring.",
            {"routing.next_hop": _by_score},
            "route-whatever-the-scores route-whatever-the-scores-by-messages",
        ),
        "ByNeighbours": (
            "Sends to a neighbour if that is the closest of all.",
            {
                "routing.next_hop": lambda state, key: (
                    next(iter(closer(state, key, state.neighborhood_set)), None) or NEXT_HOP(state, key)
                )
            },
            "route-never-by-neighbours route-at-the-end-of-the-leaves-by-messages",
        ),
        "OnlyFastLeaves": (
            "Sends to nobody who is slow.",
            {
                "routing.next_hop": lambda state, key: (
                    None if any(score > 10**6 for score in state.scores.values()) else NEXT_HOP(state, key)
                )
            },
            "a-bad-neighborhood-set",
        ),
    },
)
__getattr__ = MISTAKES.find
