"""What is sent fits: infos are divided, and what cannot be sent is a fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.distkv_samples import chain

from peerproof.spec.core import NodeId, Send, Table
from peerproof.spec.distkv import Config, Info, Phase, State
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.outgoing import send_info
from peerproof.spec.distkv.ranges import TICK_MAX, of_ticks
from peerproof.spec.distkv.ticks import union


def infos(what: str, rows: Mapping[Any, Any], most: int = 459, prev: str = "", reason: str = "", tock: int = 50) -> list[Info]:
    """What the node a sends, if messages have so many bytes at most; 106 is the least that can be configured."""
    state = State(NodeId("a"), Config(ping_length=1, max_payload=most), tock=tock, phase=Phase.READY)
    chains = [chain(text) if text else None for text in (prev, reason)]
    effects = send_info(state, what, rows, *chains).effects
    return [effect.message for effect in effects if isinstance(effect, Send) and isinstance(effect.message, Info)]


names = st.text("abcdé", min_size=1, max_size=6).map(NodeId)
numbers = st.one_of(st.integers(0, 40), st.integers(1, TICK_MAX))
sets_of_ticks = st.dictionaries(names, st.sets(numbers.filter(bool), min_size=1).map(of_ticks)).map(Table)


@given(st.dictionaries(names, numbers).map(Table), st.integers(106, 459))
def test_ticks_are_divided_in_the_order_of_names(seen: Any, most: int) -> None:
    """Nothing is lost, each fits, and tocks rise. [DA-82]"""
    sent = infos("ticks", seen, most)

    assert [row for info in sent for row in info.ticks.items()] == list(seen.items())
    assert [info.tock for info in sent] == list(range(51, 51 + len(sent)))
    assert all(len(payload(info)) <= most for info in sent)


@pytest.mark.slow
@given(sets_of_ticks, st.integers(106, 459), st.sampled_from(["known", "missing"]))
def test_sets_of_ticks_are_divided_between_their_ranges(rows: Any, most: int, what: str) -> None:
    """Each is in one info, and each info fits. [DA-82]"""
    sent = infos(what, rows, most)

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


def test_chains_are_in_the_first_info_only() -> None:
    """[DA-44, DA-82]"""
    first, *others = infos(
        "ticks", Table({NodeId(f"node {number}"): number for number in range(40)}), prev="b2 c1", reason="a3 d1"
    )

    assert first.chain == chain("a0 b2 c1")
    assert first.reason == chain("a3 d1")
    assert others
    assert {(info.chain, info.reason) for info in others} == {(chain("a0 …"), None)}


def test_at_the_last_tock_nothing_more_is_sent() -> None:
    """[DA-86]"""
    rows = Table({NodeId(f"node {number}"): number for number in range(40)})

    assert [info.tock for info in infos("ticks", rows, 106, tock=TICK_MAX - 1)] == [TICK_MAX]
