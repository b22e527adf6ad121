"""
The models' questions, asked of the Python specification, and TLC's counterexamples, walked in it.

A protocol brings `peerproof.spec.PROTOCOL.variants`, the changes by which TLA+ models replace definitions of their own and the
monitors of their runs, and `peerproof.spec.PROTOCOL.questions`, what they ask of a world; both by their names in TLA+.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

from peerproof.conformance.graph import canonical
from peerproof.conformance.message_graph import MessageGraph, of_path
from peerproof.spec.explore import Edge
from peerproof.spec.monitor import Graph, Monitored, Search, search
from peerproof.spec.world import System, World
from peerproof.tla.counterexample import Counterexample, from_itf
from peerproof.tla.manifest import Model
from peerproof.tla.values import Value


class Unlike(Exception):
    """The Python specification does not do what TLC's counterexample does."""


def is_asked(model: Model) -> bool:
    """Whether the explorer knows what the model asks: its invariants are questions of the protocol."""
    try:
        questions = import_module(f"peerproof.spec.{model.protocol}.questions").QUESTIONS
    except ModuleNotFoundError:
        return False
    return bool(model.invariants) and not model.properties and all(name in questions for name in model.invariants)


def graph_of(model: Model) -> Graph:
    """The model's worlds in Python: of the variant that it is about, watched by its monitor if it has one."""
    variants = import_module(f"peerproof.spec.{model.protocol}.variants")
    system = System(variants.VARIANTS[frozenset(model.replace.values())](model.configuration.constants))
    return system if model.next == "Next" else Monitored(system, variants.MONITORS[model.next]())


def asked(model: Model) -> Search:
    """The explorer's answer to a model's question."""
    graph = graph_of(model)
    questions = import_module(f"peerproof.spec.{model.protocol}.questions").QUESTIONS
    return search(graph, {name: partial(questions[name], _system(graph).model) for name in model.invariants})


def surprise(model: Model, found: Search) -> str | None:
    """In what the explorer's answer is not what the manifest says, which is what TLC says."""
    if found.broken != model.violated:
        return f"the explorer says that {found.broken or 'nothing'} is violated, not {model.violated or 'nothing'}"
    if model.violated:
        steps = len(found.path())
        return None if steps == model.steps else f"the explorer's counterexample has {steps} steps, not {model.steps}"
    counts = {"distinct": len(found.parents), "generated": found.edges + 1, "depth": found.depth + 1}
    for name, count in counts.items():
        if count != model.expected_counts.get(name, count):
            return f"{name} is {count:,} in Python, not {model.expected_counts[name]:,}"
    return None


def stored(model: Model) -> Counterexample:
    """The counterexample that is kept of a model which must fail."""
    assert model.counterexample_path is not None, model.name
    return from_itf(json.loads(model.counterexample_path.read_bytes()))


def replayed(model: Model, example: Counterexample) -> tuple[Graph, tuple[Edge, ...]]:
    """
    TLC's counterexample as a path in Python, each step by its action and all its variables; the last world violates.

    Raises `Unlike` at the first step that Python cannot take.
    """
    graph = graph_of(model)
    world = graph.initial()
    if (found := values(graph, world)) != example.states[0].variables:
        raise Unlike(f"{model.name}: the first state is {found}, TLC's is {example.states[0].variables}")
    path = []
    for number, state in enumerate(example.states[1:], 1):
        moves = [Edge(*move) for move in graph.moves(world) if move[0] == state.action]
        edge = next((edge for edge in moves if values(graph, edge.target) == state.variables), None)
        if edge is None:
            raise Unlike(f"{model.name}: no {state.action} in Python makes step {number} of TLC's counterexample")
        path.append(edge)
        world = edge.target
    questions = import_module(f"peerproof.spec.{model.protocol}.questions").QUESTIONS
    if model.violated and questions[model.violated](_system(graph).model, graph.cluster(world)):
        raise Unlike(f"{model.name}: {model.violated} holds in Python where TLC's counterexample ends")
    return graph, tuple(path)


def drawn(graph: Graph, path: tuple[Edge, ...]) -> MessageGraph:
    """A path as a message graph, whether it was watched or not."""
    return of_path(_system(graph), graph.bare(path) if isinstance(graph, Monitored) else path)


def values(graph: Graph, world: World) -> Mapping[str, Value]:
    """A world as the variables of the TLA+ module."""
    system = _system(graph)
    memory: dict[str, Value] = {}
    if isinstance(graph, Monitored):
        memory = {name: canonical(value) for name, value in graph.monitor.values(graph.memories[world[0]]).items()}
        world = world[1:]
    count = len(system.places)
    nodes = [dict(zip(system.model.node_variables, _node_values(system, number), strict=True)) for number in world[:count]]
    net = frozenset(system.model.message_value(system.messages[number]) for number in world[count + 1 :])
    variables = {name: canonical(tuple(node[name] for node in nodes)) for name in system.model.node_variables}
    return variables | {"net": canonical(net), "restarts": world[count]} | memory


def _node_values(system: System, number: int) -> tuple[Any, ...]:
    return system.model.node_values(system.states[number])


def _system(graph: Graph) -> System:
    if isinstance(graph, Monitored):
        return graph.system
    assert isinstance(graph, System)
    return graph
