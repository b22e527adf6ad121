"""
A model of SWIM without a bound on counters, which keeps only their order.

A counter is only compared with others of the same node, and incremented. So worlds whose counters have the same order behave in
the same way, and one of them represents all: the one in which the counters of each node are 0, 1, 2 and so on. A node that waits
for an ack when neither the ping nor the ack is under way any more waits in vain, and this is dropped from its state. So the
worlds are finite, their runs are infinite, and `peerproof.spec.model.liveness` can check them. There are neither restarts nor
duplicates.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from peerproof.spec.core import NodeId, Table, replace
from peerproof.spec.model.bounded import LOSE, RECEIVE, System, World
from peerproof.spec.model.run_monitor import Monitor, Monitored
from peerproof.spec.properties import Cluster, InFlight
from peerproof.spec.swim.messages import Ack, AntiEntropy, Incarnation, IndirectAck, IndirectPing, Payload, Ping, Uuid, Vector
from peerproof.spec.swim.model.bounded import Model, ModelNode
from peerproof.spec.swim.state import Queued, Relay, Row

#: Node -> its counters -> the counters that represent them.
Ranks: TypeAlias = Mapping[Uuid, Mapping[int, int]]


class Standing(System):
    """A system in which one world represents all worlds whose counters have the same order."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        if model.faults.restarts or model.faults.duplication:
            raise ValueError("a world without a bound on counters has neither restarts nor duplicates")
        self._standing: dict[World, World] = {}

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        """Yields every edge that leaves a world; its target is replaced by the world that represents it."""
        for label, target in super().moves(world):
            yield label, self.standing_for(target)

    def standing_for(self, world: World) -> World:
        """Returns the world in which the counters have the same order and are the smallest."""
        if world not in self._standing:
            self._standing[world] = self._compact(world)
        return self._standing[world]

    def _compact(self, world: World) -> World:
        cluster = self.cluster(world)
        sent = tuple(cluster.in_flight)
        names = {place: state.uuid for place, state in cluster.nodes.items()}
        pings = set(_pings(sent, names))
        states = [_waiting(state, {tx for sender, tx in pings if sender == state.uuid}) for state in cluster.nodes.values()]
        ranks = _ranks([*_counters(states), *pings, *_message_counters(sent)])
        net = sorted({self._message(_message(message, names, ranks)) for message in sent})
        return (*(self._state(_state(state, ranks)) for state in states), world[len(states)], *net)


class Watching(Monitored):
    """The runs of a system with unbounded counters, and optionally bounded losses."""

    def __init__(self, system: System, monitor: Monitor) -> None:
        model = cast("Model", system.model)
        super().__init__(Standing(model), monitor)
        self._most = model.losses

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        """Yields the edges that the monitor follows, up to the maximum number of losses."""
        for label, (memory, *target) in super().moves(world):
            if not self._most:  # losses are not counted
                yield label, (world[0], *target)
            elif cast("int", self.memories[memory]) <= self._most:
                yield label, (memory, *target)


class Endless:
    """A fast network: a quantum begins when no message is under way. The memory is the number of losses, if they are counted."""

    start: Hashable = 0
    watching: Final = Watching
    names: Final = {label: f"Endless{label}" for label in ("Quantum", "Command", RECEIVE, LOSE)}

    def allows(self, before: Cluster, label: str, _after: Cluster) -> bool:
        """Whether no message is under way, where that matters."""
        return label != "Quantum" or not before.in_flight

    def remembers(self, memory: Hashable, label: str, _after: Cluster) -> Hashable:
        """Counts the losses."""
        return cast("int", memory) + (label == LOSE)

    def values(self, memory: Any) -> Mapping[str, Any]:
        """The module's variable."""
        return {"losses": memory}


def _pings(sent: Iterable[InFlight], names: Mapping[NodeId, Uuid]) -> Iterator[tuple[Uuid, int]]:
    """Yields the senders of pings that can still be acknowledged, with their counters."""
    for sender, to, message in sent:
        yield (names[to], message.target_tx) if isinstance(message, Ack) else (names[sender], message.incarnation.tx)


def _waiting(state: ModelNode, pings: set[int]) -> ModelNode:
    """Returns the node without the state that waits for acks of other pings than these."""
    rows = {uuid: replace(row, unanswered=tuple(filter(pings.__contains__, row.unanswered))) for uuid, row in state.rows.items()}
    return replace(state, rows=Table(rows), relays=tuple(relay for relay in state.relays if relay.tx in pings))


def _counters(states: Iterable[ModelNode]) -> Iterator[tuple[Uuid, int]]:
    for state in states:
        yield state.uuid, state.incarnation.tx
        yield from ((uuid, row.incarnation.tx) for uuid, row in state.rows.items())
        yield from ((state.uuid, tx) for row in state.rows.values() for tx in row.unanswered)
        yield from ((state.uuid, relay.tx) for relay in state.relays)
        for entry in state.queue:
            yield from _of_vector(entry.event)


def _message_counters(sent: Iterable[InFlight]) -> Iterator[tuple[Uuid, int]]:
    for _, _, message in sent:
        yield message.sender, message.incarnation.tx
        for vector in message.vectors:
            yield from _of_vector(vector)


def _of_vector(vector: Vector) -> Iterator[tuple[Uuid, int]]:
    match vector:
        case Payload() | IndirectPing():
            return
        case AntiEntropy(members):
            yield from ((member.uuid, member.tx_counter) for member in members)
        case _:
            incarnation = vector.incarnation
            if incarnation is not None:
                yield _about(vector), incarnation.tx


def _about(vector: Any) -> Uuid:
    about: Uuid = vector.target if isinstance(vector, IndirectAck) else vector.node
    return about


def _ranks(counters: Iterable[tuple[Uuid, int]]) -> Ranks:
    of_nodes: dict[Uuid, set[int]] = {}
    for uuid, tx in counters:
        of_nodes.setdefault(uuid, set()).add(tx)
    return {uuid: {tx: rank for rank, tx in enumerate(sorted(seen))} for uuid, seen in of_nodes.items()}


def _state(state: ModelNode, ranks: Ranks) -> ModelNode:
    own = ranks[state.uuid]
    return replace(
        state,
        incarnation=_incarnation(state.incarnation, own),
        rows=Table({uuid: _row(row, ranks[uuid], own) for uuid, row in state.rows.items()}),
        queue=tuple(Queued(_vector(entry.event, ranks), entry.recipients) for entry in state.queue),
        relays=tuple(Relay(r.target, r.requester, own[r.tx], r.fresh) for r in state.relays),
    )


def _row(row: Row, ranks: Mapping[int, int], own: Mapping[int, int]) -> Row:
    unanswered = tuple(own[tx] for tx in row.unanswered)
    return replace(row, incarnation=_incarnation(row.incarnation, ranks), unanswered=unanswered)


def _incarnation(incarnation: Incarnation, ranks: Mapping[int, int]) -> Incarnation:
    return Incarnation(incarnation.restart, ranks[incarnation.tx])


def _message(sent: InFlight, names: Mapping[NodeId, Uuid], ranks: Ranks) -> InFlight:
    message: Ping | Ack = sent.message
    vectors = tuple(_vector(vector, ranks) for vector in message.vectors)
    said = replace(message, incarnation=_incarnation(message.incarnation, ranks[message.sender]), vectors=vectors)
    if isinstance(said, Ack):
        said = replace(said, target_tx=ranks[names[sent.to]][said.target_tx])
    return sent._replace(message=said)


def _vector(vector: Any, ranks: Ranks) -> Any:
    match vector:
        case Payload() | IndirectPing():
            return vector
        case AntiEntropy(members, tagged):
            return AntiEntropy(tuple(m._replace(tx_counter=ranks[m.uuid][m.tx_counter]) for m in members), tagged)
        case _ if vector.incarnation is None:
            return vector
    return replace(vector, incarnation=_incarnation(vector.incarnation, ranks[_about(vector)]))
