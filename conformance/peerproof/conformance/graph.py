"""
Whether two state graphs are the same: the one that TLC finds in a TLA+ module, and the one of the Python specification.

Both are explored whole, each by its own program. Then TLC's dump is read once as a stream, and every state of it is looked up
among the worlds of the exploration: its nodes' values and its messages by number. The graphs are equal if the initial
states are the same, every state of one is a state of the other, and from each go the same edges, by label and target, as
often on either side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from peerproof.conformance.message_graph import of_path, value_text
from peerproof.spec.explore import Edge, Exploration
from peerproof.spec.world import World
from peerproof.tla.dot import BadDump, State, read
from peerproof.tla.values import Value, function


@dataclass(frozen=True, eq=False)
class Unknown:
    """A state of the dump that the exploration has never seen."""

    variables: Mapping[str, Value]


Found: TypeAlias = World | Unknown


@dataclass(frozen=True)
class Difference:
    """One edge, or an initial state, that only one side has."""

    side: str  #: "TLA+" or "Python": the one that has it
    source: World | None  #: None for an initial state
    label: str
    target: Found
    times: int  #: how many such edges the other side lacks


@dataclass
class Comparison:
    """What a comparison has found."""

    states: int = 0  #: of the dump
    edges: int = 0  #: of the dump
    labels: Counter[str] = field(default_factory=Counter)  #: edges of the dump, by label
    only_tla: int = 0  #: edges and initial states
    only_python: int = 0
    unseen: int = 0  #: states of the dump that the exploration does not have
    first: Difference | None = None  #: nearest to the initial state

    @property
    def equal(self) -> bool:
        """Whether the graphs are the same."""
        return not (self.only_tla or self.only_python or self.unseen)


class Worlds:
    """Finds the world of an exploration that a state of TLC stands for."""

    def __init__(self, exploration: Exploration) -> None:
        system, model = exploration.system, exploration.system.model
        self.places, self.node_variables = system.places, model.node_variables
        self.worlds = exploration.depths
        self.states = {
            (state.self_id, *(canonical(value) for value in model.node_values(state))): number
            for number, state in enumerate(system.states)
        }
        self.messages = {canonical(model.message_value(message)): number for number, message in enumerate(system.messages)}
        if len(self.states) < len(system.states) or len(self.messages) < len(system.messages):
            raise ValueError("two different states or messages have the same TLA+ value: the mapping loses something")

    def find(self, variables: Mapping[str, Value]) -> World | None:
        """The world, if the exploration has it. Raises KeyError for a variable that is missing."""
        of_nodes = zip(self.places, *(variables[name] for name in self.node_variables), strict=True)
        try:
            nodes = [self.states[node] for node in of_nodes]
            net = sorted(self.messages[message] for message in variables["net"])
        except KeyError:
            return None
        world = (*nodes, variables["restarts"], *net)
        return world if world in self.worlds else None


def canonical(value: Any) -> Value:
    """A value of a model in the normal form of TLA+ values."""
    if isinstance(value, Mapping):
        return function({argument: canonical(result) for argument, result in value.items()})
    if isinstance(value, (tuple, frozenset)):
        return type(value)(canonical(element) for element in value)
    return value


def compare(dump: Path, exploration: Exploration) -> Comparison:
    """Reads a dump to its end. Raises `dot.BadDump` for one that is not whole: a difference, or none, is never guessed."""
    comparison, worlds = Comparison(), Worlds(exploration)
    found: dict[int, Found] = {}
    initial: list[Found] = []
    compared: set[World] = set()
    for source, edges in _by_source(dump, worlds, found, initial):
        comparison.edges += sum(edges.values())
        for (label, _), times in edges.items():
            comparison.labels[label] += times
        world = found[source]
        if isinstance(world, tuple):  # what leaves a state that only one side has says nothing more
            compared.add(world)
            _compare_edges(comparison, exploration, world, {(label, found[target]): n for (label, target), n in edges.items()})
    comparison.states = len(found)
    comparison.unseen = sum(not isinstance(world, tuple) for world in found.values())
    _compare_initial(comparison, exploration, initial)
    for world in found.values():
        if isinstance(world, tuple) and world not in compared:  # no edge leaves it in the dump
            _compare_edges(comparison, exploration, world, {})
    if comparison.equal and comparison.states != len(exploration.depths):
        raise BadDump(dump, 0, f"{comparison.states:,} states, all alike, but {len(exploration.depths):,} were explored")
    return comparison


def _by_source(
    dump: Path, worlds: Worlds, found: dict[int, Found], initial: list[Found]
) -> Iterator[tuple[int, Counter[tuple[str, int]]]]:
    """The edges of the dump, source by source; by then, all their targets are in `found`."""
    source, edges = None, Counter[tuple[str, int]]()
    finished: set[int] = set()
    for element in read(dump):
        if isinstance(element, State):
            world: Found = worlds.find(element.variables) or Unknown(element.variables)
            found[element.fingerprint] = world
            if element.initial:
                initial.append(world)
            continue
        if element.source != source:
            if source is not None:
                yield source, edges
                finished.add(source)
            source, edges = element.source, Counter()
            if source in finished:
                raise BadDump(dump, 0, "the edges of a state are not together: was TLC run with one worker?")
        edges[element.action, element.target] += 1
    if source is not None:
        yield source, edges


def _compare_edges(
    comparison: Comparison, exploration: Exploration, world: World, edges: Mapping[tuple[str, Found], int]
) -> None:
    explored = Counter[tuple[str, Found]](exploration.system.moves(world))
    if explored == edges:
        return
    for (label, target), times in edges.items():
        if (lacking := times - explored[label, target]) > 0:
            comparison.only_tla += lacking
            _note(comparison, exploration, Difference("TLA+", world, label, target, lacking))
    for (label, target), times in explored.items():
        if (lacking := times - edges.get((label, target), 0)) > 0:
            comparison.only_python += lacking
            _note(comparison, exploration, Difference("Python", world, label, target, lacking))


def _compare_initial(comparison: Comparison, exploration: Exploration, initial: list[Found]) -> None:
    first = exploration.system.initial()
    for world in initial:
        if world != first:
            comparison.only_tla += 1
            comparison.first = Difference("TLA+", None, "Init", world, 1)
    if first not in initial:
        comparison.only_python += 1
        comparison.first = Difference("Python", None, "Init", first, 1)


def _note(comparison: Comparison, exploration: Exploration, difference: Difference) -> None:
    """Keeps the difference that is nearest to the initial state."""
    assert difference.source is not None
    known = comparison.first
    if known is None or (known.source is not None and exploration.depths[difference.source] < exploration.depths[known.source]):
        comparison.first = difference


def story(exploration: Exploration, difference: Difference) -> Iterator[str]:
    """The shortest way to a difference as a message graph, line by line; its last step is what only one side does."""
    system, target = exploration.system, difference.target
    path = exploration.path(difference.source) if difference.source else ()
    if difference.source and not isinstance(target, Unknown):
        path = (*path, Edge(difference.label, target))
    yield from of_path(system, path).text().splitlines()
    many = "once" if difference.times == 1 else f"{difference.times} times"
    if isinstance(target, Unknown):
        yield f"then, {many} in {difference.side} only, {difference.label}, which leads to"
        yield from (f"    {name} = {value_text(value)}" for name, value in target.variables.items())
    else:
        yield f"the last step {many} in {difference.side} only: {difference.label}"
