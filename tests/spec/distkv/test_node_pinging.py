"""What a node does about pings, and when it pings itself."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv import Phase

from .nodes import config, expires, hears, node, running
from .samples import chain, ping, sets, ticks

#: What a node has that misses nothing of a, b and c, and has these ticks.
SEEN: dict[str, Any] = {"superseded": sets(a=((1, 8),), b=((1, 3),), c=((1, 3),))}

# -- when -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("place", "due"), [(1, 7000), (2, 6000), (3, 5000)])
def test_dc_72_the_later_a_node_stands_on_the_chain_the_earlier_it_pings(place: int, due: int) -> None:
    """[D-72…D-74, DA-38]"""
    names = ["b", "c", "d", "e"]
    names[place] = "a"
    shown = [f"{name}1" for name in names]

    done = hears(node(last=ping(" ".join(shown[1:]), 40), **SEEN), ping(" ".join(shown), 60))

    assert done.said[0] == f"Ping in {due}"


def test_the_newest_of_a_nodes_elements_counts() -> None:
    """[DA-34, DA-38]"""
    assert hears(node(last=ping("a2 b1 a2 c1", 40), **SEEN), ping("b1 a2 b1 a2 c1", 60)).said == ["Ping in 7000"]


@pytest.mark.parametrize(("answer", "due"), [(0, 4000), (1, 11000), (39, 11000)])
def test_dc_73_off_the_chain_a_node_is_early_in_one_case_of_ten_for_each_node(answer: int, due: int) -> None:
    """Known are those with ticks, those who have pinged, and the node itself. [D-75…D-77, DA-39]"""
    state = node("z", seen={"a": 1, "b": 1, "d": 0}, last=ping("a1", 40), heard=ticks(b=3))

    done = hears(state, ping("b1 a1", 60), ping_early=answer, ping_late=1000)

    assert done.asked[0] == ("ping.early", 0, 39)
    assert done.said[0] == f"Ping in {due}"
    assert hears(state, ping("c1 a1", 60)).asked[0] == ("ping.early", 0, 49)


def test_who_has_data_takes_over_from_a_chain_of_nodes_without() -> None:
    """[D-109, DA-66]"""
    done = hears(node("a", last=ping("y0", 40), **SEEN), ping("z0 y0", 60))

    assert done.said == ["Ping in 4000"]
    assert done.asked == []


def test_after_its_own_ping_a_node_waits_two_clocks() -> None:
    """[D-74, DA-37]"""
    done = expires(node(last=ping("b3 c1", 40), **SEEN), "Ping")

    assert done.said == ["ping a7 b3 c1 @51", "Ping in 8000"]
    assert done.state.last == ping("a7 b3 c1", 51)


def test_dc_08_who_pings_twice_stands_twice_and_what_is_too_much_is_cut() -> None:
    """[D-13…D-15, D-19, DA-34]"""
    done = expires(node(last=ping("a7 b1 a7 b1", 40), **SEEN), "Ping")

    assert done.said[0] == "ping a7 a7 b1 a7 … @51"


def test_an_accepted_ping_is_cut_to_the_own_length() -> None:
    """[DA-66]"""
    done = hears(node(last=ping("b2", 40), config=config(ping_length=2), **SEEN), ping("c1 b2 a3 b1", 60))

    assert done.state.last == ping("c1 b2 …", 60)


@pytest.mark.parametrize(
    ("ticks_on_chain", "may"),
    [
        ((0, 0, 0, 0), True),
        ((0, 0, 5, 0), False),
        ((0, 5, 0, 0), True),
        ((4, 0, 0, 0), True),
        ((0, 0, 5), False),
        ((0, 5, 0), True),
        ((0, 5), False),
    ],
)
def test_dc_78_to_81_whether_a_node_without_a_tick_may_ping(ticks_on_chain: tuple[int, ...], may: bool) -> None:
    """[D-107, DA-40, DA-67]"""
    shown = " ".join(f"{name}{tick}" for name, tick in zip("bcde", ticks_on_chain, strict=False))
    state = node("z", Phase.EMPTY, timers="Ping", source=NodeId("b"))

    done = hears(state, ping(shown, 60))

    assert running(done.state) == ("Ping" if may else "Initial")
    assert ("no Ping" in done.said) is not may


def test_who_is_ready_with_the_tick_zero_is_silenced_as_well() -> None:
    """[D-107, DA-67]"""
    assert hears(node("z", timers="Ping"), ping("b0 c5", 60)).said[:2] == ["no Ping", "Initial in 12000"]


# -- the five kinds ---------------------------------------------------------------------------------------------------

C = ("c9 a2 b3", 12)

#: id: (the ping that comes, what becomes last, whether a recovery begins)
PINGS: dict[str, tuple[tuple[str, int], str, bool]] = {
    "DC-64 a collision that wins": (("d1 a2 b3", 13), "d1 a2 b3", False),
    "DC-65 by the tick": (("d10 a2 b3", 12), "d10 a2 b3", False),
    "DC-66 by the name": (("d9 a2 b3", 12), "c9 a2 b3", False),
    "DC-67 a collision that loses": (("b99 a2 b3", 11), "c9 a2 b3", False),
    "DC-68 a split that wins": (("d4 e2 b3", 13), "d4 e2 b3", True),
    "a split that loses": (("d4 e2 b3", 11), "c9 a2 b3", True),
    "the next one": (("b3 c9 a2 b3", 13), "b3 c9 a2 b3", False),
    "the next one with a lower tock": (("b3 c9 a2 b3", 2), "b3 c9 a2 b3", False),
    "one that is cut and fits": (("b3 c9 …", 13), "b3 c9 …", False),
    "one without a tick": (("e? a2 b3", 99), "c9 a2 b3", False),
    "a start-up ping": (("n0", 99), "c9 a2 b3", False),
    "a start-up ping with a tick": (("n7", 99), "c9 a2 b3", False),
}


@pytest.mark.parametrize("name", PINGS)
def test_what_a_ping_makes_of_the_last(name: str) -> None:
    """[D-79…D-86, DA-31, DA-32, DA-36, DA-69]"""
    arrived, last, heals = PINGS[name]

    done = hears(node("z", last=ping(*C)), ping(*arrived))

    assert done.state.last is not None
    assert done.state.last.chain == chain(last)
    assert ("SplitHealed" in done.said) is heals
    assert done.state.tock == max(50, arrived[1])


@pytest.mark.parametrize("tock", [39, 40])
def test_a_ping_that_is_not_newer_than_what_was_heard_is_stale(tock: int) -> None:
    """Tock and ticks count all the same. [DA-33, DA-69]"""
    state = node("z", last=ping("c9 a2", 12), heard=ticks(d=40), tock=20)

    done = hears(state, ping("d4 c9 a2", tock))

    assert done.state.last == state.last
    assert done.state.heard == ticks(d=40)
    assert (done.state.tock, done.state.ticks[NodeId("d")]) == (tock, 4)


def test_what_was_heard_is_the_tock_of_the_latest_ping() -> None:
    """[DA-58, DA-69]"""
    state = node("z", last=ping("c9 a2", 12), heard=ticks(d=40))

    assert hears(state, ping("d4 c9 a2", 41)).state.heard == ticks(d=41)


def test_to_a_node_that_has_heard_none_any_ping_is_the_next() -> None:
    """[D-100, DA-69]"""
    for arrived in ("n0", "d4 e2 b3 …", "b1"):
        assert hears(node("z"), ping(arrived, 3)).state.last == ping(arrived, 3)


@pytest.mark.parametrize(("phase", "last"), [(Phase.EMPTY, "d4 e2"), (Phase.OLD, "d4 e2"), (Phase.READY, "y0")])
def test_a_passive_node_leaves_a_start_up_ping_for_a_chain_whoever_wins(phase: Phase, last: str) -> None:
    """[D-101, DA-69]"""
    state = node("z", phase, last=ping("y0", 45), source=NodeId("d"))

    done = hears(state, ping("d4 e2", 13))

    assert done.state.last is not None
    assert done.state.last.chain == chain(last)
    assert ("SplitHealed" in done.said) is (phase is Phase.READY)


def test_a_start_up_ping_is_answered_even_if_it_is_stale() -> None:
    """Who has lost its tock must be answered. [DA-69]"""
    done = hears(node(last=ping("a7 b3", 40), heard=ticks(n=99), **SEEN), ping("n0", 3))

    assert done.sent() == ["info a7 n0 ticks a7 b2 c2 n0 @51"]


@pytest.mark.parametrize(("tock", "said"), [(50, []), (51, ["fault name_taken"])])
def test_dc_103_a_message_with_the_own_name_is_an_echo_or_of_somebody_else(tock: int, said: list[str]) -> None:
    """Only tock and ticks are taken. [DA-54, DA-63]"""
    state = node(last=ping("b3 c1", 40), **SEEN)

    done = hears(state, ping("a9 b3 c1", tock))

    assert done.said == [*said, "Repair in 8000"]
    assert done.state.last == state.last
    assert (done.state.tock, done.state.own_tick) == (tock, 9)


def test_a_former_life_is_nobody_else() -> None:
    """[DA-63, DA-91]"""
    done = hears(node(phase=Phase.EMPTY, tock=1), ping("a0", 9))

    assert done.said == []
    assert done.state.tock == 9
    assert done.state.heard == Table()


def test_at_the_last_tock_nothing_is_sent() -> None:
    """[DA-86]"""
    for timer in ("Ping", "Initial", "Repair"):
        state = node(tock=2**63 - 1, last=ping("b3 c1", 40), seen={"b": 3})

        done = expires(state, timer)

        assert done.said[0] == "fault exhausted"
        assert done.sent() == []
