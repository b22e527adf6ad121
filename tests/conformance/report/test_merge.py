"""Reports put together: what belongs together becomes one, what contradicts is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.numbered import COUNT, write_suite
from tests.support.reports import MISSED, PASSED, SKIPPED, report

from peerproof.cli.main import main
from peerproof.conformance.report.merge import Conflict, Source, merge_reports
from peerproof.conformance.report.record import Report, as_json_lines, load

THEIRS = {"implementation": {"name": "theirs", "version": "1"}}


def put_together(*reports: Report) -> list[Report]:
    return merge_reports([Source(f"{number}.jsonl", one) for number, one in enumerate(reports, start=1)])


def test_shards_of_one_run_become_one_report() -> None:
    one = report(PASSED, arguments={"impl": "./mine", "select": "protocol:a"})
    other = report(MISSED, SKIPPED, arguments={"impl": "./mine", "select": "protocol:b"}, problems=["an entry is dead"])

    (whole,) = put_together(one, other)

    assert whole.results == [PASSED, MISSED, SKIPPED]
    assert (whole.selected, whole.vectors["count"]) == (3, 3)
    assert whole.arguments == {"impl": "./mine", "shards": [{"select": "protocol:a"}, {"select": "protocol:b"}]}
    assert whole.problems == ["an entry is dead"]
    assert not whole.partial


def test_merging_in_steps_is_merging_at_once() -> None:
    shards = [report(result, arguments={"select": result.id}) for result in (PASSED, MISSED, SKIPPED)]

    (pair,) = put_together(shards[0], shards[1])

    assert put_together(pair, shards[2]) == put_together(*shards)


def test_reports_of_several_implementations_stand_side_by_side() -> None:
    assert put_together(report(PASSED), report(MISSED, **THEIRS)) == [report(PASSED), report(MISSED, **THEIRS)]


def test_a_case_that_came_out_alike_in_two_shards_counts_once() -> None:
    (whole,) = put_together(report(PASSED, MISSED), report(replace(PASSED, milliseconds=7.5), SKIPPED))

    assert [result.id for result in whole.results] == [PASSED.id, MISSED.id, SKIPPED.id]
    assert whole.selected == 3


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
    ],
)
def test_what_contradicts_is_a_conflict(other: Report, said: str) -> None:
    with pytest.raises(Conflict, match=r"1\.jsonl.*2\.jsonl|two ways") as conflict:
        put_together(report(PASSED), other)

    assert said in str(conflict.value)


@pytest.mark.slow
def test_the_command_merges_what_runs_have_recorded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    suite, records = str(write_suite(tmp_path / "numbered")), [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for record, words in zip(records, ("number-1", "!number-1"), strict=True):
        assert main(["run", "--vectors", suite, "-k", words, "--record", str(record)]) == 0
    out = tmp_path / "all.jsonl"

    assert main(["report", "merge", *map(str, records), "--output", str(out)]) == 0
    (whole,) = load(out)
    assert len({result.id for result in whole.results}) == whole.selected == COUNT
    assert main(["report", "merge", str(out), str(records[0]), "--output", str(out)]) == 0
    assert load(out)[0].selected == COUNT


def test_the_command_refuses_conflicts_and_leaves_the_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, one, other = (tmp_path / name for name in ("out.jsonl", "1.jsonl", "2.jsonl"))
    out.write_text("old")
    one.write_text(as_json_lines(report(PASSED)))
    other.write_text(as_json_lines(report(SKIPPED, seed="1")))
    assert main(["report", "merge", str(one), str(other), "--output", str(out)]) == 2
    assert "cannot be merged: seed '0' and '1'" in capfd.readouterr().err
    assert out.read_text() == "old"
