"""Records that are cut off, garbled or of another kind: an error that says where, or partial; never another verdict."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.catching import suite
from tests.support.reports import MISSED, PASSED, SKIPPED, THEIRS, report

from peerproof.conformance.report.record import NoReport, load, read, read_all
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.report.summary import summary
from peerproof.conformance.runner.cases import select_cases
from peerproof.conformance.runner.result import of_plain


def test_the_page_about_reports_shows_a_record_and_every_member() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/read-a-report.md").read_text(encoding="utf-8")
    shown = read(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0].splitlines(keepends=True))
    members: dict[str, Any] = dict.fromkeys(("seed", "reason", "branches", "errors", "essence"), "x")
    every = replace(shown.results[0], **members, known={"link": "-"}, confirmed=True, milliseconds=1.0, judged=1)

    assert not shown.partial
    assert [name for name in every.plain() if f"`{name}`" not in page] == []


def test_a_record_gives_back_what_was_seen() -> None:
    """The times too, which are measured to a thousandth of what a record has."""
    chosen = select_cases(suite(), "scuttlebutt/codec/digest")

    seen = run_implementation(chosen=chosen, suite=suite()).report

    assert read(list(seen.lines())).results == seen.results


def test_a_record_without_what_pictures_need_is_read() -> None:
    plain = {name: value for name, value in MISSED.plain().items() if name not in ("title", "file", "line", "judged", "expected")}
    old = of_plain(plain)

    assert (old.title, old.file, old.line, old.judged, old.expected) == ("", "", None, 0, ())
    assert old.story == MISSED.story


def test_a_file_holds_reports_of_several_implementations() -> None:
    """Only the one without a footer is partial."""
    mine, theirs = list(report(PASSED).lines()), list(report(MISSED, **THEIRS).lines())

    found = read_all([*mine, *theirs])
    cut = read_all([*mine[:-1], *theirs])

    assert [one.implementation["name"] for one in found] == ["mine", "theirs"]
    assert [one.partial for one in (*found, *cut)] == [False, False, True, False]
    with pytest.raises(NoReport, match="2 reports, of mine 2, theirs 1"):
        read([*mine, *theirs])


def test_a_lost_line_makes_a_report_partial() -> None:
    lines = list(report(PASSED, MISSED, SKIPPED).lines())
    del lines[2]

    told, there = "3 selected, 1 passed, 1 failed, 1 skipped", "3 selected, 1 passed, 1 skipped"
    assert read(lines).because == f"lines are missing: the footer counts {told}, there are {there}"


@pytest.mark.parametrize("kept", [1, 30, 200])
def test_a_last_line_that_is_cut_off_makes_a_report_partial(kept: int) -> None:
    lines = list(report(PASSED, MISSED).lines())
    cut = read([*lines[:2], lines[2][:kept]])

    assert cut.results == [PASSED]
    assert cut.partial


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("garbage\n", "line 2: expected an object with header, case or footer"),
        ("[1, 2]\n", "line 2: expected an object with header, case or footer"),
        ('{"case":{"id":"a/b/c"}}\n', "line 2: a case without 'status'"),
        ('{"case":7}\n', "line 2: this is not a case"),
        ('{"remark":{}}\n', "line 2: expected header, case or footer, found 'remark'"),
        ('{"footer":[]}\n', "line 2: this is not a footer"),
        (json.dumps({"case": {**PASSED.plain(), "status": "fine"}}) + "\n", "has the unknown status 'fine'"),
        (json.dumps({"case": {**PASSED.plain(), "id": "two"}}) + "\n", "'two' is not the name of a case"),
        (json.dumps({"case": PASSED.plain()}) + "\n" + json.dumps({"case": PASSED.plain()}) + "\n", "occurs twice"),
        ('{"footer":{"totals":{}}}\n{"case":{}}\n', "line 3: after the footer comes a case"),
    ],
)
def test_what_is_garbled_in_the_middle_is_refused_with_its_line(line: str, said: str) -> None:
    header, *rest = report(PASSED, MISSED).lines()
    with pytest.raises(NoReport, match=said):
        read([header, *line.splitlines(keepends=True), *rest])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "expected a header of format 1, found 2: it is from another version of peerproof"),
        ({"selected": "all"}, "the header's 'selected' is 'all'"),
        ({"implementation": {}}, "the header's 'implementation' has no 'name'"),
        ({"vectors": None}, "the header's 'vectors' is None"),
        ({"date": 2026}, "the header's 'date' is 2026"),
    ],
)
def test_a_header_of_another_kind_is_refused(change: dict[str, object], said: str) -> None:
    header = json.loads(report(PASSED).header())["header"]
    with pytest.raises(NoReport, match=f"line 1: {said}"):
        read([json.dumps({"header": {**header, **change}}) + "\n"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"\xff\xfe", "this is not UTF-8"),
        (b"", "it is empty"),
        (b"{}\n", "line 1: expected an object"),
        (b'{"case": {}}\n', "line 1: expected a header of format 1, found 'case'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_name(content: bytes | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(NoReport, match=f"run.jsonl: .*{said}"):
        load(file)


@pytest.mark.parametrize(
    ("impl", "is_noted"),
    [("tests.support.implementations:AlwaysTheFirst", True), ("peerproof.reference.divergences.scuttlebutt:BD03", False)],
)
def test_choices_that_are_never_asked_for_are_noted_where_cases_fail(impl: str, is_noted: bool) -> None:
    cases = [case for case in select_cases(suite(), "protocol:scuttlebutt") if "choices.oracle" in case.needs][:200]

    found = run_implementation(f"py:{impl}", cases, suite=suite()).report

    assert found.totals["failed"]
    assert [note for note in found.notes if 'scuttlebutt: hello has "choices": "oracle", but no question' in note] == found.notes
    assert bool(found.notes) is is_noted
    assert [line for line in summary(found) if line.startswith("note: ")] == [f"note: {note}" for note in found.notes]
    assert read(found.lines()).notes == found.notes
