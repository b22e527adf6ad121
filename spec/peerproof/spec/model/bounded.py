"""
A bounded model: nodes and a faulty network as one pure system, small enough to check exhaustively.

A *world* is one state of the model, as a tuple of integers: the number of each node's state, the restarts that are left, and the
numbers of the messages under way, in order. The `System` keeps the value of each number once, and caches each step of a node,
which does not depend on the other nodes. So worlds are cheap to store, compare and advance, and two worlds are equal exactly if
their numbers are.

The network is either a set, in which messages overtake each other, or keeps the messages of each pair of nodes in order; see
`in_flight`. A configuration bounds the messages under way and the restarts of nodes, and says whether messages get lost or
arrive twice. A step that would exceed a bound is not taken: bounds are guards, so that every state has all its edges.

Over connections no message is lost or arrives twice. A message arrives, or it fails because its receiver is not running; its
sender learns the outcome in the same step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar, cast

from peerproof.spec import core
from peerproof.spec.core import Instant, NodeId, Option, Pick, Specification, Step, replace
from peerproof.spec.errors import NotEnabled
from peerproof.spec.model.in_flight import Net, Network, queue_value
from peerproof.spec.overrides import Overrides, overridden
from peerproof.spec.properties import Cluster, InFlight, Property, Taken, find_violations

T = TypeVar("T")
M = TypeVar("M", bound="Model")

World: TypeAlias = tuple[int, ...]

#: A protocol's `step`.
Taking: TypeAlias = Callable[[Any, Any, Any], Step[Any, Any]]

#: What a variant does instead of a step, with which it is called.
Change: TypeAlias = Callable[[Taking, Any, Any, Any], Step[Any, Any]]

#: Time does not pass in a model; an event that may happen late may happen at any moment.
NOW = Instant(0)

RECEIVE, RECEIVE_AGAIN, LOSE, FAIL, RESTART = "Receive", "ReceiveAgain", "Lose", "Fail", "Restart"


@dataclass(frozen=True)
class Faults:
    """The faults of the network and the machines, with their limits."""

    in_flight: int  #: messages under way at once
    loss: bool = False
    duplication: bool = False
    restarts: int = 0  #: of all nodes together
    restarting: frozenset[NodeId] = frozenset()  #: the nodes that may restart
    connections: bool = False  #: whether messages go over connections
    ordered: bool = False  #: whether messages from one node to another arrive in the order in which they were sent


class Model(ABC):
    """
    The part of a bounded model that a protocol defines: the meaning of a configuration's constants for its nodes.

    The constants for the nodes and the faults mean the same for every protocol. A model whose nodes can crash, or have
    applications with pending commands, is an `ApplicationModel`. A variant, whose nodes take other steps than the protocol does,
    is a subclass with `overrides` and `changes`.
    """

    spec: Specification
    nodes: tuple[tuple[NodeId, Any], ...]  #: each node with its first state, in the order of `names`
    under_way: tuple[InFlight, ...] = ()  #: the messages under way in the initial state
    has_connections: ClassVar[bool] = False
    command_forms: ClassVar[Mapping[str, str]] = {}  #: texts of pending commands of applications, with arguments that apply
    first_moment: ClassVar[Pick | None] = None  #: a pick that represents all others, if random choices only select moments
    overrides: ClassVar[Overrides] = {}  #: other definitions during a step
    changes: ClassVar[tuple[Change, ...]] = ()  #: wrappers around each step, the innermost first

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
        """Returns the step with the overrides and changes of this model."""
        step = overridden(step, self.overrides)
        for change in self.changes:
            step = partial(change, step)
        return step

    @property
    def node_variables(self) -> tuple[str, ...]:
        """The variables of the TLA+ module that hold a value for each node."""
        return tuple(self.variables(self.nodes[0][1]))

    @property
    def has_nodes(self) -> bool:
        """Whether the runs of this model could be runs of nodes that execute the protocol on the network."""
        return True

    @staticmethod
    def address(number: int, /) -> NodeId:
        """Returns the address of a node of the TLA+ module: by default its number."""
        return NodeId(str(number))

    @staticmethod
    def number(address: NodeId, /) -> int:
        """Returns the node of the TLA+ module that has this address."""
        return int(address)

    def node_text(self, address: NodeId) -> str:
        """Returns the name of a node in texts and diagrams, by its number, as values of variables have it."""
        return f"node {self.number(address)}"

    @abstractmethod
    def offers(self, state: Any) -> Iterable[tuple[str, Any]]:
        """Returns the events, with labels, that may happen to a node in this state without a message."""

    def restart(self, state: Any) -> Any:
        """Returns the state of a node after a restart from this state: by default a fresh one."""
        return self.spec.initial(state.self_id, state.config).state

    def configuration_after(self, state: Any) -> Any:
        """Returns the configuration of a node after a restart from this state."""
        return self.restart(state).config

    def project_state(self, state: Any) -> Any:
        """Returns the part of this state that the node's program has: a state of the specification."""
        return state

    def project_event(self, state: Any, event: Any) -> Any | None:  # noqa: ARG002  # unused by default
        """Returns the event of the specification that this event is for a node's program in this state, or None."""
        return event

    @abstractmethod
    def variables(self, state: Any) -> Mapping[str, Any]:
        """Returns a node's state as variables of the TLA+ module: numbers, texts, tuples, frozensets and mappings."""

    def node_values(self, state: Any) -> tuple[Any, ...]:
        """Returns the values of `node_variables`."""
        return tuple(self.variables(state).values())

    def message_value(self, message: InFlight) -> Any:
        """Returns a message under way, `<<from, to, ...>>`, as an element of the variable `net`; with order see `queue_value`."""
        return self.number(message.sender), self.number(message.to), *self.content_value(message.message)

    @abstractmethod
    def content_value(self, message: Any) -> tuple[Any, ...]:
        """Returns the elements after sender and receiver in the value of a message."""

    @staticmethod
    def content_text(message: Any, /) -> str | None:  # noqa: ARG004  # none by default
        """Returns the text of a message value of the TLA+ module in diagrams; None for the common one."""
        return None

    @staticmethod
    def change_texts(variable: str, was: Any, now: Any, /) -> Iterable[str] | None:  # noqa: ARG004  # none by default
        """Returns the texts for a change of a node's variable in diagrams; None for the common ones."""
        return None

    def command_text(self, todo: tuple[str, *tuple[Any, ...]]) -> str:
        """Renders a pending command, without arguments that do not apply to it."""
        name, *arguments = todo
        return self.command_forms.get(name, name).format(*arguments)

    def is_there(self, state: Any) -> bool:  # noqa: ARG002  # always by default
        """Whether a node in this state receives messages over connections."""
        return True

    def took(self, message: InFlight) -> int:
        """Returns the microseconds that `Sent` reports to the sender of this message when it has arrived over a connection."""
        raise NotImplementedError


class ApplicationSpecification:
    """
    A specification for bounded models in which a node may have crashed, and its application has pending commands.

    The state has `up` and `todo`. `todo` holds the pending commands, tuples whose first member names the command: a set, or a
    sequence in the order of execution. `Asked` with such a tuple executes it.
    """

    specification: Any  #: of the protocol

    def __init__(self, step: Taking) -> None:
        self._step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(self.specification, name)

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """Returns what one event makes of the node. Raises NotEnabled, also for a step beyond the bounds of the model."""
        match event:
            case core.Asked(command=tuple() as todo):
                left = state.todo - {todo} if isinstance(state.todo, frozenset) else state.todo[1:]
                return self.perform(replace(state, todo=left), todo, pick)
        return self.take(state, event, pick) if state.up else Step(state)

    def perform(self, state: Any, todo: Any, pick: Pick) -> Step[Any, Any]:
        """Executes a pending command of the application."""
        if todo[0] == "crash":
            return Step(replace(state, up=False))
        return self.take(state, core.Asked(NOW, self.command(state, todo)), pick)

    def command(self, state: Any, todo: Any) -> Any:
        """Returns the protocol's command for a pending command of the application."""
        raise NotImplementedError

    def take(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """Applies an event to the protocol's part of the state."""
        after = self._step(state, event, pick)
        if self.is_beyond(after.state):
            raise NotEnabled("bound", "this step exceeds the bounds of the model")
        return after

    def is_beyond(self, state: Any) -> bool:  # noqa: ARG002  # never by default
        """Whether a state is beyond the bounds of the model."""
        return False


class ApplicationModel(Model):
    """A model whose nodes can crash, and whose applications have commands to do; `spec` is an `ApplicationSpecification`."""

    state_kind: ClassVar[type[Any]]  #: the protocol's states; those of the model have further fields

    def commands(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Yields the application's pending commands, in any order, that the node can execute now."""
        for todo in sorted(state.todo):
            try:
                self.spec.step(state, core.Asked(NOW, todo), no_choice)
            except NotEnabled:
                continue
            yield "Command", core.Asked(NOW, todo)

    def project_state(self, state: Any) -> Any:
        """Omits whether the node runs, and the application's pending commands."""
        return recast(self.state_kind, state)

    def project_event(self, state: Any, event: Any) -> Any | None:
        """Maps pending commands to commands of the protocol; None for a crash, and for a node that has crashed."""
        match event:
            case core.Asked(now, tuple() as todo):
                return None if todo[0] == "crash" else core.Asked(now, cast("Any", self.spec).command(state, todo))
        return event if state.up else None

    def is_there(self, state: Any) -> bool:
        """Whether it runs."""
        return bool(state.up)


def variant(model: type[M], *changes: Change, overrides: Overrides | None = None) -> type[M]:
    """
    Makes a variant of a model: `overrides` are other definitions during a step, `changes` wrap each step.

    A protocol's module `variants` has `VARIANTS`: the definitions with which TLA+ models replace their own -> the model with the
    same change, written independently. It also has `BEHAVIOURS`: next-state relations and specifications in TLA+ -> the monitor
    of the same runs, if any; and `UNFAIR`, those with runs less fair than `liveness` assumes.
    """
    return type(model.__name__, (model,), {"overrides": overrides or {}, "changes": changes})


def recast(kind: type[T], value: Any, **changes: Any) -> T:
    """Returns a dataclass of this kind with the fields that it shares with a value, some of them changed."""
    found = {field.name: getattr(value, field.name) for field in fields(cast("Any", kind)) if hasattr(value, field.name)}
    return kind(**found | changes)


def no_choice(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
    """A pick for steps without random choices; it fails if it is called."""
    raise AssertionError(f"unexpected random choice {why}: {some} of {among}")


#: A question about one node's next step: (LOCAL, state), (RESTARTED, state), or one of the others with a state and a message that
#: the node receives (RECEIVED), or has sent and gets the outcome of (CONFIRMED, FAILED). States and messages are numbers.
Question: TypeAlias = tuple[int, ...]

LOCAL, RESTARTED, RECEIVED, CONFIRMED, FAILED = 0, 1, 2, 3, 4


class Branch(NamedTuple):
    """One possible result of an event at one node: its next state and the messages it sends, by number."""

    state: int
    sent: tuple[int, ...]


def in_flight(sender: NodeId, effects: Iterable[Any], nodes: Iterable[NodeId]) -> Iterator[InFlight]:
    """Yields the messages that a node sends, one per receiver: a broadcast goes to all other nodes."""
    for effect in effects:
        if isinstance(effect, core.Send):
            others = (node for node in nodes if node != sender)
            yield from (InFlight(sender, to, effect.message) for to in (others if effect.to == core.EVERYBODY else (effect.to,)))


class Violation(NamedTuple):
    """A property that does not hold, and its subject."""

    property: Property
    subject: Any


class Unanswered(Exception):
    """A new question that this process must not ask yet, so that all processes give the same numbers."""


class System:
    """A model with numbered states and messages; numbers are assigned on first use."""

    def __init__(self, model: Model, properties: Iterable[Property] = ()) -> None:
        self.model = model
        self.properties = tuple(properties)
        self.places = tuple(node for node, _ in model.nodes)
        self.states: list[Any] = []
        self.messages: list[InFlight] = []
        self.receivers: list[int] = []  #: message -> index of its receiver
        self.senders: list[int] = []  #: message -> index of its sender
        self._pairs: list[int] = []  #: message -> number of its pair of nodes
        self.network = Network(self._pairs, is_ordered=model.faults.ordered)
        self.there: list[bool] = []  #: state -> whether messages over connections arrive
        self.violations: list[Violation] = []  #: of nodes and steps, in order of discovery
        self.asked: list[Question] = []  #: in order: processes that answer the same questions in this order have the same numbers
        self.may_ask = True  #: if False, a new question raises `Unanswered`, except through `answer`
        self._state_numbers: dict[Any, int] = {}
        self._message_numbers: dict[InFlight, int] = {}
        self._local: dict[int, tuple[tuple[str, Branch], ...]] = {}
        self._received: dict[tuple[int, int], tuple[Branch, ...]] = {}
        self._confirmed: dict[Question, tuple[Branch, ...]] = {}
        self._restarted: dict[int, int] = {}
        self.fresh = tuple(self._state(state) for _, state in model.nodes)
        self._under_way = self.network.arrange(map(self._message, model.under_way))

    def initial(self) -> World:
        """Returns the initial world: all nodes just started, with the messages that are under way from the start."""
        return (*self.fresh, self.model.faults.restarts, *self._under_way)

    def moves(self, world: World) -> Iterator[tuple[str, World]]:
        """Yields every edge that leaves a world, as label and target; equal edges once for each way to take them."""
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
        """Yields the outcomes of a message over a connection: label, nodes, and the messages they sent, the receiver's first."""
        sender, to = self.senders[message], self.receivers[message]
        if not self.there[nodes[to]]:
            for confirmed in self.confirm(FAILED, nodes[sender], message):
                yield FAIL, _put(nodes, sender, confirmed.state), confirmed.sent
            return
        arrivals, confirmations = self.receive(nodes[to], message), self.confirm(CONFIRMED, nodes[sender], message)
        for taken in arrivals:
            for confirmed in confirmations:
                yield RECEIVE, _put(_put(nodes, to, taken.state), sender, confirmed.state), (*taken.sent, *confirmed.sent)

    def _ends(self, nodes: World, restarts: int, message: int, rest: tuple[int, ...]) -> Iterator[tuple[str, World]]:
        for label, after, sends in self.exchanges(nodes, message):
            if len(sent := self.network.with_messages(rest, sends)) <= self.model.faults.in_flight:
                yield label, (*after, restarts, *sent)

    def local(self, state: int) -> tuple[tuple[str, Branch], ...]:
        """Returns what can happen to a node in this state by itself."""
        known = self._local.get(state)
        return self._first_time((LOCAL, state)) if known is None else known

    def receive(self, state: int, message: int) -> tuple[Branch, ...]:
        """Returns what a message can make of a node in this state."""
        known = self._received.get((state, message))
        return self._first_time((RECEIVED, state, message)) if known is None else known

    def confirm(self, kind: int, state: int, message: int) -> tuple[Branch, ...]:
        """Returns what the outcome of a message, CONFIRMED or FAILED, can make of its sender in this state."""
        known = self._confirmed.get((kind, state, message))
        return self._first_time((kind, state, message)) if known is None else known

    def restart(self, state: int) -> int:
        """Returns the state of a node after a restart from this state."""
        known = self._restarted.get(state)
        return self._first_time((RESTARTED, state)) if known is None else known

    def answer(self, question: Question) -> Any:
        """Returns the result of `local`, `restart`, `receive` or `confirm`, and numbers new states and messages."""
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
                if question not in self._confirmed:
                    self.asked.append(question)
                    sent = self.messages[message]
                    took = self.model.took(sent) if kind == CONFIRMED else None
                    self._confirmed[question] = self._branches(state, core.Sent(NOW, sent.to, sent.message, took))
                return self._confirmed[question]
        raise ValueError(f"no question: {question!r}")

    def open_questions(self, world: World) -> Iterator[tuple[int, Question]]:
        """Yields the questions that `moves` would ask about a world for the first time, with their positions in the order."""
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
            is_confirmed = self.model.faults.connections
            arrives = not is_confirmed or self.there[to]
            if arrives and (to, message) not in self._received:
                yield 2 * index, (RECEIVED, to, message)
            if is_confirmed and (question := (CONFIRMED if arrives else FAILED, sender, message)) not in self._confirmed:
                yield 2 * index + 1, question

    def cluster(self, world: World) -> Cluster:
        """Returns a world in the form that properties check."""
        count = len(self.fresh)
        nodes = dict(zip(self.places, (self.states[number] for number in world[:count]), strict=True))
        return Cluster(nodes, tuple(self.messages[number] for number in world[count + 1 :]))

    def net_value(self, net: Net) -> frozenset[Any]:
        """Returns these messages as the variable `net`."""
        return frozenset(map(self.queue_value, self.network.queues(net)))

    def queue_value(self, queue: Net) -> Any:
        """Returns an item of `network.queues` as an element of the variable `net`."""
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
