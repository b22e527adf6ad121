"""What is proved of DistKV's sets of ticks, of what is missing, and of how numbers are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.distkv_terms import any_ranges, inside, normal
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Evaluated, Proof, Twin
from peerproof.conformance.proofs.rebinding import rebound
from peerproof.conformance.proofs.swim_writing import written_integer
from peerproof.conformance.proofs.wendy_terms import truth
from peerproof.spec.distkv import ranges
from peerproof.spec.distkv.ranges import TICK_MAX, Ranges

#: Ranges of a set, at most: with so many, one begins, ends or falls out before, between and behind others.
MOST: Final = 3
FEWER: Final = 2


def any_tick(path: Path, name: str = "tick") -> Term:
    """Any tick."""
    return path.integer(name, 0, TICK_MAX)


def a_set_has_one_form(path: Path, *, gap: int = 1) -> None:
    """
    Two lists of ranges in normal form that hold the same ticks are the same list.

    If they differ, then a tick at which a range of either begins or ends is in one of them only.
    """
    a, b = any_ranges(path, "a", MOST, gap=gap), any_ranges(path, "b", MOST, gap=gap)
    path.assume(*(inside(a, tick) == inside(b, tick) for bounds in (*a, *b) for tick in bounds))

    path.claim("as many ranges", truth(len(a.begins) == len(b.begins)))
    path.claim("the same", z3.And(*(one == other for one, other in zip((*a.begins, *a.ends), (*b.begins, *b.ends), strict=True))))


def operations_give_normal_forms(path: Path, *, operation: str, gap: int = 1) -> None:
    """Sets made from two others are in normal form, and hold the ticks that they should, and no others."""
    a, b = any_ranges(path, "a", MOST, gap=gap), any_ranges(path, "b", FEWER, gap=gap)
    tick = any_tick(path)

    made: Ranges = getattr(a, operation)(b)
    path.claim("in normal form", normal(made))
    path.claim("the right ticks", inside(made, tick) == MEANINGS[operation](inside(a, tick), inside(b, tick)))


MEANINGS: Final[Mapping[str, Callable[[Term, Term], Term]]] = {
    "union": z3.Or,
    "difference": lambda one, other: z3.And(one, z3.Not(other)),
    "intersection": z3.And,
}


def one_tick_more_gives_a_normal_form(path: Path, *, gap: int = 1) -> None:
    """A set with one tick more is in normal form, holds that and what it held before; and it says itself what it holds."""
    a = any_ranges(path, "a", MOST, gap=gap)
    one, tick = any_tick(path, "one more"), any_tick(path)

    made = a.with_tick(one)
    path.claim("in normal form", normal(made))
    path.claim("the right ticks", inside(made, tick) == z3.Or(inside(a, tick), tick == one))
    path.claim("as it says", truth(made.has(tick)) == inside(made, tick))


def what_is_missing_is_not_known(path: Path, *, up_to: Callable[[Any], Ranges] | None = None) -> None:
    """Missing is 1 to the tick without what is known; of a higher tick exactly the new ones besides."""
    known, tick = any_ranges(path, "known", MOST), any_tick(path)
    last, later = path.integer("last", 0, TICK_MAX), path.integer("later", 0, TICK_MAX)
    path.assume(last <= later)
    missing = rebound(ranges, **({"up_to": up_to} if up_to else {})).missing

    found = missing(last, known)
    path.claim("in normal form", normal(found))
    path.claim("what it is", inside(found, tick) == z3.And(tick >= 1, tick <= last, z3.Not(inside(known, tick))))
    new = z3.And(inside(missing(later, known), tick), z3.Not(inside(found, tick)))
    path.claim("the new ones", new == z3.And(tick > last, tick <= later, z3.Not(inside(known, tick))))


def to_know_more_misses_no_more(path: Path, *, learn: Callable[[Ranges, Ranges], Ranges] = Ranges.union) -> None:
    """Whoever knows more never misses more."""
    known, more = any_ranges(path, "known", FEWER), any_ranges(path, "more", FEWER)
    last, tick = path.integer("last", 0, TICK_MAX), any_tick(path)

    before, after = ranges.missing(last, known), ranges.missing(last, learn(known, more))
    path.claim("never more", z3.Implies(inside(after, tick), inside(before, tick)))


def numbers_are_told_apart(path: Path, *, heads: Callable[[bytes], bytes] = lambda head: head) -> None:
    """
    Different numbers from 0 to 2^63 have different bytes, the first of which says how many there are; smaller ones not more.

    That is every tick and tock, and the end of every range.
    """
    values = [path.integer(name, 0, TICK_MAX + 1) for name in "ab"]

    (head, whole, width), (other_head, other_whole, other_width) = (written_integer(value, heads) for value in values)
    first, other_first = (z3.IntVal(h[0]) if h else w for h, w in ((head, whole), (other_head, other_whole)))
    path.claim("the first byte says the width", z3.Implies(first == other_first, width == other_width))
    if head == other_head and bool(whole == other_whole):
        path.claim("the same number", values[0] == values[1])
    path.claim("not longer", z3.Implies(values[0] <= values[1], width <= other_width))


_TOUCHING: Final = Twin("ranges may touch", {"gap": 0})
TICKS: Final = (
    Proof(("DZ-04", "D-29", "D-30", "DA-24"), a_set_has_one_form, Evaluated(("distkv.ranges.Ranges",)), _TOUCHING),
    *(
        Proof(
            ("DZ-04", "D-29", "D-31", "DA-24"),
            operations_give_normal_forms,
            Evaluated(("distkv.ranges.Ranges",)),
            _TOUCHING,
            {"operation": operation},
            of=operation,
        )
        for operation in MEANINGS
    ),
    Proof(("DZ-04", "D-31", "D-58", "DA-24"), one_tick_more_gives_a_normal_form, Evaluated(("distkv.ranges.Ranges",)), _TOUCHING),
    Proof(
        ("DZ-07", "D-21", "D-67", "DA-04"),
        what_is_missing_is_not_known,
        Evaluated(("distkv.ranges.missing", "distkv.ranges.Ranges")),
        Twin("ticks begin with 0", {"up_to": lambda tick: ranges.of_range(0, tick + 1)}),
    ),
    Proof(
        ("DZ-07", "D-67", "DI-02", "DA-04"),
        to_know_more_misses_no_more,
        Evaluated(("distkv.ranges.missing", "distkv.ranges.Ranges")),
        Twin("what is said to be known takes the place of what was known", {"learn": lambda _, more: more}),
    ),
    Proof(
        ("DZ-10", "D-26", "DA-29"),
        numbers_are_told_apart,
        Evaluated(("messagepack.integer_bytes",), ("_SMALL", "_INTEGERS")),
        Twin("integers of four and of eight bytes begin alike", {"heads": lambda head: head.replace(b"\xcf", b"\xce")}),
    ),
)
