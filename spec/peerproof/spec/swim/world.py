"""The bounded world of SWIM: what the constants of a model mean for the nodes that run in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from uuid import UUID

from peerproof.spec import swim
from peerproof.spec.core import Asked, Expired, NodeId, Pick, Specification, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.properties import InFlight
from peerproof.spec.swim.messages import (
    Ack,
    AddNode,
    AntiEntropy,
    Dead,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    LeaveNode,
    Message,
    Normal,
    Payload,
    Ping,
    Quantum,
    RemoveNode,
    SetPayload,
    Suspicious,
    Uuid,
    Vector,
)
from peerproof.spec.swim.state import Config, Relay, Row, Seed, State, Status, address, host_and_port
from peerproof.spec.swim.transitions import initial
from peerproof.spec.world import NOW, Faults

HOST: Final = "n"

#: A command that a node's application may still give: what, and to whom.
Todo = tuple[str, int | str]


@dataclass(frozen=True, slots=True)
class Lived(State):
    """A node in a world: one that can crash, and whose application has some things to do."""

    up: bool = True
    todo: frozenset[Todo] = frozenset()


class Bounded:
    """The specification, where a node does not count beyond its bounds, and one that has crashed does nothing."""

    def __init__(self, most: Incarnation, step: Callable[[State, Any, Pick], Step[State, Any]] = swim.step) -> None:
        self._most = most
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(swim, name)

    def step(self, state: Lived, event: Any, pick: Pick) -> Step[State, Any]:
        """What the node does about one event; `Asked` with a `Todo` is the application doing it. Raises NotEnabled."""
        if not state.up:
            return Step(state)
        if isinstance(event, Asked) and isinstance(event.command, tuple):
            done = replace(state, todo=state.todo - {event.command})
            kind, other = event.command
            if kind == "crash":
                return Step(replace(done, up=False))
            return self.step(done, Asked(NOW, _command(kind, other, state.uuid)), pick)
        taken = self._step(state, event, pick)
        restart, tx = taken.state.incarnation
        if tx > self._most.tx or restart > self._most.restart:
            raise NotEnabled("bound", "a node of this world does not count further")
        return taken


class Model:
    """A few nodes, as the constants of a configuration say; `tla/swim/constants.json` has some. Node 1 is at `n:1`."""

    node_variables: tuple[str, ...] = (
        "own",
        "table",
        "queue",
        "round",
        "pinged",
        "answered",
        "heard",
        "isolated",
        "left",
        "relays",
        "payload",
        "up",
        "todo",
    )

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.most = Incarnation(constants["MaxRestart"], constants["MaxTx"])
        self.spec: Specification = Bounded(self.most)
        self.faults = Faults(
            in_flight=constants["MaxNet"],
            loss=constants["Loss"],
            duplication=constants["Duplication"],
            restarts=constants["MaxRestarts"],
            restarting=frozenset(_addr(node) for node in constants["Restarting"]),
        )
        self.losses: int = constants.get("MaxLosses", 0)  #: so many get lost at most, where losses are counted; 0: any number
        self.active = frozenset(uuid_of(node) for node in constants["Active"])
        self._forgetful = frozenset(uuid_of(node) for node in constants["Forgetful"])
        self.names: tuple[int, ...] = tuple(constants["Node"])
        self._first = self.names[0]
        self._config = {"ae_size": constants["AeSize"], "emit_incarnation": constants["EmitIncarnation"]}
        todo = {n: frozenset((kind, other) for who, kind, other in constants["Todo"] if who == n) for n in self.names}
        acquainted = constants["Start"] == "acquainted"
        self.nodes: tuple[tuple[NodeId, Any], ...] = tuple(
            (_addr(n), replace(self._started(n, 0, acquainted=acquainted), todo=todo[n])) for n in self.names
        )

    def offers(self, state: Lived) -> Iterator[tuple[str, Any]]:
        """A quantum, and whatever its application still has to do."""
        if not state.up:
            return
        if state.uuid in self.active:
            yield "Quantum", Expired(NOW, Quantum())
        for todo in sorted(state.todo, key=str):
            try:
                self.spec.step(state, Asked(NOW, todo), _no_choice)  # type: ignore[arg-type]  # commands leave nothing to chance
            except NotEnabled:
                continue
            yield "Command", Asked(NOW, todo)

    def restarted(self, state: Lived) -> Lived:
        """A fresh start with the next restart counter, or the same again if the node forgets it."""
        counter = state.incarnation.restart + (state.uuid not in self._forgetful)
        return replace(self._started(_number(state.uuid), counter, acquainted=False), todo=state.todo)

    def seen(self, state: Lived) -> State:
        """
        Neither that the node runs nor what its application still has to do.

        The restart counter of its configuration is that of the first start: a node only ever looks at it when it starts.
        """
        first = {"config": replace(state.config, restart_counter=0)}
        return State(**{field.name: getattr(state, field.name) for field in fields(State)} | first)

    def noticed(self, state: Lived, event: Any) -> Any | None:
        """Commands instead of things to do; nothing of a crash, nor after it."""
        if not state.up:
            return None
        if isinstance(event, Asked) and isinstance(event.command, tuple):
            kind, other = event.command
            return None if kind == "crash" else Asked(event.now, _command(kind, other, state.uuid))
        return event

    def node_values(self, state: Lived) -> tuple[Any, ...]:
        """The node as the module's variables."""
        return (
            tuple(state.incarnation),
            {_number(uuid): _row(row) for uuid, row in state.rows.items()},
            tuple({"event": _vector(event), "recipients": _set(recipients)} for event, recipients in state.queue),
            tuple(map(_number, state.vector)),
            _set(state.pinged),
            _set(state.answered),
            state.heard,
            state.isolated,
            state.left,
            tuple(
                {"target": _number(r.target), "requester": _number(r.requester), "tx": r.tx, "fresh": r.fresh}
                for r in state.relays
            ),
            _data(state.payload),
            state.up,
            state.todo,
        )

    def message_value(self, message: InFlight) -> Any:
        """`<<from, to, kind, header, vectors>>`."""
        sender, to, content = message
        places = tuple(host_and_port(place)[1] for place in (sender, to))
        return *places, *_header(content), tuple(_vector(vector) for vector in content.vectors)

    def _started(self, node: int, counter: int, *, acquainted: bool) -> Lived:
        seeds = () if node == self._first else (Seed(uuid_of(self._first), HOST, self._first),)
        state = initial(_addr(node), Config(uuid_of(node), counter, seeds, **self._config)).state
        if acquainted:
            known = Row("", 0, Status.NORMAL, Incarnation(0, 0))
            state = replace(state, rows=Table({uuid_of(n): replace(known, host=HOST, port=n) for n in self.names if n != node}))
        # The seeds, and so the rows of a node that has just restarted, are not those of an acquainted one.
        return Lived(*(getattr(state, field.name) for field in fields(State)))


def _no_choice(*_: Any) -> Any:
    raise AssertionError("a command asks for no choice")


def _command(kind: str, other: Any, own: Uuid) -> Any:
    match kind:
        case "leave":
            return LeaveNode(uuid_of(other))
        case "remove":
            return RemoveNode(uuid_of(other))
        case "add":
            return AddNode(uuid_of(other), HOST, other)
        case "payload":
            return SetPayload(own, json.dumps({"~:is": other}, separators=(",", ":")))
    raise ValueError(f"there is no command {kind!r} in a world")


def uuid_of(node: int) -> Uuid:
    """The name of a node of a model."""
    return Uuid(str(UUID(int=node)))


def _number(uuid: Uuid) -> int:
    return UUID(uuid).int


def _addr(node: int) -> NodeId:
    return address(HOST, node)


def _set(uuids: frozenset[Uuid]) -> frozenset[int]:
    return frozenset(map(_number, uuids))


def _data(payload: str | None) -> str:
    """A payload as the model shows it: the text that it holds."""
    return "" if payload is None else str(json.loads(payload).get("~:is", ""))


def _relay(relay: Relay) -> Mapping[str, Any]:
    return {
        "target": _number(relay.target),
        "requester": _number(relay.requester),
        "tx": relay.tx,
        "fresh": relay.fresh,
    }


def _row(row: Row) -> Mapping[str, Any]:
    return {
        "status": row.status.value,
        "incarnation": tuple(row.incarnation),
        "payload": _data(row.payload),
        "exchange": row.exchange.value,
        "misses": row.misses,
        "indirect": row.indirect_misses,
        "asked": row.indirect_asked,
        "unanswered": row.unanswered,
    }


def _header(message: Message) -> tuple[str, tuple[int, ...]]:
    match message:
        case Ping(_, incarnation):
            return "ping", tuple(incarnation)
        case Ack(_, incarnation, _, target_tx):
            return "ack", (*incarnation, target_tx)
    raise ValueError(f"{message!r} is in no model")


def _vector(vector: Vector) -> tuple[Any, ...]:
    match vector:
        case Joining(node, incarnation):
            return "joining", _number(node), *incarnation
        case Normal(node, incarnation):
            return "normal", _number(node), *(incarnation or ())
        case Suspicious(node, incarnation):
            return "suspicious", _number(node), *(incarnation or ())
        case Dead(node, incarnation):
            return "dead", _number(node), *(incarnation or ())
        case Leave(node, incarnation):
            return "leave", _number(node), *incarnation
        case AntiEntropy(members, tagged):
            told = ((_number(m.uuid), m.restart_counter, m.tx_counter) for m in members)
            return "anti-entropy" if tagged else "members", *told
        case Payload(data):
            return "payload", _data(data)
        case IndirectPing(target):
            return "indirect-ping", _number(target)
        case IndirectAck(target, incarnation):
            return "indirect-ack", _number(target), *incarnation
