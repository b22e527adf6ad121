"""
The walk of a message through a ring at rest, for all tables that its nodes may have. [W-37…W-44, WL-03, WX-05…WX-08]

Every ring of a few ids, every key and every start is checked. The ring determines a node's leaf set; each cell of its routing
table may hold any node that fits, or optionally none. The nodes' own `next_hop` selects the next hop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, combinations, product
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.spec.core import NodeId, Table, replace
from peerproof.spec.wendy import routing
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.messages import LeafSet, Node
from peerproof.spec.wendy.state import Config, State
from peerproof.spec.wendy.tables import in_leaf_set

Members: TypeAlias = tuple[Id, ...]


class Walk(NamedTuple):
    """The progress of a message."""

    ring: Members
    key: Id
    path: Members  #: the visited nodes
    done: bool = False  #: whether it is delivered at the last of them


class Walks:
    """All walks for given constants; `tla/wendy/Routing.tla` has the same. `leaf_sets` yields a node's possible leaf sets."""

    def __init__(
        self,
        constants: Mapping[str, Any],
        leaf_sets: Callable[[State, Collection[Id]], Iterable[LeafSet]] | None = None,
        next_hop: Callable[[State, Id], Node | None] = routing.next_hop,
    ) -> None:
        self.ring = Ring(constants["Digits"], constants["DigitBits"])
        self.side, self.is_two_sided = constants["LeafSide"], constants["TwoSided"]
        self.most, self.any_ring, self.complete = constants["MaxRing"], constants["AnyRing"], constants["Complete"]
        self._leaf_sets = leaf_sets or (lambda state, others: [whole(state, others)])
        self._next_hop = next_hop
        self._hops: dict[tuple[Members, Id, Id], tuple[Id | None, ...]] = {}

    def initial(self) -> Iterator[Walk]:
        """Yields a message with any key at any node of any ring, except skewed rings if these are excluded."""
        ids = [Id(number) for number in range(self.ring.size)]
        for members in chain.from_iterable(combinations(ids, size) for size in range(1, self.most + 1)):
            if self.any_ring or not self.is_skewed(members):
                yield from (Walk(members, key, (start,)) for key in ids for start in members)

    def moves(self, walk: Walk) -> Iterator[Walk]:
        """Yields the next steps, one for each next node."""
        if not walk.done:
            for node in self.hops(walk.ring, walk.path[-1], walk.key):
                yield walk._replace(done=True) if node is None else walk._replace(path=(*walk.path, node))

    def hops(self, members: Members, at: Id, key: Id) -> tuple[Id | None, ...]:
        """Returns the possible next hops of a node, each once; None for itself."""
        if (members, at, key) not in self._hops:
            nodes = (self._next_hop(state, key) for state in self.states(members, at))
            self._hops[members, at, key] = tuple(dict.fromkeys(node and node.id for node in nodes))
        return self._hops[members, at, key]

    def states(self, members: Members, at: Id) -> Iterator[State]:
        """Yields a node with each combination of tables that it may have."""
        config = Config(at, ring=self.ring, leaf_set_side=self.side, is_two_sided=self.is_two_sided)
        bare, others = State(NodeId(f"n:{at + 1}"), config), [node for node in members if node != at]
        cells: dict[tuple[int, int], list[Node | None]] = {}
        for node in others:
            cells.setdefault(self.ring.cell(at, node), [] if self.complete else [None]).append(_node(node))
        for leaf_set in self._leaf_sets(bare, others):
            for chosen in product(*cells.values()):
                table = {cell: node for cell, node in zip(cells, chosen, strict=True) if node}
                yield replace(bare, leaf_set=leaf_set, routing_table=Table(table))

    def is_skewed(self, members: Members) -> bool:
        """Whether a node has a full side of its leaf set and an empty one. [WX-07]"""
        sides = (whole(next(self.states(members, node)), members) for node in members)
        return any(not (left and right) and max(len(left), len(right)) == self.side for left, right in sides)

    def by_last_resort(self, walk: Walk) -> bool:
        """Whether a node may forward the message only because a leaf is closer after all. [WA-08]"""
        states = self.states(walk.ring, walk.path[-1])
        return any(literal_next_hop(state, walk.key) is None and self._next_hop(state, walk.key) for state in states)

    def owner(self, walk: Walk) -> Id:
        """Returns the closest node to the key. [W-37]"""
        return min(walk.ring, key=lambda node: self.ring.rank(node, walk.key))


def _node(node: Id) -> Node:
    return Node(node, "n", "n", node + 1)


def whole(state: State, others: Collection[Id]) -> LeafSet:
    """Returns the leaf set of a node that knows these."""
    for node in others:
        if node != state.id:
            state = replace(state, leaf_set=in_leaf_set(state, _node(node)))
    return state.leaf_set


def lacking(state: State, others: Collection[Id]) -> Iterator[LeafSet]:
    """Yields the leaf sets of a node that may not know some of these. [WX-05]"""
    sets = chain.from_iterable(combinations(sorted(others), size) for size in range(len(others) + 1))
    yield from dict.fromkeys(whole(state, known) for known in sets)


def literal_next_hop(state: State, key: Id) -> Node | None:
    """Routes by the document's steps alone: a closer leaf outside of the leaf set's span is ignored. [WX-08]"""
    node = routing.next_hop(state, key)
    if node is None or routing.leaf_span(state, key) is not None:
        return node
    without = replace(state, leaf_set=LeafSet())
    return routing.next_hop(without, key)


def is_closer(walks: Walks, walk: Walk) -> bool:
    """Whether the last hop brought the message closer to its key. [W-38, WX-06]"""
    ranks = [walks.ring.rank(node, walk.key) for node in walk.path[-2:]]
    return ranks == sorted(ranks, reverse=True)


def is_progress(walks: Walks, walk: Walk) -> bool:
    """Whether the last hop brought the message closer to its key, or to a longer prefix. [WA-13]"""
    prefixes = [walks.ring.prefix(node, walk.key) for node in walk.path[-2:]]
    return is_closer(walks, walk) or prefixes != sorted(prefixes, reverse=True)


#: Predicates of a walk, by their names in TLA+.
QUESTIONS: Final[Mapping[str, Callable[[Walks, Walk], bool]]] = {
    "NoLoop": lambda _, walk: len(set(walk.path)) == len(walk.path),
    "OwnerDelivery": lambda walks, walk: not walk.done or walk.path[-1] == walks.owner(walk),
    "EachHopCloser": is_closer,
    "EachHopProgress": is_progress,
    "NeverThreeHops": lambda _, walk: len(walk.path) <= 3,  # noqa: PLR2004  # as in its name
    "NeverByLastResort": lambda walks, walk: not walks.by_last_resort(walk),
}
