"""What becomes of changes: the node's own, and those of others; and what messages count besides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv import MESSAGE, DeleteValue, Phase, SetValue
from peerproof.spec.distkv.chains import Element
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.state import NAMES_MAX
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import NotEnabled

from .nodes import config, deleting, hears, info, node, setting, wants
from .samples import chain, ping, sets, ticks, update

LAST = 2**63 - 1

# -- own changes ------------------------------------------------------------------------------------------------------


def test_a_change_raises_tick_and_tock_by_one_and_tells_everybody() -> None:
    """[D-09, D-42, D-49, D-51, DA-21, DA-80]"""
    done = wants(node(tock=50, superseded=sets(a=((1, 4),))), setting("x", [1, "é", None]))

    assert done.said == ["update a4 x [1, 'é', None] @51", "changed x [1, 'é', None]"]
    assert (done.state.own_tick, done.state.tock) == (4, 51)


def test_a_change_is_put_in_front_of_those_before_and_what_it_removes_is_superseded() -> None:
    """[D-12, D-16, D-44, DA-15, DA-80]"""
    state = node(entries=[update("b2 a3 c1", "old", 9)], superseded=sets(a=(1, 2), b=(1,)))

    done = wants(state, setting("x", "new"))

    assert done.said[0] == "update a4 b2 c1 x new @51"
    assert done.state.entries.superseded() == sets(a=((1, 4),), b=(1,))


def test_a_chain_that_would_be_too_long_loses_its_oldest() -> None:
    """[D-14, D-15, D-19, DA-13]"""
    done = wants(node(entries=[update("b2 c1 d1 e1", "old", 9)]), setting("x", "new"))

    assert done.said[0] == "update a1 b2 c1 d1 … x new @51"
    assert done.state.entries.superseded() == sets(e=(1,))


def test_to_set_the_same_and_to_delete_what_is_not_there_are_changes() -> None:
    """[DA-10, DA-80]"""
    state = node(entries=[update("a1", "v", 9)])

    assert wants(state, setting("x", "v")).said == ["update a2 x v @51", "changed x v"]
    assert wants(state, deleting("y")).said == ["update a2 y None @51", "changed y None"]
    gone = wants(state, deleting("x"))
    assert gone.said == ["update a2 x None @51", "changed x None"]
    assert gone.state.entries.value(path_of(["x"])) is None
    assert path_of(["x"]) in gone.state.entries.rows


def test_dc_101_a_change_that_does_not_fit_is_refused_and_nothing_of_it_happens() -> None:
    """[DA-12]"""
    state = node(config=config(change_length=5))
    fits = wants(state, setting("x", "v" * 410))
    room = 459 - len(payload(update("a1", "v" * 410, 51)))
    assert fits.said

    wants(state, setting("x", "v" * (410 + room)))
    with pytest.raises(NotEnabled, match="has 460 bytes") as refused:
        wants(state, setting("x", "v" * (411 + room)))
    assert refused.value.reason == "too_large"


@pytest.mark.parametrize("kept", [{"seen": {"a": LAST}}, {"tock": LAST}])
def test_after_the_last_tick_or_tock_there_is_no_change(kept: dict[str, Any]) -> None:
    """[DA-17, DA-80]"""
    with pytest.raises(NotEnabled) as refused:
        wants(node(**kept), setting("x", 1))
    assert refused.value.reason == "exhausted"


def test_applications_do_not_reach_the_hierarchy_about_the_system() -> None:
    """[D-36, DA-26, DA-80]"""
    for command in (SetValue(path_of([None, "x"]), value_of_plain(1)), DeleteValue(path_of([None]))):
        with pytest.raises(NotEnabled) as refused:
            wants(node(), command)
        assert refused.value.reason == "bad_path"


def test_updates_reach_it() -> None:
    assert hears(node(), update("b1", 1, 2, (None, "x"))).said == ["changed None/x 1"]


# -- changes of others ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", Phase)
def test_dc_53_an_update_is_applied_in_every_phase(phase: Phase) -> None:
    """[D-57, DA-84]"""
    done = hears(node("z", phase, seen={"z": 0}), update("b1", "v", 60))

    assert done.said == ["changed x v", *(["Ready"] if phase is Phase.SETTLING else [])]
    assert done.state.tock == 60
    assert done.state.ticks == ticks(b=1, z=0)


# id: (what is there, what comes, whether it stays, what is superseded)
UPDATES: dict[str, tuple[Any, Any, bool, Any]] = {
    "DC-54 a duplicate": (update("b3", "v", 20), update("b3", "v", 20), False, Table()),
    "DC-55 stale": (update("b3", "v", 20), update("b2", "old", 15), False, sets(b=(2,))),
    "DC-56 the next": (update("b3", "v", 20), update("c1 b3", "w", 25), True, Table()),
    "DC-57 the next of the same node": (update("b3", "v", 20), update("b4", "w", 25), True, sets(b=(3,))),
    "DC-58 a conflict that wins": (update("b4 d1", "v", 30), update("c6 d1", "w", 31), True, sets(b=(4,))),
    "DC-59 a conflict that loses": (update("b4 d1", "v", 30), update("c6 d1", "w", 29), False, sets(c=(6,))),
    "DC-60 what was deleted": (update("b5", None, 20), update("b4", "w", 99), False, sets(b=(4,))),
    "a conflict by the tick": (update("b4", "v", 30), update("c6", "w", 30), True, sets(b=(4,))),
    "a conflict by the name": (update("b4", "v", 30), update("c4", "w", 30), False, sets(c=(4,))),
}


@pytest.mark.parametrize("name", UPDATES)
def test_what_becomes_of_an_update(name: str) -> None:
    """[D-22, DA-01, DA-02, DA-84]"""
    stored, arrived, stays, superseded = UPDATES[name]

    done = hears(node("z", entries=[stored]), arrived)

    (row,) = done.state.entries.rows.values()
    kept = arrived if stays else stored
    assert (row.chain, row.value, row.tock) == (kept.chain, kept.value, kept.tock)
    assert [one for one in done.said if one.startswith("changed")] == ([f"changed x {'w'}"] if stays else [])
    assert done.state.entries.superseded() == superseded
    assert done.sent() == []


def test_dc_15_a_change_that_comes_with_another_value_is_a_contradiction() -> None:
    """What is there stays. [DA-18]"""
    done = hears(node("z", entries=[update("b2", "v", 9)], superseded=sets(b=(1,))), update("b2 c1", "w", 9))

    assert done.said == ["contradiction x b2"]
    assert done.state.entries.value(path_of(["x"])) == value_of_plain("v")
    assert done.state.entries.superseded() == sets(b=(1,), c=(1,))


def test_dc_106_a_chain_that_is_too_long_for_this_node_is_cut_when_it_is_stored() -> None:
    """[D-14, DA-85]"""
    done = hears(node("z", config=config(change_length=2)), update("c1 b1 a1", "v"))

    assert [row.chain for row in done.state.entries.rows.values()] == [chain("c1 b1 …")]
    assert done.state.entries.superseded() == sets(a=(1,))


def test_what_stands_on_a_chain_again_is_superseded_no_more() -> None:
    """[DA-84]"""
    state = node("z", entries=[update("b4 d1", "v", 30)], superseded=sets(c=(1,)))

    done = hears(state, update("d2 c1 b4", "w", 31))

    assert done.state.entries.superseded() == sets(d=(1,))
    assert done.state.entries.present() == sets(b=(4,), c=(1,), d=(2,))


def test_dc_49_who_sends_a_change_again_is_nothing_to_it_but_its_tick_counts() -> None:
    """[DA-49, DA-64]"""
    done = hears(node("z", seen={"y": 1}), replace(update("b1", "v"), sender=Element(NodeId("y"), 3)))

    assert done.said == ["changed x v", "Repair in 8000"]
    assert done.state.missing == sets(y=((1, 4),))


# -- what every message counts for ------------------------------------------------------------------------------------


def test_dc_61_62_the_next_message_has_more_than_the_highest_tock() -> None:
    """[D-50, D-53, D-55, DA-21]"""
    assert wants(hears(node(tock=10), update("b1", 1, 15)).state, setting("y", 1)).said[0].endswith("@16")
    state = wants(hears(node(tock=10), update("b1", 1, 4)).state, setting("y", 1)).state
    assert state.tock == 11
    assert wants(hears(state, update("b2", 1, 7)).state, setting("y", 1)).state.tock == 12


MESSAGES: dict[str, tuple[Any, Any]] = {
    "all of an update": (update("b3 c2 d1"), ticks(b=3, c=2, d=1)),
    "all of a ping": (ping("b3 c2 b9 d? …"), ticks(b=9, c=2)),
    "an info's sender and what it answers": (info("b3", prev="n0 c2"), ticks(b=3, c=2, n=0)),
    "its reason": (info("b3", ticks=ticks(c=1), reason="d4 c2"), ticks(b=3, c=2, d=4)),
    "its ticks": (info("b3", ticks=ticks(c=2, b=2)), ticks(b=3, c=2)),
    "the highest of what is known": (info("b3", known=sets(c=((1, 4), 9))), ticks(b=3, c=9)),
    "not what is missing": (info("b3", missing=sets(c=(9,))), ticks(b=3)),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_dc_83_the_highest_tick_of_each_node_counts(name: str) -> None:
    """[D-65, D-66, DA-45, DA-64]"""
    message, seen = MESSAGES[name]

    assert hears(node("z"), message).state.ticks == seen
    higher = ticks(**{str(one): tick + 1 for one, tick in seen.items()})
    assert hears(replace(node("z"), ticks=higher), message).state.ticks == higher


def test_an_own_tick_that_others_know_is_continued_from() -> None:
    """[D-114, DA-46]"""
    state = hears(node("a", Phase.SETTLING), info("b0", known=sets(a=((1, 8),)))).state

    assert wants(state, setting("x", 1)).said[0] == "update a8 x 1 @61"


def test_dc_103_an_own_change_that_this_node_never_made_is_somebody_elses() -> None:
    """[DA-63]"""
    state = node("a", seen={"a": 3}, superseded=sets(a=((1, 4),)))

    assert hears(state, update("a4", "v")).said == ["fault name_taken", "changed x v"]
    assert hears(state, update("a3", "v")).said == ["changed x v"]
    assert hears(state, update("b1 a4", "v")).said == ["changed x v"]


def test_a_message_that_brings_one_name_too_many_is_dropped() -> None:
    """[DA-83]"""
    state = replace(node("a"), ticks=Table({NodeId(f"n{number}"): 0 for number in range(NAMES_MAX - 1)}))

    fits = hears(state, update("b1", "v"))
    assert fits.said == ["changed x v"]
    dropped = hears(fits.state, update("c1", "v", 99, ("y",)))
    assert dropped.said == []
    assert dropped.state == fits.state
    assert hears(fits.state, update("b2", "w", 99)).said == ["changed x w"]


def test_messages_are_read_as_they_were_written() -> None:
    for message, _ in MESSAGES.values():
        assert MESSAGE.decode(MESSAGE.encode(message)) == message
