"""
Compares two state graphs: the one that TLC finds in a TLA+ module, and the one of the Python specification.

Both are explored whole, each by its own program. Then TLC's dump is read once as a stream, and every state of it is looked up in
the exploration by its nodes' values and its messages. The graphs are equal if the initial states are the same, every state of one
is a state of the other, and the same edges leave it, by label and target, equally often on both sides. The digest of the dump is
made of the dump's own values, whether or not the exploration has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.spec.model import graph_digest
from peerproof.spec.model.bounded import Model, World
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.graph_digest import GraphDigest
from peerproof.tla.output.dot import BadDump, State, read
from peerproof.tla.output.values import Function, Value, function


@dataclass(frozen=True, eq=False)
class Unknown:
    """A state of the dump that the exploration does not have."""

    variables: Mapping[str, Value]


Found: TypeAlias = World | Unknown


@dataclass(frozen=True)
class Difference:
    """One edge, or an initial state, that only one side has."""

    side: str  #: "TLA+" or "Python": the side that has it
    source: World | None  #: None for an initial state
    label: str
    target: Found
    times: int  #: number of such edges that the other side lacks


@dataclass
class Comparison:
    """The result of a comparison."""

    states: int = 0  #: of the dump
    edges: int = 0  #: of the dump
    only_tla: int = 0  #: edges and initial states
    only_python: int = 0
    unseen: int = 0  #: states of the dump that the exploration does not have
    digest: GraphDigest = field(default_factory=GraphDigest)  #: of the dump
    #: All those of the one state that is nearest to the initial state; first those in TLA+ only.
    nearest: tuple[Difference, ...] = ()

    @property
    def equal(self) -> bool:
        """Returns True if the graphs are the same."""
        return not (self.only_tla or self.only_python or self.unseen)


class Worlds:
    """
    Finds the state of an exploration that equals a state of TLC, and the key of that state, made of TLC's values.

    The parser returns the same object for a text that it has read before, so most values need no second look.
    """

    def __init__(self, exploration: Exploration) -> None:
        system, model = exploration.system, exploration.system.model
        self._worlds = exploration.depths
        self._network = system.network
        self._places, self._names = model.names, model.node_variables
        self._interned: list[list[Value]] = [[] for _ in self._names]
        self._numbers: list[dict[Value, int]] = [{} for _ in self._names]  #: variable -> value of one node -> its number
        self._rows: list[dict[int, tuple[Value, tuple[int, ...]]]] = [{} for _ in self._names]  #: by identity
        self._nodes: dict[tuple[int, ...], _Part] = {}  #: by place and number of each variable's value
        self._nets: dict[Value, _Part] = {}
        self._restarts: dict[Value, int] = {}
        self._states = {
            (system.places.index(state.self_id), *map(self._number, range(len(self._names)), self._values(model, state))): number
            for number, state in enumerate(system.states)
        }
        self._messages = {canonical(model.message_value(message)): number for number, message in enumerate(system.messages)}
        if len(self._states) < len(system.states) or len(self._messages) < len(system.messages):
            raise ValueError("two different states or messages have the same TLA+ value: the mapping loses something")

    def find(self, variables: Mapping[str, Value]) -> tuple[World | None, int]:
        """Returns the state if the exploration has it, and the key. Raises ValueError for variables that are not the model's."""
        if len(variables) != len(self._names) + 2:
            raise ValueError(f"{', '.join(sorted(variables))} are not the variables of the model")
        try:
            rows = [self._row(name, variables[variable]) for name, variable in enumerate(self._names)]
            restarts, net = variables["restarts"], self._net(variables["net"])
        except KeyError as problem:
            raise ValueError(f"no variable {problem}") from problem
        if (known := self._restarts.get(restarts)) is None:
            known = self._restarts[restarts] = graph_digest.key(graph_digest.RESTARTS, restarts)
        numbers: list[int] = []
        total = known + net.key
        for row in zip(range(len(self._places)), *rows, strict=True):
            part = self._nodes.get(row) or self._node(row)
            numbers += part.numbers
            total += part.key
        world = (*numbers, restarts, *net.numbers)
        return world if world in self._worlds else None, total

    @staticmethod
    def _values(model: Model, state: Any) -> tuple[Value, ...]:
        return tuple(map(canonical, model.node_values(state)))

    def _number(self, name: int, value: Value) -> int:
        numbers, values = self._numbers[name], self._interned[name]
        if value not in numbers:
            numbers[value] = len(values)
            values.append(value)
        return numbers[value]

    def _row(self, name: int, value: Value) -> tuple[int, ...]:
        """Returns the numbers of a variable's values, one for each node."""
        known = self._rows[name]
        if id(value) not in known:
            values = dict(value.rows if isinstance(value, Function) else enumerate(value, 1) if isinstance(value, tuple) else ())
            if tuple(values) != self._places:
                raise ValueError(f"{self._names[name]} has no value for each of the nodes {self._places}")
            if len(known) >= _MOST_KEPT:
                known.clear()
            known[id(value)] = value, tuple(self._number(name, each) for each in values.values())
        return known[id(value)][1]

    def _node(self, row: tuple[int, ...]) -> _Part:
        place, *numbers = row
        values = tuple(_plain(self._interned[name][number]) for name, number in enumerate(numbers))
        known = self._states.get(row)
        part = _Part(graph_digest.key(graph_digest.NODE, place, values), (_NO_NUMBER if known is None else known,))
        self._nodes[row] = part
        return part

    def _net(self, messages: Value) -> _Part:
        if messages not in self._nets:
            if not isinstance(messages, frozenset):
                raise ValueError("net is not a set")
            if len(self._nets) >= _MOST_KEPT:
                self._nets.clear()
            total = sum(graph_digest.key(graph_digest.MESSAGE, _plain(message)) for message in messages)
            numbers = self._network.arrange(number for message in messages for number in self._queue(message))
            self._nets[messages] = _Part(total, numbers)
        return self._nets[messages]

    def _queue(self, message: Value) -> Iterator[int]:
        """Yields the numbers of the messages of an element of `net`: one, or in an ordered network a whole queue."""
        contents: tuple[tuple[Value, ...], ...] = ((message,),)
        if self._network.is_ordered:
            match message:
                case (sender, to, tuple(queue)) if queue and all(isinstance(content, tuple) for content in queue):
                    contents = tuple((sender, to, *content) for content in queue)
                    return (self._messages.get(content, _NO_NUMBER) for content in contents)
            raise ValueError(f"{message} in net is not a queue of messages")
        return iter((self._messages.get(message, _NO_NUMBER),))


class _Part(NamedTuple):
    """The share of a node, or of the network, in a state's key and numbers."""

    key: int
    numbers: tuple[int, ...]


_NO_NUMBER: Final = -1
_MOST_KEPT: Final = 100_000


def _plain(value: Value) -> Any:
    match value:
        case Function(rows):
            return {_plain(argument): _plain(result) for argument, result in rows}
        case tuple() | frozenset():
            return type(value)(_plain(element) for element in value)
    return value


def canonical(value: Any) -> Value:
    """Converts a value of a model to the normal form of TLA+ values."""
    if isinstance(value, Mapping):
        return function({argument: canonical(result) for argument, result in value.items()})
    if isinstance(value, (tuple, frozenset)):
        return type(value)(canonical(element) for element in value)
    return value


def compare(dump: Path, exploration: Exploration) -> Comparison:
    """Reads a dump to its end. Raises `dot.BadDump` for an incomplete one: the result is never guessed."""
    comparison, states = Comparison(), _States(dump, Worlds(exploration))
    finished: set[int] = set()
    for source, edges in _by_source(dump, states):
        if source in finished:
            raise BadDump(dump, 0, "the edges of a state are not together: was TLC run with one worker?")
        finished.add(source)
        _take(comparison, exploration, states, source, edges)
    for source in states.found.keys() - finished:  # states without outgoing edges
        _take(comparison, exploration, states, source, [])
    comparison.states = len(states.found)
    comparison.unseen = sum(not isinstance(world, tuple) for world in states.found.values())
    for fingerprint in states.initial:
        comparison.digest.begin(states.keys[fingerprint])
    _compare_initial(comparison, exploration, [states.found[fingerprint] for fingerprint in states.initial])
    if comparison.equal and comparison.states != len(exploration.depths):
        raise BadDump(dump, 0, f"{comparison.states:,} states, all alike, but {len(exploration.depths):,} were explored")
    return comparison


class _States:
    """The states of a dump so far, by fingerprint."""

    def __init__(self, dump: Path, worlds: Worlds) -> None:
        self.dump, self.worlds = dump, worlds
        self.found: dict[int, Found] = {}
        self.keys: dict[int, int] = {}
        self.initial: list[int] = []

    def take(self, state: State) -> None:
        fingerprint, variables, is_initial = state
        if fingerprint in self.found:
            raise BadDump(self.dump, 0, f"the state {fingerprint} is there twice")
        try:
            world, self.keys[fingerprint] = self.worlds.find(variables)
        except ValueError as problem:
            raise BadDump(self.dump, 0, f"the state {fingerprint}: {problem}") from problem
        self.found[fingerprint] = world or Unknown(variables)
        if is_initial:
            self.initial.append(fingerprint)


def _by_source(dump: Path, states: _States) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """Yields the edges of the dump by source, as labels and targets; their targets are in `states` by then."""
    source, edges = None, list[tuple[str, int]]()
    for element in read(dump):
        if isinstance(element, State):
            states.take(element)
            continue
        if element[0] != source:
            if source is not None:
                yield source, edges
            source, edges = element[0], []
        edges.append((element[2], element[1]))
    if source is not None:
        yield source, edges


def _take(comparison: Comparison, exploration: Exploration, states: _States, source: int, edges: list[tuple[str, int]]) -> None:
    """Compares a state of the dump with all its edges."""
    found, keys = states.found, states.keys
    try:
        ends = [(label, keys[target]) for label, target in edges]
        comparison.digest.add(keys[source], ends)
    except KeyError as problem:
        raise BadDump(states.dump, 0, f"an edge has an end, {problem}, that is not a state of the file") from problem
    comparison.edges += len(edges)
    world = found[source]
    if isinstance(world, tuple):  # edges of a state that only one side has add nothing
        _compare_edges(comparison, exploration, world, [(label, found[target]) for label, target in edges])


def _compare_edges(comparison: Comparison, exploration: Exploration, world: World, edges: list[tuple[str, Found]]) -> None:
    explored = list(exploration.system.moves(world))
    if len(edges) == len(explored) and all(isinstance(target, tuple) for _, target in edges):
        known: list[Any] = edges
        if sorted(known) == sorted(explored):
            return
    of_tla, of_python = Counter[tuple[str, Found]](edges), Counter[tuple[str, Found]](explored)
    sides = (("TLA+", of_tla - of_python), ("Python", of_python - of_tla))
    found = (Difference(side, world, label, target, times) for side, more in sides for (label, target), times in more.items())
    _note(comparison, exploration, tuple(found))


def _compare_initial(comparison: Comparison, exploration: Exploration, initial: list[Found]) -> None:
    first = exploration.system.initial()
    found = [Difference("TLA+", None, "Init", world, 1) for world in initial if world != first]
    if first not in initial:
        found.append(Difference("Python", None, "Init", first, 1))
    _note(comparison, exploration, found)


def _note(comparison: Comparison, exploration: Exploration, found: Sequence[Difference]) -> None:
    """Counts the differences of one state, or of the initial states, and keeps those that are nearest to the initial state."""
    comparison.only_tla += sum(one.times for one in found if one.side == "TLA+")
    comparison.only_python += sum(one.times for one in found if one.side == "Python")
    if found and _depth(exploration, found) < _depth(exploration, comparison.nearest):
        comparison.nearest = tuple(found)


def _depth(exploration: Exploration, found: Sequence[Difference]) -> float:
    """The distance of their state from the initial state; initial states are nearer than all others."""
    if not found:
        return inf
    return -1 if found[0].source is None else exploration.depths[found[0].source]
