"""What an application cannot ask a node for, and when nothing is announced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from peerproof.spec.core import NodeId, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import Application, Config, Forward, Join, Ring, Route, SendTo, Stage, initial
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.joining import on_announce
from peerproof.spec.wendy.messages import MOST_VALUE

from .nodes import asked, h, header, node, peer, place

STATE = node("40", right="50 60", cells="50")
LARGE = b"x" * (MOST_VALUE + 1)
CREDENTIALS = replace(header("41", "51"), credentials=b"x" * 1025)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        *((Route(h("51"), None, purpose), "bad_value") for purpose in (-1, 0, 7, 256)),
        (Route(h("50"), LARGE), "too_large"),
        (Forward(Application(CREDENTIALS, 16, b"hello")), "too_large"),
        (Join(place("41")), "not_alone"),
        (SendTo(peer("60")._replace(port=0), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("60")._replace(local_ip="", global_ip=""), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("40"), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("60"), h("51"), b"x", 7), "bad_value"),
        (SendTo(peer("60"), h("51"), LARGE, 20), "too_large"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_cannot_be_is_refused(command: Any, reason: str) -> None:
    """[WA-55, WA-59, WA-66, WA-73]"""
    with pytest.raises(NotEnabled) as refused:
        asked(STATE, command)

    assert refused.value.reason == reason


def test_who_does_not_wait_announces_nothing() -> None:
    for stage in (Stage.ALONE, Stage.JOINING, Stage.JOINED, Stage.LEFT):
        state = replace(node("75"), stage=stage)
        assert on_announce(state) == Step(state)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": Id(16), "ring": Ring(2, 2)},
        {"id": Id(-1)},
        {"network_timeout": 0},
        {"heartbeat": -1},
        {"leaf_set_side": 0},
        {"credentials": b"x" * 1025},
    ],
    ids=ascii,
)
def test_a_configuration_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|need|is a number|at most"):
        Config(**{"id": h("40"), **wrong})


@pytest.mark.parametrize("address", ["", "a", "a:", ":1", "a:0", "a:65536", "a:x", f"{'a' * 256}:1", "\udcff:1"])
def test_a_node_needs_an_address(address: str) -> None:
    with pytest.raises(NotEnabled):
        initial(NodeId(address), Config(h("40")))
