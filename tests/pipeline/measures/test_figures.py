"""What is measured: runs of Scuttlebutt made by hand, whose figures are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from tests.pipeline.handmade import Log, happens, ticks

from peerproof.conformance.traces.events import Event
from peerproof.pipeline.measures.node_figures import LEVELS, node_figures
from peerproof.pipeline.measures.summaries import DISTINCT, Distribution
from peerproof.pipeline.storage.tables import METRICS, TRACES
from peerproof.spec import scuttlebutt

rounds = partial(ticks, timer="round")


def starts(node: str, at: float = 0) -> Event:
    return happens(node, at, "start", {"seeds": [], "interval": 1000, "max_payload": 512, "detector": None})


def sets(at: float, **more: Any) -> Event:
    """`a` sets a pair."""
    return happens("a", at, "api", {"type": "update_local", "key": "k", "value": "v"}, **more)


def learns(node: str, at: float, version: int = 1, peer: str = "a", owner: str = "a") -> Event:
    """A node learns a pair from a peer."""
    notice = {"type": "update", "peer": owner, "key": "k", "value": "v", "version": str(version)}
    return happens(node, at, "recv", {"type": "delta", "entries": []}, {"notify": notice}, peer=peer)


def gossip(nodes: str, events: Iterable[Event]) -> Log:
    """Nodes that are up from 0 s to 10 s."""
    return Log("scuttlebutt", [*map(starts, nodes), *events, *rounds(nodes, 10)])


SPREAD = [sets(1), learns("b", 1.2), learns("c", 3.5, peer="b")]


NEWS = {
    "spread to all": ("abc", SPREAD, {"convergence": {1: 2500}, "coverage": {1: 1}, "hops": {1: 2}}),
    "not spread to all": ("abc", [sets(1), learns("b", 2)], {"coverage": {1: 0.5}, "hops": {1: 1}}),
    "learnt before it was made": (
        "ab",
        [sets(2), learns("b", 1.5)],
        {"coverage": {2: 1}, "hops": {2: 1}, "clock_skew": {2: 500}},
    ),
    "a newer version brings the older ones": (
        "ab",
        [sets(1), sets(2), sets(3), learns("b", 4, version=3)],
        {"convergence": {1: 3000, 2: 2000, 3: 1000}, "coverage": {1: 1, 2: 1, 3: 1}, "hops": {1: 1, 2: 1, 3: 1}},
    ),
    "a refused command is none": ("ab", [sets(1, refused="too_large")], {}),
    "learnt again after a restart": (
        "ab",
        [sets(1), learns("b", 2), starts("b", 5), learns("b", 6)],
        {"convergence": {1: 1000}, "coverage": {1: 1}, "hops": {1: 1}},
    ),
    "made again after a restart": (
        "ab",
        [sets(1), starts("a", 4), sets(5), learns("b", 7)],
        {"convergence": {1: 6000}, "coverage": {1: 1}, "hops": {1: 1}},
    ),
}


def of_news(log: Log, *, shared_clock: bool = True) -> dict[str, dict[int | None, float]]:
    """The figures of the news of `a`, by name and by the round in which it was made."""
    names = ("convergence", "coverage", "hops", "clock_skew", "detected")
    found = log.metrics(shared_clock=shared_clock)
    by_name = {name: {at: value for (other, at, node), value in found if (other, node) == (name, "a")} for name in names}
    return {name: values for name, values in by_name.items() if values}


@pytest.mark.parametrize(("nodes", "events", "expected"), NEWS.values(), ids=NEWS)
def test_news_takes_as_long_as_until_the_last_node_has_it(nodes: str, events: list[Event], expected: dict[str, Any]) -> None:
    assert of_news(gossip(nodes, events)) == expected


def test_on_clocks_of_their_own_no_times_are_compared() -> None:
    assert of_news(gossip("abc", SPREAD), shared_clock=False) == {"coverage": {1: 1}, "hops": {1: 2}}


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_how_rows_are_batched_changes_nothing(size: int) -> None:
    assert gossip("abc", SPREAD).metrics(size=size) == gossip("abc", SPREAD).metrics()


def test_levels_are_put_together_in_blocks_without_loss() -> None:
    """More levels than a block has, learnt at once and in two steps."""
    count = 2 * LEVELS + 10
    learnt = [learns("b", 5, count), learns("c", 6, LEVELS + 3), learns("c", 7, count, peer="b")]

    found = gossip("abc", [*(sets(1 + number / 1e6) for number in range(count)), *learnt]).values()

    assert found["coverage"] == [1.0] * count
    assert Counter(found["hops"]) == {1.0: LEVELS + 3, 2.0: count - LEVELS - 3}
    assert len(found["convergence"]) == count


@pytest.mark.parametrize(
    "event",
    [
        learns("a", 1, 2**62, peer="b", owner="b"),  # which nobody can have made
        *(
            happens("a", 1, "timer", {"type": "round"}, effect)
            for effect in (1, {"notify": 3}, {"notify": {"type": "update"}}, {"send": {"to": "b", "message": {"type": "x"}}})
        ),
    ],
    ids=["a version", "a number", "a notice", "an update", "a message"],
)
def test_effects_that_make_no_sense_are_counted_and_stop_nothing(event: Event) -> None:
    found = dict(gossip("ab", [event, sets(2), learns("b", 3)]).metrics())

    assert (found["unreadable", None, "a"], found["convergence", 2, "a"]) == (1, 1000)


def test_messages_and_bytes_are_counted_by_round() -> None:
    digest = {"type": "digest_request", "entries": [{"addr": "a", "version": "0"}]}
    size = len(scuttlebutt.MESSAGE.encode(scuttlebutt.MESSAGE.value(digest)))
    sent = {"send": {"to": "b", "message": digest}}
    begun = [event for at in (1, 1.5, 2) for event in rounds("a", at, sent)]

    found = dict(Log("scuttlebutt", [starts("a"), starts("b"), *begun, happens("b", 2.7, "recv", digest, peer="a")]).metrics())

    of_rounds = [(found["messages_sent", number, "a"], found["bytes_sent", number, "a"]) for number in (0, 1, 2)]
    assert of_rounds == [(0, 0), (2, 2 * size), (1, size)]
    assert (found["messages_received", 2, "b"], found["bytes_received", 2, "b"]) == (1, size)


def test_of_a_capture_the_bytes_on_the_wire_are_counted() -> None:
    both = [("a", "send", "b"), ("b", "recv", "a")]
    rows = [
        happens(node, 0, kind, None, peer=peer, size=40)._replace(protocol="scuttlebutt", args=None, effects=None, payload=b"x")
        for node, kind, peer in both
    ]

    (figures,) = node_figures(METRICS, shared_clock=True)([TRACES.batch(rows)])

    found = {(row["metric"], row["node"]): row["value"] for row in figures.to_pylist()}
    counted = {("messages_sent", "a"): 1, ("bytes_sent", "a"): 40, ("messages_received", "b"): 1, ("bytes_received", "b"): 40}
    assert found == counted


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
