"""
Leaf sets are in order in every cluster: the functions that change one, on sides of any length and with any limit.

Code that copies a part of a side gets a run: as many nodes as the part has, one after the other. Code that goes through a side
gets the nodes before some place as a run, the node at that place, and those behind it as a run. If the code looks for a node, the
place is where this node is, if it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.conformance.proofs.wendy.any_leaves import Side, prefer_the_real_ring
from peerproof.conformance.proofs.wendy.terms import Place, any_place, any_ring, node_at
from peerproof.spec.core import NodeId
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.wendy import Config, Id, LeafSet, Node, State, tables

PROOFS: Final = ProofTable()


class OtherIds:
    """The ids of a run, none of which is the one that code looks for."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __eq__(self, other: object) -> bool:
        self._run.leave_out(other)
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong


@dataclass(frozen=True, eq=False)
class Run:
    """Nodes of a side that follow each other: `length` of them, from the place `start` on."""

    side: OrderedSide
    start: Term
    length: Term
    is_end: bool = False  #: whether it goes to the end of the side

    @property
    def id(self) -> OtherIds:
        """None of its nodes is the one that code looks for."""
        return OtherIds(self)

    def leave_out(self, sought: Any) -> None:
        """Adds that no node of the run has this id, for the places that code has looked at."""
        for place in self.side.places:
            is_here = smt.And(place >= self.start, place < self.start + self.length)
            self.side.path.know(smt.Implies(is_here, self.side.at(place).id != sought))

    def __iter__(self) -> Iterator[Run]:
        """Yields the run; of the end of a side, the last node by itself, as a limit may drop it."""
        if not self.is_end:
            yield self
            return
        yield Run(self.side, self.start, self.length - 1)
        yield Run(self.side, self.start + self.length - 1, smt.IntVal(1))

    def at(self, place: Term) -> Any:
        """Returns the id at a place of the run."""
        return self.side.at(self.start + place).id


class OrderedSide(Side):
    """A side of a leaf set, whose parts are runs."""

    def __getitem__(self, place: Any) -> Any:
        """Returns a node, or a part from the start or to the end."""
        if not isinstance(place, slice):
            return super().__getitem__(place)
        if place.start is None:
            return Run(self, smt.IntVal(0), term_of(place.stop))
        start = term_of(place.start)
        return Run(self, start, self.length - start, is_end=True) if bool(start < self.length) else ()

    def __iter__(self) -> Iterator[Any]:
        """Yields the nodes before a place, the one at the place, and those behind it."""
        if not self:
            return
        place = self.path.integer(self.path.fresh("place"))
        self.path.know(place < self.length)
        yield Run(self, smt.IntVal(0), place)
        yield self.at(place)
        yield Run(self, place + 1, self.length - place - 1)

    def __eq__(self, other: object) -> bool:
        """Compares with what a filter has left."""
        return self is other or (isinstance(other, tuple) and len(other) in (0, 3))

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong


class Limit(Number):
    """The number of nodes that a side may have: any."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.integer("limit", 1))
        self.side: OrderedSide | None = None  #: the side that is being changed

    def __index__(self) -> int:
        """Returns how many parts of a list are kept: of a full side with a node more, all but the last."""
        assert self.side is not None
        return 3 if bool(self.side.length == self.term) else 4


class Leaves:
    """A node with a leaf set of any length, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ring = any_ring(path)
        prefer_the_real_ring(path, self.ring)
        self.own = any_place(path, self.ring, "own")
        self.is_two_sided = not bool(smt.Bool("is one-sided"))
        self.limit = Limit(path)
        names = zip(LeafSet._fields, (False, True), strict=True)
        self.sides = [
            OrderedSide(path, self.ring, self.own, name, is_right=is_right, is_half=not self.is_two_sided)
            for name, is_right in names
        ]
        path.know(*(side.length <= self.limit.term for side in self.sides))
        limit: Any = self.limit
        config = Config(self.own, ring=self.ring, leaf_set_side=limit, is_two_sided=self.is_two_sided)
        leaves: Any = LeafSet(*self.sides)  # type: ignore[arg-type]  # of any length
        self.state = State(NodeId("n:1"), config, leaf_set=leaves)

    def other(self) -> Node:
        """Returns any other node."""
        place = any_place(self.path, self.ring, "node")
        self.path.know(place != self.own)
        return node_at(place)

    def within(self) -> AbstractContextManager[None]:
        """Returns a context in which the tables may be of any length."""

        def bisect(side: OrderedSide, least: Any, key: Any) -> Number:
            self.limit.side = side
            return side.bisect(least, key)

        names = names_in(tables, bisect_left=bisect, len=_length) | names_in(State, known=property(lambda _: Others()))
        return self.path.on_terms(overriding(names))

    def claim_order(self, after: State) -> None:
        """Claims that both sides are in order, and not longer than they may be."""
        leaf_set: Any = after.leaf_set
        for side, found in zip(self.sides, leaf_set, strict=True):
            if found is side:
                continue
            place = self.path.integer(self.path.fresh("any place"))
            length, (one, other) = length_of(found), (id_at(found, place + more) for more in (0, 1))
            self.path.claim("not longer than it may be", length <= self.limit.term)
            self.path.claim("in order", smt.Implies(place + 1 < length, side.steps(one) < side.steps(other)))
            size: Any = self.ring.size
            half = side.steps(one) <= size.half if side.is_right else side.steps(one) < size.half
            right = smt.And(one.term >= 0, one.term < size.term, side.steps(one) > 0, smt.Or(self.is_two_sided, half))
            self.path.claim("on its side", smt.Implies(place < length, right))


class Others:
    """The nodes that a node knows: any, with other addresses than those that are asked for."""

    def get(self, node: Any, _: Any = None) -> Node:
        """Like `Table`."""
        return node_at(node)._replace(port=2)


def _length(side: Any) -> Any:
    return Number(side.length) if isinstance(side, Side) else len(side)


def pieces(found: Any) -> list[tuple[Any, Term]]:
    """Returns the parts of a side, each with its length."""
    return [(part, part.length if isinstance(part, Run) else smt.IntVal(1)) for part in found]


def length_of(found: Any) -> Term:
    """Returns the length of a side that code has made."""
    return smt.Sum([length for _, length in pieces(found)])


def id_at(found: Any, place: Term) -> Any:
    """Returns the id at a place of a side that code has made."""
    term = smt.IntVal(0)  # behind its end: any
    for part, length in reversed(pieces(found)):
        before = smt.Sum([smt.IntVal(0), *(other for earlier, other in pieces(found)[: _index(found, part)])])
        here = part.at(place - before) if isinstance(part, Run) else part.id
        term = smt.If(smt.And(place >= before, place < before + length), here.term, term)
    return Place(term)


def _index(found: Any, part: Any) -> int:
    return next(index for index, one in enumerate(found) if one is part)


def in_the_other_array(state: State, node: Node) -> LeafSet:
    """The two arrays have each other's nodes (WD-04)."""
    ring = state.config.ring
    swapped = replace(state, config=replace(state.config, ring=Swapped(ring)))  # type: ignore[arg-type]
    return _IN_LEAF_SET(swapped, node)


class Swapped:
    """A ring on which lower and greater are exchanged."""

    def __init__(self, ring: Any) -> None:
        self.clockwise, self.size = ring.clockwise, ring.size
        self._ring = ring

    def is_right(self, own: Id, other: Id) -> bool:
        """Whether another id is lower."""
        return not self._ring.is_right(own, other)


_IN_LEAF_SET: Final = tables.in_leaf_set


@PROOFS.add(
    "WZ-30 W-23 W-24 W-25 W-26 W-28 W-29 WA-05 WI-03 WD-04",
    Evaluated(
        ("wendy.tables.in_leaf_set", "wendy.tables.in_side", "wendy.tables.remove_node", "wendy.tables.update_address"),
        ("bisect_left", "len"),
    ),
    Twin("the two arrays have each other's nodes (WD-04)", {"instead": names_in(tables, in_leaf_set=in_the_other_array)}),
    scope=ANY_CLUSTER,
)
def leaf_sets_are_in_order(path: Path, *, instead: Mapping[str, Any] | None = None) -> None:
    """
    Each side of a leaf set has the nearest node first, only nodes of that side, and no more than it may have, for any limit.

    Shown of the functions that change leaf sets; that no other code of a step does is claimed with WZ-26 and WZ-27.
    """
    leaves = Leaves(path)
    node, state = leaves.other(), leaves.state
    with leaves.within(), overriding(instead or {}):
        what = choice(path, "what", 3)
        if what == 0:
            after = replace(state, leaf_set=path.run(tables.in_leaf_set, state, node))
        else:
            after = path.run(tables.remove_node, state, node.id) if what == 1 else path.run(tables.update_address, state, node)
    leaves.claim_order(after)
    path.claim("there is a claim on each path", truth(True))
