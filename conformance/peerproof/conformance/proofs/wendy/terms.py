"""
Z3 terms for the statements about Wendy: a ring of any even size, ids as words of 128 bits, scores.

On a ring of any size ids are integers, and going round adds the size once: linear arithmetic, so a statement holds for every
ring. Where digits matter ids are words, which support shifts and single bits, but only for the ring of Wendy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import Number, choice
from peerproof.spec.core import NodeId, Table
from peerproof.spec.wendy import Config, Id, LeafSet, Node, State, Versions
from peerproof.spec.wendy.ids import ID_BYTES, Ring
from peerproof.spec.wendy.messages import MOST_VERSION

BITS: Final = 8 * ID_BYTES

#: Bits of a word: enough for an id, twice a distance, and minus one.
WIDTH: Final = BITS + 8

#: Z3's logic of bit vectors.
WORDS: Final = "QF_BV"

ADDRESS: Final = NodeId("n:1")


class Size:
    """The number of ids on a ring of any even size."""

    def __init__(self, half: Term) -> None:
        self.half = half
        self.term = 2 * half

    def __sub__(self, steps: Term) -> Term:
        return self.term - steps

    def __floordiv__(self, two: int) -> Term:
        assert two == 2, "it is only halved"  # noqa: PLR2004
        return self.half


@dataclass(frozen=True, eq=False)
class Place:
    """An id on a ring of any size."""

    term: Term

    def __sub__(self, other: Place) -> Steps:
        return Steps(self.term - other.term)

    def __eq__(self, other: object) -> Any:
        return self.term == cast("Place", other).term

    def __ne__(self, other: object) -> Any:
        return self.term != cast("Place", other).term

    def __ge__(self, least: int) -> bool:
        return bool(self.term >= least)

    def __lt__(self, size: Size) -> bool:
        return bool(self.term < size.term)

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong


@dataclass(frozen=True)
class Steps:
    """The difference of two ids, whose absolute value is less than the size of their ring."""

    term: Term

    def __mod__(self, size: Size) -> Term:
        return smt.If(self.term >= 0, self.term, self.term + size.term)


def any_ring(path: Path) -> Ring:
    """Returns a ring of any even size. Its ids have no digits."""
    ring = Ring()
    vars(ring)["size"] = Size(path.integer("half the ring", 1))
    return ring


def any_place(path: Path, ring: Ring, name: str) -> Id:
    """Returns any id on a ring of any size."""
    size: Any = ring.size
    term = path.integer(name)
    path.know(term < size.term)
    return cast("Id", Place(term))


def any_places(path: Path, names: Iterable[str]) -> tuple[Any, ...]:
    """Returns a ring of any size, and any ids on it."""
    ring = any_ring(path)
    return ring, *(any_place(path, ring, name) for name in names)


def _operator(combine: Callable[[Term, Term], Term]) -> Callable[[Word, Any], Word]:
    return lambda word, other: Word(combine(word.term, bits_of(other)))


def _reflected(combine: Callable[[Term, Term], Term]) -> Callable[[Word, Any], Word]:
    return lambda word, other: Word(combine(bits_of(other), word.term))


def _comparison(compare: Callable[[Term, Term], Term]) -> Callable[[Word, Any], Term]:
    return lambda word, other: compare(word.term, bits_of(other))


class Word:
    """A number with enough bits that nothing here overflows, like `int`."""

    def __init__(self, term: Term) -> None:
        self.term = term

    __add__ = __radd__ = _operator(operator.add)
    __sub__ = _operator(operator.sub)
    __rsub__ = _reflected(operator.sub)
    __mul__ = __rmul__ = _operator(operator.mul)
    __xor__ = _operator(operator.xor)
    __and__ = _operator(operator.and_)
    __rshift__ = _operator(smt.LShR)
    __lshift__ = _operator(operator.lshift)
    __rlshift__ = _reflected(operator.lshift)
    __lt__, __le__, __gt__, __ge__ = map(_comparison, (smt.ULT, smt.ULE, smt.UGT, smt.UGE))

    def __mod__(self, size: int) -> Word:
        return self & (size - 1)  # the size of a ring is a power of two

    def __floordiv__(self, divisor: int) -> Word:
        return self >> divisor.bit_length() - 1  # a digit has 2, 4, 8… bits

    def __eq__(self, other: object) -> Any:
        return self.term == bits_of(other)

    def __ne__(self, other: object) -> Any:
        return self.term != bits_of(other)

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong

    def bit_length(self) -> Word:
        """Like `int`, for a number of no more bits than an id."""
        length = bits_of(0)
        for bit in range(BITS):
            length = smt.If(smt.Extract(bit, bit, self.term) == 1, bits_of(bit + 1), length)
        return Word(length)


def bits_of(value: Any) -> Term:
    """Returns the bits of a word or of a number."""
    return value.term if isinstance(value, Word) else smt.BitVecVal(value, WIDTH)


def either(condition: Term, one: Any, other: Any) -> Word:
    """Returns one of two numbers, by a condition."""
    return Word(smt.If(condition, bits_of(one), bits_of(other)))


def any_word(path: Path, name: str, bits: int = BITS) -> Any:
    """Returns any number of this many bits, such as an id."""
    return Word(smt.ZeroExt(WIDTH - bits, path.any_of(name, smt.BitVecSort(bits))))


def node_at(place: Any) -> Node:
    """Returns a node with this id; its address does not matter."""
    return Node(place, "m", "m", 1)


def any_side(path: Path, ring: Ring, own: Id, name: str, most: int, *, is_right: bool) -> tuple[Node, ...]:
    """Returns a side of a leaf set of at most this many nodes, the nearest first, on that side of its owner."""
    places = [any_place(path, ring, f"{name}{number}") for number in range(choice(path, f"nodes {name}", most + 1))]
    steps = [ring.clockwise(own, place) if is_right else ring.clockwise(place, own) for place in places]
    half: Any = ring.size // 2
    path.assume(*(smt.And(step > 0, step <= half if is_right else step < half) for step in steps))
    path.assume(*(one < other for one, other in pairwise(steps)))
    return tuple(map(node_at, places))


def any_leaves(path: Path, most: int) -> State:
    """Returns a node with any leaf set of at most this many nodes on a side, on a ring of any size, and nothing else."""
    ring = any_ring(path)
    own = any_place(path, ring, "own")
    sides = [any_side(path, ring, own, name, most, is_right=name == "right") for name in LeafSet._fields]
    return State(ADDRESS, Config(own, ring=ring, leaf_set_side=most), leaf_set=LeafSet(*sides))


def any_node(path: Path, state: State, name: str) -> Node:
    """Returns any other node on the ring of a node."""
    place = any_place(path, state.config.ring, name)
    path.assume(place != state.id)
    return node_at(place)


class AnyTable:
    """
    A routing table with arbitrary entries; `found` returns the node in a cell, if there is one.

    Besides the requested cell it shows one entry only: code that looks for the first entry with some property skips those before
    it.
    """

    def __init__(self, path: Path, cell: tuple[Any, Any], found: Callable[[str, tuple[Any, Any]], Node]) -> None:
        self._path, self._cell, self._found = path, cell, found
        self.asked: Node | None = None  #: the node in the requested cell

    def get(self, cell: tuple[Any, Any]) -> Node | None:
        """Returns the node of a cell, if there is one."""
        if self._path.any_of("the cell is occupied", smt.BoolSort()):
            self.asked = self._found("node of the cell", cell)
        return self.asked

    def items(self) -> Iterator[tuple[tuple[Any, Any], Node]]:
        """Yields one entry, or none."""
        if self._path.any_of("there is another node", smt.BoolSort()):
            yield self._cell, self._found("another node", self._cell)


def any_scores(path: Path, among: Iterable[Id]) -> Table[Id, int]:
    """Returns any scores of these nodes; some may be unknown."""
    known = [node for node in among if path.any_of(f"score of {node} is known", smt.BoolSort())]
    return Table({node: cast("int", Number(path.integer(f"score of {node}"))) for node in known})


def any_versions(path: Path, name: str, most: int = MOST_VERSION) -> Versions:
    """Returns any versions of tables."""
    return Versions(*(path.integer(f"{name}.{table}", 0, most) for table in Versions._fields))


def is_between(ring: Ring, low: Id, middle: Id, high: Id) -> Term:
    """States that an id is met on the way up from one to another, which is all the way round if these are equal."""
    up, far = ring.clockwise(low, middle), ring.clockwise(low, high)
    return smt.And(up > 0, smt.Or(far == 0, up < far))
