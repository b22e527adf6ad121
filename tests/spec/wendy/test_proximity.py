"""Scores: who is asked for one, what is remembered, and for how long."""

from __future__ import annotations

from dataclasses import replace

from peerproof.spec.core import Table
from peerproof.spec.wendy import FlushCache, Heartbeat, NodeExit, State, StateData, Versions
from peerproof.spec.wendy.state import CACHE_MS, MOST_MEASURED

from .nodes import (
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


def cell(state: State, row: int, column: int) -> str | None:
    """Who is in a cell."""
    there = state.routing_table.get((row, column))
    return None if there is None else name(there)


def test_a_cached_score_is_used_and_nobody_is_asked() -> None:
    """WC-53: the node in the cell is better. [W-52, WA-21]"""
    state = replace(node("00", cells="11", scores={"11": 10}), cache=Table({h("12"): 50, h("11"): 10}))

    after, effects = received(state, data("11", tables(rt="12")))

    assert sends(effects) == []
    assert cell(after, 0, 1) == "11"


def test_an_unknown_node_is_asked_once_and_tried_when_it_has_answered() -> None:
    """[W-51, W-52, W-53]"""
    state = node("00", cells="11", near="11", scores={"11": 10})

    waiting, effects = received(state, data("11", tables(rt="12")))
    assert [(to, type(message)) for to, message in sends(effects)] == [("12", Heartbeat)]
    assert waiting.known.keys() == {h("11")}
    assert sends(received(waiting, data("11", tables(rt="12"))).effects) == []

    after, _ = sent(waiting, effects[-1], took=5)
    assert cell(after, 0, 1) == "12"
    assert after.cache[h("12")] == 5
    assert [name(one) for one in after.neighborhood_set] == ["12", "11"]


def test_a_node_that_does_not_answer_comes_into_no_table() -> None:
    """WC-55. [WA-20]"""
    state = node("00", cells="11", right="11", near="11")

    after, effects = settled(received(state, data("11", tables(rt="12"))), took=None)

    assert [to for to, _ in sends(effects)] == ["12"]
    assert after.known == state.known
    assert after.versions == state.versions
    assert after.measured == Table()
    assert notices(effects) == []


def test_the_cache_is_emptied_every_hour() -> None:
    """WC-54: just before, a cached score still counts; afterwards the node is asked. [W-09, WA-19]"""
    state = replace(node("00", right="20"), cache=Table({h("12"): 50}))
    message = data("20", tables(rt="12"))

    assert sends(received(state, message).effects) == []
    flushed, effects = expired(state, FlushCache())
    assert timers(effects) == [(FlushCache(), CACHE_MS)] == [(FlushCache(), 3_600_000)]
    assert [to for to, _ in sends(received(flushed, message).effects)] == ["12"]
    assert flushed.scores == state.scores


def test_every_message_that_arrives_measures() -> None:
    """The neighbours change places. [W-07, WA-18, WA-22]"""
    state = node("00", near="11 12", scores={"11": 10, "12": 20})
    effect = received(state, data("12", tables(rt="13"))).effects[0]

    after, _ = sent(state, replace(effect, to=place("12")), took=5)

    assert [name(one) for one in after.neighborhood_set] == ["12", "11"]
    assert (after.scores[h("12")], after.cache[h("12")]) == (5, 5)
    assert after.versions == state.versions


def test_a_sender_of_tables_and_its_leaves_are_taken_in_at_once() -> None:
    """WC-52: the leaf set needs no score. [WA-20, WA-34]"""
    after, effects = received(node("40"), data("50", tables(rt="60", ls=("", "55")), versions=(1, 2, 3)))

    assert leaves(after) == ([], ["5", "55"])
    assert [to for to, _ in sends(effects, Heartbeat)] == ["50", "55", "60"]
    assert after.stored[h("50")] == Versions(1, 2, 3)
    assert after.routing_table == Table()


def test_once_measured_a_node_is_tried_in_all_tables() -> None:
    """[W-56, WA-48]"""
    after, _ = settled(received(node("40"), data("50", tables(rt="60", ls=("", "55"), ns="70"))))

    assert leaves(after) == ([], ["5", "55", "6", "7"])
    assert {name(one) for one in after.routing_table.values()} == {"5", "6", "7"}
    assert [name(one) for one in after.neighborhood_set] == ["5", "55", "6", "7"]
    assert after.measured == Table()


def test_a_leaf_that_does_not_answer_goes_again() -> None:
    """[WA-20, WA-24]"""
    waiting, effects = received(node("40"), data("50", tables(ls=("", "55"))))

    after, told = sent(waiting, effects[1], took=None)

    assert leaves(after) == ([], ["5"])
    assert after.departed == {h("55")}
    assert [to for to, _ in sends(told)] == ["50"]


def test_what_has_no_address_is_passed_over() -> None:
    """[WA-52]"""
    nowhere = peer("12")._replace(local_ip="", global_ip="", port=0)
    tables_sent = tables(ls=("", ""))._replace(neighborhood_set=(nowhere, peer("13")._replace(port=0)))

    after, effects = received(node("40", right="50"), data("50", tables_sent))

    assert sends(effects) == []
    assert after.known.keys() == {h("50")}


def test_who_has_the_own_address_is_passed_over() -> None:
    """It was this node before it got another id; what is sent to it would come back. [WA-52]"""
    ghost = peer("40")._replace(id=h("41"))
    state = node("40", right="50")

    listed, effects = received(state, data("50", tables(ls=("", ""))._replace(neighborhood_set=(ghost,))))
    assert (set(listed.known), effects) == ({h("50")}, ())
    moved = replace(header("50"), sender=ghost._replace(id=h("50")))
    assert received(state, StateData(moved, tables())).state.known == state.known


def test_own_id_in_received_tables_is_passed_over() -> None:
    """[WA-15, WA-36]"""
    after, effects = received(node("40", right="50"), data("50", tables(rt="40", ls=("40", "40"), ns="40")))

    assert sends(effects) == []
    assert after.known.keys() == {h("50")}


def test_at_most_so_many_are_measured_at_once() -> None:
    """Whoever lists strangers without end makes nobody work without end. [WA-54]"""
    state = node("40", right="50")
    for start in range(3):
        strangers = tuple(peer(f"8{start:x}{i:03x}") for i in range(512))
        state, effects = received(state, StateData(header("50"), tables()._replace(neighborhood_set=strangers)))

    assert len(state.measured) == MOST_MEASURED == 1024
    assert len(sends(effects)) == 0


def test_what_a_node_says_of_itself_counts_and_what_others_say_does_not() -> None:
    """[WA-68]"""
    state = node("40", right="50 55", cells="50", near="50 55")
    moved = peer("55")._replace(port=5)

    hearsay, _ = received(state, data("50", tables(ls=("", ""))._replace(neighborhood_set=(moved,))))
    itself, _ = received(state, StateData(replace(header("55"), sender=moved), tables()))

    assert hearsay.known[h("55")].port == 4000
    assert itself.known[h("55")].port == 5
    assert itself.versions == state.versions


def test_a_node_that_moved_while_it_was_measured_is_measured_again() -> None:
    """[WA-68]"""
    wrong = peer("55")._replace(port=5)
    waiting, first = received(node("40", right="50"), data("50", tables()._replace(neighborhood_set=(wrong,))))

    again, second = received(waiting, data("55", tables()))
    late, _ = sent(again, first[0], took=None)
    after, _ = sent(late, second[0], took=7)

    assert late.measured.keys() == {h("55")}
    assert after.known[h("55")] == peer("55")
    assert after.scores[h("55")] == 7


def test_scores_and_versions_of_the_forgotten_are_forgotten() -> None:
    """[W-05, W-63]"""
    state, _ = received(node("00", cells="11", near="11"), data("11", tables(), versions=(1, 1, 1)))
    assert state.stored.keys() == state.scores.keys() == {h("11")}

    after, _ = received(state, NodeExit(header("11")))

    assert (after.stored, after.scores) == (Table(), Table())
