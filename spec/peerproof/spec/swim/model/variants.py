"""Variants of SWIM: other readings, fixed random choices, repairs of false claims; see `model.bounded.variant`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from peerproof.spec import swim
from peerproof.spec.core import Asked, NodeId, Option, Pick, Received, Send, Step, replace
from peerproof.spec.model.bounded import Taking, variant
from peerproof.spec.overrides import names_in
from peerproof.spec.properties import Cluster, InFlight
from peerproof.spec.swim import gossip, rounds, transitions
from peerproof.spec.swim.detector import close_round
from peerproof.spec.swim.model.bounded import Model
from peerproof.spec.swim.model.endless import Endless
from peerproof.spec.swim.state import State, Status, active_size, host_and_port
from peerproof.spec.swim.table import GIVES, Claim, event, of_sender


def first_picks(step: Taking, state: State, event: swim.Event, _: Pick) -> Step[State, Any]:
    """Replaces random choices by the first options: one possible result."""

    def in_order(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:  # noqa: ARG001  # Pick's names
        return tuple(sorted(among)[:some])

    return step(state, event, in_order)


def within_sides(step: Taking, state: State, event: swim.Event, pick: Pick) -> Step[State, Any]:
    """Blocks messages between the first nodes and the others. [SX-04]"""
    after, effects = step(state, event, pick)
    own = _is_of_first_side(state.self_id)
    return Step(after, tuple(e for e in effects if not isinstance(e, Send) or _is_of_first_side(e.to) == own))


#: Nodes 1 and 2 are on one side of a partition.
LAST_OF_FIRST_SIDE: Final = 2


def _is_of_first_side(node: NodeId) -> bool:
    return host_and_port(node)[1] <= LAST_OF_FIRST_SIDE


def all_in_rounds(state: State, pick: Pick) -> tuple[State, tuple[Send[swim.Message], ...]]:
    """A quantum whose rounds include the dead. [mends SX-04]"""
    sends: tuple[Send[swim.Message], ...] = ()
    vector = tuple(node for node in state.vector if node in not_left(state))
    if not vector:
        state, sends = close_round(state, pick)
        vector = pick("round.order", not_left(state), len(not_left(state)))
        state = replace(state, pinged=frozenset(), answered=frozenset(), heard=False)
    count = gossip.fanout(active_size(state))
    state = replace(state, vector=vector[count:], pinged=state.pinged | set(vector[:count]))
    for node in vector[:count]:
        state, sent = gossip.request(state, node, pick)
        sends += sent
    return state, sends


def not_left(state: State) -> list[swim.Uuid]:
    """Returns all known nodes but those that have left."""
    return [node for node, row in state.rows.items() if row.status is not Status.LEAVE]


def remember(step: Taking, state: State, event: swim.Event, pick: Pick) -> Step[State, Any]:
    """A removal only marks the node as left: its row stays. [mends SX-06]"""
    if isinstance(event, Asked) and isinstance(event.command, swim.RemoveNode):
        event = Asked(event.now, swim.LeaveNode(event.command.uuid))
    return step(state, event, pick)


@dataclass(frozen=True)
class AckOfLife(swim.Ack):
    """An ack that also has the restart counter of the ping that it answers. [mends SX-08]"""

    life: int = 0


def of_life(step: Taking, state: State, event: swim.Event, pick: Pick) -> Step[State, Any]:
    """Acks have the restart counter too, and are answers only in that life. [mends SX-08]"""
    message = event.message if isinstance(event, Received) else None
    if isinstance(event, Received) and isinstance(message, AckOfLife) and message.life != state.incarnation.restart:
        event = replace(event, message=replace(message, target_tx=0))  # no ping has this one
    after, effects = step(state, event, pick)
    life = message.incarnation.restart if isinstance(message, swim.Ping) else 0
    return Step(after, tuple(Send(e.to, _with_life(e.message, life)) if isinstance(e, Send) else e for e in effects))


def _with_life(message: Any, life: int) -> Any:
    if not isinstance(message, swim.Ack):
        return message
    return AckOfLife(**{field.name: getattr(message, field.name) for field in fields(swim.Ack)}, life=life)


def still_an_answer(step: Taking, state: State, event: swim.Event, pick: Pick) -> Step[State, Any]:
    """An ack from the past is still an answer, if it names a ping. [mends SX-01]"""
    if isinstance(event, Received) and isinstance(event.message, swim.Ack) and transitions.is_past(state, event.message):
        ack = event.message
        row = state.rows[ack.sender]
        state = replace(state, heard=True)
        if ack.target_tx in row.unanswered:
            later = tuple(tx for tx in row.unanswered if tx > ack.target_tx)
            state = gossip.with_row(state, ack.sender, replace(row, misses=0, unanswered=later))
            state = replace(state, answered=state.answered | ({ack.sender} & state.pinged))
        return Step(state)
    return step(state, event, pick)


_with_vector = transitions.with_vector


def overwriting(state: State, message: swim.Ping | swim.Ack, vector: swim.Vector) -> State:
    """An event without an incarnation is applied, whatever is known. [SX-10]"""
    match vector:
        case swim.Normal(node, None) | swim.Suspicious(node, None) | swim.Dead(node, None) if node in state.rows:
            row = replace(state.rows[node], status=GIVES[type(vector)])
            if row == state.rows[node]:
                return state
            said = event(node, row, emit_incarnation=state.config.emit_incarnation)
            return gossip.enqueue(gossip.with_row(state, node, row), said)
    return _with_vector(state, message, vector)


def keep_suspicion(state: State, node: swim.Uuid, incarnation: swim.Incarnation) -> Claim:
    """A header does not end a suspicion. [breaks SL-03]"""
    claim = of_sender(state, node, incarnation)
    row = state.rows[node]
    still = row.status is Status.SUSPICIOUS and row.incarnation.restart == incarnation.restart
    return claim._replace(status=row.status) if still else claim


def everybody(nodes: int) -> int:
    """All nodes must get an event. [mends SX-05]"""
    return nodes - 1


class AllInRounds(Model):
    """A partition whose nodes go on pinging the dead. [mends SX-04]"""

    overrides = names_in(transitions, on_quantum=all_in_rounds)
    changes = (first_picks, within_sides)

    def in_rounds(self, state: State) -> Collection[swim.Uuid]:
        """Returns the dead as well."""
        return not_left(state)


class OfLife(Model):
    """Acks have the life of the ping. [mends SX-08]"""

    changes = (of_life,)

    def message_value(self, message: InFlight) -> Any:
        """Returns the usual value, with the restart counter of an ack."""
        sender, to, kind, header, vectors = super().message_value(message)
        if isinstance(message.message, AckOfLife):
            header = (*header, message.message.life)
        return sender, to, kind, header, vectors


#: Where events go to all nodes, rounds still ping the usual number.
_ROUNDS_AS_EVER: Final = names_in(rounds, fanout=gossip.fanout)

VARIANTS: Final[Mapping[frozenset[str], type[Model]]] = {
    frozenset(): Model,
    frozenset({"FirstPicks"}): variant(Model, first_picks),
    frozenset({"SuspectedStill"}): variant(Model, overrides=names_in(transitions, of_sender=keep_suspicion)),
    frozenset({"FirstPicks", "WithinSides"}): variant(Model, first_picks, within_sides),
    frozenset({"FirstPicks", "WithinSides", "AllInRounds"}): AllInRounds,
    frozenset({"FirstPicks", "Everybody"}): variant(
        Model, first_picks, overrides=names_in(gossip, fanout=everybody) | _ROUNDS_AS_EVER
    ),
    frozenset({"Remember"}): variant(Model, remember),
    frozenset({"HeaderWithLife", "IsAnswerOfLife"}): OfLife,
    frozenset({"StillAnAnswer"}): variant(Model, still_an_answer),
    frozenset({"FirstPicks", "Overwritten"}): variant(
        Model, first_picks, overrides=names_in(transitions, with_vector=overwriting)
    ),
}


class Prompt:
    """
    A fast network, and applications that execute their commands first: the best case of a failure detector. [SX-01]

    A node's quantum begins only when all its pings and their acks have arrived.
    """

    start: Hashable = None
    names: Final = {"Quantum": "PromptQuantum"}

    def allows(self, before: Cluster, label: str, after: Cluster) -> bool:
        """Whether no application has pending commands, and the node with the quantum waits for no answer."""
        if label != "Quantum":
            return True
        if any(state.todo for state in before.nodes.values()):
            return False
        asking = {sent.sender if isinstance(sent.message, swim.Ping) else sent.to for sent in before.in_flight}
        return not any(state != before.nodes[node] and node in asking for node, state in after.nodes.items())

    def remembers(self, _memory: Hashable, _label: str, _after: Cluster) -> Hashable:
        """Nothing."""
        return None

    def values(self, _memory: Any) -> Mapping[str, Any]:
        """Adds no variables."""
        return {}


BEHAVIOURS: Final[Mapping[str, type[Prompt | Endless] | None]] = {
    "Next": None,
    "PromptNext": Prompt,
    "EndlessNext": Endless,
    "FairSpec": Endless,
    "CalmSpec": Endless,
    "UnfairSpec": Endless,
}
UNFAIR: Final = frozenset({"UnfairSpec"})
