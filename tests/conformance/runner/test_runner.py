"""The runner: how cases are checked, which case is to blame when a process dies, and when a run ends."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Written
from tests.support.catching import path_of, suite
from tests.support.implementations import Impossible, PutsItsTimerOff
from tests.support.numbered import COUNT, argv, digits, vector_id

from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.implementation import program
from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner import worker
from peerproof.conformance.runner.cases import cases, select_cases
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.runner import End, Settings, SingleCases, run
from peerproof.conformance.runner.trial import Trial
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors import suite as vectors

REFERENCE = "peerproof.reference.harness.harness:Harness"
PATIENCE = Timeouts(hello=20, op=0.5, bye=1)


def judged(
    root: Path, *habit: str, patience: Timeouts = PATIENCE, impl: str = REFERENCE, **settings: Any
) -> tuple[dict[str, Result], End]:
    """Results by id, and how the run ended; without a habit, of the reference, or another class, in this process."""
    own = vectors.load(root)
    results: dict[str, Result] = {}

    def reach() -> Adapter:
        return program(argv(*habit), patience, own.version) if habit else InProcess(impl, patience, own.version)

    def take(result: Result) -> bool:
        assert result.id not in results, "a case has one result"
        results[result.id] = result
        return STATUSES[result.status]

    adapter = reach()
    end = run(reach, adapter, adapter.start(), cases(own, own.vectors), Settings(**settings), take)
    return results, end


def statuses(results: dict[str, Result]) -> Counter[str]:
    return Counter(result.status for result in results.values())


def numbered_case(number: int) -> str:
    return f"{vector_id(number)}#decode"


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("habit", "most_restarts", "outcome", "said"),
    [
        pytest.param("die", 20, "crashed (crashed)", "exited with code 3", marks=slow),
        pytest.param("hang", 20, "hung (hung)", "did not answer within", marks=slow),
        pytest.param("debug-print", 20, "failed (garbled)", "got a request", marks=slow),
        ("told-late", 1, "hung (hung)", "the adapter says that it took too long; run again alone"),
    ],
)
def test_what_goes_wrong_at_a_vector_is_a_matter_of_that_case_and_of_no_other(
    numbered: Path, habit: str, most_restarts: int, outcome: str, said: str
) -> None:
    results, end = judged(numbered, habit, digits(17), most_restarts=most_restarts)
    wrong = results.pop(numbered_case(17))

    assert (wrong.outcome, wrong.confirmed) == (outcome, True)
    assert said in f"{wrong.reason} {wrong.difference}"
    assert ("panic: index out of range" in wrong.errors) is (habit == "die")
    assert statuses(results) == {"passed": COUNT - 1}
    assert end.because is None


@pytest.mark.slow
def test_a_crash_that_does_not_come_again_stands_unconfirmed(numbered: Path, tmp_path: Path) -> None:
    results, _ = judged(numbered, "die-once", digits(17), str(tmp_path / "died"))

    unconfirmed = [result for result in results.values() if result.status == "crashed"]
    assert [result.confirmed for result in unconfirmed] == [False]
    assert "none of 16 cases that were open fails this way alone" in str(unconfirmed[0].reason)
    assert len(results) == COUNT


@pytest.mark.slow
def test_of_a_process_that_ends_between_packs_the_case_before_is_named(numbered: Path) -> None:
    results, _ = judged(numbered, "leave", digits(8))  # the last one of the first batch

    (ended,) = [result for result in results.values() if result.status == "crashed"]
    assert ended.confirmed is False
    assert "exited with code 0, perhaps between requests" in str(ended.reason)
    assert f"last replies were to {numbered_case(8)}" in str(ended.reason)
    assert statuses(results)["passed"] == COUNT - 1


def test_of_a_process_that_ends_between_cases_the_one_before_is_named(numbered: Path) -> None:
    own = vectors.load(numbered)
    adapter = program(argv("leave", digits(8)), PATIENCE, own.version)
    one_by_one = SingleCases(adapter, adapter.start(), Settings())
    results = {case.id: one_by_one.run(case) for case in cases(own, own.vectors)}
    adapter.stop()

    (ended,) = [result for result in results.values() if result.status == "crashed"]
    assert ended.id == numbered_case(9)
    assert f"exited with code 0 between requests, after its replies to {numbered_case(8)}" in str(ended.reason)


def test_a_process_that_does_not_exit_at_the_end_changes_no_verdict_and_is_reported(numbered: Path) -> None:
    results, end = judged(numbered, "deaf")

    assert statuses(results) == {"passed": COUNT}
    assert end.lingers


@pytest.mark.parametrize(
    ("habit", "patience"),
    [
        pytest.param(["no-batch"], PATIENCE, marks=slow),
        pytest.param(["slow", "0.05"], Timeouts(hello=20, op=0.2, bye=1), marks=slow),  # a batch takes longer than it may
        (["flood", "nowhere"], Timeouts(hello=60, op=5, bye=1)),  # on standard error
    ],
)
def test_a_habit_that_changes_no_answer_changes_no_verdict(numbered: Path, habit: list[str], patience: Timeouts) -> None:
    results, _ = judged(numbered, *habit, patience=patience)

    assert statuses(results) == {"passed": COUNT}


@pytest.mark.parametrize(
    ("habit", "outcome", "said"),
    [("panics", "crashed (crashed)", ""), ("new-member", "failed (misshapen)", "unknown member 'duration'")],
)
def test_a_wrong_reply_fails_its_case_without_a_restart(numbered: Path, habit: str, outcome: str, said: str) -> None:
    results, end = judged(numbered, habit, digits(5), most_restarts=1)

    assert results[numbered_case(5)].outcome == outcome
    assert said in str(results[numbered_case(5)].difference)
    assert len(results) == COUNT
    assert end.because is None


def test_a_crash_that_the_adapter_reports_comes_with_its_standard_error(numbered: Path) -> None:
    results, _ = judged(numbered, "panics", digits(5))

    crashed = results[numbered_case(5)]
    assert (crashed.errors, crashed.confirmed) == ("panic: boom\n", True)


@pytest.mark.slow
def test_a_case_that_hangs_once_is_not_hung(numbered: Path, tmp_path: Path) -> None:
    results, end = judged(numbered, "slow-once", digits(5), str(tmp_path / "slept"), most_restarts=1)

    assert statuses(results) == {"passed": COUNT}
    assert end.because is None


@pytest.mark.slow
def test_a_case_that_is_slow_is_run_again_with_more_time_and_passes(numbered: Path) -> None:
    results, end = judged(numbered, "slow-at", digits(5), "0.8", most_restarts=1)
    slow = results[numbered_case(5)]

    assert statuses(results) == {"passed": COUNT}
    assert "did not answer within 0.5 s; run again alone, with" in str(slow.reason)
    assert "slow and not wrong" in str(slow.reason)
    assert slow.confirmed is None
    assert end.because is None


@pytest.mark.slow
def test_the_longer_time_holds_for_what_comes_after_it(numbered: Path) -> None:
    results, end = judged(
        numbered, "slow-at", '"op":"decode"', "0.25", patience=Timeouts(hello=20, op=0.2, bye=1), most_restarts=1
    )

    assert statuses(results) == {"passed": COUNT}
    assert sum(result.reason is not None for result in results.values()) == 1
    assert end.because is None


@pytest.mark.slow
def test_of_what_hangs_the_report_says_both_times(numbered: Path) -> None:
    begin = time.monotonic()
    results, _ = judged(numbered, "hang", digits(18), patience=Timeouts(hello=20, op=0.2, bye=1))
    hung = results[numbered_case(18)]

    assert (hung.status, hung.confirmed) == ("hung", True)
    assert str(hung.reason).count("did not answer within") == 2
    assert time.monotonic() - begin < 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("habit", "seconds", "most", "found"),
    [("hang", 0.05, 3, {"hung": 3}), ("die", 0.5, 4, {"crashed": 3})],  # the pack that died was the first restart
)
def test_after_so_many_restarts_the_run_ends_with_all_results_so_far(
    numbered: Path, habit: str, seconds: float, most: int, found: dict[str, int]
) -> None:
    patience = Timeouts(hello=20, op=seconds, bye=1)
    results, end = judged(numbered, habit, '"op":"decode"', patience=patience, most_restarts=most)

    assert f"started again {most} times" in str(end.because)
    assert statuses(results) == found
    assert all(result.confirmed for result in results.values())


@pytest.mark.parametrize(("took", "times"), [(0.0, 4), (0.5, 4), (1.0, 8), (60.0, 20)])
def test_the_slower_it_starts_the_more_time_it_has(took: float, times: float) -> None:
    assert worker.more_time(took) == times


def test_an_implementation_that_does_not_come_back_ends_the_run_with_all_results_so_far(numbered: Path, tmp_path: Path) -> None:
    results, end = judged(numbered, "start-once", str(tmp_path / "started"), digits(COUNT))

    assert end.unusable
    assert "cannot be started again" in str(end.because)
    assert statuses(results) == {"passed": 8}  # the first batch; the others were asked together with the one that kills


@pytest.mark.slow
def test_fail_fast_ends_the_run_at_the_first_failure(numbered: Path) -> None:
    results, end = judged(numbered, "die", digits(17), fail_fast=True)

    assert "--fail-fast" in str(end.because)
    assert statuses(results)["crashed"] == 1


@pytest.mark.slow
def test_several_processes_judge_the_same_as_one(numbered: Path) -> None:
    results, _ = judged(numbered, "die", digits(17), jobs=3)

    assert statuses(results) == {"passed": COUNT - 1, "crashed": 1}


# What exchanges and clusters are judged by: the reference, under vectors that are right or spoilt.

STEPS = """\
format: 1
protocol: scuttlebutt
about: Steps.
vectors:
- id: scuttlebutt/exchange/one
  rev: 1
  title: a node under test
  level: {level}
  clauses: [B-11]
  nodes:
    node: {{addr: "b:1"}}
    peer: {{addr: "a:1", role: scripted}}
{steps}
"""
ASKED = """\
  - {at: 10, send: {from: peer, to: node, message: {type: digest_request, entries: [{addr: "a:1", version: 2}]}}}
"""
ANSWERED = """\
  - expect:
      messages:
        ordered:
        - {to: peer, bytes: "03"}
        - {to: peer, message: {type: digest_response, entries: [{addr: "a:1", version: 0}]}}
"""


def one(written: Written, steps: str, *, level: str = "must", **settings: Any) -> Result:
    results, _ = judged(written(exchange=STEPS.format(level=level, steps=steps)), **settings)
    (result,) = results.values()
    return result


TOO_LARGE = f'{{at: 0, call: {{node: node, op: update_local, args: {{key: k, value: "{"v" * 256}"}}}}'
RIGHT = {
    "ordered": f"  steps:\n{ASKED}{ANSWERED}",
    "unordered": f"  steps:\n{ASKED}{ANSWERED}".replace("ordered", "unordered"),
    "events": f"  steps:\n{ASKED}{ANSWERED}      events: [{{name: join, peer: {{bind: who}}}}]\n",
    "setup is not judged": f"  setup:\n{ASKED}  steps:\n  - {{expect: {{quiet_until: 999}}}}\n",
    "refusal": f"  steps:\n  - {TOO_LARGE}, refused: too_large}}\n",
    "timers first": f"  setup:\n{ASKED}  steps:\n  - {{at: 1000, crash: node}}\n"
    "  - {expect: {messages: {ordered: [{to: peer, message: {type: digest_request, entries: {any: true}}}]}}}\n"
    "  - {at: 3000, restart: node}\n  - {expect: {quiet_until: 4000}}\n",
    "picks": f"  setup:\n{ASKED}  steps:\n"
    '  - {at: 1000, advance: node, picks: [{site: digest.order, pick: ["b:1", "a:1"]}]}\n'
    '  - {expect: {messages: {ordered: [{to: peer, bytes: "0103623a31000000000000000003613a310000000000000000"}]}}}\n',
    "within": f"  setup:\n{ASKED}  steps:\n  - {{at: 500, advance: node}}\n"
    "  - {expect: {within: 500, messages: {ordered: [{to: peer, message: {type: digest_request, entries: {any: true}}}]}}}\n",
}


@pytest.mark.parametrize("steps", RIGHT.values(), ids=RIGHT)
def test_the_reference_passes_what_is_right(written: Written, steps: str) -> None:
    result = one(written, steps)

    assert result.status == "passed", result.difference


WRONG = {
    "missing message": (f"  steps:\n{ASKED}{ANSWERED}        - {{to: peer, bytes: '03'}}\n", "messages", "messages[2]"),
    "unexpected message": (f"  steps:\n{ASKED}  - {{expect: {{messages: {{ordered: []}}}}}}\n", "messages", "messages[0]"),
    "unjudged at the end": (f"  steps:\n{ASKED}", "messages", "after the last step"),
    "not quiet": (f"  steps:\n{ASKED}{ANSWERED}  - {{expect: {{quiet_until: 1000}}}}\n", "messages", "messages[0]"),
    "other bytes": (RIGHT["ordered"].replace('"03"', '"0301610000"'), "messages", "messages[0].bytes, from byte 1"),
    "other receiver": (RIGHT["ordered"].replace('to: peer, bytes: "03"', 'to: "z:9", bytes: "03"'), "messages", ".to"),
    "other entry": (RIGHT["ordered"].replace("version: 0", "version: 1"), "messages", "message.entries[0].version"),
    "other events": (f"  steps:\n{ASKED}{ANSWERED}      events: []\n", "events", "events[0]"),
    "not refused": (
        "  steps:\n  - {at: 0, call: {node: node, op: update_local, args: {key: k, value: v}}, refused: true}\n",
        "refused",
        "call",
    ),
    "refused": (f"  setup:\n  - {TOO_LARGE}}}\n  steps:\n  - {{expect: {{quiet_until: 5}}}}\n", "refused", "setup[0].call"),
    "refused for another reason": (f"  steps:\n  - {TOO_LARGE}, refused: overflow}}\n", "refused", "call"),
    "observed": ("  steps:\n  - {observe: {node: node, query: peers, equals: [x]}}\n", "observed", "observe.peers[0]"),
    "pick that is no option": (
        f'  setup:\n{ASKED}  steps:\n  - {{at: 1000, advance: node, picks: [{{site: digest.order, pick: ["z:9", "a:1"]}}]}}\n',
        "choice",
        "choice",
    ),
    "branches": (
        f"  steps:\n{ASKED}  - expect:\n      any_of:\n"
        '      - {branch: one, verdict: conformant, because: so, messages: {ordered: [{to: peer, bytes: "01"}]}}\n'
        "      - {branch: two, verdict: conformant, because: so, messages: {ordered: []}}\n",
        "messages",
        "none of the branches one, two",
    ),
}


@pytest.mark.parametrize(("steps", "failure", "where"), WRONG.values(), ids=WRONG)
def test_what_is_not_as_expected_fails_with_the_first_difference(written: Written, steps: str, failure: str, where: str) -> None:
    result = one(written, steps)

    assert (result.status, result.failure) == ("failed", failure)
    assert result.difference is not None
    assert where in result.difference.where


def test_a_tolerated_branch_is_tolerated_and_named(written: Written) -> None:
    steps = f"  steps:\n{ASKED}  - expect:\n      any_of:\n" + (
        "      - {branch: strict, verdict: conformant, because: x, messages: {ordered: []}}\n"
        '      - {branch: loose, verdict: tolerated, because: it happens, messages: {ordered: [{to: peer, bytes: "03"}, '
        "{to: peer, message: {any: true}}]}}\n"
    )
    result = one(written, steps)

    assert (result.status, result.branches, result.reason) == ("tolerated", ("loose",), "loose: it happens")


def test_a_miss_of_what_should_be_is_tolerated_unless_the_run_is_strict(written: Written) -> None:
    steps = WRONG["unexpected message"][0]

    assert one(written, steps, level="should").status == "tolerated"
    assert one(written, steps, level="should", strict=True).status == "failed"
    assert one(written, steps, level="may", strict=True).status == "tolerated"


def test_what_is_drawn_by_lot_follows_from_the_seed(written: Written) -> None:
    steps = (
        "  setup:\n  - {at: 0, send: {from: peer, to: node, message: {type: digest_response, entries: "
        '[{addr: "a:1", version: 0}, {addr: "c:1", version: 0}, {addr: "d:1", version: 0}, {addr: "e:1", version: 0}]}}}\n'
        "  steps:\n  - {at: 3000, advance: node}\n"
    )

    def told(seed: str) -> Any:
        return one(written, steps, seed=seed).plain()["story"]

    assert told("1") == told("1")
    assert len({str(told(str(seed))) for seed in range(4)}) > 1


CLUSTER = """\
format: 1
protocol: scuttlebutt
about: A cluster.
vectors:
- id: scuttlebutt/cluster/two
  rev: 1
  title: two nodes
  level: must
  clauses: [B-05]
  nodes:
    a: {addr: "a:1"}
    b: {addr: "b:1", config: {seeds: ["a:1"]}}
  network: {delay: 3}
  steps:
  - {at: 0, call: {node: a, op: update_local, args: {key: k, value: v}}}
CUT  - {at: 5000, advance: all}
  - observe:
      node: b
      query: view
      equals: {contains: [{addr: "a:1", version: VERSION, pairs: {any: true}}]}
"""


@pytest.mark.parametrize(
    ("cut", "status"),
    [
        ("", "passed"),
        ("  - {at: 0, cut: [[a], [b]]}\n", "failed"),
        ("  - {at: 0, cut: [[a], [b]]}\n  - {at: 1, heal: true}\n", "passed"),
    ],
)
def test_messages_of_a_cluster_arrive_unless_a_cut_lies_between(written: Written, cut: str, status: str) -> None:
    root = written(cluster=CLUSTER.replace("CUT", cut).replace("VERSION", "1"))
    (result,) = judged(root)[0].values()

    assert result.status == status


@pytest.mark.parametrize(("joined", "status"), [("[{name: join, peer: {any: true}}]", "passed"), ("[]", "failed")])
def test_of_a_node_of_a_cluster_it_is_judged_what_it_was_told_of_one_kind_since_the_last_time(
    written: Written, joined: str, status: str
) -> None:
    told = f"  - told: {{node: b, event: join, equals: {joined}}}\n  - told: {{node: b, event: join, equals: []}}\n"
    root = written(cluster=CLUSTER.replace("CUT", "").replace("VERSION", "1") + told)
    (result,) = judged(root)[0].values()

    assert (result.status, result.failure) == (status, None if status == "passed" else "events")


def test_a_case_that_needs_what_the_implementation_does_not_offer_is_skipped_with_the_reason(written: Written) -> None:
    result = one(written, "  needs: [time.travel]\n" + RIGHT["ordered"])

    assert (result.status, result.reason) == ("skipped", "the implementation does not offer time.travel")


@pytest.mark.parametrize(
    ("op", "config", "status", "failure"),
    [
        ("open", ", config: {max_payload: 100}", "skipped", None),
        ("open", "", "failed", "error"),
        ("recv", ", config: {max_payload: 100}", "failed", "error"),
        ("close", "", "passed", None),
    ],
)
def test_what_is_unsupported_is_skipped_unless_hello_claims_it(
    op: str, config: str, status: str, failure: str | None, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capability claims an op with the protocol's defaults; one certain configuration is claimed by none."""
    monkeypatch.setattr(Impossible, "where", {"op": op})
    exchange = STEPS.format(level="must", steps=RIGHT["ordered"]).replace('node: {addr: "b:1"}', f'node: {{addr: "b:1"{config}}}')

    (result,) = judged(written(exchange=exchange), impl=path_of(Impossible))[0].values()

    assert (result.status, result.failure) == (status, failure)
    if status == "skipped":
        assert result.reason == "the implementation does not support this open: not with this library"


@pytest.mark.parametrize("name", ["swim/exchange/configuration-at-its-ends", "swim/exchange/alone-nobody-is-pinged"])
def test_an_adapter_receives_an_integer_of_64_bits_in_a_configuration_as_a_string(name: str) -> None:
    """Vectors may write it as a number."""
    hello = InProcess(REFERENCE, PATIENCE, suite().version).start()
    (case,) = select_cases(suite(), name)

    (opening,) = worker.RunningTrial(Trial(case, "0", hello)).requests

    assert type(opening["config"]["restart_counter"]) is str


BY_DECISION = STEPS.replace("B-11", "BA-12")
OF_DECISION = BY_DECISION.format(level="must", steps=f"  setup:\n  - {{at: 5, advance: node}}\n{RIGHT['ordered']}")
REFUSED = BY_DECISION.format(level="must", steps=RIGHT["refusal"])
AT_SHOULD = STEPS.format(level="should", steps=RIGHT["ordered"])


@pytest.mark.parametrize(
    ("op", "code", "exchange", "status"),
    [
        ("open", "panic", OF_DECISION, "crashed"),
        ("advance", "panic", OF_DECISION, "crashed"),
        ("recv", "panic", OF_DECISION, "differs"),
        ("call", "panic", REFUSED, "differs"),
        ("open", "timeout", OF_DECISION, "hung"),
        ("open", "internal", OF_DECISION, "failed"),
        ("open", "internal", AT_SHOULD, "failed"),
        ("recv", "internal", AT_SHOULD, "tolerated"),
    ],
)
def test_no_answer_to_a_legal_request_is_no_reading(
    op: str, code: str, exchange: str, status: str, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until bytes of a peer come, or a call that is to be refused, whatever the clauses and the level."""
    monkeypatch.setattr(Impossible, "where", {"op": op})
    monkeypatch.setattr(Impossible, "code", code)

    (result,) = judged(written(exchange=exchange), impl=path_of(Impossible))[0].values()

    assert result.status == status
    assert bool(result.decisions) == (status == "differs")


def test_a_malformed_datagram_that_moves_the_timer_changes_the_node() -> None:
    """It must change neither what a node answers nor when its next timer runs."""
    chosen = [case for case in select_cases(suite(), "codec/reject", "scuttlebutt") if case.id.endswith("#unchanged")][:3]

    session = run_implementation(f"py:{path_of(PutsItsTimerOff)}", chosen, suite=suite())

    found = [(one.failure, one.difference.where) for one in session.report.results if one.difference]
    assert found == [("changed", "next_timer_ms")] * len(chosen)
