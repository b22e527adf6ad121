"""
Message graphs: who told whom what, and what happened at whose place, for a terminal, as a Mermaid sequence diagram or as SVG.

Vectors, failures, counterexamples and differences between graphs are all drawn here: each is a `MessageGraph` first.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Final, NamedTuple

from peerproof.spec.explore import Edge
from peerproof.spec.world import FAIL, LOSE, RECEIVE, RECEIVE_AGAIN, RESTART, System, World
from peerproof.tla.values import Function

#: What a label begins with if it is what is wrong.
MARK: Final = "✗ "


class Arrow(NamedTuple):
    """A datagram, or another message, from one to another."""

    source: str
    target: str
    label: str
    judged: bool = False  #: an expectation, not an input
    lost: bool = False  #: it never arrives


class Note(NamedTuple):
    """Something that happens at a node, or at all of them (an empty name)."""

    node: str
    label: str


@dataclass(frozen=True)
class MessageGraph:
    """Participants from left to right, and what happens, in order."""

    participants: tuple[str, ...]
    happenings: tuple[Arrow | Note, ...]

    def text(self) -> str:
        """For a terminal, a line for each happening: `->` is a datagram, `-x` a lost one, `=>` an expected one."""
        width = max(map(len, self.participants), default=0)
        lines = []
        for happening in self.happenings:
            match happening:
                case Arrow(source, target, label, judged, lost):
                    sign = "-x" if lost else "=>" if judged else "->"
                    lines.append(f"{source:>{width}} {sign} {target:{width}}  {label}")
                case Note(node, label):
                    lines.append(f"{node:>{width}}  . {'':{width}}  {label}")
        return "\n".join(line.rstrip() for line in lines)

    def mermaid(self) -> str:
        """A Mermaid sequence diagram: dashed arrows are expected, a cross at the end is a loss."""
        lines = ["sequenceDiagram", *(f"    participant {self._alias(name)} as {_escaped(name)}" for name in self.participants)]
        for happening in self.happenings:
            match happening:
                case Arrow(source, target, label, judged, lost):
                    arrow = _MERMAID_ARROWS[judged, lost]
                    lines.append(f"    {self._alias(source)}{arrow}{self._alias(target)}: {_escaped(label)}")
                case Note(node, label):
                    ends = [node] if node else [self.participants[0], self.participants[-1]]
                    over = ",".join(dict.fromkeys(map(self._alias, ends)))
                    lines.append(f"    Note over {over}: {_escaped(label)}")
        return "\n".join(lines)

    def svg(self, title: str = "Message graph", name: str = "graph") -> str:
        """
        A picture, as a file or within a page that has no other of this `name`: dashed arrows are expected, a cross is a loss.

        A page sets its colours by `color`, and by `--graph-wrong` for what begins with `MARK`.
        """
        from peerproof.conformance import svg  # it draws what is defined here

        return svg.drawn(self, title, name)

    def _alias(self, name: str) -> str:
        """Mermaid takes no colon in a participant's name."""
        return f"p{self.participants.index(name)}"


_MERMAID_ARROWS: Final = {(False, False): "->>", (True, False): "-->>", (False, True): "-x", (True, True): "--x"}


#: Mermaid breaks no lines by itself, and a picture with one long line is a small one.
_MERMAID_WIDTH: Final = 60

#: What ends a label, breaks its line, begins a directive or a formula, or is what Mermaid itself has in place of `#` and `;`.
_MERMAID_SIGNS: Final = {ord(sign): f"#{ord(sign)};" for sign in "#;<%$ﬂ¶"}

#: Words that say something of the label, or let Mermaid drop a semicolon, if a colon comes after them.
_MERMAID_WORDS: Final = re.compile(r"^(no)?wrap:|style|classDef")


def _escaped(label: str) -> str:
    shown = visible(label).strip()
    signs = _MERMAID_SIGNS | ({ord(":"): "#58;"} if _MERMAID_WORDS.search(shown) else {})
    lines = wrap(shown, _MERMAID_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "<br/>".join(line.translate(signs) for line in lines)


def visible(text: str) -> str:
    """A text with whatever would not be seen, or would change how the rest is seen, written out."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\u{{{ord(c):x}}}" for c in text)


def shortened(message: Any) -> str:
    """A message in plain form, on one line: its type, then its fields without their names."""
    if not isinstance(message, Mapping) or "type" not in message:
        return plain_text(message)
    fields = (value for name, value in message.items() if name != "type")
    return " ".join([str(message["type"]), *(_field(field) for field in fields)])


def _field(value: Any) -> str:
    if isinstance(value, list):
        items = (" ".join(map(plain_text, item.values())) if isinstance(item, Mapping) else plain_text(item) for item in value)
        return f"[{', '.join(items)}]"
    return plain_text(value)


def plain_text(value: Any) -> str:
    """A plain value on one line, a text without its quotes."""
    match value:
        case str():
            return value
        case {"u64": str() as digits}:
            return digits
    return json.dumps(value, ensure_ascii=False)


def of_path(system: System, path: Iterable[Edge], without: Collection[str] = ()) -> MessageGraph:
    """
    A run of the explorer, its steps numbered, in the terms of the protocol's model.

    A message is drawn where it arrives, or is lost, or fails; one that was not sent in the step before says when it was, and
    those that are under way at the end are listed, but not without `net`. Under each step stands what it changed at its node, but
    for members called as in `without`. An edge that is none of the system's own, from another graph that is compared with it, is
    told by what it changes. A model may have its own way of saying what a message holds, `content_text`, and what is new of a
    variable, `change_texts`.
    """
    return MessageGraph(tuple(map(str, system.places)), tuple(_happenings(system, path, without)))


class Happened(NamedTuple):
    """What an edge was: a place for what happens to a node; a message for what arrives or is lost; and what was sent."""

    place: int | None
    message: int | None
    sent: tuple[int, ...] = ()
    told: int | None = None  #: the sender of a message over a connection, which learns in the same step what became of it


class Sendings:
    """
    The steps in which messages were sent.

    In an ordered network equal messages can be under way at once, and the one that was sent first arrives first; elsewhere a
    message that is sent again is the same one, sent in the later step.
    """

    def __init__(self, is_ordered: bool) -> None:
        self._is_ordered = is_ordered
        self._steps: defaultdict[int, deque[int]] = defaultdict(deque)

    def add(self, messages: Iterable[int], step: int) -> None:
        """They were sent in that step."""
        for message in messages:
            self._steps[message].append(step)

    def of(self, message: int) -> int | None:
        """When the message was sent that arrives now; None if it was under way from the start."""
        steps = self._steps[message]
        if not steps:
            return None
        return steps.popleft() if self._is_ordered else steps[-1]


def _happenings(system: System, path: Iterable[Edge], without: Collection[str]) -> Iterator[Arrow | Note]:
    world = system.initial()
    sent = Sendings(system.network.is_ordered)
    for number, edge in enumerate(path, 1):
        taken = happened(system, world, edge)
        if taken is None:
            yield from _foreign(system, number, world, edge)
            world = edge.target
            continue
        if taken.message is not None:
            yield _arrow(system, number, edge.label, taken.message, sent.of(taken.message))
        elif taken.place is not None:
            yield Note(str(system.places[taken.place]), f"{number}. {edge.label}")
        for place in dict.fromkeys((taken.place, taken.told)):
            if place is not None and (changed := changes(system, world, edge.target, place, without)):
                yield Note(str(system.places[place]), changed)
        sent.add(taken.sent, number)
        world = edge.target
    for message in () if "net" in without else world[len(system.places) + 1 :]:
        sender, to, _ = system.messages[message]
        step = sent.of(message)
        when = "" if step is None else f", sent in {step}"
        yield Note(str(sender), f"still under way to {to}{when}: {_content(system, message)}")


def _arrow(system: System, number: int, label: str, message: int, sent: int | None) -> Arrow:
    sender, to, _ = system.messages[message]
    remarks = ["once more"] if label == RECEIVE_AGAIN else []
    remarks += [f"sent in {sent}"] if sent is not None and sent != number - 1 else []
    remark = f" ({', '.join(remarks)})" if remarks else ""
    return Arrow(str(sender), str(to), f"{number}. {_content(system, message)}{remark}", lost=label in (LOSE, FAIL))


def _content(system: System, message: int) -> str:
    value = system.model.message_value(system.messages[message])
    if told := getattr(system.model, "content_text", None):
        return str(told(value))
    _, _, *parts = value
    return " ".join(map(_listed, parts))


def _listed(part: Any) -> str:
    if not isinstance(part, tuple):
        return value_text(part)
    return f"[{', '.join(' '.join(map(value_text, item)) if isinstance(item, tuple) else value_text(item) for item in part)}]"


def _foreign(system: System, number: int, world: World, edge: Edge) -> Iterator[Note]:
    yield Note("", f"{number}. {edge.label}")
    for place, name in enumerate(system.places):
        if changed := changes(system, world, edge.target, place):
            yield Note(str(name), changed)
    count = len(system.places) + 1
    for what, messages in (
        ("no longer under way", sorted(set(world[count:]) - set(edge.target[count:]))),
        ("sent", sorted(set(edge.target[count:]) - set(world[count:]))),
    ):
        for message in messages:
            sender, to, _ = system.messages[message]
            yield Note(str(sender), f"{what} to {to}: {_content(system, message)}")


def happened(system: System, world: World, edge: Edge) -> Happened | None:
    """The first event that makes this edge; None if the system has no such edge."""
    return next((taken for taken, made in _events(system, world) if made == edge), None)


def _events(system: System, world: World) -> Iterator[tuple[Happened, Edge]]:
    """Every event in a world with what it makes of it; the bounds do not matter, as the edge that is looked for exists."""
    count, with_messages = len(system.places), system.network.with_messages
    nodes, restarts, net = world[:count], world[count], world[count + 1 :]
    for place, node in enumerate(nodes):
        before, behind = nodes[:place], nodes[place + 1 :]
        for label, branch in system.local(node):
            made = (*before, branch.state, *behind, restarts, *with_messages(net, branch.sent))
            yield Happened(place, None, branch.sent), Edge(label, made)
        if restarts:
            yield Happened(place, None), Edge(RESTART, (*before, system.restarted(node), *behind, restarts - 1, *net))
    for index, message in enumerate(net):
        if not system.network.is_first(net, index):
            continue
        rest = net[:index] + net[index + 1 :]
        place = system.receivers[message]
        if system.model.faults.connections:
            for label, after, sent in system.exchanges(nodes, message):
                taken = Happened(None if label == FAIL else place, message, sent, told=system.senders[message])
                yield taken, Edge(label, (*after, restarts, *with_messages(rest, sent)))
            continue
        for branch in system.received(nodes[place], message):
            after = (*nodes[:place], branch.state, *nodes[place + 1 :], restarts)
            taken = Happened(place, message, branch.sent)
            yield taken, Edge(RECEIVE, after + with_messages(rest, branch.sent))
            yield taken, Edge(RECEIVE_AGAIN, after + with_messages(net, branch.sent))
        yield Happened(None, message), Edge(LOSE, (*nodes, restarts, *rest))


def changes(system: System, before: World, after: World, place: int, without: Collection[str] = ()) -> str:
    """What is different at one node, on one line, but for members called as in `without`; nothing if all is as it was."""
    old, new = system.states[before[place]], system.states[after[place]]
    values = system.model.node_values
    both = zip(system.model.node_variables, values(old), values(new), strict=True)
    if texts := getattr(system.model, "change_texts", None):
        told = (texts(name, was, now) for name, was, now in both if was != now and name not in without)
        return ", ".join(change for changed in told for change in changed)
    return ", ".join(change for name, was, now in both for change in _changed(name, was, now, without))


def _changed(name: str, was: Any, now: Any, without: Collection[str]) -> Iterator[str]:
    if was == now or name.rpartition(".")[2] in without:
        return
    if not (isinstance(was, Mapping) and isinstance(now, Mapping)):
        yield f"{name} = {value_text(_reduced(now, without))}"
        return
    for key in dict.fromkeys([*was, *now]):
        part = f"{name}.{key}" if isinstance(key, str) else f"{name}[{value_text(key)}]"
        if key not in now:
            yield f"{part} is gone"
        elif key not in was:
            yield f"{part} = {value_text(_reduced(now[key], without))}"
        else:
            yield from _changed(part, was[key], now[key], without)


def _reduced(value: Any, without: Collection[str]) -> Any:
    match value:
        case Mapping():
            return {key: _reduced(part, without) for key, part in value.items() if key not in without}
        case tuple():
            return tuple(_reduced(part, without) for part in value)
    return value


def value_text(value: Any) -> str:
    """
    A value of a model, or of TLC, on one line.

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
