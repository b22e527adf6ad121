"""Whom a node downloads from, who answers a newcomer, and what is found again after a restart."""

from __future__ import annotations

import pytest

from peerproof.spec.core import NodeId
from peerproof.spec.distkv import Config, LoadFailed, initial
from peerproof.spec.errors import NotEnabled

from .nodes import config, loaded, node, wants
from .samples import update

X, Y, GONE = update("a2 b1", "x", 7), update("a4", None, 7, ("a",)), update("b3", "y", 5, ("y",))


def test_what_nobody_is_downloading_is_refused() -> None:
    """[DA-73]"""
    for command in (loaded("b"), LoadFailed(NodeId("b"))):
        with pytest.raises(NotEnabled) as refused:
            wants(node(source=NodeId("c")), command)
        assert refused.value.reason == "not_loading"


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
