"""Entries: what an update is to one, what a node knows then, and what it can tell others."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import Element
from peerproof.spec.distkv.entries import Entries, Entry, Outcome, answer, apply, change
from peerproof.spec.distkv.messages import Update
from peerproof.spec.distkv.paths import ROOT, path_of
from peerproof.spec.distkv.ticks import with_elements
from peerproof.spec.distkv.values import NULL, value_of_plain

from .samples import chain, element, sets, update

Stored = tuple[str, Any, int]

#: Elements of a chain. [DA-14]
MOST = 5


def entry(stored: Stored) -> Entry:
    return Entry(chain(stored[0]), value_of_plain(stored[1]), stored[2])


# id: (stored, update, outcome, superseded); each of the first two is chain, value, tock
UPDATES: dict[str, tuple[Stored | None, Stored, Outcome, str]] = {
    "DC-53": (None, ("a1", "x", 5), Outcome.ACCEPT, ""),
    "DC-54": (("a3", "v1", 20), ("a3", "v1", 20), Outcome.DUPLICATE, ""),
    "DC-55": (("a3", "v1", 20), ("a2", "old", 15), Outcome.STALE, "a2"),
    "DC-56": (("a3", "v1", 20), ("b1 a3", "v2", 25), Outcome.ACCEPT, ""),
    "DC-57": (("a3", "v1", 20), ("a4", "v3", 25), Outcome.ACCEPT, "a3"),
    "DC-58": (("a4 c1", "A", 30), ("b6 c1", "B", 31), Outcome.CONFLICT_ACCEPT, "a4"),
    "DC-59": (("a4 c1", "A", 30), ("b6 c1", "B", 29), Outcome.CONFLICT_IGNORE, "b6"),
    "DC-60 a tombstone": (("a5", None, 30), ("a4", "z", 26), Outcome.STALE, "a4"),
    "equal tocks, higher tick": (("a4", "A", 30), ("b6", "B", 30), Outcome.CONFLICT_ACCEPT, "a4"),
    "equal tocks and ticks, higher name": (("a4", "A", 30), ("b4", "B", 30), Outcome.CONFLICT_IGNORE, "b4"),
    "the same change with another value": (("a3", "v1", 20), ("a3", "v2", 20), Outcome.CONTRADICTION, ""),
    "the same change as another type": (("a3", 1, 20), ("a3", True, 20), Outcome.CONTRADICTION, ""),
    "each claims to follow the other": (("a1 b2", "A", 5), ("b2 a1", "B", 6), Outcome.CONFLICT_ACCEPT, ""),
}
ACCEPTED = (Outcome.ACCEPT, Outcome.CONFLICT_ACCEPT)


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_is_accepted_if_it_follows_or_wins(name: str) -> None:
    """[D-22, D-57, DA-01, DA-02, DA-18, DA-19]"""
    stored, arriving, outcome, superseded = UPDATES[name]

    applied = apply(stored and entry(stored), update(*arriving), MOST)

    assert applied.outcome is outcome
    assert applied.entry == entry(arriving if stored is None or outcome in ACCEPTED else stored)
    assert applied.superseded == chain(superseded).elements


@pytest.mark.parametrize("name", UPDATES)
def test_a_node_knows_each_change_that_it_saw_on_a_chain(name: str) -> None:
    """[D-16, D-58, DA-04, DC-53…DC-60]"""
    stored, arriving, outcome, superseded = UPDATES[name]
    before = Entries() if stored is None else Entries().apply_update(update(*stored), MOST)[0]

    after, found = before.apply_update(update(*arriving), MOST)

    assert found is outcome
    assert after.known == with_elements(before.known, chain(arriving[0]).elements)
    assert after.superseded() == with_elements(Table(), chain(superseded).elements)
    assert after.present() == with_elements(Table(), after.rows[path_of(["x"])].chain.elements)


def test_a_change_that_a_chain_brings_back_is_present_and_not_superseded() -> None:
    """It lost, then its successor wins. [DA-04]"""
    lost = Entries().apply_update(update("a1", 1, tock=5), MOST)[0].apply_update(update("b1", 2, tock=4), MOST)[0]

    won = lost.apply_update(update("c1 b1", 3, tock=6), MOST)[0]

    assert lost.superseded() == sets(b=(1,))
    assert won.superseded() == sets(a=(1,))
    assert won.present() == sets(b=(1,), c=(1,))


def test_a_deleted_entry_stays_deleted_until_it_is_set_later() -> None:
    """[D-59, DA-10]"""
    path = path_of(["x"])
    deleted = Entries().apply_update(update("a1", "v", tock=1), MOST)[0].apply_update(update("a2", None, tock=2), MOST)[0]

    assert deleted.rows[path].is_deleted
    assert deleted.value(path) is None
    assert deleted.apply_update(update("a1", "v", tock=1), MOST)[0] == deleted
    assert deleted.apply_update(update("a3", "w", tock=3), MOST)[0].value(path) == value_of_plain("w")
    assert deleted.value(ROOT) is None


def test_being_told_what_is_superseded_makes_nothing_present() -> None:
    """[D-117, DA-04]"""
    told = Entries().mark_superseded(sets(a=((1, 4),)))

    assert told.superseded() == sets(a=((1, 4),))
    assert told.present() == Table()
    assert told.rows == Table()


def test_an_answer_has_each_entry_once_with_its_whole_chain_and_tock() -> None:
    """[D-68, D-116, DA-03, DA-48]"""
    stored = Entries().apply_update(update("c1 b1 a1", 1, tock=9), MOST)[0]

    found = answer(stored, sets(a=(1,), b=(1,), z=(7,)))

    assert found.updates == (update("c1 b1 a1", 1, tock=9),)
    assert found.known == Table()
    assert found.unanswered == sets(z=(7,))


def test_an_answer_says_which_changes_are_superseded_and_leaves_out_what_it_does_not_know() -> None:
    """[D-117, DC-84]"""
    stored = Entries().apply_update(update("a3", 1, tock=9, path=("p",)), MOST)[0].mark_superseded(sets(a=(1,)))

    found = answer(stored, sets(a=((1, 4),)))

    assert [one.path for one in found.updates] == [path_of(["p"])]
    assert found.known == sets(a=(1,))
    assert found.unanswered == sets(a=(2,))


def test_a_chain_that_is_too_long_here_is_cut_and_what_falls_off_is_superseded() -> None:
    """[DA-85, DC-106]"""
    stored = Entries().apply_update(update("c1 b1 a1"), 2)[0]

    assert stored.rows[path_of(["x"])].chain == chain("c1 b1 …")
    assert stored.superseded() == sets(a=(1,))
    assert apply(None, update("c1 b1 a1"), 2).superseded == chain("a1").elements


def test_being_told_that_what_is_present_is_known_changes_nothing() -> None:
    """[DA-04, DC-104]"""
    stored = Entries().apply_update(update("b2 a1"), MOST)[0]

    assert stored.mark_superseded(sets(a=(1,), b=(2,))) == stored


def test_an_answer_begins_with_the_entry_that_was_changed_first() -> None:
    """[DA-51, DA-78]"""
    updates = [update("c1", tock=7, path=("a",)), update("a1", tock=5, path=("z",)), update("b1", tock=5, path=("y",))]
    stored = Entries()
    for one in updates:
        stored = stored.apply_update(one, MOST)[0]

    assert answer(stored, sets(a=(1,), b=(1,), c=(1,))).updates == tuple(reversed(updates))


def test_an_answer_is_silent_about_what_nobody_asked() -> None:
    stored = Entries().apply_update(update("a3", 1, tock=9), MOST)[0].mark_superseded(sets(a=((1, 3),)))

    assert answer(stored, sets(a=(4,))) == ((), Table(), sets(a=(4,)))
    assert answer(stored, Table()) == ((), Table(), Table())


def test_a_change_goes_to_the_head_of_its_entrys_chain() -> None:
    """[D-45, D-49]"""
    stored = Entries().apply_update(update("a3 b2", 1, tock=9), MOST)[0]

    assert change(stored, path_of(["x"]), NULL, element("b5"), 10, 5) == update("b5 a3", None, tock=10)
    assert change(stored, path_of(["y"]), NULL, element("b5"), 10, 5) == update("b5", None, tock=10, path=("y",))


NAMES = [NodeId(name) for name in "abc"]
PATH = path_of(["x"])


@st.composite
def histories(draw: st.DrawFn) -> list[Update]:
    """Updates of one entry, each made by a node that has seen some of those before, with a tock above theirs."""
    most = draw(st.sampled_from([1, 2, 3]))
    stores, tocks, numbers = dict.fromkeys(NAMES, Entries()), dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    made: list[Update] = []
    for number in range(draw(st.integers(2, 6))):
        node = draw(st.sampled_from(NAMES))
        for seen in draw(st.lists(st.sampled_from(made), max_size=3)) if made else []:
            stores[node] = stores[node].apply_update(seen, MOST)[0]
            tocks[node] = max(tocks[node], seen.tock)
        tocks[node] += 1
        numbers[node] += 1
        made.append(change(stores[node], PATH, value_of_plain(number), Element(node, numbers[node]), tocks[node], most))
        stores[node] = stores[node].apply_update(made[-1], MOST)[0]
    return made


@given(histories(), st.randoms(use_true_random=False))
def test_all_who_get_the_same_updates_agree_whatever_the_order_and_how_often(history: list[Update], chance: Any) -> None:
    """[DA-01, DA-02]"""
    ends = []
    for _ in range(4):
        order = [*history, *history[: len(history) // 2]]
        chance.shuffle(order)
        store = Entries()
        for one in order:
            store = store.apply_update(one, MOST)[0]
        ends.append(store)

    assert all(end == ends[0] for end in ends)


@given(histories())
def test_the_tock_of_an_entry_never_decreases(history: list[Update]) -> None:
    """Whatever order its updates come in."""
    for order in itertools.islice(itertools.permutations(history), 24):
        store, last = Entries(), 0
        for one in order:
            store = store.apply_update(one, MOST)[0]
            assert store.rows[PATH].tock >= last
            last = store.rows[PATH].tock
