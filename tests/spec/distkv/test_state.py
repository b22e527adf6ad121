"""What a node cannot be called, how it cannot be configured, and a timer that does not run."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec.core import Expired, Instant, NodeId, Pick
from peerproof.spec.distkv import Config, RepairDue, initial, step
from peerproof.spec.distkv.values import value_of_plain


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
        ({"ping_length": 5, "max_payload": 459}, "at least 470, not 459"),
        ({"clock": 4000, "start": 1999}, "from half a clock to one"),
        ({"clock": 4000, "start": 4001}, "from half a clock to one"),
        ({"root": value_of_plain("x" * 460)}, "more than the 459 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_configuration_that_cannot_work_is_refused(settings: dict[str, Any], why: str) -> None:
    """[DA-82, DA-83]"""
    with pytest.raises(ValueError, match=why):
        initial(NodeId("a"), Config(**settings))


def test_a_timer_that_does_not_run_means_nothing(first: Pick) -> None:
    state = initial(NodeId("a"), Config()).state

    assert step(state, Expired(Instant(0), RepairDue()), first) == (state, ())
