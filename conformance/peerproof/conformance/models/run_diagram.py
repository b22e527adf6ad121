"""A run of a bounded model as a sequence diagram: its steps, the messages under way, and the changes at each node."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note
from peerproof.spec.model.bounded import FAIL, LOSE, RECEIVE, RECEIVE_AGAIN, RESTART, System, World
from peerproof.spec.model.exploration import Edge
from peerproof.tla.output.values import Function


def of_path(system: System, path: Iterable[Edge], without: Collection[str] = ()) -> MessageGraph:
    """
    Draws a run of the explorer, its steps numbered, in the terms of the protocol's model.

    A message is drawn where it arrives, is lost, or fails. If it was not sent in the step before, its label has the step in which
    it was sent. Messages under way at the end are listed, unless `without` has `net`. Under each step stand the changes at its
    node, except members named in `without`. An edge that is none of the system's is described by its changes. A model may render
    the content of messages (`content_text`) and changes of variables (`change_texts`) in its own way.
    """
    return MessageGraph(node_names(system), tuple(_happenings(system, path, without)))


def describe_start(system: System) -> list[str]:
    """Returns a line for each node that does not begin as a new node: what it has already."""
    lines = []
    for place, number in zip(system.places, system.initial(), strict=False):
        state = system.states[number]
        fresh, _ = system.model.spec.initial(place, state.config)
        new = replace(state, **{field.name: getattr(fresh, field.name) for field in fields(fresh)})
        both = zip(system.model.node_variables, *map(system.model.node_values, (new, state)), strict=True)
        changed = ", ".join(text for name, was, now in both for text in plain_changes(name, was, now))
        if changed:
            lines.append(f"{system.model.node_text(place)} begins with {changed}")
    return lines


def node_names(system: System) -> tuple[str, ...]:
    """Returns the name of each node, as texts and diagrams have it."""
    return tuple(map(system.model.node_text, system.places))


class Happened(NamedTuple):
    """The event of an edge: the place of a node, the message that arrives or is lost, and the messages sent."""

    place: int | None
    message: int | None
    sent: tuple[int, ...] = ()
    sender: int | None = None  #: the sender of a message over a connection, which learns its outcome in the same step


class Sendings:
    """
    The steps in which messages were sent.

    In an ordered network equal messages can be under way at the same time, and the one sent first arrives first. Elsewhere a
    message that is sent again is the same one, sent in the later step.
    """

    def __init__(self, is_ordered: bool) -> None:
        self._is_ordered = is_ordered
        self._steps: defaultdict[int, deque[int]] = defaultdict(deque)

    def add(self, messages: Iterable[int], step: int) -> None:
        """Records that messages were sent in a step."""
        for message in messages:
            self._steps[message].append(step)

    def of(self, message: int) -> int | None:
        """Returns the step in which the arriving message was sent; None if it was under way from the start."""
        steps = self._steps[message]
        if not steps:
            return None
        return steps.popleft() if self._is_ordered else steps[-1]


def _happenings(system: System, path: Iterable[Edge], without: Collection[str]) -> Iterator[Arrow | Note]:
    world, names = system.initial(), node_names(system)
    sent = Sendings(system.network.is_ordered)
    for number, edge in enumerate(path, 1):
        taken = find_event(system, world, edge)
        if taken is None:
            yield from _foreign(system, number, world, edge)
            world = edge.target
            continue
        if taken.message is not None:
            yield _arrow(system, number, edge.label, taken.message, sent.of(taken.message))
        elif taken.place is not None:
            command = _command_text(system, world, edge.target, taken.place)
            yield Note(names[taken.place], f"{number}. {edge.label}{command}")
        for place in dict.fromkeys((taken.place, taken.sender)):
            if place is not None and (changed := changes(system, world, edge.target, place, without)):
                yield Note(names[place], changed)
        sent.add(taken.sent, number)
        world = edge.target
    for message in () if "net" in without else world[len(system.places) + 1 :]:
        sender, to = ends(system, message)
        step = sent.of(message)
        when = "" if step is None else f", sent in {step}"
        yield Note(sender, f"still under way to {to}{when}: {message_content(system, message)}")


def _command_text(system: System, before: World, after: World, place: int) -> str:
    """Renders the pending command of its application that a node has executed in a step, such as `: crash`; empty if none."""
    old, new = ([*getattr(system.states[world[place]], "todo", ())] for world in (before, after))
    done = old[: len(old) - len(new)] if old[len(old) - len(new) :] == new else [todo for todo in old if todo not in new]
    return "".join(f": {system.model.command_text(todo)}" for todo in done)


def _arrow(system: System, number: int, label: str, message: int, sent: int | None) -> Arrow:
    sender, to = ends(system, message)
    remarks = ["once more"] if label == RECEIVE_AGAIN else []
    remarks += [f"sent in {sent}"] if sent is not None and sent != number - 1 else []
    remark = f" ({', '.join(remarks)})" if remarks else ""
    return Arrow(sender, to, f"{number}. {message_content(system, message)}{remark}", lost=label in (LOSE, FAIL))


def ends(system: System, message: int) -> tuple[str, str]:
    """Returns the names of the sender and the receiver of a message, by its number."""
    sender, to, _ = system.messages[message]
    return system.model.node_text(sender), system.model.node_text(to)


def message_content(system: System, message: int) -> str:
    """Renders a message under way, by its number, on one line."""
    value = system.model.message_value(system.messages[message])
    text: str | None = system.model.content_text(value)
    return plain_content(value) if text is None else text


def plain_content(value: Any) -> str:
    """Renders the content of a message under way, `<<from, to, ...>>`, on one line, in the form that is common to all models."""
    _, _, *parts = value
    return " ".join(map(_part_text, parts))


def _part_text(part: Any) -> str:
    if not isinstance(part, tuple):
        return value_text(part)
    return f"[{', '.join(' '.join(map(value_text, item)) if isinstance(item, tuple) else value_text(item) for item in part)}]"


def _foreign(system: System, number: int, world: World, edge: Edge) -> Iterator[Note]:
    yield Note("", f"{number}. {edge.label}")
    for place, name in enumerate(node_names(system)):
        if changed := changes(system, world, edge.target, place):
            yield Note(name, changed)
    count = len(system.places) + 1
    before, after = set(world[count:]), set(edge.target[count:])
    for what, messages in (("no longer under way", before - after), ("sent", after - before)):
        for message in sorted(messages):
            sender, to = ends(system, message)
            yield Note(sender, f"{what} to {to}: {message_content(system, message)}")


def find_event(system: System, world: World, edge: Edge) -> Happened | None:
    """Returns the first event that makes this edge; None if the system has no such edge."""
    return next((taken for taken, made in possible_events(system, world) if made == edge), None)


def possible_events(system: System, world: World) -> Iterator[tuple[Happened, Edge]]:
    """Yields every event in a state with its edge; bounds are ignored, because the edge that is looked for exists."""
    count, with_messages = len(system.places), system.network.with_messages
    nodes, restarts, net = world[:count], world[count], world[count + 1 :]
    for place, node in enumerate(nodes):
        before, behind = nodes[:place], nodes[place + 1 :]
        for label, branch in system.local(node):
            made = (*before, branch.state, *behind, restarts, *with_messages(net, branch.sent))
            yield Happened(place, None, branch.sent), Edge(label, made)
        if restarts:
            yield Happened(place, None), Edge(RESTART, (*before, system.restart(node), *behind, restarts - 1, *net))
    for index, message in enumerate(net):
        if not system.network.is_first(net, index):
            continue
        rest = net[:index] + net[index + 1 :]
        place = system.receivers[message]
        if system.model.faults.connections:
            for label, after, sent in system.exchanges(nodes, message):
                taken = Happened(None if label == FAIL else place, message, sent, sender=system.senders[message])
                yield taken, Edge(label, (*after, restarts, *with_messages(rest, sent)))
            continue
        for branch in system.receive(nodes[place], message):
            after = (*nodes[:place], branch.state, *nodes[place + 1 :], restarts)
            taken = Happened(place, message, branch.sent)
            yield taken, Edge(RECEIVE, after + with_messages(rest, branch.sent))
            yield taken, Edge(RECEIVE_AGAIN, after + with_messages(net, branch.sent))
        yield Happened(None, message), Edge(LOSE, (*nodes, restarts, *rest))


def changes(system: System, before: World, after: World, place: int, without: Collection[str] = ()) -> str:
    """Renders the changes at one node on one line, except members named in `without`; empty if there are none."""
    old, new = system.states[before[place]], system.states[after[place]]
    values = system.model.node_values
    both = zip(system.model.node_variables, values(old), values(new), strict=True)
    found: list[str] = []
    for name, was, now in both:
        if was != now and name not in without:
            texts = system.model.change_texts(name, was, now)
            found += plain_changes(name, was, now, without) if texts is None else texts
    return ", ".join(found)


def plain_changes(name: str, was: Any, now: Any, without: Collection[str] = ()) -> Iterator[str]:
    """Yields the changes of a variable, member by member, in the form that is common to all models."""
    if was == now or name.rpartition(".")[2] in without:
        return
    if not (isinstance(was, Mapping) and isinstance(now, Mapping)):
        yield f"{name} = {value_text(_omit_members(now, without))}"
        return
    for key in dict.fromkeys([*was, *now]):
        part = f"{name}.{key}" if isinstance(key, str) else f"{name}[{value_text(key)}]"
        if key not in now:
            yield f"{part} is gone"
        elif key not in was:
            yield f"{part} = {value_text(_omit_members(now[key], without))}"
        else:
            yield from plain_changes(part, was[key], now[key], without)


def _omit_members(value: Any, without: Collection[str]) -> Any:
    match value:
        case Mapping():
            return {key: _omit_members(part, without) for key, part in value.items() if key not in without}
        case tuple():
            return tuple(_omit_members(part, without) for part in value)
    return value


def value_text(value: Any) -> str:
    """
    Renders a value of a model, or of TLC, on one line.

    >>> value_text({1: {"version": 1, "pairs": frozenset({("a", "x", 1)})}})
    '{1: {version: 1, pairs: {(a, x, 1)}}}'
    """
    match value:
        case Mapping() | Function():
            rows = value.items() if isinstance(value, Mapping) else value.rows
            return "{" + ", ".join(f"{value_text(key)}: {value_text(part)}" for key, part in rows) + "}"
        case frozenset():
            return "{" + ", ".join(sorted(map(value_text, value))) + "}"
        case tuple():
            return "(" + ", ".join(map(value_text, value)) + ")"
    return str(value)
