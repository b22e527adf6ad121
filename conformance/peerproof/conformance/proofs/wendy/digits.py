"""What is proved of the digits of Wendy's ids, which are words of 128 bits here, and of the cells that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path
from peerproof.conformance.proofs.proof import ProofTable, Twin
from peerproof.conformance.proofs.wendy.terms import BITS, WORDS, any_word, either
from peerproof.spec.wendy.ids import DIGIT_BITS, REAL, Id

HALF: Final = BITS // 2

#: The code that runs on ids is that of the ring.
RING: Final = "wendy.ids.Ring"

#: Of distances: Z3 does better there if it is not told that there are only WORDS.
DIGITS: Final = ProofTable()

#: How many leading digits two ids have in common.
Prefix = Callable[[Id, Id], Any]


def common(one: Id, other: Id) -> Any:
    """How many leading digits two ids have in common, by the running code as it is now."""
    return REAL.prefix(one, other)


def distance_of_the_original(one: Any, other: Any) -> Any:
    """A complement that forgets the carry if the low halves are equal, so that the other way round is too short. [WD-02]"""
    up = REAL.clockwise(one, other)
    down = 2**BITS - up
    return up if up <= down else down - either(((one ^ other) % 2**HALF) == 0, 2**HALF, 0)


@DIGITS.add("WZ-04 W-01 W-02 WD-02", RING, Twin("the original's distance (WD-02)", {"distance": distance_of_the_original}))
def distance_is_the_shorter_way(path: Path, *, distance: Callable[[Id, Id], Any] | None = None) -> None:
    """Distance is the shorter of the two ways round the ring of 2^128 ids."""
    a, b = (any_word(path, name) for name in "ab")

    found, up, down = (distance or REAL.distance)(a, b), REAL.clockwise(a, b), REAL.clockwise(b, a)
    path.claim("one of the two ways", z3.Or(found == up, found == down))
    path.claim("the shorter one", z3.And(found <= up, found <= down))


@DIGITS.add("WZ-04 WD-02", RING, Twin("the lower halves may be equal", {"premise": False}))
def original_is_right_if_the_low_halves_differ(path: Path, *, premise: bool = True) -> None:
    """The original's distance is the same as ours if the lower halves of the ids differ, and both ways are right."""
    a, b = (any_word(path, name) for name in "ab")
    if premise:
        path.assume(a % 2**HALF != b % 2**HALF)

    path.claim("the same", distance_of_the_original(a, b) == REAL.distance(a, b))


def prefix_of_the_original(one: Any, other: Any) -> Any:
    """A difference in digit 10 of a half is taken for one in digit 11. [WD-01]"""
    found = common(one, other)
    return found + either(z3.Or(found == 10, found == 26), 1, 0)  # noqa: PLR2004


@DIGITS.add("WZ-13 W-14 W-15 WD-01", RING, Twin("the original's prefix (WD-01)", {"prefix": prefix_of_the_original}), logic=WORDS)
def digits_agree_as_far_as_the_prefix(path: Path, *, prefix: Prefix = common) -> None:
    """Two ids have all digits of their prefix in common and not the next one; equal ids have 32."""
    a, b, index = any_word(path, "a"), any_word(path, "b"), any_word(path, "index", 8)

    shared = prefix(a, b)
    path.claim("32 of equal ids only", z3.And(shared <= REAL.digits, (shared == REAL.digits) == (a == b)))
    path.claim("the digits before", z3.Implies(index < shared, REAL.digit(a, index) == REAL.digit(b, index)))
    path.claim("not the next one", z3.Implies(a != b, REAL.digit(a, shared) != REAL.digit(b, shared)))


@DIGITS.add("WZ-13 W-40 WA-13", RING, Twin("any column", {"same_column": False}), logic=WORDS)
def the_cell_of_a_key_lengthens_the_prefix(path: Path, *, same_column: bool = True) -> None:
    """Whoever stands in the cell of a key shares a longer prefix with the key than the owner."""
    own, key, node = (any_word(path, name) for name in ("own", "key", "node"))
    path.assume(own != key, own != node)
    (row, column), (at, there) = REAL.cell(own, key), REAL.cell(own, node)
    path.assume(row == at)
    if same_column:
        path.assume(column == there)

    path.claim("longer", common(node, key) > row)


@DIGITS.add("WZ-14 W-41 W-42 WA-12", RING, Twin("rows above, too", {"later": False}), logic=WORDS)
def later_rows_keep_the_prefix(path: Path, *, later: bool = True) -> None:
    """Whoever stands in the row of a key's cell or below it shares with the key at least what the owner does."""
    own, key, node = (any_word(path, name) for name in ("own", "key", "node"))
    if later:
        path.assume(common(own, node) >= common(own, key))

    path.claim("at least as long", common(node, key) >= common(own, key))


@DIGITS.add("WZ-15 W-13 W-16 WA-15", RING, Twin("the digit after it", {"digit": 1}), logic=WORDS)
def the_own_column_is_empty(path: Path, *, digit: int = 0) -> None:
    """Nobody stands in the column of the owner's own digit, and everybody in a row and a column that there is."""
    own, node = (any_word(path, name) for name in ("own", "node"))
    path.assume(own != node)

    row, column = REAL.cell(own, node)
    path.claim("a row and a column", z3.And(row < REAL.digits, column < REAL.base))
    path.claim("not the own digit", column != REAL.digit(own, row + digit))


@DIGITS.add("WZ-16 W-15", RING, Twin("the last may be anywhere", {"ordered": False}), logic=WORDS)
def ids_between_share_the_prefix(path: Path, *, ordered: bool = True) -> None:
    """Of three ids in ascending order the first and last share no more digits than the first and second."""
    a, b, c = (any_word(path, name) for name in "abc")
    path.assume(a <= b)
    if ordered:
        path.assume(b <= c)

    path.claim("no more", common(a, c) <= common(a, b))


@DIGITS.add("WZ-17 W-15", RING, Twin("the two longest", {"longest": True}), logic=WORDS)
def the_two_shortest_prefixes_are_equal(path: Path, *, longest: bool = False) -> None:
    """
    Of the prefixes of three ids the two shortest are equally long.

    That is, none is shorter than both others; which of the three it is does not matter, as they are any three.
    """
    a, b, c = (any_word(path, name) for name in "abc")

    one, two, three = common(a, b), common(b, c), common(a, c)
    shorter = z3.And(three > one, three > two) if longest else z3.And(three < one, three < two)
    path.claim("not by itself", z3.Not(shorter))


@DIGITS.add("WZ-18 W-15", RING, Twin("16 times as near", {"digits": REAL.digits - 1}))
def ids_with_a_prefix_are_near(path: Path, *, digits: int = REAL.digits) -> None:
    """
    Ids with a prefix of r digits are less than 16^(32-r) apart.

    Which of them is called a does not matter, neither to the distance [WZ-02] nor to the digits that they share.
    """
    a, b = (any_word(path, name) for name in "ab")
    path.assume(a <= b)

    path.claim("near", REAL.distance(a, b) < 1 << DIGIT_BITS * (digits - common(a, b)))


@DIGITS.add(
    "WZ-20 W-21 WA-27", RING, Twin("nodes of any row", {"premise": False}), of={"in-a-later-row": {"later": True}}, logic=WORDS
)
@DIGITS.add("WZ-19 W-19 W-20 WA-27", RING, Twin("nodes of any row", {"premise": False}), of={"in-the-row": {}}, logic=WORDS)
def others_know_who_fits(path: Path, *, later: bool = False, premise: bool = True) -> None:
    """Whoever a node of the same row, or of a later one, has in a cell that the owner can have fits into the owner's."""
    own, peer, node = (any_word(path, name) for name in ("own", "peer", "node"))
    path.assume(peer != own, node != peer)
    row, column = REAL.cell(peer, node)
    at = common(own, peer)
    path.assume(column != REAL.digit(own, row))
    if premise:
        path.assume(at > row if later else at == row)

    fits = REAL.cell(own, node)
    path.claim("the same cell", z3.And(node != own, fits[0] == row, fits[1] == column))
