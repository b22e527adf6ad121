"""
Annotations of a GitHub workflow: a line for each case that makes the run fail, at the vector in its file.

What belongs to a command is escaped as the runner of workflows undoes it: `%`, carriage return and line feed everywhere, colon
and comma in properties too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from peerproof.conformance.report.failure_text import explain
from peerproof.conformance.report.record import Report
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.trial import FAILURES
from peerproof.conformance.suite import locations

#: More than this of one kind a workflow does not show.
SHOWN: Final = 10

_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def as_annotations(report: Report) -> str:
    """The commands, and at the end what was counted, as plain lines."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    wrong = [result for result in report.results if STATUSES[result.status]]
    for result in wrong:
        yield _command("error", explain(result, result.title, report.arguments), title=_title(result), **_place(report, result))
    for problem in report.problems:
        yield _command("error", problem, title="list of known failures")
    if report.partial:
        missing = report.selected - len(report.results)
        yield _command("error", f"{report.because}; {missing} cases were not judged", title="the report is partial")
    if len(wrong) > SHOWN:
        yield _command("notice", f"{len(wrong)} cases failed; a workflow shows the first {SHOWN}, its log has all of them")
    totals = report.totals
    counted = ", ".join(f"{count} {status}" for status, count in totals.items() if count and status != "selected")
    yield f"{totals['selected']} cases: {counted or 'none judged'}{' PARTIAL' * report.partial}"


def _title(result: Result) -> str:
    meaning = FAILURES.get(result.failure or "", "")
    return f"{result.id}: {meaning}" if meaning else f"{result.id}: {result.status}"


def _place(report: Report, result: Result) -> dict[str, str]:
    """The vector's file and line; none of one whose record does not say."""
    if not result.file:
        return {}
    named = report.arguments.get("vectors")
    root = Path(named) if isinstance(named, str) else locations.vectors_root(result.id.partition("/")[0])
    return {"file": locations.path_text(root / result.file), "line": str(result.line or 1)}


def _command(kind: str, text: str, **properties: str) -> str:
    order = ("file", "line", "title")
    told = ",".join(f"{name}={properties[name].translate(_PROPERTY)}" for name in order if name in properties)
    return f"::{kind}{' ' if told else ''}{told}::{text.rstrip().translate(_DATA)}"
