"""Rings of real nodes, Peter on Wendy: messages from one node to another arrive in order, others in any; each step is judged."""

from __future__ import annotations

from collections import Counter, deque
from random import Random
from typing import Any

from tests.spec.wendy.nodes import NOW, no_choice

from peerproof.spec import peter
from peerproof.spec.core import Asked, Expired, NodeId, Notify, Received, Send, Sent, SetTimer
from peerproof.spec.peter import Config, NotifyMessage, Publish, Update, id_of_topic
from peerproof.spec.properties import Cluster, InFlight, Taken, find_violations
from peerproof.spec.wendy import Announce, HeartbeatDue, Id, Join, RepairTimeout, Stage, id_text
from peerproof.spec.wendy.ids import REAL


class Ring:
    """A cluster whose messages arrive in the order that chance gives, from one node to another as they were sent. [PA-19]"""

    def __init__(self, seed: int, side: int = 16) -> None:
        self.random = Random(seed)
        self.side = side
        self.nodes: dict[NodeId, peter.State] = {}
        self.ways: dict[tuple[NodeId, NodeId], deque[Any]] = {}  #: by sender and receiver, what is under way
        self.timers: list[tuple[NodeId, Any]] = []
        self.got: Counter[tuple[NodeId, Id, bytes]] = Counter()  #: how often an event of a topic was delivered at a node
        self.copies = 0  #: tree messages sent with an event

    def begin(self, own: Id) -> NodeId:
        """A node with this id."""
        address = NodeId(f"n{id_text(own)}:4000")
        config = Config(own, leaf_set_side=self.side, neighborhood_set=2 * self.side)
        self.nodes[address] = peter.initial(address, config).state
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
        return [who for who, state in self.nodes.items() if state.lower.stage in (Stage.ALONE, Stage.JOINED)]

    def ask(self, who: NodeId, command: Any) -> None:
        """An application wants something."""
        self.did(who, Asked(NOW, command))

    def did(self, who: NodeId, event: Any) -> None:
        """Something happens to a node."""
        before = self.nodes[who]
        after, effects = peter.step(before, event, no_choice)
        taken = Taken(before, event, after, effects)
        broken = (*find_violations(peter.PROPERTIES, "step", taken), *find_violations(peter.PROPERTIES, "node", after))
        assert [p.name for p in broken] == []
        self.nodes[who] = after
        for effect in effects:
            match effect:
                case Send(to, message):
                    assert peter.MESSAGE.decode(peter.MESSAGE.encode(message)) == message
                    self.ways.setdefault((who, to), deque()).append(message)
                    self.copies += isinstance(message, NotifyMessage)
                case SetTimer(timer, _):
                    self.timers.append((who, timer))
                case Notify(Update(topic, value)):
                    self.got[who, topic, value] += 1

    def deliver(self) -> None:
        """One message arrives, or not; its sender knows."""
        who, to = way = self.random.choice(sorted(self.ways))
        message = self.ways[way].popleft()
        if not self.ways[way]:
            del self.ways[way]
        arrives = to in self.nodes
        if arrives:
            self.did(to, Received(NOW, who, message))
        if who in self.nodes:
            took = 1 + sum(map(ord, "".join(sorted((who, to))))) % 7
            self.did(who, Sent(NOW, to, message, took if arrives else None))

    def some(self, many: int) -> None:
        """So many messages arrive, if there are so many."""
        for _ in range(many):
            if self.ways:
                self.deliver()

    def settle(self) -> None:
        """Messages arrive until there are none; then the waits end, one after the other, and so on."""
        while True:
            while self.ways:
                self.deliver()
            due = [(who, timer) for who, timer in self.timers if isinstance(timer, (Announce, RepairTimeout))]
            self.timers = []
            if not due:
                break
            self.random.shuffle(due)
            for who, timer in due:
                if who in self.nodes:
                    self.did(who, Expired(NOW, timer))

    def settle_joins(self) -> None:
        """Whoever is joining joins; messages of trees may still be under way."""
        while any(state.lower.stage in (Stage.JOINING, Stage.WAITING) for state in self.nodes.values()):
            self.settle()

    def heartbeats(self) -> None:
        """Everybody asks everybody for a sign of life."""
        for who in list(self.nodes):
            self.did(who, Expired(NOW, HeartbeatDue()))
        self.settle()

    def crash(self, who: NodeId) -> None:
        """A node is gone, and with it what has not begun to leave it."""
        del self.nodes[who]
        for way in [way for way in self.ways if way[0] == who]:
            self.ways[way] = deque([self.ways[way][0]])

    # -- what there should be ---------------------------------------------------------------------------------------

    def root(self, topic: Id) -> NodeId:
        """The meeting point: the closest of all nodes."""
        return min(self.nodes, key=lambda who: REAL.rank(self.nodes[who].lower.id, topic))

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

    def cluster(self) -> Cluster:
        """All of it."""
        under_way = [InFlight(*way, message) for way, messages in self.ways.items() for message in messages]
        return Cluster(self.nodes, under_way)
