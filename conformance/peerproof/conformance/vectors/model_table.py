"""
Tables of vectors: all steps of the nodes of a configuration, and paths through its state graph.

`peerproof vectors generate` writes `PROTOCOL/model/CONFIGURATION.json` below the root of the vectors. States, messages and
events are stored once and have numbers; a step is a row of numbers, and a state a list of its parts. Each row is a vector;
its body, as in a YAML file, is made when it is needed.

- A *step*: a node is loaded with a state and gets one event; it must send these messages and then be in that state.
- A *refusal*: a node is loaded with a state, and must refuse some calls without changing.
- A *path*: all events of one node along a path of the graph; the other nodes are scripted. No state is loaded, unless the node
  does not begin there as a new node.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.vectors.plain_data import order
from peerproof.spec.core import EVERYBODY, Specification

LAYER: Final = "model"
FORMAT: Final = 1
NODE: Final = "node"  #: the name of the node under test in bodies
KINDS: Final = {"step": "steps", "refusal": "refusals", "path": "walks"}  #: kind of vector -> the member with its rows

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
    clauses: Mapping[str, list[str]]  #: the subject of an event (`kind`) -> clauses
    nodes: list[Body]  #: `addr`, `config`, first `state` if the node is not new; `timers`: events, milliseconds
    states: list[tuple[int, Body]]  #: node and plain form
    events: list[list[Any]]  #: kind, then sender and bytes, or a plain form
    messages: list[tuple[int, int, str]]  #: sender, receiver and bytes
    notices: list[Body]  #: events of applications
    steps: list[Row]
    refusals: list[tuple[int, list[int]]]  #: state and events
    paths: list[list[Tokens]]  #: see `local_steps`; an edge of one token is that token
    walks: list[tuple[int, int, int]]  #: node under test, path, and number of its steps
    unnoticed: list[tuple[str, int]] = field(default_factory=list)  #: unobservable steps: label, and node or message
    graph: Mapping[str, int] = field(default_factory=dict)  #: number of states and edges
    every_edge: Mapping[str, Any] = field(default_factory=dict)  #: the paths that take every edge, if they are not all here

    @cached_property
    def draws(self) -> Mapping[tuple[int, int], list[int]]:
        """The steps of each event in each state: several if the node makes a random choice."""
        found: dict[tuple[int, int], list[int]] = {}
        for number, step in enumerate(self.steps):
            found.setdefault((step.state, step.event), []).append(number)
        return found

    @cached_property
    def spec(self) -> Specification:
        """The specification of the protocol."""
        return cast("Specification", specification(self.protocol))

    def steps_of(self, walk: int) -> list[int]:
        """The steps of the node under test in a walk."""
        place, path, count = self.walks[walk]
        return self.projection(place, path)[:count]

    def projection(self, place: int, path: int) -> list[int]:
        """The steps of one node in a path."""
        steps = (token >> 1 for tokens in self.paths[path] for token in tokens_of(tokens) if token >= 0)
        return [step for step in steps if self.states[self.steps[step].state][0] == place]

    def count(self, kind: str) -> int:
        """The number of vectors of this kind."""
        return len(getattr(self, KINDS[kind]))


def tokens_of(tokens: Tokens) -> Sequence[int]:
    """The tokens of an edge in a path: one, or over connections one for receiver and one for sender."""
    return (tokens,) if isinstance(tokens, int) else tokens


def table_of(plain: Mapping[str, Any]) -> Table:
    """Parses a table. Raises KeyError, TypeError or ValueError if it is invalid."""
    if plain["format"] != FORMAT:
        raise ValueError(f"format {plain['format']!r} is not {FORMAT}")
    members = {name: value for name, value in plain.items() if name not in ("format", "parts")}
    states = [(place, _join_parts(plain["parts"], numbers)) for place, numbers in plain["states"]]
    return Table(**{**members, "states": states, "steps": [Row(*row) for row in plain["steps"]]})


_ITEM: Final = "[]"  #: suffix of a member whose value is a list: each part is one item of it


def split_states(states: Iterable[Body]) -> tuple[list[tuple[str, Any]], list[list[int]]]:
    """Splits states into distinct parts (members, or items of lists), and gives each state as a list of part numbers."""
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
    """The body of a row, made on first use."""

    def __init__(self, table: Table, kind: str, number: int, labels: Mapping[str, Any]) -> None:
        self.table = table
        self.kind = kind
        self.number = number
        self._labels = labels

    def __getitem__(self, name: str) -> Any:
        if name in self._labels:
            return self._labels[name]
        if name not in _MADE:
            raise KeyError(name)
        return _MADE[name](self.table, self.kind, self.number)

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a member, without making the whole body if it has none of this name."""
        return self[name] if name in _MADE or name in self._labels else default

    def __iter__(self) -> Iterator[str]:
        yield from (*self._labels, *_MADE)

    def __len__(self) -> int:
        return len(self._labels) + len(_MADE)


def nodes(table: Table, kind: str, number: int) -> Body:
    """The node under test, in its first state, and the other nodes, which are scripted."""
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
    """The node under test, the number of the loaded state, and the event of a step."""
    if kind == "path":
        place = table.walks[number][0]
        return place, table.nodes[place].get("state"), None
    state, event = table.steps[number][:2] if kind == "step" else (table.refusals[number][0], None)
    return table.states[state][0], state, event


def _name(place: int, other: int) -> str:
    return NODE if other == place else f"peer-{other + 1}"


@lru_cache(maxsize=512)
def _steps(table: Table, kind: str, number: int) -> list[Body]:
    return _STEPS[kind](table, number)


def _model(table: Table, kind: str, number: int) -> Body:
    if kind != "path":
        return {"config": table.configuration}
    edges = table.paths[table.walks[number][1]]
    return {"config": table.configuration, "path": [edge_text(table, edge) for edge in edges]}


def edge_text(table: Table, edge: Tokens) -> str:
    """Describes an edge, with the numbers of its steps."""
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

#: The members of a body that are made of its row.
_MADE: Final[dict[str, Callable[[Table, str, int], Any]]] = {"model": _model, "nodes": nodes, "steps": _steps}


class OutOfTime(Exception):
    """In a path, a timer is not due at the time at which it must run."""


def schedule(table: Table, place: int, steps: Sequence[int]) -> Iterator[tuple[int, Row]]:
    """Yields the time of each step: timers when they are due, all others as early as possible. Raises OutOfTime."""
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
    """The steps of a body for one step of the node under test."""
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
    """The name in bodies of the node at an address."""
    place = table.states[row.state][0]
    return next(_name(place, other) for other, one in enumerate(table.nodes) if one["addr"] == addr)


def _call(table: Table, event: int, at: int) -> Body:
    _, command = table.events[event]
    args = {name: value for name, value in command.items() if name != "type"}
    return {"at": at, "call": {"node": NODE, "op": command["type"], "args": args}}


def _expectation(table: Table, row: Row, *, with_state: bool) -> Body:
    """The allowed outcomes: one, or one for each random choice; a node whose choices the runner answers must follow them."""
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
    """The messages that a node has sent, from their copies: receivers and bytes. A message to all nodes counts once."""
    if spec.TRANSPORT != "serf":
        return copies
    return list(dict.fromkeys((EVERYBODY, digits) for _, digits in copies))


def _picks_text(row: Row) -> str:
    return "; ".join(f"{site} {' '.join(map(str, pick))}" for site, pick in row.picks)


def _outcome(table: Table, row: Row, *, with_state: bool) -> Body:
    """The outcome of one choice. Events are checked if an implementation reports them; the vector does not need them."""
    place = table.states[row.state][0]
    sent = as_sent([(_name(place, table.messages[number][1]), table.messages[number][2]) for number in row.sent], table.spec)
    messages = [{"to": receiver, "bytes": digits} for receiver, digits in sent]
    state = {"state": table.states[row.after][1]} if with_state else {}
    events = {"events": {"multiset": [table.notices[number] for number in row.notices]}}
    return {"messages": {order(table.spec, [receiver for receiver, _ in sent]): messages}} | events | state
