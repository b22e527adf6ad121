"""Rounds: who is pinged when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from peerproof.spec.swim import Uuid

from .nodes import B, messages, node, quantum, row


def pinged(taken: Any) -> list[Uuid]:
    """Who is pinged in a step."""
    return [message.target for message in messages(taken)]


@pytest.mark.parametrize("others", [1, 2, 3, 4, 5, 8, 9, 20])
def test_in_a_round_everybody_is_pinged_exactly_once(others: int) -> None:
    uuids = [Uuid(f"{number:08}-0000-4000-8000-000000000000") for number in range(others)]
    state = node({uuid: row(B, "normal 1 1") for uuid in uuids})
    random = Random(others)

    def pick(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:
        return tuple(random.sample(sorted(among), min(some, len(among))))

    for _ in range(3):
        counts: Counter[Uuid] = Counter()
        while len(counts) < others or state.vector:
            taken = quantum(state, pick)
            counts.update(pinged(taken))
            state = taken.state
            state = replace(state, heard=True, answered=state.pinged)  # nobody is suspected
        assert set(counts.values()) == {1}
        assert len(counts) == others
