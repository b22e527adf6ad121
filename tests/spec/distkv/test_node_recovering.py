"""What nodes tell each other and ask for when a split has healed, and when something has got lost."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv import Phase
from peerproof.spec.distkv.chains import side_of

from .nodes import CLOCK, expires, hears, info, node, recovery, running
from .samples import chain, ping, sets, ticks, update

#: What nodes have seen that miss nothing they know of.
A7: dict[str, Any] = {"superseded": sets(a=((1, 8),), b=(1,))}
B3: dict[str, Any] = {"superseded": sets(a=((1, 4),), b=((1, 3),), c=(1,))}

#: The chain of [b@2 a@3 c@1], all of one side.
MINE = recovery("b2 a3 c1", "a b c")

# -- step 1: what was seen --------------------------------------------------------------------------------------------


def test_dc_95_the_head_of_the_chain_that_lost_tells_its_ticks_at_once_with_that_chain() -> None:
    """[D-87, D-112, D-113, DA-44, DA-50, DA-74…DA-76]"""
    state = node("a", last=ping("a7 a7 b1 a6 …", 40), **A7)

    done = hears(state, ping("b2 b2 b1 a6 …", 60))

    assert done.said == [
        "Ping in 5000",
        "SplitHealed",
        "Over in 12000",
        "info a7 b2 b2 b1 a6 … ticks a7 b2 reason a7 a7 b1 a6 … @61",
        "Missing in 2000",
    ]
    assert done.state.recovery == recovery("a7 a7 b1 a6 …", "a", lost=True, ping="b2 b2 b1 a6 …")


def test_dc_96_whoever_gets_that_recovers_as_well_and_tells_its_ticks() -> None:
    """[D-70, DA-50]"""
    state = node("b", last=ping("b2 b2 b1 a6 …", 60), superseded=sets(a=((1, 7),), b=((1, 3),)))

    done = hears(state, info("a7", 61, "b2 b2 b1 a6 …", "a7 a7 b1 a6 …", ticks=ticks(a=7, b=2)))

    assert done.said == ["SplitHealed", "Over in 12000", "info b2 … ticks a7 b2 @62", "Missing in 2000"]
    assert done.state.recovery == recovery("b2 b2 b1 a6 …", "b")


def test_a_side_that_wins_gives_no_reason() -> None:
    """[D-69, DA-76]"""
    done = hears(node("a", last=ping("a7 a7 b1 a6 …", 40), **A7), ping("b2 b2 b1 a6 …", 30))

    assert done.sent() == ["info a7 b2 b2 b1 a6 … ticks a7 b2 @51"]
    assert done.state.recovery is not None
    assert not done.state.recovery.lost


@pytest.mark.parametrize("reason", ["b2 a3 c1", "b2 a3 …"])
def test_a_reason_that_is_the_own_chain_begins_nothing(reason: str) -> None:
    """[DA-50]"""
    state = node("a", last=ping("b2 a3 c1", 40), **B3)

    assert hears(state, info("x1", ticks=ticks(a=3), reason=reason)).state.recovery is None


def test_a_split_during_a_recovery_begins_no_other() -> None:
    """[DA-74]"""
    state = node("a", last=ping("b2 a3 c1", 40), recovery=MINE, timers="Over Ticks", **B3)

    done = hears(state, ping("x1 y1", 60))

    assert done.state.recovery == MINE
    assert "SplitHealed" not in done.said
    assert done.state.last == ping("x1 y1", 60)


def test_who_is_not_on_the_chain_recovers_but_takes_no_step() -> None:
    """[DA-74, DA-76, DA-77]"""
    state = node("z", last=ping("b2 a3 c1", 40), superseded=sets(a=((1, 4),), b=((1, 3),), c=(1,)))

    done = hears(state, ping("x1 y1", 60))

    assert running(done.state) == "Ping Over"
    assert running(hears(done.state, info("b2", ticks=ticks(a=9))).state) == "Ping Over"


@pytest.mark.parametrize(("name", "delay"), [("a", "Ticks in 2000"), ("c", "Ticks in 3000")])
def test_dc_70_the_others_wait_for_half_a_clock_and_three_quarters(name: str, delay: str) -> None:
    """[D-125, D-126, DA-06]"""
    done = hears(node(name, last=ping("b2 a3 c1", 40), **B3), ping("x1 y1", 60))

    assert done.said[-1] == delay
    assert done.sent() == []


@pytest.mark.parametrize(
    ("sender", "said", "reason", "is_silenced"),
    [
        ("b2", {"a": 3, "b": 2, "c": 1}, None, True),
        ("b2", {"a": 4, "b": 2, "c": 9}, None, True),
        ("b2", {"a": 3, "b": 1, "c": 1}, None, False),
        ("b2", {"a": 3, "b": 2}, None, False),
        ("x2", {"a": 3, "b": 2, "c": 1}, None, False),
    ],
)
def test_dc_98_ticks_of_the_own_side_that_say_it_all_keep_a_node_from_sending(
    sender: str, said: dict[str, int], reason: str | None, is_silenced: bool
) -> None:
    """[D-89, D-127, DA-05, DA-76]"""
    state = node("a", last=ping("b2 a3 c1", 40), recovery=MINE, timers="Ticks Over", **B3)

    done = hears(state, info(sender, ticks=ticks(**said), reason=reason))

    assert ("no Ticks" in done.said) is is_silenced


@pytest.mark.parametrize("reason", [None, "b2 a3 c1"])
def test_the_side_that_lost_is_silenced_by_ticks_with_a_reason_only(reason: str | None) -> None:
    """[DA-76]"""
    state = node("a", last=ping("b2 a3 c1", 40), recovery=MINE._replace(lost=True), timers="Ticks Over", **B3)

    done = hears(state, info("b2", ticks=ticks(a=3, b=2, c=1), reason=reason))

    assert ("no Ticks" in done.said) is (reason is not None)


def test_what_is_not_silenced_tells_its_own_ticks() -> None:
    """The second node takes over. [D-125]"""
    state = node("a", last=ping("b2 a3 c1", 40), recovery=MINE._replace(lost=True, ping=chain("x1 y1")), **B3)

    assert expires(state, "Ticks").said == ["info a3 x1 y1 ticks a3 b2 c1 reason b2 a3 c1 @51", "Missing in 3000"]


# -- sides ------------------------------------------------------------------------------------------------------------

SIDES: dict[str, tuple[str, str, str]] = {
    "one ping since": ("a7 a7 b1 a6 …", "b2 b2 b1 a6 …", "a"),
    "parted behind the head": ("a4 c2 b3", "d4 c2 b3", "a"),
    "nothing in common": ("b2 a3 c1", "x1 y1", "a b c"),
    "one is all that the other has behind its head": ("b2 a3", "c1 b2 a3", "b"),
    "the head alone": ("a1", "b1", "a"),
    "cut behind what parted": ("a3 b2 …", "c9 d8", "a b"),
    "a chain that repeats itself": ("a1 b1 a1 b1 …", "b1 a1 b1 a1 …", "a"),
}


@pytest.mark.parametrize("name", SIDES)
def test_a_side_is_who_has_pinged_since_the_chains_parted(name: str) -> None:
    """[DA-75]"""
    mine, other, side = SIDES[name]

    assert side_of(chain(mine), chain(other)) == set(side.split())


# -- step 2: what is missed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "delay"), [("b", 2000), ("a", 3000), ("c", 3500)])
def test_dc_71_after_the_ticks_the_nodes_wait_half_a_clock_three_quarters_and_so_on(name: str, delay: int) -> None:
    """[D-115, DA-07, DA-77]"""
    state = node(name, last=ping("b2 a3 c1", 40), recovery=MINE, timers="Over", **B3)

    assert hears(state, info("x1", ticks=ticks(x=5))).said == [f"Missing in {delay}"]


def test_the_second_ticks_message_does_not_start_the_time_anew() -> None:
    """[DA-77]"""
    state = node("b", last=ping("b2 a3 c1", 40), recovery=MINE, timers="Over Missing", **B3)

    assert hears(state, info("x1", ticks=ticks(x=5))).said == []


def test_dc_97_then_a_node_asks_for_what_it_misses_and_the_other_answers_at_once() -> None:
    """[D-114…D-117, DA-77, DA-78]"""
    b2, a = (
        recovery("b2 b2 b1 a6 …", "b"),
        node("a", recovery=recovery("a7 a7 b1 a6 …", "a", lost=True), timers="Over", seen={"b": 2}, **A7),
    )
    replaced = node("b", recovery=b2, timers="Over", superseded=sets(a=((1, 8),), b=(1, 2)))

    asked = expires(a, "Missing")

    assert asked.said == ["info a7 … missing b[2] @51", "Allowed in 40000"]
    question = info("a7", 51, missing=sets(b=(2,)))
    there = node("b", recovery=b2, timers="Over", entries=[update("b2 a6", "v", 30)], superseded=sets(a=((1, 6), 7), b=(1,)))
    assert hears(there, question).said == ["update b2 a6 x v @30"]
    assert hears(replaced, question).said == ["info b2 … known b[2] @52"]


def test_who_misses_nothing_asks_for_nothing() -> None:
    """Not even with an empty list: it would silence a full one (DX-13). [DA-77]"""
    assert expires(node("a", recovery=MINE, timers="Over", **B3), "Missing").said == []


@pytest.mark.parametrize(("sender", "asked_for"), [("b2", "x[3]"), ("y0", "x[1, 2, 3]")])
def test_dc_99_what_the_own_side_has_asked_for_is_not_asked_for_again(sender: str, asked_for: str) -> None:
    """[D-127, DA-05, DA-77]"""
    state = node("a", recovery=MINE, timers="Over Missing", seen={"x": 3}, **B3)

    heard = hears(state, info(sender, missing=sets(x=(1, 2))))

    assert expires(heard.state, "Missing").said == [f"info a3 … missing {asked_for} @61", "Allowed in 40000"]


# -- step 3: what others miss -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "delay"), [("a", 2000), ("c", 3000), ("z", 3750)])
def test_dc_70_answers_come_in_the_order_of_the_chain_and_last_from_who_is_not_on_it(name: str, delay: int) -> None:
    """With and without a recovery. [D-68, D-125, DA-47, DA-78]"""
    for kept in ({"recovery": MINE, "timers": "Over"}, {"last": ping("b2 a3 c1", 40)}):
        done = hears(node(name, **B3, **kept), info("x0", missing=sets(a=((1, 6),), q=(1,))))

        assert done.said == [f"Known in {delay}"]
        assert done.state.wanted == sets(a=((1, 4),))


def test_without_a_chain_a_node_answers_as_one_that_is_off_it() -> None:
    assert hears(node("z", **B3), info("x0", missing=sets(a=(1,)))).said == ["Known in 3750"]


def test_what_nobody_knows_is_answered_by_nothing() -> None:
    """[DA-48]"""
    done = hears(node("b", last=ping("b2 a3 c1", 40), **B3), info("x0", missing=sets(q=(1,), a=(4,))))

    assert done.said == []
    assert done.state.wanted == Table()


def test_a_second_request_does_not_start_the_time_anew() -> None:
    """[DA-78]"""
    state = node("a", last=ping("b2 a3 c1", 40), wanted=sets(a=(1,)), timers="Known", **B3)

    done = hears(state, info("x0", missing=sets(b=(1,))))

    assert done.said == []
    assert done.state.wanted == sets(a=(1,), b=(1,))


def test_dc_100_what_others_have_sent_meanwhile_is_not_sent_again() -> None:
    """[DA-47, DA-78]"""
    state = node("a", last=ping("b2 a3 c1", 40), wanted=sets(x=((1, 4),)), timers="Known", superseded=sets(x=((1, 4),)))

    done = hears(hears(state, update("x2", 1)).state, info("q1", known=sets(x=(3,))))

    assert done.state.wanted == sets(x=(1,))
    assert expires(done.state, "Known").sent() == ["info a0 … known x[1] @61"]


def test_dc_84_answers_are_whole_entries_each_once_then_what_is_superseded() -> None:
    """Those with the lowest tock first, of these those with the lowest path. [D-116, D-117, DA-03, DA-48, DA-51, DA-78]"""
    entries = [update("a5 b2", "z", 9, ("z",)), update("b3", "y", 7, ("y",)), update("c1 a3", None, 7, ("a",))]
    state = node("a", entries=entries, superseded=sets(a=(1, 2), b=(1,)), wanted=sets(a=((1, 6),), b=((1, 3),), c=(1,)))

    done = expires(state, "Known")

    assert done.sent() == ["update c1 a3 a None @7", "update a5 b2 z z @9", "info a5 … known a[1, 2] b[1] @51"]
    assert done.state.wanted == Table()


def test_dc_104_what_is_present_stays_so_whatever_is_said() -> None:
    """[DA-04]"""
    state = node("a", entries=[update("b2", "v", 9)], superseded=sets(b=(1,)))

    done = hears(state, info("b2", known=sets(b=((1, 3),))))

    assert done.state.entries == state.entries
    assert done.state.entries.present() == sets(b=(2,))
    assert done.state.entries.superseded() == sets(b=(1,))


def test_dc_85_what_is_said_to_be_superseded_is_missed_no_more() -> None:
    """And its highest tick counts. [DA-04, DA-64]"""
    done = hears(node("z", superseded=sets(a=((1, 4),))), info("b0", known=sets(a=(4, 6, 7))))

    assert done.state.missing == sets(a=(5,))


# -- the end of a recovery, and repairs -------------------------------------------------------------------------------


def test_after_three_clocks_a_recovery_is_over() -> None:
    """What it has not sent it does not send; what is missing is asked for by and by. [DA-74, DA-79]"""
    state = node("a", recovery=MINE, timers="Over Ticks Missing Known", seen={"x": 3}, wanted=sets(a=(1,)), **B3)

    done = expires(state, "Over")

    assert done.said == ["no Ticks", "no Missing", "Repair in 8000"]
    assert done.state.recovery is None
    assert running(done.state) == "Known Repair"


def test_who_misses_something_asks_after_a_clock_or_two_and_once_in_ten_clocks() -> None:
    """[D-119, D-120, DA-08, DA-79]"""
    done = hears(node("a", **A7), info("b1", ticks=ticks(b=3)), repair_moment=0)
    assert done.said == [f"Repair in {CLOCK}"]
    assert done.asked == [("repair.moment", CLOCK, 2 * CLOCK)]

    asked = expires(done.state, "Repair")
    assert asked.said == ["info a7 … missing b[2, 3] @61", f"Allowed in {10 * CLOCK}"]
    assert hears(asked.state, info("b1", ticks=ticks(b=4))).said == []

    again = expires(hears(asked.state, info("b1", ticks=ticks(b=4))).state, "Allowed")
    assert again.said == [f"Repair in {2 * CLOCK}"]


def test_what_has_arrived_meanwhile_is_not_asked_for() -> None:
    """[DA-79]"""
    state = node("a", seen={"b": 2}, timers="Repair", **A7)

    assert hears(state, update("b2", 1)).said == ["changed x 1", "no Repair"]


@pytest.mark.parametrize("timers", ["Over", "Allowed"])
def test_a_recovery_and_a_recent_request_put_repairs_off(timers: str) -> None:
    """[DA-79]"""
    state = node("a", recovery=MINE if timers == "Over" else None, timers=f"{timers} Repair", seen={"b": 2}, **A7)

    assert "no Repair" in hears(state, info("x1", ticks=ticks(b=3))).said


def test_a_recovery_that_asks_puts_repairs_off_for_ten_clocks_too() -> None:
    """Every `missing` that it sends counts. [DA-79]"""
    asked = expires(node("a", recovery=MINE, timers="Over", seen={"x": 3}, **B3), "Missing")

    assert expires(asked.state, "Over").said == []


def test_who_is_passive_asks_for_nothing() -> None:
    """[DA-42, DA-79]"""
    for phase in (Phase.EMPTY, Phase.OLD):
        assert hears(node(phase=phase), info("b1", ticks=ticks(b=3))).said == []


# -- the order within an info -----------------------------------------------------------------------------------------


def test_of_an_info_what_is_known_comes_before_what_is_missing() -> None:
    """What it says itself need not be answered. [DA-87]"""
    state = node("b", last=ping("b2 a3", 40), wanted=Table(), **B3)

    done = hears(state, info("x0", known=sets(a=(4,)), missing=sets(a=(1, 4))))

    assert done.sent() == ["info b2 … known a[1, 4] @61"]


def test_of_an_info_the_reason_comes_before_the_ticks() -> None:
    """The ticks are the first of the recovery that it begins. [DA-50, DA-87]"""
    state = node("a", last=ping("b2 a3 c1", 40), **B3)

    done = hears(state, info("x1", ticks=ticks(a=3, b=2, c=1, x=1), reason="x1 y1"))

    assert done.said[:3] == ["SplitHealed", "Over in 12000", "Ticks in 2000"]
    assert done.said[3] == "Missing in 3000"


def test_infos_of_its_own_name_are_taken_for_its_ticks_only() -> None:
    """[DA-54]"""
    state = node("a", last=ping("b2 a3 c1", 40), **B3)

    done = hears(state, info("a3", 50, ticks=ticks(x=2), missing=sets(a=(1,)), known=sets(b=(9,)), reason="x1 y1"))

    assert done.said == ["Repair in 8000"]
    assert done.state.ticks == ticks(a=3, b=9, c=1, x=2, y=1)
    assert (done.state.wanted, done.state.recovery) == (Table(), None)


def test_what_others_miss_raises_no_tick() -> None:
    """[DA-64]"""
    done = hears(node("a", **A7), info("b1", missing=sets(q=(5,))))

    assert NodeId("q") not in done.state.ticks
