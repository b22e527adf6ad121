"""How a node begins: as the first, as a new one, with old data, and after it has lost its data."""

from __future__ import annotations

import pytest

from peerproof.spec.core import Expired, NodeId, Table
from peerproof.spec.distkv import Config, Phase, download_of, initial
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import NotEnabled

from .nodes import NOW, TIMERS, config, deleting, do, expires, hears, info, loaded, node, running, setting, started, stored, wants
from .samples import chain, ping, sets, ticks, update

ROOT = value_of_plain("root")

# -- the first message ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("moment", "delay"), [(None, 4000), (2000, 2000), (3999, 3999)])
def test_a_new_node_waits_for_half_a_clock_to_one_before_it_pings(moment: int | None, delay: int) -> None:
    """[D-94, DA-65]"""
    assert started(start=moment).said == [f"Initial in {delay}"]


@pytest.mark.parametrize("moment", [1999, 4001])
def test_no_other_moment_can_be_configured(moment: int) -> None:
    with pytest.raises(ValueError, match="from half a clock to one"):
        config(start=moment)


def test_dc_74_a_start_up_ping_has_the_own_element_alone_and_comes_again_after_three_clocks() -> None:
    """[D-95…D-97]"""
    done = expires(started().state, "Initial")

    assert done.said == ["ping a0 @1", "Initial in 12000"]
    assert done.state.last == ping("a0", 1)
    assert expires(done.state, "Initial").said == ["ping a0 @2", "Initial in 12000"]


def test_a_timer_that_does_not_run_means_nothing() -> None:
    state = node(last=ping("b0"), timers="Ping")

    done = do(state, Expired(NOW, TIMERS["Missing"]))

    assert done.said == []
    assert done.state is state


# -- the first node ---------------------------------------------------------------------------------------------------


def test_dc_86_the_first_node_sets_the_root_and_pings_with_its_tick() -> None:
    """[D-105, DA-72]"""
    begun = started(root=ROOT)
    done = expires(begun.state, "Founding")

    assert begun.said == ["Founding in 4000"]
    assert done.said == ["update a1 / root @1", "changed / root", "Ready", "ping a1 @2", "Initial in 12000"]
    assert done.state.phase is Phase.READY


def test_nobody_founds_a_network_where_there_is_one() -> None:
    """If a chain is authoritative, the node is new as any other. [DA-72]"""
    state = started(root=ROOT).state

    done = expires(hears(state, ping("b1", 7)).state, "Founding")

    assert done.said == []
    assert done.state.phase is Phase.EMPTY
    assert done.state.source == "b"


def test_pings_of_new_nodes_keep_nobody_from_founding() -> None:
    """It has a last then, and decides again when to ping. [DA-72]"""
    state = hears(started(root=ROOT).state, ping("b0", 7)).state

    done = expires(state, "Founding")

    assert done.said == ["update a1 / root @8", "changed / root", "Ready", "Ping in 4000"]


def test_of_two_first_nodes_the_changes_are_concurrent_and_one_root_stays() -> None:
    """[DA-52]"""
    a = expires(started(root=ROOT).state, "Founding").state
    b = expires(started("b", root=value_of_plain("other")).state, "Founding").state

    met = hears(b, update("a1", "root", 1, ())).state
    other = hears(a, update("b1", "other", 1, ())).state

    assert met.entries.rows == other.entries.rows
    assert [one.chain for one in met.entries.rows.values()] == [chain("a1")]


def test_a_node_with_data_is_not_the_first() -> None:
    """[DA-72]"""
    assert started(root=ROOT, stored=stored([update("a1", "x")], a=1)).said == ["Initial in 4000", "OldData in 12000"]


def test_a_root_that_cannot_be_sent_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="more than the 459 bytes"):
        initial(NodeId("a"), Config(root=value_of_plain("x" * 460)))


# -- new nodes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("early", "due"), [(0, 4000), (1, 10000 + 2000)])
def test_dc_87_a_new_node_follows_a_ping_and_wants_to_download(early: int, due: int) -> None:
    """[D-75, D-76, D-77, D-100, DA-39, DA-66, DA-70]"""
    state = expires(started("b").state, "Initial").state

    done = hears(state, ping("a1", 2), ping_early=early)

    assert done.said == ["no Initial", "load a", f"Ping in {due}"]
    assert done.asked[0] == ("ping.early", 0, 19)
    assert done.asked[1:] == ([("ping.late", 10000, 12000)] if early else [])
    assert expires(done.state, "Ping").said[0] == "ping b0 a1 @3"


def test_dc_88_whoever_was_followed_pings_when_its_turn_comes() -> None:
    """[D-72, DA-38, DA-66]"""
    state = expires(started(root=ROOT).state, "Founding").state

    done = hears(state, ping("b0 a1", 3))

    assert done.said == ["no Initial", "Ping in 7000"]
    assert done.state.last == ping("b0 a1", 3)


def test_dc_89_after_the_download_a_node_without_a_tick_is_ready() -> None:
    """[D-103, DA-73]"""
    state = hears(started("b").state, ping("a1", 2)).state

    done = wants(state, loaded("a", [update("a1", "root", 1, ())], tock=2, a=1), ping_early=0)

    assert done.said == ["changed / root", "Ready", "Ping in 4000"]
    assert done.state.phase is Phase.READY
    assert done.state.source is None


def test_dc_90_a_node_that_has_lost_a_change_of_its_own_is_ready_when_it_has_got_it() -> None:
    """[D-123, D-124, DA-73, DA-79]"""
    state = hears(started("b").state, ping("a1", 2)).state

    done = wants(state, loaded("a", tock=8, superseded=sets(a=(1,), b=((1, 5),)), b=5))

    assert done.state.phase is Phase.SETTLING
    assert done.said[-1] == "Repair in 8000"
    assert ("repair.moment", 4000, 8000) in done.asked
    assert expires(done.state, "Repair").said == ["info b5 … missing b[5] @9", "Allowed in 40000"]
    assert hears(done.state, info("a1", known=sets(b=(5,)))).said == ["Ready", "no Repair"]


def test_what_was_lost_comes_back_as_an_update_of_anybody() -> None:
    """[DA-54]"""
    state = node("b", Phase.SETTLING, seen={"b": 1})

    done = hears(state, update("b1", "mine"))

    assert done.said == ["changed x mine", "Ready"]


def test_dc_91_of_two_start_up_pings_all_follow_the_same() -> None:
    """With equal tocks and ticks the lower name. [D-102, DA-65]"""
    y, z = (expires(started(name).state, "Initial").state for name in "yz")

    followed, kept = hears(z, ping("y0", 1), ping_early=1), hears(y, ping("z0", 1))

    assert followed.said == ["no Initial", "Ping in 12000"]
    assert followed.asked[-1] == ("ping.late", 10000, 12000)
    assert kept.said == []
    assert kept.state.last == followed.state.last == ping("y0", 1)
    assert expires(followed.state, "Ping").said[0] == "ping z0 y0 @2"


def test_as_long_as_the_last_ping_is_its_own_first_one_nothing_else_makes_a_node_ping() -> None:
    """Also if it gets ready meanwhile. [DA-65]"""
    state = expires(started().state, "Initial").state

    done = wants(node("a", Phase.EMPTY, last=state.last, source=NodeId("b"), timers="Initial"), loaded("b", b=3))

    assert done.said == ["Ready", "Repair in 8000"]
    assert running(done.state) == "Initial Repair"


def test_dc_92_a_node_without_a_tick_that_may_not_ping_begins_anew_after_three_clocks() -> None:
    """[D-107, DA-09, DA-67]"""
    state = node("z", Phase.EMPTY, seen={"a": 5}, last=ping("a5", 8), timers="Ping")

    done = hears(state, ping("y0 a5", 9))

    assert done.said == ["load a", "no Ping", "Initial in 12000"]
    assert expires(done.state, "Initial").said == ["ping z0 @51", "Initial in 12000"]


def test_its_own_ping_silences_a_node_too() -> None:
    state = node("z", Phase.EMPTY, seen={"a": 5}, last=ping("a5", 8))

    assert expires(state, "Ping").said == ["ping z0 a5 @51", "Initial in 12000"]


def test_a_node_without_data_shows_no_tick_whatever_it_has_learnt() -> None:
    """[D-106, DA-60]"""
    state = hears(started("b").state, ping("a1 b7", 2)).state

    assert state.own_tick == 7
    assert expires(state, "Initial").said[0] == "ping b0 @3"


def test_dc_102_a_node_is_for_applications_when_it_is_ready_only() -> None:
    """[DA-42, DA-80]"""
    for phase in (Phase.EMPTY, Phase.OLD, Phase.SETTLING):
        for command in (setting("x", 1), deleting("x")):
            with pytest.raises(NotEnabled, match="has not yet got") as refused:
                wants(node(phase=phase, seen={"b": 1}), command)
            assert refused.value.reason == "not_ready"


@pytest.mark.parametrize("phase", [Phase.EMPTY, Phase.OLD])
def test_a_passive_node_answers_nothing(phase: Phase) -> None:
    """Neither newcomers, nor requests, nor a split. [D-121, DA-42, DI-18]"""
    state = node(
        "b", phase, entries=[update("a2 b1", 1)] if phase is Phase.OLD else (), last=ping("b1 a2", 5), source=NodeId("a")
    )

    for message in (ping("n0", 60), info("a2", missing=sets(a=(2,))), info("a2", ticks=ticks(a=2), reason="c4 d1")):
        assert hears(state, message).sent() == []
    split = hears(state, ping("c9 d8", 60))
    assert "SplitHealed" not in split.said
    assert split.state.recovery is None


# -- old data ---------------------------------------------------------------------------------------------------------

X, Y, GONE = update("a2 b1", "x", 7), update("a4", None, 7, ("a",)), update("b3", "y", 5, ("y",))


def test_dc_93_old_data_is_for_all_if_nobody_knows_better() -> None:
    """Every entry as it was, the deleted too; those with the lowest tock first, then those with the lowest path. [DA-51]"""
    begun = started(stored=stored([X, Y, GONE], 40, sets(a=(1, 3), b=(2,)), a=4, b=3))
    assert begun.said == ["Initial in 4000", "OldData in 12000"]
    assert begun.state.phase is Phase.OLD

    done = expires(begun.state, "OldData")

    assert done.said == ["update b3 y y @5", "update a4 a None @7", "update a2 b1 x x @7", "Ready"]
    assert done.state.tock == 40


@pytest.mark.parametrize(("last", "is_ready"), [("a4", True), ("b0 c0", True), ("b0 c1", False), ("b5", False)])
def test_old_data_waits_for_who_has_a_tick_but_not_for_itself(last: str, is_ready: bool) -> None:
    """[DA-51]"""
    state = node("a", Phase.OLD, entries=[X], last=ping(last, 60))

    assert ("Ready" in expires(state, "OldData").said) is is_ready


def test_old_data_that_is_ready_already_is_not_sent() -> None:
    assert expires(node(entries=[X]), "OldData").sent() == []


def test_dc_94_old_nodes_give_what_they_have_and_take_what_the_other_has() -> None:
    """Whoever follows downloads. [DA-70, DA-71]"""
    a, b = (started(name, stored=stored([one], 9, a=2, b=1)).state for name, one in (("a", X), ("b", update("b1", "z"))))
    a, b = expires(a, "Initial").state, expires(b, "Initial").state

    follows, given = hears(b, ping("a2", 10)), download_of(hears(a, ping("b1", 10)).state)

    assert follows.said == ["no Initial", "load a", "Ping in 12000"]
    assert given is not None
    assert wants(follows.state, given).state.phase is Phase.READY


@pytest.mark.parametrize("phase", Phase)
def test_who_is_ready_or_old_gives_downloads(phase: Phase) -> None:
    """[DA-71]"""
    given = download_of(node("a", phase, entries=[X, GONE], superseded=sets(b=(2,)), tock=40))

    if phase in (Phase.READY, Phase.OLD):
        assert given == loaded("a", [GONE, X], 40, sets(b=(2,)), a=2, b=3)
    else:
        assert given is None


def test_what_was_away_and_knows_more_tells_it() -> None:
    """[DA-73]"""
    state = node("b", Phase.OLD, entries=[update("b4", "mine", 30)], source=NodeId("a"), last=ping("a2", 3))
    other = update("a2", "its", 31, ("y",))

    more = wants(state, loaded("a", [other], 44, a=2, b=3))
    same = wants(state, loaded("a", [other], 44, a=2, b=4))

    assert more.said[:3] == ["changed y its", "Ready", "info b4 … ticks a2 b4 @51"]
    assert same.sent() == []


def test_a_download_is_applied_by_tock_and_what_is_superseded_is_known() -> None:
    """Tock and ticks count, too. [DA-73]"""
    state = node("b", Phase.EMPTY, tock=3, source=NodeId("a"))
    entries = [update("a2", "second", 9, ("y",)), update("a3", "first", 8)]

    done = wants(state, loaded("a", entries, 40, sets(a=(1,)), a=3))

    assert done.said == ["changed x first", "changed y second", "Ready"]
    assert done.state.tock == 40
    assert done.state.missing == Table()
    assert done.state.entries.superseded() == sets(a=(1,))


def test_the_ticks_of_the_changes_in_a_download_count_also_if_it_does_not_say_so() -> None:
    """Otherwise something would be known beyond the tick of its node. [DA-64, DA-73]"""
    state = node("b", Phase.EMPTY, source=NodeId("a"))

    done = wants(state, loaded("a", [update("a3", "v")], superseded=sets(b=(1,), c=(2,)), a=1))

    assert done.state.ticks == ticks(a=3, b=1, c=2)
    assert done.state.phase is Phase.SETTLING
    assert started(stored=stored([update("a3", "v")], superseded=sets(c=(2,)))).state.ticks == ticks(a=3, c=2)
