"""DistKV through the pipeline: with and without effects, by messages alone, all nodes together; right, and wrong in one way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.clusters import foreign, of_node, place_of, simulated, validated
from tests.pipeline.stages.test_validate import checked

from peerproof.spec import distkv
from peerproof.spec.core import EVERYBODY
from peerproof.spec.properties import Cluster, Property
from peerproof.spec.traces.trace import Line

SPLIT: dict[str, Any] = {"partition": (10, 20)}
RESTART: dict[str, Any] = {"crashes": ((1, 15),), "restarts": ((1, 20),)}


def cluster(nodes: int = 4, rounds: int = 40, **plan: Any) -> list[Line]:
    return simulated(nodes, rounds, "d", "distkv", **plan)


def lots(lines: list[Line]) -> list[list[Any]]:
    return [of_node(lines, node) for node in sorted({line.node for line in lines})]


@pytest.mark.parametrize("plan", [SPLIT, RESTART], ids=["a split", "a restart"])
def test_what_a_node_did_is_accepted(plan: dict[str, Any]) -> None:
    for events in lots(cluster(**plan)):
        verdict, rows = checked(events)
        assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "replay", "accepted", len(events))


@pytest.mark.parametrize("sends", [True, False], ids=["with what was sent", "without"])
def test_a_log_without_effects_is_explained(sends: bool) -> None:
    """Although nobody knows which of thousands of moments the node has drawn."""
    events = foreign(cluster(**SPLIT), sends=sends)

    verdict, rows = checked(events)

    assert (rows, verdict.way, verdict.verdict) == ([], "relation", "accepted")
    assert verdict.judged == sum(event.kind != "send" for event in events)


def test_messages_alone_are_held_to_the_protocols_rules() -> None:
    events = [event for event in foreign(cluster(**SPLIT)) if event.kind in ("send", "recv")]
    events = [event._replace(seq=number) for number, event in enumerate(events)]
    verdict, rows = checked(events)
    assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "monitor", "accepted", len(events))

    last = max(number for number, event in enumerate(events) if event.msg_type == "ping" and event.kind == "send")
    verdict, found = checked([*events[: last + 1], events[last]._replace(seq=last + 1)])
    assert verdict.verdict == "rejected"
    assert "TockRises" in {row["property"] for row in found}


def test_a_divergence_is_named_by_what_it_contradicts() -> None:
    events = of_node(cluster(**SPLIT))
    for number, event in enumerate(events):
        effects = json.loads(event.effects or "[]")
        pings = [effect["send"]["message"] for effect in effects if "send" in effect]
        if number > 5 and pings and pings[-1]["type"] == "ping":
            pings[-1]["tock"] = "1"
            events[number] = event._replace(effects=json.dumps(effects, separators=(",", ":")))
            break

    verdict, (row,) = checked(events)

    assert (verdict.verdict, row["severity"], row["seq"]) == ("rejected", "violates", number)
    assert "TockRises" in row["property"].split(", ")


def looking(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many nodes there are and how many messages are under way, at each instant."""
    seen: list[tuple[int, int]] = []

    def look(cluster: Cluster) -> bool:
        messages = list(cluster.in_flight)
        assert EVERYBODY not in {to for _, to, _ in messages}
        seen.append((len(cluster.nodes), len(messages)))
        return True

    look_at = Property("Looking", "somebody looks", ("DI-07",), "cluster", look)
    monkeypatch.setattr(distkv, "PROPERTIES", (*distkv.PROPERTIES, look_at))
    return seen


def test_all_nodes_are_looked_at_at_every_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message for everybody is under way to each of them, its sender too."""
    seen, lines = looking(monkeypatch), cluster(**SPLIT)

    violations, verdicts = validated(place_of(tmp_path, lots(lines)))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert (verdicts[""]["judged"], verdicts[""]["remark"], len(seen)) == (len(lines), None, len(lines))
    assert max(nodes for nodes, _ in seen) == 4
    assert (3, 4) in seen
    assert max(messages for _, messages in seen) > 4


def test_it_does_not_matter_from_whom_a_message_is_said_to_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serf does not say who has sent an event."""
    seen, lines = looking(monkeypatch), cluster(**SPLIT)
    told = [replace(line, peer=EVERYBODY) if line.kind == "recv" else line for line in lines]

    violations, verdicts = validated(place_of(tmp_path, lots(told)))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert len(seen) == len(lines)


def test_message_that_nobody_has_sent_is_a_fault_of_the_log(tmp_path: Path) -> None:
    lines = cluster()
    at = next(number for number, line in enumerate(lines) if "send" in str(line.effects) and line.kind == "timer")
    others = [events for events in lots(lines) if events[0].node != lines[at].node]
    alone = [line for line in lines if line.node == lines[at].node and line.seq < lines[at].seq]

    violations, verdicts = validated(place_of(tmp_path, [*others, of_node(alone, lines[at].node)]))

    assert {row["property"] for row in violations} <= {"NeverSent"}
    assert verdicts[""]["verdict"] == "undetermined"


def test_after_a_restart_single_nodes_are_looked_at_and_the_cluster_is_not(tmp_path: Path) -> None:
    violations, verdicts = validated(place_of(tmp_path, lots(cluster(**RESTART))))

    assert violations == []
    assert {verdicts[node]["verdict"] for node in verdicts if node} == {"accepted"}
    assert (verdicts[""]["verdict"], "restart" in verdicts[""]["remark"]) == ("undetermined", True)
