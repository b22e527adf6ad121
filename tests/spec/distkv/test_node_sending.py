"""What is sent fits: infos are divided, and what cannot be sent is a fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import NodeId, Send, Table
from peerproof.spec.distkv import Info
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.outgoing import send_info
from peerproof.spec.distkv.ranges import TICK_MAX, of_ticks
from peerproof.spec.distkv.ticks import union

from .nodes import config, expires, node
from .samples import chain, sets, update

#: The least that can be configured, with a length of 1.
LEAST = config(ping_length=1, max_payload=106)

# -- infos ------------------------------------------------------------------------------------------------------------


def infos(what: str, rows: Mapping[Any, Any], settings: Any = LEAST, prev: str = "", reason: str = "", **kept: Any) -> list[Info]:
    state = node("a", config=settings, **kept)
    chains = [chain(text) if text else None for text in (prev, reason)]
    effects = send_info(state, what, rows, *chains).effects
    return [effect.message for effect in effects if isinstance(effect, Send) and isinstance(effect.message, Info)]


names = st.text("abcdé", min_size=1, max_size=6).map(NodeId)
numbers = st.one_of(st.integers(0, 40), st.integers(1, TICK_MAX))
sets_of_ticks = st.dictionaries(names, st.sets(numbers.filter(bool), min_size=1).map(of_ticks)).map(Table)


@given(st.dictionaries(names, numbers).map(Table), st.integers(106, 459))
def test_ticks_are_divided_in_the_order_of_names(seen: Any, most: int) -> None:
    """Nothing is lost, each fits, and tocks rise. [DA-82]"""
    sent = infos("ticks", seen, config(ping_length=1, max_payload=most))

    assert [row for info in sent for row in info.ticks.items()] == list(seen.items())
    assert [info.tock for info in sent] == list(range(51, 51 + len(sent)))
    assert all(len(payload(info)) <= most for info in sent)


@given(sets_of_ticks, st.integers(106, 459), st.sampled_from(["known", "missing"]))
def test_sets_of_ticks_are_divided_between_their_ranges(rows: Any, most: int, what: str) -> None:
    """Each is in one info, and each info fits. [DA-82]"""
    sent = infos(what, rows, config(ping_length=1, max_payload=most))

    together: Any = Table()
    for info in sent:
        part = getattr(info, what)
        assert not (info.known and info.missing)
        assert len(payload(info)) <= most
        together = union(together, part)
    assert together == rows
    assert sum(len(row.begins) for info in sent for row in getattr(info, what).values()) == sum(
        len(r.begins) for r in rows.values()
    )


def pieces(rows: Mapping[Any, Any]) -> int:
    """How many ranges there are."""
    return sum(len(ranges.begins) for ranges in rows.values())


def test_as_much_as_fits_is_in_an_info() -> None:
    """One range more would not fit. [DA-82]"""
    rows = sets(b=tuple(range(1000, 1400, 2)))

    first, second, *_ = infos("missing", rows)

    one_more = first.missing[NodeId("b")].union(of_ticks([next(second.missing[NodeId("b")].ticks())]))
    assert len(payload(Info(first.chain, first.tock, missing=Table({NodeId("b"): one_more})))) > 106


def test_chains_are_in_the_first_info_only() -> None:
    """[DA-44, DA-82]"""
    first, *others = infos("ticks", Table({NodeId(f"node {number}"): number for number in range(40)}), config(), "b2 c1", "a3 d1")

    assert first.chain == chain("a0 b2 c1")
    assert first.reason == chain("a3 d1")
    assert others
    assert {(info.chain, info.reason) for info in others} == {(chain("a0 …"), None)}


@pytest.mark.parametrize(
    ("prev", "reason", "kept"),
    [("b2", "c1", ("b2", "c1")), ("b2 " * 3, "c1", ("", "c1")), ("b2", "c1 " * 5, ("", "")), ("b2 " * 60, "", ("", ""))],
)
def test_the_chain_of_the_ping_is_left_out_before_the_reason_if_no_tick_would_fit(
    prev: str, reason: str, kept: tuple[str, str]
) -> None:
    """[DA-82]"""
    (info,) = infos("ticks", Table({NodeId("b"): 2}), prev=prev, reason=reason)

    assert info.chain == (chain(f"a0 {kept[0]}") if kept[0] else chain("a0 …"))
    assert info.reason == (chain(kept[1]) if kept[1] else None)


def test_at_the_last_tock_nothing_more_is_sent() -> None:
    """[DA-86]"""
    state = node("a", config=LEAST, tock=TICK_MAX - 1)
    rows = Table({NodeId(f"node {number}"): number for number in range(40)})

    sent = infos("ticks", rows, tock=TICK_MAX - 1)

    assert [info.tock for info in sent] == [TICK_MAX]
    assert send_info(state, "ticks", rows).state.tock == TICK_MAX


# -- changes again ----------------------------------------------------------------------------------------------------


def test_a_change_that_does_not_fit_here_is_a_fault_and_the_others_are_sent() -> None:
    """[DA-82]"""
    entries = [update("b1", "v" * 100, 5), update("b2", "w", 6, ("y",))]

    done = expires(node("a", entries=entries, wanted=sets(b=(1, 2)), config=LEAST), "Known")

    assert done.said[:2] == ["fault too_large", "update b2 y w @6"]
