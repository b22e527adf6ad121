"""The bounded world of Wendy: what the constants of a model mean for the nodes that run in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Expired, NodeId, Pick, Specification, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.properties import InFlight
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.messages import (
    Announce,
    Application,
    Command,
    FlushCache,
    Header,
    Heartbeat,
    HeartbeatDue,
    Join,
    LeafSet,
    Leave,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    RepairTimeout,
    Route,
    StateData,
    Tables,
)
from peerproof.spec.wendy.proximity import scored, tidied
from peerproof.spec.wendy.state import Config, Stage, State, address, host_and_port
from peerproof.spec.wendy.transitions import initial
from peerproof.spec.world import NOW, Faults

HOST: Final = "n"

#: Microseconds of a message between two nodes, where the constants say nothing else.
SCORE: Final = 1

#: A command that a node's application may still give: what, and with which argument.
Todo = tuple[str, int]


@dataclass(frozen=True)
class Lived(State):
    """A node in a world: one that can crash, and whose application has some things to do."""

    up: bool = True
    todo: frozenset[Todo] = frozenset()


class Bounded:
    """The specification, where no version goes beyond a bound, and a node that has crashed does nothing."""

    def __init__(self, most: int, step: Callable[[State, Any, Pick], Step[State, Any]] = wendy.step) -> None:
        self._most = most
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(wendy, name)

    def step(self, state: Lived, event: Any, pick: Pick) -> Step[State, Any]:
        """What the node does about one event; `Asked` with a `Todo` is the application doing it. Raises NotEnabled."""
        if not state.up:
            return Step(state)
        if isinstance(event, Asked) and isinstance(event.command, tuple):
            done = replace(state, todo=state.todo - {event.command})
            if event.command[0] == "crash":
                return Step(replace(done, up=False))
            return self.step(done, Asked(NOW, _command(event.command)), pick)
        taken = self._step(state, event, pick)
        if max(taken.state.versions) > self._most:
            raise NotEnabled("bound", "a table of this world does not change further")
        return taken


class Model:
    """A few nodes, as the constants of a configuration say; `tla/wendy/constants.json` has some. Node 2 is at `n:3`."""

    node_variables: tuple[str, ...] = (
        "stage",
        "rt",
        "ls",
        "ns",
        "versions",
        "scores",
        "cache",
        "measured",
        "stored",
        "departed",
        "repairs",
        "announcing",
        "warned",
        "contact",
        "up",
        "todo",
    )

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.most: int = constants["MaxVersion"]
        self.spec: Specification = Bounded(self.most)
        self.names: tuple[int, ...] = tuple(sorted(constants["Node"]))
        self.faults = Faults(
            in_flight=constants["MaxNet"],
            restarts=constants["MaxRestarts"],
            restarting=frozenset(_addr(node) for node in constants["Restarting"]),
            connections=True,
        )
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
            (_addr(node), replace(state, todo=todo[node], cache=self._cache(node, acquainted))) for node, state in started.items()
        )

    def score(self, sender: int, to: int) -> int:
        """What a node measures of another."""
        score: int = self._scores.get((sender, to), SCORE)
        return score

    def _cache(self, node: int, acquainted: Iterable[int]) -> Table[Id, int]:
        return Table({Id(other): self.score(node, other) for other in acquainted if other != node})

    def offers(self, state: Lived) -> Iterator[tuple[str, Any]]:
        """The timers that run, and whatever its application still has to do."""
        if not state.up:
            return
        if state.stage is not Stage.LEFT:
            for label, timer in self._timers(state):
                yield label, Expired(NOW, timer)
        for todo in sorted(state.todo):
            try:
                self.spec.step(state, Asked(NOW, todo), _no_choice)  # type: ignore[arg-type]  # nothing is left to chance
            except NotEnabled:
                continue
            yield "Command", Asked(NOW, todo)

    def _timers(self, state: Lived) -> Iterator[tuple[str, Any]]:
        if self._flush and state.cache:
            yield "FlushCache", FlushCache()
        if state.stage is Stage.WAITING:
            yield "Announce", Announce()
        if state.id in self._beating:
            yield "HeartbeatDue", HeartbeatDue()
        for cell, repair in state.repairs.items():
            if repair.waiting:  # otherwise its timer does not run, or would make no difference
                yield "RepairTimeout", RepairTimeout(*cell)

    def restarted(self, state: Lived) -> Lived:
        """A node that has just started; its application still has the same things to do."""
        return replace(self._fresh(state.id), todo=state.todo)

    def is_there(self, state: Lived) -> bool:
        """Whether it runs and has not left."""
        return state.up and state.stage is not Stage.LEFT

    def took(self, message: InFlight) -> int:
        """As the constants say."""
        return self.score(_number(message.sender), _number(message.to))

    def seen(self, state: Lived) -> State:
        """Neither that the node runs nor what its application still has to do."""
        return State(**{field.name: getattr(state, field.name) for field in fields(State)})

    def noticed(self, state: Lived, event: Any) -> Any | None:
        """Commands instead of things to do; nothing of a crash, nor after it."""
        if not state.up:
            return None
        if isinstance(event, Asked) and isinstance(event.command, tuple):
            return None if event.command[0] == "crash" else Asked(event.now, _command(event.command))
        return event

    def node_values(self, state: Lived) -> tuple[Any, ...]:
        """The node as the module's variables."""
        return (
            state.stage.value,
            frozenset((*cell, int(node.id)) for cell, node in state.routing_table.items()),
            _leaf_set(state.leaf_set),
            _ids(state.neighborhood_set),
            tuple(state.versions),
            dict(state.scores),
            dict(state.cache),
            frozenset(state.measured),
            {node: tuple(versions) for node, versions in state.stored.items()},
            state.departed,
            frozenset((*cell, row, waiting) for cell, (row, waiting) in state.repairs.items()),
            frozenset(map(_number, state.announcing)),
            state.is_warned,
            () if state.contact is None else (_number(state.contact),),
            state.up,
            state.todo,
        )

    def message_value(self, message: InFlight) -> Any:
        """`<<from, to, kind, origin, key, versions, hop, body>>`."""
        sender, to, content = message
        header: Header = content.header
        kind, body = _content(content)
        about = header.sender.id, header.key, tuple(header.versions), header.hop
        return _number(sender), _number(to), kind, *about, body

    def _fresh(self, node: int) -> Lived:
        state = initial(_addr(node), Config(Id(node), **self._config)).state
        return Lived(*(getattr(state, field.name) for field in fields(State)))

    def _founder(self, node: int, founders: list[int]) -> Lived:
        """A node that has met the other founders, one after the other."""
        state: Any = replace(self._fresh(node), stage=Stage.JOINED)
        for other in founders:
            if other != node:
                state = scored(state, self._fresh(other).node, self.score(node, other))
        return tidied(state)  # type: ignore[return-value]  # it is what it was given


def _no_choice(*_: Any) -> Any:
    raise AssertionError("nothing is left to chance")


def _command(todo: Todo) -> Command:
    match todo:
        case ("join", contact):
            return Join(_addr(contact))
        case ("leave", _):
            return Leave()
        case ("route", key):
            return Route(Id(key), None)
    raise ValueError(f"there is no command {todo!r} in a world")


def _addr(node: int) -> NodeId:
    return address(HOST, node + 1)


def _number(addr: NodeId) -> int:
    return host_and_port(addr)[1] - 1


def _ids(nodes: tuple[Node, ...]) -> tuple[int, ...]:
    return tuple(node.id for node in nodes)


def _leaf_set(leaf_set: LeafSet) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return _ids(leaf_set.left), _ids(leaf_set.right)


def _content(message: Message) -> tuple[str, tuple[Any, ...]]:
    """What kind of message it is, and its body."""
    match message:
        case NodeJoin():
            return "join", ()
        case NodeExit():
            return "exit", ()
        case Heartbeat():
            return "heartbeat", ()
        case Application():
            return "application", ()
        case StateData(_, tables, destination):
            return "state", (*_tables(tables), destination)
        case NodeRace(_, tables):
            return "race", _tables(tables)
        case NodeAnnouncement(_, tables):
            return "announce", _tables(tables)
        case NodeRepair(_, Mask(routing_table, leaf_set, neighborhood_set, rows, columns)):
            return "repair", (routing_table, leaf_set, neighborhood_set, rows, columns)
    raise ValueError(f"{message!r} is in no model")


def _tables(tables: Tables) -> tuple[tuple[Any, ...], ...]:
    """Each table in a sequence of one, or an empty one if it is not sent."""
    entries, leaf_set, neighborhood_set = tables
    return (
        () if entries is None else (frozenset((row, column, int(node.id)) for row, column, node in entries),),
        () if leaf_set is None else (_leaf_set(leaf_set),),
        () if neighborhood_set is None else (_ids(neighborhood_set),),
    )
