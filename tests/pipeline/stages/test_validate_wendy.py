"""Wendy through the pipeline: with and without effects, by messages alone, all nodes together; right, and wrong in one way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.clusters import Row, foreign, of_node, place_of, simulated, validated
from tests.pipeline.stages.test_validate import checked

from peerproof.conformance.traces.events import Event
from peerproof.spec import wendy
from peerproof.spec.properties import Cluster, Property
from peerproof.spec.traces.trace import Line
from peerproof.spec.wendy import joining
from peerproof.spec.wendy.properties import is_quiet

CHURN: dict[str, Any] = {"config": {"heartbeat": 30_000}, "apart": 2, "crashes": ((2, 25),), "restarts": ((2, 35),)}


def ring(nodes: int = 5, rounds: int = 30, **plan: Any) -> list[Line]:
    return simulated(nodes, rounds, "w", "wendy", **plan)


def lots(lines: list[Line]) -> list[list[Event]]:
    """The events of each node."""
    return [of_node(lines, node) for node in sorted({line.node for line in lines})]


def test_what_a_node_did_is_accepted() -> None:
    """Also what it did about messages that did not arrive, and after a restart."""
    lines = ring(rounds=40, **CHURN)
    assert any(line.kind == "sent" and '"took":null' in line.json() for line in lines if line.node == "n1:1")

    for node in ("n1:1", "n2:1"):
        events = of_node(lines, node)
        verdict, rows = checked(events)
        assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "replay", "accepted", len(events))


def test_a_log_without_effects_is_explained() -> None:
    events = foreign(ring(rounds=40, **CHURN))

    verdict, rows = checked(events)

    assert (rows, verdict.way, verdict.verdict) == ([], "relation", "accepted")
    assert verdict.judged == sum(event.kind != "send" for event in events)


def test_a_log_without_messages_that_were_sent_is_explained() -> None:
    verdict, rows = checked(foreign(ring(), sends=False))

    assert (rows, verdict.way, verdict.verdict) == ([], "relation", "accepted")


def test_a_message_that_nothing_explains_is_rejected() -> None:
    events = foreign(ring())
    at = next(event.seq for event in events[40:] if event.msg_type == "heartbeat" and event.kind == "send")
    events[at] = events[at]._replace(peer="stranger:1")

    verdict, (row,) = checked(events)

    assert (verdict.verdict, row["property"], row["seq"] < at) == ("rejected", "Step", True)


def test_a_log_that_does_not_say_what_became_of_messages_is_not_judged() -> None:
    """What a node does depends on it."""
    events = [event for event in foreign(ring()) if event.kind != "sent"]

    verdict, (row,) = checked([event._replace(seq=number) for number, event in enumerate(events)])

    assert (verdict.verdict, row["severity"], row["property"]) == ("undetermined", "undetermined", "Outcomes")
    assert "kind sent" in row["message"]


def test_messages_alone_are_held_to_the_protocols_rules() -> None:
    """Each where it is in the log, which says when it was sent."""
    lines = ring(nodes=6, rounds=40)
    events = [event for event in foreign(lines) if event.kind in ("send", "recv")]
    events = [event._replace(seq=n) for n, event in enumerate(events)]
    verdict, rows = checked(events)
    assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "monitor", "accepted", len(events))

    announced = next(n for n, event in enumerate(events) if (event.kind, event.msg_type) == ("send", "node_announcement"))
    marked = next(
        n for n, event in enumerate(events) if event.kind == "recv" and event.args and '"destination":true' in event.args
    )
    early = events[marked].t_us + 1_000_000
    events = [*events[: marked + 1], events.pop(announced)._replace(t_us=early), *events[marked + 1 :]]
    verdict, rows = checked([event._replace(seq=n) for n, event in enumerate(events)])
    assert verdict.verdict == "rejected"
    assert ("AnnouncedInTime", marked + 1) in {(row["property"], row["seq"]) for row in rows}


# One message that is wrong, in a log that has everything.


def of_type(kind: str) -> Callable[[Row], bool]:
    return lambda message: bool(message["type"] == kind)


def answers_a_join(message: Row) -> bool:
    return bool(message["type"] == "state_data" and message["tables"]["routing_table"] is not None)


def forget_the_versions(message: Row) -> None:
    message["header"]["versions"] = dict.fromkeys(message["header"]["versions"], "0")


def leave_out_the_routing_table(message: Row) -> None:
    message["tables"]["routing_table"] = None


def add_a_mark(message: Row) -> None:
    message.update(destination=True)
    message["tables"]["leaf_set"] = None


def list_oneself(message: Row) -> None:
    message["tables"]["neighborhood_set"].append(message["header"]["sender"])


def count_a_hop_more(message: Row) -> None:
    message["header"]["hop"] += 1


def change_sides(message: Row) -> None:
    leaves = message["tables"]["leaf_set"]
    leaves["left"], leaves["right"] = leaves["right"], leaves["left"]


def is_passed_on(message: Row) -> bool:
    return message["type"] in ("node_join", "application") and message["header"]["hop"] > 0


WRONG = [
    (of_type("node_race"), forget_the_versions, "Effects", "W-64"),
    (answers_a_join, leave_out_the_routing_table, "JoinAnswered", "W-48"),
    (answers_a_join, add_a_mark, "MarkWithLeafSet", "WA-61"),
    (of_type("node_announcement"), list_oneself, "SelfFree", "WA-15"),
    (of_type("node_announcement"), change_sides, "LeftLeavesFirst", "WA-51"),
    (is_passed_on, count_a_hop_more, "HopsCounted", "WA-56"),
]


@pytest.mark.parametrize(("fits", "change", "name", "clause"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_a_divergence_is_named_by_what_it_contradicts(
    fits: Callable[[Row], bool], change: Callable[[Row], None], name: str, clause: str
) -> None:
    lines = ring(nodes=8)
    for events in lots(lines):
        for number, messages, effects in sent(events, fits):
            change(messages[-1])
            events[number] = events[number]._replace(effects=json.dumps(effects, separators=(",", ":")))

            verdict, (row,) = checked(events)

            assert (verdict.verdict, row["severity"], row["seq"]) == ("rejected", "violates", number)
            assert name in row["property"].split(", ")
            assert clause in row["clause"].split(", ")
            return
    raise AssertionError("no message fits")


def sent(events: list[Event], fits: Callable[[Row], bool]) -> Iterator[tuple[int, list[Row], list[Row]]]:
    """Events that send such messages, these messages, and all effects."""
    for number, event in enumerate(events):
        effects = json.loads(event.effects or "[]")
        messages = [effect["send"]["message"] for effect in effects if "send" in effect]
        if fitting := [message for message in messages if fits(message)]:
            yield number, fitting, effects


# All nodes together.


def test_all_nodes_are_looked_at_at_every_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At rest, too: a ring that is built is at rest most of the time."""
    quiet: list[int] = []
    seen: list[int] = []

    def look(cluster: Cluster) -> bool:
        seen.append(len(cluster.nodes))
        if is_quiet(cluster):
            quiet.append(len(cluster.nodes))
        return True

    look_at = Property("Looking", "somebody looks", ("WI-09",), "cluster", look)
    monkeypatch.setattr(wendy, "PROPERTIES", (*wendy.PROPERTIES, look_at))
    lines = ring()

    violations, verdicts = validated(place_of(tmp_path, lots(lines)))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert (verdicts[""]["judged"], verdicts[""]["remark"], len(seen)) == (len(lines), None, len(lines))
    assert quiet.count(5) > 10


def test_what_holds_as_long_as_nobody_has_gone_is_looked_at_so_long(tmp_path: Path) -> None:
    violations, verdicts = validated(place_of(tmp_path, lots(ring(nodes=4, crashes=((2, 15),)))))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert "by which n2:1 has gone" in verdicts[""]["remark"]


def test_clocks_need_not_agree(tmp_path: Path) -> None:
    """A message is received after it was sent, and confirmed after it was received."""
    events = [[event._replace(t_us=event.t_us + 90_000_000 * (4 - n)) for event in lot] for n, lot in enumerate(lots(ring()))]

    violations, verdicts = validated(place_of(tmp_path, events))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert verdicts[""]["remark"] is None


def test_ports_of_connections_need_not_be_those_of_nodes(tmp_path: Path) -> None:
    """As real nodes log who has connected."""
    events = [
        [event._replace(peer=f"127.0.0.1:{40_000 + event.seq}") if event.kind == "recv" else event for event in lot]
        for lot in lots(ring())
    ]

    violations, verdicts = validated(place_of(tmp_path, events))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert verdicts[""]["remark"] is None


def test_a_log_that_ends_early_is_found(tmp_path: Path) -> None:
    events = lots(ring())
    events[0] = events[0][: len(events[0]) // 3]

    violations, verdicts = validated(place_of(tmp_path, events))

    assert {(row["severity"], row["property"]) for row in violations} <= {("log", "NeverSent")}
    assert {verdict["verdict"] for node, verdict in verdicts.items() if node} == {"accepted"}
    assert verdicts[""]["verdict"] == "undetermined"


def test_neighbours_that_never_meet_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of nodes that all take announcements without a look at versions. [WX-04]"""
    monkeypatch.setattr(joining, "is_newer", lambda *_: False)
    found = set()
    for seed in "abcdefgh":
        lines = simulated(6, 8, seed, "wendy")
        violations, _ = validated(place_of(tmp_path / seed, lots(lines)))
        found |= {(row["severity"], row["property"], row["node"]) for row in violations}

    assert ("violates", "QuietNeighbours", "") in found
