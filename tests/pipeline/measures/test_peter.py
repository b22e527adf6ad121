"""What is measured of trees: runs of Peter made by hand, whose figures are known."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tests.pipeline.handmade import Log, happens, ticks
from tests.pipeline.measures.test_wendy import fails, header, receives, sends, starts

from peerproof.conformance.traces.events import Event
from peerproof.spec.peter import id_of_topic
from peerproof.spec.wendy import id_text

TOPIC = "what is said here"
KEY = id_text(id_of_topic(TOPIC))

at_the_end = partial(ticks, at=20, timer="flush_cache")


def command(node: str, at: float, name: str, *effects: Any, **more: Any) -> Event:
    return happens(node, at, "api", {"type": name, "topic": TOPIC, **more}, *effects)


def trees(subscribed: str = "bc") -> list[Event]:
    """Three nodes, of which some are subscribed at 1 s."""
    return [*map(starts, "abc"), *(command(node, 1, "subscribe") for node in subscribed)]


def event(kind: str, maker: str, hop: int) -> dict[str, Any]:
    return {"type": kind, "header": header(maker, KEY, hop), "value": "aa"}


def publish(node: str, at: float, *effects: Any, value: str = "aa") -> Event:
    return command(node, at, "publish", *effects, value=value)


TOLD = {"notify": {"type": "update", "topic": KEY, "value": "aa"}}


def by_b(at: float) -> list[Event]:
    """`a` publishes, and `b`, the meeting point, copies the event to `c`."""
    copy = sends("c", event("notify", "b", 1))
    return [publish("a", at, sends("b", event("publish", "a", 0))), receives("b", at, event("publish", "a", 0), TOLD, copy)]


#: Both subscribers get the event.
CHAIN = [*trees(), *by_b(2), receives("c", 3, event("notify", "b", 1), TOLD)]

RUNS: dict[str, tuple[list[Event], dict[str, list[float]]]] = {
    "an event comes over the meeting point to its subscribers": (
        CHAIN,
        {
            "delivered": [1],
            "route_hops": [1],
            "events_delivered": [1, 1],
            "event_duplicates": [0, 0],
            "tree_depth": [0, 1],
            "fan_out": [1],
            "link_stress": [1, 1],
        },
    ),
    "an event that gets to no subscriber is lost": (
        [*trees(), publish("a", 2)],  # which is the meeting point, and knows of no child
        {"events_delivered": [0, 0], "route_hops": [0], "event_duplicates": []},
    ),
    "the depth is that of the first copy": (
        [*CHAIN, *(receives("c", at, event("notify", "b", at - 2), TOLD) for at in (4, 5))],
        {"event_duplicates": [0, 2], "events_delivered": [1, 1], "tree_depth": [0, 1]},
    ),
    "an event that is published twice may come twice": (
        [*CHAIN, *by_b(4)],
        {"event_duplicates": [0, 0], "events_delivered": [0, 1, 1, 1], "link_stress": [2, 2]},
    ),
    "events of the last round are not judged, nor those before a subscription": (
        [*trees(""), publish("a", 2), command("b", 3, "subscribe"), publish("a", 20, value="bb")],
        {"events_delivered": [], "delivered": [1, 1]},
    ),
    "an event whose next hop is gone is sent from there anew": (
        [
            *trees(),
            publish("a", 2, sends("b", event("publish", "a", 0))),
            fails("a", 3, event("publish", "a", 0), sends("c", event("notify", "a", 0)), peer="b:1"),
            receives("c", 3, event("notify", "a", 0), TOLD),
        ],
        {"route_hops": [0], "tree_depth": [1]},
    ),
    **{
        f"a subscriber that has {what} meanwhile has lost nothing": (
            [*trees(), publish("a", 2), meanwhile, command("b", 4, "subscribe")],
            {"events_delivered": [0]},
        )
        for what, meanwhile in {
            "unsubscribed": command("b", 3, "unsubscribe"),
            "left": happens("b", 3, "api", {"type": "leave"}),
            "restarted": starts("b", 3),
        }.items()
    },
}


@pytest.mark.parametrize(("events", "expected"), RUNS.values(), ids=RUNS)
def test_figures_of_a_run_are_those_that_its_events_make(events: list[Event], expected: dict[str, list[float]]) -> None:
    found = Log("peter", [*events, *at_the_end("abc")]).values()

    assert {name: found.get(name, []) for name in expected} == expected


@pytest.mark.parametrize(
    ("failed", "lost"),
    [([], 3), ([fails("a", 21, event("notify", "a", 1), peer="c")], 2)],
    ids=["a node that is only silent may be there", "a node to which a message failed has crashed"],
)
def test_a_subscriber_that_has_crashed_has_lost_nothing(failed: list[Event], lost: int) -> None:
    log = Log("peter", [*trees("abc"), publish("a", 2), *at_the_end("ab"), *failed])

    assert log.values()["events_delivered"] == [0] * lost


def test_without_one_clock_nothing_is_said_to_be_lost() -> None:
    values = Log("peter", [*CHAIN, *at_the_end("abc")]).values(shared_clock=False)

    assert "events_delivered" not in values
    assert (values["event_duplicates"], values["tree_depth"]) == ([0, 0], [0, 1])
