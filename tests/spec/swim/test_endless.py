"""Worlds whose counters have the same order go on in the same way, so that one may stand for all."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec.model.bounded import System, World
from peerproof.spec.swim.model.bounded import Model
from peerproof.spec.swim.model.endless import Standing
from peerproof.spec.swim.model.variants import VARIANTS
from peerproof.tla.manifest import configurations

WORLDS = 500


def model(**changes: Any) -> Model:
    constants = configurations("swim")["small-relay"].constants
    return VARIANTS[frozenset({"FirstPicks"})]({**constants, "MaxTx": 40, "MaxNet": 8, "Loss": True} | changes)


def some_worlds(system: System) -> list[World]:
    """As they come, counters and all."""
    found = {system.initial(): None}
    level = list(found)
    while level and len(found) < WORLDS:
        level = [*dict.fromkeys(target for world in level for _, target in System.moves(system, world) if target not in found)]
        found |= dict.fromkeys(level)
    return list(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="relays"),
        pytest.param({"EmitIncarnation": True, "Active": [1, 3], "AeSize": 1}, id="incarnations in all events"),
        pytest.param({"Start": "fresh", "Active": [2, 3], "AeSize": 1, "Todo": []}, id="joining"),
    ],
)
def test_world_and_the_one_that_stands_for_it_have_the_same_edges(changes: dict[str, Any]) -> None:
    system = Standing(model(**changes))

    for world in some_worlds(system):
        stands = system.standing_for(world)

        assert system.standing_for(stands) == stands
        assert sorted(system.moves(stands)) == sorted(
            (label, system.standing_for(to)) for label, to in System.moves(system, world)
        )


def test_first_world_stands_for_itself() -> None:
    system = Standing(model())

    assert system.standing_for(system.initial()) == system.initial()


@pytest.mark.parametrize("changes", [{"Duplication": True}, {"MaxRestarts": 1, "Restarting": [1]}])
def test_neither_duplicates_nor_restarts(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="neither restarts nor duplicates"):
        Standing(model(**changes))
