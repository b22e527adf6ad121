"""
One node's tables against a model of them that knows no ring arithmetic: digits are texts, the ring is walked, and all is sorted.

The node has 64 ids around it, two places on a side of the leaf set and three in its neighborhood set, so that there is always
somebody who does not fit. What happens to it is anything: tables from anybody, answers and failures, exits, announcements.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from peerproof.spec.core import Expired, NodeId, Received, Send, Sent
from peerproof.spec.wendy import (
    Config,
    Entry,
    FlushCache,
    Header,
    Heartbeat,
    Id,
    LeafSet,
    Message,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeRace,
    Ring,
    StateData,
    Tables,
    Versions,
    initial,
    step,
)
from peerproof.spec.wendy.routing import next_hop
from peerproof.spec.wendy.snapshot import find_inconsistency

from .nodes import NOW, no_choice

RING = Ring(digits=3, digit_bits=2)
SIZE = 64
SIDE, NEAR = 2, 3
UNKNOWN = 10**9

IDS = st.integers(0, SIZE - 1).map(Id)
NODES = st.lists(IDS, max_size=4)
SCORES = st.integers(1, 4)


def peer(number: Id) -> Node:
    """The node with this id."""
    return Node(number, "n", "n", 1 + number)


def digits(number: int) -> str:
    """An id as three digits to the base 4."""
    return f"{number // 16}{number // 4 % 4}{number % 4}"


def walk(start: int, end: int) -> list[int]:
    """The ids that are met on the way up from one to another, without the first."""
    met = []
    while start != end:
        start = (start + 1) % SIZE
        met.append(start)
    return met


def closest(key: int, among: list[int]) -> int:
    """Who is met first on the way from a key in both directions, a step down before a step up."""
    for away in range(SIZE):
        for place in ((key - away) % SIZE, (key + away) % SIZE):
            if place in among:
                return place
    raise AssertionError("somebody is met")


class Model:
    """The tables of a node, by brute force."""

    def __init__(self, own: int) -> None:
        self.own = own
        self.cells: dict[tuple[int, int], int] = {}
        self.sides: dict[str, list[int]] = {"left": [], "right": []}
        self.near: list[int] = []
        self.versions = [0, 0, 0]
        self.scores: dict[int, int] = {}
        self.cache: dict[int, int] = {}
        self.measured: set[int] = set()
        self.departed: set[int] = set()

    def known(self) -> set[int]:
        """Who is in a table."""
        return {*self.cells.values(), *self.sides["left"], *self.sides["right"], *self.near}

    def score(self, node: int) -> int:
        """How far away a node is."""
        return self.scores.get(node, UNKNOWN)

    def cell(self, node: int) -> tuple[int, int]:
        """Where a node stands in the routing table."""
        pairs = zip(digits(self.own), digits(node), strict=True)
        row = next(index for index, (mine, its) in enumerate(pairs) if mine != its)
        return row, int(digits(node)[row])

    def into_leaves(self, node: int) -> None:
        """A node is tried in the leaf set."""
        up, down = walk(self.own, node), walk(node, self.own)
        name = "right" if len(up) <= len(down) else "left"
        way = walk(self.own, self.own - 1 if self.own else SIZE - 1)
        order = way if name == "right" else way[::-1]
        kept = sorted({*self.sides[name], node}, key=order.index)[:SIDE]
        self.versions[1] += kept != self.sides[name]
        self.sides[name] = kept

    def into_all(self, node: int) -> None:
        """A node is tried in all tables."""
        there = self.cells.get(self.cell(node))
        if there is None or self.score(node) < self.score(there):
            self.cells[self.cell(node)] = node
            self.versions[0] += 1
        self.into_leaves(node)
        before = set(self.near)
        self.into_near(node)
        self.versions[2] += set(self.near) != before

    def into_near(self, node: int) -> None:
        """A node is tried in the neighborhood set."""
        if node not in self.near:
            self.near = sorted([*self.near, node], key=self.score)[:NEAR]

    def seen(self, node: int, *, is_leaf: bool) -> None:
        """A node was in a message."""
        if node == self.own or node in self.departed:
            return
        score = self.scores.get(node, self.cache.get(node))
        if score is not None:
            self.scores[node] = score
            self.into_all(node)
            return
        if is_leaf:
            self.into_leaves(node)
        self.measured.add(node)

    def confirmed(self, node: int, took: int) -> None:
        """A message has arrived after so long."""
        if node not in self.measured | self.known():
            return
        before = self.scores.get(node)
        self.cache[node] = self.scores[node] = took
        if node in self.measured:
            self.measured.remove(node)
            self.into_all(node)
        elif node in self.near and took != before:
            self.near.remove(node)
            self.into_near(node)

    def gone(self, node: int) -> None:
        """A node is not there any more."""
        self.measured.discard(node)
        if node not in self.known():
            return
        self.departed.add(node)
        self.versions[0] += node in self.cells.values()
        self.versions[1] += node in self.sides["left"] + self.sides["right"]
        self.versions[2] += node in self.near
        self.cells = {cell: other for cell, other in self.cells.items() if other != node}
        self.sides = {name: [other for other in side if other != node] for name, side in self.sides.items()}
        self.near = [other for other in self.near if other != node]

    def tidy(self) -> None:
        """Scores are of known nodes only."""
        self.scores = {node: score for node, score in self.scores.items() if node in self.known()}

    def next_hop(self, key: int) -> int:
        """Where a message goes, which may be here."""
        left, right = self.sides["left"], self.sides["right"]
        everybody = [self.own, *left, *right]
        low, high = (left or [self.own])[-1], (right or [self.own])[-1]
        if key in (self.own, *walk(low, self.own), low, *walk(self.own, high)):
            return closest(key, everybody)
        cell = self.cell(key)
        if cell in self.cells:
            return self.cells[cell]
        for (row, _), node in sorted(self.cells.items()):
            if row >= cell[0] and closest(key, [self.own, node]) == node:
                return node
        return closest(key, everybody)


class Tables64(RuleBasedStateMachine):
    """A node, and the model of it."""

    @initialize(own=IDS)
    def start(self, own: Id) -> None:
        """It knows nobody."""
        config = Config(own, ring=RING, leaf_set_side=SIDE, neighborhood_set=NEAR, heartbeat=0)  # type: ignore[arg-type]  # 0 milliseconds
        self.state = initial(NodeId(f"n:{1 + own}"), config).state
        self.model = Model(own)
        self.waiting: list[Send[Message]] = []

    def happens(self, event: Any) -> list[Message]:
        """An event; what is sent waits to arrive or fail."""
        self.state, effects = step(self.state, event, no_choice)
        sends = [effect for effect in effects if isinstance(effect, Send)]
        self.waiting += [send for send in sends if isinstance(send.message, Heartbeat)]
        self.model.tidy()
        return [send.message for send in sends]

    def header(self, sender: Id, versions: Versions) -> Header:
        """Of a message of this node."""
        return Header(peer(sender), sender, versions)

    def told(self, sender: Id, tables: Tables) -> None:
        """The model is told what the node is told."""
        leaves = [node.id for side in tables.leaf_set or () for node in side]
        others = [entry.node.id for entry in tables.routing_table or ()]
        others += [node.id for node in tables.neighborhood_set or ()]
        for node in dict.fromkeys([sender, *leaves, *others]):
            self.model.seen(node, is_leaf=node in (sender, *leaves))

    @staticmethod
    def tables(cells: list[Id], left: list[Id], right: list[Id], near: list[Id]) -> Tables:
        """Tables of somebody, in which anybody may stand anywhere."""
        entries = tuple(Entry(0, 0, peer(node)) for node in cells)
        return Tables(entries, LeafSet(tuple(map(peer, left)), tuple(map(peer, right))), tuple(map(peer, near)))

    @rule(sender=IDS, cells=NODES, left=NODES, right=NODES, near=NODES)
    def hear(self, sender: Id, cells: list[Id], left: list[Id], right: list[Id], near: list[Id]) -> None:
        """Somebody sends its tables."""
        tables = self.tables(cells, left, right, near)
        self.told(sender, tables)
        self.happens(Received(NOW, NodeId("n:9"), StateData(self.header(sender, Versions()), tables)))

    @rule(sender=IDS, left=NODES, near=NODES, is_fresh=st.booleans())
    def announce(self, sender: Id, left: list[Id], near: list[Id], is_fresh: bool) -> None:
        """Somebody announces itself; it is taken in if it knows the versions as they are, and warned otherwise."""
        versions = Versions(*self.model.versions) if is_fresh else Versions()
        tables = self.tables([], left, [], near)
        conflict = any(mine > its for mine, its in zip(self.model.versions, versions, strict=True))
        self.model.departed.discard(sender)
        if not conflict:
            self.told(sender, tables)
        sent = self.happens(Received(NOW, NodeId("n:9"), NodeAnnouncement(self.header(sender, versions), tables)))
        assert any(isinstance(message, NodeRace) for message in sent) == conflict

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 99), took=SCORES | st.none())
    def answer(self, which: int, took: int | None) -> None:
        """A request for a score arrives, or not."""
        send = self.waiting.pop(which % len(self.waiting))
        node = int(send.to.partition(":")[2]) - 1
        if took is None:
            self.model.gone(node)
        else:
            self.model.confirmed(node, took)
        self.happens(Sent(NOW, send.to, send.message, took))

    @precondition(lambda self: self.waiting)
    @rule(took=SCORES)
    def answers(self, took: int) -> None:
        """All requests arrive."""
        while self.waiting:
            self.answer(0, took)

    @rule(node=IDS, took=SCORES)
    def measure_again(self, node: Id, took: int) -> None:
        """Something else that was sent to a node has arrived."""
        self.model.confirmed(node, took)
        self.happens(Sent(NOW, NodeId(f"n:{1 + node}"), Heartbeat(self.header(self.state.id, Versions())), took))

    @rule(node=IDS)
    def leave(self, node: Id) -> None:
        """Somebody leaves."""
        self.model.gone(node)
        self.happens(Received(NOW, NodeId("n:9"), NodeExit(self.header(node, Versions()))))

    @rule()
    def flush(self) -> None:
        """The cache is emptied."""
        self.model.cache.clear()
        self.happens(Expired(NOW, FlushCache()))

    @invariant()
    def same(self) -> None:
        """The node is as the model says."""
        state, model = self.state, self.model
        assert {cell: node.id for cell, node in state.routing_table.items()} == model.cells
        assert {name: [node.id for node in side] for name, side in state.leaf_set._asdict().items()} == model.sides
        assert [node.id for node in state.neighborhood_set] == model.near
        assert list(state.versions) == model.versions
        assert dict(state.scores) == model.scores
        assert dict(state.cache) == model.cache
        assert set(state.measured) == model.measured
        assert state.departed == model.departed
        assert find_inconsistency(state) is None

    @invariant()
    def routes(self) -> None:
        """Messages go where the model says."""
        for key in range(0, SIZE, 3):
            node = next_hop(self.state, Id(key))
            assert (self.state.id if node is None else node.id) == self.model.next_hop(key), key


TestTables64 = Tables64.TestCase
