"""What is measured: runs made by hand, whose figures are known."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.pipeline.handmade import (
    CONFIG,
    DELTA,
    SECOND,
    SET,
    Log,
    ended,
    gossip,
    log_of,
    update,
)

from peerproof.pipeline.measures.node_figures import LEVELS, node_figures
from peerproof.pipeline.measures.summaries import DISTINCT, Distribution
from peerproof.pipeline.storage.arrow_rows import events
from peerproof.pipeline.storage.tables import METRICS, TRACES
from peerproof.spec import scuttlebutt


def spread_by_hand() -> Log:
    """`a` sets a pair at 1 s; `b` learns it from `a` at 1.2 s, `c` from `b` at 3.5 s."""
    log = gossip()
    log.add("a", 1 * SECOND, "api", SET)
    log.add("b", 1_200_000, "recv", DELTA, [update("a", 1)], "a")
    log.add("c", 3_500_000, "recv", DELTA, [update("a", 1)], "b")
    return ended(log, "abc")


def test_news_takes_as_long_as_until_the_last_node_has_it() -> None:
    found = dict(spread_by_hand().metrics())

    assert found["convergence", 1, "a"] == 2500
    assert found["coverage", 1, "a"] == 1
    assert found["hops", 1, "a"] == 2


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_how_rows_are_batched_changes_nothing(size: int) -> None:
    assert spread_by_hand().metrics(size=size) == spread_by_hand().metrics()


def test_on_clocks_of_their_own_no_times_are_compared() -> None:
    found = dict(spread_by_hand().metrics(shared_clock=False))

    assert (found["coverage", 1, "a"], found["hops", 1, "a"]) == (1, 2)
    assert not [name for name, _, _ in found if name in ("convergence", "detected", "clock_skew")]


def test_news_that_is_learnt_before_it_is_made_is_a_skew_of_clocks_and_not_a_time() -> None:
    log = gossip("ab")
    log.add("a", 2 * SECOND, "api", SET)
    log.add("b", 1_500_000, "recv", DELTA, [update("a", 1)], "a")

    found = dict(ended(log, "ab").metrics())

    assert found["clock_skew", 2, "a"] == 500
    assert ("convergence", 2, "a") not in found


def test_news_that_does_not_reach_everybody_has_a_coverage_and_no_time() -> None:
    log = gossip()
    log.add("a", SECOND, "api", SET)
    log.add("b", 2 * SECOND, "recv", DELTA, [update("a", 1)], "a")

    found = dict(ended(log, "abc").metrics())

    assert found["coverage", 1, "a"] == 0.5
    assert ("convergence", 1, "a") not in found


def test_a_newer_version_brings_the_older_ones_that_it_replaces() -> None:
    log = gossip("ab")
    for second in (1, 2, 3):
        log.add("a", second * SECOND, "api", SET)
    log.add("b", 4 * SECOND, "recv", DELTA, [update("a", 3)], "a")

    found = dict(ended(log, "ab").metrics())

    assert [found["convergence", second, "a"] for second in (1, 2, 3)] == [3000, 2000, 1000]


def test_a_refused_command_is_no_news() -> None:
    log = gossip("ab")
    log.add("a", SECOND, "api", SET, refused="too_large")

    assert not [name for (name, _, _), _ in ended(log, "ab").metrics() if name == "coverage"]


def test_levels_are_put_together_in_blocks_without_loss() -> None:
    """More levels than a block has, learnt at once and in two steps."""
    count = 2 * LEVELS + 10
    log = gossip()
    for number in range(count):
        log.add("a", SECOND + number, "api", SET)
    log.add("b", 5 * SECOND, "recv", DELTA, [update("a", count)], "a")
    log.add("c", 6 * SECOND, "recv", DELTA, [update("a", LEVELS + 3)], "a")
    log.add("c", 7 * SECOND, "recv", DELTA, [update("a", count)], "b")

    found = log_of(ended(log, "abc").metrics())

    assert found["coverage"] == [1.0] * count
    assert Counter(found["hops"]) == {1.0: LEVELS + 3, 2.0: count - LEVELS - 3}
    assert len(found["convergence"]) == count


def test_a_version_that_nobody_can_have_made_is_counted_as_unreadable() -> None:
    log = gossip("ab")
    log.add("a", SECOND, "recv", DELTA, [update("b", 2**62)], "b")

    assert dict(ended(log, "ab").metrics())["unreadable", None, "a"] == 1


@pytest.mark.parametrize(
    "effect", [1, {"notify": 3}, {"notify": {"type": "update"}}, {"send": {"to": "b", "message": {"type": "x"}}}]
)
def test_effects_that_make_no_sense_are_counted_and_stop_nothing(effect: Any) -> None:
    log = gossip("ab")
    log.add("a", SECOND, "timer", {"type": "round"}, [effect])
    log.add("a", 2 * SECOND, "api", SET)
    log.add("b", 3 * SECOND, "recv", DELTA, [update("a", 1)], "a")

    found = dict(ended(log, "ab").metrics())

    assert found["unreadable", None, "a"] == 1
    assert found["convergence", 2, "a"] == 1000


def test_messages_and_bytes_are_counted_by_round() -> None:
    digest = {"type": "digest_request", "entries": [{"addr": "a", "version": "0"}]}
    size = len(scuttlebutt.MESSAGE.encode(scuttlebutt.MESSAGE.value(digest)))
    log = gossip("ab")
    for t_us in (1_000_000, 1_500_000, 2_000_000):
        log.add("a", t_us, "timer", {"type": "round"}, [{"send": {"to": "b", "message": digest}}])
    log.add("b", 2_700_000, "recv", digest, peer="a")

    found = dict(log.metrics())

    assert [(found["messages_sent", number, "a"], found["bytes_sent", number, "a"]) for number in (0, 1, 2)] == [
        (0, 0),
        (2, 2 * size),
        (1, size),
    ]
    assert (found["messages_received", 2, "b"], found["bytes_received", 2, "b"]) == (1, size)


def test_of_a_capture_the_bytes_on_the_wire_are_counted() -> None:
    log = Log("scuttlebutt")
    log.add("a", 5, "send", None, peer="b", bytes=40, effects=(), picks=None)
    log.add("b", 5, "recv", None, peer="a", bytes=40, picks=None)
    rows = [row._replace(effects=None, args=None, payload=b"x") for batch in log.batches() for row in events(batch)]

    (figures,) = node_figures(METRICS, shared_clock=True)([TRACES.batch(rows)])

    found = {(row["metric"], row["node"]): row["value"] for row in figures.to_pylist()}
    assert found == {
        ("messages_sent", "a"): 1,
        ("bytes_sent", "a"): 40,
        ("messages_received", "b"): 1,
        ("bytes_received", "b"): 40,
    }


def test_a_node_that_learns_again_after_a_restart_has_known_it_since_the_first_time() -> None:
    log = gossip("ab")
    log.add("a", SECOND, "api", SET)
    log.add("b", 2 * SECOND, "recv", DELTA, [update("a", 1)], "a")
    log.add("b", 5 * SECOND, "start", CONFIG)
    log.add("b", 6 * SECOND, "recv", DELTA, [update("a", 1)], "a")

    assert dict(ended(log, "ab").metrics())["convergence", 1, "a"] == 1000


def test_a_version_that_a_restarted_node_makes_again_counts_from_the_first_time() -> None:
    log = gossip("ab")
    log.add("a", SECOND, "api", SET)
    log.add("a", 4 * SECOND, "start", CONFIG)
    log.add("a", 5 * SECOND, "api", SET)
    log.add("b", 7 * SECOND, "recv", DELTA, [update("a", 1)], "a")

    assert log_of(ended(log, "ab").metrics())["convergence"] == [6000]


def test_percentiles_are_values_that_occur() -> None:
    counted = Distribution()
    for value in range(1, 101):
        counted.add(float(value))

    assert counted.row() == (100, 5050.0, 1.0, 50.5, 50.0, 90.0, 99.0, 100.0)


def test_percentiles_of_many_different_values_are_near_whatever_the_order() -> None:
    values = [1000.0 + 0.37 * number for number in range(3 * DISTINCT)]
    forwards, backwards = Distribution(), Distribution()
    for value in values:
        forwards.add(value)
    for value in reversed(values):
        backwards.add(value, 1)

    assert forwards.row() == backwards.row()
    number, _, _, _, median, *_ = forwards.row()
    assert number == len(values)
    assert median == pytest.approx(values[len(values) // 2], rel=0.005)
    assert len(forwards.counts) < DISTINCT
