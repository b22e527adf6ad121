"""The bounded model of SWIM: the meaning of a model's constants for its nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from uuid import UUID

from peerproof.spec import swim
from peerproof.spec.core import Expired, NodeId, Pick, Specification, Step, Table, replace
from peerproof.spec.model.bounded import NOW, ApplicationModel, ApplicationSpecification, recast
from peerproof.spec.swim.state import Config, Relay, Row, Seed, State, Status, address, host_and_port
from peerproof.spec.swim.transitions import initial

HOST: Final = "n"

#: A pending command of a node's application: its name, and the node it is about.
Todo = tuple[str, int | str]


@dataclass(frozen=True, slots=True)
class ModelNode(State):
    """A node of the model: it can crash, and its application has pending commands."""

    up: bool = True
    todo: frozenset[Todo] = frozenset()


class Bounded(ApplicationSpecification):
    """The specification with bounds on the counters of a node."""

    specification = swim

    def __init__(self, most: swim.Incarnation, step: Callable[[State, Any, Pick], Step[State, Any]] = swim.step) -> None:
        super().__init__(step)
        self._most = most

    def is_beyond(self, state: State) -> bool:
        """Whether a counter is above its bound."""
        restart, tx = state.incarnation
        return tx > self._most.tx or restart > self._most.restart

    def command(self, state: State, todo: Todo) -> swim.Command:
        """Returns the command of the protocol for a pending command."""
        match todo:
            case ("leave", int(other)):
                return swim.LeaveNode(uuid_of(other))
            case ("remove", int(other)):
                return swim.RemoveNode(uuid_of(other))
            case ("add", int(other)):
                return swim.AddNode(uuid_of(other), HOST, other)
            case ("payload", data):
                return swim.SetPayload(state.uuid, json.dumps({"~:is": data}, separators=(",", ":")))
        raise ValueError(f"there is no command {todo!r} in a model")


class Model(ApplicationModel):
    """A few nodes, as defined by the constants of a configuration; `tla/swim/constants.json` has some. Node 1 is at `n:1`."""

    state_kind = State
    command_forms: ClassVar[Mapping[str, str]] = {
        "add": "add node {0}",
        "remove": "remove node {0}",
        "leave": "leave node {0}",
        "payload": "payload {0}",
    }

    def __init__(self, constants: Mapping[str, Any]) -> None:
        super().__init__(constants)
        self.most = swim.Incarnation(constants["MaxRestart"], constants["MaxTx"])
        self.spec: Specification = Bounded(self.most, self.vary(swim.step))
        self.losses: int = constants.get("MaxLosses", 0)  #: maximum number of losses, if losses are counted; 0: no limit
        self.active = frozenset(uuid_of(node) for node in constants["Active"])
        self._forgetful = frozenset(uuid_of(node) for node in constants["Forgetful"])
        self._first = self.names[0]
        self._config = {"ae_size": constants["AeSize"], "emit_incarnation": constants["EmitIncarnation"]}
        todo = {n: frozenset((kind, other) for who, kind, other in constants["Todo"] if who == n) for n in self.names}
        acquainted = constants["Start"] == "acquainted"
        self.nodes: tuple[tuple[NodeId, Any], ...] = tuple(
            (self.address(n), self._start_node(n, 0, todo[n], acquainted=acquainted)) for n in self.names
        )

    @staticmethod
    def address(number: int) -> NodeId:
        """Node 1 is at `n:1`."""
        return address(HOST, number)

    @staticmethod
    def number(address: NodeId) -> int:
        """See `address`."""
        return host_and_port(address)[1]

    def offers(self, state: ModelNode) -> Iterator[tuple[str, Any]]:
        """Yields a quantum, and the pending commands of the application."""
        if not state.up:
            return
        if state.uuid in self.active:
            yield "Quantum", Expired(NOW, swim.Quantum())
        yield from self.commands(state)

    def in_rounds(self, state: State) -> Collection[swim.Uuid]:
        """Returns the nodes that this node pings in its rounds."""
        return state.live

    def restart(self, state: ModelNode) -> ModelNode:
        """Returns a fresh node with the next restart counter, or the same counter if the node forgets it."""
        counter = state.incarnation.restart + (state.uuid not in self._forgetful)
        return self._start_node(_number(state.uuid), counter, state.todo, acquainted=False)

    def project_state(self, state: ModelNode) -> State:
        """
        Omits whether the node runs, and the application's pending commands.

        The restart counter of its configuration is that of the first start: a node reads it only when it starts.
        """
        return recast(State, state, config=replace(state.config, restart_counter=0))

    def variables(self, state: ModelNode) -> Mapping[str, Any]:
        """Returns the node as the module's variables."""
        return {
            "own": tuple(state.incarnation),
            "table": {_number(uuid): _row(row) for uuid, row in state.rows.items()},
            "queue": tuple({"event": _vector(event), "recipients": _set(recipients)} for event, recipients in state.queue),
            "round": tuple(map(_number, state.vector)),
            "pinged": _set(state.pinged),
            "answered": _set(state.answered),
            "heard": state.heard,
            "isolated": state.isolated,
            "left": state.left,
            "relays": tuple(map(_relay, state.relays)),
            "payload": _data(state.payload),
            "up": state.up,
            "todo": state.todo,
        }

    def content_value(self, message: swim.Ping | swim.Ack) -> tuple[Any, ...]:
        """`<<kind, header, vectors>>`."""
        return *_header(message), tuple(_vector(vector) for vector in message.vectors)

    def _start_node(self, node: int, counter: int, todo: frozenset[Todo], *, acquainted: bool) -> ModelNode:
        seeds = () if node == self._first else (Seed(uuid_of(self._first), HOST, self._first),)
        state = initial(self.address(node), Config(uuid_of(node), counter, seeds, **self._config)).state
        if acquainted:
            known = Row("", 0, Status.NORMAL, swim.Incarnation(0, 0))
            state = replace(state, rows=Table({uuid_of(n): replace(known, host=HOST, port=n) for n in self.names if n != node}))
        # The seeds, and so the rows of a node that has just restarted, are not those of an acquainted one.
        return recast(ModelNode, state, todo=todo)


def uuid_of(node: int) -> swim.Uuid:
    """Returns the name of a node of a model."""
    return swim.Uuid(str(UUID(int=node)))


def _number(uuid: swim.Uuid) -> int:
    return UUID(uuid).int


def _set(uuids: frozenset[swim.Uuid]) -> frozenset[int]:
    return frozenset(map(_number, uuids))


def _data(payload: str | None) -> str:
    """Returns a payload as the model shows it: its text."""
    return "" if payload is None else str(json.loads(payload).get("~:is", ""))


def _relay(relay: Relay) -> Mapping[str, Any]:
    return {"target": _number(relay.target), "requester": _number(relay.requester), "tx": relay.tx, "fresh": relay.fresh}


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


def _header(message: swim.Message) -> tuple[str, tuple[int, ...]]:
    match message:
        case swim.Ping(_, incarnation):
            return "ping", tuple(incarnation)
        case swim.Ack(_, incarnation, _, target_tx):
            return "ack", (*incarnation, target_tx)
    raise ValueError(f"{message!r} is in no model")


def _vector(vector: swim.Vector) -> tuple[Any, ...]:
    match vector:
        case swim.Joining(node, incarnation):
            return "joining", _number(node), *incarnation
        case swim.Normal(node, incarnation):
            return "normal", _number(node), *(incarnation or ())
        case swim.Suspicious(node, incarnation):
            return "suspicious", _number(node), *(incarnation or ())
        case swim.Dead(node, incarnation):
            return "dead", _number(node), *(incarnation or ())
        case swim.Leave(node, incarnation):
            return "leave", _number(node), *incarnation
        case swim.AntiEntropy(members, tagged):
            rows = ((_number(m.uuid), m.restart_counter, m.tx_counter) for m in members)
            return "anti-entropy" if tagged else "members", *rows
        case swim.Payload(data):
            return "payload", _data(data)
        case swim.IndirectPing(target):
            return "indirect-ping", _number(target)
        case swim.IndirectAck(target, incarnation):
            return "indirect-ack", _number(target), *incarnation
