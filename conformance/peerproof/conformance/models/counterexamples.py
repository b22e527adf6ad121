"""
The models' questions, checked by the Python explorer, and TLC's counterexamples, replayed in Python.

A protocol has `variants`, the changed definitions and run monitors of its TLA+ models, and `questions`, the properties of states,
steps and endings that the models check; all by their names in TLA+. A protocol without variants has only its own model; one
without questions is checked for the `always` properties of its specification.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from peerproof.conformance.diagrams.message_graph import MessageGraph
from peerproof.conformance.models.graph_comparison import canonical
from peerproof.conformance.models.run_diagram import find_event, of_path
from peerproof.spec.core import Received
from peerproof.spec.model.bounded import NOW, System, World
from peerproof.spec.model.exploration import Edge
from peerproof.spec.model.liveness import Ending, Trap, trap
from peerproof.spec.model.run_monitor import Graph, Monitored, Search, search
from peerproof.spec.properties import Cluster, Property, Taken
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import Model
from peerproof.tla.output.counterexample import Counterexample, from_itf
from peerproof.tla.output.values import Value


class Unlike(Exception):
    """The Python specification does not do what TLC's counterexample does."""


@dataclass(frozen=True)
class Answer:
    """The explorer's verdict on a model, and the path to it."""

    graph: Graph
    search: Search
    broken: str | None = None  #: the violated invariant, or property of steps or endings
    path: tuple[Edge, ...] = ()  #: a shortest path to the violation
    trap: Trap | None = None  #: of a temporal property: where the path ends

    @property
    def counts(self) -> Mapping[str, int]:
        """The size of the graph, counted like TLC."""
        search = self.search
        return {"initial": 1, "distinct": len(search.parents), "generated": search.edges + 1, "depth": search.depth + 1}


def questions_of(protocol: str) -> Any:
    """Returns the module with the questions of a protocol's models, or a substitute. Raises KeyError."""
    row = PROTOCOLS[protocol]
    if row.questions:
        return row.questions.load()
    always = [each for each in row.specification.load().PROPERTIES if each.when == "always"]
    of_clusters = {each.name: partial(_holds, each) for each in always if each.of == "cluster"}
    return SimpleNamespace(QUESTIONS=of_clusters, STEPS={each.name: each for each in always if each.of == "step"}, ENDINGS={})


def _holds(asked: Property, _: Any, cluster: Cluster) -> bool:
    return asked.holds(cluster)


def variants_of(protocol: str) -> Any:
    """Returns the module with the variants of a protocol's models, or a substitute. Raises KeyError."""
    row = PROTOCOLS[protocol]
    if row.variants:
        return row.variants.load()
    return SimpleNamespace(VARIANTS={frozenset(): row.bounded.load().Model}, BEHAVIOURS={"Next": None})


def is_asked(model: Model) -> bool:
    """Returns True if the model's behaviour, variant, invariants and properties all exist in Python."""
    try:
        questions, variants = questions_of(model.protocol), variants_of(model.protocol)
    except KeyError:
        return False
    return (
        bool(model.invariants or model.properties)
        and set(model.invariants) <= questions.QUESTIONS.keys()
        and (set(model.properties) <= questions.ENDINGS.keys() or bool(_steps(model)))
        and model.behaviour in variants.BEHAVIOURS.keys() - getattr(variants, "UNFAIR", ())
        and frozenset(model.replace.values()) in variants.VARIANTS
    )


def _steps(model: Model) -> list[Property]:
    """Returns the step properties of a model that checks only these; else none."""
    known: Mapping[str, Property] = getattr(questions_of(model.protocol), "STEPS", {})
    is_other = bool(model.invariants) or not set(model.properties) <= known.keys()
    return [] if is_other else [known[name] for name in model.properties]


def graph_of(model: Model) -> Graph:
    """Returns the state graph of the model's variant, with its monitor if it has one."""
    variants = variants_of(model.protocol)
    system = System(variants.VARIANTS[frozenset(model.replace.values())](model.configuration.constants), _steps(model))
    monitor = variants.BEHAVIOURS[model.behaviour]
    return getattr(monitor, "watching", Monitored)(system, monitor()) if monitor else system


def ask_explorer(model: Model, progress: Callable[[int, int, int], None] = lambda *_: None) -> Answer:
    """Explores a model and returns the verdict."""
    if _steps(model):
        return _of_steps(model, progress)
    graph, questions = graph_of(model), questions_of(model.protocol)
    bounded = system_of(graph).model
    found = search(graph, {name: partial(questions.QUESTIONS[name], bounded) for name in model.invariants}, progress)
    if found.broken:
        return Answer(graph, found, found.broken, found.path())
    for name in model.properties:
        for ending in questions.ENDINGS[name](bounded):
            if caught := trap(graph, found.parents, ending):
                return Answer(graph, found, name, found.path(caught.entrance), caught)
    return Answer(graph, found)


def _of_steps(model: Model, progress: Callable[[int, int, int], None]) -> Answer:
    """Explores a model that checks step properties."""
    system = system_of(graph_of(model))
    level = [system.initial()]
    found = Search(system, {level[0]: None})
    while level:
        progress(len(found.parents), len(level), found.depth)
        before, level = level, []
        for world in before:
            for edge in map(Edge._make, system.moves(world)):
                found.edges += 1
                if broken := _find_violations(system, world, edge):
                    return Answer(system, found, min(broken), (*found.path(world), edge))
                if edge.target not in found.parents:
                    found.parents[edge.target] = world
                    level.append(edge.target)
        found.depth += bool(level)
    return Answer(system, found)


def _find_violations(system: System, world: World, edge: Edge) -> set[str]:
    """Returns the names of the properties that a step violates; the bounds forbid some steps that the system has checked."""
    taken = find_event(system, world, edge) if system.violations else None
    if taken is None or taken.place is None:
        return set()
    before, after = (system.states[at[taken.place]] for at in (world, edge.target))
    events = [event for label, event in system.model.offers(before) if label == edge.label]
    if taken.message is not None:
        sender, _, message = system.messages[taken.message]
        events = [Received(NOW, sender, message)]
    steps = [Taken(before, event, after, ()) for event in events]
    found = ((violation.property.name, violation.subject) for violation in system.violations)
    return {name for name, subject in found if isinstance(subject, Taken) and subject._replace(effects=()) in steps}


def surprise(model: Model, answer: Answer) -> str | None:
    """Returns how the explorer's verdict differs from the manifest, against which TLC is checked as well; None if it agrees."""
    if answer.broken != model.violated:
        return f"the explorer says that {answer.broken or 'nothing'} is violated, not {model.violated or 'nothing'}"
    if answer.broken:
        expected, what = (model.trap, "way into the trap") if answer.trap else (model.steps, "counterexample")
        return None if len(answer.path) == expected else f"the explorer's {what} has {len(answer.path)} steps, not {expected}"
    for name, count in answer.counts.items():
        if count != model.expected_counts.get(name):
            return f"expected {name} = {model.expected_counts.get(name)}, the explorer says {count}"
    return None


def load_counterexample(model: Model) -> Counterexample:
    """Returns the stored counterexample of a model that must fail."""
    assert model.counterexample_path is not None, model.name
    return from_itf(json.loads(model.counterexample_path.read_bytes()))


def replay(model: Model, example: Counterexample) -> tuple[Graph, tuple[Edge, ...]]:
    """
    Replays TLC's counterexample in Python, step by step with all variables, and checks that it violates the property.

    Raises `Unlike` at the first step that Python cannot take, or if nothing is violated.
    """
    graph = graph_of(model)
    world = graph.initial()
    if (found := values(graph, world)) != example.states[0].variables:
        raise Unlike(f"{model.name}: the first state is {found}, TLC's is {example.states[0].variables}")
    path = []
    for number, state in enumerate(example.states[1:], 1):
        edge = _edge(graph, world, state.variables, state.action)
        if edge is None:
            raise Unlike(f"{model.name}: no {state.action} in Python makes step {number} of TLC's counterexample")
        path.append(edge)
        world = edge.target
    if example.loop is not None and _edge(graph, world, example.states[example.loop].variables) is None:
        raise Unlike(f"{model.name}: nothing in Python goes back to state {example.loop} of TLC's counterexample")
    if not _is_violated(model, graph, path, example.loop):
        raise Unlike(f"{model.name}: {model.violated} holds in Python of TLC's counterexample")
    return graph, tuple(path)


def _edge(graph: Graph, world: World, variables: Mapping[str, Value], action: str | None = None) -> Edge | None:
    moves = (Edge(*move) for move in graph.moves(world) if action in (None, move[0]))
    return next((edge for edge in moves if values(graph, edge.target) == variables), None)


def _is_violated(model: Model, graph: Graph, path: list[Edge], loop: int | None) -> bool:
    """Checks the last state or step of the path; for an ending, the loop, or the last state for ever."""
    questions, bounded = questions_of(model.protocol), system_of(graph).model
    run = [graph.initial(), *(edge.target for edge in path)]
    if _steps(model):
        return model.violated in _find_violations(system_of(graph), run[-2], path[-1])
    if model.violated in questions.QUESTIONS:
        return not questions.QUESTIONS[model.violated](bounded, graph.cluster(run[-1]))
    clusters = [graph.cluster(world) for world in run]
    end = clusters[-1:] if loop is None else clusters[loop:]
    return any(_is_missed(ending, clusters, end) for ending in questions.ENDINGS[model.violated](bounded))


def _is_missed(ending: Ending, run: list[Any], end: list[Any]) -> bool:
    if ending.since is None:
        return not all(map(ending.goal, end))
    latest = max((number for number, cluster in enumerate(run) if ending.since(cluster)), default=None)
    return latest is not None and not any(map(ending.goal, [*run[latest:], *end]))


def draw_path(graph: Graph, path: tuple[Edge, ...], without: Collection[str] = ()) -> MessageGraph:
    """Draws a path, monitored or not, as a message graph, without the node members named in `without`."""
    return of_path(system_of(graph), graph.bare(path) if isinstance(graph, Monitored) else path, without)


def values(graph: Graph, world: World) -> Mapping[str, Value]:
    """Returns a state as the variables of the TLA+ module."""
    system = system_of(graph)
    memory: dict[str, Value] = {}
    if isinstance(graph, Monitored):
        memory = {name: canonical(value) for name, value in graph.monitor.values(graph.memories[world[0]]).items()}
        world = world[1:]
    count = len(system.places)
    columns = zip(*(system.model.node_values(system.states[number]) for number in world[:count]), strict=True)
    variables = {
        name: canonical(dict(zip(system.model.names, column, strict=True)))
        for name, column in zip(system.model.node_variables, columns, strict=True)
    }
    return variables | {"net": canonical(system.net_value(world[count + 1 :])), "restarts": world[count]} | memory


def system_of(graph: Graph) -> System:
    """Returns the system of a graph, monitored or not."""
    system = graph.system if isinstance(graph, Monitored) else graph
    assert isinstance(system, System)
    return system
