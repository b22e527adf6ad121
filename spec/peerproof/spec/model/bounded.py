"""
Nodes and a faulty network as one pure system, small enough to look at every state of it.

A *world* is a tuple of integers: the state of each node, the restarts that are left, and the messages under way, in order. What
a number stands for is kept once, in the `System`; so is what an event makes of a node's state, whatever the other nodes
are doing. That makes a world cheap to keep, to compare and to move on, and two worlds are the same exactly if their numbers are.

The network is a set, in which messages overtake each other, or keeps them in order for each pair of nodes; see `network`. A
configuration says how many there may be, whether they get lost or arrive twice, and how often a node may restart. What
would go over a bound does not happen: bounds are guards, so that every state has all its edges.

Over connections nothing is lost and nothing arrives twice. A message arrives, or its receiver is not there and it fails; in the
same step its sender is told which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar, cast

from peerproof.spec import core
from peerproof.spec.core import Instant, NodeId, Option, Pick, Specification, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.model.in_flight import Net, Network, queue_value
from peerproof.spec.overrides import Overrides, overridden
from peerproof.spec.properties import Cluster, InFlight, Property, Taken, find_violations

T = TypeVar("T")
M = TypeVar("M", bound="Model")

World: TypeAlias = tuple[int, ...]

#: A protocol's `step`.
Taking: TypeAlias = Callable[[Any, Any, Any], Step[Any, Any]]

#: Makes another step of a step.
Change: TypeAlias = Callable[[Taking], Taking]

#: Time does not pass in a world; what may happen late may happen at any moment.
NOW = Instant(0)

RECEIVE, RECEIVE_AGAIN, LOSE, FAIL, RESTART = "Receive", "ReceiveAgain", "Lose", "Fail", "Restart"


@dataclass(frozen=True)
class Faults:
    """What the network and the machines may do, at most."""

    in_flight: int  #: messages under way at once
    loss: bool = False
    duplication: bool = False
    restarts: int = 0  #: of all nodes together
    restarting: frozenset[NodeId] = frozenset()  #: the nodes that may restart
    connections: bool = False  #: whether messages go over connections
    ordered: bool = False  #: whether messages from one node to another arrive in the order in which they were sent


class Model(ABC):
    """
    What a protocol brings so that its bounded model can be explored: what the constants of a configuration mean for its nodes.

    The constants that say which nodes there are and what goes wrong mean the same for every protocol. A model whose nodes can
    crash, or have applications with something to do, is an `ApplicationModel`. A variant, whose nodes take other steps than the
    protocol does, is a subclass with `overrides` and `changes`.
    """

    spec: Specification
    nodes: tuple[tuple[NodeId, Any], ...]  #: each node with its first state, in the order of `names`
    under_way: tuple[InFlight, ...] = ()  #: the messages that are under way from the start
    has_connections: ClassVar[bool] = False
    first_moment: ClassVar[Pick | None] = None  #: a pick that stands for all, if choices at random only decide on moments
    overrides: ClassVar[Overrides] = {}  #: other definitions while a step is taken
    changes: ClassVar[tuple[Change, ...]] = ()  #: what is done around each step, the innermost first

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.names: tuple[int, ...] = tuple(sorted(constants["Node"]))  #: the nodes in the TLA+ module
        self.faults = Faults(
            in_flight=constants["MaxNet"],
            loss=constants.get("Loss", False),
            duplication=constants.get("Duplication", False),
            restarts=constants.get("MaxRestarts", 0),
            restarting=frozenset(map(self.address, constants.get("Restarting", ()))),
            connections=self.has_connections,
            ordered=constants.get("Fifo", False),
        )

    def vary(self, step: Taking) -> Taking:
        """The step with the overrides and changes of this model."""
        step = overridden(step, self.overrides)
        for change in self.changes:
            step = change(step)
        return step

    @property
    def node_variables(self) -> tuple[str, ...]:
        """The variables of the TLA+ module that hold a value for each node."""
        return tuple(self.variables(self.nodes[0][1]))

    @property
    def has_nodes(self) -> bool:
        """Whether what happens here could happen to nodes that run the protocol on the network."""
        return True

    @staticmethod
    def address(number: int, /) -> NodeId:
        """The address of a node of the TLA+ module: by default its number."""
        return NodeId(str(number))

    @staticmethod
    def number(address: NodeId, /) -> int:
        """The node of the TLA+ module that has this address."""
        return int(address)

    @abstractmethod
    def offers(self, state: Any) -> Iterable[tuple[str, Any]]:
        """What may happen to a node in this state without a message: labels and events."""

    def restart(self, state: Any) -> Any:
        """What a node in this state is when it comes back after a restart: by default a fresh one."""
        return self.spec.initial(state.self_id, state.config).state

    def configuration_after(self, state: Any) -> Any:
        """How a node in this state is configured when it comes back after a restart."""
        return self.restart(state).config

    def project_state(self, state: Any) -> Any:
        """The part of this state that the node's program has: a state of the specification."""
        return state

    def project_event(self, state: Any, event: Any) -> Any | None:  # noqa: ARG002  # all of it, whatever the state
        """What an event is for the program of a node in this state: an event of the specification, or nothing."""
        return event

    @abstractmethod
    def variables(self, state: Any) -> Mapping[str, Any]:
        """A node's state as the variables of the TLA+ module: numbers, texts, tuples, frozensets and mappings."""

    def node_values(self, state: Any) -> tuple[Any, ...]:
        """The values of `node_variables`."""
        return tuple(self.variables(state).values())

    def message_value(self, message: InFlight) -> Any:
        """A message under way: `<<from, to, ...>>`, which is an element of the variable `net`; with order see `queue_value`."""
        return self.number(message.sender), self.number(message.to), *self.content_value(message.message)

    @abstractmethod
    def content_value(self, message: Any) -> tuple[Any, ...]:
        """What follows sender and receiver in the value of a message."""

    @staticmethod
    def content_text(message: Any, /) -> str | None:  # noqa: ARG004  # none of its own
        """How diagrams show a message value of the TLA+ module, if in a way of this model's own."""
        return None

    @staticmethod
    def change_texts(variable: str, was: Any, now: Any, /) -> Iterable[str] | None:  # noqa: ARG004  # none of its own
        """How diagrams show that a variable of a node changes, if in a way of this model's own."""
        return None

    def is_there(self, state: Any) -> bool:  # noqa: ARG002  # they always do
        """Whether messages over connections arrive at a node in this state."""
        return True

    def took(self, message: InFlight) -> int:
        """What the sender of a message over a connection learns when it has arrived: microseconds."""
        raise NotImplementedError


class ApplicationSpecification:
    """
    A specification for bounded models: a node that has crashed does nothing, and an application does what it has to.

    The state has `up`, and `todo`: tuples, of which the first member says what is to be done. They stand in a set, or in the
    order in which they are to be done. `Asked` with such a tuple is the application doing it.
    """

    specification: Any  #: the protocol's

    def __init__(self, step: Taking) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self.specification, name)

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """What the node does about one event. Raises NotEnabled, also for what would go beyond the bounds of the model."""
        match event:
            case core.Asked(command=tuple() as todo):
                left = state.todo - {todo} if isinstance(state.todo, frozenset) else state.todo[1:]
                return self.perform(replace(state, todo=left), todo, pick)
        return self.take(state, event, pick) if state.up else Step(state)

    def perform(self, state: Any, todo: Any, pick: Pick) -> Step[Any, Any]:
        """What comes of something that the application does."""
        if todo[0] == "crash":
            return Step(replace(state, up=False))
        return self.take(state, core.Asked(NOW, self.command(state, todo)), pick)

    def command(self, state: Any, todo: Any) -> Any:
        """The command of the protocol that stands for something that the application does."""
        raise NotImplementedError

    def take(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """What the protocol makes of an event."""
        after = self._step(state, event, pick)
        if self.is_beyond(after.state):
            raise NotEnabled("bound", "the nodes of this model go no further")
        return after

    def is_beyond(self, state: Any) -> bool:  # noqa: ARG002  # nothing is
        """Whether a state is beyond the bounds of the model."""
        return False


class ApplicationModel(Model):
    """A model whose nodes can crash, and have applications with something to do; `spec` is an `ApplicationSpecification`."""

    state_kind: ClassVar[type[Any]]  #: the protocol's states; those of the model have some fields more

    def commands(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Whatever its application still has to do, in any order, as far as it can be done now."""
        for todo in sorted(state.todo):
            try:
                self.spec.step(state, core.Asked(NOW, todo), no_choice)
            except NotEnabled:
                continue
            yield "Command", core.Asked(NOW, todo)

    def project_state(self, state: Any) -> Any:
        """Neither that the node runs nor what its application still has to do."""
        return recast(self.state_kind, state)

    def project_event(self, state: Any, event: Any) -> Any | None:
        """Commands instead of what there is to do; nothing of a crash, nor after it."""
        match event:
            case core.Asked(now, tuple() as todo):
                return None if todo[0] == "crash" else core.Asked(now, cast("Any", self.spec).command(state, todo))
        return event if state.up else None

    def is_there(self, state: Any) -> bool:
        """Whether it runs."""
        return bool(state.up)


def variant(model: type[M], *changes: Change, overrides: Overrides | None = None) -> type[M]:
    """
    A variant of a model: `overrides` are other definitions while a step is taken, `changes` make another step of a step.

    A protocol's module `variants` has `VARIANTS`: the definitions by which TLA+ models replace definitions of their own -> the
    model with the same done to it, written independently. It also has `BEHAVIOURS`: next-state relations and specifications in
    TLA+ -> the monitor that watches the same runs, if any; and `UNFAIR`, those with runs less fair than `liveness` assumes.
    """
    return type(model.__name__, (model,), {"overrides": overrides or {}, "changes": changes})


def recast(kind: type[T], value: Any, **changes: Any) -> T:
    """A dataclass of this kind with the fields that a value has too, some of them changed."""
    found = {field.name: getattr(value, field.name) for field in fields(cast("Any", kind)) if hasattr(value, field.name)}
    return kind(**found | changes)


def no_choice(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
    """A pick for what leaves nothing to chance."""
    raise AssertionError(f"{why} is left to chance: {some} of {among}")


#: What is asked of the protocol about one node: (LOCAL, state), (RESTARTED, state), or one of the others with a state and a
#: message, which that node gets (RECEIVED), or has sent and is told about (CONFIRMED, FAILED). All by number.
Question: TypeAlias = tuple[int, ...]

LOCAL, RESTARTED, RECEIVED, CONFIRMED, FAILED = 0, 1, 2, 3, 4


class Branch(NamedTuple):
    """What one event can make of one node: its next state and the messages it sends, by number."""

    state: int
    sent: tuple[int, ...]


def in_flight(sender: NodeId, effects: Iterable[Any], nodes: Iterable[NodeId]) -> Iterator[InFlight]:
    """What a node sends, one message for each that is to get it: what is for everybody goes to all others of the nodes."""
    for effect in effects:
        if isinstance(effect, core.Send):
            others = (node for node in nodes if node != sender)
            yield from (InFlight(sender, to, effect.message) for to in (others if effect.to == core.EVERYBODY else (effect.to,)))


class Violation(NamedTuple):
    """A property that does not hold, where it was seen."""

    property: Property
    subject: Any


class Unanswered(Exception):
    """A question that somebody else has to ask first, so that all give the same numbers."""


class System:
    """A model whose states and messages have numbers; the numbers are given in the order of first sight."""

    def __init__(self, model: Model, properties: Iterable[Property] = ()) -> None:
        self.model = model
        self.properties = tuple(properties)
        self.places = tuple(node for node, _ in model.nodes)
        self.states: list[Any] = []
        self.messages: list[InFlight] = []
        self.receivers: list[int] = []  #: message -> place of the node that it goes to
        self.senders: list[int] = []  #: message -> place of the node that it comes from
        self._pairs: list[int] = []  #: message -> number of the pair of nodes that it goes between
        self.network = Network(self._pairs, is_ordered=model.faults.ordered)
        self.there: list[bool] = []  #: state -> whether messages over connections arrive
        self.violations: list[Violation] = []  #: of nodes and steps, as they come up
        self.asked: list[Question] = []  #: in order: who answers the same ones in this order has the same numbers
        self.may_ask = True  #: else what is asked for the first time raises `Unanswered`, except through `answer`
        self._state_numbers: dict[Any, int] = {}
        self._message_numbers: dict[InFlight, int] = {}
        self._local: dict[int, tuple[tuple[str, Branch], ...]] = {}
        self._received: dict[tuple[int, int], tuple[Branch, ...]] = {}
        self._told: dict[Question, tuple[Branch, ...]] = {}
        self._restarted: dict[int, int] = {}
        self.fresh = tuple(self._state(state) for _, state in model.nodes)
        self._under_way = self.network.arrange(map(self._message, model.under_way))

    def initial(self) -> World:
        """All nodes just started, and what is under way from the start."""
        return (*self.fresh, self.model.faults.restarts, *self._under_way)

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        """Every edge that leaves a world: its label, and the world it leads to; equal edges as often as there are ways."""
        faults, network, count = self.model.faults, self.network, len(self.fresh)
        with_messages, ordered = network.with_messages, faults.ordered
        nodes, restarts, net = world[:count], world[count], world[count + 1 :]
        for place in range(count):
            for label, branch in self.local(nodes[place]):
                if len(sent := with_messages(net, branch.sent)) <= faults.in_flight:
                    yield label, (*nodes[:place], branch.state, *nodes[place + 1 :], restarts, *sent)
            if restarts and self.places[place] in faults.restarting:
                yield RESTART, (*nodes[:place], self.restart(nodes[place]), *nodes[place + 1 :], restarts - 1, *net)
        for index, message in enumerate(net):
            if ordered and not network.is_first(net, index):
                continue
            rest = net[:index] + net[index + 1 :]
            if faults.connections:
                yield from self._ends(nodes, restarts, message, rest)
                continue
            place = self.receivers[message]
            for branch in self.receive(nodes[place], message):
                after = (*nodes[:place], branch.state, *nodes[place + 1 :], restarts)
                if len(taken := with_messages(rest, branch.sent)) <= faults.in_flight:
                    yield RECEIVE, after + taken
                if faults.duplication and len(kept := with_messages(net, branch.sent)) <= faults.in_flight:
                    yield RECEIVE_AGAIN, after + kept
            if faults.loss:
                yield LOSE, (*nodes, restarts, *rest)

    def exchanges(self, nodes: World, message: int) -> Iterator[tuple[str, World, tuple[int, ...]]]:
        """How a message over a connection can end: the label, the nodes then, and what they have sent, the receiver first."""
        sender, to = self.senders[message], self.receivers[message]
        if not self.there[nodes[to]]:
            for told in self.confirm(FAILED, nodes[sender], message):
                yield FAIL, _put(nodes, sender, told.state), told.sent
            return
        arrivals, confirmations = self.receive(nodes[to], message), self.confirm(CONFIRMED, nodes[sender], message)
        for taken in arrivals:
            for told in confirmations:
                yield RECEIVE, _put(_put(nodes, to, taken.state), sender, told.state), (*taken.sent, *told.sent)

    def _ends(self, nodes: World, restarts: int, message: int, rest: tuple[int, ...]) -> Iterator[tuple[str, World]]:
        for label, after, sends in self.exchanges(nodes, message):
            if len(sent := self.network.with_messages(rest, sends)) <= self.model.faults.in_flight:
                yield label, (*after, restarts, *sent)

    def local(self, state: int) -> tuple[tuple[str, Branch], ...]:
        """What can happen to a node in this state by itself."""
        known = self._local.get(state)
        return self._first_time((LOCAL, state)) if known is None else known

    def receive(self, state: int, message: int) -> tuple[Branch, ...]:
        """What a message can make of a node in this state."""
        known = self._received.get((state, message))
        return self._first_time((RECEIVED, state, message)) if known is None else known

    def confirm(self, kind: int, state: int, message: int) -> tuple[Branch, ...]:
        """What it makes of the sender of a message, in this state, that it is CONFIRMED or has FAILED."""
        known = self._told.get((kind, state, message))
        return self._first_time((kind, state, message)) if known is None else known

    def restart(self, state: int) -> int:
        """What a node in this state is after a restart."""
        known = self._restarted.get(state)
        return self._first_time((RESTARTED, state)) if known is None else known

    def answer(self, question: Question) -> Any:
        """What `local`, `restart`, `receive` or `confirm` say; what is new in it is numbered."""
        match question:
            case (kind, state) if kind == LOCAL:
                if state not in self._local:
                    self.asked.append(question)
                    offers = self.model.offers(self.states[state])
                    self._local[state] = tuple((label, b) for label, event in offers for b in self._branches(state, event))
                return self._local[state]
            case (kind, state) if kind == RESTARTED:
                if state not in self._restarted:
                    self.asked.append(question)
                    self._restarted[state] = self._state(self.model.restart(self.states[state]))
                return self._restarted[state]
            case (kind, state, message) if kind == RECEIVED:
                if (state, message) not in self._received:
                    self.asked.append(question)
                    sender, _, content = self.messages[message]
                    self._received[state, message] = self._branches(state, core.Received(NOW, sender, content))
                return self._received[state, message]
            case (kind, state, message) if kind in (CONFIRMED, FAILED):
                if question not in self._told:
                    self.asked.append(question)
                    sent = self.messages[message]
                    took = self.model.took(sent) if kind == CONFIRMED else None
                    self._told[question] = self._branches(state, core.Sent(NOW, sent.to, sent.message, took))
                return self._told[question]
        raise ValueError(f"no question: {question!r}")

    def open_questions(self, world: World) -> Iterator[tuple[int, Question]]:
        """What `moves` would ask about a world for the first time, each with its place in the order of asking."""
        count = len(self.fresh)
        for place, state in enumerate(world[:count]):
            if state not in self._local:
                yield 2 * place, (LOCAL, state)
            if world[count] and state not in self._restarted and self.places[place] in self.model.faults.restarting:
                yield 2 * place + 1, (RESTARTED, state)
        net = world[count + 1 :]
        for index, message in enumerate(net, count):
            if not self.network.is_first(net, index - count):
                continue
            to, sender = world[self.receivers[message]], world[self.senders[message]]
            is_told = self.model.faults.connections
            arrives = not is_told or self.there[to]
            if arrives and (to, message) not in self._received:
                yield 2 * index, (RECEIVED, to, message)
            if is_told and (question := (CONFIRMED if arrives else FAILED, sender, message)) not in self._told:
                yield 2 * index + 1, question

    def cluster(self, world: World) -> Cluster:
        """A world as properties see it."""
        count = len(self.fresh)
        nodes = dict(zip(self.places, (self.states[number] for number in world[:count]), strict=True))
        return Cluster(nodes, tuple(self.messages[number] for number in world[count + 1 :]))

    def net_value(self, net: Net) -> frozenset[Any]:
        """These messages as the variable `net`."""
        return frozenset(map(self.queue_value, self.network.queues(net)))

    def queue_value(self, queue: Net) -> Any:
        """What `network.queues` gives as an element of the variable `net`."""
        values = [self.model.message_value(self.messages[number]) for number in queue]
        return queue_value(values) if self.network.is_ordered else values[0]

    def _first_time(self, question: Question) -> Any:
        if not self.may_ask:
            raise Unanswered(question)
        return self.answer(question)

    def _branches(self, state: int, event: Any) -> tuple[Branch, ...]:
        before = self.states[state]
        branches = []
        for _, (after, effects) in core.outcomes(partial(self.model.spec.step, before, event)):
            taken = Taken(before, event, after, effects)
            self.violations += [Violation(p, taken) for p in find_violations(self.properties, "step", taken)]
            sends = tuple(map(self._message, in_flight(before.self_id, effects, self.places)))
            branches.append(Branch(self._state(after), sends))
        return tuple(branches)

    def _state(self, state: Any) -> int:
        if state not in self._state_numbers:
            self._state_numbers[state] = len(self.states)
            self.states.append(state)
            self.there.append(not self.model.faults.connections or self.model.is_there(state))
            self.violations += [Violation(p, state) for p in find_violations(self.properties, "node", state)]
        return self._state_numbers[state]

    def _message(self, message: InFlight) -> int:
        if message not in self._message_numbers:
            self._message_numbers[message] = len(self.messages)
            self.messages.append(message)
            self.receivers.append(self.places.index(message.to))
            self.senders.append(self.places.index(message.sender))
            self._pairs.append(self.senders[-1] * len(self.places) + self.receivers[-1])
        return self._message_numbers[message]


def _put(nodes: tuple[int, ...], place: int, state: int) -> tuple[int, ...]:
    return (*nodes[:place], state, *nodes[place + 1 :])
