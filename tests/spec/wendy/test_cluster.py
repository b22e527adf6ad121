"""Rings whose nodes join, leave and crash, with messages in any order: what holds at each step, and when all is quiet."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerproof.spec.core import Asked, Expired, NodeId, Received, Send, Sent
from peerproof.spec.properties import Cluster as AtOnce
from peerproof.spec.properties import InFlight, Taken, find_violations
from peerproof.spec.wendy import (
    PROPERTIES,
    Announce,
    Config,
    HeartbeatDue,
    Id,
    Join,
    Leave,
    Message,
    RepairTimeout,
    Route,
    Stage,
    State,
    id_text,
    initial,
    step,
)
from peerproof.spec.wendy.properties import neighbours_known, one_owner
from peerproof.spec.wendy.routing import hops

from .nodes import NOW, no_choice, timers
from .test_routing import is_skewed

SOMETIMES = {prop.name for prop in PROPERTIES if prop.when == "sometimes"}


class Ring:
    """A cluster of real size whose messages arrive in the order that chance gives, with all properties looked at."""

    def __init__(self, seed: int, side: int = 16) -> None:
        self.random = Random(seed)
        self.side = side
        self.nodes: dict[NodeId, State] = {}
        self.waiting: list[tuple[NodeId, Send[Message]]] = []
        self.timers: list[tuple[NodeId, object]] = []
        self.seen: set[str] = set()

    def did(self, who: NodeId, event: object) -> None:
        """Something happens to a node."""
        before = self.nodes[who]
        after, effects = step(before, event, no_choice)  # type: ignore[arg-type]  # events of this protocol
        taken = Taken(before, event, after, effects)
        assert [p.name for p in (*find_violations(PROPERTIES, "step", taken), *find_violations(PROPERTIES, "node", after))] == []
        self.seen |= {p.name for p in PROPERTIES if p.when == "sometimes" and p.of == "step" and p.holds(taken)}
        self.nodes[who] = after
        self.waiting += [(who, effect) for effect in effects if isinstance(effect, Send)]
        self.timers += [(who, timer) for timer, _ in timers(effects)]

    def start(self) -> NodeId:
        """A node with an id from anywhere."""
        own = Id(self.random.getrandbits(128))
        address = NodeId(f"n{id_text(own)}:4000")
        self.nodes[address] = initial(address, Config(own, leaf_set_side=self.side)).state
        return address

    def join(self) -> None:
        """Another node joins by one that has joined, if there is any."""
        members = self.members()
        who = self.start()
        if members:
            self.did(who, Asked(NOW, Join(self.random.choice(members))))

    def members(self) -> list[NodeId]:
        """Who has joined, or began it all."""
        return [who for who, state in self.nodes.items() if state.stage in (Stage.ALONE, Stage.JOINED)]

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

    def deliver(self) -> None:
        """One message arrives, or not; its sender knows."""
        who, effect = self.waiting.pop(self.random.randrange(len(self.waiting)))
        arrives = effect.to in self.nodes
        if arrives:
            self.did(effect.to, Received(NOW, who, effect.message))
        if who in self.nodes:
            took = self.score(who, effect.to) if arrives else None
            self.did(who, Sent(NOW, effect.to, effect.message, took))

    def score(self, *ends: NodeId) -> int:
        """How far two nodes are from each other, always the same: where scores change, announcements need not cease. [WX-13]"""
        return 1 + sum(map(ord, "".join(sorted(ends)))) % 7

    def heartbeats(self) -> None:
        """Everybody asks everybody for a sign of life."""
        for who in list(self.nodes):
            self.did(who, Expired(NOW, HeartbeatDue()))
        self.settle()

    def at_once(self) -> AtOnce:
        """All of it."""
        return AtOnce(self.nodes, [InFlight(who, effect.to, effect.message) for who, effect in self.waiting])

    def wrong(self, keys: int) -> list[str]:
        """Keys from anywhere that are not delivered at the closest node."""
        states = {state.id: state for state in self.nodes.values()}
        ring = next(iter(states.values())).config.ring
        found = []
        for _ in range(keys):
            key, start = Id(self.random.getrandbits(128)), self.random.choice(sorted(states))
            *_, last = islice(hops(states, start, key), 40)
            if last != min(states, key=lambda one: ring.rank(one, key)):
                found.append(id_text(key))
        return found


def misses(ring: Ring) -> list[str]:
    """The properties of clusters that do not hold."""
    return [p.name for p in find_violations(PROPERTIES, "cluster", ring.at_once())]


@pytest.mark.parametrize("seed", range(3))
def test_nodes_that_join_one_after_the_other_form_a_ring(seed: int) -> None:
    """Of more nodes than a leaf set holds; as long as all are in one half of the ring, keys may have two owners. [WX-07]"""
    ring = Ring(seed, side=4)
    for _ in range(24):
        ring.join()
        ring.settle()
        assert set(misses(ring)) <= ({"QuietOneOwner"} if is_skewed({s.id: s for s in ring.nodes.values()}) else set())

    assert misses(ring) == []
    assert ring.wrong(100) == []


@given(st.integers(0, 2**32), st.lists(st.integers(1, 4), min_size=1, max_size=6))
@settings(max_examples=15)
def test_nodes_that_join_at_once_form_a_ring(seed: int, groups: list[int]) -> None:
    """Everybody in a group joins while the others do. [W-64, W-65]"""
    ring = Ring(seed)
    ring.start()
    for group in groups:
        for _ in range(group):
            ring.join()
            for _ in range(ring.random.randrange(4)):
                if ring.waiting:
                    ring.deliver()
        ring.settle()

        assert misses(ring) == []
        assert ring.wrong(20) == []


@given(st.integers(0, 2**32), st.lists(st.sampled_from(["join", "leave", "crash"]), max_size=20))
@settings(max_examples=15)
def test_after_joins_exits_and_crashes_every_key_finds_the_closest_live_node(seed: int, deeds: list[str]) -> None:
    """One change at a time, and after each of them all is repaired. [W-19…W-36]"""
    ring = Ring(seed)
    for deed in ["join"] * 5 + deeds:
        who = ring.random.choice(sorted(ring.nodes)) if len(ring.nodes) > 1 else None
        if deed == "join":
            ring.join()
        elif deed == "leave" and who is not None:
            ring.did(who, Asked(NOW, Leave()))
            ring.settle()
            del ring.nodes[who]
        elif who is not None:
            del ring.nodes[who]
        ring.settle()
        ring.heartbeats()

        assert ring.wrong(20) == []
        assert neighbours_known(ring.at_once())
        assert one_owner(ring.at_once())


def test_after_a_quarter_has_crashed_at_once_every_key_finds_the_closest_live_node() -> None:
    ring = Ring(7)
    for _ in range(20):
        ring.join()
        ring.settle()
    for who in ring.random.sample(sorted(ring.nodes), 5):
        del ring.nodes[who]

    ring.heartbeats()
    ring.heartbeats()

    assert ring.wrong(200) == []


def test_interesting_things_happen() -> None:
    """Each `sometimes` is seen in some run, so that the properties beside it are not empty."""
    ring = Ring(3)
    ring.start()
    for _ in range(4):
        ring.join()
        ring.join()
        ring.settle()
    first, second, *_ = ring.nodes
    for key in (state.id for state in list(ring.nodes.values())):
        ring.did(second, Asked(NOW, Route(key, None)))
    ring.did(first, Asked(NOW, Leave()))
    del ring.nodes[second]
    ring.settle()
    ring.heartbeats()

    assert SOMETIMES - ring.seen == set()
