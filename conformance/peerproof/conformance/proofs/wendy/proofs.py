"""
Proofs about Wendy's ring, with the code running on rings of any even size, and about the digits and cells of its ids.

Where digits matter, ids are words of 128 bits; Z3 handles their distances better if it is not restricted to WORDS. The proofs
about tables and routing are in `tables`; the symbols are in `terms`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path
from peerproof.conformance.proofs.proof import ProofTable, Twin
from peerproof.conformance.proofs.terms import truth
from peerproof.conformance.proofs.wendy.any_cluster import PROOFS as ANY_CLUSTER_PROOFS
from peerproof.conformance.proofs.wendy.tables import TABLES
from peerproof.conformance.proofs.wendy.terms import BITS, WORDS, any_places, any_word, either, is_between
from peerproof.spec.wendy.ids import DIGIT_BITS, REAL, Id, Ring

HALF: Final = BITS // 2

#: The class whose code the proofs evaluate.
RING: Final = "wendy.ids.Ring"

PROOFS: Final = ProofTable()

#: Returns the distance of two ids.
Distance = Callable[[Ring, Id, Id], Any]

#: States that one id is closer to a key than another: ring, one, other, key.
Closer = Callable[[Ring, Id, Id, Id], Any]

#: Returns the number of leading digits that two ids have in common.
Prefix = Callable[[Id, Id], Any]


def as_it_is(ring: Ring, one: Id, other: Id) -> Any:
    """The distance of the running code."""
    return ring.distance(one, other)


# -- distance ---------------------------------------------------------------------------------------------------------


def in_steps_of_two(ring: Ring, one: Id, other: Id) -> Any:
    """Half the distance, rounded down."""
    return ring.distance(one, other) / 2


@PROOFS.add("WZ-01 W-02 WA-02", RING, Twin("they may be the same", {"premise": False}))
def both_ways_make_a_round(path: Path, *, premise: bool = True) -> None:
    """The clockwise distances from a to b and from b to a add up to the size of the ring, if a and b differ."""
    ring, a, b = any_places(path, "ab")
    if premise:
        path.assume(a != b)

    path.claim("one round", ring.clockwise(a, b) + ring.clockwise(b, a) == ring.size.term)


@PROOFS.add("WZ-02 W-37", RING, Twin("going up only", {"distance": Ring.clockwise}))
def distance_is_symmetric(path: Path, *, distance: Distance = as_it_is) -> None:
    """It is as far from a to b as from b to a."""
    ring, a, b = any_places(path, "ab")

    path.claim("as far", distance(ring, a, b) == distance(ring, b, a))


@PROOFS.add("WZ-03 W-37", RING, Twin("steps of two", {"distance": in_steps_of_two}))
def only_equal_ids_have_no_distance(path: Path, *, distance: Distance = as_it_is) -> None:
    """Distance is 0 for equal ids only."""
    ring, a, b = any_places(path, "ab")

    path.claim("0 for the same", (distance(ring, a, b) == 0) == (a == b))


@PROOFS.add("WZ-04 W-37", RING, Twin("going up only", {"distance": Ring.clockwise}))
def distance_is_half_the_ring_at_most(path: Path, *, distance: Distance = as_it_is) -> None:
    """Distance is at most half the ring, and never negative."""
    ring, a, b = any_places(path, "ab")

    found = distance(ring, a, b)
    path.claim("at most half", smt.And(found >= 0, found <= ring.size // 2))


@PROOFS.add("WZ-05 W-37", RING, Twin("every detour is longer", {"strictly": True}))
def no_detour_is_shorter(path: Path, *, strictly: bool = False) -> None:
    """The distance from a to c is at most that from a to b and from b to c."""
    ring, a, b, c = any_places(path, "abc")

    detour = ring.distance(a, b) + ring.distance(b, c)
    path.claim("no shorter", ring.distance(a, c) < detour if strictly else ring.distance(a, c) <= detour)


# -- closeness --------------------------------------------------------------------------------------------------------


def by_rank(ring: Ring, one: Id, other: Id, key: Id) -> Any:
    """The order of the running code."""
    return ring.rank(one, key) < ring.rank(other, key)


def or_as_far(ring: Ring, one: Id, other: Id, key: Id) -> Any:
    """Equal ids count as closer, too."""
    return ring.rank(one, key) <= ring.rank(other, key)


def by_distance(ring: Ring, one: Id, other: Id, key: Id) -> Any:
    """Compares by distance; of two ids that are equally far away none is closer."""
    return ring.distance(one, key) < ring.distance(other, key)


def whoever_is_lower(ring: Ring, one: Id, other: Id, key: Id) -> Any:  # noqa: ARG001  # for any key
    """Returns True for the modularly lower id, at any distance."""
    return truth(ring.is_right(one, other))


@PROOFS.add("WZ-06 WA-09", RING, Twin("equal ids are closer, too", {"closer": or_as_far}))
def nobody_is_closer_than_itself(path: Path, *, closer: Closer = by_rank) -> None:
    """No id is closer to a key than itself, and none closer than the key."""
    ring, a, key = any_places(path, ("a", "key"))

    path.claim("than itself", smt.Not(closer(ring, a, a, key)))
    path.claim("than the key", smt.Not(closer(ring, a, key, key)))


@PROOFS.add("WZ-07 WA-09", RING, Twin("by the distance alone", {"closer": by_distance}))
def one_of_two_is_closer(path: Path, *, closer: Closer = by_rank) -> None:
    """Of two different ids exactly one is closer to a key: the nearer one if one is nearer."""
    ring, a, b, key = any_places(path, ("a", "b", "key"))
    path.assume(a != b)

    path.claim("exactly one", closer(ring, a, b, key) == smt.Not(closer(ring, b, a, key)))
    path.claim("the nearer one", smt.Implies(by_distance(ring, a, b, key), closer(ring, a, b, key)))


@PROOFS.add("WZ-08 WA-09", RING, Twin("the lower one", {"closer": whoever_is_lower}))
def closer_is_transitive(path: Path, *, closer: Closer = by_rank) -> None:
    """If a is closer than b and b is closer than c, then a is closer than c."""
    ring, a, b, c, key = any_places(path, ("a", "b", "c", "key"))
    path.assume(closer(ring, a, b, key), closer(ring, b, c, key))

    path.claim("the first than the third", closer(ring, a, c, key))


@PROOFS.add("WZ-09 WA-09", RING, Twin("not even two", {"many": 2}))
def two_ids_are_equally_far(path: Path, *, many: int = 3) -> None:
    """Of three different ids, two are not equally far from a key."""
    ring, key, *places = any_places(path, ("key", *"abc"[:many]))
    path.assume(*(one != other for at, one in enumerate(places) for other in places[:at]))

    first, *others = [ring.distance(place, key) for place in places]
    path.claim("not all", smt.Or(*(other != first for other in others)))


# -- neighbours -------------------------------------------------------------------------------------------------------


@PROOFS.add("WZ-10 W-37 W-43 WI-10", RING, Twin("any two nodes for the neighbours", {"neighbours": False}))
def closer_than_both_neighbours_is_closest(path: Path, *, neighbours: bool = True) -> None:
    """
    A node that is closer to a key than its two neighbours on the ring is the closest of all.

    So a node that knows its neighbours can tell whether a message has arrived.
    """
    ring, before, node, after, other, key = any_places(path, ("before", "node", "after", "other", "key"))
    path.assume(before != node, after != node, other != node)
    if neighbours:  # no node is between them; the one before may be the one after
        path.assume(smt.Not(is_between(ring, before, other, node)), smt.Not(is_between(ring, node, other, after)))
    path.assume(by_rank(ring, node, before, key), by_rank(ring, node, after, key))

    path.claim("closer than any other", by_rank(ring, node, other, key))


@PROOFS.add("WZ-11 W-37 W-39", RING, Twin("the key may be anywhere", {"around": False}))
def one_of_the_nodes_around_a_key_is_closest(path: Path, *, around: bool = True) -> None:
    """Of a key between two nodes that follow each other on the ring, one of the two is the closest."""
    ring, low, high, other, key = any_places(path, ("low", "high", "other", "key"))
    path.assume(low != high, other != low, other != high, smt.Not(is_between(ring, low, other, high)))
    if around:
        path.assume(smt.Or(key == low, is_between(ring, low, key, high)))

    path.claim("closer than any other", smt.Or(by_rank(ring, low, other, key), by_rank(ring, high, other, key)))


@PROOFS.add("WZ-12 W-03 W-25 WA-03 WA-04", RING, Twin("opposite ones are nothing special", {"opposite": True}))
def one_of_two_is_greater(path: Path, *, opposite: bool = False) -> None:
    """Of two different ids exactly one is greater, except opposite ones, which are both greater."""
    ring, a, b = any_places(path, "ab")
    path.assume(a != b)
    is_opposite = ring.clockwise(a, b) == ring.size // 2

    one, other = ring.is_right(a, b), ring.is_right(b, a)
    path.claim("one of the two", truth(one or other))
    path.claim("not both", smt.Or(truth(not (one and other)), smt.BoolVal(val=False) if opposite else is_opposite))
    path.claim("both, if opposite", smt.Implies(is_opposite, truth(one and other)))


# -- digits and cells -------------------------------------------------------------------------------------------------


def common(one: Id, other: Id) -> Any:
    """Returns the number of common leading digits, by the running code."""
    return REAL.prefix(one, other)


def distance_of_the_original(one: Any, other: Any) -> Any:
    """A complement that forgets the carry if the low halves are equal, so that the other way is too short. [WD-02]"""
    up = REAL.clockwise(one, other)
    down = 2**BITS - up
    return up if up <= down else down - either(((one ^ other) % 2**HALF) == 0, 2**HALF, 0)


@PROOFS.add("WZ-04 W-01 W-02 WD-02", RING, Twin("the original's distance (WD-02)", {"distance": distance_of_the_original}))
def distance_is_the_shorter_way(path: Path, *, distance: Callable[[Id, Id], Any] | None = None) -> None:
    """Distance is the shorter of the two ways round the ring of 2^128 ids."""
    a, b = (any_word(path, name) for name in "ab")

    found, up, down = (distance or REAL.distance)(a, b), REAL.clockwise(a, b), REAL.clockwise(b, a)
    path.claim("one of the two ways", smt.Or(found == up, found == down))
    path.claim("the shorter one", smt.And(found <= up, found <= down))


@PROOFS.add("WZ-04 WD-02", RING, Twin("the lower halves may be equal", {"premise": False}))
def original_is_right_if_the_low_halves_differ(path: Path, *, premise: bool = True) -> None:
    """The original's distance is the same as ours if the lower halves of the ids differ, and both ways are right."""
    a, b = (any_word(path, name) for name in "ab")
    if premise:
        path.assume(a % 2**HALF != b % 2**HALF)

    path.claim("the same", distance_of_the_original(a, b) == REAL.distance(a, b))


def prefix_of_the_original(one: Any, other: Any) -> Any:
    """Takes a difference in digit 10 of a half for one in digit 11. [WD-01]"""
    found = common(one, other)
    return found + either(smt.Or(found == 10, found == 26), 1, 0)  # noqa: PLR2004


@PROOFS.add("WZ-13 W-14 W-15 WD-01", RING, Twin("the original's prefix (WD-01)", {"prefix": prefix_of_the_original}), logic=WORDS)
def digits_agree_as_far_as_the_prefix(path: Path, *, prefix: Prefix = common) -> None:
    """Two ids have all digits of their common prefix in common and not the next one; equal ids have 32."""
    a, b, index = any_word(path, "a"), any_word(path, "b"), any_word(path, "index", 8)

    shared = prefix(a, b)
    path.claim("32 of equal ids only", smt.And(shared <= REAL.digits, (shared == REAL.digits) == (a == b)))
    path.claim("the digits before", smt.Implies(index < shared, REAL.digit(a, index) == REAL.digit(b, index)))
    path.claim("not the next one", smt.Implies(a != b, REAL.digit(a, shared) != REAL.digit(b, shared)))


@PROOFS.add("WZ-13 W-40 WA-13", RING, Twin("any column", {"same_column": False}), logic=WORDS)
def the_cell_of_a_key_lengthens_the_prefix(path: Path, *, same_column: bool = True) -> None:
    """A node in the cell of a key shares a longer prefix with the key than the owner."""
    own, key, node = (any_word(path, name) for name in ("own", "key", "node"))
    path.assume(own != key, own != node)
    (row, column), (at, there) = REAL.cell(own, key), REAL.cell(own, node)
    path.assume(row == at)
    if same_column:
        path.assume(column == there)

    path.claim("longer", common(node, key) > row)


@PROOFS.add("WZ-14 W-41 W-42 WA-12", RING, Twin("rows above, too", {"later": False}), logic=WORDS)
def later_rows_keep_the_prefix(path: Path, *, later: bool = True) -> None:
    """A node in the row of a key's cell or below it shares with the key at least as many digits as the owner does."""
    own, key, node = (any_word(path, name) for name in ("own", "key", "node"))
    if later:
        path.assume(common(own, node) >= common(own, key))

    path.claim("at least as long", common(node, key) >= common(own, key))


@PROOFS.add("WZ-15 W-13 W-16 WA-15", RING, Twin("the digit after it", {"digit": 1}), logic=WORDS)
def the_own_column_is_empty(path: Path, *, digit: int = 0) -> None:
    """No node belongs in the column of the owner's own digit, and every node in an existing row and column."""
    own, node = (any_word(path, name) for name in ("own", "node"))
    path.assume(own != node)

    row, column = REAL.cell(own, node)
    path.claim("a row and a column", smt.And(row < REAL.digits, column < REAL.base))
    path.claim("not the own digit", column != REAL.digit(own, row + digit))


@PROOFS.add("WZ-16 W-15", RING, Twin("the last may be anywhere", {"ordered": False}), logic=WORDS)
def ids_between_share_the_prefix(path: Path, *, ordered: bool = True) -> None:
    """Of three ids in ascending order the first and last share no more digits than the first and second."""
    a, b, c = (any_word(path, name) for name in "abc")
    path.assume(a <= b)
    if ordered:
        path.assume(b <= c)

    path.claim("no more", common(a, c) <= common(a, b))


@PROOFS.add("WZ-17 W-15", RING, Twin("the two longest", {"longest": True}), logic=WORDS)
def the_two_shortest_prefixes_are_equal(path: Path, *, longest: bool = False) -> None:
    """
    Of the prefixes of three ids the two shortest are equally long.

    That is, none is shorter than both others; the ids are arbitrary, so this covers each of the three.
    """
    a, b, c = (any_word(path, name) for name in "abc")

    one, two, three = common(a, b), common(b, c), common(a, c)
    shorter = smt.And(three > one, three > two) if longest else smt.And(three < one, three < two)
    path.claim("not by itself", smt.Not(shorter))


@PROOFS.add("WZ-18 W-15", RING, Twin("16 times as near", {"digits": REAL.digits - 1}))
def ids_with_a_prefix_are_near(path: Path, *, digits: int = REAL.digits) -> None:
    """
    Ids with a prefix of r digits are less than 16^(32-r) apart.

    Swapping the ids changes neither the distance [WZ-02] nor the shared digits.
    """
    a, b = (any_word(path, name) for name in "ab")
    path.assume(a <= b)

    path.claim("near", REAL.distance(a, b) < 1 << DIGIT_BITS * (digits - common(a, b)))


@PROOFS.add(
    "WZ-20 W-21 WA-27", RING, Twin("nodes of any row", {"premise": False}), of={"in-a-later-row": {"later": True}}, logic=WORDS
)
@PROOFS.add("WZ-19 W-19 W-20 WA-27", RING, Twin("nodes of any row", {"premise": False}), of={"in-the-row": {}}, logic=WORDS)
def others_know_who_fits(path: Path, *, later: bool = False, premise: bool = True) -> None:
    """A node in a cell of a peer from the same or a later row fits the owner's cell, if the owner can have that cell."""
    own, peer, node = (any_word(path, name) for name in ("own", "peer", "node"))
    path.assume(peer != own, node != peer)
    row, column = REAL.cell(peer, node)
    at = common(own, peer)
    path.assume(column != REAL.digit(own, row))
    if premise:
        path.assume(at > row if later else at == row)

    fits = REAL.cell(own, node)
    path.claim("the same cell", smt.And(node != own, fits[0] == row, fits[1] == column))


PROOFS.extend([*TABLES, *ANY_CLUSTER_PROOFS])
