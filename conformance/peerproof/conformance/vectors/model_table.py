"""
Vectors as tables: everything that the nodes of a configuration do, and paths through its state graph.

`peerproof vectors generate` writes `PROTOCOL/model/CONFIGURATION.json` below the root of the vectors. A state, a message or an
event stands there once and has a number; a step is a row of numbers, and a state one of its parts. Each row is a vector, and
has the body that somebody would have written into a YAML file, as soon as anybody asks for it.

- A *step*: a node is loaded with a state, one thing happens, and it must send these messages and be in that state then.
- A *refusal*: a node is loaded with a state, and must refuse some calls without changing.
- A *path*: what happens to one node along a path of the graph; the other nodes are scripted. Nothing is loaded, unless the node
  does not begin as a fresh one there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.vectors.plain_data import order
from peerproof.spec.core import EVERYBODY, Specification

LAYER: Final = "model"
FORMAT: Final = 1
NODE: Final = "node"  #: how bodies call the node under test
KINDS: Final = {"step": "steps", "refusal": "refusals", "path": "walks"}  #: kind of vector -> member of the table with its rows

Body: TypeAlias = dict[str, Any]
Tokens: TypeAlias = int | Sequence[int]


class Row(NamedTuple):
    """A step of a node; states, events and messages by number."""

    state: int
    event: int
    picks: list[tuple[str, list[Any]]]
    after: int
    sent: list[int]
    timers: list[tuple[int, int | None]]
    notices: list[int]


@dataclass(frozen=True, eq=False)
class Table:
    """The table of one configuration; members as in the file."""

    protocol: str
    configuration: str
    about: str
    clauses: Mapping[str, list[str]]  #: what an event is about (`kind`) -> clauses
    nodes: list[Body]  #: `addr`, `config`, first `state` if it is not that of a fresh node; and `timers`: events, milliseconds
    states: list[tuple[int, Body]]  #: node and plain form
    events: list[list[Any]]  #: kind, then sender and bytes, or a plain form
    messages: list[tuple[int, int, str]]  #: sender, receiver and bytes
    notices: list[Body]  #: what an application is told
    steps: list[Row]
    refusals: list[tuple[int, list[int]]]  #: state and events
    paths: list[list[Tokens]]  #: see `local_steps`; an edge of one token is that token
    walks: list[tuple[int, int, int]]  #: node under test, path, and how many of its steps
    unnoticed: list[tuple[str, int]] = field(default_factory=list)  #: what no program notices: label, and node or message
    graph: Mapping[str, int] = field(default_factory=dict)  #: worlds and edges
    every_edge: Mapping[str, Any] = field(default_factory=dict)  #: the paths that take every edge, where they are not all here

    @cached_property
    def draws(self) -> Mapping[tuple[int, int], list[int]]:
        """The steps that one event can be in one state: several, if the node draws by lot."""
        found: dict[tuple[int, int], list[int]] = {}
        for number, step in enumerate(self.steps):
            found.setdefault((step.state, step.event), []).append(number)
        return found

    @cached_property
    def spec(self) -> Specification:
        """The specification of the protocol."""
        return cast("Specification", specification(self.protocol))

    def steps_of(self, walk: int) -> list[int]:
        """What happens to the node under test of a walk."""
        place, path, count = self.walks[walk]
        return self.projection(place, path)[:count]

    def projection(self, place: int, path: int) -> list[int]:
        """The steps of one node in a path."""
        steps = (token >> 1 for tokens in self.paths[path] for token in tokens_of(tokens) if token >= 0)
        return [step for step in steps if self.states[self.steps[step].state][0] == place]

    def count(self, kind: str) -> int:
        """How many vectors of this kind there are."""
        return len(getattr(self, KINDS[kind]))


def tokens_of(tokens: Tokens) -> Sequence[int]:
    """The tokens of an edge in a path: one, or over connections those of receiver and sender."""
    return (tokens,) if isinstance(tokens, int) else tokens


def table_of(plain: Mapping[str, Any]) -> Table:
    """The table that a file holds. Raises KeyError, TypeError or ValueError if it is none."""
    if plain["format"] != FORMAT:
        raise ValueError(f"format {plain['format']!r} is not {FORMAT}")
    members = {name: value for name, value in plain.items() if name not in ("format", "parts")}
    states = [(place, _join_parts(plain["parts"], numbers)) for place, numbers in plain["states"]]
    return Table(**{**members, "states": states, "steps": [Row(*row) for row in plain["steps"]]})


_ITEM: Final = "[]"  #: behind the name of a member whose value is a list: the part is one item of that


def split_states(states: Iterable[Body]) -> tuple[list[tuple[str, Any]], list[list[int]]]:
    """The parts that states are made of, each once, and for each state their numbers: members, or items of lists."""
    parts: list[tuple[str, Any]] = []
    numbers: dict[str, int] = {}
    rows = []
    for state in states:
        row = []
        for name, value in state.items():
            some = [(name + _ITEM, item) for item in value] if isinstance(value, list) and value else [(name, value)]
            for part in some:
                number = numbers.setdefault(json.dumps(part, sort_keys=True), len(parts))
                if number == len(parts):
                    parts.append(part)
                row.append(number)
        rows.append(row)
    return parts, rows


def _join_parts(parts: Sequence[tuple[str, Any]], numbers: Iterable[int]) -> Body:
    state: Body = {}
    for name, value in (parts[number] for number in numbers):
        if name.endswith(_ITEM):
            state.setdefault(name.removesuffix(_ITEM), []).append(value)
        else:
            state[name] = value
    return state


class Expanded(Mapping[str, Any]):
    """The body of a row, made when it is asked for."""

    def __init__(self, table: Table, kind: str, number: int, labels: Mapping[str, Any]) -> None:
        self.table = table
        self.kind = kind
        self.number = number
        self._labels = labels

    def __getitem__(self, name: str) -> Any:
        if name in self._labels:
            return self._labels[name]
        if name == "nodes":
            return nodes(self.table, self.kind, self.number)
        return _make_body(self.table, self.kind, self.number)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """What a body has, without making the whole of it to find that it has not."""
        return self[name] if name in _MADE or name in self._labels else default

    def __iter__(self) -> Iterator[str]:
        yield from (*self._labels, *_MADE)

    def __len__(self) -> int:
        return len(self._labels) + len(_MADE)


_MADE: Final = ("model", "nodes", "steps")


@lru_cache(maxsize=512)
def _make_body(table: Table, kind: str, number: int) -> Body:
    return {"model": _model(table, kind, number), "steps": _STEPS[kind](table, number)}


def nodes(table: Table, kind: str, number: int) -> Body:
    """The node under test, in the state in which it begins, and the others, which are scripted."""
    place, state, event = beginning(table, kind, number)
    node = {"addr": table.nodes[place]["addr"], "config": table.nodes[place]["config"]}
    if state is not None:
        node["state"] = table.states[state][1]
        running = table.nodes[place]["timers"] if kind == "path" else []
        if event is not None and table.events[event][0] == "timer":
            running = [(event, 0)]
        if running:
            node["timers"] = [{"timer": table.events[timer][1], "due": due} for timer, due in running]
    others = {_name(place, other): {"addr": one["addr"], "role": "scripted"} for other, one in enumerate(table.nodes)}
    return {NODE: node} | {name: other for name, other in others.items() if name != NODE}


def beginning(table: Table, kind: str, number: int) -> tuple[int, int | None, int | None]:
    """Which node is under test, the state that it is loaded with, and the event of a step."""
    if kind == "path":
        place = table.walks[number][0]
        return place, table.nodes[place].get("state"), None
    state, event = table.steps[number][:2] if kind == "step" else (table.refusals[number][0], None)
    return table.states[state][0], state, event


def _name(place: int, other: int) -> str:
    return NODE if other == place else f"peer-{other + 1}"


def _model(table: Table, kind: str, number: int) -> Body:
    if kind != "path":
        return {"config": table.configuration}
    edges = table.paths[table.walks[number][1]]
    return {"config": table.configuration, "path": [edge_text(table, edge) for edge in edges]}


def edge_text(table: Table, edge: Tokens) -> str:
    """An edge in words, with the numbers of its steps."""
    return " and ".join(_token_text(table, token) for token in tokens_of(edge))


def _token_text(table: Table, token: int) -> str:
    if token < 0:
        message = -1 - token
        if message < len(table.messages):
            return f"lose {message}"
        label, number = table.unnoticed[message - len(table.messages)]
        return f"{label} {number}, unnoticed"
    step = table.steps[token >> 1]
    addr = table.nodes[table.states[step.state][0]]["addr"]
    return f"{addr} {table.events[step.event][0]} {token >> 1}" + (" again" if token & 1 else "")


def _step(table: Table, number: int) -> list[Body]:
    row = table.steps[number]
    return [*happening(table, row, 0), {"expect": _expectation(table, row, with_state=True)}]


def _refusal(table: Table, number: int) -> list[Body]:
    state, events = table.refusals[number]
    calls = [_call(table, event, 0) | {"refused": True} for event in events]
    return [*calls, {"expect": {"messages": {"ordered": []}, "state": table.states[state][1]}}]


def _path(table: Table, number: int) -> list[Body]:
    steps: list[Body] = []
    for at, row in schedule(table, table.walks[number][0], table.steps_of(number)):
        steps += [*happening(table, row, at), {"expect": _expectation(table, row, with_state=False)}]
    return steps


_STEPS: Final = {"step": _step, "refusal": _refusal, "path": _path}


class OutOfTime(Exception):
    """A timer runs out in a path when, by the clock, another thing would happen."""


def schedule(table: Table, place: int, steps: Sequence[int]) -> Iterator[tuple[int, Row]]:
    """When a node takes each of these steps: that of a timer when it is due, all others as soon as possible. Raises OutOfTime."""
    now, due = 0, dict(table.nodes[place]["timers"])
    for number in steps:
        row = table.steps[number]
        kind = table.events[row.event][0]
        if kind == "timer":
            if due.get(row.event) != min(due.values(), default=None) or list(due.values()).count(due[row.event]) > 1:
                raise OutOfTime(f"step {number}: timer {table.events[row.event][1]} is not the next to run out")
            now = due.pop(row.event)
        elif min(due.values(), default=now + 1) <= now:
            raise OutOfTime(f"step {number}: a timer runs out before")
        if kind == "restart":
            due.clear()
        yield now, row
        for event, after in row.timers:
            if after is None:
                due.pop(event, None)
            else:
                due[event] = now + after


def happening(table: Table, row: Row, at: int) -> list[Body]:
    """What happens to the node under test in a step, as steps of a body."""
    kind, *what = table.events[row.event]
    picks = {"picks": [{"site": site, "pick": pick} for site, pick in row.picks]} if row.picks else {}
    match kind:
        case "send":
            sender, digits = what
            return [{"at": at, "send": {"from": _node_name(table, row, sender), "to": NODE, "bytes": digits}} | picks]
        case "sent":
            to, digits, took = what
            outcome = {"failed": True} if took is None else {"took": took}
            return [{"at": at, "sent": {"node": NODE, "to": _node_name(table, row, to), "bytes": digits} | outcome} | picks]
        case "call":
            return [_call(table, row.event, at) | picks]
        case "timer":
            return [{"at": at, "advance": NODE} | picks]
        case "restart":
            changes = {"config": what[0]} if what[0] else {}
            return [{"at": at, "crash": NODE}, {"at": at, "restart": NODE} | changes]
    raise ValueError(f"there is no kind of event {kind!r}")


def _node_name(table: Table, row: Row, addr: str) -> str:
    """How a body calls the node at an address."""
    place = table.states[row.state][0]
    return next(_name(place, other) for other, one in enumerate(table.nodes) if one["addr"] == addr)


def _call(table: Table, event: int, at: int) -> Body:
    _, command = table.events[event]
    args = {name: value for name, value in command.items() if name != "type"}
    return {"at": at, "call": {"node": NODE, "op": command["type"], "args": args}}


def _expectation(table: Table, row: Row, *, with_state: bool) -> Body:
    """What may come of it: one thing, or one for each way to draw; a node that is told what to draw must do that."""
    numbers = table.draws[row.state, row.event]
    if len(numbers) == 1:
        return _outcome(table, row, with_state=with_state)
    branches = [
        {"branch": f"draw-{at}", "verdict": "conformant", "because": _picks_text(table.steps[number])}
        | _outcome(table, table.steps[number], with_state=with_state)
        for at, number in enumerate(numbers, start=1)
    ]
    at = next(at for at, number in enumerate(numbers, start=1) if table.steps[number] == row)
    return {"any_of": branches, "picked": f"draw-{at}"}


def as_sent(copies: list[tuple[str, str]], spec: Specification) -> list[tuple[str, str]]:
    """What a node has sent, by its copies: receivers and bytes. Where all messages are for everybody, a node sends each once."""
    if spec.TRANSPORT != "serf":
        return copies
    return list(dict.fromkeys((EVERYBODY, digits) for _, digits in copies))


def _picks_text(row: Row) -> str:
    return "; ".join(f"{site} {' '.join(map(str, pick))}" for site, pick in row.picks)


def _outcome(table: Table, row: Row, *, with_state: bool) -> Body:
    """What one draw leads to. Events are judged where an implementation tells them; the vector does not need that."""
    place = table.states[row.state][0]
    sent = as_sent([(_name(place, table.messages[number][1]), table.messages[number][2]) for number in row.sent], table.spec)
    messages = [{"to": receiver, "bytes": digits} for receiver, digits in sent]
    state = {"state": table.states[row.after][1]} if with_state else {}
    told = {"events": {"multiset": [table.notices[number] for number in row.notices]}}
    return {"messages": {order(table.spec, [receiver for receiver, _ in sent]): messages}} | told | state
