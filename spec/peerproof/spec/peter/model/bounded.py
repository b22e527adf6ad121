"""The bounded model of Peter, on an abstract router: the meaning of a model's constants for its nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from peerproof.spec import peter
from peerproof.spec.core import Asked, Expired, NodeId, Notify, Pick, Received, Send, Specification, Step, Table, replace
from peerproof.spec.model.bounded import NOW, ApplicationModel, ApplicationSpecification, Taking, no_choice, recast
from peerproof.spec.overrides import names_in, overridden
from peerproof.spec.peter import tree
from peerproof.spec.peter.messages import Own, is_of_message, lift_message, lower_message
from peerproof.spec.peter.model.abstract_router import (
    Beat,
    Known,
    Order,
    Router,
    addr,
    id_at,
    introduce,
    node_id,
    number_of,
    topic_number,
)
from peerproof.spec.peter.model.standing_ring import SCORE, tables, texts_of
from peerproof.spec.peter.topics import State, id_of_topic
from peerproof.spec.properties import InFlight
from peerproof.spec.stack import Stack, Stacked
from peerproof.spec.wendy.ids import REAL, Id
from peerproof.spec.wendy.messages import Heartbeat, Join, Leave, NodeAnnouncement, NodeRace
from peerproof.spec.wendy.state import Config


class Todo(NamedTuple):
    """
    A pending command of a node's application; topic and event are 0 where they do not apply.

    To introduce nodes, the first number is the receiver, and the second the node to introduce.
    """

    what: str
    topic: int
    event: int


#: The commands by which nodes come or go, or are introduced to others.
MOVES: Final = frozenset({"join", "leave", "crash", "tell"})

#: Topic and event, by number -> the number of deliveries.
Got = Table[tuple[int, int], int]


@dataclass(frozen=True)
class ModelNode(Stacked[Known, State]):
    """A node of the model: it can crash, and its application has pending commands and counts the delivered events."""

    up: bool = True
    todo: tuple[Todo, ...] = ()
    got: Got = field(default_factory=Table)

    @property
    def id(self) -> Id:
        """The node's id."""
        return self.lower.id

    @property
    def config(self) -> Config:
        """The configuration of the equivalent node on Wendy."""
        return replace(self.lower.config, ring=REAL)


class Trees:
    """Peter's own part, with a step that may be wrapped: a `Layer` for `stack.Stack`."""

    initial = staticmethod(tree.initial)
    lower_message = staticmethod(lower_message)
    lift_message = staticmethod(lift_message)
    is_of_message = staticmethod(is_of_message)

    def __init__(self, step: Taking) -> None:
        self.step: Final = step


class Bounded(ApplicationSpecification):
    """Peter on a router, with commands of the application that start or end its node."""

    specification = peter

    def __init__(self, router: Router, step: Taking, texts: Mapping[int, str]) -> None:
        self._stack = Stack(router, Trees(step))
        super().__init__(self._stack.step)
        self._texts = texts  #: of topics, by number

    def initial(self, self_id: NodeId, config: Config) -> Step[Any, Any]:
        """Returns a node that knows no other and has no subscriptions."""
        node, effects = self._stack.initial(self_id, config)
        return Step(recast(ModelNode, node), effects)

    def perform(self, state: ModelNode, todo: Todo, pick: Pick) -> Step[Any, Any]:
        """Executes a pending command; a node that joins runs from then on, a node that leaves stops."""
        if todo.what == "tell":
            return Step(state, (introduce(state.lower, node_id(todo.topic), node_id(todo.event)),))
        after, effects = super().perform(replace(state, up=state.up or todo.what == "join"), todo, pick)
        return Step(replace(after, up=False) if todo.what == "leave" else after, effects)

    def command(self, state: ModelNode, todo: Todo) -> peter.Command:  # noqa: ARG002  # the same for every node
        """Returns the command of the protocol for a pending command."""
        match todo:
            case ("join", _, _):
                return Join(addr(node_id(0)))  # the constants define the nodes that it knows
            case ("leave", _, _):
                return Leave()
            case ("subscribe", topic, _):
                return peter.Subscribe(self._texts[topic])
            case ("unsubscribe", topic, _):
                return peter.Unsubscribe(self._texts[topic])
            case ("publish", topic, event):
                return peter.Publish(self._texts[topic], str(event).encode())
        raise ValueError(f"there is no command {todo!r} in a model")

    def take(self, state: ModelNode, event: Any, pick: Pick) -> Step[Any, Any]:
        """Applies an event to both protocols, and counts deliveries."""
        stacked, effects = super().take(state, event, pick)
        after = replace(state, lower=stacked.lower, upper=stacked.upper)
        updates = [effect.notice for effect in effects if isinstance(effect, Notify) and isinstance(effect.notice, peter.Update)]
        for update in updates:
            what = topic_number(update.topic), int(update.value)
            after = replace(after, got=after.got.put({what: after.got.get(what, 0) + 1}))
        return Step(after, effects)


class Model(ApplicationModel):
    """
    A few nodes, as defined by the constants of a configuration; `tla/peter/constants.json` has some.

    `changes` wrap Peter's step; see `variants`.
    """

    has_connections = True
    command_forms: ClassVar[Mapping[str, str]] = {
        "subscribe": "subscribe to topic {0}",
        "unsubscribe": "unsubscribe from topic {0}",
        "publish": "publish event {1} on topic {0}",
        "tell": "tell node {0} of node {1}",
    }

    def __init__(self, constants: Mapping[str, Any]) -> None:
        super().__init__(constants)
        self.texts = texts_of({topic: order for topic, *order in constants["Order"]})
        self.router = _router(constants, self.texts)
        self.most_hops: int = constants["MaxHops"]
        self.spec: Specification = self.build_spec(self.router)
        self._beating = _group_pairs(constants["Beating"])
        self.todo = {node_id(n): _things(constants["Todo"], n) for n in self.names}
        closest = tuple((id_of_topic(self.texts[topic]), tuple(map(node_id, order))) for topic, *order in constants["Order"])
        members = set(map(node_id, constants["Members"]))
        fresh = {node: self._fresh(node, Order(closest=closest), is_member=node in members) for node in self.todo}
        asked = [(node_id(n), peter.Subscribe(self.texts[topic])) for n, topic in constants["Subscribed"]]
        subscribed = _subscribe_all(self.build_spec(replace(self.router, is_closest=True)), fresh, asked)
        self.nodes: tuple[tuple[NodeId, Any], ...] = tuple((addr(node), state) for node, state in subscribed.items())
        is_still = not self._beating and not any(thing.what in MOVES for things in self.todo.values() for thing in things)
        known = [state.lower for state in subscribed.values() if state.up]
        is_still = is_still and len(known) == len(self.names)
        self._tables = tables(known, self.router, [topic for topic, _ in closest]) if is_still else None

    @staticmethod
    def address(number: int) -> NodeId:
        """Node 2 is at `n:3`."""
        return addr(node_id(number))

    @staticmethod
    def number(address: NodeId) -> int:
        """See `address`."""
        return number_of(id_at(address))

    @property
    def has_nodes(self) -> bool:
        """Whether runs of this model could be runs of nodes on Wendy: if no node comes, goes, or may choose a next hop."""
        return self._tables is not None

    def _fresh(self, node: Id, ring: Order, *, is_member: bool) -> ModelNode:
        """Returns a node without subscriptions; it runs if it is a member."""
        state: ModelNode = self.spec.initial(addr(node), Config(node, is_consulted=True, ring=ring)).state
        lower = replace(state.lower, view=self.router.knows.get(node, frozenset())) if is_member else state.lower
        return replace(state, lower=lower, up=is_member, todo=self.todo[node])

    def build_spec(self, router: Router) -> Bounded:
        """Returns the protocol on this router."""
        return Bounded(router, overridden(self.vary(tree.step), names_in(tree, MOST_HOPS=self.most_hops)), self.texts)

    def offers(self, state: ModelNode) -> Iterator[tuple[str, Any]]:
        """Yields the next command of the application, if it is possible, and heartbeats."""
        if state.todo and self.is_possible(state):
            yield "Command", Asked(NOW, state.todo[0])
        if state.up:
            for other in self._beating.get(state.id, ()):
                if other in state.lower.view - state.lower.asking:
                    yield "Heartbeat", Expired(NOW, Beat(other))

    def is_possible(self, state: ModelNode) -> bool:
        """Whether the next command is possible: one join, if the node does not run; else a command about known nodes."""
        what, _, about = state.todo[0]
        if what == "join":
            return not state.up and state.todo == self.todo[state.id]
        return state.up and (what != "tell" or node_id(about) in state.lower.view)

    def restart(self, state: ModelNode) -> ModelNode:
        """No node restarts in these models."""
        raise NotImplementedError

    def took(self, message: InFlight) -> int:  # noqa: ARG002  # constant
        """Returns a constant."""
        return SCORE

    def project_state(self, state: Stacked[Any, State]) -> Stacked[Any, State]:
        """Returns a node on Wendy that routes as this one does. Raises ValueError if a node may come, go, or choose."""
        if not isinstance(state, ModelNode):
            return state  # it is a node on Wendy already
        if self._tables is None:
            raise ValueError("the nodes of this model have no tables: nodes may come or go, or choose among next hops")
        below = self._tables[state.id]
        return Stacked(below, replace(state.upper, config=below.config))

    def variables(self, state: ModelNode) -> Mapping[str, Any]:
        """Returns the node as the module's variables."""
        rows = {topic_number(topic): row for topic, row in state.upper.topics.items()}
        return {
            "local": frozenset(topic for topic, row in rows.items() if row.is_local),
            "children": frozenset((topic, number_of(child)) for topic, row in rows.items() for child in row.children),
            "parent": frozenset((topic, number_of(row.parent.id)) for topic, row in rows.items() if row.parent),
            "view": frozenset(map(number_of, state.lower.view)),
            "asking": frozenset(map(number_of, state.lower.asking)),
            "up": state.up,
            "todo": tuple(tuple(todo) for todo in state.todo),
            "got": dict(state.got),
        }

    def content_value(self, message: peter.Message) -> tuple[Any, ...]:
        """Returns the kind of a message, its topic and event, and the number of nodes that have received it."""
        if isinstance(message, Own):
            kind, about = type(message).__name__.removesuffix("Message").lower(), message.header
            event = int(message.value) if isinstance(message, (peter.PublishMessage, peter.NotifyMessage)) else 0
            return kind, topic_number(about.key), event, about.hop
        if isinstance(message, NodeRace):
            (node,) = message.tables.neighborhood_set or ()
            return "tell", 0, number_of(node.id), 0
        kinds = {Heartbeat: "heartbeat", NodeAnnouncement: "announce"}
        return kinds.get(type(message), "exit"), 0, 0, 0


def _router(constants: Mapping[str, Any], texts: Mapping[int, str]) -> Router:
    knows = {node: frozenset(others) for node, others in _group_pairs(constants["Knows"]).items()}
    astray: defaultdict[tuple[Id, Id], frozenset[Id]] = defaultdict(frozenset)
    for n, topic, other in constants["Astray"]:
        astray[node_id(n), id_of_topic(texts[topic])] |= {node_id(other)}
    return Router(knows, dict(astray), is_closest=constants["Hops"] == "closest")


def _things(todo: list[list[Any]], node: int) -> tuple[Todo, ...]:
    return tuple(Todo(*thing) for _, thing in sorted((index, thing) for n, index, *thing in todo if n == node))


def _group_pairs(pairs: list[list[int]]) -> dict[Id, list[Id]]:
    """Groups the second of each pair of nodes by the first, ascending."""
    return {node_id(first): sorted(node_id(other) for one, other in pairs if one == first) for first, _ in pairs}


def _subscribe_all(
    spec: Bounded, nodes: Mapping[Id, ModelNode], who: Iterable[tuple[Id, peter.Subscribe]]
) -> dict[Id, ModelNode]:
    """Returns the nodes after several have subscribed, one after the other, with each SUBSCRIBE handled at once."""
    after = dict(nodes)
    for node, wanted in who:
        events: list[tuple[Id, Any]] = [(node, Asked(NOW, wanted))]
        while events:
            at, event = events.pop()
            after[at], effects = spec.take(after[at], event, no_choice)
            sends = [effect for effect in effects if isinstance(effect, Send)]
            events += [(id_at(sent.to), Received(NOW, addr(at), sent.message)) for sent in sends]
    return after
