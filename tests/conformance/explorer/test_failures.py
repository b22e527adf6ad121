"""Failing cases of a record in the explorer: each ends at its failing step, with what the record says of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import suite

from peerproof.cli.main import main
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.diagrams.message_graph import Arrow
from peerproof.conformance.explorer.failures import explore_failures, run_of_failure
from peerproof.conformance.explorer.recorded_run import Moment
from peerproof.conformance.explorer.serve import create_reference
from peerproof.conformance.explorer.vector_run import run_case
from peerproof.conformance.report.record import Report, load_one
from peerproof.conformance.runner.cases import cases


def recorded(folder: Path, protocol: str, divergence: str) -> Report:
    """The record of a run of an implementation with one difference."""
    path = folder / "record.jsonl"
    main(["run", protocol, "--impl", f"divergence:{divergence}", "--record", str(path), "-k", "layer:exchange,codec", "--quiet"])
    return load_one(path)


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "divergence"), [("scuttlebutt", "BD-02"), ("swim", "SD-12"), ("distkv", "DD-08")])
def test_a_failure_ends_at_its_step(protocol: str, divergence: str, tmp_path: Path, capsys: Capture) -> None:
    report = recorded(tmp_path, protocol, divergence)
    capsys.readouterr()
    vectors = {vector.id: vector for vector in suite().vectors}
    failing = [result for result in report.results if result.failure]
    assert failing

    for result in failing[:40]:
        (case,) = [case for case in cases(suite(), [vectors[result.vector]]) if case.id == result.id]
        run = run_of_failure(case, result, "mine")
        last = run.moments[-1]
        assert last.problem is not None
        assert last.problem.verdict == run.verdict == result.status
        assert [moment.problem for moment in run.moments[:-1]] == [None] * (len(run.moments) - 1)
        assert all(part.judged for part in last.instead if isinstance(part, Arrow))
        assert all(max(states.moments, default=-1) < len(run.moments) for states in run.states.values())


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "divergence"), [("scuttlebutt", "BD-03"), ("swim", "SD-01"), ("wendy", "WD-03")])
def test_only_what_is_wrong_is_marked(protocol: str, divergence: str, tmp_path: Path, capsys: Capture) -> None:
    """The same messages as with the implementation at hand: none of a peer, and no event where messages differ."""
    report = recorded(tmp_path, protocol, divergence)
    capsys.readouterr()
    vectors = {vector.id: vector for vector in suite().vectors}
    failing = [result for result in report.results if result.failure == "messages"]
    assert failing

    for result in failing[:40]:
        (case,) = [case for case in cases(suite(), [vectors[result.vector]]) if case.id == result.id]
        run = run_of_failure(case, result, "mine")
        there = run_case(case, create_reference, lambda: create_adapter(f"divergence:{divergence}"))
        first = next(place for place, moment in enumerate(there.moments) if moment.problem)
        assert marked(run.moments) == marked(there.moments[: first + 1]) != []


def marked(moments: Sequence[Moment]) -> list[tuple[str, bool]]:
    """The messages and events that are marked as wrong, and whether each was expected."""
    parts = [part for moment in moments for part in (*moment.parts, *moment.instead) if part.wrong]
    return [(part.label, isinstance(part, Arrow) and part.judged) for part in parts]


@pytest.mark.slow
def test_a_failing_check_says_what_was_expected_and_what_came(tmp_path: Path, capsys: Capture) -> None:
    report = recorded(tmp_path, "scuttlebutt", "BD-03")
    capsys.readouterr()
    vectors = {vector.id: vector for vector in suite().vectors}
    words: dict[str, str] = {}
    for name in ("delta-before-its-peer-is-known", "applied-pairs-are-passed-on"):
        (result,) = [result for result in report.results if result.vector.endswith(f"/{name}")]
        (case,) = cases(suite(), [vectors[result.vector]])
        words[name] = run_of_failure(case, result, "mine").moments[-1].what

    assert words == {
        "delta-before-its-peer-is-known": "expected: digest_response [c:1 0]; instead: digest_response [b:1 0, c:1 0]",
        "applied-pairs-are-passed-on": "not expected: digest_response [b:1 0, c:1 5]",
    }


@pytest.mark.slow
def test_a_page_has_examples_of_all_groups_and_no_more_than_it_may(tmp_path: Path, capsys: Capture) -> None:
    report = recorded(tmp_path, "scuttlebutt", "BD-02")
    capsys.readouterr()

    explored = explore_failures([report], suite(), most=2)

    assert explored is not None
    assert sorted(explored.runs.values()) == [0, 1]
    assert explored.script
    assert explored.script in explored.html
    assert explore_failures([report], suite(), most=0) is None
