"""
A configuration of a model as the steps of single nodes, and its state graph as combinations of them.

What an implementation can be asked is what one node does: in a state, about an event, with these draws. Two edges of the state
graph that differ only in what the other nodes know or what else is under way are the same *local step*. A state graph of
hundreds of thousands of edges has some hundreds of them.

States and messages have numbers in an order of their own, not in that in which the explorer happens to see them, so that
what is made from them is the same in every process and by every explorer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from peerproof.spec.core import Asked, CancelTimer, Expired, Notify, Pick, Received, Send, SetTimer, Step, outcomes
from peerproof.spec.explore import explore
from peerproof.spec.properties import InFlight
from peerproof.spec.world import LOSE, NOW, RECEIVE, RECEIVE_AGAIN, RESTART, Model, with_messages

World: TypeAlias = tuple[int, ...]  #: as in `spec.world`, with the numbers of this module

#: What stands for an edge in a path: twice the number of its step, one more if the message stays under way; a loss is the number
#: of the message, counted from -1 downwards.
Token: TypeAlias = int

#: Called now and then with worlds seen, worlds waiting and depth.
Progress: TypeAlias = Callable[[int, int, int], None]


class Event(NamedTuple):
    """What happens to a node: `send` with sender and bytes, `call` with a command, `timer` with a timer, `restart`."""

    kind: str
    plain: Any

    @property
    def text(self) -> str:
        """The same as text: equal for equal events."""
        return canonical([self.kind, self.plain])


class LocalStep(NamedTuple):
    """What one node does about one event: states, events and messages by number."""

    state: int
    event: int
    picks: tuple[tuple[str, tuple[Any, ...]], ...]  #: the answers to questions with more than one option
    after: int
    sent: tuple[int, ...]  #: in this order; what is already under way counts too
    timers: tuple[tuple[int, int | None], ...]  #: events with the milliseconds until then, or None for a timer that is stopped
    notices: tuple[int, ...]  #: what the application is told


class Move(NamedTuple):
    """An edge of the state graph."""

    label: str
    target: World
    token: Token


def canonical(plain: Any) -> str:
    """Plain data as text, equal for equal data."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


@dataclass
class LocalSteps:
    """The local steps of a model, which are found while its graph is walked."""

    model: Model
    states: list[Any]  #: by place and plain form
    messages: list[InFlight]  #: by sender, receiver and bytes
    plain_states: list[Any]
    datagrams: list[str]  #: the messages' bytes in hexadecimal digits
    events: list[Event] = field(default_factory=list)
    steps: list[LocalStep] = field(default_factory=list)
    notices: list[Any] = field(default_factory=list)  #: in plain form, as adapters show them

    def __post_init__(self) -> None:
        self.places = tuple(node for node, _ in self.model.nodes)
        self.place_of = [self.places.index(state.self_id) for state in self.states]  #: of a state
        self.senders = [self.places.index(message.sender) for message in self.messages]
        self.receivers = [self.places.index(message.to) for message in self.messages]
        self._state_numbers = {state: number for number, state in enumerate(self.states)}
        self._message_numbers = {message: number for number, message in enumerate(self.messages)}
        self._event_numbers: dict[str, int] = {}
        self._local: dict[int, tuple[tuple[str, int], ...]] = {}
        self._received: dict[tuple[int, int], tuple[int, ...]] = {}
        self._restarted: dict[int, int] = {}
        self.fresh = tuple(self._state_numbers[state] for _, state in self.model.nodes)

    def initial(self) -> World:
        """All nodes just started, nothing under way."""
        return (*self.fresh, self.model.faults.restarts)

    def moves(self, world: World) -> Iterator[Move]:
        """Every edge that leaves a world: those of `spec.world.System`, each with the local step in it."""
        faults, count = self.model.faults, len(self.fresh)
        nodes, restarts, net = world[:count], world[count], world[count + 1 :]
        for place in range(count):
            for label, step in self.local(nodes[place]):
                if len(sent := with_messages(net, self.steps[step].sent)) <= faults.in_flight:
                    yield Move(label, (*_put(nodes, place, self.steps[step].after), restarts, *sent), 2 * step)
            if restarts and self.places[place] in faults.restarting:
                step = self.restarted(nodes[place])
                yield Move(RESTART, (*_put(nodes, place, self.steps[step].after), restarts - 1, *net), 2 * step)
        for index, message in enumerate(net):
            rest = net[:index] + net[index + 1 :]
            place = self.receivers[message]
            for step in self.received(nodes[place], message):
                after = (*_put(nodes, place, self.steps[step].after), restarts)
                sends = self.steps[step].sent
                if len(taken := with_messages(rest, sends)) <= faults.in_flight:
                    yield Move(RECEIVE, after + taken, 2 * step)
                if faults.duplication and len(kept := with_messages(net, sends)) <= faults.in_flight:
                    yield Move(RECEIVE_AGAIN, after + kept, 2 * step + 1)
            if faults.loss:
                yield Move(LOSE, (*nodes, restarts, *rest), -1 - message)

    def local(self, state: int) -> tuple[tuple[str, int], ...]:
        """What can happen to a node in this state by itself: labels and steps."""
        if state not in self._local:
            offers = self.model.offers(self.states[state])
            self._local[state] = tuple((label, step) for label, event in offers for step in self._steps(state, event))
        return self._local[state]

    def received(self, state: int, message: int) -> tuple[int, ...]:
        """What a message can make of a node in this state."""
        if (state, message) not in self._received:
            sender, _, content = self.messages[message]
            self._received[state, message] = self._steps(state, Received(NOW, sender, content))
        return self._received[state, message]

    def restarted(self, state: int) -> int:
        """What a restart makes of a node in this state."""
        if state not in self._restarted:
            before = self.states[state]
            after = self._state_numbers[self.model.restarted(before)]
            effects = self.model.spec.initial(before.self_id, before.config).effects
            step = LocalStep(state, self.event(Event("restart", None)), (), after, (), self.timers(effects), self.told(effects))
            self._restarted[state] = self._add(step)
        return self._restarted[state]

    def event(self, event: Event) -> int:
        """The number of an event."""
        number = self._event_numbers.setdefault(event.text, len(self.events))
        if number == len(self.events):
            self.events.append(event)
        return number

    def plain_event(self, event: Any) -> Event:
        """An event of the specification as plain data."""
        spec = self.model.spec
        match event:
            case Received(_, sender, message):
                return Event("send", [sender, spec.MESSAGE.encode(message).hex()])
            case Asked(_, command):
                return Event("call", spec.COMMAND.plain(command))
            case Expired(_, timer):
                return Event("timer", spec.TIMER.plain(timer))
        raise TypeError(f"{event!r} is no event")

    def timers(self, effects: Iterable[Any]) -> tuple[tuple[int, int | None], ...]:
        """The timers that effects start and stop."""
        found: list[tuple[int, int | None]] = []
        for effect in effects:
            match effect:
                case SetTimer(timer, after):
                    found.append((self.event(self.plain_event(Expired(NOW, timer))), int(after)))
                case CancelTimer(timer):
                    found.append((self.event(self.plain_event(Expired(NOW, timer))), None))
        return tuple(found)

    def told(self, effects: Iterable[Any]) -> tuple[int, ...]:
        """What effects tell the application."""
        found = []
        for effect in effects:
            if isinstance(effect, Notify):
                plain = dict(self.model.spec.NOTICE.plain(effect.notice))
                notice = {"name": plain.pop("type"), **plain}
                if notice not in self.notices:
                    self.notices.append(notice)
                found.append(self.notices.index(notice))
        return tuple(found)

    def _steps(self, state: int, event: Any) -> tuple[int, ...]:
        before, number = self.states[state], self.event(self.plain_event(event))
        found = []
        step = partial(self.model.spec.step, before, event)
        for picks, (after, effects) in outcomes(step):
            sends = (InFlight(before.self_id, effect.to, effect.message) for effect in effects if isinstance(effect, Send))
            sent = tuple(self._message_numbers[message] for message in sends)
            asked, timers, told = open_picks(step, picks), self.timers(effects), self.told(effects)
            found.append(self._add(LocalStep(state, number, asked, self._state_numbers[after], sent, timers, told)))
        return tuple(found)

    def _add(self, step: LocalStep) -> int:
        self.steps.append(step)
        return len(self.steps) - 1


def _put(nodes: tuple[int, ...], place: int, state: int) -> tuple[int, ...]:
    return (*nodes[:place], state, *nodes[place + 1 :])


def open_picks(
    step: Callable[[Pick], Step[Any, Any]], picks: Iterable[tuple[str, tuple[Any, ...]]]
) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """The answers to questions with more than one option; the others are not asked of anybody outside."""
    answers, asked = iter(picks), []

    def pick(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:  # noqa: ARG001  # the answers are known
        site, answer = next(answers)
        assert site == why, "the same step asks the same questions"
        if len(among) > 1:
            asked.append((why, answer))
        return answer

    step(pick)
    return tuple(asked)


def first_drawn(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:  # noqa: ARG001  # it does not matter
    """A pick for where it does not matter what is drawn."""
    return tuple(sorted(among)[:some])


def local_steps(model: Model, progress: Progress | None = None) -> LocalSteps:
    """The local steps of a model whose graph is explored for this."""
    system = explore(model, progress=progress).system
    spec, places = model.spec, [node for node, _ in model.nodes]
    states = sorted(
        ((places.index(state.self_id), canonical(spec.STATE.plain(state)), state) for state in system.states),
        key=itemgetter(0, 1),
    )
    messages = sorted(
        (
            (places.index(message.sender), places.index(message.to), spec.MESSAGE.encode(message.message).hex(), message)
            for message in system.messages
        ),
        key=itemgetter(0, 1, 2),
    )
    assert len({(place, plain) for place, plain, _ in states}) == len(states), "a state is shown whole"
    return LocalSteps(
        model,
        states=[state for _, _, state in states],
        messages=[message for _, _, _, message in messages],
        plain_states=[json.loads(plain) for _, plain, _ in states],
        datagrams=[digits for _, _, digits, _ in messages],
    )
