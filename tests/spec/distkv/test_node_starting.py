"""How a node begins: as the first, as a new one, with old data, and after it has lost its data."""

from __future__ import annotations

import pytest

from peerproof.spec.core import Expired, NodeId
from peerproof.spec.distkv import Config, Phase, initial
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import NotEnabled

from .nodes import NOW, TIMERS, config, deleting, do, node, setting, wants
from .samples import ping


@pytest.mark.parametrize("moment", [1999, 4001])
def test_no_other_moment_can_be_configured(moment: int) -> None:
    with pytest.raises(ValueError, match="from half a clock to one"):
        config(start=moment)


def test_a_root_that_cannot_be_sent_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="more than the 459 bytes"):
        initial(NodeId("a"), Config(root=value_of_plain("x" * 460)))


def test_dc_102_a_node_is_for_applications_when_it_is_ready_only() -> None:
    """[DA-42, DA-80]"""
    for phase in (Phase.EMPTY, Phase.OLD, Phase.SETTLING):
        for command in (setting("x", 1), deleting("x")):
            with pytest.raises(NotEnabled, match="has not yet got") as refused:
                wants(node(phase=phase, seen={"b": 1}), command)
            assert refused.value.reason == "not_ready"


def test_a_timer_that_does_not_run_means_nothing() -> None:
    state = node(last=ping("b0"), timers="Ping")

    done = do(state, Expired(NOW, TIMERS["Missing"]))

    assert done.said == []
    assert done.state is state
