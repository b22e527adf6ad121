"""The bounded world of Peter, where nobody comes or goes, is one of nodes on Wendy."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.peter_nodes import CHAIN

from peerproof.conformance.models.local_steps import local_steps
from peerproof.spec import peter, wendy
from peerproof.spec.model.explorer import explore
from peerproof.spec.peter.model.bounded import Model

STILL: dict[str, Any] = CHAIN | {
    "Knows": [[1, 2], [2, 1], [2, 3], [3, 2]],
    "Hops": "closest",
    "Todo": [[1, 1, "subscribe", 1, 0], [1, 2, "unsubscribe", 1, 0], [2, 1, "subscribe", 1, 0], [3, 1, "publish", 1, 1]],
}


def test_steps_of_a_world_where_nobody_comes_or_goes_are_those_of_nodes_on_wendy() -> None:
    local = local_steps(Model(STILL))

    worlds, ahead = {local.initial()}, [local.initial()]
    while ahead:
        found = {move.target for move in local.moves(ahead.pop())} - worlds
        worlds |= found
        ahead += found
    assert len(worlds) == len(explore(Model(STILL)).depths)
    assert {type(state.lower) for state in local.states} == {wendy.State}
    assert all(peter.STATE.value(peter.STATE.plain(state), state.self_id, state.config) == state for state in local.states)


@pytest.mark.parametrize(
    "change", [{"Todo": [[1, 1, "crash", 0, 0]]}, {"Members": [2, 3]}, {"Knows": [[1, 2], [1, 3]], "Hops": "any"}], ids=str
)
def test_world_where_somebody_comes_or_may_choose_has_no_nodes_on_wendy(change: dict[str, Any]) -> None:
    model = Model(STILL | {"Todo": []} | change)

    with pytest.raises(ValueError, match="no tables"):
        model.project_state(model.nodes[0][1])
