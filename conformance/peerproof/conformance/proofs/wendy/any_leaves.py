"""
Leaf sets of any length, on a ring of any even size, and where messages end in a ring at rest, of any number of nodes.

A side of a leaf set is a function from places to ids, with a length. What holds of all of its places, such as that they are in
order, is added for each place that code or a claim looks at. `bisect_left`, which is written in C, is replaced by what it
promises for a list in order: all before the place that it returns are less, and all from there on are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.conformance.proofs.wendy.terms import AnyTable, Place, any_place, any_ring, is_between, node_at
from peerproof.spec.core import Asked, Instant, NodeId, Notify, Received, Send, Sent, Table
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.wendy import (
    Application,
    Config,
    Delivered,
    Forward,
    Forwarding,
    Header,
    Id,
    LeafSet,
    Node,
    Route,
    State,
    routing,
    transitions,
)
from peerproof.spec.wendy.ids import REAL, Ring

PROOFS: Final = ProofTable()

_NOW: Final = Instant(0)


#: The place value of the first digit of an id.
FIRST_DIGIT: Final = REAL.size // REAL.base


def prefer_the_real_ring(path: Path, ring: Ring) -> None:
    """Lets counterexamples have the ring of the specification."""
    size: Any = ring.size
    path.prefer(lambda: size.half == REAL.size // 2)


class Side:
    """A side of a leaf set, of any length, the nearest first."""

    def __init__(self, path: Path, ring: Ring, own: Id, name: str, *, is_right: bool, is_half: bool = True) -> None:
        self.path, self.ring, self.own, self.is_right = path, ring, own, is_right
        self._is_half = is_half  #: whether it has nodes of its own half of the ring alone (WA-05)
        self.length = path.integer(f"nodes {name}")
        self._id = smt.Function(name, smt.IntSort(), smt.IntSort())
        self.places: list[Term] = []  #: those that code, or a claim, has looked at

    def steps(self, place: Any) -> Term:
        """Returns the distance of an id from the owner, in the direction of the side."""
        return self.ring.clockwise(self.own, place) if self.is_right else self.ring.clockwise(place, self.own)

    def has(self, place: Term) -> Term:
        """States that there is such a place."""
        return smt.And(place >= 0, place < self.length)

    def at(self, place: Term) -> Node:
        """Returns the node at a place, which is on this half of the ring, and in order with those at the other places."""
        found = self._id_at(place)
        size: Any = self.ring.size
        if not any(place is known for known in self.places):
            steps, term = self.steps(found), self._id(place)
            half = smt.Or(not self._is_half, steps <= size.half if self.is_right else steps < size.half)
            self.path.know(smt.Implies(self.has(place), smt.And(term >= 0, term < size.term, steps > 0, half)))
            for other in self.places:
                both, far = smt.And(self.has(place), self.has(other)), self.steps(self._id_at(other))
                self.path.know(smt.Implies(both, smt.And((place < other) == (steps < far), (place == other) == (steps == far))))
            self.places.append(place)
        return node_at(found)

    def any_closer(self, is_closer: Callable[[Any], Term]) -> Term:
        """States that the node at one of the places that code has looked at is closer."""
        return smt.Or(*(smt.And(self.has(place), is_closer(self._id_at(place))) for place in self.places))

    def _id_at(self, place: Term) -> Any:
        return Place(self._id(place))

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __getitem__(self, place: Any) -> Any:
        """Returns a node; or those of a slice of at most two places."""
        if not isinstance(place, slice):
            return self.at(self.length - 1 if isinstance(place, int) and place == -1 else term_of(place))
        start, stop = term_of(place.start), term_of(place.stop)
        self.path.claim("a slice of two places at most", stop <= start + 2)
        return tuple(self.at(one) for one in (start, start + 1) if bool(smt.And(one < stop, self.has(one))))

    def bisect(self, least: Any, key: Callable[[Node], Term]) -> Number:
        """Returns the first place whose key is not less."""
        place = self.path.integer(self.path.fresh("place"))
        self.path.know(place <= self.length)
        self.path.know(smt.Implies(place > 0, key(self.at(place - 1)) < least))
        self.path.know(smt.Implies(place < self.length, key(self.at(place)) >= least))
        return Number(place)


def rank(ring: Ring, node: Id, key: Id) -> Term:
    """Returns the rank of an id, as `Ring.rank`, but without a path for each side of the key."""
    size: Any = ring.size
    below: Any = ring.clockwise(node, key)
    above = size - below
    return smt.If(below <= above, 2 * below, 2 * above + 1)


class Router:
    """A node with any leaf set and any routing table, and any other node; what holds at rest (WI-09) is added where needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        ring = self.ring = any_ring(path)
        prefer_the_real_ring(path, ring)
        self.own, self.key, self.other = (any_place(path, ring, name) for name in ("own", "key", "other"))
        path.assume(self.own != self.other)
        self.sides = [Side(path, ring, self.own, name, is_right=name == "right") for name in LeafSet._fields]
        self.cells = AnyTable(path, (path.integer("row"), 1), self._any_in_table)
        vars(ring)["cell"] = lambda *_: (path.integer("row of the key"), 0)  # any cell will do here
        leaves: Any = LeafSet(*self.sides)  # type: ignore[arg-type]  # of any length
        table: Any = self.cells
        self.state = State(NodeId("n:1"), Config(self.own, ring=ring), leaf_set=leaves, routing_table=table)

    def _any_in_table(self, name: str, _: Any) -> Node:
        """Returns any node; a counterexample has one that belongs to the cell, in the first row of a real table, if it can."""
        found: Any = any_place(self.path, self.ring, name)
        own, key = (cast("Any", one).term for one in (self.own, self.key))

        def is_in_first_row() -> Term:
            first = [place / FIRST_DIGIT for place in (found.term, key, own)]
            return smt.And(first[0] == first[1], first[1] != first[2])

        self.path.prefer(is_in_first_row)
        return node_at(found)

    def closer(self, one: Id, other: Id) -> Term:
        """States that one id is closer to the key than another: by `Ring.rank`, as one term."""
        return rank(self.ring, one, self.key) < rank(self.ring, other, self.key)

    def know_neighbours(self) -> None:
        """
        The other node is not between this node and its neighbours, which are leaves.

        They are the nearest of each side; if a side is empty, the farthest of the other one.
        """
        left, right = self.sides
        self.path.assume(smt.Or(left.length > 0, right.length > 0))
        after = right[0] if right else left[-1]
        before = left[0] if left else right[-1]
        self.path.know(smt.Not(is_between(self.ring, self.own, self.other, after.id)))
        self.path.know(smt.Not(is_between(self.ring, before.id, self.other, self.own)))

    def know_all_between(self) -> None:
        """Each node on the arc of a side is in it: the other node is at a place of it, or behind its last."""
        for side in self.sides:
            place, steps = self.path.integer(self.path.fresh("place of the other")), side.steps(self.other)
            self.path.know(place <= side.length)
            self.path.know(smt.Implies(place > 0, side.steps(side.at(place - 1).id) < steps))
            self.path.know(smt.Implies(place < side.length, side.steps(side.at(place).id) == steps))


def next_hop(node: Router) -> Node | None:
    """Returns the next hop of the key."""
    with node.path.on_terms(overriding(names_in(routing, bisect_left=_bisect, max=_larger))):
        found: Node | None = node.path.run(routing.next_hop, node.state, node.key)
        return found


def one_message(node: Router) -> None:
    """A message that begins or arrives here, or that the application lets go on, with any next hop, or none."""
    message = Application(Header(node_at(node.other), node.key), 16, b"")
    events: tuple[Any, ...] = (
        *(Asked(_NOW, Route(node.key, b"")), Received(_NOW, NodeId("there:1"), message)),
        *(Asked(_NOW, Forward(message)), Sent(_NOW, NodeId("there:1"), message, None)),
    )
    hop = node_at(any_place(node.path, node.ring, "next hop")) if bool(smt.Bool("has a next hop")) else None
    config = replace(node.state.config, is_consulted=bool(smt.Bool("is consulted")))
    state, event = replace(node.state, config=config), events[choice(node.path, "event", len(events))]
    with overriding(names_in(routing, next_hop=lambda *_: hop) | names_in(State, known=property(lambda _: Table()))):
        _, effects = transitions.step(state, event, no_choice)
    notices = [effect.notice for effect in effects if isinstance(effect, Notify)]
    is_delivered = any(isinstance(notice, Delivered) for notice in notices)
    node.path.claim("it is delivered exactly if there is no next hop", truth(is_delivered == (hop is None)))
    told = [notice.next_hop for notice in notices if isinstance(notice, Forwarding)]
    node.path.claim("the application is told where it goes", truth(all(one is hop for one in told)))
    sent = [effect for effect in effects if isinstance(effect, Send)]
    node.path.claim("it is sent once at most", truth(len(sent) <= (hop is not None)))


def _bisect(side: Any, least: Any, key: Any) -> Number:
    return side.bisect(least, key)  # type: ignore[no-any-return]


def _larger(one: Any, other: Any) -> Number:
    return Number(smt.If(term_of(one) >= term_of(other), term_of(one), term_of(other)))


def no_choice(why: str, among: Any, some: int = 1) -> Any:
    """Wendy has no random choices."""
    raise AssertionError(why, among, some)


_STEP: Final = Evaluated(
    ("wendy.transitions.step", "wendy.routing.next_hop", "wendy.routing.leaf_span", "wendy.routing.leaf_ends"),
    ("bisect_left", "max"),
)


@PROOFS.add(
    "WZ-28 W-37 W-43 W-44 WA-07 WA-08 WX-02",
    _STEP,
    Twin("the leaf set may lack a neighbour (WX-02)", {"neighbours": False}),
    scope=ANY_CLUSTER,
)
def messages_are_delivered_at_the_closest_node(path: Path, *, neighbours: bool = True) -> None:
    """
    A node delivers a message only if no leaf is closer to its key; at rest, only if no node of the ring is.

    And at rest the closest node delivers it: so there is exactly one owner of each key.
    """
    node = Router(path)
    if choice(path, "part", 2):
        one_message(node)
        return
    hop, leaf = next_hop(node), path.integer("any leaf")
    if hop is None:
        for side in node.sides:
            path.claim("no leaf is closer", smt.Implies(side.has(leaf), node.closer(node.own, side.at(leaf).id)))
    if neighbours:
        node.know_neighbours()
    if hop is None:
        path.claim("no node is closer", node.closer(node.own, node.other))
    elif neighbours:
        left, right = node.sides
        a_leaf_is_closer = smt.Or(*(side.any_closer(lambda one: node.closer(one, node.own)) for side in node.sides))
        path.claim("if it goes on, a leaf is closer", smt.Implies(smt.And(left.length > 0, right.length > 0), a_leaf_is_closer))


@PROOFS.add(
    "WZ-29 W-38 W-39 W-41 W-42 WA-06 WA-13 WX-06",
    _STEP,
    Twin("also the hop to the cell of the key (WX-06)", {"cell_too": True}),
    scope=ANY_CLUSTER,
)
def a_hop_by_the_leaf_set_reaches_the_closest_node(path: Path, *, cell_too: bool = False) -> None:
    """
    A message whose key is within a leaf set that has all nodes of its arc goes to the closest node of all.

    Any other hop, except the one to the cell of the key, brings it closer.
    """
    node = Router(path)
    original, span = routing.leaf_span, None

    def leaf_span(state: State, key: Id) -> Any:
        nonlocal span
        span = original(state, key)
        return span

    with overriding(names_in(routing, leaf_span=leaf_span)):
        hop = next_hop(node)
    if hop is not None and (cell_too or hop is not node.cells.asked):
        path.claim("closer", node.closer(hop.id, node.own))
    if span is not None:
        node.know_all_between()
        at = node.own if hop is None else hop.id
        path.claim("no node is closer", smt.Not(node.closer(node.other, at)))
