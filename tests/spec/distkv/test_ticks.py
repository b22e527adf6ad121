"""Ticks and tocks, and who misses what."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

import pytest

from peerproof.spec.core import Asked, Instant, NodeId, Received, Send, Table
from peerproof.spec.distkv import STATE, Chain, Config, Element, Ping, SetValue, State, step
from peerproof.spec.distkv.paths import ROOT
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.ticks import difference, intersection, latest, missing_sets, union, with_elements
from peerproof.spec.distkv.values import NULL
from peerproof.spec.errors import NotEnabled

from .samples import chain, sets, ticks

Choice = TypeVar("Choice", bound=str | int)


def sent(tock: int, *events: int | str) -> list[int]:
    """The tocks of the changes that a node makes after pings with these have come."""
    state: State = STATE.value({"phase": "ready", "tock": str(tock)}, NodeId("a"), Config())
    found = []
    for event in events:
        if isinstance(event, int):
            ping = Ping(Chain((Element(NodeId("b"), 0),)), event)
            state = step(state, Received(Instant(0), NodeId("b"), ping), first).state
        else:
            state, effects = step(state, Asked(Instant(0), SetValue(ROOT, NULL)), first)
            found += [effect.message.tock for effect in effects if isinstance(effect, Send)]
    return found


def first(why: str, among: Collection[Choice], some: int = 1) -> tuple[Choice, ...]:  # the same everywhere
    """Chance that always takes the first."""
    return tuple(among)[:some]


def test_what_is_sent_has_a_greater_tock_than_all_that_came_or_was_sent() -> None:
    """A lower one that comes is no error and lowers nothing. [D-53…D-55, DC-61, DC-62]"""
    assert sent(10, 15, "change") == [16]
    assert sent(10, 4, "change", 7, "change") == [11, 12]


def test_there_is_a_last_tick_and_a_last_tock() -> None:
    """[D-26, DA-17, DA-86]"""
    assert sent(TICK_MAX - 1, "change") == [TICK_MAX]
    with pytest.raises(NotEnabled) as caught:
        sent(TICK_MAX, "change")
    assert caught.value.reason == "exhausted"


def test_what_is_missing_is_what_is_not_known_up_to_the_tick() -> None:
    """Nodes of whom nothing is missing are left out. [D-67, D-115, DA-25, DC-82]"""
    known = sets(a=(1, (3, 6)), c=((1, 3),))

    assert missing_sets(ticks(a=7, b=0, c=2), known) == sets(a=(2, (6, 8)))


def test_of_two_ticks_the_greater_one_counts() -> None:
    """[D-114, DA-45, DA-46, DC-83]"""
    assert latest(ticks(a=7, b=2), ticks(a=5, b=4, c=1)) == ticks(a=7, b=4, c=1)
    assert latest(ticks(), ticks(a=0)) == ticks(a=0)


def test_what_somebody_else_knows_is_not_missing_any_more() -> None:
    """[D-62, D-117, DC-85]"""
    known = union(sets(a=((1, 4),)), sets(a=(4, (6, 8))))

    assert known == sets(a=((1, 5), (6, 8)))
    assert missing_sets(ticks(a=7), known) == sets(a=(5,))


def test_tables_have_no_rows_that_say_nothing() -> None:
    assert union(Table(), {**sets(), **{node: row.difference(row) for node, row in sets(a=(1,)).items()}}) == Table()
    assert difference(sets(a=(1,), b=(1, 2)), sets(a=(1,), b=(2,))) == sets(b=(1,))
    assert intersection(sets(a=(1,), b=(1, 2)), sets(b=(2,), c=(3,))) == sets(b=(2,))


def test_elements_without_ticks_are_nothing_to_know() -> None:
    """[D-10, D-58]"""
    assert with_elements(Table(), chain("a2 b? a1").elements) == sets(a=((1, 3),))
