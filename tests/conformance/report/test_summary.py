"""What a report says of where things differ, of what was skipped, and at which file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.reports import MISSED, PASSED, SKIPPED, named, report

from peerproof.conformance.diagrams.labels import window_texts
from peerproof.conformance.report.failure_text import side_text
from peerproof.conformance.report.renderings import as_annotations, summary
from peerproof.conformance.vectors.matching import first_difference


def test_annotations_are_at_files_of_those_who_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vector, if it is theirs; else the program; else none: a file of the installed suite says nothing to them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "adapter.py").touch()
    theirs = tmp_path / "vectors/scuttlebutt/exchange/some.yaml"
    theirs.parent.mkdir(parents=True)
    theirs.touch()

    def place(**arguments: str) -> str:
        return as_annotations(report(MISSED, arguments=arguments)).split("title=")[0]

    assert place(impl="python adapter.py", vectors="vectors") == "::error file=vectors/scuttlebutt/exchange/some.yaml,line=12,"
    assert place(impl="python adapter.py") == "::error file=adapter.py,line=1,"
    assert place(impl="go run ./cmd/adapter") == "::error "
    assert place(impl="it's broken") == "::error "


def test_skipped_cases_are_grouped_by_what_is_lacking() -> None:
    lacks = "the implementation does not offer"
    reasons = [f"{lacks} exchange", f"{lacks} api.join, exchange", f"{lacks} exchange, state.load", f"{lacks} restart", "another"]
    skipped = [replace(named(SKIPPED, f"v{number}"), reason=reason) for number, reason in enumerate(reasons)]

    lines = list(summary(report(PASSED, *skipped)))

    assert f"skipped: 3 cases: {lacks} exchange, 2 of which lack something else too" in lines
    assert f"skipped: 1 case: {lacks} restart" in lines
    assert "skipped: 1 case: another" in lines
    assert "cases run by layer: exchange 1 of 1; codec 0 of 5 (1 need state.load)" in lines


def test_a_case_that_is_tolerated_shows_where_it_differs() -> None:
    lines = list(summary(report(replace(MISSED, status="tolerated", level="should", reason="the level is should"))))

    assert lines[1:4] == ["  steps[1].messages[1].bytes, from byte 0", "    expected  03", "    actual    01"]


def test_of_long_values_the_part_around_the_difference_is_shown_on_both_sides() -> None:
    one, other = "00" * 1000 + "01" + "00" * 500, "00" * 1000 + "02"

    expected, actual = window_texts(one, other)

    assert expected == "(1,800 characters) …" + "00" * 100 + "01" + "00" * 99 + "… (3,002 characters in all)"
    assert actual == "(1,800 characters) …" + "00" * 100 + "02"


def test_a_null_of_json_is_not_nothing() -> None:
    null = first_difference({"value": None}, {"value": 1}, {})
    absent = first_difference({"value": 1}, {}, {})

    assert null
    assert [side_text(null, side) for side in ("expected", "actual")] == ["null", "1"]
    assert absent
    assert [side_text(absent, side) for side in ("expected", "actual")] == ["1", "nothing"]
