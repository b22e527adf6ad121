"""
Counterexamples as vectors: the run of one node in them, and what a node that conforms does in it.

The events are those of the stored counterexample; what is expected of them is what the specification does. So a model that
shows a flaw gives a vector that who has the flaw fails; and one that shows what the protocol itself cannot do gives
a vector that holds what it does instead. What is under way to the node when the counterexample ends arrives as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple

from peerproof.conformance.clauses import load
from peerproof.conformance.counterexamples import is_asked, replayed, stored, system_of
from peerproof.conformance.coverage import in_order
from peerproof.conformance.local_steps import open_picks
from peerproof.conformance.message_graph import happened
from peerproof.conformance.vector_text import document
from peerproof.spec.core import Asked, Expired, Received, Send, SetTimer, Step, outcomes
from peerproof.spec.monitor import Monitored
from peerproof.spec.properties import InFlight
from peerproof.spec.world import NOW, RESTART, System, World
from peerproof.tla.manifest import Model

#: Below the root of a protocol's vectors.
FILE: Final = "exchange/counterexamples.yaml"

_UNDER_TEST: Final = "node"
_FLAG: Final = "documented-failure"
_NOTES: Final = {
    _FLAG: {
        "kind": "limit",
        "text": "What the protocol does not achieve, shown as it is.",
        "effect": "An implementation that repairs it differs here on purpose.",
    }
}
_PAUSE: Final = 10  #: milliseconds between events that are not timers


class _Event(NamedTuple):
    """What happens to the node: an event of the specification at no particular time, or None for a restart."""

    event: Any | None
    after: Any  #: the state that the counterexample has then, which tells the draws
    sent: frozenset[InFlight]


def text(protocol: str, models: Iterable[Model]) -> str:
    """The file of the vectors of these models' counterexamples."""
    found: dict[str, dict[str, Any]] = {}
    for model in models:
        for vector in vectors_of(model):
            same = found.setdefault(json.dumps([vector["nodes"], vector["steps"]]), vector)
            same["clauses"] = sorted({*same["clauses"], *vector["clauses"]}, key=in_order)
    used = any(_FLAG in vector.get("flags", ()) for vector in found.values())
    about = "What a node does in the runs that break what one would expect. Made by: peerproof model-check --rewrite"
    return document(protocol, about, found.values(), _NOTES if used else {})


def chosen(models: Iterable[Model]) -> list[Model]:
    """The models whose counterexamples say something about a node: those of what one would expect, and what is false."""
    telling = (model for model in models if model.verdict == "invariant" and not model.name.startswith("sometimes-"))
    return [model for model in telling if is_asked(model)]


def vectors_of(model: Model) -> Iterator[dict[str, Any]]:
    """A vector for each node to which something happens that it answers."""
    graph, path = replayed(model, stored(model))
    system = system_of(graph)
    bare = graph.bare(path) if isinstance(graph, Monitored) else path
    known = load(model.protocol).items
    for place, name in enumerate(system.places):
        steps = _steps(system, place, list(_events(system, place, bare)))
        if not any(_sends(step) for step in steps):
            continue
        is_variant = bool(model.replace)
        yield {
            "id": f"{model.protocol}/exchange/{model.name.lower()}-node-{name.lower()}",
            "rev": 1,
            "title": f"node {name} in the counterexample of {model.violated}",
            "about": model.question,
            "level": "must",
            "clauses": [clause for clause in model.clauses if (item := known.get(clause)) and item.level == "must"],
            **({} if is_variant else {"flags": [_FLAG]}),
            **({"needs": ["choices.oracle"]} if any("picks" in step for step in steps) else {}),
            "model": {"config": model.configuration.name} | ({} if is_variant else {"path": [edge.label for edge in bare]}),
            "nodes": {_UNDER_TEST: _configured(system, place)},
            "steps": steps,
        }


def _sends(step: dict[str, Any]) -> bool:
    return bool(step.get("expect", {}).get("messages", {}).get("ordered"))


def _configured(system: System, place: int) -> dict[str, Any]:
    name, state = system.model.nodes[place]
    form = system.model.spec.CONFIG
    usual = form.plain(form.kind())
    return {"addr": name, "config": {key: value for key, value in form.plain(state.config).items() if value != usual[key]}}


def _events(system: System, place: int, path: Iterable[Any]) -> Iterator[_Event]:
    """What happens to one node in a run, and then what is still under way to it."""
    world = system.initial()
    for edge in path:
        taken = happened(system, world, edge)
        assert taken is not None, "the path is one of this system"
        if taken.place == place:
            after, sent = system.states[edge.target[place]], frozenset(system.messages[number] for number in taken.sent)
            yield _Event(_event(system, world, place, edge.label, taken.message, after, sent), after, sent)
        world = edge.target
    for number in world[len(system.places) + 1 :]:
        if system.receivers[number] == place:
            sender, _, message = system.messages[number]
            yield _Event(Received(NOW, sender, message), None, frozenset())


def _event(
    system: System, world: World, place: int, label: str, message: int | None, after: Any, sent: frozenset[InFlight]
) -> Any | None:
    if message is not None:
        sender, _, content = system.messages[message]
        return Received(NOW, sender, content)
    if label == RESTART:
        return None
    before = system.states[world[place]]
    for name, event in system.model.offers(before):
        if name == label and any(_is(before, step, after, sent) for _, step in _outcomes(system.model.spec, before, event)):
            return event
    raise AssertionError(f"{label} is nothing that can happen to {before}")


def _outcomes(spec: Any, state: Any, event: Any) -> Iterable[tuple[Any, Step[Any, Any]]]:
    return outcomes(partial(spec.step, state, event))


def _is(before: Any, step: Step[Any, Any], after: Any, sent: Collection[InFlight]) -> bool:
    sends = {InFlight(before.self_id, effect.to, effect.message) for effect in step.effects if isinstance(effect, Send)}
    return step.state == after and sends == sent


def _steps(system: System, place: int, events: list[_Event]) -> list[dict[str, Any]]:
    """The vector's steps, with what the specification itself does."""
    name, first = system.model.nodes[place]
    spec = import_module(f"peerproof.spec.{system.model.spec.NAME}")
    state, effects = spec.initial(name, first.config)
    now, due = 0, _due(0, effects)
    steps: list[dict[str, Any]] = []
    for happening in events:
        event = happening.event
        now = due[event.timer] if isinstance(event, Expired) else now + _PAUSE
        assert now <= min(due.values()), "so many events do not fit between two timers"
        if event is None:
            state, effects = spec.initial(name, first.config)
            steps += [{"at": now, "crash": _UNDER_TEST}, {"at": now, "restart": _UNDER_TEST}]
            due = _due(now, effects)
        else:
            picks, (after, effects) = _taken(spec, state, happening)
            step = _step(spec, now, event)
            if asked := open_picks(partial(spec.step, state, event), picks):
                step["picks"] = [{"site": site, "pick": list(answer)} for site, answer in asked]
            steps.append(step)
            state = after
            due |= _due(now, effects)
        sends = [
            {"to": effect.to, "bytes": spec.MESSAGE.encode(effect.message).hex()}
            for effect in effects
            if isinstance(effect, Send)
        ]
        steps.append({"expect": {"messages": {"ordered": sends}}})
    view: Callable[[Any], Any] | None = spec.QUERIES.get("view")
    if view:
        steps.append({"observe": {"node": _UNDER_TEST, "query": "view", "equals": {"multiset": view(state)}}})
    return steps


def _due(now: int, effects: Iterable[Any]) -> dict[Any, int]:
    return {effect.timer: now + effect.after for effect in effects if isinstance(effect, SetTimer)}


def _taken(spec: Any, state: Any, happening: _Event) -> tuple[Any, Step[Any, Any]]:
    """What the specification does; among what it may do, what the counterexample shows if that is among it."""
    every = [(picks, step) for picks, step in _outcomes(spec, state, happening.event)]
    return next(((picks, step) for picks, step in every if _is(state, step, happening.after, happening.sent)), every[0])


def _step(spec: Any, now: int, event: Any) -> dict[str, Any]:
    match event:
        case Received(_, sender, message):
            send = {"from": sender, "to": _UNDER_TEST, "bytes": spec.MESSAGE.encode(message).hex()}
            return {"at": now, "send": send}
        case Asked(_, command):
            args = dict(spec.COMMAND.plain(command))
            return {"at": now, "call": {"node": _UNDER_TEST, "op": args.pop("type"), "args": args}}
        case Expired():
            return {"at": now, "advance": _UNDER_TEST}
    raise TypeError(f"{event!r} is no event")
