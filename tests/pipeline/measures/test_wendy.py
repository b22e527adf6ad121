"""What is measured of overlays: rings of Wendy made by hand, whose figures are known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.handmade import Log, happens

from peerproof.conformance.traces.events import Event
from peerproof.pipeline.measures.protocols.wendy import closest
from peerproof.reference.protocols.registry import RUNTIMES

#: The ids of three nodes, by their names.
IDS = {"a": "10" + "0" * 30, "b": "50" + "0" * 30, "c": "90" + "0" * 30}
NEAR_B = "51" + "0" * 30
VERSIONS = {"routing_table": "0", "leaf_set": "0", "neighborhood_set": "0"}


def starts(node: str, at: float = 0, *, is_consulted: bool = False) -> Event:
    config = {
        "id": IDS[node], "global_ip": "", "region": "", "network_timeout": 1000, "heartbeat": 0, "credentials": None,
        "is_consulted": is_consulted, "ring": {"digits": 32, "digit_bits": 4}, "leaf_set_side": 16, "neighborhood_set": 32,
        "is_two_sided": False,
    }  # fmt: skip
    return happens(node, at, "start", config)


def header(node: str, key: str = "", hop: int = 0) -> dict[str, Any]:
    sender = {"id": IDS[node], "local_ip": node, "global_ip": node, "port": 1, "region": ""}
    return {"sender": sender, "key": key or IDS[node], "versions": VERSIONS, "credentials": None, "hop": hop}


def message(kind: str, node: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "header": header(node), **more}


def sends(to: str, said: dict[str, Any]) -> dict[str, Any]:
    return {"send": {"to": f"{to}:1", "message": said}}


def fails(node: str, at: float, said: dict[str, Any], *effects: Any, peer: str) -> Event:
    """A message did not arrive."""
    return happens(node, at, "sent", {"took": None, "message": said}, *effects, peer=peer)


def tables(*, routing_table: int = 0, left: int = 0, right: int = 0, near: int = 0) -> dict[str, Any]:
    """Tables with so many nodes."""
    one = header("a")["sender"]
    cells = [{"row": 0, "column": column, "node": one} for column in range(routing_table)]
    return {"routing_table": cells, "leaf_set": {"left": [one] * left, "right": [one] * right}, "neighborhood_set": [one] * near}


def join(node: str, at: float, *effects: Any, contact: str = "a") -> Event:
    return happens(node, at, "api", {"type": "join", "contact": f"{contact}:1"}, *effects)


def joined(node: str, at: float, *effects: Any) -> Event:
    return happens(node, at, "timer", {"type": "announce"}, *effects, {"notify": {"type": "joined"}})


def ring(nodes: str = "abc", **more: Any) -> list[Event]:
    """The first is alone; the others have joined at 1 s."""
    begun = [starts(node, **more) for node in nodes]
    return [*begun, *(event for node in nodes[1:] for event in (join(node, 0, contact=nodes[0]), joined(node, 1)))]


def route(node: str, at: float) -> Event:
    return happens(node, at, "api", {"type": "route", "key": NEAR_B, "value": "aa", "purpose": 16})


def deliver(node: str, at: float, hop: int = 1) -> Event:
    said = {"header": header("a", NEAR_B, hop), "purpose": 16, "value": "aa"}
    return happens(node, at, "timer", {"type": "flush_cache"}, {"notify": {"type": "delivered", "message": said}})


def receives(node: str, at: float, said: dict[str, Any], *effects: Any) -> Event:
    return happens(node, at, "recv", said, *effects, peer="x:9")


WHOLE = message("state_data", "a", tables=tables(routing_table=1), destination=True)
PART = {**WHOLE, "tables": {**WHOLE["tables"], "routing_table": []}}

RINGS: dict[str, tuple[list[Event], dict[str, list[float]]]] = {
    "a message arrives where its key belongs": (
        [*ring(), route("a", 2), deliver("b", 3, hop=2)],
        {"delivered": [1], "misdelivered": [0], "route_hops": [2]},
    ),
    "a message is lost": ([*ring(), route("a", 2), route("a", 2), deliver("b", 3)], {"delivered": [0, 1]}),
    "a delivery at another node than the closest is wrong": ([*ring(), route("a", 2), deliver("c", 3)], {"misdelivered": [1]}),
    "a node owns nothing before it has joined": (
        [*ring("ac"), starts("b"), join("b", 0), route("a", 2), deliver("c", 3), joined("b", 4), deliver("c", 5)],
        {"misdelivered": [0, 1]},
    ),
    "a node that has left owns nothing": (
        [*ring(), happens("b", 4, "api", {"type": "leave"}), deliver("c", 3), deliver("c", 5), deliver("c", 6)],
        {"misdelivered": [0, 0, 1]},
    ),
    "a node that is only silent may be there": ([*ring(), deliver("c", 8)], {"misdelivered": [1]}),
    "a node to which a message failed after its last event has crashed": (
        [*ring(), fails("a", 7, message("heartbeat", "a"), peer="b"), deliver("c", 8)],
        {"misdelivered": [0]},
    ),
    "a node that has started again owns nothing before it has joined again": (
        [*ring(), starts("b", 5), join("b", 5), deliver("c", 4), deliver("c", 6), joined("b", 7), deliver("b", 8)],
        {"misdelivered": [0, 0, 0]},
    ),
    "a routing table in an answer is not all of it": (
        [
            *ring(),
            receives("a", 2, message("node_join", "b"), sends("b", WHOLE)),
            receives("a", 3, message("node_exit", "c"), sends("b", PART)),
        ],
        {"routing_table": [1]},
    ),
    "what applications change is not followed": (
        [*ring(is_consulted=True), route("a", 2), deliver("c", 3)],
        {"route_hops": [1], "delivered": [], "misdelivered": []},
    ),
}


@pytest.mark.parametrize(("events", "expected"), RINGS.values(), ids=RINGS)
def test_figures_of_a_ring_are_those_that_its_events_make(events: list[Event], expected: dict[str, list[float]]) -> None:
    found = Log("wendy", events).values()

    assert {name: found.get(name, []) for name in expected} == expected


def test_figures_are_of_the_round_and_the_node_of_their_event() -> None:
    found = dict(Log("wendy", [*ring(), route("a", 2), deliver("b", 3, hop=2)]).metrics())

    assert (found["delivered", 2, "a"], found["misdelivered", 3, "b"], found["route_hops", 3, "b"]) == (1, 0, 2)


def test_without_one_clock_nobody_is_said_to_be_the_wrong_one() -> None:
    found = Log("wendy", [*ring(), route("a", 2), deliver("c", 3)]).values(shared_clock=False)

    assert found["delivered"] == [1]
    assert "misdelivered" not in found


def test_joining_lasts_until_the_last_announcement_has_arrived() -> None:
    """What a joiner sends and receives, until no warning leads to another announcement; not what it does besides."""
    announcement = message("node_announcement", "b", tables=tables(routing_table=3, left=1, right=2, near=3))
    state = message("state_data", "a", tables=tables(), destination=True)
    race = message("node_race", "a", tables=tables())
    mask = {"routing_table": False, "leaf_set": True, "neighborhood_set": False, "rows": [], "columns": []}
    confirmed = {"took": 5, "message": announcement}

    values = Log(
        "wendy",
        [
            starts("b"),
            join("b", 1, sends("a", message("node_join", "b"))),
            receives("b", 1, state),
            happens("b", 1, "timer", {"type": "flush_cache"}, sends("a", message("node_repair", "b", mask=mask))),
            joined("b", 3, sends("a", announcement)),
            receives("b", 3, race),
            happens("b", 3, "sent", confirmed, sends("a", announcement), peer="a:1"),
            happens("b", 3, "sent", confirmed, peer="a:1"),
            receives("b", 4, race),
        ],
    ).values()

    codec = RUNTIMES["wendy"].specification().MESSAGE
    joining = [message("node_join", "b"), state, announcement, race, announcement]
    assert (values["join_time"], values["join_messages"]) == ([2000], [5])
    assert values["join_bytes"] == [sum(len(codec.encode(codec.value(said))) for said in joining)]
    assert (values["routing_table"], values["leaf_set"], values["neighborhood_set"]) == ([3], [3], [3])


def test_of_ids_equally_far_away_the_lower_one_is_closer() -> None:
    half = "30" + "0" * 30

    assert closest(half, [IDS["b"], IDS["a"]]) == IDS["a"]
    assert closest(half, []) is None
