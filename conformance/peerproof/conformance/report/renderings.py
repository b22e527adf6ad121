"""Reports for people and for other programs: text, JUnit XML, Markdown, HTML, annotations of a workflow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from xml.etree import ElementTree as Xml

from peerproof.conformance.report.failure_text import explain
from peerproof.conformance.report.github import as_annotations
from peerproof.conformance.report.record import Report, as_json, as_json_lines
from peerproof.conformance.runner import transport_differences
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.trial import FAILURES

#: Vector id -> title.
Titles = Mapping[str, str]

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_text(report: Report, titles: Titles) -> str:
    """What went wrong, one after the other, then what was counted."""
    blocks = [explain(result, titles.get(result.vector, ""), report.arguments) for result in _wrong(report)]
    return "\n".join([*blocks, *summary(report)]) + "\n"


def summary(report: Report) -> Iterator[str]:
    """The end of the text: who was judged by what, and how it came out."""
    for result in report.results:
        if result.status in ("tolerated", "known"):
            failure = f" ({result.failure})" if result.failure else ""
            yield f"{result.status}: {result.id}{failure}: {result.reason}"
    skipped = Counter(result.reason for result in report.results if result.status == "skipped")
    for reason, count in skipped.most_common():
        yield f"skipped: {count} cases: {reason}"
    yield from (f"list: {problem}" for problem in report.problems)
    yield from transport_differences.lines(report.results)
    yield f"{_who(report)}, vectors {report.vectors['version']}"
    yield f"{_counts_text(report)}"
    if report.partial:
        yield f"PARTIAL: {report.because}; {report.selected - len(report.results)} cases were not judged"


def as_markdown(report: Report, titles: Titles) -> str:
    """A table of what was counted, a table of what is not as it should be, and the failures at length."""
    lines = [f"# {_who(report)}", "", f"Vectors {report.vectors['version']}, seed `{report.seed}`.", ""]
    if report.partial:
        lines += [f"**Partial:** {report.because}; {report.selected - len(report.results)} cases were not judged.", ""]
    totals = report.totals
    lines += [f"| {' | '.join(totals)} |", f"|{' ---: |' * len(totals)}", f"| {' | '.join(map(str, totals.values()))} |", ""]
    lines += [f"- {problem}" for problem in report.problems] + [""] * bool(report.problems)
    unusual = [result for result in report.results if result.status not in ("passed", "skipped")]
    if unusual:
        lines += ["| case | status | failure | clauses | reason |", "| --- | --- | --- | --- | --- |"]
        for result in unusual:
            cells = (f"`{result.id}`", result.status, result.failure or "", ", ".join(result.clauses), result.reason or "")
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        lines.append("")
    lines += [f"- {line}" for line in transport_differences.lines(report.results)] + [""] * report.is_over_sockets
    for result in _wrong(report):
        lines += ["```text", explain(result, titles.get(result.vector, ""), report.arguments).rstrip(), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def as_html(report: Report, titles: Titles) -> str:
    """One page that needs nothing else."""
    from peerproof.conformance.report.html.page import page  # loads jinja2, which only an HTML page needs

    return page([report], titles)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def as_junit(report: Report, titles: Titles) -> str:
    """JUnit XML: crashes and hangs are errors, known failures are skipped."""
    totals = report.totals
    suite = Xml.Element(
        "testsuite",
        name=_xml(_who(report)),
        tests=str(len(report.results) + report.partial + len(report.problems)),
        failures=str(totals["failed"] + totals["stale"] + len(report.problems)),
        errors=str(totals["crashed"] + totals["hung"] + report.partial),
        skipped=str(totals["skipped"] + totals["known"]),
        time=f"{sum(result.milliseconds or 0 for result in report.results) / 1000:.3f}",
    )
    properties = Xml.SubElement(suite, "properties")
    for name, value in (("vectors", report.vectors["version"]), ("seed", report.seed), ("partial", str(report.partial).lower())):
        Xml.SubElement(properties, "property", name=name, value=str(value))
    for result in report.results:
        _junit_case(suite, result, report, titles)
    for problem in report.problems:
        case = Xml.SubElement(suite, "testcase", classname="peerproof.known-failing", name=_xml(problem))
        Xml.SubElement(case, "failure", message=_xml(problem))
    if report.partial:
        case = Xml.SubElement(suite, "testcase", classname="peerproof.report", name="the report is partial")
        Xml.SubElement(case, "error", message=_xml(report.because or ""))
    Xml.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(suite, encoding="unicode") + "\n"


def _junit_case(suite: Xml.Element, result: Result, report: Report, titles: Titles) -> None:
    protocol, layer, name = result.id.split("/", 2)
    time = f"{(result.milliseconds or 0) / 1000:.6f}"
    case = Xml.SubElement(suite, "testcase", classname=f"{protocol}.{layer}", name=name, time=time)
    if STATUSES[result.status]:
        kind = "error" if result.status in ("crashed", "hung") else "failure"
        element = Xml.SubElement(case, kind, message=_xml(_why(result)), type=result.failure or result.status)
        element.text = _xml(explain(result, titles.get(result.vector, ""), report.arguments))
    elif result.status in ("skipped", "known"):
        Xml.SubElement(case, "skipped", message=_xml(f"{result.status}: {result.reason}"))
    elif result.status == "tolerated":
        Xml.SubElement(case, "system-out").text = _xml(f"tolerated: {result.reason}")


def _why(result: Result) -> str:
    if result.difference:
        return f"{FAILURES[result.failure or 'error']}: {result.difference.where}"
    return result.reason or result.status


def _xml(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def _wrong(report: Report) -> list[Result]:
    return [result for result in report.results if STATUSES[result.status]]


def _who(report: Report) -> str:
    implementation = report.implementation
    language = f" ({implementation['language']})" if "language" in implementation else ""
    return f"{implementation['name']} {implementation['version']}{language}"


def _counts_text(report: Report) -> str:
    totals = report.totals
    vectors = len({result.vector for result in report.results})
    counted = ", ".join(f"{count} {status}" for status, count in totals.items() if count and status != "selected")
    return f"{totals['selected']} cases, {vectors} vectors: {counted or 'none judged'}"


#: `--format` -> how it is written
FORMATS: Final[Mapping[str, Callable[[Report, Titles], str]]] = {
    "text": as_text,
    "json": lambda report, _: as_json(report),
    "jsonl": lambda report, _: as_json_lines(report),
    "junit": as_junit,
    "md": as_markdown,
    "html": as_html,
    "github": lambda report, _: as_annotations(report),
}
