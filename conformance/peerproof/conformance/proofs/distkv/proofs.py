"""
Proofs about DistKV: which change or ping wins, chains, updates, pings with the tick zero, and due times.

The symbols are in `terms`; the proofs about ticks and tocks are in `counters`, those of clusters of any size in `any_cluster`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.distkv import any_cluster
from peerproof.conformance.proofs.distkv.counters import COUNTERS
from peerproof.conformance.proofs.distkv.terms import (
    NAMES,
    UNASKED,
    AnyChain,
    Pieces,
    Run,
    Tocks,
    any_chains,
    any_element,
    any_number,
    as_it_is,
    by_tocks,
    length,
    no_ticks,
    some_ticks,
)
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.terms import choice, term_of, truth
from peerproof.spec.core import NodeId
from peerproof.spec.distkv import Update, chains, entries, pings, schedule
from peerproof.spec.distkv.chains import Chain, Claim, Element
from peerproof.spec.distkv.entries import Entry
from peerproof.spec.distkv.messages import Ping, RecoveryStep
from peerproof.spec.distkv.paths import ROOT
from peerproof.spec.overrides import names_in, overriding

#: Maximum number of elements of a chain when it is sent.
MOST_ELEMENTS: Final = 64

PROOFS: Final = ProofTable([*COUNTERS, *any_cluster.PROOFS])


# -- who wins ---------------------------------------------------------------------------------------------------------


def by_either(one: Claim, other: Claim) -> bool:
    """Compares by the higher tock or the higher tick."""
    return bool(one.tock > other.tock) or bool((one.head.tick or 0) > (other.head.tick or 0))


def any_claim(path: Path, name: str) -> Claim:
    """Returns the claim of any message."""
    return Claim(any_number(path, f"{name}.tock"), any_element(path, name, is_new=True))


@PROOFS.add(
    "DZ-01 D-80 D-81 D-82 DA-01 DA-36 DI-06 DI-10", "distkv.chains.Claim", Twin("tocks alone decide (DD-09)", {"beats": by_tocks})
)
def of_two_one_wins(path: Path, *, beats: Callable[[Claim, Claim], bool] = as_it_is) -> None:
    """Of two pings or changes of different nodes exactly one wins, whatever their tocks and ticks."""
    a, b = any_claim(path, "a"), any_claim(path, "b")
    path.assume(a.head.node != b.head.node)

    path.claim("one of both", truth(beats(a, b) != beats(b, a)))


@PROOFS.add(
    "DZ-01 D-80 D-81 D-82 DA-01 DA-36 DI-06",
    "distkv.chains.Claim",
    Twin("the higher tock, or the higher tick", {"beats": by_either}),
)
def winning_is_transitive(path: Path, *, beats: Callable[[Claim, Claim], bool] = as_it_is) -> None:
    """If a wins against b and b against c, then a wins against c; and none wins against itself."""
    a, b, c = (any_claim(path, name) for name in "abc")

    path.claim("not against itself", truth(not beats(a, a)))
    if beats(a, b) and beats(b, c):
        path.claim("against the third", truth(beats(a, c)))


@PROOFS.add(
    "DZ-01 D-83 D-90 DI-10",
    "distkv.pings.winner distkv.chains.Claim",
    Twin("tocks alone decide (DD-09)", {"beats": by_tocks}),
)
def all_choose_the_same_ping(path: Path, *, beats: Callable[[Claim, Claim], bool] = as_it_is) -> None:
    """Of two pings of different nodes the same one wins, whichever comes first."""
    a, b = (Ping(Chain((claim.head,)), claim.tock) for claim in (any_claim(path, "a"), any_claim(path, "b")))
    path.assume(a.chain.head.node != b.chain.head.node)

    class Compared(Claim):
        """A claim that compares as the statement says."""

        def beats(self, other: Claim) -> bool:
            return beats(Claim(*self), Claim(*other))

    with overriding(names_in(pings, Claim=Compared)):
        path.claim("the same", truth(pings.winner(a, b) is pings.winner(b, a)))


# -- putting an element in front --------------------------------------------------------------------------------------


def as_given(chain: AnyChain, most: Any) -> AnyChain:  # noqa: ARG001  # as of the twin
    """Returns the chain unchanged."""
    return chain


def cut_first(chain: AnyChain, most: Any) -> AnyChain:
    """Cuts the chain to make room for one more, before the node's own element is looked for."""
    return chain.within(most - 1)


@PROOFS.add(
    "DZ-02 D-12 D-14 D-15 D-16 D-48 D-49 DA-11 DA-15 DI-01",
    Evaluated(("distkv.chains.with_change", "distkv.chains.Chain"), tuple(NAMES)),
    Twin("the chain is cut before the node's own element makes room", {"before": cut_first}),
)
def putting_in_front_keeps_a_chain(path: Path, *, before: Callable[[AnyChain, Any], AnyChain] = as_given) -> None:
    """
    For any maximum and any chain: the change becomes the head, its node occurs nowhere else, and the chain is within the maximum.

    If the node was in it, nothing else is removed; otherwise the oldest, and only if there is no room. Removed elements are
    superseded, once. The chain is marked as cut if and only if it was before, or if an element other than the node's own was
    removed.
    """
    most, size = any_number(path, "maximum", 1), any_number(path, "length")
    path.assume(size <= most)
    was_in, was_cut = (bool(path.any_of(name, smt.BoolSort())) for name in ("the node was in it", "it was cut"))
    own = Element(NodeId("own"), 1)
    place = path.integer("where it was") if was_in else size.term
    path.assume(place < size.term if was_in else smt.BoolVal(val=True))
    run, rest = (Run(begin, end, no_ticks) for begin, end in ((smt.IntVal(0), place), (place + 1, size.term)))
    chain = AnyChain([run, own, rest] if was_in else [run], was_cut)
    with_change: Any = chains.with_change

    new = Element(own.node, 2)
    with overriding(names_in(chains, **NAMES)):
        kept, superseded = with_change(before(chain, most), new, most)
    gone = Pieces(superseded)
    path.claim("the head", truth(kept.elements.pieces[0] is new))
    path.claim("nowhere else", truth(kept.elements.elements() == [new] and gone.elements() == [own] * was_in))
    path.claim("within the maximum", length(kept.elements) <= most)
    others = length(gone) - int(was_in)
    path.claim("nothing else falls out", smt.Implies(truth(was_in), others == 0))
    path.claim("not more than must", smt.Implies(others > 0, length(kept.elements) == most))
    path.claim("cut", truth(kept.cut) == smt.Or(truth(was_cut), others > 0))
    one, older = path.integer("an element"), path.integer("an older one")
    path.assume(one < older, older < size.term, one != place, older != place)
    for element in (one, older):
        path.claim("kept or superseded", smt.Xor(has_once(kept.elements, element), has_once(gone, element)))
    path.claim("in the same order", smt.Implies(has_once(kept.elements, older), has_once(kept.elements, one)))


def has_once(pieces: Any, place: Term) -> Term:
    """States that exactly one run has the element of a place."""
    return smt.Sum([smt.If(run.holds(place), 1, 0) for run in pieces.runs()]) == 1


# -- which change came before -----------------------------------------------------------------------------------------


@PROOFS.add(
    "DZ-05 D-22 DA-19 DI-05 DX-19",
    "distkv.chains.relation distkv.chains.Chain",
    Twin("tocks that neither rise nor fall (DX-19)", {"real": False}),
)
def what_came_before_has_the_lower_tock(path: Path, *, real: bool = True) -> None:
    """
    If tocks rise with a node's ticks and fall along chains: of two changes at most one came before the other, with a lower tock.

    Chains are of any length; of each, only its element of the node of the other's head makes a difference.
    """
    tocks = Tocks(path, real=real)
    a, b = any_chains(path, tocks, "ab")

    before, after = chains._has_seen(b, a.head), chains._has_seen(a, b.head)  # noqa: SLF001  # combined by `relation`
    if a.head != b.head:
        path.claim("not both", truth(not (before and after)))
    if chains.relation(a, b) is chains.Relation.BEFORE:
        path.claim("the lower tock", tocks.of(a.head) < tocks.of(b.head))


# -- updates ----------------------------------------------------------------------------------------------------------


class LaterWins(Claim):
    """A claim that wins with an equal tock, so that later arrivals stay (DD-09)."""

    def beats(self, other: Claim) -> bool:
        """Compares by the tock alone."""
        return bool(self.tock >= other.tock)


def any_updates(path: Path, names: str) -> list[Update]:
    """Returns updates of one entry. Updates of the same change have the same value and tock."""
    tocks, value = Tocks(path), smt.Function("value", smt.IntSort(), smt.IntSort(), smt.DeclareSort("Value"))
    return [
        Update(chain, ROOT, value(term_of(chain.head.node), term_of(chain.head.tick)), tocks.of(chain.head))
        for chain in any_chains(path, tocks, names)
    ]


def entry_of(update: Update) -> Entry:
    """Returns the entry that an update stores where there was none."""
    return Entry(update.chain, update.value, update.tock)


def alike(one: Entry | Update, other: Entry | Update) -> Term:
    """States that head, value and tock are the same; the tails of chains may differ."""
    heads = smt.And(*(term_of(mine) == term_of(its) for mine, its in zip(one.chain.head, other.chain.head, strict=True)))
    return smt.And(heads, one.value == other.value, one.tock == other.tock)


@PROOFS.add(
    "DZ-06 D-57 DA-01 DA-18 DA-84 DA-85 DI-07 DI-08",
    Evaluated(("distkv.entries.apply",), tuple(UNASKED)),
    Twin("what arrives later stays, if tocks are equal (DD-09)", {"claim": LaterWins}),
)
def the_better_change_stays(path: Path, *, claim: type[Claim] = Claim) -> None:
    """
    An update leaves, of the entry's change and its own, the one that wins by tock, tick and name; repeating it changes nothing.

    That is a total order of all changes, if tocks rise with a node's ticks and fall along chains. So of any updates the best is
    left, in whatever order and groups they arrive and however often. Any part of a chain may be cut when it is stored.
    """
    one, update = any_updates(path, "ab")
    most = 1 + choice(path, "maximum less 1", 5)
    entry = entry_of(one)

    with overriding(names_in(entries, Claim=claim, **UNASKED)):
        after = entries.apply(entry, update, most).entry
        again = entries.apply(after, update, most).entry
    wins = Claim(update.tock, update.chain.head).beats(Claim(one.tock, one.chain.head))
    path.claim("the better one", alike(after, update if wins else one))
    path.claim("a second time", truth(again is after))


@PROOFS.add(
    "DZ-06 D-56 DA-01 DA-84 DI-07",
    Evaluated(("distkv.entries.apply",), tuple(UNASKED)),
    Twin("what arrives later stays, if tocks are equal (DD-09)", {"claim": LaterWins}),
)
def updates_may_come_in_any_order(path: Path, *, claim: type[Claim] = Claim) -> None:
    """Two updates leave the same change of an entry, with its value and tock, in both orders, and repeated or not."""
    updates = any_updates(path, "ab")
    most = 1 + choice(path, "maximum less 1", 5)

    def after(*order: int) -> Any:
        found = None
        with overriding(names_in(entries, Claim=claim, **UNASKED)):
            for number in order:
                found = entries.apply(found, updates[number], most).entry
        return found

    found = after(0, 1)
    for order in ((1, 0), (0, 1, 0), (1, 0, 0, 1)):
        path.claim("the same", alike(found, after(*order)))


# -- pings with the tick zero -----------------------------------------------------------------------------------------


@PROOFS.add(
    "DZ-09 D-107 D-110 DA-40 DI-14 DX-09",
    Evaluated(("distkv.chains.zero_may_ping", "distkv.chains.with_ping", "distkv.chains.Chain"), tuple(NAMES)),
    Twin("a length of 1 (DX-09)", {"least": 1}),
)
def zeros_leave_data_on_the_chain(path: Path, *, least: int = 2) -> None:
    """
    After the ping of a node with a tick, at most as many with the tick zero follow as half the length, rounded up.

    The step, for any length and any chain: if this many have followed, and D-107 allows another, then they stay within that
    number, and the node stays on the chain.
    """
    most, zeros, rest = any_number(path, "length", least), any_number(path, "zeros"), any_number(path, "rest")
    path.assume(zeros + rest < most, zeros <= (most + 1) // 2)
    own = Element(NodeId("own"), any_number(path, "tick", 1))
    behind = Run(zeros.term + 1, zeros.term + 1 + rest.term, some_ticks("ticks behind"))
    chain: Any = AnyChain([Run(smt.IntVal(0), zeros.term, no_ticks), own, behind])

    with overriding(names_in(chains, **NAMES)):
        may_ping = chains.zero_may_ping(chain)
        after: Any = chains.with_ping(chain, Element(NodeId("zero"), 0), most)
    if may_ping:
        path.claim("no more than half", zeros + 1 <= (most + 1) // 2)
        path.claim("within the length", length(after.elements) <= most)
        path.claim("still on the chain", truth(own in after.elements.elements()))


# -- when things are due ----------------------------------------------------------------------------------------------


def in_steps(clock: Any, step: RecoveryStep, position: int) -> Any:
    """Returns a quarter of a clock for each position, as in D-88 with a length of 4."""
    return clock * position // 4 if step is not RecoveryStep.MISSING else clock * (position + 1) // 4


@PROOFS.add(
    "DZ-08 D-125 D-126 DA-06 DA-07",
    "distkv.schedule.recovery",
    Twin("in steps of a quarter of a clock [D-88]", {"delay": in_steps}),
)
def delays_rise_and_stay_below_a_clock(path: Path, *, delay: Callable[[Any, RecoveryStep, int], Any] | None = None) -> None:
    """
    A node later on a chain waits longer, but less than a clock; the second waits half a clock more than the first in steps 1 and
    3, a quarter in step 2.

    For any clock, and as many nodes as a chain can have; rounded to milliseconds, so the last ones may wait equally long.
    """
    clock, due = any_number(path, "clock", 8), delay or schedule.recovery
    step, position = list(RecoveryStep)[choice(path, "step", 3)], choice(path, "position", MOST_ELEMENTS - 1)

    one, other = due(clock, step, position), due(clock, step, position + 1)
    path.claim("below a clock", smt.And(one >= 0, other < clock))
    path.claim("not less", one <= other)
    path.claim("more, if there are milliseconds for it", smt.Implies(clock >= 2 ** (position + 2), one < other))
    if position == 0:
        gap, part = other - one, 4 if step is RecoveryStep.MISSING else 2
        path.claim("the first gap", smt.And(gap * part - clock < part, clock - gap * part < part))
