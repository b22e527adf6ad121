"""Rings of real nodes, Peter on Wendy: messages from one node to another arrive in order, others in any; each step is judged."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from tests.spec.wendy.ring import Ring as RoutingRing

from peerproof.spec import peter
from peerproof.spec.core import NodeId, Notify, Send, Specification
from peerproof.spec.peter import Publish, Update, id_of_topic
from peerproof.spec.wendy import Id, Stage, State, id_text


class Ring(RoutingRing):
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
