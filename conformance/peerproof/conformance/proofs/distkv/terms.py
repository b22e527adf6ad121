"""
Z3 terms for the statements about DistKV: names and ticks, chains of any length, sets of ticks, clocks.

A chain of any length consists of single elements and runs between them: any number of elements of which only the count matters.
Code that goes through a chain sees a run as one element whose node is none of the relevant ones; `AnyChain` counts and divides
runs where that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, choice, term_of
from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import Chain, Claim, Element
from peerproof.spec.distkv.ranges import TICK_MAX, Ranges


def any_number(path: Path, name: str, least: int = 0, most: int | None = TICK_MAX) -> Any:
    """Returns any tick, tock or length, or, without bounds, any name."""
    return Number(path.integer(name, least, most))


def any_element(path: Path, name: str, *, is_new: bool = False) -> Element:
    """Returns any node with any tick above 0; with `is_new`, for pings, also with 0 or without a tick."""
    node, tick = any_number(path, f"{name}.node"), any_number(path, f"{name}.tick", 0 if is_new else 1)
    has_none = is_new and bool(path.any_of(f"{name} has no tick", smt.BoolSort()))
    return Element(node, None if has_none else tick)


# -- chains of any length ---------------------------------------------------------------------------------------------


class Nobody:
    """A node that equals none of the relevant ones."""

    def __eq__(self, other: object) -> bool:
        return other is self

    def __hash__(self) -> int:
        return 0


#: Any number of irrelevant elements, the same ones wherever it stands.
OTHERS: Final = Element(cast("NodeId", Nobody()), 1)


@dataclass(frozen=True, eq=False)
class Run:
    """The elements of a chain from one place up to another, none of which is of a relevant node."""

    begin: Term
    end: Term
    has_ticks: Callable[[Term, Term], Term]  #: True if an element between two places has a tick that is not zero
    node: Nobody = OTHERS.node  # type: ignore[assignment]  # of no relevant node

    @property
    def tick(self) -> Any:
        """True if an element of the run has a tick that is not zero."""
        return smt.And(self.begin < self.end, self.has_ticks(self.begin, self.end))

    def holds(self, place: Term) -> Term:
        """States that the run has the element of this place."""
        return smt.And(self.begin <= place, place < self.end)

    def part(self, start: Term, stop: Term) -> Run:
        """Returns the elements of the run between two positions, clamped to its size."""
        size = self.end - self.begin
        first, last = (smt.If(at < 0, 0, smt.If(at > size, size, at)) for at in (start, stop))
        return Run(self.begin + first, self.begin + smt.If(last < first, first, last), self.has_ticks)


Piece = Element | Run


class Pieces:
    """The elements of a chain, like `tuple`: single ones, and runs."""

    def __init__(self, pieces: Iterable[Piece] = ()) -> None:
        self.pieces = tuple(pieces)

    def __iter__(self) -> Iterator[Piece]:
        return iter(self.pieces)

    def __getitem__(self, part: slice) -> Pieces:
        start, stop = term_of(part.start or 0), None if part.stop is None else term_of(part.stop)
        found: list[Piece] = []
        at: Term = smt.IntVal(0)
        for piece in self.pieces:
            size = size_of(piece)
            if isinstance(piece, Run):
                found.append(piece.part(start - at, size if stop is None else stop - at))
            elif smt.And(at >= start, True if stop is None else at < stop):
                found.append(piece)
            at = at + size
        return Pieces(found)

    def runs(self) -> list[Run]:
        """Returns the runs."""
        return [piece for piece in self.pieces if isinstance(piece, Run)]

    def elements(self) -> list[Element]:
        """Returns the single elements."""
        return [piece for piece in self.pieces if not isinstance(piece, Run)]


def size_of(piece: Piece) -> Term:
    """Returns the number of elements of a piece."""
    return piece.end - piece.begin if isinstance(piece, Run) else smt.IntVal(1)


def length(pieces: Iterable[Piece]) -> Number:
    """Returns the number of elements, like `len`."""
    return Number(smt.Sum([smt.IntVal(0), *map(size_of, pieces)]))


class AnyChain:
    """A chain of any length with the methods of `Chain`, for code in which `NAMES` are replaced."""

    def __init__(self, elements: Iterable[Piece] = (), cut: bool = False) -> None:  # as of `Chain`
        self.elements = Pieces(elements)
        self.cut = cut

    def within(self, most: Any) -> AnyChain:
        """Like `Chain`."""
        return cast("AnyChain", Chain.within(cast("Any", self), most))


#: Replacements for names that `chains` looks up, for chains of any length.
NAMES: Final[Mapping[str, Any]] = {"len": length, "tuple": Pieces, "Chain": AnyChain}


def some_ticks(name: str) -> Callable[[Term, Term], Term]:
    """Returns a predicate for arbitrary elements: some tick between two places is not zero."""
    return cast("Callable[[Term, Term], Term]", smt.Function(name, smt.IntSort(), smt.IntSort(), smt.BoolSort()))


def no_ticks(begin: Term, end: Term) -> Term:  # noqa: ARG001  # wherever it is
    """The predicate for elements whose ticks are all zero."""
    return smt.BoolVal(val=False)


# -- changes ----------------------------------------------------------------------------------------------------------


class Tocks:
    """The tock of every change; if `real`, it rises with a node's ticks and falls along chains."""

    def __init__(self, path: Path, *, real: bool = True) -> None:
        self._path, self._real = path, real
        self._tock = smt.Function("tock", smt.IntSort(), smt.IntSort(), smt.IntSort())
        self._seen: list[Element] = []

    def of(self, element: Element) -> Term:
        """Returns the tock of a change."""
        return self._tock(term_of(element.node), term_of(element.tick))

    def rise(self, element: Element) -> None:
        """Assumes that tocks rise with ticks, for this change and the earlier ones."""
        for other in self._seen if self._real else ():
            same = term_of(element.node) == term_of(other.node)
            for one, two in ((element, other), (other, element)):
                self._path.assume(smt.Implies(smt.And(same, term_of(one.tick) < term_of(two.tick)), self.of(one) < self.of(two)))
        self._seen.append(element)

    def fall(self, head: Element, earlier: Iterable[Element]) -> None:
        """Assumes that tocks fall along a chain, for its head."""
        for element in earlier if self._real else ():
            self._path.assume(self.of(head) > self.of(element))


def any_chains(path: Path, tocks: Tocks, names: str) -> list[Chain]:
    """
    Returns chains of changes of any length, of which only the elements of the nodes of each other's heads matter.

    Each may have an element of any other's node, with other elements before and after it.
    """
    heads = {name: any_element(path, name) for name in names}
    for head in heads.values():
        tocks.rise(head)
    found = []
    for name, head in heads.items():
        rest = []
        for other, its in heads.items():
            if other != name and path.any_of(f"{name} has one of {other}'s node", smt.BoolSort()):
                path.assume(term_of(its.node) != term_of(head.node))
                rest.append(Element(its.node, any_number(path, f"{other}'s node on {name}", 1)))
                tocks.rise(rest[-1])
        tocks.fall(head, rest)
        found.append(Chain((head, *(piece for element in rest for piece in (OTHERS, element)))))
    return found


def as_it_is(one: Claim, other: Claim) -> bool:
    """The order of the running code."""
    return one.beats(other)


def by_tocks(one: Claim, other: Claim) -> bool:
    """Compares tocks alone, as in the original (DD-09)."""
    return bool(one.tock > other.tock)


class _Unasked:
    """`dict` for code whose superseded elements are not needed."""

    @staticmethod
    def fromkeys(_: Any) -> tuple[()]:
        """Returns nothing."""
        return ()


UNASKED: Final[Mapping[str, Any]] = {"dict": _Unasked}


# -- sets of ticks ----------------------------------------------------------------------------------------------------


def any_ranges(path: Path, name: str, most: int, *, gap: int = 1, least: int = 1) -> Ranges:
    """Returns any set of at most `most` ranges of ticks, with at least `gap` ticks between them."""
    count = choice(path, f"ranges of {name}", most + 1)
    bounds = [path.integer(f"{name}.{number}", least, TICK_MAX + 1) for number in range(2 * count)]
    begins, ends = tuple(bounds[::2]), tuple(bounds[1::2])
    path.know(*(begin < end for begin, end in zip(begins, ends, strict=True)))
    path.know(*(begin >= end + gap for begin, end in zip(begins[1:], ends, strict=False)))
    return Ranges(begins, ends)


def inside(ranges: Ranges, tick: Term) -> Term:
    """States that a tick is in a set."""
    return smt.Or(*(smt.And(begin <= tick, tick < end) for begin, end in zip(*ranges, strict=True)))


def normal(ranges: Ranges) -> Term:
    """States that ranges are in normal form: none is empty, they ascend, and no two of them touch."""
    bounds = [bound for row in zip(*ranges, strict=True) for bound in row]
    return smt.And(*(one < other for one, other in pairwise(bounds)))
