"""The bounded model of Wendy: the meaning of a model's constants for its nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from peerproof.spec import wendy
from peerproof.spec.core import Expired, NodeId, Pick, Specification, Step, Table, replace
from peerproof.spec.model.bounded import NOW, ApplicationModel, ApplicationSpecification, recast
from peerproof.spec.properties import InFlight
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.proximity import prune, record_score
from peerproof.spec.wendy.state import Config, Stage, State, address, host_and_port
from peerproof.spec.wendy.transitions import initial

HOST: Final = "n"

#: Default duration of a message between two nodes, in microseconds.
SCORE: Final = 1

#: A pending command of a node's application: its name, and its argument.
Todo = tuple[str, int]


@dataclass(frozen=True)
class ModelNode(State):
    """A node of the model: it can crash, and its application has pending commands."""

    up: bool = True
    todo: frozenset[Todo] = frozenset()


class Bounded(ApplicationSpecification):
    """The specification with a bound on versions."""

    specification = wendy

    def __init__(self, most: int, step: Callable[[State, Any, Pick], Step[State, Any]] = wendy.step) -> None:
        super().__init__(step)
        self._most = most

    def is_beyond(self, state: State) -> bool:
        """Whether a version is above its bound."""
        return max(state.versions) > self._most

    def command(self, state: State, todo: Todo) -> wendy.Command:  # noqa: ARG002  # the same for every node
        """Returns the command of the protocol for a pending command."""
        match todo:
            case ("join", contact):
                return wendy.Join(Model.address(contact))
            case ("leave", _):
                return wendy.Leave()
            case ("route", key):
                return wendy.Route(Id(key), None)
        raise ValueError(f"there is no command {todo!r} in a model")


class Model(ApplicationModel):
    """A few nodes, as defined by the constants of a configuration; `tla/wendy/constants.json` has some. Node 2 is at `n:3`."""

    state_kind = State
    has_connections = True
    command_forms: ClassVar[Mapping[str, str]] = {"join": "join through node {0}", "route": "route key {0}"}

    def __init__(self, constants: Mapping[str, Any]) -> None:
        super().__init__(constants)
        self.most: int = constants["MaxVersion"]
        self.spec: Specification = Bounded(self.most, self.vary(wendy.step))
        self._flush: bool = constants["Flush"]
        self._beating = frozenset(constants["Heartbeats"])
        self._scores = {(sender, to): score for sender, to, score in constants["Score"]}
        self._config = {
            "ring": Ring(constants["Digits"], constants["DigitBits"]),
            "leaf_set_side": constants["LeafSide"],
            "neighborhood_set": constants["Neighborhood"],
            "is_two_sided": constants["TwoSided"],
        }
        todo = {n: frozenset((kind, about) for who, kind, about in constants["Todo"] if who == n) for n in self.names}
        founders = sorted(constants["Founders"]) if constants["Start"] == "stable" else []
        started = {node: self._founder(node, founders) if node in founders else self._fresh(node) for node in self.names}
        acquainted = self.names if constants["Acquainted"] else ()
        self.nodes: tuple[tuple[NodeId, Any], ...] = tuple(
            (self.address(node), replace(state, todo=todo[node], cache=self._cache(node, acquainted)))
            for node, state in started.items()
        )

    @staticmethod
    def address(number: int) -> NodeId:
        """Node 2 is at `n:3`."""
        return address(HOST, number + 1)

    @staticmethod
    def number(address: NodeId) -> int:
        """See `address`."""
        return host_and_port(address)[1] - 1

    def score(self, sender: int, to: int) -> int:
        """Returns the score that one node measures of another."""
        score: int = self._scores.get((sender, to), SCORE)
        return score

    def _cache(self, node: int, acquainted: Iterable[int]) -> Table[Id, int]:
        return Table({Id(other): self.score(node, other) for other in acquainted if other != node})

    def offers(self, state: ModelNode) -> Iterator[tuple[str, Any]]:
        """Yields the running timers, and the pending commands of the application."""
        if not state.up:
            return
        if state.stage is not Stage.LEFT:
            for label, timer in self._timers(state):
                yield label, Expired(NOW, timer)
        yield from self.commands(state)

    def _timers(self, state: ModelNode) -> Iterator[tuple[str, Any]]:
        if self._flush and state.cache:
            yield "FlushCache", wendy.FlushCache()
        if state.stage is Stage.WAITING:
            yield "Announce", wendy.Announce()
        if state.id in self._beating:
            yield "HeartbeatDue", wendy.HeartbeatDue()
        for cell, repair in state.repairs.items():
            if repair.waiting:  # otherwise its timer does not run, or has no effect
                yield "RepairTimeout", wendy.RepairTimeout(*cell)

    def restart(self, state: ModelNode) -> ModelNode:
        """Returns a node that has just started; its application has the same pending commands."""
        return replace(self._fresh(state.id), todo=state.todo)

    def is_there(self, state: ModelNode) -> bool:
        """Whether it runs and has not left."""
        return state.up and state.stage is not Stage.LEFT

    def took(self, message: InFlight) -> int:
        """Returns the duration that the constants define."""
        return self.score(self.number(message.sender), self.number(message.to))

    def variables(self, state: ModelNode) -> Mapping[str, Any]:
        """Returns the node as the module's variables."""
        return {
            "stage": state.stage.value,
            "rt": frozenset((*cell, int(node.id)) for cell, node in state.routing_table.items()),
            "ls": _leaf_set(state.leaf_set),
            "ns": _ids(state.neighborhood_set),
            "versions": tuple(state.versions),
            "scores": dict(state.scores),
            "cache": dict(state.cache),
            "measured": frozenset(state.measured),
            "stored": {node: tuple(versions) for node, versions in state.stored.items()},
            "departed": state.departed,
            "repairs": frozenset((*cell, row, waiting) for cell, (row, waiting) in state.repairs.items()),
            "announcing": frozenset(map(self.number, state.announcing)),
            "warned": state.is_warned,
            "contact": () if state.contact is None else (self.number(state.contact),),
            "up": state.up,
            "todo": state.todo,
        }

    def content_value(self, message: wendy.Message) -> tuple[Any, ...]:
        """`<<kind, origin, key, versions, hop, body>>`."""
        header: wendy.Header = message.header
        kind, body = _content(message)
        return kind, header.sender.id, header.key, tuple(header.versions), header.hop, body

    def _fresh(self, node: int) -> ModelNode:
        return recast(ModelNode, initial(self.address(node), Config(Id(node), **self._config)).state)

    def _founder(self, node: int, founders: list[int]) -> ModelNode:
        """Returns a node that has met the other founders, one after the other."""
        state: Any = replace(self._fresh(node), stage=Stage.JOINED)
        for other in founders:
            if other != node:
                state = record_score(state, self._fresh(other).node, self.score(node, other))
        return prune(state)  # type: ignore[return-value]  # of the same type as its argument


def _ids(nodes: tuple[wendy.Node, ...]) -> tuple[int, ...]:
    return tuple(node.id for node in nodes)


def _leaf_set(leaf_set: wendy.LeafSet) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return _ids(leaf_set.left), _ids(leaf_set.right)


def _content(message: wendy.Message) -> tuple[str, tuple[Any, ...]]:
    """Returns the kind of a message, and its body."""
    match message:
        case wendy.NodeJoin():
            return "join", ()
        case wendy.NodeExit():
            return "exit", ()
        case wendy.Heartbeat():
            return "heartbeat", ()
        case wendy.Application():
            return "application", ()
        case wendy.StateData(_, tables, destination):
            return "state", (*_tables(tables), destination)
        case wendy.NodeRace(_, tables):
            return "race", _tables(tables)
        case wendy.NodeAnnouncement(_, tables):
            return "announce", _tables(tables)
        case wendy.NodeRepair(_, wendy.Mask(routing_table, leaf_set, neighborhood_set, rows, columns)):
            return "repair", (routing_table, leaf_set, neighborhood_set, rows, columns)
    raise ValueError(f"{message!r} is in no model")


def _tables(tables: wendy.Tables) -> tuple[tuple[Any, ...], ...]:
    """Returns each table in a sequence of one, or an empty sequence if it is not sent."""
    entries, leaf_set, neighborhood_set = tables
    return (
        () if entries is None else (frozenset((row, column, int(node.id)) for row, column, node in entries),),
        () if leaf_set is None else (_leaf_set(leaf_set),),
        () if neighborhood_set is None else (_ids(neighborhood_set),),
    )
