"""SWIM through the pipeline: simulated, real and captured; with and without answers of chance; right, and wrong in one way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pipeline.clusters import Row, foreign, of_node, simulated
from tests.pipeline.recorded import Packet, Recording, record
from tests.pipeline.stages.test_planted import captured, traced
from tests.pipeline.stages.test_validate import OPTIONS, checked

from peerproof.conformance.traces.events import Event

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("nodes"), "swim")


def test_what_a_simulated_node_did_is_accepted() -> None:
    events = of_node(simulated(nodes=5, protocol="swim", crashes=((2, 5),), restarts=((2, 12),)))

    verdict, rows = checked(events)

    assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "replay", "accepted", len(events))


def test_a_log_without_answers_of_chance_is_explained() -> None:
    """Of a node with eleven others, whose rounds have more orders than are carried."""
    events = foreign(simulated(nodes=12, protocol="swim", crashes=((2, 5),), restarts=((2, 12),)))

    verdict, rows = checked(events)

    assert (rows, verdict.way, verdict.verdict) == ([], "relation", "accepted")
    assert verdict.judged == sum(event.kind != "send" for event in events)


def test_a_message_that_nothing_explains_is_rejected_with_what_was_allowed() -> None:
    events = foreign(simulated(nodes=5, protocol="swim"))
    at = next(event.seq for event in events[60:] if event.msg_type == "ping" and event.kind == "send")
    events[at] = events[at]._replace(peer="stranger:1")

    verdict, (row,) = checked(events)

    assert (verdict.verdict, row["severity"], row["property"]) == ("rejected", "violates", "Step")
    assert row["seq"] < at
    assert json.loads(row["expected"])


def test_messages_alone_are_held_to_the_protocols_rules() -> None:
    events = [event for event in foreign(simulated(nodes=5, protocol="swim")) if event.kind in ("send", "recv")]
    events = [event._replace(seq=n) for n, event in enumerate(events)]
    verdict, rows = checked(events)
    assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "monitor", "accepted", len(events))

    sent = [event.seq for event in events if event.kind == "send"]
    events[sent[9]] = events[sent[9]]._replace(payload=events[sent[2]].payload)
    verdict, rows = checked(events)
    assert verdict.verdict == "rejected"
    assert ("CounterGrows", sent[9]) in {(row["property"], row["seq"]) for row in rows}


def wrong(events: list[Event], change: Callable[[Row], None]) -> int:
    """Change what the first ping of the second half says; at which event."""
    for number in range(len(events) // 2, len(events)):
        effects = json.loads(events[number].effects or "[]")
        for effect in effects:
            if effect.get("send", {}).get("message", {}).get("type") == "ping":
                change(effect["send"]["message"])
                events[number] = events[number]._replace(effects=json.dumps(effects, separators=(",", ":")))
                return number
    raise AssertionError("no ping")


def go_back(message: Row) -> None:
    message["incarnation"]["tx"] = "1"


def list_twice(message: Row) -> None:
    (members,) = (vector["members"] for vector in message["vectors"] if vector["type"] == "anti_entropy")
    members.append(members[0])


@pytest.mark.parametrize(
    ("change", "names", "clause"),
    [(go_back, "CounterGrows", "SA-09"), (list_twice, "MembersAreOthers, FewMembers", "SA-28")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_divergence_is_named_by_what_it_contradicts_and_nothing_else(
    change: Callable[[Row], None], names: str, clause: str
) -> None:
    """Beside the datagrams that the specification has, those that are wrong have the same numbers; that names nothing."""
    events = of_node(simulated(nodes=5, protocol="swim"))
    at = wrong(events, change)

    verdict, (row,) = checked(events, options=OPTIONS)

    assert (verdict.verdict, row["seq"], row["property"]) == ("rejected", at, names)
    assert clause in row["clause"].split(", ")


def test_real_nodes_are_accepted(recording: Recording, tmp_path: Path) -> None:
    """Each by itself, all together at every instant; and by their traffic alone."""
    violations, verdicts = traced(tmp_path, [list(lines) for lines in recording.traces])
    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("replay", "accepted")] * 3 + [("cluster", "accepted")]
    assert verdicts[3]["judged"] == sum(map(len, recording.traces))

    violations, verdicts = captured(tmp_path / "capture", list(recording.packets), recording)
    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("monitor", "accepted")] * 3
    assert sum(row["judged"] for row in verdicts) == 2 * len(recording.packets) > 100


def last(packets: list[Packet], kind: str) -> int:
    """The last packet of this type."""
    return max(number for number, packet in enumerate(packets) if type(packet.message).__name__ == kind)


def test_a_number_that_jumps_back_in_a_capture_is_found(recording: Recording, tmp_path: Path) -> None:
    packets = list(recording.packets)
    at = last(packets, "Ping")
    message = packets[at].message
    packets[at] = packets[at].saying(replace(message, incarnation=message.incarnation._replace(tx=2)))

    violations, _ = captured(tmp_path, packets, recording)

    (found,) = (row for row in violations if row["property"] == "CounterGrows")
    assert (found["severity"], found["node"]) == ("violates", f"127.0.0.1:{packets[at].source}")
    assert found["clause"] == "S-14"


def test_an_ack_of_no_ping_in_a_capture_is_found(recording: Recording, tmp_path: Path) -> None:
    packets = list(recording.packets)
    at = last(packets, "Ack")
    packets[at] = packets[at].saying(replace(packets[at].message, target_tx=10**6))

    violations, _ = captured(tmp_path, packets, recording)

    assert [(row["property"], row["node"]) for row in violations] == [("AckOfPing", f"127.0.0.1:{packets[at].source}")]
