"""Reports put together: what belongs together becomes one, what contradicts is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.conftest import Capture
from tests.support.numbered import COUNT
from tests.support.reports import MISSED, PASSED, SKIPPED, THEIRS, record, report

from peerproof.cli.main import main
from peerproof.conformance.report.merge import Conflict, Source, merge_reports
from peerproof.conformance.report.record import Report, load


def put_together(*reports: Report) -> list[Report]:
    return merge_reports([Source(f"{number}.jsonl", one) for number, one in enumerate(reports, start=1)])


def test_shards_of_one_run_become_one_report() -> None:
    """A case that came out alike in two of them counts once."""
    one = report(PASSED, arguments={"impl": "./mine", "select": "protocol:a"}, date="2026-11-03")
    again = replace(PASSED, milliseconds=7.5)
    encoded = replace(SKIPPED, id="swim/codec/three#encode")
    arguments = {"impl": "./mine", "select": "protocol:b"}
    other = report(again, MISSED, SKIPPED, encoded, arguments=arguments, problems=["an entry is dead"])
    other.date = "2026-11-02"

    (whole,) = put_together(one, other)

    assert whole.results == [PASSED, MISSED, SKIPPED, encoded]
    assert (whole.selected, whole.vectors["count"]) == (4, 3)
    assert whole.arguments == {"impl": "./mine", "shards": [{"select": "protocol:a"}, {"select": "protocol:b"}]}
    assert whole.problems == ["an entry is dead"]
    assert whole.date == "2026-11-02"
    assert not whole.partial


def test_merging_in_steps_is_merging_at_once() -> None:
    shards = [report(result, arguments={"select": result.id}) for result in (PASSED, MISSED, SKIPPED)]

    (pair,) = put_together(shards[0], shards[1])

    assert put_together(pair, shards[2]) == put_together(*shards)


def test_reports_of_several_implementations_stand_side_by_side() -> None:
    assert put_together(report(PASSED), report(MISSED, **THEIRS)) == [report(PASSED), report(MISSED, **THEIRS)]


def test_what_is_merged_with_a_partial_report_is_partial() -> None:
    (whole,) = put_together(report(PASSED), report(MISSED, because="interrupted", selected=9))

    assert whole.because == "2.jsonl: interrupted"
    assert whole.selected == 10


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (report(replace(PASSED, status="failed", failure="messages")), "has two outcomes: passed in 1.jsonl, failed"),
        (report(replace(PASSED, branches=("second",))), "has two outcomes: passed in 1.jsonl, passed in 2.jsonl"),
        (report(SKIPPED, vectors={"version": "2", "digest": "01", "count": 1}), "vectors '00' and '01'"),
        (report(SKIPPED, vectors={"version": "2", "digest": "01", "count": 1}, **THEIRS), "vectors '00' and '01'"),
        (report(SKIPPED, seed="1"), "seed '0' and '1'"),
        (report(SKIPPED, arguments={"impl": "./another"}), "impl './mine --flag' and './another'"),
        (report(SKIPPED, arguments={"impl": "./mine --flag", "strict": True}), "strict none and True"),
        (report(SKIPPED, arguments={"impl": "./mine --flag", "decisions": "strict"}), "decisions none and 'strict'"),
    ],
)
def test_what_contradicts_is_a_conflict(other: Report, said: str) -> None:
    with pytest.raises(Conflict, match=r"1\.jsonl.*2\.jsonl|two ways") as conflict:
        put_together(report(PASSED), other)

    assert said in str(conflict.value)


@pytest.mark.slow
def test_the_command_merges_what_runs_have_recorded(numbered: Path, tmp_path: Path) -> None:
    records, out = [str(tmp_path / "1.jsonl"), str(tmp_path / "2.jsonl")], tmp_path / "all.jsonl"
    for path, words in zip(records, ("number-1", "!number-1"), strict=True):
        assert main(["run", "--vectors", str(numbered), "-k", words, "--record", path]) == 0

    assert main(["report", "merge", *records, "--output", str(out)]) == 0
    (whole,) = load(out)
    assert len({result.id for result in whole.results}) == whole.selected == COUNT
    assert main(["report", "merge", str(out), records[0], "--output", str(out)]) == 0
    assert load(out)[0].selected == COUNT


def test_the_command_refuses_conflicts_and_leaves_the_file(tmp_path: Path, capfd: Capture) -> None:
    one, other = record(tmp_path / "1.jsonl", report(PASSED)), record(tmp_path / "2.jsonl", report(SKIPPED, seed="1"))
    out = tmp_path / "out.jsonl"
    out.write_text("old")

    assert main(["report", "merge", one, other, "--output", str(out)]) == 2
    assert "cannot be merged: seed '0' and '1'" in capfd.readouterr().err
    assert out.read_text() == "old"
