"""Two runs compared: each kind of change, what is worse, and what a command says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from tests.conformance.conftest import Capture
from tests.support.reports import MISSED, PASSED, THEIRS, named, record, report

from peerproof.cli.main import main
from peerproof.conformance.report.diff import KINDS, as_markdown, as_text, compare_reports
from peerproof.conformance.runner.result import STATUSES, Result

KNOWN = replace(MISSED, status="known")
TOLERATED = replace(MISSED, status="tolerated")
DIFFERS = replace(MISSED, status="differs", decisions=("BA-12",))
STALE = replace(PASSED, status="stale")
CRASHED = replace(MISSED, status="crashed", failure="crashed")
OTHERWISE = replace(MISSED, failure="events")
LEFT = replace(PASSED, status="skipped", branches=(), reason="the implementation lacks it")


CHANGES: Final[list[tuple[Result | None, Result | None, str | None, bool]]] = [
    (PASSED, MISSED, "newly failing", True),
    (PASSED, KNOWN, "newly failing", True),
    (TOLERATED, CRASHED, "newly failing", True),
    (PASSED, TOLERATED, "newly tolerated", True),
    (PASSED, DIFFERS, "newly tolerated", True),
    (MISSED, DIFFERS, "newly passing", False),
    (PASSED, LEFT, "no longer judged", True),
    (MISSED, None, "gone", True),
    (None, MISSED, "new and failing", True),
    (LEFT, CRASHED, "new and failing", True),
    (MISSED, OTHERWISE, "failing otherwise", False),
    (MISSED, CRASHED, "failing otherwise", True),
    (CRASHED, MISSED, "failing otherwise", False),
    (MISSED, PASSED, "newly passing", False),
    (KNOWN, STALE, "newly passing", False),
    (MISSED, TOLERATED, "newly passing", False),
    (None, PASSED, "new", False),
    (LEFT, PASSED, "new", False),
    (MISSED, KNOWN, None, False),
    (PASSED, STALE, None, False),
    (None, LEFT, None, False),
    (LEFT, None, None, False),
]


@pytest.mark.parametrize(("before", "now", "kind", "worse"), CHANGES)
def test_each_change_has_its_kind(before: Result | None, now: Result | None, kind: str | None, *, worse: bool) -> None:
    old, new = (report(*([named(result, "one")] if result else [])) for result in (before, now))
    diff = compare_reports(old, new)

    assert [change.kind for change in diff.changes] == ([kind] if kind else [])
    assert diff.worse is worse


def test_every_status_and_every_kind_is_tried() -> None:
    tried = {one.status for before, now, *_ in CHANGES for one in (before, now) if one}

    assert {kind for _, _, kind, _ in CHANGES} == {*KINDS, None}
    assert tried == {*STATUSES} - {"hung", "flooded", "undetermined"}


def test_the_page_about_reports_has_a_row_for_each_kind() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/read-a-report.md").read_text(encoding="utf-8")

    for kind, (about, worse) in KINDS.items():
        assert f"| {kind} | {about} | {'yes' if worse else 'if it crashes' if kind == 'failing otherwise' else 'no'}" in page


@pytest.mark.parametrize("part", ["", "#serves", "@udp"])
def test_a_vector_that_was_renamed_is_the_same(part: str) -> None:
    former, now = (replace(result, id=f"{result.id}{part}") for result in (named(PASSED, "former"), MISSED))
    diff = compare_reports(report(former), report(now), {former.vector: now.vector})

    assert [(change.kind, change.case) for change in diff.changes] == [("newly failing", now.id)]


def test_text_tells_the_worst_first_and_what_to_know() -> None:
    old = report(PASSED, named(MISSED, "mended"), named(PASSED, "lost"))
    new = report(replace(named(MISSED, "two"), rev=2), named(PASSED, "mended"), because="interrupted", seed="1")

    assert (
        as_text(compare_reports(old, new))
        == """\
note: the new report is partial: interrupted
note: the seeds differ: 0, then 1
newly failing (1): passed before, or was tolerated, and now fails
  scuttlebutt/exchange/two  passed → failed (messages), rev 1 → 2
gone (1): was checked before, and is not in the new report
  scuttlebutt/exchange/lost  passed → not there
newly passing (1): failed before, or was tolerated, and now has a better status
  scuttlebutt/exchange/mended  failed (messages) → passed
worse: 1 newly failing, 1 gone, 1 newly passing
"""
    )


def test_nothing_changed_is_said_in_every_form() -> None:
    diff = compare_reports(report(PASSED, MISSED), report(PASSED, MISSED))

    assert as_text(diff) == "not worse: no case has changed\n"
    assert as_markdown(diff) == "# mine 2 → mine 2\n\nNot worse: no case has changed.\n"


def test_markdown_has_a_table_for_each_kind() -> None:
    diff = compare_reports(report(PASSED, MISSED), report(named(MISSED, "two"), named(PASSED, "one")))

    assert """\
## Newly failing (1)

It passed before, or was tolerated, and now fails.

| case | change |
| --- | --- |
| `scuttlebutt/exchange/two` | passed → failed (messages) |
""" in as_markdown(diff)


@pytest.mark.parametrize(("old", "new", "code"), [(PASSED, MISSED, 1), (MISSED, PASSED, 0), (PASSED, PASSED, 0)])
def test_the_exit_code_says_whether_it_is_worse(tmp_path: Path, capfd: Capture, old: Result, new: Result, code: int) -> None:
    files = [record(tmp_path / name, report(named(result, "one"))) for name, result in (("old.jsonl", old), ("new.jsonl", new))]

    assert main(["report", "diff", *files, "--format", "json"]) == code
    shown = json.loads(capfd.readouterr().out)
    assert shown["worse"] is bool(code)
    assert sum(shown["counts"].values()) == len(shown["changes"]) == (old is not new)


def test_the_command_wants_one_report_on_each_side(tmp_path: Path, capfd: Capture) -> None:
    file = record(tmp_path / "both.jsonl", report(PASSED), report(PASSED, **THEIRS))

    assert main(["report", "diff", file, file]) == 2
    assert "holds the reports of mine 2, theirs 1; expected that of one implementation" in capfd.readouterr().err
