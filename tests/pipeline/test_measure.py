"""What is measured: runs made by hand, whose figures are known."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pytest

from peerproof.conformance.pipeline import node_figures as alone
from peerproof.conformance.pipeline import spreading
from peerproof.conformance.pipeline.events import Event, canonical_json, events
from peerproof.conformance.pipeline.node_figures import LEVELS, SIGHTINGS, node_figures
from peerproof.conformance.pipeline.summaries import DISTINCT, Distribution
from peerproof.conformance.pipeline.tables import METRICS, TRACES
from peerproof.spec import scuttlebutt

SECOND = 1_000_000

Metric = tuple[str, int | None, str]  #: name, round, node


class Log:
    """The rows of one run, made by hand."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._rows: dict[str, list[Event]] = defaultdict(list)

    def add(
        self, node: str, t_us: int, kind: str, args: Any, effects: Iterable[Any] = (), peer: str | None = None, **more: Any
    ) -> None:
        """One event."""
        rows = self._rows[node]
        rows.append(
            Event(
                "r", self._protocol, "x", node, len(rows), t_us, kind, peer, None, None, None,
                canonical_json(args), "[]", canonical_json(list(effects)), None, None,
            )._replace(**more)
        )  # fmt: skip

    def batches(self, size: int = 1000) -> Iterator[Any]:
        """Sorted, in batches of this size."""
        rows = [row for node in sorted(self._rows) for row in self._rows[node]]
        for start in range(0, len(rows), size):
            yield TRACES.batch(rows[start : start + size])

    def metrics(self, *, shared_clock: bool = True, size: int = 1000) -> list[tuple[Metric, float]]:
        """What is measured."""
        own = node_figures(METRICS, shared_clock=shared_clock)(self.batches(size))
        seen = list(node_figures(SIGHTINGS, shared_clock=shared_clock)(self.batches(size)))
        rows = pa.Table.from_batches(seen, SIGHTINGS.schema).sort_by([(name, "ascending") for name in spreading.ORDER])
        together = spreading.together(rows.to_batches(max_chunksize=size))
        found = [row for batch in (*own, *together) for row in batch.to_pylist()]
        assert {row["unit"] for row in found} <= {*alone.UNITS.values(), *spreading.UNITS.values()}
        return [((row["metric"], row["round"], row["node"]), row["value"]) for row in found]


def update(peer: str, version: int) -> dict[str, Any]:
    """The effect of learning a pair."""
    return {"notify": {"type": "update", "peer": peer, "key": "k", "value": "v", "version": str(version)}}


DELTA: dict[str, Any] = {"type": "delta", "entries": []}
CONFIG: dict[str, Any] = {"seeds": [], "interval": 1000, "max_payload": 512, "detector": None}
SET = {"type": "update_local", "key": "k", "value": "v"}


def gossip(nodes: str = "abc") -> Log:
    """Scuttlebutt nodes that are up from 0 s to the end."""
    log = Log("scuttlebutt")
    for node in nodes:
        log.add(node, 0, "start", CONFIG)
    return log


def ended(log: Log, nodes: Iterable[str], at: int = 10 * SECOND) -> Log:
    """A last event for each of these nodes."""
    for node in nodes:
        log.add(node, at, "timer", {"type": "round"})
    return log


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


def log_of(metrics: Sequence[tuple[Metric, float]]) -> dict[str, list[float]]:
    """Values by metric."""
    values: dict[str, list[float]] = defaultdict(list)
    for (name, _, _), value in metrics:
        values[name].append(value)
    return values


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


SWIM: dict[str, Any] = {"restart_counter": "0", "seeds": [], "interval": 1000, "ae_size": 2, "max_datagram": 1432,
                        "emit_incarnation": False, "cluster_events": ["dead"]}  # fmt: skip


def told(node: str, what: str) -> list[dict[str, Any]]:
    """The effect of telling the application."""
    return [{"notify": {"type": "cluster_event", "node": f"uuid-{node}", "event_type": what}}]


def members(nodes: str, crashed: str = "") -> Log:
    """SWIM nodes; those that crash have their last event at 4 s, the others at 20 s."""
    log = Log("swim")
    for node in nodes:
        log.add(node, 0, "start", {**SWIM, "uuid": f"uuid-{node}"})
    for node in crashed:
        log.add(node, 4 * SECOND, "timer", {"type": "quantum"})
    return log


def alive_to_the_end(log: Log, nodes: str) -> Log:
    for node in nodes:
        log.add(node, 20 * SECOND, "timer", {"type": "quantum"})
    return log


def test_a_crash_is_detected_by_the_first_and_by_the_last() -> None:
    log = members("abc", crashed="c")
    log.add("a", 6 * SECOND, "timer", {"type": "quantum"}, told("c", "suspicious"))
    log.add("a", 9 * SECOND, "timer", {"type": "quantum"}, told("c", "dead"))
    log.add("b", 11 * SECOND, "timer", {"type": "quantum"}, told("c", "dead"))

    found = dict(alive_to_the_end(log, "ab").metrics())

    assert found["detection_first", 4, "c"] == 5000
    assert found["detection_last", 4, "c"] == 7000
    assert found["detected", 4, "c"] == 1
    assert [found["false_positives", None, node] for node in "abc"] == [0, 0, 0]
    assert [found["false_suspicions", None, node] for node in "abc"] == [0, 0, 0]


def test_a_crash_that_not_all_detect_has_no_last() -> None:
    log = members("abc", crashed="c")
    log.add("b", 11 * SECOND, "timer", {"type": "quantum"}, told("c", "dead"))

    found = dict(alive_to_the_end(log, "ab").metrics())

    assert found["detected", 4, "c"] == 0.5
    assert ("detection_last", 4, "c") not in found


def test_a_crash_that_nobody_detects_is_told() -> None:
    found = dict(alive_to_the_end(members("abc", crashed="c"), "ab").metrics())

    assert found["detected", 4, "c"] == 0
    assert ("detection_first", 4, "c") not in found


def test_who_is_up_and_called_dead_is_a_false_positive() -> None:
    log = members("abc")
    log.add("a", 5 * SECOND, "timer", {"type": "quantum"}, told("b", "dead"))
    log.add("a", 6 * SECOND, "timer", {"type": "quantum"}, told("b", "normal"))
    log.add("a", 7 * SECOND, "timer", {"type": "quantum"}, told("b", "dead"))
    log.add("c", 7 * SECOND, "timer", {"type": "quantum"}, told("b", "suspicious"))

    found = dict(alive_to_the_end(log, "abc").metrics())

    assert (found["false_positives", None, "b"], found["false_suspicions", None, "b"]) == (2, 1)
    assert not [name for name, _, _ in found if name == "detected"]


def test_what_a_node_says_to_a_third_counts_and_what_it_says_to_the_node_itself_does_not() -> None:
    """`dead` to the node itself says what is remembered of it. [S-21]"""
    incarnation = {"restart": "0", "tx": "1"}

    def ping(target: str, about: str) -> list[dict[str, Any]]:
        vectors = [{"type": "dead", "node": f"uuid-{about}", "incarnation": None}]
        message = {"type": "ping", "sender": "uuid-a", "incarnation": incarnation, "target": f"uuid-{target}", "vectors": vectors}
        return [{"send": {"to": target, "message": message}}]

    log = members("abc")
    with_uuids = {"uuid-a": "0" * 8, "uuid-b": "1" * 8, "uuid-c": "2" * 8}
    log.add("a", 5 * SECOND, "timer", {"type": "quantum"}, ping("b", "b"))
    log.add("a", 6 * SECOND, "timer", {"type": "quantum"}, ping("b", "c"))
    rows = [row for batch in alive_to_the_end(log, "abc").batches() for row in events(batch)]

    def named(text: str | None) -> str | None:
        for name, digits in with_uuids.items():
            text = text and text.replace(name, f"{digits}-0000-4000-8000-000000000000")
        return text

    renamed = TRACES.batch([row._replace(args=named(row.args), effects=named(row.effects)) for row in rows])
    seen = list(node_figures(SIGHTINGS, shared_clock=True)([renamed]))
    rows_of = pa.Table.from_batches(seen, SIGHTINGS.schema).sort_by([(name, "ascending") for name in spreading.ORDER])
    found = {
        (row["metric"], row["node"]): row["value"]
        for batch in spreading.together(rows_of.to_batches())
        for row in batch.to_pylist()
    }
    assert (found["false_positives", "b"], found["false_positives", "c"]) == (0, 1)


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
