"""
Counterexamples as vectors: the run of one node in a counterexample, with the behaviour of a conforming node.

The events are those of the stored counterexample; the expectations are what the specification does. A model that shows a flaw
gives a vector that implementations with this flaw fail. A model that shows a limit of the protocol itself gives a vector of what
the protocol does instead. Messages still under way to the node when the counterexample ends arrive as well.

A vector covers only what the node's program has and observes (`model.bounded.Model`), so a crash and everything after it are left
out. A node that does not begin in a fresh state is loaded with its first state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from peerproof.conformance.clauses.catalogue import LEVELS, in_order, load
from peerproof.conformance.models.counterexamples import graph_of, is_asked, load_counterexample, replay, system_of
from peerproof.conformance.models.local_steps import possible_outcomes
from peerproof.conformance.models.run_diagram import find_event
from peerproof.conformance.suite.locations import vectors_root
from peerproof.conformance.traces.findings import event_clauses
from peerproof.conformance.vectors.plain_data import open_picks, order, plain_config
from peerproof.conformance.vectors.suite import load_basis
from peerproof.conformance.vectors.vector_text import document
from peerproof.spec.core import Asked, CancelTimer, Expired, Outcome, Received, Send, Sent, SetTimer, Specification, Step
from peerproof.spec.model.bounded import NOW, RESTART, System, in_flight
from peerproof.spec.model.bounded import Model as Bounded
from peerproof.spec.model.run_monitor import Monitored
from peerproof.spec.properties import InFlight
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import Model

#: Below the root of a protocol's vectors.
FILE: Final = "exchange/counterexamples.yaml"

_UNDER_TEST: Final = "node"
_FLAG: Final = "documented-failure"
_NOTES: Final = {
    _FLAG: {
        "kind": "limit",
        "text": "A known limit of the protocol, which the vector documents.",
        "effect": "An implementation that repairs it differs here on purpose.",
    }
}
_PAUSE: Final = 10  #: milliseconds between events that are not timers
_LATER: Final = 1_000_000  #: milliseconds after everything else

#: The queries that show the knowledge of a node, or what the protocol promises about it; each protocol has one of them.
_VIEWS: Final = ("view", "nodes", "leaf_set", "dump")


class OutOfTime(Exception):
    """A timer runs out in the counterexample at a time when, by the clock, another event would come first."""


class _Restarted(NamedTuple):
    """A restart, with the members of the configuration that change."""

    config: dict[str, Any]


class _Event(NamedTuple):
    """An event of the node: one of the specification, at no particular time, or a restart."""

    event: Any
    after: Any  #: the state in the counterexample after it, which determines the choices
    sent: frozenset[InFlight]
    edge: int | None = None  #: the index of its edge in the path; None: a message still under way arrives


class NothingSeen(ValueError):
    """The node's program observes nothing on a path, so no vector can be made of it."""


class PathVector(NamedTuple):
    """The run of one node on a path, as a vector."""

    vector: dict[str, Any]
    edges: tuple[int, ...]  #: of each event, the index of its edge in the path
    checks: tuple[int, ...]  #: of each event, the index of the step of the vector that checks its messages


def text(protocol: str, models: Iterable[Model]) -> str:
    """Renders the file with the vectors of these models' counterexamples."""
    found: dict[str, dict[str, Any]] = {}
    for model in models:
        for vector in vectors_of(model):
            same = found.setdefault(json.dumps([vector["nodes"], vector["steps"]]), vector)
            same["clauses"] = sorted({*same["clauses"], *vector["clauses"]}, key=in_order)
    basis = load_basis(vectors_root(protocol), protocol)
    for vector in found.values():
        vector["clauses"] = sorted(basis.cite(vector["id"], tuple(vector["clauses"])), key=in_order)
        if vector["id"] in basis.weak:
            vector["level"] = "should"
    used = any(_FLAG in vector.get("flags", ()) for vector in found.values())
    about = "Behaviour of each node in the counterexamples of the models. Made by: peerproof model check --rewrite"
    return document(protocol, about, found.values(), _NOTES if used else {})


def vector_models(models: Iterable[Model]) -> list[Model]:
    """Selects models whose counterexamples show something about a node: those with expected counterexamples."""
    relevant = (model for model in models if model.verdict == "invariant" and not model.name.startswith("sometimes-"))
    return [model for model in relevant if is_asked(model) and system_of(graph_of(model)).model.has_nodes]


def vectors_of(model: Model) -> Iterator[dict[str, Any]]:
    """
    Yields a vector for each node that answers an event of the counterexample.

    If the specification itself can take this run, the vectors contain the path, and a flag says that it is not a bug.
    """
    graph, path = replay(model, load_counterexample(model))
    system = system_of(graph)
    bare = graph.bare(path) if isinstance(graph, Monitored) else path
    known = load(model.protocol).items
    scripts = [_Script(system, place, _events(system, place, bare)) for place in range(len(system.places))]
    is_variant = not all(script.is_shown for script in scripts)
    for place, (name, script) in enumerate(zip(system.places, scripts, strict=True)):
        steps = script.steps
        if not any(sent for step in steps if "expect" in step for sent in step["expect"]["messages"].values()):
            continue
        word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        yield {
            "id": f"{model.protocol}/exchange/{model.name.lower()}-node-{word}",
            "rev": 1,
            "title": f"node {name} reacts as specified to the events of the counterexample {model.name}",
            "about": model.question,
            "level": "must",
            "clauses": [clause for clause in model.clauses if (item := known.get(clause)) and item.level == "must"],
            **({} if is_variant else {"flags": [_FLAG]}),
            **({"needs": ["choices.oracle"]} if any("picks" in step for step in steps) else {}),
            "model": {"config": model.configuration.name} | ({} if is_variant else {"path": [edge.label for edge in bare]}),
            "nodes": {_UNDER_TEST: _beginning(system, place, script)},
            "steps": steps,
        }


def vector_of_path(system: System, path: Sequence[Any], place: int, name: str, title: str) -> PathVector:
    """
    Returns the run of one node on a path of a bounded model as a vector, with what the specification itself does.

    `name` ends the vector's id. Raises NothingSeen, and OutOfTime if timers run out that by the clock would not.
    """
    if not system.model.has_nodes:
        raise NothingSeen("the nodes of this model are simpler than those of the protocol: no implementation can begin like them")
    events = [event for event in _events(system, place, path) if event.edge is not None]
    if not events:
        raise NothingSeen("the program of this node observes nothing on this path")
    script, protocol = _Script(system, place, events), system.model.spec.NAME
    if script.has_ties:
        raise OutOfTime("by the clock, another timer runs out at the moment of an event")
    known = load(protocol).items
    cited = dict.fromkeys(clause for event in events for clause in _cited(script.spec, event.event))
    clauses = sorted((clause for clause in cited if clause in known and known[clause].level), key=in_order)
    levels = {str(known[clause].level) for clause in clauses} - {"may"}
    vector = {
        "id": f"{protocol}/exchange/{name}",
        "rev": 1,
        "title": title,
        "level": min(levels, key=LEVELS.index, default="may"),
        "clauses": clauses,
        **({"needs": ["choices.oracle"]} if any("picks" in step for step in script.steps) else {}),
        "nodes": {_UNDER_TEST: _beginning(system, place, script)},
        "steps": script.steps,
    }
    return PathVector(vector, tuple(event.edge for event in events if event.edge is not None), tuple(script.checks))


def _cited(spec: Specification, event: Any) -> tuple[str, ...]:
    """Returns the clauses that the specification's function for an event cites."""
    match event:
        case Received(_, _, message):
            return event_clauses(spec.NAME, "recv", spec.MESSAGE.form.names[type(message)])
        case Expired(_, timer):
            return event_clauses(spec.NAME, "timer", spec.TIMER.names[type(timer)])
        case Asked(_, command):
            return event_clauses(spec.NAME, "api", spec.COMMAND.names[type(command)])
        case Sent():
            return event_clauses(spec.NAME, "sent", "sent")
    return event_clauses(spec.NAME, "start", None)


def _beginning(system: System, place: int, script: _Script) -> dict[str, Any]:
    """Returns the node's configuration, and its first state unless that is a fresh one."""
    spec, (name, first) = _specification(system), system.model.nodes[place]
    state = system.model.project_state(first)
    node = {"addr": name, "config": plain_config(spec, state.config)}
    fresh, effects = spec.initial(name, state.config)
    if state == fresh:
        return node
    due = _due(0, effects) if script.running is None else script.moments()
    timers = [{"timer": spec.TIMER.plain(timer), "due": at} for timer, at in due.items()]
    return node | {"state": spec.STATE.plain(state)} | ({"timers": timers} if timers else {})


def _specification(system: System) -> Specification:
    """Returns the unchanged protocol, whatever variant the model uses."""
    return PROTOCOLS[system.model.spec.NAME].specification.load()


def _events(system: System, place: int, path: Iterable[Any]) -> Iterator[_Event]:
    """Yields the events that the node's program observes in a run, then those of messages still under way to it."""
    world, seen = system.initial(), system.model.project_state
    for number, edge in enumerate(path):
        taken = find_event(system, world, edge)
        assert taken is not None, "the path is one of this system"
        if place in (taken.place, taken.sender):
            before, after = system.states[world[place]], system.states[edge.target[place]]
            sent = frozenset(message for number in taken.sent if (message := system.messages[number]).sender == before.self_id)
            if place == taken.sender and taken.message is not None:
                sending, model = system.messages[taken.message], system.model
                outcome = None if taken.place is None else model.took(sending)
                event = model.project_event(before, Sent(NOW, sending.to, sending.message, outcome))
            else:
                event = _event(system, before, edge.label, taken.message, after, sent)
            if event is not None:
                yield _Event(event, seen(after), _said(system, sent), number)
        world = edge.target
    arriving = (system.messages[number] for number in world[len(system.places) + 1 :] if system.receivers[number] == place)
    yield from _arrivals(system, system.states[world[place]], arriving)


def _arrivals(system: System, whole: Any, messages: Iterable[InFlight]) -> Iterator[_Event]:
    """Yields the arrivals of messages still under way; if the bounds of the model leave out the result, it is left open."""
    is_known, model = True, system.model
    for sender, _, message in messages:
        event = model.project_event(whole, Received(NOW, sender, message))
        if event is None:
            continue
        taken = next((step for _, step in _outcomes(model, model.spec, whole, event)), None) if is_known else None
        is_known = taken is not None
        if taken is None:
            yield _Event(event, None, frozenset())
            continue
        sent = _messages_of(system, whole, taken)
        whole = taken.state
        yield _Event(event, model.project_state(whole), _said(system, sent))


def _said(system: System, messages: Iterable[InFlight]) -> frozenset[InFlight]:
    """Returns the messages that belong to the protocol; a model may have others."""
    names = _specification(system).MESSAGE.form.names
    return frozenset(message for message in messages if type(message.message) in names)


def _event(system: System, before: Any, label: str, message: int | None, after: Any, sent: frozenset[InFlight]) -> Any | None:
    """Returns the event that the node's program observes; None if there is none."""
    if message is not None:
        sender, _, content = system.messages[message]
        return system.model.project_event(before, Received(NOW, sender, content))
    if label == RESTART:
        first = next(system.model.project_state(state) for name, state in system.model.nodes if name == before.self_id)
        configs = (first.config, system.model.configuration_after(before))
        then, now = (system.model.spec.CONFIG.plain(config) for config in configs)
        return _Restarted({name: value for name, value in now.items() if value != then[name]})
    for name, event in system.model.offers(before):
        if name == label and any(
            step.state == after and _messages_of(system, before, step) == sent
            for _, step in _outcomes(system.model, system.model.spec, before, event)
        ):
            return system.model.project_event(before, event)
    raise AssertionError(f"{label} is not a possible event of {before}")


def _outcomes(model: Bounded, spec: Any, state: Any, event: Any) -> list[Outcome[Any, Any]]:
    return possible_outcomes(model.first_moment, partial(spec.step, state, event))


def _messages_of(system: System, before: Any, step: Step[Any, Any]) -> frozenset[InFlight]:
    return frozenset(in_flight(before.self_id, step.effects, system.places))


class _Script:
    """The events of one node as steps of a vector, with what the specification itself does."""

    def __init__(self, system: System, place: int, events: Iterable[_Event]) -> None:
        self.spec = _specification(system)
        self.system = system
        self.seen = system.model.project_state
        self.name, first = system.model.nodes[place]
        self.state = self.seen(first)
        self.config = self.state.config
        fresh, started = self.spec.initial(self.name, self.config)
        self.running = None if self.state == fresh else _running(self.state)
        self.left = set(self.running or ())  #: those of them that have neither run out nor been set again
        self.now, self.due = 0, _due(0, started) if self.running is None else {}
        self.is_shown = True  #: the specification can do what the counterexample shows, except for the network
        self.steps: list[dict[str, Any]] = []
        self.has_ties = False  #: whether another timer runs out at the moment of some event
        self.checks: list[int] = []  #: of each event, the index of the step that checks its messages
        for observed in events:
            timer = observed.event.timer if isinstance(observed.event, Expired) else None
            self.now = self.now + _PAUSE if timer is None or timer in self.left else self.due[timer]
            if self.now > min(self.due.values(), default=self.now):
                raise OutOfTime("there are too many events between two timers")
            self.has_ties = self.has_ties or any(due == self.now for other, due in self.due.items() if other != timer)
            if self.running is not None and timer in self.left:
                self.running[timer] = self.now
                self.left.remove(timer)
            self.due.pop(timer, None)
            effects = self._restart(observed.event) if isinstance(observed.event, _Restarted) else self._take(observed)
            cancelled = {effect.timer for effect in effects if isinstance(effect, CancelTimer)}
            running = {timer: due for timer, due in self.due.items() if timer not in cancelled}
            self.due = running | _due(self.now, effects)
            self.left -= {*cancelled, *self.due}
            self.checks.append(len(self.steps))
            self.steps.append({"expect": {"messages": self._messages(effects)}})
        for view in (view for view in _VIEWS if view in self.spec.QUERIES):
            found = self.spec.QUERIES[view](self.state)
            equals = {"multiset": found} if isinstance(found, list) else found
            self.steps.append({"observe": {"node": _UNDER_TEST, "query": view, "equals": equals}})

    def moments(self) -> dict[Any, int]:
        """Returns the due times of the timers that run in the first state; timers that never run out are last."""
        return {timer: self.now + _LATER if at is None else at for timer, at in (self.running or {}).items()}

    def _restart(self, restarted: _Restarted) -> Iterable[Any]:
        config = self.spec.CONFIG.value({**self.spec.CONFIG.plain(self.config), **restarted.config})
        started, effects = self.spec.initial(self.name, config)
        self.state, self.due, self.left = self.seen(started), {}, set()
        kept = {"config": restarted.config} if restarted.config else {}
        self.steps += [{"at": self.now, "crash": _UNDER_TEST}, {"at": self.now, "restart": _UNDER_TEST} | kept]
        return effects

    def _take(self, observed: _Event) -> Iterable[Any]:
        """Takes the outcome that the counterexample shows, even if its network refuses some of the messages."""
        before, event = self.state, observed.event
        every = _outcomes(self.system.model, self.spec, before, event)
        alike = [taken for taken in every if taken[1].state == observed.after]
        same = [taken for taken in alike if _messages_of(self.system, before, taken[1]) == observed.sent]
        more = [taken for taken in alike if _messages_of(self.system, before, taken[1]) > observed.sent]
        picks, (self.state, effects) = [*same, *more, *every][0]
        self.is_shown = self.is_shown and bool(same or more or observed.after is None)
        step = _step(self.spec, self.now, event)
        if asked := open_picks(partial(self.spec.step, before, event), picks):
            step["picks"] = [{"site": site, "pick": list(answer)} for site, answer in asked]
        self.steps.append(step)
        return effects

    def _messages(self, effects: Iterable[Any]) -> dict[str, Any]:
        """Returns the expected messages; messages to different receivers have no observable order."""
        sends = [effect for effect in effects if isinstance(effect, Send)]
        messages = [{"to": send.to, "bytes": self.spec.MESSAGE.encode(send.message).hex()} for send in sends]
        return {order(self.spec, [send.to for send in sends]): messages}


def _running(state: Any) -> dict[Any, int | None] | None:
    """Returns the running timers of a state, if the protocol's states hold timers; their due times are unknown."""
    timers = getattr(state, "timers", None)
    return None if timers is None else dict.fromkeys(sorted(timers, key=str))


def _due(now: int, effects: Iterable[Any]) -> dict[Any, int]:
    return {effect.timer: now + effect.after for effect in effects if isinstance(effect, SetTimer)}


def _step(spec: Any, now: int, event: Any) -> dict[str, Any]:
    match event:
        case Received(_, sender, message):
            return {"at": now, "send": {"from": sender, "to": _UNDER_TEST, "bytes": spec.MESSAGE.encode(message).hex()}}
        case Sent(_, to, message, took):
            outcome = {"failed": True} if took is None else {"took": took}
            return {"at": now, "sent": {"node": _UNDER_TEST, "to": to, "bytes": spec.MESSAGE.encode(message).hex()} | outcome}
        case Asked(_, command):
            args = dict(spec.COMMAND.plain(command))
            return {"at": now, "call": {"node": _UNDER_TEST, "op": args.pop("type"), "args": args}}
        case Expired():
            return {"at": now, "advance": _UNDER_TEST}
    raise TypeError(f"{event!r} is not an event")
