"""What is measured of trees: runs of Peter made by hand, whose figures are known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.handmade import SECOND, Log, log_of
from tests.pipeline.measures.test_wendy import config, header, sends

from peerproof.spec.peter import id_of_topic
from peerproof.spec.wendy import id_text

TOPIC = "what is said here"
KEY = id_text(id_of_topic(TOPIC))


def trees(nodes: str = "abc", subscribed: str = "bc") -> Log:
    """Nodes of which some are subscribed at 1 s, and of which all are there at 20 s."""
    log = Log("peter")
    for node in nodes:
        log.add(node, 0, "start", config(node))
        if node in subscribed:
            log.add(node, SECOND, "api", {"type": "subscribe", "topic": TOPIC})
    return log


def ended(log: Log, nodes: str = "abc") -> Log:
    for node in nodes:
        log.add(node, 20 * SECOND, "timer", {"type": "flush_cache"})
    return log


def event(kind: str, maker: str, hop: int, value: str = "aa") -> dict[str, Any]:
    return {"type": kind, "header": header(maker, KEY, hop), "value": value}


def told(value: str = "aa") -> dict[str, Any]:
    return {"notify": {"type": "update", "topic": KEY, "value": value}}


def publish(log: Log, node: str, at: int, *effects: Any, value: str = "aa") -> None:
    log.add(node, at * SECOND, "api", {"type": "publish", "topic": TOPIC, "value": value}, effects)


def receive(log: Log, node: str, at: int, message: dict[str, Any], *effects: Any) -> None:
    log.add(node, at * SECOND, "recv", message, effects, peer="x:9")


def found(log: Log, **options: Any) -> dict[str, list[float]]:
    return log_of(ended(log).metrics(**options))


def chain() -> Log:
    """`a` publishes; `b` is the meeting point, and subscribed; `c` is its child, and subscribed."""
    log = trees()
    publish(log, "a", 2, sends("b", event("publish", "a", 0)))
    receive(log, "b", 2, event("publish", "a", 0), told(), sends("c", event("notify", "b", 1)))
    receive(log, "c", 3, event("notify", "b", 1), told())
    return log


def test_an_event_comes_over_the_meeting_point_to_its_subscribers() -> None:
    values = found(chain())

    assert (values["delivered"], values["route_hops"]) == ([1], [1])
    assert (values["events_delivered"], values["event_duplicates"]) == ([1, 1], [0, 0])
    assert (sorted(values["tree_depth"]), values["fan_out"]) == ([0, 1], [1])
    assert values["link_stress"] == [1, 1]


def test_who_is_due_and_gets_nothing_has_lost_it() -> None:
    log = trees()
    publish(log, "a", 2)  # which is the meeting point, and knows of no child

    values = found(log)

    assert (values["events_delivered"], values["route_hops"]) == ([0, 0], [0])
    assert "event_duplicates" not in values


def test_what_comes_twice_is_counted_once_too_often() -> None:
    log = chain()
    receive(log, "c", 4, event("notify", "b", 2), told())
    receive(log, "c", 5, event("notify", "b", 3), told())

    values = found(log)

    assert sorted(values["event_duplicates"]) == [0, 2]
    assert values["events_delivered"] == [1, 1]
    assert sorted(values["tree_depth"]) == [0, 1]  # of the first copy


def test_an_event_that_is_published_twice_may_come_twice() -> None:
    log = chain()
    publish(log, "a", 4, sends("b", event("publish", "a", 0)))
    receive(log, "b", 4, event("publish", "a", 0), told(), sends("c", event("notify", "b", 1)))

    values = found(log)

    assert values["event_duplicates"] == [0, 0]
    assert sorted(values["events_delivered"]) == [0, 1, 1, 1]
    assert sorted(values["link_stress"]) == [2, 2]


@pytest.mark.parametrize(
    "happening",
    [
        pytest.param({"type": "unsubscribe", "topic": TOPIC}, id="unsubscribed"),
        pytest.param({"type": "leave"}, id="left"),
        pytest.param(None, id="restarted"),
    ],
)
def test_who_was_not_subscribed_all_the_time_has_lost_nothing(happening: dict[str, Any] | None) -> None:
    log = trees()
    publish(log, "a", 2)
    log.add("b", 3 * SECOND, "api" if happening else "start", happening or config("b"))
    log.add("b", 4 * SECOND, "api", {"type": "subscribe", "topic": TOPIC})

    assert found(log)["events_delivered"] == [0]


def test_who_was_sent_to_in_vain_after_its_last_event_has_crashed() -> None:
    """A node that is only silent may be there."""
    silent, missed = (trees(subscribed="abc") for _ in range(2))
    for log in (silent, missed):
        publish(log, "a", 2)
        ended(log, "ab")
    missed.add("a", 21 * SECOND, "sent", {"took": None, "message": event("notify", "a", 1)}, peer="c")

    assert log_of(silent.metrics())["events_delivered"] == [0, 0, 0]
    assert log_of(missed.metrics())["events_delivered"] == [0, 0]


def test_events_of_the_last_round_are_not_judged_nor_those_before_a_subscription() -> None:
    log = trees(subscribed="")
    publish(log, "a", 2)
    log.add("b", 3 * SECOND, "api", {"type": "subscribe", "topic": TOPIC})
    publish(log, "a", 20, value="bb")

    values = found(log)

    assert "events_delivered" not in values
    assert values["delivered"] == [1, 1]


def test_without_one_clock_nothing_is_said_to_be_lost() -> None:
    values = found(chain(), shared_clock=False)

    assert "events_delivered" not in values
    assert (values["event_duplicates"], sorted(values["tree_depth"])) == ([0, 0], [0, 1])


def test_an_event_whose_next_hop_is_gone_is_sent_from_there_anew() -> None:
    log = trees()
    said = event("publish", "a", 0)
    publish(log, "a", 2, sends("b", said))
    log.add("a", 3 * SECOND, "sent", {"took": None, "message": said}, [sends("c", event("notify", "a", 0))], peer="b:1")
    receive(log, "c", 3, event("notify", "a", 0), told())

    values = found(log)

    assert (values["route_hops"], values["tree_depth"]) == ([0], [1])
