"""Those who go: how it is noticed, and who is asked for what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.core import CancelTimer, Duration, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import (
    Announce,
    Config,
    FlushCache,
    Heartbeat,
    HeartbeatDue,
    Id,
    Leave,
    Mask,
    NodeAnnouncement,
    NodeExit,
    NodeExited,
    NodeRepair,
    Repair,
    RepairTimeout,
    Stage,
    State,
    StateRequest,
    initial,
)
from peerproof.spec.wendy.state import MOST_DEPARTED

from .nodes import (
    asked,
    data,
    expired,
    h,
    header,
    leaves,
    name,
    node,
    notices,
    peer,
    place,
    received,
    sends,
    sent,
    settled,
    tables,
    timers,
)


def gone(state: State, digits: str) -> Step[State, Any]:
    """The step of a node that hears that another leaves."""
    return received(state, NodeExit(header(digits)))


def questions(effects: Iterable[Any]) -> list[tuple[str, str, Mask]]:
    """Who is asked, by which key, for what."""
    return [(to, name(message.header.key), message.mask) for to, message in sends(effects, NodeRepair)]


def for_cell(row: int, column: int) -> Mask:
    """That cell."""
    return Mask(routing_table=True, rows=(row,), columns=(column,))


LEAVES = Mask(leaf_set=True)
NEIGHBOURS = Mask(neighborhood_set=True)


def test_the_other_nodes_of_the_row_are_asked_for_the_cell() -> None:
    """WC-56: one has a replacement, the other has none. [W-19, W-20, WA-26]"""
    state, effects = gone(node("00", cells="50 20 30"), "50")
    assert questions(effects) == [("20", "0", for_cell(0, 5)), ("30", "0", for_cell(0, 5))]
    assert timers(effects) == [(RepairTimeout(0, 5), 10_000)]
    assert notices(effects) == [NodeExited(peer("50"))]

    state, effects = settled(received(state, data("30", tables(rt=""))))
    assert questions(effects) == []
    state, effects = settled(received(state, data("20", tables(rt="51"))))

    assert name(state.routing_table[0, 5]) == "51"
    assert CancelTimer(RepairTimeout(0, 5)) in effects
    assert state.repairs == Table()


def test_the_next_row_is_asked_if_nobody_is_left_in_the_row() -> None:
    """WC-57: for the same cell. [W-21, WA-27]"""
    _, effects = gone(node("12", cells="20 13"), "20")

    assert questions(effects) == [("13", "12", for_cell(0, 2))]


def test_the_next_row_is_asked_if_nobody_in_the_row_has_one() -> None:
    """WC-58. [W-21, WA-26]"""
    state, _ = gone(node("12", cells="20 30 40 13"), "20")

    state, effects = settled(received(state, data("30", tables(rt=""))))
    assert questions(effects) == []
    state, effects = settled(received(state, data("40", tables(rt=""))))

    assert questions(effects) == [("13", "12", for_cell(0, 2))]
    state, effects = settled(received(state, data("13", tables(rt=""))))
    assert questions(effects) == []
    assert CancelTimer(RepairTimeout(0, 2)) in effects  # there is no further row [W-22]
    assert state.repairs == Table()


def test_who_does_not_answer_in_time_has_nothing() -> None:
    """[WA-26]"""
    state, _ = gone(node("12", cells="20 30 13"), "20")

    state, effects = expired(state, RepairTimeout(0, 2))

    assert questions(effects) == [("13", "12", for_cell(0, 2))]
    assert timers(effects) == [(RepairTimeout(0, 2), 10_000)]
    state, effects = expired(state, RepairTimeout(0, 2))
    assert state.repairs == Table()
    assert expired(state, RepairTimeout(0, 2)).effects == ()


def test_who_is_asked_and_goes_is_not_waited_for() -> None:
    """[WA-26]"""
    state, effects = gone(node("12", cells="20 30 13"), "20")

    _, effects = sent(state, effects[1], took=None)

    assert questions(effects) == [
        ("13", "12", for_cell(0, 3)),
        ("13", "12", for_cell(0, 2)),
    ]


def test_a_repair_waits_for_a_candidate_that_is_being_measured() -> None:
    """If that one does not answer, the next row is asked. [WA-20, WA-26]"""
    state, _ = gone(node("12", cells="20 30 13"), "20")

    state, effects = received(state, data("30", tables(rt="21")))
    assert [to for to, _ in sends(effects)] == ["21"]
    state, effects = sent(state, effects[0], took=None)

    assert questions(effects) == [("13", "12", for_cell(0, 2))]


@pytest.mark.parametrize(("lost", "expected"), [("82", "83"), ("7f", "7d"), ("83", "82"), ("7d", "7e")])
def test_the_furthest_leaf_of_the_side_is_asked(lost: str, expected: str) -> None:
    """WC-59. [W-30]"""
    _, effects = gone(node("80", left="7f 7e 7d", right="81 82 83"), lost)

    assert questions(effects) == [(expected, lost, LEAVES)]


def test_on_an_empty_side_nobody_is_asked_and_the_rest_goes_on() -> None:
    """[WA-25, WA-28]"""
    after, effects = gone(node("80", left="7f", near="7f 81"), "7f")

    assert questions(effects) == [("81", "8", NEIGHBOURS)]
    assert leaves(after) == ([], [])


def test_the_answer_of_a_leaf_is_put_into_the_leaf_set() -> None:
    """On both sides, but not who has just gone. [W-30, WA-29, WA-30]"""
    state, _ = gone(node("80", right="81 82 83"), "82")

    after, _ = settled(received(state, data("83", tables(ls=("82 81", "84 7f")))))

    assert leaves(after) == (["7f"], ["81", "83", "84"])


def test_everybody_else_in_the_neighborhood_set_is_asked() -> None:
    """WC-60. [W-36]"""
    _, effects = gone(node("00", near="a b c"), "b")

    assert questions(effects) == [("a", "0", NEIGHBOURS), ("c", "0", NEIGHBOURS)]


def test_somebody_who_goes_is_not_taken_back_on_hearsay() -> None:
    """Until it announces itself, race or not. [WA-30]"""
    state, _ = gone(node("80", right="81 82"), "82")
    hearsay, effects = received(state, data("81", tables(ls=("", "82"), rt="82", owner="81")))
    assert leaves(hearsay) == ([], ["81"])
    assert sends(effects) == []

    warned, _ = received(hearsay, NodeAnnouncement(header("82"), tables()))
    assert warned.departed == frozenset()
    assert leaves(warned) == ([], ["81"])

    back, _ = received(warned, NodeAnnouncement(header("82", versions=(9, 9, 9)), tables()))
    assert leaves(back) == ([], ["81", "82"])


def test_of_the_departed_so_many_are_remembered() -> None:
    """Of more, the farthest is forgotten: it comes into no leaf set. [WA-30]"""
    departed = frozenset(Id(h("40") + 2 * number) for number in range(1, MOST_DEPARTED + 1))
    state = replace(node("40", left="3f", right="90"), departed=departed)

    assert gone(state, "90").state.departed == departed
    assert gone(state, "3f").state.departed == departed
    near = Id(h("40") + 1)
    state = received(state, NodeAnnouncement(header("4" + "0" * 30 + "1", versions=(9, 9, 9)), tables())).state
    assert departed - gone(state, "4" + "0" * 30 + "1").state.departed == {Id(h("40") + 2 * MOST_DEPARTED)}
    assert near in gone(state, "4" + "0" * 30 + "1").state.departed


def test_a_stranger_that_goes_is_nobody() -> None:
    """Nothing is kept of it."""
    state = node("80", right="81")

    assert gone(state, "99") == (state, ())


def test_a_failed_message_is_a_departure() -> None:
    """Whatever message it was. [WA-24]"""
    state = node("80", right="81 82", near="81 82")
    _, effects = expired(state, HeartbeatDue())

    after, told = sent(state, effects[0], took=None)

    assert leaves(after) == ([], ["82"])
    assert notices(told) == [NodeExited(peer("81"))]
    assert questions(told) == [("82", "81", LEAVES), ("82", "8", NEIGHBOURS)]


def test_everybody_known_is_asked_for_a_sign_of_life() -> None:
    """Every five minutes, or as configured, or never. [WA-24]"""
    state = node("80", right="81", near="82", cells="83")

    _, effects = expired(state, HeartbeatDue())

    assert [(to, type(message)) for to, message in sends(effects)] == [(one, Heartbeat) for one in ("81", "82", "83")]
    assert timers(effects) == [(HeartbeatDue(), 300_000)]
    assert timers(initial(place("80"), Config(h("80"))).effects) == [(FlushCache(), 3_600_000), (HeartbeatDue(), 300_000)]
    assert timers(initial(place("80"), Config(h("80"), heartbeat=Duration(0))).effects) == [(FlushCache(), 3_600_000)]
    assert received(state, Heartbeat(header("84"))) == (state, ())


@pytest.mark.parametrize("kind", [StateRequest, NodeRepair])
def test_whoever_asks_for_tables_gets_them(kind: type[StateRequest | NodeRepair]) -> None:
    """And is not taken in. [WA-57]"""
    state = node("80", left="7f", cells="1 2", near="1")

    after, effects = received(state, kind(header("99"), for_cell(0, 2)))
    assert sends(effects) == [("99", data("80", tables(rt="2", owner="80")))]
    assert after == state
    _, effects = received(state, kind(header("99"), Mask(leaf_set=True, neighborhood_set=True)))
    assert sends(effects) == [("99", data("80", tables(ls=("7f", ""), ns="1")))]


def test_a_node_that_leaves_says_so_and_does_nothing_more() -> None:
    """[WA-24, WA-62]"""
    state = replace(node("80", right="81", near="82", cells="83"), repairs=Table({(0, 1): Repair(0, frozenset())}))

    left, effects = asked(state, Leave())

    assert [(to, type(message)) for to, message in sends(effects)] == [(one, NodeExit) for one in ("81", "82", "83")]
    cancelled = [effect.timer for effect in effects if isinstance(effect, CancelTimer)]
    assert cancelled == [FlushCache(), Announce(), HeartbeatDue(), RepairTimeout(0, 1)]
    assert left.stage is Stage.LEFT
    assert received(left, data("81", tables(ls=("", "85")))) == (left, ())
    assert sent(left, effects[0], took=None) == (left, ())
    with pytest.raises(NotEnabled, match="left"):
        asked(left, Leave())
