"""Rings in which everything happens at once: in quiet again, an event reaches each subscriber once, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.support import wrong_steps
from tests.support.rings import TreeRing

from peerproof.conformance.fuzz.search_settings import PROFILES
from peerproof.spec.core import NodeId, Step
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.peter import PROPERTIES, Publish, Subscribe, Unsubscribe, id_of_topic, tree
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.properties import find_violations
from peerproof.spec.stack import Request
from peerproof.spec.wendy import Id, Leave, Node, Stage
from peerproof.spec.wendy.ids import REAL

#: Messages grow with the square of the nodes: fewer of these by default, and of the runs.
RUNS = settings.default.max_examples  # type: ignore[union-attr]  # there is one
MOST_NODES = 9 if PROFILES["quick"].runs >= RUNS else 16

#: Two in the same part of the ring, one in another; the last is between the others.
TOPICS = ("weather/london/today", "weather/lisbon/today", "é" * 9, "~" * 16)

#: Sixteen places around the ring, and some beside topics and beside each other.
PLACES = [
    *(Id(number << 124) for number in range(16)),
    *(Id((id_of_topic(topic) + step) % REAL.size) for topic in TOPICS for step in (-1, 0, 1, 1 << 96)),
    *(Id((15 << 124) + number) for number in (1, 2, 3)),
]
#: What else is random follows from this: drawn one by one, unlikely things would be even less likely.
CHANCE = st.integers(0, 2**16)


class Trees(RuleBasedStateMachine):
    """A ring, of whom nobody has gone that is still missed."""

    most: ClassVar[int] = MOST_NODES

    @initialize(side=st.sampled_from([2, 4, 16]), many=st.integers(0, 5), chance=CHANCE)
    def start(self, side: int, many: int, chance: int) -> None:
        """One node alone, which others join at once."""
        self.ring = TreeRing(chance, side)
        self.seen: set[Id] = set()
        self.ring.begin(self.place())
        self.events = 0
        self.strangers: set[tuple[NodeId, Id]] = set()  #: whose parent had gone from its tables before it went itself [PX-07]
        self.join(many, chance)

    def place(self) -> Id:
        """Any place where nobody has been yet."""
        random = self.ring.random
        while (place := random.choice([*PLACES, *[Id(random.getrandbits(128)) for _ in range(len(PLACES) // 2)]])) in self.seen:
            pass
        self.seen.add(place)
        return place

    def one(self) -> NodeId:
        """Any node."""
        return self.ring.random.choice(sorted(self.ring.nodes))

    @rule(many=st.integers(1, 4), chance=CHANCE)
    def join(self, many: int, chance: int) -> None:
        """Some join, each at any moment, by somebody who has joined."""
        ring = self.ring
        ring.random.seed(chance)
        for _ in range(min(many, self.most - len(ring.nodes))):
            ring.join(self.place())
            ring.some(ring.random.randrange(6))

    @rule(many=st.integers(1, 4), chance=CHANCE)
    def subscribe(self, many: int, chance: int) -> None:
        """Some subscribe to a topic."""
        self.ask(Subscribe, many, chance)

    @rule(many=st.integers(1, 4), chance=CHANCE)
    def unsubscribe(self, many: int, chance: int) -> None:
        """Some unsubscribe, if they were subscribed."""
        self.ask(Unsubscribe, many, chance)

    def ask(self, command: Callable[[str], Any], many: int, chance: int) -> None:
        """Some applications want something about the same topic."""
        self.ring.random.seed(chance)
        topic = self.ring.random.choice(TOPICS)
        for _ in range(many):
            self.ring.ask(self.one(), command(topic))

    @rule(chance=CHANCE)
    def publish(self, chance: int) -> None:
        """An event, which may arrive or not, and more than once."""
        self.ask(partial(Publish, value=b"in between"), 1, chance)

    @rule(many=st.integers(1, 30), chance=CHANCE)
    def deliver(self, many: int, chance: int) -> None:
        """Some messages arrive."""
        self.ring.random.seed(chance)
        self.ring.some(many)

    @rule(many=st.integers(1, 6), leaves=st.booleans(), during=st.integers(0, 20), chance=CHANCE)
    def go(self, many: int, leaves: bool, during: int, chance: int) -> None:
        """From a ring where all have joined one leaves or crashes, or several at once; they are missed, and all is repaired."""
        ring = self.ring
        ring.random.seed(chance)
        ring.settle_joins()
        many = min(many if len(ring.nodes) <= ring.side else 1, len(ring.nodes) - 1)
        for who in ring.random.sample(sorted(ring.nodes), many):
            if leaves:
                ring.ask(who, Leave())
            ring.some(during if leaves else 0)
            ring.crash(who)
        for who, parent in set().union(*(departed_parents(ring, id_of_topic(topic)) for topic in TOPICS)):
            if parent not in ring.nodes[who].lower.known:
                self.strangers.add((who, parent))
        for _ in range(2):  # the first time, somebody may list those whom it has not missed yet [WX-11]
            ring.heartbeats()
        self.judge()

    @rule(chance=CHANCE)
    def quiet(self, chance: int) -> None:
        """Everything arrives, and every wait is over."""
        self.ring.random.seed(chance)
        self.ring.settle()
        self.judge()

    def judge(self) -> None:
        """
        What holds at rest, of each topic whose meeting point all nodes agree on [PX-03], and all of whose parents are there.

        Who has gone was missed, if it was in the tables [PX-07]; departed children are missed by the first event. [PA-28]
        """
        ring = self.ring
        assert {ring.router(who).stage for who in ring.nodes} <= {Stage.ALONE, Stage.JOINED}
        departed = {topic: departed_parents(ring, id_of_topic(topic)) for topic in TOPICS}
        assert all(parents <= self.strangers for parents in departed.values())
        clear = [topic for topic in TOPICS if agreed(ring, id_of_topic(topic)) and not departed[topic]]
        for topic in clear:
            self.events += 1
            got = ring.publish(self.one(), topic, b"%d" % self.events)
            assert got == dict.fromkeys(ring.subscribers(id_of_topic(topic)), 1)
            judge(ring, id_of_topic(topic))
        if len(clear) == len(TOPICS):
            assert [p.name for p in find_violations(PROPERTIES, "cluster", ring.at_once())] == []


def agreed(ring: TreeRing, key: Id) -> bool:
    """Whether from everywhere messages come to the node that is closest to a key."""
    return ring.astray([key]) == []


def departed_parents(ring: TreeRing, key: Id) -> set[tuple[NodeId, Id]]:
    """Whose parents are not there any more, and who these were."""
    parents = {who: ring.nodes[who].upper.row(key).parent for who in ring.interested(key)}
    return {(who, parent.id) for who, parent in parents.items() if parent and ring.parent(who, key) not in ring.nodes}


def judge(ring: TreeRing, key: Id) -> None:
    """The tree of a topic, at rest. [PI-02…PI-06]"""
    interested, root = ring.interested(key), ring.root(key)
    parents = {who: ring.parent(who, key) for who in interested}
    assert {who for who in interested if parents[who] is None} <= {root}
    assert all(parent in interested and who in ring.children(parent, key) for who, parent in parents.items() if parent)
    assert all(parents.get(child) == who for who in interested for child in ring.children(who, key))
    assert interested <= ring.reached(key)


TestTrees = pytest.mark.slow(Trees.TestCase)
TestTrees.settings = settings(max_examples=RUNS // 3)


def never(state: State, *_: Any) -> Any:
    """A meeting point remains one (PA-27)."""
    return Step(state)


def only_children(state: State, is_gone: Any, seek: Any) -> Any:
    """A parent is never missed (P-14)."""
    children = {topic: [child for child, node in row.children.items() if is_gone(node)] for topic, row in state.topics.items()}
    for topic, row in state.topics.items():
        state = state.with_row(topic, row._replace(children=row.children.without(children[topic])))
    return Step(state)


def routed(state: State, node: Node, seek: Any) -> Any:
    """When it has another parent, a node unsubscribes there (PX-04)."""
    taken = homed(state, node, seek)
    effects: Any = taken.effects  # requests to send
    return Step(taken.state, tuple([Request(replace(effect.command, node=node)) for effect in effects]))


def children_only(state: State, topic: Id, row: Row, seek: Any) -> Any:
    """Who has no children left unsubscribes, also if it is subscribed itself (PX-01)."""
    taken = right(state, topic, row, seek)
    lost = state.row(topic).children and not row.children and row.is_local
    return Step(taken.state, taken.effects + tree.tree_message(row.parent, topic, 18)) if lost else taken


right, homed = tree.update_row, tree.on_node_joined

MISTAKES: dict[str, Any] = {
    "on_rerouted": never,
    "on_departure": only_children,
    "on_node_joined": routed,
    "update_row": children_only,
    "fan_out": wrong_steps.everybody,
}


def search() -> None:
    """Some campaigns: what is drawn depends on the code around."""
    for number in range(1, 11):
        few = settings(max_examples=100, stateful_step_count=25, phases=[Phase.generate])
        run_state_machine_as_test(seed(number)(Trees), settings=few)


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    with overriding(names_in(tree, **{name: MISTAKES[name]})), pytest.raises(AssertionError):
        search()
