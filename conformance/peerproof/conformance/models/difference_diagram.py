"""The nearest difference of two state graphs as a diagram: a shortest path to it, and the step that only one side takes there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from peerproof.conformance.diagrams.message_graph import MessageGraph, Note
from peerproof.conformance.models.graph_comparison import Difference, Found, Unknown, canonical
from peerproof.conformance.models.run_diagram import describe_start, node_names, of_path, plain_changes, plain_content, value_text
from peerproof.conformance.suite.printable import count_text
from peerproof.spec.model.bounded import System, World
from peerproof.spec.model.exploration import Exploration
from peerproof.tla.output.values import Function, order


def draw_difference(exploration: Exploration, differences: Sequence[Difference]) -> list[str]:
    """
    Draws a shortest path to the differences of one state (`Comparison.nearest`) as a message graph, line by line.

    Below it stands the first step that only one side takes from there, and the step of the other side that is most like it, each
    with its changes. What the other side changes in the same way has the same lines.
    """
    system, first = exploration.system, differences[0]
    path = exploration.path(first.source) if first.source else ()
    graph = of_path(system, path)
    steps = [first, *_counterpart(system, differences)]
    notes = [Note("", f"from here: {_counts(differences)}" if first.source else f"initial states: {_counts(differences)}")]
    for step, other in zip(steps, reversed(steps), strict=True):
        number = f"{len(path) + 1}. " if step.source else ""
        many = "" if step.times == 1 else f", {step.times} times"
        notes.append(Note("", f"{number}{step.label}, in {step.side} only{many}:"))
        notes += _changes(system, step, other) or [Note("", "nothing changes")]
    drawn = MessageGraph(graph.participants, (*graph.happenings, *notes)).text().splitlines()
    return [*describe_start(system), *drawn]


def _counts(differences: Sequence[Difference]) -> str:
    counts = Counter[str]()
    for one in differences:
        counts[one.side] += one.times
    what = "step" if differences[0].source else "state"
    return ", ".join(f"{count_text(counts[side], what)} in {side} only" for side in ("TLA+", "Python"))


def _counterpart(system: System, differences: Sequence[Difference]) -> list[Difference]:
    """Returns the difference of the other side that is most like the first one, if there is any."""
    first, others = differences[0], [one for one in differences if one.side != differences[0].side]
    notes = set(_changes(system, first, first))
    return sorted(others, key=lambda one: (one.label != first.label, -len(notes & set(_changes(system, one, one)))))[:1]


class _State(NamedTuple):
    """A state as values of the variables, in a form that is the same for both sides."""

    nodes: tuple[tuple[Any, ...], ...]  #: of each node, the values of its variables
    restarts: Any
    messages: Counter[Any]  #: under way, `<<from, to, ...>>`


def _changes(system: System, step: Difference, other: Difference) -> list[Note]:
    """Renders what a step changes: at each node, and of the messages under way. Initial states are compared with each other."""
    form = step.source or system.initial()
    start = system.initial() if step is other else other.target
    before, after = (_state(system, found, form) for found in (step.source or start, step.target))
    names, notes = node_names(system), list[Note]()
    for name, old, new in zip(names, before.nodes, after.nodes, strict=True):
        changed = [text for change in zip(system.model.node_variables, old, new, strict=True) for text in _texts(system, *change)]
        notes += [Note(name, ", ".join(changed))] if changed else []
    if before.restarts != after.restarts:
        notes.append(Note("", f"restarts = {value_text(after.restarts)}"))
    by_value = dict(zip(system.model.names, names, strict=True))
    gone, new_ones = ("no longer under way", "sent") if step.source else ("not under way", "under way")
    for what, messages in ((gone, before.messages - after.messages), (new_ones, after.messages - before.messages)):
        for message in sorted(messages.elements(), key=order):
            sender, to = (by_value.get(end, value_text(end)) for end in message[:2])
            notes.append(Note(sender, f"{what} to {to}: {_content(system, message)}"))
    return notes


def _texts(system: System, name: str, was: Any, now: Any) -> list[str]:
    """Renders the changes of a variable as the model does; in the common form if the model does not know such values."""
    if was == now:
        return []
    try:
        texts = system.model.change_texts(name, was, now)
        return list(plain_changes(name, was, now) if texts is None else texts)
    except (TypeError, ValueError, LookupError, AttributeError):
        return list(plain_changes(name, was, now))


def _content(system: System, message: Any) -> str:
    try:
        text: str | None = system.model.content_text(message)
    except (TypeError, ValueError, LookupError, AttributeError):
        text = None
    return plain_content(message) if text is None else text


def _state(system: System, found: Found, form: World) -> _State:
    """Returns a state of either side; the values of `form` tell which tuples of TLC are functions."""
    model, count = system.model, len(system.places)
    world = form if isinstance(found, Unknown) else found
    nodes = [model.node_values(system.states[number]) for number in world[:count]]
    if not isinstance(found, Unknown):
        own = tuple(tuple(_in_form(value, value) for value in values) for values in nodes)
        return _State(own, world[count], Counter(_messages(system, system.net_value(world[count + 1 :]))))
    variables = [_rows(found.variables[name]) for name in model.node_variables]
    of_tla = [
        tuple(_in_form(variable[name], value) for variable, value in zip(variables, values, strict=True))
        for name, values in zip(model.names, nodes, strict=True)
    ]
    return _State(tuple(of_tla), found.variables["restarts"], Counter(_messages(system, found.variables["net"])))


def _messages(system: System, net: Any) -> Iterator[Any]:
    """Yields the messages of the variable `net`: its elements, or in an ordered network those of its queues."""
    for element in net:
        if system.network.is_ordered:
            sender, to, queue = element
            yield from ((sender, to, *content) for content in queue)
        else:
            yield element


def _in_form(value: Any, form: Any) -> Any:
    """Converts functions to dictionaries in a value of either side; TLC prints one on 1..n as a tuple, and `form` tells which."""
    if isinstance(value, (Mapping, Function)) or (isinstance(value, tuple) and isinstance(form, Mapping)):
        rows, forms = _rows(value), form if isinstance(form, Mapping) else {}
        return {key: _in_form(rows[key], forms.get(key)) for key in sorted(rows, key=order)}
    return canonical(value)


def _rows(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    return dict(value.rows if isinstance(value, Function) else enumerate(value, 1))
