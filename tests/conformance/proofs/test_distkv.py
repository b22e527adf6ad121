"""The proofs of DistKV are about the code that runs; what stands in for Python's own is like it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
from tests.support.refuting import Mistake, each_of, is_refuted

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.distkv import any_cluster, steps, tables
from peerproof.conformance.proofs.distkv import any_node as nodes
from peerproof.conformance.proofs.distkv.counters import INSTEAD, any_event, any_node, any_tock, first
from peerproof.conformance.proofs.distkv.proofs import MOST_ELEMENTS
from peerproof.conformance.proofs.distkv.terms import (
    NAMES,
    AnyChain,
    Pieces,
    Run,
    any_ranges,
    inside,
    length,
    no_ticks,
    normal,
    some_ticks,
)
from peerproof.conformance.proofs.paths import Path, follow
from peerproof.conformance.proofs.terms import Number
from peerproof.spec.core import EVERYBODY, NodeId, Send, Step, Table
from peerproof.spec.distkv import (
    Stored,
    chains,
    changes,
    election,
    entries,
    outgoing,
    ranges,
    recovery,
    schedule,
    state,
    stored_of,
    ticks,
    transitions,
)
from peerproof.spec.distkv.chains import Chain, Changed, Claim, Element, with_change
from peerproof.spec.distkv.entries import Answer, Applied, Entries, Outcome
from peerproof.spec.distkv.model import variants
from peerproof.spec.distkv.outgoing import originate
from peerproof.spec.distkv.ranges import Ranges
from peerproof.spec.distkv.state import LENGTH_MAX
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding


def joined_where_they_touch_not(begins: list[int], ends: list[int]) -> Ranges:
    """Ranges that touch stay two."""
    gaps = [begin >= end for begin, end in zip(begins[1:], ends, strict=False)]
    kept = [end for end, gap in zip(ends, gaps, strict=False) if gap]
    return Ranges((begins[0], *(begin for begin, gap in zip(begins[1:], gaps, strict=True) if gap)), (*kept, ends[-1]))


def with_old_tock(state: Any, make: Any) -> Any:
    """The tock goes up after the message is sent, not before."""
    message, (after, effects) = ORIGINATE(state, lambda tock: make(tock - 1))
    return message, type(ORIGINATE(state, make)[1])(after, effects)


def lower_tick(self: Claim, other: Claim) -> bool:
    """With equal tocks the lower tick wins, then the higher name; but names are never compared (DD-28)."""
    return self.tock > other.tock or (self.tock == other.tock and bool((self.head.tick or 0) < (other.head.tick or 0)))


def without_own(chain: Any, element: Element, most: int) -> Changed:
    """What the node's own element was is forgotten."""
    kept, superseded = with_change(chain, element, most)
    return Changed(kept, tuple(one for one in superseded if getattr(one, "node", None) != element.node))


def kept_if_concurrent(entry: Any, update: Any, most: int) -> Applied:
    """What is there stays, unless the other came after it."""
    outcome, after, gone = APPLY(entry, update, most)
    return Applied(outcome, entry if outcome is Outcome.CONFLICT_ACCEPT else after, gone)


def silent_about_the_chain(message: Any) -> Iterator[Any]:
    """The ticks on a chain are not taken."""
    return (pair for pair in TICKS_IN(message) if not any(pair == tuple(element) for element in message.chain.elements))


def in_its_own_name(state: Any, updates: Any) -> Any:
    """What is sent again has the node that sends it at its head (DD-10)."""
    me = Element(state.self_id, state.own_tick)
    renamed = [replace(one, chain=Chain((me, *one.chain.elements[1:]), one.chain.cut)) for one in updates]
    return Step(state, tuple(Send(EVERYBODY, one) for one in renamed))


def sent_anew(state: Any, updates: Any) -> Any:
    """What is sent again has a new tock (DX-04)."""
    return Step(state, tuple(Send(EVERYBODY, replace(one, tock=state.tock + 1)) for one in updates))


def without_superseded(state: Any) -> Stored:
    """Superseded changes are not on the disk."""
    return STORED_OF(state)._replace(superseded=Table())


def with_the_tick_that_it_has(state: Any, path: Any, value: Any) -> Any:
    """A change does not raise the tick."""
    taken: Any = CHANGE(state, path, value)
    after, effects = taken
    return Step(tables.replacing(after, ticks=state.ticks), effects)


def taken_if_stale(entry: Any, update: Any, most: int) -> Applied:
    """Every update that arrives is taken."""
    return APPLY(None, update, most)


def only_the_head(sets: Any, elements: Any) -> Any:
    """Of a chain only its head becomes known, and what was known of the node is forgotten."""
    head, *_ = elements
    return sets.put({head.node: ranges.up_to(0).with_tick(head.tick)})


def calling_all_superseded(stored: Entries, missing: Any) -> Answer:
    """All that is asked for is said to be superseded."""
    return ANSWER(stored, missing)._replace(known=missing)


def known_if_heard_of(state: Any, info: Any) -> Any:
    """What another node misses counts as known."""
    return Step(tables.replacing(state, entries=state.entries.mark_superseded(info.missing)))


APPLY, ORIGINATE, CHANGE = entries.apply, originate, changes.change
TICKS_IN, STORED_OF, ANSWER = transitions.ticks_in, stored_of, entries.answer

MISTAKES: list[Mistake] = [
    (Claim, "beats", lower_tick, "DZ-01"),
    (chains, "with_change", without_own, "DZ-02"),
    (election, "originate", with_old_tock, "DZ-03"),
    (ranges, "_merge", joined_where_they_touch_not, "DZ-04"),
    (chains, "_has_seen", lambda chain, head: chain.tick_of(head.node) is not None, "DZ-05"),  # any tick of the node
    (entries, "apply", kept_if_concurrent, "DZ-06"),
    (ranges, "up_to", lambda tick: ranges.of_range(1, tick), "DZ-07"),  # one tick too few
    (schedule, "recovery", lambda clock, step, position: clock * (position + 1), "DZ-08"),  # a clock for each
    (chains, "zero_may_ping", chains.is_authoritative, "DZ-09"),  # not by halves of the chain
    (transitions, "ticks_in", silent_about_the_chain, "DZ-11"),
    (outgoing, "send_again", in_its_own_name, "DZ-11"),
    (changes, "change", with_the_tick_that_it_has, "DZ-11"),
    *((Claim, "beats", wrong, "DZ-12") for wrong in (lower_tick, variants.OwnFirst.beats)),
    (chains, "_has_seen", lambda chain, head: chain.tick_of(head.node) is not None, "DZ-12"),  # any tick of the node
    (entries, "apply", kept_if_concurrent, "DZ-12"),
    (outgoing, "send_again", sent_anew, "DZ-11"),
    (recovery, "_on_missing", known_if_heard_of, "DZ-11"),
    (entries, "answer", calling_all_superseded, "DZ-13"),
    (Entries, "superseded", lambda stored: stored.known, "DZ-13"),  # as if nothing were present
    (entries, "apply", taken_if_stale, "DZ-14"),
    (ticks, "with_elements", only_the_head, "DZ-14"),
    (state, "stored_of", without_superseded, "DZ-14"),
]


@pytest.mark.slow
@each_of(MISTAKES)
def test_a_mistake_in_the_code_fails_its_proof(mistake: Mistake) -> None:
    assert is_refuted("distkv", mistake, {known_if_heard_of})  # the values of its counterexample request nothing


@pytest.mark.slow
def test_with_a_lost_disk_only_a_new_change_breaks_what_holds() -> None:
    """A node that has lost its disk gives a tick again (DX-10); all else that it does keeps every tick one that was given."""
    others = tuple(part for part in steps.ALL if part is not steps.a_change)

    kept = follow(lambda path: any_cluster.every_part(path, others, nodes.ISSUED, lost=True), 60)
    broken = follow(lambda path: any_cluster.every_part(path, (steps.a_change,), nodes.ISSUED, lost=True), 60)

    assert (kept.verdict, kept.detail) == ("proved", "")
    assert broken.detail.startswith("false: a new change has a tick that its node has not used;")


# -- what stands in for Python's own ----------------------------------------------------------------------------------


def proved(statement: Callable[[Path], None]) -> int:
    """How many paths a statement that holds has."""
    outcome = follow(statement, 60)
    assert (outcome.verdict, outcome.detail) == ("proved", "")
    return outcome.paths


def test_numbers_on_terms_are_like_those_of_python() -> None:
    def statement(path: Path) -> None:
        for one, other in product((0, 1, 7, 8, 2**63 - 1), (1, 3, 8)):
            term = Number(smt.IntVal(one))
            for compute in (operator.add, operator.sub, operator.mul):
                path.claim("sums", compute(term, other) == compute(one, other))
            for divide in (operator.floordiv, operator.rshift):
                path.claim("rounded down", divide(-term, other) == divide(-one, other))
            for compare in (operator.lt, operator.le, operator.gt, operator.ge):
                path.claim("order", compare(term, other) == compare(one, other))
            path.claim("equality", smt.And((term == other) == (one == other), (term != other) == (one != other)))
        assert not Number(smt.IntVal(0))
        assert Number(smt.IntVal(1))
        assert Number(smt.IntVal(1)) not in (None, "1", 2)

    assert proved(statement) == 1


def run(begin: int, end: int) -> Run:
    """Elements at these places, whose ticks are zero."""
    return Run(smt.IntVal(begin), smt.IntVal(end), no_ticks)


def places(pieces: Pieces, own: int) -> list[int]:
    """At which places of the chain these elements stood; the single one at its own."""
    found: list[int] = []
    for piece in pieces:
        if isinstance(piece, Run):
            found += range(smt.simplify(piece.begin).as_long(), smt.simplify(piece.end).as_long())
        else:
            found.append(own)
    return found


@pytest.mark.parametrize(("before", "behind"), [(0, 0), (0, 2), (2, 0), (2, 3)])
def test_pieces_are_divided_as_tuples_are(before: int, behind: int) -> None:
    whole = list(range(before + 1 + behind))
    pieces = Pieces([run(0, before), Element(NodeId("own"), 1), run(before + 1, before + 1 + behind)])

    def statement(path: Path) -> None:
        for at in range(len(whole) + 2):
            for part, expected in ((pieces[:at], whole[:at]), (pieces[at:], whole[at:])):
                assert places(part, before) == expected
                path.claim("so many", length(part) == len(expected))
        assert places(pieces[Number(smt.IntVal(1)) :], before) == whole[1:]

    assert proved(statement) == 1


@pytest.mark.parametrize("most", [1, 2, 3, 9])
@pytest.mark.parametrize("place", [None, 0, 1, 2])
def test_a_chain_of_pieces_is_changed_as_a_chain_is(most: int, place: int | None) -> None:
    own, new = Element(NodeId("own"), 1), Element(NodeId("own"), 2)
    elements = [Element(NodeId(f"n{number}"), 1) for number in range(3)]
    pieces: list[Any] = [run(0, 3)]
    if place is not None:
        elements[place] = own
        pieces = [run(0, place), own, run(place + 1, 3)]
    elements, shown = elements[:most], Pieces(pieces)

    def statement(path: Path) -> None:
        chain: Any = AnyChain(shown[:most])
        changed: Any = with_change
        with overriding(names_in(chains, **NAMES)):
            kept, gone = changed(chain, new, most)
        expected = with_change(Chain(tuple(elements)), new, most)
        path.claim("as long", length(kept.elements) == len(expected.chain.elements))
        path.claim("as many superseded", length(gone) == len(expected.superseded))
        assert kept.cut is expected.chain.cut
        assert places(Pieces(kept.elements.runs()), -1) == [elements.index(one) for one in expected.chain.elements[1:]]

    assert proved(statement) == 1


def test_ticks_of_a_run_are_any_but_none_of_an_empty_one() -> None:
    seen = set()

    def statement(path: Path) -> None:
        some, none, empty = run(0, 2), run(0, 0), Run(smt.IntVal(1), smt.IntVal(1), some_ticks("none"))
        some = Run(some.begin, some.end, some_ticks("some"))
        seen.add(bool(some.tick))
        assert not none.tick
        assert not empty.tick
        path.claim("nothing", smt.BoolVal(val=True))

    assert proved(statement) == 2
    assert seen == {True, False}


def test_any_ranges_are_those_in_normal_form() -> None:
    def statement(path: Path) -> None:
        made, tick = any_ranges(path, "set", 2), path.integer("tick")
        path.claim("in normal form", normal(made))
        path.claim("as it says", smt.BoolVal(bool(made.has(tick))) == inside(made, tick))

    assert proved(statement) > 3


SETS = [ranges.of_ticks(some) for size in range(4) for some in combinations(range(1, 5), size)]


@pytest.mark.parametrize("operation", ["union", "difference", "intersection"])
def test_any_sets_are_combined_as_ranges_are(operation: str) -> None:
    for one, other in product(SETS, SETS):
        found = getattr(any_set(one), operation)(any_set(other))
        assert ticks_of(found) == list(getattr(one, operation)(other).ticks())


def test_any_sets_are_made_and_extended_as_ranges_are() -> None:
    for one, tick in product(SETS, range(1, 5)):
        assert ticks_of(any_set(one).with_tick(tick)) == list(one.with_tick(tick).ticks())
        assert ticks_of(tables.ticks_up_to(tick)) == list(ranges.up_to(tick).ticks())


def any_set(ticks: Ranges) -> tables.AnySet:
    """The set of these ticks on terms."""
    return tables.set_of_ticks(ticks.ticks())


def ticks_of(found: tables.AnySet) -> list[int]:
    """The small ticks in a set on terms."""
    return [tick for tick in range(7) if smt.is_true(smt.simplify(found.has(smt.IntVal(tick))))]


def test_tables_of_ticks_on_terms_are_like_tables() -> None:
    a, b = (Number(smt.IntVal(number)) for number in (1, 2))

    def tick(found: Any, node: Any) -> int:
        return int(smt.simplify(found.get(node).term).as_long())

    for one, other in product(range(3), range(3)):
        found = tables.AnyTicks(lambda _: smt.IntVal(-1)).put({a: one})
        assert (tick(found, a), tick(found, b)) == (one, -1)
        raised = found.raised([(a, other), (b, other)])
        assert (tick(raised, a), tick(raised, b)) == (max(one, other), other)


def test_entries_on_terms_are_like_tables() -> None:
    """What was put last is there, and nothing else."""
    places = [Number(smt.IntVal(number)) for number in range(3)]
    made: list[Any] = [entries.Entry(Chain((Element(place, Number(smt.IntVal(1))),)), nodes.NULL, place) for place in places]  # type: ignore[arg-type]

    def statement(path: Path) -> None:
        rows = tables.rows_of(path, {places[0]: made[0]}).put({places[1]: made[1]}).put({places[0]: made[2]})
        assert [rows.get(place) for place in places] == [made[2], made[1], None]
        path.claim("at the first", rows.at(places[0].term).node == 2)
        path.claim("at the third", smt.Not(rows.at(places[2].term).has))

    assert proved(statement) == 1


def test_chains_have_at_most_as_many_elements_as_positions_are_looked_at() -> None:
    assert MOST_ELEMENTS == LENGTH_MAX + 1


@pytest.mark.slow
def test_everything_that_a_node_sends_is_sent() -> None:
    """The statement about tocks would hold of a node that is silent."""
    sent: set[str] = set()

    def statement(path: Path) -> None:
        state = any_node(path)
        event = any_event(path, any_tock(path, "received"))
        path.claim("nothing", smt.BoolVal(val=True))
        try:
            with overriding(INSTEAD):
                _, effects = transitions.step(state, event, first)
        except NotEnabled:
            sent.add("refused")
            return
        for message in (effect.message for effect in effects if isinstance(effect, Send)):
            members = [name for name in ("known", "ticks", "missing") if getattr(message, name, None)]
            sent.add(" ".join([type(message).__name__, *members, str(len(message.chain.elements) > 1)]))

    proved(statement)
    assert sent >= {"Ping False", "Ping True", "Update False", "Update True", "refused"}
    assert sent >= {"Info ticks True", "Info ticks False", "Info missing False", "Info known False"}
