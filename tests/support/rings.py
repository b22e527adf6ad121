"""
Rings of real nodes whose messages arrive in the order that chance gives; each step, and each node after it, is judged.

With trees, those of Peter on Wendy, messages from one node to another arrive in order, others in any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from random import Random
from typing import Any, ClassVar

from tests.support.wendy_nodes import NOW, no_choice

from peerproof.spec import peter, wendy
from peerproof.spec.core import Asked, Expired, NodeId, Notify, Received, Send, Sent, SetTimer, Specification
from peerproof.spec.peter import Publish, Update, id_of_topic
from peerproof.spec.properties import Cluster, InFlight, Taken, find_violations
from peerproof.spec.wendy import Announce, Config, HeartbeatDue, Id, Join, RepairTimeout, Stage, State, id_text
from peerproof.spec.wendy.ids import REAL
from peerproof.spec.wendy.routing import hops


def is_skewed(states: Mapping[Id, State]) -> bool:
    """Whether some node has all others on one side, and that side is full. [WX-07]"""
    return any(
        not (left and right) and max(len(left), len(right)) == state.config.leaf_set_side
        for state in states.values()
        for left, right in (state.leaf_set,)
    )


class Ring:
    """A cluster of which somebody may join, go, or ask for something at any moment."""

    spec: ClassVar[Specification] = wendy
    ids: ClassVar[wendy.Ring] = REAL

    def __init__(self, seed: int, side: int = 16) -> None:
        self.random = Random(seed)
        self.side = side
        self.nodes: dict[NodeId, Any] = {}
        self.waiting: list[tuple[NodeId, Send[Any]]] = []  #: what is under way, in the order in which it was sent
        self.timers: list[tuple[NodeId, Any]] = []
        self.seen: set[str] = set()

    def router(self, who: NodeId) -> State:
        """What a node is of Wendy."""
        state: State = self.nodes[who]
        return state

    def states(self) -> dict[Id, State]:
        """All of these by their ids."""
        return {state.id: state for state in map(self.router, self.nodes)}

    def begin(self, own: Id) -> NodeId:
        """A node with this id."""
        address = NodeId(f"n{id_text(own)}:4000")
        config = Config(own, ring=self.ids, leaf_set_side=self.side, neighborhood_set=2 * self.side)
        self.nodes[address] = self.spec.initial(address, config).state
        return address

    def join(self, own: Id) -> NodeId:
        """Another node joins by one that has joined, if there is any."""
        members = self.members()
        who = self.begin(own)
        if members:
            self.ask(who, Join(self.random.choice(members)))
        return who

    def members(self) -> list[NodeId]:
        """Who has joined, or began it all."""
        return [who for who in self.nodes if self.router(who).stage in (Stage.ALONE, Stage.JOINED)]

    def ask(self, who: NodeId, command: Any) -> None:
        """An application wants something."""
        self.did(who, Asked(NOW, command))

    def did(self, who: NodeId, event: Any) -> tuple[Any, ...]:
        """Something happens to a node; what comes of it."""
        before, properties = self.nodes[who], self.spec.PROPERTIES
        after, effects = self.spec.step(before, event, no_choice)
        taken = Taken(before, event, after, effects)
        broken = (*find_violations(properties, "step", taken), *find_violations(properties, "node", after))
        assert [p.name for p in broken] == []
        self.seen |= {p.name for p in properties if p.when == "sometimes" and p.of == "step" and p.holds(taken)}
        self.nodes[who] = after
        self.waiting += [(who, effect) for effect in effects if isinstance(effect, Send)]
        self.timers += [(who, effect.timer) for effect in effects if isinstance(effect, SetTimer)]
        return effects

    def next(self) -> int:
        """Which of the messages under way arrives next."""
        return self.random.randrange(len(self.waiting))

    def deliver(self) -> None:
        """One message arrives, or not; its sender knows."""
        who, effect = self.waiting.pop(self.next())
        arrives = effect.to in self.nodes
        if arrives:
            self.did(effect.to, Received(NOW, who, effect.message))
        if who in self.nodes:
            # How far two nodes are from each other, always the same: where scores change, announcements need not cease. [WX-13]
            score = 1 + sum(map(ord, "".join(sorted((who, effect.to))))) % 7
            self.did(who, Sent(NOW, effect.to, effect.message, score if arrives else None))

    def some(self, many: int) -> None:
        """So many messages arrive, if there are so many."""
        for _ in range(min(many, len(self.waiting))):
            self.deliver()

    def settle(self) -> None:
        """Messages arrive until there are none; then the waits end, one after the other, and so on."""
        while True:
            while self.waiting:
                self.deliver()
            due = [(who, timer) for who, timer in self.timers if isinstance(timer, (Announce, RepairTimeout))]
            self.timers = []
            if not due:
                break
            self.random.shuffle(due)
            for who, timer in due:
                if who in self.nodes:
                    self.did(who, Expired(NOW, timer))

    def heartbeats(self) -> None:
        """Everybody asks everybody for a sign of life."""
        for who in list(self.nodes):
            self.did(who, Expired(NOW, HeartbeatDue()))
        self.settle()

    def at_once(self) -> Cluster:
        """All of it."""
        return Cluster(self.nodes, [InFlight(who, effect.to, effect.message) for who, effect in self.waiting])

    def astray(self, keys: Iterable[Id]) -> list[tuple[Id, Id, list[Id]]]:
        """Keys, from where they are sought, and the way to somewhere else than the closest node."""
        states, found = self.states(), []
        for key in keys:
            owner = min(states, key=lambda one: self.ids.rank(one, key))
            for start in states:
                way = list(islice(hops(states, start, key), 2 * len(states) + 8))
                if way[-1] != owner:
                    found.append((start, key, way))
        return found


class TreeRing(Ring):
    """A ring in which there are trees. [PA-19]"""

    spec: ClassVar[Specification] = peter

    def __init__(self, seed: int, side: int = 16) -> None:
        super().__init__(seed, side)
        self.got: Counter[tuple[NodeId, Id, bytes]] = Counter()  #: how often an event of a topic was delivered at a node

    def router(self, who: NodeId) -> State:
        """What a node is of Wendy."""
        state: State = self.nodes[who].lower
        return state

    def did(self, who: NodeId, event: Any) -> tuple[Any, ...]:
        """Something happens to a node; events that are delivered are counted."""
        effects = super().did(who, event)
        for effect in effects:
            match effect:
                case Send(_, message):
                    assert peter.MESSAGE.decode(peter.MESSAGE.encode(message)) == message
                case Notify(Update(topic, value)):
                    self.got[who, topic, value] += 1
        return effects

    def next(self) -> int:
        """The first from some node to some other one."""
        first: dict[tuple[NodeId, NodeId], int] = {}
        for place, (who, effect) in enumerate(self.waiting):
            first.setdefault((who, effect.to), place)
        return first[self.random.choice(sorted(first))]

    def settle_joins(self) -> None:
        """Whoever is joining joins; messages of trees may still be under way."""
        while any(self.router(who).stage in (Stage.JOINING, Stage.WAITING) for who in self.nodes):
            self.settle()

    def crash(self, who: NodeId) -> None:
        """A node is gone, and with it what has not begun to leave it."""
        del self.nodes[who]
        begun: set[NodeId] = set()
        for sent in [sent for sent in self.waiting if sent[0] == who]:
            if sent[1].to in begun:
                self.waiting.remove(sent)
            begun.add(sent[1].to)

    # -- what there should be ---------------------------------------------------------------------------------------

    def root(self, topic: Id) -> NodeId:
        """The meeting point: the closest of all nodes."""
        return min(self.nodes, key=lambda who: self.ids.rank(self.router(who).id, topic))

    def subscribers(self, topic: Id) -> set[NodeId]:
        """Who is subscribed."""
        return {who for who, state in self.nodes.items() if state.upper.row(topic).is_local}

    def interested(self, topic: Id) -> set[NodeId]:
        """Who has a place in the tree."""
        return {who for who, state in self.nodes.items() if topic in state.upper.topics}

    def children(self, who: NodeId, topic: Id) -> set[NodeId]:
        """A node's children."""
        return {NodeId(f"n{id_text(child)}:4000") for child in self.nodes[who].upper.row(topic).children}

    def parent(self, who: NodeId, topic: Id) -> NodeId | None:
        """A node's parent."""
        found = self.nodes[who].upper.row(topic).parent
        return None if found is None else NodeId(f"n{id_text(found.id)}:4000")

    def reached(self, topic: Id) -> set[NodeId]:
        """Who is reached from the meeting point, by children."""
        found, ahead = set(), [self.root(topic)]
        while ahead:
            who = ahead.pop()
            if who not in found and who in self.nodes:
                found.add(who)
                ahead += self.children(who, topic)
        return found

    def publish(self, who: NodeId, topic: str, value: bytes) -> dict[NodeId, int]:
        """An event, in quiet: how often each node got it."""
        self.ask(who, Publish(topic, value))
        self.settle()
        key = id_of_topic(topic)
        return {node: self.got[node, key, value] for node in self.nodes if self.got[node, key, value]}
