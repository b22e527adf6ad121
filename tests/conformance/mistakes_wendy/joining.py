"""Mistakes in answering those who want to join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.variant import received
from tests.conformance.wrong_wendy import Wrong

from peerproof.spec.core import Pick, Send, Sent, Step
from peerproof.spec.wendy import routing
from peerproof.spec.wendy.messages import Mask, NodeJoin, StateData, Tables
from peerproof.spec.wendy.state import Stage, State
from peerproof.spec.wendy.tables import inserted, shown

Next = Step[Any, Any]

NEXT_HOP_OF_JOIN = routing.next_hop_of_join


def with_messages(step: Next, kind: type[Any], change: Callable[[Any], Any]) -> Next:
    """A step whose messages of this kind are others; None for one that is not sent."""
    effects: list[Any] = []
    for effect in step.effects:
        if isinstance(effect, Send) and isinstance(effect.message, kind):
            message = change(effect.message)
            effects += [] if message is None else [replace(effect, message=message)]
        else:
            effects.append(effect)
    return step._replace(effects=tuple(effects))


class _Answer(Wrong):
    """Answers joins otherwise."""

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData | None:
        """What is sent instead."""
        raise NotImplementedError

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces the answer."""
        step = super().step(state, event, pick)
        if not received(event, NodeJoin):
            return step
        return with_messages(step, StateData, lambda data: self.answer(state, event.message, data))


class AllTables(_Answer):
    """Sends all tables, whoever it is to the joiner."""

    caught_by: ClassVar = ("contact-that-sends-on", "destination-of-a-join", "node-on-the-way", "third-node-of-a-join")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """All of them."""
        return replace(data, tables=shown(state))


class NoNeighborhoodSet(_Answer):
    """Sends no neighborhood set."""

    caught_by: ClassVar = ("contact-that-is-alone", "contact-that-sends-on", "a-second-join")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """Without it."""
        return replace(data, tables=data.tables._replace(neighborhood_set=None))


class EmptyTablesAreLeftOut(_Answer):
    """Sends no tables that are empty."""

    caught_by: ClassVar = ("contact-that-is-alone", "a-join-while-joining", "a-join-of-the-own-id")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """Without these."""
        table, leaves, near = data.tables
        return replace(data, tables=Tables(table or None, leaves if leaves and any(leaves) else None, near or None))


class NoMark(_Answer):
    """Forgets the mark of the destination."""

    caught_by: ClassVar = ("contact-that-is-alone", "destination-of-a-join", "two-nodes")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """Without it."""
        return replace(data, destination=False)


class AlwaysTheMark(_Answer):
    """Marks every answer to a join."""

    caught_by: ClassVar = ("contact-that-sends-on", "node-on-the-way")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """With it."""
        return replace(data, destination=True)


class OneAnswerEach(_Answer):
    """Answers a joiner once."""

    caught_by: ClassVar = ("a-second-join",)
    answered: frozenset[int] = frozenset()

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData | None:  # noqa: ARG002
        """Nothing the second time."""
        known, self.answered = self.answered, self.answered | {join.header.sender.id}
        return None if join.header.sender.id in known else data


class MembersOnly(_Answer):
    """Answers nobody before it has joined."""

    caught_by: ClassVar = ("a-join-while-joining",)

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData | None:  # noqa: ARG002
        """Nothing yet."""
        return None if state.stage in (Stage.JOINING, Stage.WAITING) else data


class StrangersOnly(_Answer):
    """Answers nobody who has its own id."""

    caught_by: ClassVar = ("a-join-of-the-own-id",)

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData | None:
        """Nothing."""
        return None if join.header.sender.id == state.id else data


class VersionsOfNothing(_Answer):
    """Sends no versions with its tables."""

    caught_by: ClassVar = ("contact-that-sends-on", "destination-of-a-join")

    def answer(self, state: State, join: NodeJoin, data: StateData) -> StateData:  # noqa: ARG002
        """Without them."""
        return replace(data, header=replace(data.header, versions=type(data.header.versions)()))


class JoinersAreInserted(Wrong):
    """Takes a joiner into its leaf set."""

    caught_by: ClassVar = ("contact-that-is-alone", "destination-of-a-join", "before-the-wait-is-over")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """After the answer."""
        step = super().step(state, event, pick)
        joiner = event.message.header.sender if received(event, NodeJoin) else None
        return step._replace(state=inserted(step.state, joiner, Mask(leaf_set=True))) if joiner else step


class AnswersToThePeer(Wrong):
    """Answers who has no address at the other end of the connection."""

    caught_by: ClassVar = ("a-join-of-somebody-without-an-address", "asked-by-nobody")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Sends it there."""
        step = super().step(state, event, pick)
        if getattr(event, "sender", None) and not step.effects and type(event.message).__name__ in ("NodeJoin", "StateRequest"):
            data = StateData(event.message.header, shown(state))
            return step._replace(effects=(Send(event.sender, data),))
        return step


class JoinsGoToLeaves(Wrong):
    """Sends joins on by its leaf set alone."""

    caught_by: ClassVar = ("a-join-is-routed-by-its-key",)
    instead: ClassVar = {
        "joining.next_hop_of_join": lambda state, joiner: NEXT_HOP_OF_JOIN(
            replace(state, routing_table=type(state.routing_table)()), joiner
        )
    }


class JoinsEndHere(Wrong):
    """Sends joins to nobody else."""

    caught_by: ClassVar = ("contact-that-sends-on", "node-on-the-way", "largest-hops-of-a-join", "a-join-is-routed-by-its-key")
    instead: ClassVar = {"joining.sent_on": lambda *_: None}


class TablesOnceMore(Wrong):
    """Sends its routing table again when a join has come back."""

    caught_by: ClassVar = ("a-join-that-does-not-get-on",)

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """With the leaf set."""
        step = super().step(state, event, pick)
        if not (isinstance(event, Sent) and isinstance(event.message, NodeJoin)):
            return step
        table = shown(step.state).routing_table
        return with_messages(step, StateData, lambda data: replace(data, tables=data.tables._replace(routing_table=table)))
