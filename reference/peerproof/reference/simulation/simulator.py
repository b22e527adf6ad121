"""
The simulator: many nodes on one event queue, in virtual time.

A run is determined by its seed: each node and the network have their own random generators, events at the same instant happen
in the order in which they were scheduled, and nothing depends on the hash seed. Only the nodes' states and future events are
kept, so that memory does not grow with time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.reference.runtime.driver import Driver, random_pick
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation.faulty_network import Faults, Network
from peerproof.spec.core import EVERYBODY, Duration, Instant, NodeId, Pick, Specification
from peerproof.spec.errors import NotEnabled
from peerproof.spec.properties import Cluster, InFlight, Taken, find_violations

Action: TypeAlias = Callable[[], None]


class Place:
    """The environment of one node's driver."""

    __slots__ = ("_id", "_simulation", "awaited", "driver")

    def __init__(self, simulation: Simulation, node: NodeId, pick: Pick, recorder: Recorder | None) -> None:
        self._simulation = simulation
        self._id = node
        self.awaited: Instant | None = None  #: when the node's timer in the heap is due
        observe = simulation.observe
        self.driver = Driver(
            simulation.variants.get(node, simulation.specification),
            node,
            self,
            pick,
            recorder=recorder,
            observe=lambda taken: observe(node, taken),
        )

    def now(self) -> Instant:
        """Returns the simulation's time: all nodes have the same clock."""
        return self._simulation.now

    def send(self, to: NodeId, message: Any) -> None:
        """Sends a message over the simulated network."""
        self._simulation.carry(InFlight(self._id, to, message))

    def notify(self, notice: Any) -> None:
        """Passes a notice to the simulation's observer."""
        if self._simulation.notified:
            self._simulation.notified(self._id, notice)


class Connections(NamedTuple):
    """The parameters of a network with connections, where the sender learns the outcome of each message."""

    timeout: Duration  #: after which an unconfirmed message fails
    has_left: Callable[[Any], bool]  #: whether a node in this state is unreachable


class Crossing(NamedTuple):
    """A message on its way over a connection."""

    origin: Place
    message: InFlight
    begun: Instant
    micros: int  #: one way


class Failure(NamedTuple):
    """A crash of a variant by itself, with the exception that it did not catch."""

    node: NodeId
    at: Instant
    reason: str


Due: TypeAlias = InFlight | Crossing | Action


class Simulation:
    """A simulated cluster. Call `start`, then `run`; `at` schedules other actions."""

    def __init__(
        self,
        specification: Specification,
        seed: str,
        faults: Faults | None = None,
        *,
        recorder: Recorder | None = None,
        connections: Connections | None = None,
        variants: Mapping[NodeId, Specification] | None = None,
    ) -> None:
        self.now = Instant(0)
        self.steps = 0
        self.specification: Final = specification
        self.variants: Final = variants or {}  #: what some nodes run instead
        self.network: Final = Network(faults or Faults(), f"{seed}/network")
        self.observers: list[Callable[[NodeId, Taken], None]] = []  #: called with every step
        self.notified: Callable[[NodeId, Any], None] | None = None  #: called with every notice
        self.changed: Callable[[NodeId], None] | None = None  #: called with every node that has started or crashed
        self.missed: Callable[[InFlight], None] | None = None  #: called with every broadcast message that a node does not get
        self.failures: Final[list[Failure]] = []
        self._places: dict[NodeId, Place] = {}
        self._seed: Final = seed
        self._recorder: Final = recorder
        self._connections: Final = connections
        self._configs: dict[NodeId, Any] = {}
        self._starts: dict[NodeId, int] = {}
        self._left: dict[NodeId, Any] = {}  #: the last states of nodes that have crashed
        self._heap: list[tuple[Instant, int, Due]] = []
        self._order = 0
        self._latest: Final[dict[tuple[NodeId, NodeId], Instant]] = {}  #: when the last message of a pair arrives

    def start(self, node: NodeId, config: Any) -> None:
        """Starts a node now."""
        self._configs[node] = config
        count = self._starts[node] = self._starts.get(node, 0) + 1
        place = self._places[node] = Place(self, node, random_pick(f"{self._seed}/{node}/{count}"), self._recorder)
        self._act(place, place.driver.start, config)
        self._note_life(node)

    def crash(self, node: NodeId) -> None:
        """Removes a node with its state; messages to it are lost."""
        if place := self._places.pop(node, None):
            self._left[node] = place.driver.state
            self._note_life(node)

    def restart(self, node: NodeId, kept: Callable[[Any, Any], Any] = lambda config, _: config) -> None:
        """Restarts a node with a fresh state; `kept` makes its configuration from the old one and the last state."""
        self.crash(node)
        self.start(node, kept(self._configs[node], self._left[node]))

    def ask(self, node: NodeId, command: Any) -> None:
        """Executes a command of a node's application now; does nothing if the node has crashed."""
        if place := self._places.get(node):
            self._act(place, place.driver.ask, command)

    def at(self, instant: Instant, due: Due) -> None:
        """Schedules an action or a message: `simulation.at(Instant(5000), lambda: simulation.crash(node))`."""
        self._order += 1
        heappush(self._heap, (instant, self._order, due))

    def run(self, until: Instant) -> None:
        """Runs all events up to and including an instant."""
        while self._heap and self._heap[0][0] <= until:
            self.now, _, due = heappop(self._heap)
            if isinstance(due, InFlight):
                if place := self._places.get(due.to):
                    self._act(place, place.driver.receive, due.sender, due.message)
            elif isinstance(due, Crossing):
                self._deliver(due)
            else:
                due()
        self.now = max(self.now, until)

    def life(self, node: NodeId) -> int:
        """Returns how often a node has been started; 0 if it does not run."""
        return self._starts[node] if node in self._places else 0

    def states(self) -> dict[NodeId, Any]:
        """Returns the states of the running nodes, in the order in which they were started."""
        return {node: place.driver.state for node, place in self._places.items()}

    def cluster(self) -> Cluster:
        """Returns the current cluster state for properties; messages in flight are in no particular order."""
        messages = [due.message if isinstance(due, Crossing) else due for _, _, due in self._heap]
        return Cluster(self.states(), [message for message in messages if isinstance(message, InFlight)])

    def carry(self, message: InFlight) -> None:
        """Sends a node's message; the network decides whether, when and how often it arrives."""
        if message.to == EVERYBODY:
            for node in self._places:  # to its sender too, as Serf does [DA-54]
                self._broadcast(InFlight(message.sender, node, message.message))
            return
        if self._connections:
            origin, micros = self._places[message.sender], self.network.trip(message.sender, message.to)
            if micros is None:
                self.at(Instant(self.now + self._connections.timeout), partial(self._finish_send, origin, message, None))
                return
            if self.network.reorders:
                micros = self._not_before(message, micros)
            self.at(Instant(self.now + millis(micros)), Crossing(origin, message, self.now, micros))
            return
        for delay in self.network.fate(message.sender, message.to):
            self.at(Instant(self.now + delay), message)

    def _broadcast(self, message: InFlight) -> None:
        delays = self.network.fate(message.sender, message.to)
        for delay in delays:
            self.at(Instant(self.now + delay), message)
        if not delays and self.missed:
            self.missed(message)

    def observe(self, node: NodeId, taken: Taken) -> None:
        """Counts a step and passes it to the observers."""
        self.steps += 1
        for observer in self.observers:
            observer(node, taken)

    def _note_life(self, node: NodeId) -> None:
        if self.changed:
            self.changed(node)

    def _not_before(self, message: InFlight, micros: int) -> int:
        """Returns the delay of a message, extended so that it does not overtake the last one of the same pair. [PA-19]"""
        pair = message.sender, message.to
        arrives = max(Instant(self.now + millis(micros)), self._latest.get(pair, self.now))
        self._latest[pair] = arrives
        return max(micros, (arrives - self.now) * 1000)

    def _deliver(self, crossing: Crossing) -> None:
        """Delivers a message and schedules its outcome: confirmed if the receiver is reachable in time, or a timeout."""
        assert self._connections
        origin, message, begun, micros = crossing
        expires, took = Instant(begun + self._connections.timeout), 2 * micros
        confirmed = Instant(begun + millis(took))
        place = self._places.get(message.to)
        is_there = place is not None and not self._connections.has_left(place.driver.state)
        if is_there and confirmed <= expires:
            self.at(confirmed, partial(self._finish_send, origin, message, took))
        else:
            self.at(max(expires, self.now), partial(self._finish_send, origin, message, None))
        if place and is_there:
            self._act(place, place.driver.receive, message.sender, message.message)

    def _finish_send(self, origin: Place, message: InFlight, took: int | None) -> None:
        """Reports the outcome of a message to its sender, unless that has crashed since."""
        if self._places.get(message.sender) is origin:
            self._act(origin, origin.driver.finish_send, message.to, message.message, took)

    def _wake(self, place: Place) -> None:
        """Expires a node's timer, unless it has been changed or the node has crashed since."""
        if self._places.get(place.driver.self_id) is not place:
            return
        if place.awaited == self.now:
            place.awaited = None
        if place.driver.next_timer() == self.now:
            self._act(place, place.driver.expire_next)
        else:
            self._await_timer(place)

    def _act(self, place: Place, method: Callable[..., None], *arguments: Any) -> None:
        """Calls a method of a node's driver. A variant crashes by any exception but the refusal of a command."""
        node = place.driver.self_id
        try:
            method(*arguments)
        except Exception as error:
            if node not in self.variants or (isinstance(error, NotEnabled) and method == place.driver.ask):
                raise
            self.failures.append(Failure(node, self.now, f"{type(error).__name__}: {error}"))
            self.crash(node)
            return
        self._await_timer(place)

    def _await_timer(self, place: Place) -> None:
        due = place.driver.next_timer()
        if due is not None and due != place.awaited:
            place.awaited = due
            self.at(due, partial(self._wake, place))


def millis(micros: int) -> int:
    """Converts microseconds to milliseconds, rounded up."""
    return -(-micros // 1000)


class Violation(NamedTuple):
    """A violated property, with the node whose step violated it and the instant."""

    name: str
    about: str
    node: NodeId
    at: Instant


class Checker:
    """
    Checks the properties of the protocol during a simulation.

    Properties of nodes and steps are checked at every step; those of the cluster, which are expensive, once in `every` steps.
    """

    def __init__(self, simulation: Simulation, every: int = 1) -> None:
        self.violations: dict[str, Violation] = {}  #: by property, its first violation
        self.seen: set[str] = set()  #: the `sometimes` properties that have held
        self._simulation: Final = simulation
        self._properties: Final = simulation.specification.PROPERTIES
        self._every: Final = every
        simulation.observers.append(self._observe)

    def never_seen(self) -> list[str]:
        """Returns the `sometimes` properties that never held: the run does not cover the situations that they describe."""
        return [p.name for p in self._properties if p.when == "sometimes" and p.name not in self.seen]

    def _observe(self, node: NodeId, taken: Taken) -> None:
        self._check("node", taken.after, node)
        self._check("step", taken, node)
        if self._simulation.steps % self._every == 0:
            self._check("cluster", self._simulation.cluster(), node)

    def _check(self, of: str, subject: object, node: NodeId) -> None:
        for p in find_violations(self._properties, of, subject):
            self.violations.setdefault(p.name, Violation(p.name, p.about, node, self._simulation.now))
        for p in self._properties:
            if p.when == "sometimes" and p.of == of and p.name not in self.seen and p.holds(subject):
                self.seen.add(p.name)
