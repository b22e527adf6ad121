"""Clauses by implementation, as text, Markdown and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.conformance.conftest import Capture
from tests.support.reports import MISSED, PASSED, SKIPPED, THEIRS, named, record, report

from peerproof.cli.main import main
from peerproof.conformance.clauses.catalogue import load
from peerproof.conformance.report.clause_matrix import Cell, as_json, as_markdown, as_text, clause_matrices

KNOWN = replace(named(MISSED, "known"), status="known")
UNTOLD = replace(named(PASSED, "untold"), status="undetermined", clauses=("B-11", "B-12"))


def test_a_clause_is_held_if_no_case_that_cites_it_fails() -> None:
    (found,) = clause_matrices([report(PASSED, KNOWN, UNTOLD), report(PASSED, UNTOLD, **THEIRS)])

    cells = {row.clause.id: row.cells for row in found.rows}
    assert (found.protocol, found.labels) == ("scuttlebutt", ["mine 2", "theirs 1"])
    assert cells["B-11"] == [Cell(good=1, bad=1, left=1), Cell(good=1, left=1)]
    assert cells["B-12"] == [Cell(left=1), Cell(left=1)]
    assert cells["B-31"] == [Cell(bad=1), Cell()]
    assert dict(found.count_clauses()) == {
        "held": [0, 1],
        "not held": [2, 0],
        "not judged": [1, 1],
        "no case": [len(found.rows) - 3, len(found.rows) - 2],
    }
    assert [row.clause.id for row in found.rows] == [clause.id for clause in load("scuttlebutt").with_level]


def test_text_has_what_is_counted_and_the_clauses_that_somebody_does_not_hold() -> None:
    found = clause_matrices([report(PASSED, KNOWN), report(PASSED, because="interrupted", **THEIRS)])

    lines = as_text(found).splitlines()
    assert lines[0].split() == ["scuttlebutt", "mine", "2", "theirs", "1"]
    assert [line.split("  ", 1)[0] for line in lines[1:]] == [
        "clauses, held",
        "clauses, not held",
        "clauses, no case",
        "B-11 must",
        "B-31 must",
        "the report of theirs 1 is partial",
    ]
    assert lines[4].split() == ["B-11", "must", "✗", "1", "of", "2", "✓", "1"]
    every = as_text(found, every=True).splitlines()
    assert len(every) == 1 + 3 + len(found[0].rows) + 1
    assert [line.split()[1] for line in every if line.startswith("BA-07 ")] == ["decision"]


def test_markdown_and_json_say_the_same() -> None:
    found = clause_matrices([report(MISSED, PASSED)])

    assert as_markdown(found).splitlines()[:2] == ["| scuttlebutt | mine 2 |", "| --- | --- |"]
    assert "| B-31 must | ✗ 1 of 1 |" in as_markdown(found)
    plain = json.loads(as_json(found))["protocols"]["scuttlebutt"]
    assert plain["counts"]["not held"] == [2]
    assert plain["clauses"]["B-31"] == {"level": "must", "cases": [{"good": 0, "bad": 1, "differs": 0, "left": 0}]}


def test_a_protocol_has_the_implementations_of_which_something_was_asked() -> None:
    found = clause_matrices([report(PASSED), report(SKIPPED, **THEIRS)])

    assert [(one.protocol, one.labels) for one in found] == [("scuttlebutt", ["mine 2"]), ("swim", ["theirs 1"])]


def test_the_command_reads_records(tmp_path: Path, capsys: Capture) -> None:
    assert main(["report", "matrix", record(tmp_path / "mine.jsonl", report(MISSED, PASSED)), "--format", "md"]) == 0
    assert "| B-31 must | ✗ 1 of 1 |" in capsys.readouterr().out
    assert main(["report", "matrix", __file__]) == 2
