"""
A configuration of a model as the steps of single nodes, and its state graph as combinations of them.

A test of an implementation shows only what one node does: in a state, with an event and given choices. Edges of the state graph
that differ only in other nodes or other messages under way are the same *local step*; hundreds of thousands of edges have some
hundreds of local steps. Over connections, an edge in which a message arrives has two: the receiver's and the sender's.

A state of the model may hold more than the node's program has (`Model.project_state`), such as that the node is down. Local steps
are about the visible part, and computed by the specification itself. An edge that no program observes, such as a crash, has none.

States and messages have canonical numbers, so tables are the same in every process and for every explorer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from peerproof.conformance.vectors.plain_data import Event, canonical, expected_event, open_picks, plain_event
from peerproof.spec.core import CancelTimer, Expired, Notify, Outcome, Pick, Received, Sent, SetTimer, Step, outcomes
from peerproof.spec.errors import NotEnabled
from peerproof.spec.model.bounded import FAIL, LOSE, NOW, RECEIVE, RECEIVE_AGAIN, RESTART, Model, in_flight
from peerproof.spec.model.explorer import explore
from peerproof.spec.model.in_flight import Network
from peerproof.spec.properties import InFlight
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import recording

World: TypeAlias = tuple[int, ...]  #: as in `spec.world`, with the numbers of this module

#: A step in a path: twice its number, plus one if the message stays under way. Tokens without a step count from -1 downwards: the
#: number of the lost message, and after those of all messages the unobserved events.
Token: TypeAlias = int

#: The tokens of an edge: one, or over connections that of the receiver and that of the sender.
Tokens: TypeAlias = tuple[Token, ...]

#: Called now and then with the number of states found, of states waiting, and the depth.
Progress: TypeAlias = Callable[[int, int, int], None]


class LocalStep(NamedTuple):
    """A step of one node: states, events and messages by number."""

    state: int
    event: int
    picks: tuple[tuple[str, tuple[Any, ...]], ...]  #: the answers to choices with more than one option
    after: int
    sent: tuple[int, ...]  #: in order; messages that are already under way count too
    timers: tuple[tuple[int, int | None], ...]  #: events with the milliseconds until then, or None for a timer that is stopped
    notices: tuple[int, ...]  #: events for the application


class Unnoticed(NamedTuple):
    """An event that no program observes: a label with the number of its node or message."""

    label: str
    number: int


class Move(NamedTuple):
    """An edge of the state graph."""

    label: str
    target: World
    tokens: Tokens


class _Branch(NamedTuple):
    """One outcome of an event at one node: its next whole state, and the local step or unobserved event."""

    after: int
    what: int | Unnoticed


@dataclass
class LocalSteps:
    """The local steps of a model, found while its graph is walked."""

    model: Model
    wholes: list[Any]  #: the states of the model
    states: list[Any]  #: the visible parts of them, sorted by place and plain form
    messages: list[InFlight]  #: by sender, receiver and bytes
    plain_states: list[Any]
    datagrams: list[str]  #: the messages' bytes in hexadecimal digits
    events: list[Event] = field(default_factory=list)
    steps: list[LocalStep] = field(default_factory=list)
    notices: list[Any] = field(default_factory=list)  #: in plain form, as adapters show them
    unnoticed: list[Unnoticed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.spec = PROTOCOLS[self.model.spec.NAME].specification.load()
        self.places = tuple(node for node, _ in self.model.nodes)
        self.first = tuple(self.model.project_state(state) for _, state in self.model.nodes)
        self.place_of = [self.places.index(state.self_id) for state in self.states]  #: of a state
        self.senders = [self.places.index(message.sender) for message in self.messages]
        self.receivers = [self.places.index(message.to) for message in self.messages]
        pairs = [sender * len(self.places) + to for sender, to in zip(self.senders, self.receivers, strict=True)]
        self.network = Network(pairs, is_ordered=self.model.faults.ordered)
        self._whole_numbers = {state: number for number, state in enumerate(self.wholes)}
        self._state_numbers = {state: number for number, state in enumerate(self.states)}
        self._message_numbers = {message: number for number, message in enumerate(self.messages)}
        self._event_numbers: dict[str, int] = {}
        self._unnoticed_numbers: dict[Unnoticed, int] = {}
        self._draws: dict[tuple[int, int], dict[Any, int]] = {}
        self.local, self.receive, self.confirm = cache(self._local), cache(self._receive), cache(self._confirm)
        self.restart = cache(self._restart)
        connected = self.model.faults.connections
        self._first = self.model.first_moment
        self._took = self.model.took if connected else None
        self._there = [connected and self.model.is_there(state) for state in self.wholes]
        self.fresh = tuple(self._whole_numbers[state] for _, state in self.model.nodes)
        self.beginnings = tuple(self._state_numbers[state] for state in self.first)

    def initial(self) -> World:
        """Returns the state in which all nodes have just started, with the messages that the model has under way."""
        numbers = (self._message_numbers[message] for message in self.model.under_way)
        return (*self.fresh, self.model.faults.restarts, *self.network.with_messages((), tuple(numbers)))

    def moves(self, world: World) -> Iterator[Move]:
        """Yields every edge that leaves a state: those of `spec.model.bounded.System`, each with its local steps."""
        faults, count = self.model.faults, len(self.fresh)
        with_messages = self.network.with_messages
        nodes, restarts, net = world[:count], world[count], world[count + 1 :]
        for place in range(count):
            for label, branch in self.local(nodes[place]):
                if len(sent := with_messages(net, self.messages_of(branch))) <= faults.in_flight:
                    yield Move(label, (*_put(nodes, place, branch.after), restarts, *sent), (self.token(branch),))
            if restarts and self.places[place] in faults.restarting:
                branch = self.restart(nodes[place])
                yield Move(RESTART, (*_put(nodes, place, branch.after), restarts - 1, *net), (self.token(branch),))
        for index, message in enumerate(net):
            if not self.network.is_first(net, index):
                continue
            rest = net[:index] + net[index + 1 :]
            if faults.connections:
                for label, after, sends, tokens in self._exchanges(nodes, message):
                    if len(sent := with_messages(rest, sends)) <= faults.in_flight:
                        yield Move(label, (*after, restarts, *sent), tokens)
                continue
            place = self.receivers[message]
            for branch in self.receive(nodes[place], message):
                after, sends = (*_put(nodes, place, branch.after), restarts), self.messages_of(branch)
                if len(taken := with_messages(rest, sends)) <= faults.in_flight:
                    yield Move(RECEIVE, after + taken, (self.token(branch),))
                if faults.duplication and len(kept := with_messages(net, sends)) <= faults.in_flight:
                    yield Move(RECEIVE_AGAIN, after + kept, (self.token(branch, again=True),))
            if faults.loss:
                yield Move(LOSE, (*nodes, restarts, *rest), (-1 - message,))

    def _exchanges(self, nodes: World, message: int) -> Iterator[tuple[str, World, tuple[int, ...], Tokens]]:
        """Yields the outcomes of a message over a connection: the label, the nodes afterwards, their messages, and the tokens."""
        sender, to = self.senders[message], self.receivers[message]
        arrives = self._there[nodes[to]]
        settled = self.confirm(nodes[sender], message, arrives)
        if not arrives:
            for ack in settled:
                yield FAIL, _put(nodes, sender, ack.after), self.messages_of(ack), (self.token(ack),)
            return
        for taken in self.receive(nodes[to], message):
            for ack in settled:
                after = _put(_put(nodes, to, taken.after), sender, ack.after)
                yield RECEIVE, after, (*self.messages_of(taken), *self.messages_of(ack)), (self.token(taken), self.token(ack))

    def messages_of(self, branch: _Branch) -> tuple[int, ...]:
        """Returns the messages sent in a branch."""
        return () if isinstance(branch.what, Unnoticed) else self.steps[branch.what].sent

    def token(self, branch: _Branch, *, again: bool = False) -> Token:
        """Returns the token of a branch in a path."""
        if not isinstance(branch.what, Unnoticed):
            return 2 * branch.what + again
        return self.silent_token(branch.what._replace(label=RECEIVE_AGAIN) if again else branch.what)

    def silent_token(self, what: Unnoticed) -> Token:
        """Returns the token of an unobserved event in a path."""
        number = self._unnoticed_numbers.setdefault(what, len(self.unnoticed))
        if number == len(self.unnoticed):
            self.unnoticed.append(what)
        return -1 - len(self.messages) - number

    def _local(self, whole: int) -> tuple[tuple[str, _Branch], ...]:
        """Returns the branches of a node in this state without a message."""
        state = self.wholes[whole]
        place = self.places.index(state.self_id)
        offers = ((label, self._branches(whole, event, Unnoticed(label, place))) for label, event in self.model.offers(state))
        return tuple((label, branch) for label, branches in offers for branch in branches)

    def _receive(self, whole: int, message: int) -> tuple[_Branch, ...]:
        """Returns the branches of a node in this state that receives a message."""
        sender, _, content = self.messages[message]
        return self._branches(whole, Received(NOW, sender, content), Unnoticed(RECEIVE, message))

    def _confirm(self, whole: int, message: int, arrived: bool) -> tuple[_Branch, ...]:
        """Returns the branches of a sender in this state that learns whether its message has arrived."""
        sent = self.messages[message]
        took = self._took(sent) if self._took and arrived else None
        event, label = Sent(NOW, sent.to, sent.message, took), RECEIVE if arrived else FAIL
        return self._branches(whole, event, Unnoticed(label, message))

    def _restart(self, whole: int) -> _Branch:
        """Returns the branch of a node that restarts in this state."""
        before = self.wholes[whole]
        after = self.model.restart(before)
        place, state = self.places.index(before.self_id), self._state_numbers[self.model.project_state(before)]
        event = Event("restart", self.config_changes(place, after.config) or None)
        seen, effects = self.start_node(place, event.plain)
        assert seen == self.model.project_state(after), "a restart of the model is one of the specification"
        number = self._state_numbers[seen]
        step = LocalStep(state, self.event(event), (), number, (), self.timers(effects), self.notices_of(seen.config, effects))
        draws = self._draws.setdefault((state, step.event), {})
        if () not in draws:
            draws[()] = self._add(step)
        return _Branch(self._whole_numbers[after], draws[()])

    def config_changes(self, place: int, config: Any) -> dict[str, Any]:
        """Returns the members of a configuration that differ from the node's first start."""
        form = self.spec.CONFIG
        first = form.plain(self.first[place].config)
        return {name: value for name, value in form.plain(config).items() if value != first[name]}

    def start_node(self, place: int, changes: Any) -> Step[Any, Any]:
        """Starts a node with these members of its configuration changed."""
        form, first = self.spec.CONFIG, self.first[place].config
        config = form.value({**form.plain(first), **changes}) if changes else first
        state, effects = self.spec.initial(self.places[place], config)
        return Step(self.model.project_state(state), effects)

    def event(self, event: Event) -> int:
        """Returns the number of an event."""
        number = self._event_numbers.setdefault(event.text, len(self.events))
        if number == len(self.events):
            self.events.append(event)
        return number

    def timers(self, effects: Iterable[Any]) -> tuple[tuple[int, int | None], ...]:
        """Returns the timers that effects start and stop."""
        found: list[tuple[int, int | None]] = []
        for effect in effects:
            match effect:
                case SetTimer(timer, after):
                    found.append((self.event(plain_event(self.spec, Expired(NOW, timer))), int(after)))
                case CancelTimer(timer):
                    found.append((self.event(plain_event(self.spec, Expired(NOW, timer))), None))
        return tuple(found)

    def notices_of(self, config: Any, effects: Iterable[Any]) -> tuple[int, ...]:
        """Returns the events that effects report to the application of a node with this configuration."""
        found = []
        for effect in effects:
            if isinstance(effect, Notify):
                notice = expected_event(self.spec, config, effect.notice)
                if notice not in self.notices:
                    self.notices.append(notice)
                found.append(self.notices.index(notice))
        return tuple(found)

    def _branches(self, whole: int, event: Any, unnoticed: Unnoticed) -> tuple[_Branch, ...]:
        before = self.wholes[whole]
        taken = list(outcomes(partial(self.model.spec.step, before, event)))
        projected, seen = self.model.project_event(before, event), self.model.project_state(before)
        if projected is None:
            ((_, (after, effects)),) = taken
            assert (self.model.project_state(after), effects) == (seen, ()), "an unobserved event changes nothing visible"
            return (_Branch(self._whole_numbers[after], unnoticed),)
        if not taken:
            return ()
        steps = self._steps(self._state_numbers[seen], projected, len(taken))
        if self._first is not None:
            ((_, (after, _)),) = taken
            return tuple(_Branch(self._whole_numbers[after], step) for step in steps.values())
        return tuple(_Branch(self._whole_numbers[after], steps[picks]) for picks, (after, _) in taken)

    def _steps(self, state: int, event: Any, count: int) -> dict[Any, int]:
        """Returns the local steps of an event by choices. Raises CutShort if the model has another number of them."""
        before, number = self.states[state], self.event(plain_event(self.spec, event))
        if (state, number) not in self._draws:
            draws = self._draws[state, number] = {}
            step = partial(self.spec.step, before, event)
            every = possible_outcomes(self._first, step)
            self._check_whole(state, number, len(every), count)
            for picks, (after, effects) in every:
                sent = tuple(self._message_numbers[message] for message in in_flight(before.self_id, effects, self.places))
                asked, timers, notices = open_picks(step, picks), self.timers(effects), self.notices_of(before.config, effects)
                draws[picks] = self._add(LocalStep(state, number, asked, self._state_numbers[after], sent, timers, notices))
        self._check_whole(state, number, len(self._draws[state, number]), count)
        return self._draws[state, number]

    def _check_whole(self, state: int, event: int, expected: int, found: int) -> None:
        if found != expected:
            what = f"{self.events[event].text} in the state {canonical(self.plain_states[state])}"
            raise CutShort(f"the model's bounds leave {found} of {expected} possible choices: {what}; choose others")

    def _add(self, step: LocalStep) -> int:
        self.steps.append(step)
        return len(self.steps) - 1


def possible_outcomes(first_moment: Pick | None, step: Callable[[Pick], Step[Any, Any]]) -> list[Outcome[Any, Any]]:
    """Returns the outcomes of an event; a single one if the model says that the choices only decide on times."""
    if first_moment is None:
        return list(outcomes(step))
    pick, answers = recording(first_moment)
    try:
        taken = step(pick)
    except NotEnabled:
        return []
    return [Outcome(tuple(answers), taken)]


def _put(nodes: tuple[int, ...], place: int, state: int) -> tuple[int, ...]:
    return (*nodes[:place], state, *nodes[place + 1 :])


class CutShort(Exception):
    """A model's bounds leave out some choices of an event, but not all, so the rest cannot check an implementation."""


def local_steps(model: Model, progress: Progress | None = None) -> LocalSteps:
    """Explores a model's graph and returns its local steps. Raises CutShort while they are found."""
    system = explore(model, progress=progress).system
    spec, places = model.spec, [node for node, _ in model.nodes]
    seen = dict.fromkeys(map(model.project_state, system.states))
    states = [(places.index(state.self_id), canonical(spec.STATE.plain(state)), state) for state in seen]
    states.sort(key=itemgetter(0, 1))
    digits = (spec.MESSAGE.encode(message.message).hex() for message in system.messages)
    pairs = ((places.index(message.sender), places.index(message.to)) for message in system.messages)
    messages = sorted(zip(pairs, digits, system.messages, strict=True), key=itemgetter(0, 1))
    assert len({(place, plain) for place, plain, _ in states}) == len(states), "the plain form shows the whole state"
    return LocalSteps(
        model,
        wholes=system.states,
        states=[state for _, _, state in states],
        messages=[message for _, _, message in messages],
        plain_states=[json.loads(plain) for _, plain, _ in states],
        datagrams=[digits for _, digits, _ in messages],
    )
