"""One node, judged by as much of it as is logged: what is right is accepted, and what is wrong in one way is found as that."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.pipeline.clusters import Row, foreign, of_node, recorded, simulated, traces_batch

from peerproof.conformance.traces import judges, node_check
from peerproof.conformance.traces.events import Event, EventRows, Rows, text_of
from peerproof.conformance.traces.findings import RULES, Finding, Findings
from peerproof.conformance.traces.node_check import NodeCheck, Options, Replays, Verdict, specification_of
from peerproof.conformance.traces.node_log import WINDOW, Timing
from peerproof.pipeline.storage.arrow_rows import ArrowRows
from peerproof.pipeline.storage.tables import VIOLATIONS
from peerproof.spec import scuttlebutt
from peerproof.spec.core import NodeId
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import Line

OPTIONS = Options("out", complete=True)
NAMES = [column.name for column in VIOLATIONS.columns]


def checked(events: list[Event], lot: int = 7, options: Options = OPTIONS) -> tuple[Verdict, list[Row]]:
    """The findings in the events of a node, given so many at a time: the same in a list and in an Arrow batch."""

    def check(make: Callable[[list[Event]], Rows]) -> tuple[Verdict, list[Row]]:
        node = NodeCheck(make(events[:lot]), Replays(), options)
        for begin in range(0, len(events), lot):
            node.take(make(events[begin : begin + lot]))
        verdict = node.end()
        return verdict, [dict(zip(NAMES, row, strict=True)) for row in node.findings.rows()]

    found = check(EventRows)
    assert found == check(lambda some: ArrowRows(traces_batch(some)))
    return found


def found(events: list[Event], lot: int = 7) -> list[tuple[str, str, int]]:
    """Severity, property and number of what is found."""
    return [(row["severity"], row["property"], row["seq"]) for row in checked(events, lot)[1]]


# A node's log.


@pytest.mark.slow
@pytest.mark.parametrize("lot", [1, 7, 4096])
def test_what_a_node_did_is_accepted_however_it_is_cut(lot: int) -> None:
    events = of_node(simulated())

    verdict, rows = checked(events, lot)

    assert rows == []
    assert verdict == Verdict("seed-v", "scuttlebutt", "n1:1", "replay", "accepted", len(events), len(events), 0, 0, None)


@pytest.mark.slow
@pytest.mark.parametrize("lot", [1, 5, 4096])
@pytest.mark.parametrize(
    ("change", "expected", "judged"),
    [
        pytest.param(lambda e: e[:20] + e[21:], [("log", "LostLine", 21)], 20, id="lost"),
        pytest.param(lambda e: e[:20] + e[26:], [("log", "LostLine", 26)], 20, id="six lost"),
        pytest.param(lambda e: e[:21] + e[20:], [("log", "DoubledLine", 20)], None, id="doubled"),
        pytest.param(lambda e: [*e[:20], e[21], e[20], *e[22:]], [("log", "SwappedLine", 20)], None, id="swapped"),
        pytest.param(
            lambda e: [*e[:20], *e[22:25], *e[20:22], *e[25:]],
            [("log", "SwappedLine", 20), ("log", "SwappedLine", 21)],
            None,
            id="two swapped with three",
        ),
        pytest.param(
            lambda e: [*e[:21], e[20]._replace(t_us=0), *e[21:]],
            [("log", "TwoLinesOfOneNumber", 20)],
            None,
            id="two of one number",
        ),
        pytest.param(lambda e: e[1:], [("log", "NoStart", 1)], 0, id="no start"),
    ],
)
def test_faults_of_a_log_are_no_faults_of_the_protocol(
    change: Callable[[list[Event]], list[Event]], expected: Any, judged: int | None, lot: int
) -> None:
    """What is lost, from there on, is not judged; all else is, in its order."""
    whole = of_node(simulated())

    verdict, rows = checked(change(whole), lot)

    assert [(row["severity"], row["property"], row["seq"]) for row in rows] == expected
    assert verdict.verdict == ("accepted" if judged is None else "undetermined")
    assert (verdict.divergences, verdict.log_faults) == (0, len(expected))
    assert verdict.judged == (len(whole) if judged is None else judged)


def test_lines_that_stand_beside_their_place_in_a_sorted_log_are_found_by_where_they_lay() -> None:
    events = [event._replace(src_file="n1.jsonl", src_off=100 * n) for n, event in enumerate(of_node(simulated()))]
    events[20], events[21] = (a._replace(src_off=b.src_off) for a, b in (events[20:22], events[21:19:-1]))

    assert found(events) == [("log", "SwappedLine", 21)]


def test_a_line_that_comes_long_after_its_place_was_lost_there_and_has_an_old_number_here() -> None:
    events = of_node(simulated())
    late = events.pop(10)
    events.insert(10 + WINDOW + 3, late)

    assert found(events) == [("log", "LostLine", 11), ("log", "TwoLinesOfOneNumber", 10)]


def test_after_what_was_lost_the_next_start_is_judged_again() -> None:
    events = of_node(simulated(crashes=((1, 8),), restarts=((1, 10),)))
    again = next(event.seq for event in events[1:] if event.kind == "start")
    del events[5]

    verdict, rows = checked(events)

    assert [row["property"] for row in rows] == ["LostLine"]
    assert verdict.judged == 5 + len(events) + 1 - again
    assert verdict.verdict == "undetermined"


@pytest.mark.slow
def test_a_divergence_is_told_with_five_events_before_and_two_after() -> None:
    events = of_node(simulated())
    events[20] = events[20]._replace(state_hash="0" * 16)

    for lot in (1, 3, 4096):
        _, (row,) = checked(events, lot)
        context = json.loads(row["context"])
        assert [line["seq"] for line in context] == list(range(15, 23))
        assert (row["property"], row["expected"], row["actual"]) == (
            "StateDigest",
            json.dumps(of_node(simulated())[20].state_hash),
            '"0000000000000000"',
        )
        assert row["replay"] == "peerproof pipeline validate --in out --run seed-v --node n1:1"


def test_a_divergence_names_what_it_contradicts_and_where_it_differs() -> None:
    events = of_node(simulated())
    at = next(event.seq for event in events if event.kind == "recv" and "digest_request" in (event.msg_type or ""))
    effects = [effect for effect in json.loads(events[at].effects or "") if "send" not in effect]
    events[at] = events[at]._replace(effects=json.dumps(effects, separators=(",", ":")))

    _, (row,) = checked(events)

    assert row["property"] == "AlwaysADelta"
    assert "B-32" in row["clause"].split(", ")
    assert "where the specification has" in row["message"]


def test_what_no_property_names_has_the_clauses_of_the_step() -> None:
    events = of_node(simulated())
    at = next(event.seq for event in events if event.kind == "timer")
    effects = json.loads(events[at].effects or "")
    effects[-1]["set_timer"]["after"] += 1
    events[at] = events[at]._replace(effects=json.dumps(effects, separators=(",", ":"), sort_keys=True))

    verdict, rows = checked(events)

    row = rows[0]
    assert (row["property"], verdict.verdict) == ("Effects", "rejected")
    assert {"B-08", "B-10", "B-20"} <= set(row["clause"].split(", "))
    assert row["message"].startswith(
        f"timer round: effect[{len(effects) - 1}].set_timer.after: 1001, where the specification has 1000"
    )


def test_of_many_faults_the_first_three_are_told_and_the_number_of_all() -> None:
    events = of_node(simulated())
    doubled = [event for event in events for _ in range(2)]

    verdict, rows = checked(doubled)

    assert verdict.log_faults == len(events)
    assert [row["property"] for row in rows] == ["DoubledLine"] * 3
    assert [row["times"] for row in rows] == [1, 1, len(events) - 2]


def test_the_findings_of_a_node_take_bounded_memory_however_many_rules_there_are() -> None:
    findings = Findings(specification_of("scuttlebutt"), "r", "n", "again")
    for number in range(10 * RULES):
        findings.add(Finding("violates", f"Rule{number % (RULES + 5)}", "so it is"))

    rows = list(findings.rows())

    assert sum(row.times for row in rows) == len(findings) == 10 * RULES
    assert len(rows) == RULES * 3 + 1
    assert (rows[-1].property, rows[-1].message) == (None, f"{rows[-1].times} of other rules by node n")


def test_a_timer_that_comes_early_or_was_never_set_is_a_fault_of_the_node() -> None:
    """A node with an interval of 1000 milliseconds whose rounds are 400 apart, as its driver has it."""
    events = of_node(simulated(nodes=1, config={"detector": None}), "n0:1")
    start, rounds = events[0], [event for event in events[1:] if event.kind == "timer"]
    hasty = [start, *(event._replace(t_us=start.t_us + 400_000 * n, seq=n) for n, event in enumerate(rounds, start=1))]
    assert [seq for severity, name, seq in found(hasty) if (severity, name) == ("violates", "TimerIsEarly")] == [1, 2, 3]

    twice = [start, rounds[0]._replace(seq=1), rounds[0]._replace(seq=2, effects=None)]
    twice[2] = twice[2]._replace(effects=rounds[0].effects)
    assert ("violates", "TimerIsEarly", 2) in found(twice)

    quiet = EventRows([start._replace(effects="[]"), rounds[0]])
    assert [finding.name for finding in Timing().take(quiet, 0, 2)] == ["TimerIsSet"]


@pytest.mark.parametrize("lot", [1, 7, 512])
def test_timers_are_followed_after_a_divergence_however_the_log_is_cut(lot: int) -> None:
    """What a node says of its timers holds whether or not the rest of it is right."""
    events = of_node(simulated())
    (first, second) = [event.seq for event in events if event.kind == "timer"][3:5]
    events[first] = events[first]._replace(state_hash="0" * 16)
    events[second:] = [event._replace(t_us=event.t_us + 3_600_000_000) for event in events[second:]]

    assert ("log", "ClockJumps", second) in found(events, lot)


def test_a_name_that_is_no_utf8_is_judged_like_any_other() -> None:
    """In a text column stands the JSON of its plain form."""
    peer = NodeId("peer\udcff")
    digest = scuttlebutt.DigestRequest((scuttlebutt.DigestEntry(peer, 1),))
    events = recorded("run\udcff", "node\udcff", [(peer, digest), scuttlebutt.UpdateLocal("k", "v"), (peer, digest)])
    assert text_of(events[1].peer or "") == peer

    verdict, rows = checked(events)

    assert rows == []
    assert (verdict.verdict, verdict.judged, text_of(verdict.node)) == ("accepted", 4, "node\udcff")


def test_states_of_many_nodes_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_check, "NODES", 2)
    replays = Replays()
    lines = simulated(nodes=5)
    for number in range(5):
        check = NodeCheck(EventRows(of_node(lines, f"n{number}:1")), replays, OPTIONS)
        check.take(EventRows(of_node(lines, f"n{number}:1")))
        assert check.end().verdict == "accepted"

    assert len(replays.of(scuttlebutt).nodes) <= 2


# A log without answers of chance, and one with messages only.


@pytest.mark.slow
@pytest.mark.parametrize("lot", [1, 7, 4096])
def test_a_log_without_answers_of_chance_is_explained(lot: int) -> None:
    events = foreign(simulated(nodes=4))

    verdict, rows = checked(events, lot)

    assert (rows, verdict.way, verdict.verdict) == ([], "relation", "accepted")
    assert verdict.judged == sum(event.kind != "send" for event in events)


def test_a_message_that_nothing_explains_is_rejected_with_what_was_allowed() -> None:
    events = foreign(simulated(nodes=4))
    at = next(event.seq for event in events[30:] if event.msg_type == "digest_request" and event.kind == "send")
    events[at] = events[at]._replace(peer="stranger:1")

    verdict, (row,) = checked(events)

    assert (verdict.verdict, row["severity"], row["property"], row["seq"]) == ("rejected", "violates", "Step", at - 1)
    assert "B-09" in row["clause"] or "B-08" in row["clause"]
    assert {allowed["messages"][0]["send"]["to"] for allowed in json.loads(row["expected"])} <= {"n0:1", "n2:1", "n3:1"}
    assert json.loads(row["actual"])["messages"][0]["send"]["to"] == "stranger:1"


def test_a_message_without_a_cause_is_rejected() -> None:
    events = foreign(simulated(nodes=4))
    start = events[0]
    at = next(n for n, event in enumerate(events) if event.kind == "send")
    early = [start._replace(kind="send", peer="x:1", payload=events[at].payload, args=None)._replace(seq=1)]

    assert checked([start, *early])[0].verdict == "rejected"


def test_a_bound_that_was_hit_is_no_verdict() -> None:
    """Nobody saw what was sent, so whoever got a digest is unknown; with one possible state carried, some are missing."""
    events = foreign(simulated(nodes=5), sends=False)
    events[-1] = events[-1]._replace(state_hash="0" * 16)

    verdict, rows = checked(events, options=Options("out", states=1, complete=True))

    assert verdict.verdict == "undetermined"
    assert [(row["severity"], row["property"]) for row in rows] == [("undetermined", "Bound")]
    assert "more than 1 possible states" in rows[0]["message"]
    assert "--states 1" in rows[0]["replay"]


def test_a_state_that_a_log_shows_is_compared() -> None:
    lines = simulated()
    events = foreign(lines)
    node = scuttlebutt.initial(NodeId("n1:1"), scuttlebutt.CONFIG.value(lines_of(lines)[0].args)).state
    plain: dict[str, Any] = scuttlebutt.STATE.plain(node)
    told = events[0]._replace(seq=1, kind="state")

    assert checked([events[0], told._replace(args=json.dumps(plain))])[0].verdict == "accepted"
    assert checked([events[0], told._replace(args=json.dumps({"store": []}))])[0].verdict == "rejected"


def lines_of(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.node == "n1:1"]


def test_messages_alone_are_held_to_the_protocols_rules() -> None:
    events = [event for event in foreign(simulated(nodes=4)) if event.kind in ("send", "recv")]
    events = [event._replace(seq=n) for n, event in enumerate(events)]
    verdict, rows = checked(events)
    assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "monitor", "accepted", len(events))

    verdict, rows = checked(events, options=Options("out", config={"max_payload": 40}, complete=True))
    assert verdict.verdict == "rejected"
    assert {row["property"] for row in rows} == {"WithinLimit"}
    assert "--config '{\"max_payload\": 40}'" in rows[0]["replay"]


def test_a_protocol_without_rules_for_messages_has_no_verdict_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "PROTOCOLS", {"scuttlebutt": replace(PROTOCOLS["scuttlebutt"], monitors=None)})
    event = of_node(simulated())[0]._replace(kind="recv", peer="a:1", args=None, payload=b"", picks=None)

    verdict, _ = checked([event])

    assert (verdict.verdict, verdict.remark) == ("undetermined", "scuttlebutt has no rules for messages alone")
