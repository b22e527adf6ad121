"""The time left of work of several kinds: each by its own mean, and a lower bound until all have been measured."""

from __future__ import annotations

import time

import pytest
from tests.support.catching import suite

from peerproof.cli.run import _kind
from peerproof.cli.time_left import TimeLeft
from peerproof.conformance.runner.cases import cases


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which only the test changes."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_fast_work_says_nothing_about_slow_work(clock: list[float]) -> None:
    left = TimeLeft(["fast"] * 100 + ["slow"] * 10)
    shown = []

    for kind, seconds in [("fast", 0.1)] * 100 + [("slow", 10.0)] * 4:
        clock[0] += seconds
        left.finish(kind)
        shown.append(left.text())

    assert shown[0] == ""  # nothing is measured
    assert shown[50] == "at least 5 s left"
    assert shown[99] == ""  # only slow work is left, and none of it is measured
    assert shown[101:] == ["80 s left", "70 s left", "60 s left"]


def test_work_that_ends_at_once_after_one_wait_is_not_taken_for_slow(clock: list[float]) -> None:
    left = TimeLeft(["packed"] * 64)
    shown = []

    for _ in range(3):
        clock[0] += 16.0
        for _ in range(16):
            left.finish("packed")
            shown.append(left.text())

    assert shown[16] == "47 s left"
    assert shown[32] == "31 s left"


def test_cases_of_a_cluster_say_nothing_about_cases_of_one_node() -> None:
    kinds = {case.part: _kind(case) for case in cases(suite(), suite().vectors)}

    assert len({kinds[part] for part in ("cluster", "exchange", "survives", "decode", "model")}) == 5
    assert kinds["decode"] == kinds["encode"]  # packed together


def test_what_is_skipped_takes_no_time(clock: list[float]) -> None:
    left = TimeLeft(["a"] * 1000)

    for _ in range(990):
        left.skip("a")
    for _ in range(2):
        clock[0] += 1.0
        left.finish("a")

    assert left.text() == "8 s left"
