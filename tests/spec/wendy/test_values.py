"""Wendy's values as plain data, in traces and fingerprints; what no node can be is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.wendy_nodes import h, node, peer, place

from peerproof.spec import wendy
from peerproof.spec.core import Specification, Table
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.fingerprint import Fingerprints, fingerprint
from peerproof.spec.traces.trace import Line, event_of
from peerproof.spec.wendy import STATE, Config, Repair, Stage, State, Versions, initial

SPEC: Specification = wendy

FULL: State = replace(
    node("40", left="3f", right="41 50", cells="50 90", near="90", scores={"90": 7}),
    stage=Stage.WAITING,
    versions=Versions(3, 2, 1),
    cache=Table({h("99"): 8}),
    measured=Table({h("60"): peer("60")}),
    stored=Table({h("50"): Versions(1, 2, 3)}),
    departed=frozenset({h("70")}),
    repairs=Table({(0, 7): Repair(-1, frozenset({h("50")}))}),
    contact=place("10"),
)


@pytest.mark.parametrize("state", [FULL, node("40"), initial(place("40"), Config(h("40"))).state])
def test_a_state_and_its_plain_data_are_each_others(state: State) -> None:
    plain = json.loads(json.dumps(STATE.plain(state)))

    assert STATE.value(plain, state.self_id, state.config) == state
    assert fingerprint(STATE.value(plain, state.self_id, state.config)) == fingerprint(state)


def test_queries_show_ids_as_texts() -> None:
    assert wendy.QUERIES["own"](FULL) == {
        "id": f"4{'0' * 31}",
        "stage": "waiting",
        "versions": {"routing_table": "3", "leaf_set": "2", "neighborhood_set": "1"},
    }
    assert wendy.QUERIES["routing_table"](FULL) == [[0, 5, f"5{'0' * 31}"], [0, 9, f"9{'0' * 31}"]]
    assert wendy.QUERIES["leaf_set"](FULL) == {"left": [f"3f{'0' * 30}"], "right": [f"41{'0' * 30}", f"5{'0' * 31}"]}
    assert wendy.QUERIES["neighborhood_set"](FULL) == [f"9{'0' * 31}"]


def test_credentials_are_part_of_a_fingerprint() -> None:
    """Bytes among the values of a state."""
    states = [replace(FULL, config=replace(FULL.config, credentials=secret)) for secret in (None, b"a", b"b")]

    assert len({fingerprint(state) for state in states}) == 3
    assert [Fingerprints().of(state) for state in states] == [fingerprint(state) for state in states]


@pytest.mark.parametrize("args", [{}, {"took": 1}, {"took": -1, "message": {}}, {"took": 1, "message": {}, "x": 1}, []])
def test_a_line_of_a_message_that_was_sent_has_what_it_took(args: Any) -> None:
    line = Line("r", "wendy", "i", place("40"), 1, 0, "sent", place("1"), args, (), (), None)

    with pytest.raises(MalformedMessage):
        event_of(SPEC, line)
