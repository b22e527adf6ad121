"""Ticks and tocks, and who misses what."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

import pytest

from peerproof.spec.core import Asked, Instant, NodeId, Received, Send, Table
from peerproof.spec.distkv import STATE, Chain, Config, Element, Ping, SetValue, State, step
from peerproof.spec.distkv.paths import ROOT
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.ticks import with_elements
from peerproof.spec.distkv.values import NULL
from peerproof.spec.errors import NotEnabled

from .samples import chain, sets

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


def test_there_is_a_last_tick_and_a_last_tock() -> None:
    """[D-26, DA-17, DA-86]"""
    assert sent(TICK_MAX - 1, "change") == [TICK_MAX]
    with pytest.raises(NotEnabled) as caught:
        sent(TICK_MAX, "change")
    assert caught.value.reason == "exhausted"


def test_elements_without_ticks_are_nothing_to_know() -> None:
    """[D-10, D-58]"""
    assert with_elements(Table(), chain("a2 b? a1").elements) == sets(a=((1, 3),))
