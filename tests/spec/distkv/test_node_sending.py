"""What is sent fits: infos are divided, and what cannot be sent is a fault."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import NodeId, Send, Table
from peerproof.spec.distkv import Info
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.outgoing import send_info
from peerproof.spec.distkv.ranges import TICK_MAX, of_ticks
from peerproof.spec.distkv.ticks import union

from .nodes import config, node
from .samples import chain

#: The least that can be configured, with a length of 1.
LEAST = config(ping_length=1, max_payload=106)


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


def test_chains_are_in_the_first_info_only() -> None:
    """[DA-44, DA-82]"""
    first, *others = infos("ticks", Table({NodeId(f"node {number}"): number for number in range(40)}), config(), "b2 c1", "a3 d1")

    assert first.chain == chain("a0 b2 c1")
    assert first.reason == chain("a3 d1")
    assert others
    assert {(info.chain, info.reason) for info in others} == {(chain("a0 …"), None)}


def test_at_the_last_tock_nothing_more_is_sent() -> None:
    """[DA-86]"""
    state = node("a", config=LEAST, tock=TICK_MAX - 1)
    rows = Table({NodeId(f"node {number}"): number for number in range(40)})

    sent = infos("ticks", rows, tock=TICK_MAX - 1)

    assert [info.tock for info in sent] == [TICK_MAX]
    assert send_info(state, "ticks", rows).state.tock == TICK_MAX
