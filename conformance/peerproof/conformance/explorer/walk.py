"""
A walk through a bounded model: what a world looks like, and which moves lead on from it.

A move has an id that depends only on what it does, not on what was explored before. So a path of ids leads to the same world on
another machine.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from peerproof.conformance.diagrams.labels import message_text, visible
from peerproof.conformance.explorer.causes import ARRIVAL, HERE, find_cause, is_decided_by, question_of
from peerproof.conformance.explorer.fields import Fields, fields_of_plain, fields_of_variables, has_value, is_named
from peerproof.conformance.models import counterexamples
from peerproof.conformance.models.run_diagram import changes, ends, message_content, node_names, possible_events, value_text
from peerproof.spec import core
from peerproof.spec.forms.form import Plain
from peerproof.spec.model.bounded import FAIL, LOSE, NOW, RECEIVE, RECEIVE_AGAIN, RESTART, Model, System, World
from peerproof.spec.model.exploration import Edge
from peerproof.spec.model.questions import Arrival, OfArrivals
from peerproof.spec.model.run_monitor import Graph, Monitored, search
from peerproof.spec.properties import Cluster, Property
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import Model as Asked
from peerproof.tla.manifest import configurations, models

#: Digits of a move's id; of moves of one world that share them, each gets more.
ID_DIGITS: Final = 4

#: The most states of a model that is written whole.
MOST_WHOLE: Final = 10_000

#: The most states that are searched for one that a reader describes.
MOST_SEARCHED: Final = 500_000

#: What a move does, by its label in the model.
KINDS: Final[Mapping[str, str]] = {
    RECEIVE: "deliver",
    RECEIVE_AGAIN: "duplicate",
    LOSE: "lose",
    FAIL: "fail",
    RESTART: "restart",
}


class NoSuchPath(LookupError):
    """A path has a move that its world does not have; `at` is its place in the path, from 0."""

    def __init__(self, move: str, at: int) -> None:
        super().__init__(f"there is no move {move!r} at step {at + 1} of the path")
        self.at = at


class TooMany(Exception):
    """There are more states than can be searched or written; the message says how many."""


class NoSuchModel(LookupError):
    """A protocol has no model or configuration of this name; `known` are those it has."""

    def __init__(self, protocol: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{protocol} has no model or configuration {name!r}")
        self.known = known


@dataclass(frozen=True)
class Move:
    """One step of the whole system, with all that is random in it decided."""

    kind: str  #: one of the values of `KINDS`, or local: a timer, or a command of the application
    label: str  #: of the edge in the state graph
    place: int  #: of the node that acts, or of the receiver
    message: int | None  #: of a message under way, its number
    event: str  #: in words
    picks: tuple[tuple[str, tuple[Any, ...]], ...]  #: the random choices: site, and the chosen options
    target: World

    @property
    def happening(self) -> tuple[str, int, int | None, str]:
        """What happens, without its outcome."""
        return self.kind, self.place, self.message, self.event


@dataclass(frozen=True)
class Reach:
    """A question of the models that some world answers with no: what can be looked for."""

    name: str
    about: str
    is_possibility: bool  #: whether it asks if something can happen, which a world that answers it with no shows
    models: tuple[str, ...]  #: those of the protocol's models that show such a world, and can be explored

    def plain(self) -> dict[str, Plain]:
        """Returns plain data."""
        return {"name": self.name, "about": self.about, "possible": self.is_possibility, "models": list(self.models)}


class Walk:
    """A model, and the worlds that were visited."""

    def __init__(self, protocol: str, name: str) -> None:
        """Raises NoSuchModel."""
        self.protocol: Final = protocol
        self.name: Final = name
        self._graph, self.about, self._asked = _open(protocol, name)
        self._models: Final = models(protocol)
        self._explorable: Final = frozenset(explorable(protocol))
        #: Questions whether something can happen: reachability checks, which the models named `sometimes-…` have.
        self._possible: Final = {one.violated for one in self._models if one.name.startswith("sometimes-")}
        self.system: Final = counterexamples.system_of(self._graph)
        self.names: Final = node_names(self.system)
        self._specification: Final = PROTOCOLS[protocol].specification.load()
        self._moves: dict[World, dict[str, Move]] = {}
        self._blocked: dict[World, list[Move]] = {}
        self._shown: dict[int, Fields] = {}
        self._texts: dict[int, str] = {}

    @property
    def model(self) -> Model:
        """The bounded model."""
        return self.system.model

    def limits(self) -> str:
        """Returns what the network does in this model, and its limits: an event that would exceed one does not happen."""
        faults = self.model.faults
        does = [word for word, can in (("lost", faults.loss), ("delivered twice", faults.duplication)) if can]
        may = f"they may be {' or '.join(does)}" if does else "none is lost"
        restarts = f"; at most {faults.restarts} {'restart' if faults.restarts == 1 else 'restarts'}" if faults.restarts else ""
        return f"At most {faults.in_flight} messages are under way at once, {may}{restarts}."

    def moves(self, world: World) -> Mapping[str, Move]:
        """Returns every move that leaves a world, by id, equal ones once."""
        if world not in self._moves:
            possible = [*self._all(world)]
            allowed = [move for move, is_allowed in possible if is_allowed]
            found = {(*move.happening, move.target): move for move in reversed(allowed)}
            self._moves[world] = dict(self._with_ids([*reversed(found.values())]))
            happens = {move.happening for move in allowed}
            blocked = {move.happening: move for move, is_allowed in possible if not is_allowed and self._is_beyond(move)}
            self._blocked[world] = [move for happening, move in blocked.items() if happening not in happens]
        return self._moves[world]

    def blocked(self, world: World) -> Sequence[Move]:
        """Returns an outcome of each event that cannot happen because it would exceed the messages under way."""
        self.moves(world)
        return self._blocked[world]

    def _is_beyond(self, move: Move) -> bool:
        faults = self.model.faults
        exists = faults.duplication if move.kind == "duplicate" else move.kind not in ("lose", "restart")
        return exists and len(move.target) - len(self.system.places) - 1 > faults.in_flight

    def follow(self, path: Iterable[str]) -> list[tuple[Move | None, World]]:
        """Returns each world on a path, with the move that leads to it. Raises NoSuchPath."""
        steps: list[tuple[Move | None, World]] = [(None, self.system.initial())]
        for at, name in enumerate(path):
            move = self.moves(steps[-1][1]).get(name)
            if move is None:
                raise NoSuchPath(name, at)
            steps.append((move, move.target))
        return steps

    def path_of(self, edges: Iterable[Edge]) -> list[str]:
        """Returns the moves that take these edges of the state graph, one after the other."""
        world, path = self.system.initial(), []
        for edge in edges:
            found = (name for name, move in self.moves(world).items() if (move.label, move.target) == edge)
            path.append(next(found))
            world = edge.target
        return path

    def reaches(self) -> list[Reach]:
        """Returns what the models of this configuration ask to be reachable, or to be violated."""
        known = counterexamples.questions_of(self.protocol).QUESTIONS
        if self._asked and isinstance(self._graph, Monitored):
            return [self._reach(name) for name in self._asked.invariants if name in known]
        variants = counterexamples.variants_of(self.protocol).BEHAVIOURS
        names = dict.fromkeys(one.violated for one in self._models if one.violated and not variants.get(one.behaviour))
        return [self._reach(name) for name in names if name in known]

    def _about(self, name: str) -> str:
        """
        Returns the text of a question, without the answer and the premise of a model that is not this one.

        It is that of a model that asks only this of the specification as it is, preferably one that fails; the property's if that
        has a condition; that of a variant, up to its condition, if there is neither.
        """
        if self._asked and self._asked.invariants == (name,):
            return self.about
        behaviours = counterexamples.variants_of(self.protocol).BEHAVIOURS
        asking = sorted((one for one in self._models if one.invariants == (name,)), key=lambda one: one.violated != name)
        plain = [one for one in asking if not one.replace and one.behaviour in behaviours and not behaviours[one.behaviour]]
        own: list[str] = [known.about for known in self._specification.PROPERTIES if known.name == name]
        question = (plain or asking)[0].question.partition("?")[0]
        if own and " if " in question:
            return own[0]
        return f"{question if plain else question.partition(' if ')[0].rstrip(',')}?"

    def _reach(self, name: str) -> Reach:
        about = self._about(name)
        showing = tuple(one.name for one in self._models if one.violated == name and one.name in self._explorable)
        return Reach(name, about, name in self._possible, showing)

    def has_field(self, field: str) -> bool:
        """Whether some state that was visited has a field of this name, or one that ends with it after a dot."""
        return any(is_named(name, field) for fields in self._shown.values() for name in fields)

    def way_to(self, name: str, progress: Callable[[int, int, int], None] = lambda *_: None) -> list[str] | None:
        """
        Returns a shortest path to a world in which a question of the models is answered with no; None if there is none.

        If the question is what a message would do on its arrival, the arrival is the last step of the path.
        """
        asked = partial(question_of(self.protocol, name), self.model)
        found = search(self._graph, {name: asked}, progress)
        if not found.broken:
            return None
        path = self.path_of(self._graph.bare(found.path()) if isinstance(self._graph, Monitored) else found.path())
        steps = self.follow(path)
        shown = self._move_that_shows(name, steps[-1][1], self._cause(name, steps) or [])
        is_followed = shown is not None and self._watched([*steps, (shown[1], shown[1].target)]) is not None
        return [*path, shown[0]] if shown and is_followed else path

    def view(self, path: Sequence[str], question: str = "") -> dict[str, Plain]:
        """
        Returns what a page shows at the end of a path, as plain data; also why a question is answered with no, if one is named.

        Raises NoSuchPath.
        """
        steps = self.follow(path)
        world = steps[-1][1]
        before = steps[-2][1] if len(steps) > 1 else world
        return {
            "protocol": self.protocol,
            "model": self.name,
            "about": self.about,
            "limits": self.limits(),
            "path": list(path),
            "nodes": [self._node(place, before, world) for place in range(len(self.system.places))],
            "net": [self._under_way(number) for number in world[len(self.system.places) + 1 :]],
            "moves": [self._move(name, move, world) for name, move in self.moves(world).items()],
            "blocked": [self._said(move) for move in self.blocked(world)],
            "most": self.model.faults.in_flight,
            "loses": self.model.faults.loss,
            "properties": [*self._invariants(steps), *self._properties(world)],
            "steps": [self._done(move, begun) for (move, _), (_, begun) in zip(steps[1:], steps, strict=False) if move],
            "asked": self._asked_on(steps, question) if question else None,
        }

    def whole(self, most: int = MOST_WHOLE, progress: Callable[[int], None] = lambda _: None) -> dict[str, Plain]:
        """
        Returns the state graph as plain data, from which a page makes every view without a server.

        States, messages and changes are numbered, and worlds have the numbers. Raises TooMany.
        """
        count = len(self.system.places)
        worlds = {self.system.initial(): 0}
        waiting = deque(worlds)
        numbers: dict[str, dict[Any, int]] = {"states": {}, "messages": {}, "events": {}, "picks": {}, "texts": {}}
        changed: dict[str, Plain] = {}
        moves: list[Plain] = []
        blocked: list[Plain] = []
        broken: list[Plain] = []
        answers: list[Plain] = []
        judged = [known for known in self._judged() if known.of in ("cluster", "node")]
        invariants = self._must_hold()
        is_watched = isinstance(self._graph, Monitored)  # the invariants then need the way to a world
        asked = self._questions()
        rows: list[Plain] = []

        def number(kind: str, value: Any) -> int:
            return numbers[kind].setdefault(value, len(numbers[kind]))

        def happening(move: Move) -> list[Plain]:
            message = -1 if move.message is None else number("messages", move.message)
            return [[*KINDS.values(), "local"].index(move.kind), move.place, message, number("events", move.event)]

        while waiting:
            world = waiting.popleft()
            states = [number("states", each) for each in world[:count]]
            rows.append([states, [number("messages", each) for each in world[count + 1 :]]])
            leaving: list[Plain] = []
            for name, move in self.moves(world).items():
                if move.target not in worlds:
                    worlds[move.target] = len(worlds)
                    waiting.append(move.target)
                for place in range(count):
                    before, after = world[place], move.target[place]
                    key = f"{number('states', before)} {number('states', after)}"
                    if before != after and key not in changed:
                        changed[key] = number("texts", changes(self.system, world, move.target, place))
                picks = number("picks", json.dumps(self._picks(move)))
                leaving.append([name, *happening(move), picks, worlds[move.target]])
            moves.append(leaving)
            blocked.append([happening(move) for move in self.blocked(world)])
            broken.append(self._broken(world, judged, [] if is_watched else invariants))
            answers.append(
                [
                    [place, [number("messages", each) for each in cause], shown[0] if shown else None]
                    for place, cause, shown in self._answers(world, asked)
                ]
            )
            if len(worlds) > most:
                raise TooMany(f"more than {most:,} states; a file holds at most as many")
            progress(len(rows))
        return {
            "protocol": self.protocol,
            "model": self.name,
            "about": self.about,
            "limits": self.limits(),
            "nodes": list(self.names),
            "kinds": [*KINDS.values(), "local"],
            "states": [list(self._fields(each).items()) for each in numbers["states"]],
            "messages": [self._under_way(each) for each in numbers["messages"]],
            "events": list(numbers["events"]),
            "picks": [json.loads(each) for each in numbers["picks"]],
            "texts": list(numbers["texts"]),
            "changes": changed,
            "properties": [
                *(
                    {"name": one.name, "about": one.about, "clauses": list(one.clauses), "watched": False, "possible": False}
                    for one in judged
                ),
                *(
                    {
                        "name": name,
                        "about": about,
                        "clauses": clauses,
                        "watched": is_watched,
                        "possible": name in self._possible,
                    }
                    for name, (about, clauses) in invariants.items()
                ),
            ],
            "questions": [{**reach.plain(), "of": self._kind_of(reach.name)} for reach in asked],
            "most": self.model.faults.in_flight,
            "loses": self.model.faults.loss,
            "worlds": rows,
            "moves": moves,
            "blocked": blocked,
            "broken": broken,
            "answers": answers,
        }

    def _asked_on(self, steps: Sequence[tuple[Move | None, World]], name: str) -> dict[str, Plain]:
        """Returns a question, and for each world on a path the messages that cause the answer no; null where it holds."""
        about = next((reach.about for reach in self.reaches() if reach.name == name), "")
        causes: list[Plain] = [self._cause(name, steps[: at + 1]) for at in range(len(steps))]
        possible = name in self._possible
        return {"name": name, "about": about, "possible": possible, "of": self._kind_of(name), "causes": causes}

    def _kind_of(self, name: str) -> str:
        return ARRIVAL if isinstance(question_of(self.protocol, name), OfArrivals) else HERE

    def _cause(self, name: str, steps: Sequence[tuple[Move | None, World]]) -> list[Any] | None:
        """Returns the numbers of the messages because of which a question does not hold; None if it holds, or is not followed."""
        watched = self._watched(steps)
        if watched is None:
            return None
        return self._cause_in(name, steps[-1][1], self._graph.cluster(watched))

    def _cause_in(self, name: str, world: World, cluster: Any) -> list[Any] | None:
        found = find_cause(question_of(self.protocol, name), self.model, cluster)
        net = world[len(self.system.places) + 1 :]
        return None if found is None else [net[place] for place in found]

    def _move_that_shows(self, name: str, world: World, cause: Collection[int]) -> tuple[str, Move] | None:
        """Returns the arrival of one of these messages that a question is about, by id; None if it is about no arrival."""
        question = question_of(self.protocol, name)
        if not isinstance(question, OfArrivals):
            return None
        arriving = [
            (name, move) for name, move in self.moves(world).items() if move.message in cause and move.kind in ("deliver", "fail")
        ]
        return next(((name, move) for name, move in arriving if is_decided_by(question, self._arrivals(world, move))), None)

    def _arrivals(self, world: World, move: Move) -> list[Arrival]:
        """Returns what an arrival does at its receiver, and at its sender."""
        assert move.message is not None
        sender, _, content = self.system.messages[move.message]
        sending = self.system.places.index(sender)
        state = self.system.states
        return [
            Arrival(state[world[sending]], content, state[world[place]], state[move.target[place]])
            for place in dict.fromkeys((move.place, sending))
        ]

    def edges(self, path: Sequence[str]) -> list[Edge]:
        """Returns the edges of the state graph that a path takes. Raises NoSuchPath."""
        return [Edge(move.label, world) for move, world in self.follow(path) if move]

    def way_to_state(self, field: str, value: str, node: str | None = None) -> list[str] | None:
        """
        Returns a shortest path to a world in which this field of a node has this value; None if there is none.

        The field may be the end of a name, such as status. Without a node, that of any node counts. Raises TooMany.
        """
        places = [place for place, name in enumerate(self.names) if node in (None, name)]
        known: dict[int, bool] = {}

        def is_wanted(world: World) -> bool:
            for number in (world[place] for place in places):
                if number not in known:
                    known[number] = has_value(self._fields(number), field, value)
            return any(known[world[place]] for place in places)

        first = self.system.initial()
        before: dict[World, Edge | None] = {first: None}
        came: dict[World, World] = {}
        waiting = deque([first])
        while waiting:
            world = waiting.popleft()
            if is_wanted(world):
                edges: list[Edge] = []
                while (edge := before[world]) is not None:
                    edges.append(edge)
                    world = came[world]
                return self.path_of(reversed(edges))
            for edge in map(Edge._make, self.system.moves(world)):
                if edge.target not in before:
                    before[edge.target], came[edge.target] = edge, world
                    waiting.append(edge.target)
            if len(before) > MOST_SEARCHED:
                raise TooMany(f"not found among the nearest {MOST_SEARCHED:,} states")
        return None

    def _all(self, world: World) -> Iterator[tuple[Move, bool]]:
        """Yields every event with what is random in it, and whether the bounds of the model allow it."""
        allowed = set(map(Edge._make, self.system.moves(world)))
        local = {place: self._local(world[place]) for place in range(len(self.system.places))}
        arriving: dict[int, Iterator[Any]] = {}
        picks: Any = ()
        for taken, edge in possible_events(self.system, world):
            event, picks = "", picks if edge.label == RECEIVE_AGAIN else ()
            if taken.message is None and taken.place is not None:
                event, picks = ("restart", ()) if edge.label == RESTART else next(local[taken.place])
            elif edge.label == RECEIVE and taken.place is not None and taken.message is not None and taken.sender is None:
                if taken.message not in arriving:
                    arriving[taken.message] = self._received(world[taken.place], taken.message)
                picks = next(arriving[taken.message])
            place = self.system.receivers[taken.message] if taken.message is not None else taken.place
            assert place is not None
            kind = KINDS.get(edge.label, "local")
            yield Move(kind, edge.label, place, taken.message, event, picks, edge.target), edge in allowed

    def _local(self, number: int) -> Iterator[tuple[str, Any]]:
        """Yields what can happen to a node by itself, and the random choices; the system has the same in this order."""
        state = self.system.states[number]
        for _, event in self.model.offers(state):
            for picks, _ in core.outcomes(partial(self.model.spec.step, state, event)):
                yield self._event_text(event), picks

    def _received(self, number: int, message: int) -> Iterator[Any]:
        """Yields the random choices of each outcome of an arrival, in the order in which the system has them."""
        sender, _, content = self.system.messages[message]
        event = core.Received(NOW, sender, content)
        return (picks for picks, _ in core.outcomes(partial(self.model.spec.step, self.system.states[number], event)))

    def _event_text(self, event: Any) -> str:
        match event:
            case core.Expired(timer=timer):
                return visible(f"timer {_plain_text(self._specification.TIMER, timer)}")
            case core.Asked(command=tuple() as todo):
                return visible(self.model.command_text(todo))
            case core.Asked(command=command):
                return visible(_plain_text(self._specification.COMMAND, command))
        return type(event).__name__

    def _with_ids(self, moves: Sequence[Move]) -> Iterator[tuple[str, Move]]:
        whole = [blake2b("\n".join(self._traits(move)).encode(), digest_size=16).hexdigest() for move in moves]
        for digest, move in zip(whole, moves, strict=True):
            digits = ID_DIGITS
            while sum(other.startswith(digest[:digits]) for other in whole) > 1 and digits < len(digest):
                digits += 1
            yield digest[:digits], move

    def _traits(self, move: Move) -> Iterator[str]:
        """Yields what distinguishes a move, without numbers that depend on the order of exploration."""
        system, count = self.system, len(self.system.places)
        yield from (move.kind, move.label, str(system.places[move.place]), move.event)
        yield "" if move.message is None else self._message_text(move.message)
        yield from map(self._state_text, move.target[:count])
        yield value_text(system.net_value(move.target[count + 1 :]))
        yield str(move.target[count])

    def _message_text(self, number: int) -> str:
        return value_text(self.model.message_value(self.system.messages[number]))

    def _state_text(self, number: int) -> str:
        if number not in self._texts:
            self._texts[number] = value_text(self.model.node_values(self.system.states[number]))
        return self._texts[number]

    def _fields(self, number: int) -> Fields:
        """Returns the state of a node by its number, as fields."""
        if number not in self._shown:
            variables = dict(self.model.variables(self.system.states[number]))
            if todo := variables.get("todo"):
                variables["todo"] = type(todo)(map(self.model.command_text, todo))
            self._shown[number] = fields_of_variables(variables)
        return self._shown[number]

    def _node(self, place: int, before: World, world: World) -> dict[str, Plain]:
        was, now = (self._fields(at[place]) for at in (before, world))
        fields = [{"name": name, "value": value, "changed": was.get(name) != value} for name, value in now.items()]
        gone = [{"name": name, "value": "", "changed": True} for name in was if name not in now]
        return {"name": self.names[place], "fields": [*fields, *gone]}

    def _under_way(self, number: int) -> dict[str, Plain]:
        sender, to = ends(self.system, number)
        shown = {"number": number, "from": sender, "to": to, "text": visible(message_content(self.system, number))}
        return {**shown, **self._in_fields(self.system.messages[number].message)}

    def _in_fields(self, message: Any) -> dict[str, Plain]:
        """Returns the type and the fields of a message; without them if only a variant of the model has such messages."""
        try:
            plain = self._specification.MESSAGE.form.plain(message)
        except KeyError:
            return {"type": "", "fields": []}
        fields = fields_of_plain({name: value for name, value in plain.items() if name != "type"})
        return {"type": plain["type"], "fields": [[name, value] for name, value in fields.items()]}

    def _move(self, name: str, move: Move, world: World) -> dict[str, Plain]:
        return {**self._done(move, world), "id": name, "picks": self._picks(move)}

    def _picks(self, move: Move) -> list[Plain]:
        return [{"site": site, "chosen": [visible(str(option)) for option in options]} for site, options in move.picks]

    def _done(self, move: Move, world: World) -> dict[str, Plain]:
        """Returns what a move does in a world: what it changes and sends."""
        names = enumerate(self.names)
        changed = {name: text for at, name in names if (text := changes(self.system, world, move.target, at))}
        before, after = (at[len(self.names) + 1 :] for at in (world, move.target))
        sent = [self._under_way(number) for number in after if number not in before]
        return {**self._said(move), "changes": changed, "sends": sent}

    def _said(self, move: Move) -> dict[str, Plain]:
        message = None if move.message is None else self._under_way(move.message)
        return {"kind": move.kind, "node": self.names[move.place], "event": move.event, "message": message}

    def _must_hold(self) -> dict[str, tuple[str, list[Plain]]]:
        """Returns what the model asks of every world, with what it is about and its clauses."""
        found: dict[str, tuple[str, list[Plain]]] = {}
        for name in self._asked.invariants if self._asked else ():
            if self._asked and name in counterexamples.questions_of(self.protocol).QUESTIONS:
                own = next((one for one in self._specification.PROPERTIES if one.name == name), None)
                about, clauses = (own.about, own.clauses) if own else (self._asked.question, self._asked.clauses)
                found[name] = about, list(clauses)
        return found

    def _invariants(self, steps: Sequence[tuple[Move | None, World]]) -> Iterator[dict[str, Plain]]:
        """Yields what the model asks of a world; None where it does not follow the steps that lead there."""
        watched = self._watched(steps)
        for name, (about, clauses) in self._must_hold().items():
            asked = counterexamples.questions_of(self.protocol).QUESTIONS[name]
            holds = None if watched is None else bool(asked(self.model, self._graph.cluster(watched)))
            possible = name in self._possible
            yield {"name": name, "about": about, "clauses": clauses, "holds": holds, "possible": possible}

    def _watched(self, steps: Sequence[tuple[Move | None, World]]) -> World | None:
        """Returns the last world with what the model remembers of the way; None if it does not follow this way."""
        if not isinstance(self._graph, Monitored):
            return steps[-1][1]
        world: World | None = self._graph.initial()
        for move, target in steps[1:]:
            if move is None or world is None:
                continue
            name = self._graph.monitor.names.get(move.label, move.label)
            world = next((after for label, after in self._graph.moves(world) if label == name and after[1:] == target), None)
        return world

    def _judged(self) -> list[Property]:
        """Returns the properties of the protocol that must always hold, without those that the model asks itself."""
        own = self._asked.invariants if self._asked else ()
        return [known for known in self._specification.PROPERTIES if known.when == "always" and known.name not in own]

    def _properties(self, world: World) -> Iterator[dict[str, Plain]]:
        """Yields the properties of the protocol: whether each holds here; None for those of steps."""
        cluster = self.system.cluster(world)
        for known in self._judged():
            holds = _holds(known, cluster)
            yield {"name": known.name, "about": known.about, "clauses": list(known.clauses), "holds": holds, "possible": False}

    def _questions(self) -> list[Reach]:
        """Returns the questions of the models that need nothing of the way to a world."""
        return [] if isinstance(self._graph, Monitored) else self.reaches()

    def _answers(self, world: World, asked: Iterable[Reach]) -> Iterator[tuple[int, list[Any], tuple[str, Move] | None]]:
        """Yields the place of each question that a world answers with no, the messages that cause it, and what shows it."""
        cluster = self.system.cluster(world)
        for place, reach in enumerate(asked):
            cause = self._cause_in(reach.name, world, cluster)
            if cause is not None:
                yield place, cause, self._move_that_shows(reach.name, world, cause)

    def _broken(self, world: World, judged: Sequence[Property], asked: Iterable[str]) -> list[Plain]:
        """Returns the places of the properties, and after them of what the model asks, that a world does not satisfy."""
        cluster, known = self.system.cluster(world), counterexamples.questions_of(self.protocol).QUESTIONS
        holds = [_holds(one, cluster) for one in judged] + [known[name](self.model, cluster) for name in asked]
        return [place for place, one in enumerate(holds) if one is False]


def _holds(known: Property, cluster: Cluster) -> bool | None:
    """Whether a property holds in a world; None for one of steps."""
    subjects = {"cluster": [cluster], "node": [*cluster.nodes.values()]}.get(known.of)
    return None if subjects is None else all(map(known.holds, subjects))


def explorable(protocol: str) -> dict[str, str]:
    """Returns the configurations and models of a protocol that can be explored, with what they are about."""
    worlds = {name: one.about for name, one in configurations(protocol).items() if _has_nodes(one.constants)}
    asked = {one.name: one.question for one in models(protocol) if _has_nodes(one.configuration.constants) and _is_varied(one)}
    return worlds | asked


def obstacle_of(model: Asked) -> str:
    """Returns why a model of the manifest is not among those that can be explored."""
    if not _has_nodes(model.configuration.constants):
        return "it models a part of the protocol, not the state of whole nodes"
    known = counterexamples.variants_of(model.protocol)
    is_endless = hasattr(known.BEHAVIOURS.get(model.behaviour), "watching")
    return "its runs are endless" if is_endless else "only its TLA+ module has the steps that it adds"


def _has_nodes(constants: Mapping[str, Any]) -> bool:
    return {"Node", "MaxNet"} <= constants.keys()


def _is_varied(model: Asked) -> bool:
    """Whether Python has the variant and behaviour of a model. Endless runs number their worlds anew, and cannot be explored."""
    known = counterexamples.variants_of(model.protocol)
    is_known = frozenset(model.replace.values()) in known.VARIANTS and model.behaviour in known.BEHAVIOURS
    return is_known and not hasattr(known.BEHAVIOURS[model.behaviour], "watching")


def _open(protocol: str, name: str) -> tuple[Graph, str, Asked | None]:
    """Returns the graph of a model or a configuration, what it is about, and the model."""
    known = explorable(protocol)
    if name not in known:
        raise NoSuchModel(protocol, name, [*known])
    asked = {model.name: model for model in models(protocol)}
    if name in asked:
        return counterexamples.graph_of(asked[name]), known[name], asked[name]
    return System(PROTOCOLS[protocol].bounded.load().Model(configurations(protocol)[name].constants)), known[name], None


def _plain_text(form: Any, value: Any) -> str:
    """A timer or command in words; the models of some protocols have of their own, which no form knows."""
    try:
        return message_text(form.plain(value))
    except KeyError:
        return type(value).__name__
