"""
A ring of up to 32 nodes, or 14 by default: joins at once and in any order of messages, then exits and crashes, each until quiet.

What must hold then is what the protocol promises, and no more. After joins every node knows its neighbours, and each key is
delivered at the closest node. Nodes go only from a ring at rest [WX-12], and one at a time, unless everybody knows everybody:
then both hold again as soon as they are missed and all is repaired [WX-10, WX-11]. Nobody comes back, as who was told of it only
by others would not believe it [WA-30]. Skewed rings promise no delivery [WX-07].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.support.rings import Ring, is_skewed

from peerproof.conformance.fuzz.search_settings import PROFILES
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.wendy import PROPERTIES, Id, Leave, Node, Route, Stage, State, joining, repair, routing
from peerproof.spec.wendy.ids import Ring as Ids
from peerproof.spec.wendy.properties import neighbours_known, one_owner

#: Messages grow with the square of the nodes: fewer of these by default, and of the runs.
RUNS = settings.default.max_examples  # type: ignore[union-attr]  # there is one
MOST_NODES = 14 if PROFILES["quick"].runs >= RUNS else 32
IDS = Ids(digits=4, digit_bits=2)

NUMBERS = st.integers(0, IDS.size - 1).map(Id)
CHANCE = st.integers(0, 2**16)


def test_interesting_things_happen() -> None:
    """Each `sometimes` is seen in a ring of ids of real size, so that the properties beside it are not empty."""
    ring = Ring(3)

    def any_id() -> Id:
        return Id(ring.random.getrandbits(128))

    ring.begin(any_id())
    for _ in range(4):
        ring.join(any_id())
        ring.join(any_id())
        ring.settle()
    first, second, *_ = ring.nodes
    for key in ring.states():
        ring.ask(second, Route(key, None))
    ring.ask(first, Leave())
    del ring.nodes[second]
    ring.settle()
    ring.heartbeats()

    assert {prop.name for prop in PROPERTIES if prop.when == "sometimes"} - ring.seen == set()


class SmallRing(Ring):
    """A ring of 256 ids, so that some nodes are neighbours, or opposite to each other, or equally far from a key."""

    ids = IDS


class Rings(RuleBasedStateMachine):
    """A ring, of whom nobody has gone that is still missed."""

    keys: ClassVar[range] = range(0, IDS.size, 7)

    @initialize(
        side=st.sampled_from([2, 3, 4, 16]), numbers=st.lists(NUMBERS, min_size=1, max_size=12, unique=True), chance=CHANCE
    )
    def start(self, side: int, numbers: list[Id], chance: int) -> None:
        """One node alone, which others join at once."""
        self.ring = SmallRing(chance, side)
        self.ring.begin(numbers[0])
        self.seen = set(numbers[:1])
        self.join(numbers[1:], chance)

    @rule(numbers=st.lists(NUMBERS, min_size=1, max_size=8, unique=True), chance=CHANCE)
    def join(self, numbers: list[Id], chance: int) -> None:
        """Some join, each at any moment, by somebody who has joined."""
        ring = self.ring
        ring.random.seed(chance)
        for number in numbers:
            if number in self.seen or len(ring.nodes) >= MOST_NODES:
                continue
            self.seen.add(number)
            ring.join(number)
            ring.some(ring.random.randrange(6))

    @rule(many=st.integers(1, 30), chance=CHANCE)
    def deliver(self, many: int, chance: int) -> None:
        """Some messages arrive, in any order."""
        self.ring.random.seed(chance)
        self.ring.some(many)

    @rule(chance=CHANCE)
    def quiet(self, chance: int) -> None:
        """Everything arrives, and every wait is over."""
        self.ring.random.seed(chance)
        self.ring.settle()
        self.judge()

    @rule(many=st.integers(1, 12), leaves=st.booleans(), chance=CHANCE)
    def go(self, many: int, leaves: bool, chance: int) -> None:
        """From a ring at rest one leaves or crashes, or several at once; then they are missed, and all is repaired."""
        ring = self.ring
        ring.random.seed(chance)
        ring.settle()
        many = min(many if len(ring.nodes) <= ring.side else 1, len(ring.nodes) - 1)
        for who in ring.random.sample(sorted(ring.nodes), many):
            if leaves:
                ring.ask(who, Leave())
            del ring.nodes[who]
        ring.settle()
        for _ in range(2):  # the first time, somebody may list those whom it has not missed yet [WX-11]
            ring.heartbeats()
        assert all(state.known.keys() <= ring.states().keys() for state in ring.nodes.values())
        self.judge()

    def judge(self) -> None:
        """What holds at rest."""
        ring = self.ring
        at_once = ring.at_once()
        assert not ring.waiting
        assert {state.stage for state in ring.nodes.values()} <= {Stage.ALONE, Stage.JOINED}
        assert neighbours_known(at_once)
        if not is_skewed(ring.states()):
            assert one_owner(at_once)
            assert ring.astray(map(Id, self.keys)) == []


TestRings = pytest.mark.slow(Rings.TestCase)
TestRings.settings = settings(max_examples=RUNS // 3)


def first(state: State, key: Id, nodes: tuple[Node, ...]) -> Node | None:
    """The first leaf will do."""
    return nodes[0] if nodes else None


#: where, what it is replaced by
MISTAKES: dict[str, tuple[Any, Callable[..., Any]]] = {
    "query_leaf_set": (repair, lambda *_: ()),  # nobody is asked for a leaf set
    "leaf_ends": (routing, lambda *_: ()),  # the leaves are not looked at once more (WX-08)
    "closest": (routing, first),
    "is_newer": (joining, lambda *_: False),  # nothing is ever newer (WX-04)
    "add_departed": (repair, lambda *_: frozenset()),  # nobody is remembered who has departed (WX-09)
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    module, wrong = MISTAKES[name]

    with overriding(names_in(module, **{name: wrong})), pytest.raises(AssertionError):
        run_state_machine_as_test(
            seed(1)(Rings), settings=settings(max_examples=100, stateful_step_count=25, phases=[Phase.generate])
        )
