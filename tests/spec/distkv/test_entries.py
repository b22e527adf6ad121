"""Entries: what an update is to one, what a node knows then, and what it can tell others."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.distkv_samples import chain

from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import Element
from peerproof.spec.distkv.entries import Entries, Entry, change
from peerproof.spec.distkv.messages import Update
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.values import value_of_plain

Stored = tuple[str, Any, int]

#: Elements of a chain. [DA-14]
MOST = 5


def entry(stored: Stored) -> Entry:
    return Entry(chain(stored[0]), value_of_plain(stored[1]), stored[2])


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
