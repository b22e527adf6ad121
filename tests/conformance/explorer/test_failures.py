"""Failing cases of a record in the explorer: each ends at its failing step, with what the record says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.conftest import Capture

from peerproof.cli.main import main
from peerproof.conformance.diagrams.message_graph import Arrow
from peerproof.conformance.explorer.failures import explore_failures, run_of_failure
from peerproof.conformance.report.record import Report, load_one
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.vectors.suite import load

SUITE = load()


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
    vectors = {vector.id: vector for vector in SUITE.vectors}
    failing = [result for result in report.results if result.failure]
    assert failing

    for result in failing[:40]:
        (case,) = [case for case in cases(SUITE, [vectors[result.vector]]) if case.id == result.id]
        run = run_of_failure(case, result, "mine")
        last = run.moments[-1]
        assert last.problem is not None
        assert last.problem.verdict == run.verdict == result.status
        assert [moment.problem for moment in run.moments[:-1]] == [None] * (len(run.moments) - 1)
        assert all(part.judged for part in last.instead if isinstance(part, Arrow))
        assert all(max(states.moments, default=-1) < len(run.moments) for states in run.states.values())


@pytest.mark.slow
def test_a_page_has_examples_of_all_groups_and_no_more_than_it_may(tmp_path: Path, capsys: Capture) -> None:
    report = recorded(tmp_path, "scuttlebutt", "BD-02")
    capsys.readouterr()

    explored = explore_failures([report], SUITE, most=2)

    assert explored is not None
    assert sorted(explored.runs.values()) == [0, 1]
    assert explored.script
    assert explored.script in explored.html
    assert explore_failures([report], SUITE, most=0) is None
