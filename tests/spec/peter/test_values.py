"""Peter's values as plain data, in traces and fingerprints; what no node can be is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.spec.wendy.nodes import NOW, h, no_choice, node, peer, place
from tests.spec.wendy.test_values import FULL

from peerproof.spec import peter
from peerproof.spec.core import Asked, Specification, Table
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.peter import (
    COMMAND,
    STATE,
    Config,
    Row,
    State,
    topics,
)
from peerproof.spec.stack import Stacked
from peerproof.spec.wendy import Id, Leave, id_text

from .nodes import TEXT, T, U, row

SPEC: Specification = peter


def stacked(lower: Any, rows: dict[Id, Row] | None = None, **changes: Any) -> State:
    """A whole node, which keeps this."""
    below = replace(lower, config=replace(lower.config, is_consulted=True))
    return Stacked(below, topics.State(below.self_id, below.config, Table(rows or {}), **changes))


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


def test_what_is_left_out_is_as_in_a_node_that_has_just_started() -> None:
    state = peter.initial(place("40"), Config(h("40"))).state

    assert STATE.value({}, place("40"), Config(h("40"))) == state
    assert STATE.value({"topics": []}, place("40"), Config(h("40"))) == state


def test_topics_that_differ_make_other_fingerprints() -> None:
    prints = [fingerprint(stacked(node("40"), rows)) for rows in ({}, {T: row(True)}, {U: row(True)}, {T: row(True, par="c0")})]

    assert len(set(prints)) == 4


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (stacked(node("40"), {T: Row()}), "only topics that the node or a child wants"),
        (stacked(node("40"), {T: Row(parent=peer("c0"))}), "only topics that the node or a child wants"),
        (stacked(node("40"), {T: row(ch="40")}), "none of them the node itself"),
        (stacked(node("40"), {T: row(True, par="40")}), "none of them the node itself"),
        (stacked(node("40"), {T: Row(is_local=True, parent=peer("c0")._replace(port=0))}), "addresses of their own"),
        (stacked(node("40", right="40"), {}), "without the node itself"),
    ],
)
def test_a_state_that_no_node_can_be_in_is_refused(wrong: State, expected: str) -> None:
    """[PA-04, PA-30]"""
    with pytest.raises(MalformedMessage, match=expected):
        STATE.value(STATE.plain(wrong), wrong.self_id, wrong.lower.config)


def test_too_many_children_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """[PA-29]"""
    monkeypatch.setattr("peerproof.spec.peter.snapshot.MOST_CHILDREN", 2)
    few, many = (stacked(node("40"), {T: row(ch=children), U: row(ch="a0")}) for children in ("a0", "a0 90"))

    assert STATE.value(STATE.plain(few), few.self_id, few.lower.config) == few
    with pytest.raises(MalformedMessage, match="at most 2 children"):
        STATE.value(STATE.plain(many), many.self_id, many.lower.config)


@pytest.mark.parametrize("nowhere", [peer("50")._replace(port=0), peer("50")._replace(local_ip="n40", global_ip="n40")])
def test_a_state_with_nodes_that_cannot_be_reached_is_refused(nowhere: Any) -> None:
    """No parent could be asked there. [WA-52]"""
    wrong = stacked(replace(node("40"), routing_table=Table({(0, 5): nowhere})))

    with pytest.raises(MalformedMessage, match="tables of nodes with addresses of their own"):
        STATE.value(STATE.plain(wrong), wrong.self_id, wrong.lower.config)


@pytest.mark.parametrize(
    "plain",
    [
        {"type": "subscribe", "topic": 5},
        {"type": "publish", "topic": TEXT, "value": None},
        {"type": "publish", "topic": TEXT, "value": "xy"},
        {"type": "forward", "message": {}},
        {"type": "send_to", "key": id_text(T)},
    ],
    ids=ascii,
)
def test_plain_data_that_shows_no_command_is_refused(plain: Any) -> None:
    """What Wendy offers to trees is not offered to applications on trees."""
    with pytest.raises(MalformedMessage):
        COMMAND.value(plain)
