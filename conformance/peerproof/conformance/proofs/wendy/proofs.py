"""
What is proved of Wendy; here, of its ring, by the code that runs on rings of any even size.

What is proved of digits, tables and routing is in the modules of these names; the symbols are in `terms`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path
from peerproof.conformance.proofs.proof import ProofTable, Twin
from peerproof.conformance.proofs.terms import truth
from peerproof.conformance.proofs.wendy.digits import DIGITS, RING
from peerproof.conformance.proofs.wendy.routing import ROUTING
from peerproof.conformance.proofs.wendy.tables import TABLES
from peerproof.conformance.proofs.wendy.terms import any_places, is_between
from peerproof.spec.wendy.ids import Id, Ring

#: How far two ids are from each other.
Distance = Callable[[Ring, Id, Id], Any]

#: Whether one id is closer to a key than another: ring, one, other, key.
Closer = Callable[[Ring, Id, Id, Id], Any]


def as_it_is(ring: Ring, one: Id, other: Id) -> Any:
    """The distance of the running code."""
    return ring.distance(one, other)


PROOFS: Final = ProofTable()


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
    path.claim("at most half", z3.And(found >= 0, found <= ring.size // 2))


@PROOFS.add("WZ-05 W-37", RING, Twin("every detour is longer", {"strictly": True}))
def no_detour_is_shorter(path: Path, *, strictly: bool = False) -> None:
    """The distance from a to c is at most that from a to b and from b to c."""
    ring, a, b, c = any_places(path, "abc")

    detour = ring.distance(a, b) + ring.distance(b, c)
    path.claim("no shorter", ring.distance(a, c) < detour if strictly else ring.distance(a, c) <= detour)


# -- who is closer ----------------------------------------------------------------------------------------------------


def by_rank(ring: Ring, one: Id, other: Id, key: Id) -> Any:
    """The order of the running code."""
    return ring.rank(one, key) < ring.rank(other, key)


def or_as_far(ring: Ring, one: Id, other: Id, key: Id) -> Any:
    """Equal ids are closer, too."""
    return ring.rank(one, key) <= ring.rank(other, key)


def by_distance(ring: Ring, one: Id, other: Id, key: Id) -> Any:
    """Of two that are equally far away none is closer."""
    return ring.distance(one, key) < ring.distance(other, key)


def whoever_is_lower(ring: Ring, one: Id, other: Id, key: Id) -> Any:  # noqa: ARG001  # for any key
    """The modularly lower one, at any distance."""
    return truth(ring.is_right(one, other))


@PROOFS.add("WZ-06 WA-09", RING, Twin("equal ids are closer, too", {"closer": or_as_far}))
def nobody_is_closer_than_itself(path: Path, *, closer: Closer = by_rank) -> None:
    """No id is closer to a key than itself, and none closer than the key."""
    ring, a, key = any_places(path, ("a", "key"))

    path.claim("than itself", z3.Not(closer(ring, a, a, key)))
    path.claim("than the key", z3.Not(closer(ring, a, key, key)))


@PROOFS.add("WZ-07 WA-09", RING, Twin("by the distance alone", {"closer": by_distance}))
def one_of_two_is_closer(path: Path, *, closer: Closer = by_rank) -> None:
    """Of two different ids exactly one is closer to a key: the nearer one if one is nearer."""
    ring, a, b, key = any_places(path, ("a", "b", "key"))
    path.assume(a != b)

    path.claim("exactly one", closer(ring, a, b, key) == z3.Not(closer(ring, b, a, key)))
    path.claim("the nearer one", z3.Implies(by_distance(ring, a, b, key), closer(ring, a, b, key)))


@PROOFS.add("WZ-08 WA-09", RING, Twin("whoever is lower", {"closer": whoever_is_lower}))
def closer_is_transitive(path: Path, *, closer: Closer = by_rank) -> None:
    """Who is closer than a second that is closer than a third is closer than the third."""
    ring, a, b, c, key = any_places(path, ("a", "b", "c", "key"))
    path.assume(closer(ring, a, b, key), closer(ring, b, c, key))

    path.claim("the first than the third", closer(ring, a, c, key))


@PROOFS.add("WZ-09 WA-09", RING, Twin("not even two", {"many": 2}))
def two_ids_are_equally_far(path: Path, *, many: int = 3) -> None:
    """Of three different ids, two are not equally far from a key."""
    ring, key, *places = any_places(path, ("key", *"abc"[:many]))
    path.assume(*(one != other for at, one in enumerate(places) for other in places[:at]))

    first, *others = [ring.distance(place, key) for place in places]
    path.claim("not all", z3.Or(*(other != first for other in others)))


# -- neighbours -------------------------------------------------------------------------------------------------------


@PROOFS.add("WZ-10 W-37 W-43 WI-10", RING, Twin("any two nodes for the neighbours", {"neighbours": False}))
def closer_than_both_neighbours_is_closest(path: Path, *, neighbours: bool = True) -> None:
    """
    A node that is closer to a key than its two neighbours on the ring is the closest of all.

    So whoever knows its neighbours knows whether a message has arrived.
    """
    ring, before, node, after, other, key = any_places(path, ("before", "node", "after", "other", "key"))
    path.assume(before != node, after != node, other != node)
    if neighbours:  # nobody is between, the one before may be the one after
        path.assume(z3.Not(is_between(ring, before, other, node)), z3.Not(is_between(ring, node, other, after)))
    path.assume(by_rank(ring, node, before, key), by_rank(ring, node, after, key))

    path.claim("closer than any other", by_rank(ring, node, other, key))


@PROOFS.add("WZ-11 W-37 W-39", RING, Twin("the key may be anywhere", {"around": False}))
def one_of_the_nodes_around_a_key_is_closest(path: Path, *, around: bool = True) -> None:
    """Of a key between two nodes that follow each other on the ring, one of the two is the closest."""
    ring, low, high, other, key = any_places(path, ("low", "high", "other", "key"))
    path.assume(low != high, other != low, other != high, z3.Not(is_between(ring, low, other, high)))
    if around:
        path.assume(z3.Or(key == low, is_between(ring, low, key, high)))

    path.claim("closer than any other", z3.Or(by_rank(ring, low, other, key), by_rank(ring, high, other, key)))


@PROOFS.add("WZ-12 W-03 W-25 WA-03 WA-04", RING, Twin("opposite ones are nothing special", {"opposite": True}))
def one_of_two_is_greater(path: Path, *, opposite: bool = False) -> None:
    """Of two different ids exactly one is greater, but for opposite ones, which both are."""
    ring, a, b = any_places(path, "ab")
    path.assume(a != b)
    is_opposite = ring.clockwise(a, b) == ring.size // 2

    one, other = ring.is_right(a, b), ring.is_right(b, a)
    path.claim("one of the two", truth(one or other))
    path.claim("not both", z3.Or(truth(not (one and other)), z3.BoolVal(val=False) if opposite else is_opposite))
    path.claim("both, if opposite", z3.Implies(is_opposite, truth(one and other)))


PROOFS.extend((*DIGITS, *TABLES, *ROUTING))
