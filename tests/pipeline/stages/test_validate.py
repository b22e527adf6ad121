"""One node, judged by as much of it as is logged: what is right is accepted, and what is wrong in one way is found as that."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.pipeline.clusters import Row, foreign, of_node, recorded, simulated, traces_batch

from peerproof.conformance.traces import judges, node_check
from peerproof.conformance.traces.events import Event, EventRows, Rows, text_of
from peerproof.conformance.traces.findings import RULES, Finding, Findings, violation_text
from peerproof.conformance.traces.node_check import NodeCheck, Options, Replays, Verdict, specification_of
from peerproof.conformance.traces.node_log import WINDOW, Timing
from peerproof.pipeline.storage.arrow_rows import ArrowRows
from peerproof.pipeline.storage.tables import VIOLATIONS
from peerproof.spec import scuttlebutt
from peerproof.spec.core import NodeId
from peerproof.spec.protocols import PROTOCOLS

OPTIONS = Options("out", complete=True)
SMALL = Options("out", config={"max_payload": 40}, complete=True)
NAMES = [column.name for column in VIOLATIONS.columns]


def checked(events: list[Event], lot: int = 7, options: Options = OPTIONS) -> tuple[Verdict, list[Row]]:
    """The findings in the events of a node, given so many at a time: the same in a list and in an Arrow batch."""

    def check(make: Callable[[list[Event]], Rows]) -> tuple[Verdict, list[Row]]:
        node = NodeCheck(make(events[:lot]), Replays(), options)
        for begin in range(0, len(events), lot):
            node.take(make(events[begin : begin + lot]))
        verdict = node.end()
        assert sum(json.loads(verdict.unchecked or "{}").values()) == verdict.n_events - verdict.judged
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


#: What is done to a log, the faults that are found in it, and how many events are judged, if not all.
LOG_FAULTS: dict[str, tuple[Callable[[list[Event]], list[Event]], list[tuple[str, int]], int | None]] = {
    "lost": (lambda e: e[:20] + e[21:], [("LostLine", 21)], 20),
    "six lost": (lambda e: e[:20] + e[26:], [("LostLine", 26)], 20),
    "doubled": (lambda e: e[:21] + e[20:], [("DoubledLine", 20)], None),
    "swapped": (lambda e: [*e[:20], e[21], e[20], *e[22:]], [("SwappedLine", 20)], None),
    "two swapped with three": (
        lambda e: [*e[:20], *e[22:25], *e[20:22], *e[25:]],
        [("SwappedLine", 20), ("SwappedLine", 21)],
        None,
    ),
    "two of one number": (lambda e: [*e[:21], e[20]._replace(t_us=0), *e[21:]], [("TwoLinesOfOneNumber", 20)], None),
    "no start": (lambda e: e[1:], [("NoStart", 1)], 0),
    "no event": (lambda e: [*e[:20], e[20]._replace(args='{"type":"gossip"}'), *e[21:]], [("Event", 20)], 21),
}


@pytest.mark.slow
@pytest.mark.parametrize("lot", [1, 5, 4096])
@pytest.mark.parametrize(("change", "expected", "judged"), LOG_FAULTS.values(), ids=LOG_FAULTS)
def test_faults_of_a_log_are_no_faults_of_the_protocol(
    change: Callable[[list[Event]], list[Event]], expected: list[tuple[str, int]], judged: int | None, lot: int
) -> None:
    """What is lost, from there on, is not judged; all else is, in its order."""
    whole = of_node(simulated())

    verdict, rows = checked(change(whole), lot)

    assert [(row["severity"], row["property"], row["seq"]) for row in rows] == [("log", *fault) for fault in expected]
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
        assert row["replay"] == "peerproof pipeline validate --in out --run seed-v --node n1:1 --complete --event 20"


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
    assert violation_text(row).startswith(f"VIOLATES Effects [clauses of this step: {row['clause']}]: node ")
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

    twice = [start, rounds[0]._replace(seq=1), rounds[0]._replace(seq=2)]
    assert ("violates", "TimerIsEarly", 2) in found(twice)

    quiet = EventRows([start._replace(effects="[]"), rounds[0]])
    assert [finding.name for finding in Timing().take(quiet, 0, 2)] == ["TimerIsSet"]


@pytest.mark.parametrize("lot", [1, 7, 512])
def test_timers_are_followed_after_a_divergence_however_the_log_is_cut(lot: int) -> None:
    """What a node says of its timers holds whether or not the rest of it is right."""
    events = of_node(simulated())
    first, second = [event.seq for event in events if event.kind == "timer"][3:5]
    events[first] = events[first]._replace(state_hash="0" * 16)
    events[second:] = [event._replace(t_us=event.t_us + 3_600_000_000) for event in events[second:]]

    assert ("log", "ClockJumps", second) in found(events, lot)


@pytest.mark.parametrize("lot", [1, 7, 512])
def test_neighbours_out_of_order_by_microseconds_are_no_jump_of_the_clock(lot: int) -> None:
    """A capture gets the packets of several sockets from several processors."""
    events = of_node(simulated())
    before = events[3].t_us
    close = [*events[:4], events[4]._replace(t_us=before - 999), *events[5:]]
    jump = [*events[:4], events[4]._replace(t_us=before - 1_000), *events[5:]]

    assert not [finding for finding in found(close, lot) if finding[1] == "ClockJumps"]
    assert ("log", "ClockJumps", events[4].seq) in found(jump, lot)


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


def test_a_message_without_a_cause_is_rejected() -> None:
    events = foreign(simulated(nodes=4))
    payload = next(event.payload for event in events if event.kind == "send")
    early = events[0]._replace(seq=1, kind="send", peer="x:1", payload=payload, args=None)

    assert checked([events[0], early])[0].verdict == "rejected"


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
    first = next(line for line in simulated() if line.node == "n1:1")
    node = scuttlebutt.initial(NodeId("n1:1"), scuttlebutt.CONFIG.value(first.args)).state
    start = foreign([first])[0]

    for plain, verdict in ((scuttlebutt.STATE.plain(node), "accepted"), ({"store": []}, "rejected")):
        shown = start._replace(seq=1, kind="state", args=json.dumps(plain))
        assert checked([start, shown])[0].verdict == verdict


def test_messages_alone_are_held_to_the_limits_of_a_configuration() -> None:
    events = [event for event in foreign(simulated(nodes=4)) if event.kind in ("send", "recv")]

    verdict, rows = checked([event._replace(seq=n) for n, event in enumerate(events)], options=SMALL)

    assert verdict.verdict == "rejected"
    assert {row["property"] for row in rows} == {"WithinLimit"}
    assert "--config '{\"max_payload\": 40}'" in rows[0]["replay"]


def test_a_protocol_without_rules_for_messages_has_no_verdict_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "PROTOCOLS", {"scuttlebutt": replace(PROTOCOLS["scuttlebutt"], monitors=None)})
    event = of_node(simulated())[0]._replace(kind="recv", peer="a:1", args=None, payload=b"", picks=None)

    verdict, _ = checked([event])

    assert (verdict.verdict, verdict.remark) == ("undetermined", "scuttlebutt has no rules for messages alone")
