"""What is measured of overlays: rings of Wendy made by hand, whose figures are known."""

from __future__ import annotations

from typing import Any

from tests.pipeline.handmade import SECOND, Log, log_of

from peerproof.pipeline.measures.protocols.wendy import closest
from peerproof.reference.protocols.registry import RUNTIMES

#: The ids of three nodes, by their names.
IDS = {"a": "10" + "0" * 30, "b": "50" + "0" * 30, "c": "90" + "0" * 30}
NEAR_B = "51" + "0" * 30
VERSIONS = {"routing_table": "0", "leaf_set": "0", "neighborhood_set": "0"}


def config(node: str, *, is_consulted: bool = False) -> dict[str, Any]:
    return {
        "id": IDS[node], "global_ip": "", "region": "", "network_timeout": 1000, "heartbeat": 0, "credentials": None,
        "is_consulted": is_consulted, "ring": {"digits": 32, "digit_bits": 4}, "leaf_set_side": 16, "neighborhood_set": 32,
        "is_two_sided": False,
    }  # fmt: skip


def header(node: str, key: str = "", hop: int = 0) -> dict[str, Any]:
    sender = {"id": IDS[node], "local_ip": node, "global_ip": node, "port": 1, "region": ""}
    return {"sender": sender, "key": key or IDS[node], "versions": VERSIONS, "credentials": None, "hop": hop}


def message(kind: str, node: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "header": header(node), **more}


def sends(to: str, said: dict[str, Any]) -> dict[str, Any]:
    return {"send": {"to": f"{to}:1", "message": said}}


def tables(*, routing_table: int = 0, left: int = 0, right: int = 0, near: int = 0) -> dict[str, Any]:
    """Tables with so many nodes."""
    one = header("a")["sender"]
    cells = [{"row": 0, "column": column, "node": one} for column in range(routing_table)]
    return {"routing_table": cells, "leaf_set": {"left": [one] * left, "right": [one] * right}, "neighborhood_set": [one] * near}


def ring(nodes: str = "abc", **more: Any) -> Log:
    """The first is alone; the others have joined at 1 s."""
    log = Log("wendy")
    for node in nodes:
        log.add(node, 0, "start", config(node, **more))
        if node != nodes[0]:
            log.add(node, 0, "api", {"type": "join", "contact": f"{nodes[0]}:1"})
            log.add(node, SECOND, "timer", {"type": "announce"}, [{"notify": {"type": "joined"}}])
    return log


def route(log: Log, node: str, at: int, key: str = NEAR_B, value: str = "aa") -> None:
    log.add(node, at * SECOND, "api", {"type": "route", "key": key, "value": value, "purpose": 16})


def deliver(log: Log, node: str, at: int, hop: int = 1, key: str = NEAR_B, value: str = "aa", maker: str = "a") -> None:
    said = {"header": header(maker, key, hop), "purpose": 16, "value": value}
    log.add(node, at * SECOND, "timer", {"type": "flush_cache"}, [{"notify": {"type": "delivered", "message": said}}])


def found(log: Log) -> dict[str, list[float]]:
    return log_of(log.metrics())


def test_a_message_is_delivered_after_some_hops_where_its_key_belongs() -> None:
    log = ring()
    route(log, "a", 2)
    deliver(log, "b", 3, hop=2)

    values = dict(log.metrics())

    assert (values["delivered", 2, "a"], values["misdelivered", 3, "b"], values["route_hops", 3, "b"]) == (1, 0, 2)


def test_a_message_that_comes_nowhere_is_lost() -> None:
    log = ring()
    route(log, "a", 2)
    route(log, "a", 2)
    deliver(log, "b", 3)

    assert sorted(found(log)["delivered"]) == [0, 1]


def test_a_delivery_at_another_node_than_the_closest_is_wrong() -> None:
    log = ring()
    route(log, "a", 2)
    deliver(log, "c", 3)

    assert found(log)["misdelivered"] == [1]


def test_who_has_not_joined_yet_owns_nothing() -> None:
    log = ring("ac")
    log.add("b", 0, "start", config("b"))
    log.add("b", 0, "api", {"type": "join", "contact": "a:1"})
    route(log, "a", 2)
    deliver(log, "c", 3)
    log.add("b", 4 * SECOND, "timer", {"type": "announce"}, [{"notify": {"type": "joined"}}])
    deliver(log, "c", 5)

    assert found(log)["misdelivered"] == [0, 1]


def test_who_has_left_owns_nothing() -> None:
    log = ring()
    log.add("b", 4 * SECOND, "api", {"type": "leave"})
    deliver(log, "c", 3)
    deliver(log, "c", 5)

    assert found(log)["misdelivered"] == [1, 0]


def test_who_has_crashed_owns_nothing_from_its_last_event_on() -> None:
    """If somebody has sent to it in vain; a node that is only silent may be there."""
    silent, missed = ring(), ring()
    deliver(silent, "c", 8)
    missed.add("a", 7 * SECOND, "sent", {"took": None, "message": message("heartbeat", "a")}, peer="b")
    deliver(missed, "c", 8)

    assert found(silent)["misdelivered"] == [1]
    assert found(missed)["misdelivered"] == [0]


def test_who_has_started_again_owns_nothing_before_it_has_joined_again() -> None:
    log = ring()
    log.add("b", 5 * SECOND, "start", config("b"))
    log.add("b", 5 * SECOND, "api", {"type": "join", "contact": "a:1"})
    for at in (4, 6):
        deliver(log, "c", at)
    log.add("b", 7 * SECOND, "timer", {"type": "announce"}, [{"notify": {"type": "joined"}}])
    deliver(log, "b", 8)

    assert found(log)["misdelivered"] == [0, 0, 0]


def test_without_one_clock_nobody_is_said_to_be_the_wrong_one() -> None:
    log = ring()
    route(log, "a", 2)
    deliver(log, "c", 3)

    values = log_of(log.metrics(shared_clock=False))

    assert values["delivered"] == [1]
    assert "misdelivered" not in values


def test_what_applications_change_is_not_followed() -> None:
    log = ring(is_consulted=True)
    route(log, "a", 2)
    deliver(log, "c", 3)

    assert found(log).keys() & {"delivered", "misdelivered", "route_hops"} == {"route_hops"}


def test_joining_lasts_until_the_last_announcement_has_arrived() -> None:
    """What a joiner sends and receives, until no warning leads to another announcement; not what it does besides."""
    log = Log("wendy")
    announcement = message("node_announcement", "b", tables=tables(routing_table=3, left=1, right=2, near=3))
    state = message("state_data", "a", tables=tables(), destination=True)
    race = message("node_race", "a", tables=tables())
    repair = message("node_repair", "b", mask={"routing_table": False, "leaf_set": True, "neighborhood_set": False, "rows": [],
                                               "columns": []})  # fmt: skip
    log.add("b", 0, "start", config("b"))
    log.add("b", SECOND, "api", {"type": "join", "contact": "a:1"}, [sends("a", message("node_join", "b"))])
    log.add("b", SECOND, "recv", state, peer="x:9")
    log.add("b", SECOND, "timer", {"type": "flush_cache"}, [sends("a", repair)])
    log.add("b", 3 * SECOND, "timer", {"type": "announce"}, [sends("a", announcement), {"notify": {"type": "joined"}}])
    log.add("b", 3 * SECOND, "recv", race, peer="x:9")
    log.add("b", 3 * SECOND, "sent", {"took": 5, "message": announcement}, [sends("a", announcement)], peer="a:1")
    log.add("b", 3 * SECOND, "sent", {"took": 5, "message": announcement}, peer="a:1")
    log.add("b", 4 * SECOND, "recv", race, peer="x:9")

    values = found(log)

    codec = RUNTIMES["wendy"].specification().MESSAGE
    joining = [message("node_join", "b"), state, announcement, race, announcement]
    assert (values["join_time"], values["join_messages"]) == ([2000], [5])
    assert values["join_bytes"] == [sum(len(codec.encode(codec.value(said))) for said in joining)]
    assert (values["routing_table"], values["leaf_set"], values["neighborhood_set"]) == ([3], [3], [3])


def test_a_routing_table_in_an_answer_is_not_all_of_it() -> None:
    log = ring()
    whole = message("state_data", "a", tables=tables(routing_table=1), destination=True)
    part = {**whole, "tables": {**whole["tables"], "routing_table": []}}
    log.add("a", 2 * SECOND, "recv", message("node_join", "b"), [sends("b", whole)], peer="x:9")
    log.add("a", 3 * SECOND, "recv", message("node_exit", "c"), [sends("b", part)], peer="x:9")

    assert found(log)["routing_table"] == [1]


def test_of_ids_equally_far_away_the_lower_one_is_closer() -> None:
    half = "30" + "0" * 30

    assert closest(half, [IDS["b"], IDS["a"]]) == IDS["a"]
    assert closest(half, []) is None
