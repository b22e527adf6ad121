"""Peter's values as plain data, in traces and fingerprints; what no node can be is refused."""

from __future__ import annotations

import json

import pytest
from tests.spec.wendy.test_values import FULL
from tests.support.peter_nodes import T, U, row, stacked
from tests.support.wendy_nodes import NOW, h, no_choice, node, place

from peerproof.spec import peter
from peerproof.spec.core import Asked, Specification
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.peter import STATE, Config, State
from peerproof.spec.wendy import Leave

SPEC: Specification = peter


STATES: dict[str, State] = {
    "just started": peter.initial(place("40"), Config(h("40"))).state,
    "in the middle of all": stacked(FULL, {T: row(True, "a0 90", "c0"), U: row(ch="a0")}),
    "at the meeting point": stacked(node("40", right="50"), {T: row(True)}),
}
STATES["having left"] = peter.step(STATES["in the middle of all"], Asked(NOW, Leave()), no_choice).state


@pytest.mark.parametrize("name", STATES)
def test_a_state_and_its_plain_data_are_each_others(name: str) -> None:
    state = STATES[name]
    plain = json.loads(json.dumps(STATE.plain(state)))

    assert STATE.value(plain, state.self_id, state.lower.config) == state
    assert fingerprint(STATE.value(plain, state.self_id, state.lower.config)) == fingerprint(state)
