"""When nothing is announced."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.wendy_nodes import node

from peerproof.spec.core import Step
from peerproof.spec.wendy import Stage
from peerproof.spec.wendy.joining import on_announce


@pytest.mark.parametrize("stage", [Stage.ALONE, Stage.JOINING, Stage.JOINED, Stage.LEFT])
def test_who_does_not_wait_announces_nothing(stage: Stage) -> None:
    state = replace(node("75"), stage=stage)

    assert on_announce(state) == Step(state)
