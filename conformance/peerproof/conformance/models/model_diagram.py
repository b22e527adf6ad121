"""How a model fails that must fail, as a message graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note
from peerproof.conformance.models import timed_runs
from peerproof.conformance.models.counterexamples import (
    ask_explorer,
    draw_path,
    is_asked,
    load_counterexample,
    replay,
    variants_of,
)
from peerproof.conformance.models.run_diagram import value_text
from peerproof.spec.model.bounded import FAIL
from peerproof.tla.manifest import Model
from peerproof.tla.output.counterexample import Counterexample, TraceState
from peerproof.tla.output.values import Function, Value


@dataclass(frozen=True)
class Failing:
    """The run in which a model fails."""

    graph: MessageGraph
    steps: int
    ends: str  #: what comes then, as the end of a sentence

    @property
    def length(self) -> str:
        """How long it takes, as part of a sentence."""
        return f"in {pluralize(self.steps, 'step')}{self.ends}"


def failing(model: Model, without: Collection[str] = ()) -> Failing:
    """
    How a model fails that must fail: in the shortest run where the explorer finds one, else as TLC's kept counterexample does.

    Nodes are drawn without members called as in `without`. Raises OSError if the counterexample is not there, and Unlike.
    """
    if not is_answered(model):
        return of_run(model, load_counterexample(model), without)
    answer = ask_explorer(model)
    ends = f", then for ever within {pluralize(answer.trap.size, 'state')}" if answer.trap else ""
    return Failing(draw_path(answer.graph, answer.path, without), len(answer.path), ends)


def is_answered(model: Model) -> bool:
    """
    Whether the explorer's run is the one to draw.

    Of what it and TLC both find at the same depth, TLC's run is the one that is kept.
    """
    only_tlc = timed_runs.has(model.module) or not is_walked(model)
    return not only_tlc and is_asked(model) and not (model.by == "tlc" and model.verdict == "invariant")


def of_run(model: Model, example: Counterexample, without: Collection[str] = ()) -> Failing:
    """A run that TLC has found. Raises Unlike if the Python specification does not do what it does."""
    if timed_runs.has(model.module):
        ends = ", and then nothing happens" if example.stutters else after(example.loop)
        return Failing(timed_runs.draw_run(model.module, model.configuration.constants, example.states), example.steps, ends)
    if not is_walked(model):
        return Failing(draw_trace(example.states, without), example.steps, "")
    graph, path = replay(model, example)
    return Failing(draw_path(graph, path, without), len(path), after(example.loop))


def after(loop: int | None) -> str:
    """What comes after a run that goes on as it did from a step on."""
    return "" if loop is None else f", then again and again from after step {loop}"


def pluralize(number: int, what: str) -> str:
    """So many of something, as one says it."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def is_walked(model: Model) -> bool:
    """Whether the model's runs are some of the Python specification's bounded worlds; the others TLC alone has."""
    return model.behaviour in variants_of(model.protocol).BEHAVIOURS


def draw_trace(run: tuple[TraceState, ...], without: Collection[str]) -> MessageGraph:
    """A run as TLC has it: of nodes and the messages under way, or of one message on its way through a ring."""
    first = run[0].variables
    if "net" in first:
        nodes = [node for node, _ in _rows(first["up"])]
        happenings = [each for number in range(1, len(run)) for each in _step(number, run[number - 1], run[number], without)]
        return MessageGraph(tuple(map(str, nodes)), tuple(happenings))
    hops = run[-1].variables["path"]
    assert isinstance(hops, tuple)
    key, ends = value_text(first["key"]), run[-1].variables["done"]
    ring = tuple(map(str, sorted(first["ring"])))
    arrows = [Arrow(str(one), str(other), f"{n}. key {key}") for n, (one, other) in enumerate(pairwise(hops), 1)]
    return MessageGraph(ring, (*arrows, Note(str(hops[-1]), f"{'delivers' if ends else 'has'} key {key}")))


def _step(number: int, before: TraceState, after: TraceState, without: Collection[str]) -> Iterator[Arrow | Note]:
    old, new = before.variables, after.variables
    gone, sent = (_messages(one["net"]) - _messages(other["net"]) for one, other in ((old, new), (new, old)))
    if gone and all(str(message[2]) == str(other[2]) and message[:2] == other[:2] for message in gone for other in sent) and sent:
        (message,) = sent
        yield Note(str(message[0]), f"{number}. {after.action}: {' '.join(map(value_text, message[2:]))}")
    elif gone:
        (message,) = gone
        text = " ".join(map(value_text, message[2:]))
        yield Arrow(str(message[0]), str(message[1]), f"{number}. {text}", lost=after.action == FAIL)
    else:
        yield Note("", f"{number}. {after.action}")
    told = [name for name in new if name not in without and name not in ("net", "restarts")]
    rows = {name: (dict(_rows(old[name])), _rows(new[name])) for name in told}
    for node, _ in _rows(new["up"]):
        changed = [f"{name} = {value_text(dict(now)[node])}" for name, (was, now) in rows.items() if was[node] != dict(now)[node]]
        if changed:
            yield Note(str(node), ", ".join(changed))


def _messages(net: Value) -> frozenset[Any]:
    assert isinstance(net, frozenset)
    return net


def _rows(function: Value) -> tuple[tuple[Any, Value], ...]:
    """What a function on nodes says of each."""
    assert isinstance(function, Function)
    return tuple(function.rows)
