"""Mistakes about those who have gone: in noticing it, in repairing tables, and in leaving."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.joining import with_messages
from tests.support.variant import variants

from peerproof.spec.core import Asked, CancelTimer, Expired, Pick, Received, Send, Sent, SetTimer, Step
from peerproof.spec.wendy import repair, transitions
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import (
    Cell,
    Heartbeat,
    HeartbeatDue,
    Leave,
    Mask,
    NodeAnnouncement,
    NodeExit,
    NodeRepair,
    RepairTimeout,
    StateData,
)
from peerproof.spec.wendy.proximity import header, send
from peerproof.spec.wendy.state import Stage, State
from peerproof.spec.wendy.tables import insert_node

Next = Step[Any, Any]

ADVANCED = repair.advance_repair
ANSWERED = repair.record_answer
DEPARTED = repair.on_departure
ON_SENT = transitions.on_sent


class TrustsEverybody(Wrong):
    """Does not care whether a message arrives."""

    caught_by: ClassVar = ("a-message-that-fails", "a-heartbeat-that-fails", "leaf-that-does-not-answer")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Learns nothing from a failure."""
        if isinstance(event, Sent) and event.took is None and state.stage is not Stage.JOINING:
            return Step(state)
        return super().step(state, event, pick)


class OneHeartbeat(Wrong):
    """Sends heartbeats once."""

    caught_by: ClassVar = ("heartbeats-again",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Forgets the timer."""
        step = super().step(state, event, pick)
        return step._replace(
            effects=tuple(e for e in step.effects if not (isinstance(e, SetTimer) and isinstance(e.timer, HeartbeatDue)))
        )


class HeartbeatsAsByDefault(Wrong):
    """Sends heartbeats each 300 s, whatever is configured."""

    caught_by: ClassVar = ("heartbeats-as-configured", "no-heartbeats")

    def initial(self, self_id: Any, config: Any) -> Next:
        """With the default."""
        return super().initial(self_id, replace(config, heartbeat=300_000))


class AnswersHeartbeats(Wrong):
    """Sends a heartbeat for a heartbeat."""

    caught_by: ClassVar = ("a-heartbeat-changes-nothing",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Answers it."""
        if isinstance(event, Received) and isinstance(event.message, Heartbeat):
            return (
                super()
                .step(state, Expired(event.now, HeartbeatDue()), pick)
                ._replace(effects=(Send(event.sender, Heartbeat(header(state))),))
            )
        return super().step(state, event, pick)


class NobodyDeparts(Wrong):
    """Takes back whoever is mentioned."""

    caught_by: ClassVar = (
        *("the-departed-in-tables", "the-departed-itself", "the-departed-in-a-warning", "the-departed-in-an-announcement"),
        "the-leaf-that-failed-is-departed",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Forgets who has departed."""
        step = super().step(state, event, pick)
        return step._replace(state=replace(step.state, departed=frozenset()))


class DepartedForEver(Wrong):
    """Never takes back who has departed."""

    caught_by: ClassVar = ("the-departed-comes-back", "the-departed-comes-back-and-is-warned")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Passes its announcements over."""
        if isinstance(event, Received) and event.message.header.sender.id in state.departed:
            return Step(state)
        return super().step(state, event, pick)


class WarnedStaysDeparted(Wrong):
    """Takes back only whose announcement it accepts."""

    caught_by: ClassVar = ("the-departed-comes-back-and-is-warned",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Puts it back among the departed."""
        step = super().step(state, event, pick)
        if (
            isinstance(event, Received)
            and isinstance(event.message, NodeAnnouncement)
            and event.message.header.sender.id not in step.state.known
        ):
            return step._replace(state=replace(step.state, departed=state.departed))
        return step


class AnybodyDeparts(Wrong):
    """Remembers whoever is said to have gone, known or not."""

    caught_by: ClassVar = ("nobody-known-has-departed", "the-failed-are-departed")

    @staticmethod
    def _departed(state: State, gone: Id) -> Next:
        step = DEPARTED(state, gone)
        return step._replace(state=replace(step.state, departed=step.state.departed | {gone}))

    instead: ClassVar = {"repair.on_departure": _departed}


class AsksWithoutTheCell(Wrong):
    """Asks for whole routing tables."""

    caught_by: ClassVar = (
        "cell-all-of-the-row-are-asked",
        "cell-of-a-row-without-others",
        "cell-rows-without-nodes-are-passed-over",
        "cell-all-of-the-row-are-asked-by-messages",
        "cell-nobody-has-one-by-messages",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Without rows and columns."""
        return with_messages(
            super().step(state, event, pick), NodeRepair, lambda m: replace(m, mask=m.mask._replace(rows=(), columns=()))
        )


def _only_one(state: State, cell: Cell) -> Next:
    step = ADVANCED(state, cell)
    sends = [effect for effect in step.effects if isinstance(effect, Send)]
    return step._replace(effects=tuple(effect for effect in step.effects if effect not in sends[1:]))


class AsksForTheirOwnRow(Wrong):
    """Asks the nodes of later rows for a cell of those rows."""

    caught_by: ClassVar = (
        "cell-of-a-row-without-others",
        "cell-nobody-has-one",
        "cell-nobody-anywhere",
        "cell-nobody-anywhere-by-messages",
    )

    @staticmethod
    def _advanced(state: State, cell: Cell) -> Next:
        step = ADVANCED(state, cell)
        row = step.state.repairs[cell].row if cell in step.state.repairs else cell[0]
        return with_messages(step, NodeRepair, lambda m: replace(m, mask=m.mask._replace(rows=(row,))))

    instead: ClassVar = {"repair.advance_repair": _advanced}


class AsksAllRows(Wrong):
    """Asks the nodes of earlier rows as well."""

    caught_by: ClassVar = ("an-unreachable-hop-then-here",)

    @staticmethod
    def _departed(state: State, gone: Id) -> Next:
        step = DEPARTED(state, gone)
        cells = [cell for cell in state.routing_table if cell not in step.state.routing_table]
        rows = [(cell, node) for cell in cells for (row, _), node in step.state.routing_table.items() if row < cell[0]]
        more: list[Any] = []
        for cell, node in rows:
            more += send(
                step.state, node, NodeRepair(header(step.state), Mask(routing_table=True, rows=cell[:1], columns=cell[1:]))
            )
        return step._replace(effects=(*step.effects, *more))

    instead: ClassVar = {"repair.on_departure": _departed}


class NeverAsksAgain(Wrong):
    """Waits for answers for ever."""

    caught_by: ClassVar = (
        "cell-who-does-not-answer",
        "cell-who-does-not-answer-by-messages",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sees no time run out."""
        is_late = isinstance(event, Expired) and isinstance(event.timer, RepairTimeout)
        return Step(state) if is_late else super().step(state, event, pick)


class WaitsForTheGone(Wrong):
    """Waits for an answer of who has departed."""

    caught_by: ClassVar = (
        "cell-who-was-asked-has-gone",
        "cell-who-was-asked-has-gone-by-messages",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Puts those back who are waited for."""
        if isinstance(event, Sent) and event.took is None and isinstance(event.message, NodeRepair):
            after, effects = super().step(replace(state, repairs=type(state.repairs)()), event, pick)
            return Step(replace(after, repairs=state.repairs), effects)
        return super().step(state, event, pick)


class TheFirstAnswerIsEnough(Wrong):
    """Goes to the next row as soon as one has answered."""

    caught_by: ClassVar = (
        "cell-nobody-has-one",
        "cell-who-does-not-answer",
        "cell-other-tables-are-no-answer",
        "cell-nobody-has-one-by-messages",
    )

    @staticmethod
    def _answered(state: State, _: StateData) -> State:
        repairs = {cell: at._replace(waiting=frozenset()) for cell, at in state.repairs.items()}
        return replace(state, repairs=state.repairs.put(repairs))

    instead: ClassVar = {"transitions.record_answer": _answered}


class NeighboursFillCells(Wrong):
    """Puts a neighbour into a cell that has become empty."""

    caught_by: ClassVar = (
        "cell-not-filled-from-neighbours",
        "a-neighbor-that-fits-the-cell-is-not-taken",
    )

    @staticmethod
    def _departed(state: State, gone: Id) -> Next:
        step = DEPARTED(state, gone)
        after = step.state
        for node in after.neighborhood_set:
            after = insert_node(after, node, Mask(routing_table=True))
        return step._replace(state=after)

    instead: ClassVar = {"repair.on_departure": _departed}


class AsksTheFurthestOfAll(Wrong):
    """Asks the furthest leaves of both sides."""

    caught_by: ClassVar = (
        "leaf-82-is-lost",
        "leaf-7f-is-lost",
        "the-last-leaf-of-a-side-is-lost",
        "leaf-82-is-lost-by-messages",
        "leaf-7f-is-lost-by-messages",
    )

    @staticmethod
    def _furthest(before: State, state: State, gone: Any) -> tuple[Any, ...]:
        question = NodeRepair(header(state), Mask(leaf_set=True))
        lost = before.leaf_set != state.leaf_set
        sides = [side[-1] for side in state.leaf_set if side and lost and gone]
        return tuple(effect for node in sides for effect in send(state, node, question))

    instead: ClassVar = {"repair.query_leaf_set": _furthest}


class OwnKeyForLeaves(Wrong):
    """Asks for leaf sets with its own id for the key."""

    caught_by: ClassVar = (
        "leaf-82-is-lost",
        "leaf-7f-is-lost",
        "each-table-by-itself",
        "leaf-82-is-lost-by-messages",
        "leaf-7f-is-lost-by-messages",
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces the key."""
        step = super().step(state, event, pick)
        return with_messages(step, NodeRepair, lambda m: replace(m, header=replace(m.header, key=state.id)))


class LeavesSilently(Wrong):
    """Leaves without a word."""

    caught_by: ClassVar = ("leaving", "leaving-while-waiting", "a-node-leaves")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sends no exits."""
        return with_messages(super().step(state, event, pick), NodeExit, lambda _: None)


class GoesOnAfterLeaving(Wrong):
    """Goes on as if it had not left."""

    caught_by: ClassVar = (
        *("nothing-after-leaving", "no-answers-after-leaving", "leaving-while-waiting", "learns-nothing-after-leaving"),
        *("no-join-after-leaving", "no-leave-after-leaving", "no-route-after-leaving"),
    )

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Says that it has left, and has not."""
        step = super().step(state, event, pick)
        if not (isinstance(event, Asked) and isinstance(event.command, Leave)):
            return step
        return Step(state, tuple(effect for effect in step.effects if not isinstance(effect, CancelTimer)))


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "HeartbeatsToLeaves": (
            "Sends heartbeats and exits to the routing table only.",
            {"transitions.everybody": lambda state: list(state.routing_table.values())},
            "heartbeats-to-everybody leaving heartbeats-and-exits-to-leaves",
        ),
        "AsksOneOfTheRow": (
            "Asks one node of a row.",
            {"repair.advance_repair": _only_one},
            (
                "cell-all-of-the-row-are-asked cell-rows-without-nodes-are-passed-over cell-who-does-not-answer cell-"
                "all-of-the-row-are-asked-by-messages"
            ),
        ),
        "AnyTableAnswers": (
            "Takes any state message for an answer about a cell.",
            {
                "transitions.record_answer": lambda state, data: ANSWERED(
                    state, replace(data, tables=data.tables._replace(routing_table=()))
                )
            },
            "cell-other-tables-are-no-answer cell-other-tables-are-no-answer-by-messages",
        ),
        "OnlyTheCellAnswers": (
            "Takes a routing table for an answer only if it has the cell.",
            {
                "transitions.record_answer": lambda state, data: (
                    ANSWERED(state, data)
                    if any((e.row, e.column) in state.repairs for e in data.tables.routing_table or ())
                    else state
                )
            },
            "cell-nobody-has-one cell-nobody-anywhere cell-any-answer-counts cell-any-answer-counts-by-messages",
        ),
        "AsksNoNeighbours": (
            "Does not repair the neighborhood set.",
            {"repair.query_neighborhood": lambda *_: ()},
            (
                "neighbour-is-lost each-table-by-itself the-last-leaf-of-a-side-is-lost each-table-by-itself-by-"
                "messages the-only-greater-leaf-is-lost"
            ),
        ),
    },
)
__getattr__ = MISTAKES.find
