"""Whom a node downloads from, who answers a newcomer, and what is found again after a restart."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec.core import NodeId
from peerproof.spec.distkv import Config, LoadFailed, Phase, initial, stored_of
from peerproof.spec.errors import NotEnabled

from .nodes import config, expires, hears, info, loaded, node, started, stored, wants
from .samples import chain, ping, sets, ticks, update

X, Y, GONE = update("a2 b1", "x", 7), update("a4", None, 7, ("a",)), update("b3", "y", 5, ("y",))

#: What nodes have seen that miss nothing.
SEEN: dict[str, Any] = {"superseded": sets(a=((1, 3),), b=(1,))}

# -- whom to download from --------------------------------------------------------------------------------------------


def test_the_newest_with_data_is_tried_first_then_the_next_then_nobody() -> None:
    """[D-122, DA-70]"""
    state = node("z", Phase.EMPTY)
    done = hears(state, ping("b0 z4 c3 d2", 60))
    assert "load c" in done.said

    second = wants(done.state, LoadFailed(NodeId("c")))
    third = wants(second.state, LoadFailed(NodeId("d")))

    assert second.said == ["load d"]
    assert third.said == []
    assert third.state.source is None
    assert third.state.tried == {"c", "d"}


def test_with_the_next_ping_all_are_tried_again_but_for_a_download_under_way() -> None:
    """[DA-70]"""
    state = node("z", Phase.EMPTY, seen={"c": 3}, last=ping("c3 d2", 40), tried=frozenset(map(NodeId, "cd")))

    again = hears(state, ping("d2 c3 d2", 60))
    busy = hears(node("z", Phase.EMPTY, last=ping("c3 d2", 40), tried=frozenset("cd"), source=NodeId("d")), ping("d2 c3 d2", 60))

    assert "load d" in again.said
    assert not any(one.startswith("load") for one in busy.said)
    assert busy.state.tried == {"d"}


def test_what_nobody_is_downloading_is_refused() -> None:
    """[DA-73]"""
    for command in (loaded("b"), LoadFailed(NodeId("b"))):
        with pytest.raises(NotEnabled) as refused:
            wants(node(source=NodeId("c")), command)
        assert refused.value.reason == "not_loading"


# -- newcomers --------------------------------------------------------------------------------------------------------


def test_dc_105_the_head_answers_a_newcomer_at_once_the_second_after_half_a_clock() -> None:
    """[D-98, D-99, DA-43, DA-68]"""
    a, b = (node(name, seen={"a": 2, "b": 1}, last=ping("a2 b1", 40), **SEEN) for name in "ab")

    first, second = hears(a, ping("n0", 60)), hears(b, ping("n0", 60))

    assert first.said == ["info a2 n0 ticks a2 b1 n0 @61"]
    assert second.said == ["Greeting in 2000"]
    assert expires(second.state, "Greeting").said == ["info b1 n0 ticks a2 b1 n0 @61"]


@pytest.mark.parametrize(("said", "effects"), [({"a": 2, "b": 1, "n": 0}, ["no Greeting"]), ({"a": 1, "b": 1}, [])])
def test_an_answer_that_says_it_all_keeps_others_from_answering(said: dict[str, int], effects: list[str]) -> None:
    """Who is not in it is there with 0. [DA-68]"""
    state = node(
        "b", superseded=sets(a=((1, 3),), b=(1,)), seen={"n": 0}, last=ping("a2 b1", 40), newcomer=chain("n0"), timers="Greeting"
    )

    done = hears(state, info("a2", prev="n0", ticks=ticks(**said)))

    assert done.said == effects
    assert done.state.newcomer == (None if effects else chain("n0"))


def test_of_two_newcomers_the_later_is_answered_when_the_first_would_have_been() -> None:
    """[DA-68]"""
    state = node("b", last=ping("a2 b1", 40), newcomer=chain("n0"), timers="Greeting", **SEEN)

    done = hears(state, ping("m0", 60))

    assert done.said == []
    assert done.state.newcomer == chain("m0")


def test_who_is_not_on_the_chain_answers_no_newcomer() -> None:
    assert hears(node("c", last=ping("a2 b1", 40), seen={"a": 0}), ping("n0", 60)).sent() == []


# -- the disk ---------------------------------------------------------------------------------------------------------


def test_a_node_that_starts_with_what_it_had_has_it() -> None:
    """[DA-81]"""
    state = node(entries=[X, Y, GONE], superseded=sets(a=(1, 3), b=(2,)), tock=40)

    again = started(stored=stored_of(state)).state

    assert (again.tock, again.ticks, again.entries) == (40, state.ticks, state.entries)
    assert again.phase is Phase.OLD


def test_without_entries_a_node_is_empty_but_goes_on_from_its_tick_and_tock() -> None:
    """[DA-46, DA-59, DA-81]"""
    begun = started(stored=stored((), 40, sets(a=((1, 4),)), a=3))

    assert begun.state.phase is Phase.EMPTY
    assert expires(begun.state, "Initial").said[0] == "ping a0 @41"
    assert begun.state.own_tick == 3


@pytest.mark.parametrize("name", ["", "*", "x" * 65, "é" * 33, "\ud800"])
def test_what_is_no_name_is_refused(name: str) -> None:
    """[DA-83]"""
    with pytest.raises(ValueError, match="name of a node"):
        initial(NodeId(name), Config())


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"clock": 7}, "at least 8 milliseconds"),
        ({"ping_length": 0}, "must be from 1"),
        ({"change_length": 0}, "must be from 1"),
        ({"ping_length": 5}, "at least 470, not 459"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(settings: dict[str, int], why: str) -> None:
    """[DA-82, DA-83]"""
    with pytest.raises(ValueError, match=why):
        config(**settings)
