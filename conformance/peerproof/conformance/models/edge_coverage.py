"""
Coverage of the edges of the state graphs by vectors, found by walking the vectors' bodies through the graphs.

A table's own claims are not used. A loaded step counts if its body loads the state, feeds the event and expects exactly what the
specification does there. A path counts as long as each input that its body feeds, from the node's first state on, is a step of
the graph with exactly the messages that the body expects. Every edge is one of `spec.world.System`: the local steps attributed to
edges must give the same edges, state by state.

An edge in which a node moves contains one local step, over connections perhaps also the sender's. Vectors of these steps exercise
the edge, since the behaviour of the nodes in it depends on nothing else. Losses and crashes, which no program observes, are not
exercised, but may be part of a path. An edge is *walked* if a path takes it at its place in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import starmap
from typing import Any, Final, TypeAlias

from peerproof.conformance.models.local_steps import LocalSteps, Token, Tokens, Unnoticed, World, local_steps
from peerproof.conformance.vectors.model_table import LAYER, NODE, Expanded, Row, Table, as_sent, tokens_of
from peerproof.conformance.vectors.plain_data import Event, canonical, pick_first
from peerproof.conformance.vectors.suite import Suite, Vector
from peerproof.spec.core import EVERYBODY, Asked
from peerproof.spec.errors import NotEnabled
from peerproof.spec.model.bounded import FAIL, NOW, RECEIVE, RECEIVE_AGAIN, System
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import configurations

#: The identity of a local step: node, state, event and choices.
Content: TypeAlias = tuple[str, str, str, str]

#: The expected outcome: messages as receivers and bytes, events for the application, and the state afterwards if it is checked.
Outcome: TypeAlias = tuple[list[tuple[Any, str]], str, str | None]


class NotOfTheGraph(Exception):
    """A vector does something that no node of the configuration does, or expects something else."""


@dataclass
class EdgeCoverage:
    """The coverage of one configuration's graph."""

    protocol: str
    configuration: str
    worlds: int = 0
    edges: int = 0
    moving: int = 0  #: edges in which a node moves, observed by its program
    steps: int = 0  #: local steps
    loaded: int = 0  #: local steps that a vector loads and takes
    on_paths: int = 0  #: local steps that a path takes
    edges_loaded: int = 0  #: edges whose steps are loaded
    edges_on_paths: int = 0  #: edges whose steps paths take
    walked: int = 0  #: edges that a path takes in their place
    #: Timers have several lengths: a clock fires them in one order, a model in any order, so paths cannot have all of them.
    timed: bool = False
    wrong: list[str] = field(default_factory=list)  #: vectors that are not of the graph

    @property
    def complete(self) -> bool:
        """Returns True if every edge in which a node moves is exercised both ways, and every vector is of the graph."""
        all_on_paths = self.edges_on_paths == self.moving or self.timed
        return self.edges_loaded == self.moving and all_on_paths and not self.wrong


def coverage(protocol: str, vectors: Iterable[Vector]) -> Iterator[EdgeCoverage]:
    """Yields the coverage of each configuration that these vectors name."""
    by_configuration: dict[str, list[Vector]] = {}
    for vector in vectors:
        if vector.protocol == protocol and vector.layer == LAYER:
            by_configuration.setdefault(vector.body["model"]["config"], []).append(vector)
    if not by_configuration:
        return  # a protocol without such vectors need not have a model
    module = PROTOCOLS[protocol].bounded.load()
    known = configurations(protocol)
    for name, chosen in by_configuration.items():
        yield _Walk(protocol, name, module.Model(known[name].constants)).of(chosen)


def as_text(found: Sequence[EdgeCoverage]) -> str:
    """Renders a line for each configuration, and a legend."""
    titles = "configuration", "worlds", "edges", "a node moves", "local steps", "loaded", "on paths", "walked in place"
    rows: list[tuple[str, ...]] = [titles]
    for one in found:
        shares = (one.edges_loaded, one.moving), (one.edges_on_paths, one.moving), (one.walked, one.edges)
        counts = (f"{count:,}" for count in (one.worlds, one.edges, one.moving, one.steps))
        rows.append((one.configuration, *counts, *starmap(_share, shares)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        f"{row[0]:{widths[0]}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]
    wrong = [f"not of the graph: {what}" for one in found for what in one.wrong]
    return "\n".join([*lines, "", *_LEGEND, *wrong])


_LEGEND: Final = (
    "loaded, on paths: of the edges in which a node moves, those whose local step is a vector that loads the state,",
    "or is taken by a path from the node's first state; the behaviour of a node in a step depends on nothing else.",
    "Where timers have several lengths, a clock fires them in one order only, and paths lack the others.",
    "walked in place: of all edges, losses included, those that a path takes at their place (all: generate --every-edge).",
)


def _share(part: int, whole: int) -> str:
    """Renders a share; 100 % means all of it."""
    return f"{part:,} ({100 * part // whole if whole else 100} %)"


class _Walk:
    def __init__(self, protocol: str, name: str, model: Any) -> None:
        self.found = EdgeCoverage(protocol, name)
        self.local: LocalSteps = local_steps(model)
        self.leaving = _edges(self.local)
        self.numbers: dict[Content, int] = {self.content(number): number for number in range(len(self.local.steps))}
        shown = zip(self.local.place_of, self.local.plain_states, strict=True)
        self.states = {(self.local.places[place], canonical(plain)): number for number, (place, plain) in enumerate(shown)}
        self.tree: dict[tuple[int, int], int] = {}  #: prefix tree of the steps of nodes on paths: tree node, step -> tree node

    def of(self, vectors: Sequence[Vector]) -> EdgeCoverage:
        found = self.found
        loaded, on_paths = set[int](), set[int]()
        for vector in vectors:
            try:
                if "path" in vector.body["model"]:
                    on_paths.update(self.path(vector.body))
                else:
                    loaded |= self.load_step(vector.body)
            except NotOfTheGraph as wrong:
                found.wrong.append(f"{vector.id}: {wrong}")
        edges = [{token >> 1 for token in tokens if token >= 0} for leaving in self.leaving.values() for tokens, _ in leaving]
        moving, steps = [steps for steps in edges if steps], set[int]().union(*edges)
        found.worlds, found.edges = len(self.leaving), len(edges)
        found.steps, found.moving = len(steps), len(moving)
        found.loaded, found.edges_loaded = len(loaded & steps), sum(steps <= loaded for steps in moving)
        found.on_paths, found.edges_on_paths = len(on_paths), sum(steps <= on_paths for steps in moving)
        found.walked = len(set(self.walk_paths(vectors)))
        found.timed = len({after for step in self.local.steps for _, after in step.timers if after is not None}) > 1
        return found

    def content(self, number: int) -> Content:
        local, step = self.local, self.local.steps[number]
        place = local.place_of[step.state]
        picks = canonical([{"site": site, "pick": list(pick)} for site, pick in step.picks])
        return local.places[place], canonical(local.plain_states[step.state]), local.events[step.event].text, picks

    def outcome(self, number: int) -> Outcome:
        """Returns the outcome of a step, with messages to different receivers in any order."""
        local, step = self.local, self.local.steps[number]
        sent = as_sent([(local.messages[message].to, local.datagrams[message]) for message in step.sent], local.spec)
        events = canonical(sorted(canonical(local.notices[notice]) for notice in step.notices))
        return sent, events, canonical(local.plain_states[step.after])

    def load_step(self, body: Mapping[str, Any]) -> set[int]:
        """Returns the local step that a body loads, feeds and checks; none for a refusal, which is not an edge."""
        node, (*fed, checked) = body["nodes"][NODE], body["steps"]
        state, expected = canonical(node["state"]), _expectation(body, checked["expect"])
        if "refused" in fed[0]:
            for call in fed:
                self._check_refusal(node["addr"], state, _event(body, [call]))
            return set()
        number = self._step((node["addr"], state, _event(body, fed).text, canonical(fed[0].get("picks", []))))
        self._check(number, expected)
        return {number}

    def path(self, body: Mapping[str, Any]) -> list[int]:
        local, node = self.local, body["nodes"][NODE]
        addr, place = node["addr"], local.places.index(node["addr"])
        clock = _Clock(local, place, node)
        state, knot, taken = local.beginnings[place], -1 - place, []
        begins = local.plain_states[state] if "state" in node else local.spec.STATE.plain(local.start_node(place, None).state)
        if canonical(node.get("state", begins)) != canonical(local.plain_states[state]):
            raise NotOfTheGraph(f"node {addr} does not begin like this")
        for fed, expect in _by_expectation(body["steps"]):
            event = clock.expire(fed[0]["at"]) if "advance" in fed[0] else _event(body, fed)
            picks = canonical(fed[0].get("picks", []))
            number = self._step((addr, canonical(local.plain_states[state]), event.text, picks))
            self._check(number, _expectation(body, expect))
            clock.take(fed[0]["at"], number)
            state = local.steps[number].after
            knot = self.tree.setdefault((knot, number), len(self.tree))
            taken.append(number)
        return taken

    def walk_paths(self, vectors: Sequence[Vector]) -> Iterator[tuple[World, int]]:
        """Yields the edges that paths take, as states and positions, as long as the vectors follow the path."""
        tables = {id(v.body.table): v.body.table for v in vectors if isinstance(v.body, Expanded)}
        for table in tables.values():
            senders = [(table.nodes[sender]["addr"], table.nodes[to]["addr"], digits) for sender, to, digits in table.messages]
            messages = [self._message(*message) for message in senders]
            steps = [self._row(table, row) for row in table.steps]
            for path in table.paths:
                yield from self._along(
                    tuple(self._token(table, messages, steps, token) for token in tokens_of(entry)) for entry in path
                )

    def _along(self, path: Iterable[tuple[Token | None, ...]]) -> Iterator[tuple[World, int]]:
        world, knots = self.local.initial(), [-1 - place for place in range(len(self.local.places))]
        for tokens in path:
            leaving = self.leaving[world]
            at = next((at for at, (taken, _) in enumerate(leaving) if taken == tokens), None)
            if at is None:
                self.found.wrong.append(f"a path of {self.found.configuration} takes an edge that is not there")
                return
            for step in (token >> 1 for token in leaving[at][0] if token >= 0):
                place = self.local.place_of[self.local.steps[step].state]
                knot = self.tree.get((knots[place], step))
                if knot is None:
                    return
                knots[place] = knot
            yield world, at
            world = leaving[at][1]

    def _token(self, table: Table, messages: Sequence[int | None], steps: Sequence[int | None], token: Token) -> Token | None:
        """Translates a table's token to this graph; None if there is no such token."""
        if token >= 0:
            step = steps[token >> 1]
            return None if step is None else 2 * step + (token & 1)
        number = -1 - token
        if number < len(messages):
            message = messages[number]
            return None if message is None else -1 - message
        label, about = table.unnoticed[number - len(messages)]
        of_message = label in (RECEIVE, RECEIVE_AGAIN, FAIL)
        here = messages[about] if of_message else self.local.places.index(table.nodes[about]["addr"])
        return None if here is None else self.local.silent_token(Unnoticed(label, here))

    def _row(self, table: Table, row: Row) -> int | None:
        place, state = table.states[row.state]
        kind, *what = table.events[row.event]
        picks = canonical([{"site": site, "pick": pick} for site, pick in row.picks])
        event = Event(kind, what if kind in ("send", "sent") else what[0])
        return self.numbers.get((table.nodes[place]["addr"], canonical(state), event.text, picks))

    def _message(self, sender: Any, to: Any, digits: str) -> int | None:
        known = ((message.sender, message.to) for message in self.local.messages)
        all_of_them = zip(known, self.local.datagrams, strict=True)
        return next((number for number, one in enumerate(all_of_them) if one == ((sender, to), digits)), None)

    def _step(self, content: Content) -> int:
        number = self.numbers.get(content)
        if number is None:
            raise NotOfTheGraph(f"node {content[0]} takes no such step: {content[2]} in the state {content[1]}")
        return number

    def _check(self, number: int, expected: Outcome) -> None:
        sent, events, after = self.outcome(number)
        if (sorted(expected[0], key=repr), expected[1]) != (sorted(sent, key=repr), events) or expected[2] not in (None, after):
            raise NotOfTheGraph(f"it expects {expected}, the specification does {(sent, events, after)}")

    def _check_refusal(self, addr: Any, state: str, event: Event) -> None:
        local, spec = self.local, self.local.spec
        number = self.states.get((addr, state))
        if number is None:
            raise NotOfTheGraph(f"node {addr} is never in the state {state}")
        try:
            spec.step(local.states[number], Asked(NOW, spec.COMMAND.value(event.plain)), pick_first)
        except NotEnabled:
            return
        raise NotOfTheGraph(f"it expects a refusal of {event.text}, the specification does it")


class _Clock:
    """The timers of a node under test."""

    def __init__(self, local: LocalSteps, place: int, node: Mapping[str, Any]) -> None:
        self.local = local
        self.due = dict(local.timers(local.start_node(place, None).effects))
        running = {Event("timer", timer["timer"]).text: timer["due"] for timer in node.get("timers", ())}
        if "state" in node and running != {local.events[event].text: due for event, due in self.due.items()}:
            raise NotOfTheGraph(f"node {node['addr']} does not begin with these timers: {running}")

    def expire(self, at: int) -> Event:
        """Removes and returns the only timer that is due by now."""
        due = [event for event, when in self.due.items() if when is not None and when <= at]
        if len(due) != 1:
            raise NotOfTheGraph(f"{len(due)} timers are due at {at}, not one")
        del self.due[due[0]]
        return self.local.events[due[0]]

    def take(self, at: int, step: int) -> None:
        """Starts and stops the timers of a step; a restart stops all."""
        if self.local.events[self.local.steps[step].event].kind == "restart":
            self.due.clear()
        for event, after in self.local.steps[step].timers:
            self.due[event] = None if after is None else at + after


def _edges(local: LocalSteps) -> dict[World, list[tuple[Tokens, World]]]:
    """Returns every state with the edges that leave it. Raises AssertionError if they differ from the system's."""
    system, count = System(local.model), len(local.places)
    states: dict[Any, int] = {}
    messages: dict[Any, int] = {}

    def learn() -> None:
        """Numbers what the system has found since the last time."""
        for known, all_of_them in ((states, system.states), (messages, system.messages)):
            known |= {value: number for number, value in enumerate(all_of_them[len(known) :], len(known))}

    @cache
    def state_of(number: int) -> int:
        learn()
        return states[local.wholes[number]]

    @cache
    def message_of(number: int) -> int:
        learn()
        return messages[local.messages[number]]

    def of_system(world: World) -> World:
        """Translates a state to the numbers of the system, which must know it."""
        under_way = system.network.arrange(map(message_of, world[count + 1 :]))
        return (*map(state_of, world[:count]), world[count], *under_way)

    edges: dict[World, list[tuple[Tokens, World]]] = {}
    waiting = [(local.initial(), system.initial())]
    while waiting:
        world, theirs = waiting.pop()
        if world in edges:
            continue
        moves = list(local.moves(world))
        edges[world] = [(move.tokens, move.target) for move in moves]
        others = sorted(system.moves(theirs))
        mine = [(move.label, of_system(move.target)) for move in moves]
        assert sorted(mine) == others, "local steps make the edges of the system"
        waiting += [(move.target, other) for move, (_, other) in zip(moves, mine, strict=True) if move.target not in edges]
    return edges


def _by_expectation(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[Mapping[str, Any]], Mapping[str, Any]]]:
    fed: list[Mapping[str, Any]] = []
    for step in steps:
        if "expect" in step:
            yield fed, step["expect"]
            fed = []
        else:
            fed.append(step)


def _event(body: Mapping[str, Any], fed: Sequence[Mapping[str, Any]]) -> Event:
    match fed[0]:
        case {"send": {"from": sender, "bytes": digits}}:
            return Event("send", [body["nodes"][sender]["addr"], digits])
        case {"sent": {"to": to, "bytes": digits, **outcome}}:
            return Event("sent", [body["nodes"][to]["addr"], digits, outcome.get("took")])
        case {"call": {"op": op, "args": args}}:
            return Event("call", {"type": op, **args})
        case {"advance": _}:
            return Event("timer", body["nodes"][NODE]["timers"][0]["timer"])
        case {"crash": _}:
            return Event("restart", fed[1].get("config"))
    raise NotOfTheGraph(f"{fed[0]} is not an event of a model")


def _expectation(body: Mapping[str, Any], expect: Mapping[str, Any]) -> Outcome:
    if "any_of" in expect:
        expect = next(branch for branch in expect["any_of"] if branch["branch"] == expect["picked"])
    (messages,) = expect["messages"].values()
    addrs = {name: node["addr"] for name, node in body["nodes"].items()} | {EVERYBODY: EVERYBODY}
    sent = [(addrs[message["to"]], message["bytes"]) for message in messages]
    events = canonical(sorted(map(canonical, expect.get("events", {"multiset": []})["multiset"])))
    return sent, events, canonical(expect["state"]) if "state" in expect else None


def report_edges(suite: Suite, protocol: str | None = None, on_begin: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """
    Walks the state graphs of a protocol, or of all that have vectors, which takes minutes; returns JSON data.

    `on_begin` gets the name of each protocol. Raises KeyError if the suite has no vectors of the protocol.
    """
    protocols = sorted({vector.protocol for vector in suite.vectors})
    if protocol is not None and protocol not in protocols:
        raise KeyError(protocol)
    found: dict[str, Any] = {}
    for name in [protocol] if protocol else protocols:
        on_begin(name)
        found[name] = [asdict(one) for one in coverage(name, suite.vectors)]
    return {"vectors": {"version": suite.version, "digest": suite.digest}, "protocols": found}
