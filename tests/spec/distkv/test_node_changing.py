"""What becomes of changes: the node's own, and those of others; and what messages count besides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv import DeleteValue, SetValue
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.state import NAMES_MAX
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import NotEnabled

from .nodes import config, hears, node, setting, wants
from .samples import sets, update

LAST = 2**63 - 1


def test_a_change_raises_tick_and_tock_by_one_and_tells_everybody() -> None:
    """[D-09, D-42, D-49, D-51, DA-21, DA-80]"""
    done = wants(node(tock=50, superseded=sets(a=((1, 4),))), setting("x", [1, "é", None]))

    assert done.said == ["update a4 x [1, 'é', None] @51", "changed x [1, 'é', None]"]
    assert (done.state.own_tick, done.state.tock) == (4, 51)


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


def test_a_message_that_brings_one_name_too_many_is_dropped() -> None:
    """[DA-83]"""
    state = replace(node("a"), ticks=Table({NodeId(f"n{number}"): 0 for number in range(NAMES_MAX - 1)}))

    fits = hears(state, update("b1", "v"))
    assert fits.said == ["changed x v"]
    dropped = hears(fits.state, update("c1", "v", 99, ("y",)))
    assert dropped.said == []
    assert dropped.state == fits.state
    assert hears(fits.state, update("b2", "w", 99)).said == ["changed x w"]
