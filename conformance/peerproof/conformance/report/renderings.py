"""Reports as text, JUnit XML, Markdown, HTML, and annotations of a GitHub workflow."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as Xml

from peerproof.conformance.report.failure_groups import command_of_all, group_failures, markdown_table
from peerproof.conformance.report.failure_text import demanding, explain, failure_meaning
from peerproof.conformance.report.record import Report, as_json_lines
from peerproof.conformance.report.summary import counts_text, implementation_text, not_run_text, stale_lines, summary
from peerproof.conformance.runner.result import BROKEN, SILENT, STATUSES, Result, transport_lines
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.printable import count_text

#: Vector id -> title.
Titles = Mapping[str, str]

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MOST_OF_A_GROUP: Final = 3  #: failures of a group that are shown in full
SHOWN: Final = 10  #: the most annotations of one kind that a workflow shows

_CHECKOUT: Final = "GITHUB_WORKSPACE"  #: the variable with the folder of the repository, in a workflow

_SKIPPED: Final = (*SILENT, "known")  #: statuses of the cases that JUnit counts as skipped

#: Escapes in the data and properties of a workflow command.
_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def as_text(report: Report, titles: Titles, most: int | None = MOST_OF_A_GROUP, *, brief: bool = False) -> str:
    """Renders the failures, at most `most` of each group, then the summary."""
    blocks = (text for block in _failures(report, titles, most) for text in (block, ""))
    return "\n".join([*blocks, *stale_lines(report), *summary(report, brief=brief)]) + "\n"


def _failures(report: Report, titles: Titles, most: int | None) -> Iterator[str]:
    """Yields the failing cases in full, group by group, the largest first; then how many more the group has, and a command."""
    results = {result.id: result for result in report.results}
    for group in group_failures(report):
        cases = [group.example, *(case for case in group.cases if case != group.example)]
        for case in cases[:most]:
            yield explain(results[case], titles.get(results[case].vector, ""), report.arguments).rstrip()
        if left := len(cases[len(cases[:most]) :]):
            yield f"{count_text(left, 'more case')} like {'this' if most == 1 else 'these'}: {command_of_all(group, report)}"


def as_json(report: Report) -> str:
    """Renders one object, with the groups of failures."""
    plain = report.plain()
    cases = plain.pop("cases")
    groups = [group.plain() for group in group_failures(report)]
    return json.dumps({**plain, "groups": groups, "cases": cases}, ensure_ascii=True, indent=1) + "\n"


def as_markdown(report: Report, titles: Titles, most: int | None = MOST_OF_A_GROUP) -> str:
    """Renders a table of counts, a table of the cases that did not pass, and the failures, at most `most` of each group."""
    lines = [f"# {implementation_text(report)}", "", f"Vectors {report.vectors['version']}, seed `{report.seed}`.", ""]
    if report.partial:
        lines += [f"**Partial:** {report.because}; {not_run_text(report)}.", ""]
    totals = report.totals
    lines += [f"| {' | '.join(totals)} |", f"|{' ---: |' * len(totals)}", f"| {' | '.join(map(str, totals.values()))} |", ""]
    lines += [f"- {line}" for line in (*report.problems, *report.notes)] + [""] * bool(report.problems or report.notes)
    if groups := group_failures(report):
        lines += ["Failures by first difference:", "", *markdown_table(groups), ""]
    unusual = [result for result in report.results if result.status not in ("passed", "skipped")]
    if unusual:
        lines += ["| case | status | failure | clauses | reason |", "| --- | --- | --- | --- | --- |"]
        for result in unusual:
            cells = (f"`{result.id}`", result.status, result.failure or "", ", ".join(result.clauses), result.reason or "")
            lines.append(f"| {' | '.join(map(_cell, cells))} |")
        lines.append("")
    lines += [f"- {line}" for line in transport_lines(report.results)] + [""] * report.is_over_sockets
    for block in _failures(report, titles, most):
        lines += ["```text", block, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def as_html(report: Report, titles: Titles) -> str:
    """Renders one self-contained page."""
    from peerproof.conformance.report.html.page import page  # loads jinja2, which only an HTML page needs

    return page([report], titles)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def as_junit(report: Report, titles: Titles) -> str:
    """Renders JUnit XML: crashes, timeouts and floods are errors, expected failures and undetermined cases are skipped."""
    totals = report.totals
    suite = Xml.Element(
        "testsuite",
        name=_xml(implementation_text(report)),
        tests=str(len(report.results) + report.partial + len(report.problems)),
        failures=str(totals["failed"] + totals["stale"] + len(report.problems)),
        errors=str(sum(totals[status] for status in BROKEN) + report.partial),
        skipped=str(sum(totals[status] for status in _SKIPPED)),
        time=f"{sum(result.milliseconds or 0 for result in report.results) / 1000:.3f}",
    )
    properties = Xml.SubElement(suite, "properties")
    for name, value in (("vectors", report.vectors["version"]), ("seed", report.seed), ("partial", str(report.partial).lower())):
        Xml.SubElement(properties, "property", name=name, value=str(value))
    for number, group in enumerate(group_failures(report), start=1):
        value = f"{count_text(len(group.cases), 'case')}: {group.difference}; start with {group.example}"
        Xml.SubElement(properties, "property", name=f"failure group {number}", value=_xml(value))
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
        kind = "error" if result.status in BROKEN else "failure"
        element = Xml.SubElement(case, kind, message=_xml(_why(result)), type=result.failure or result.status)
        element.text = _xml(explain(result, titles.get(result.vector, ""), report.arguments))
    elif result.status in _SKIPPED:
        Xml.SubElement(case, "skipped", message=_xml(f"{result.status}: {result.reason}"))
    elif result.status in ("tolerated", "differs"):
        why = result.reason or f"only {demanding(result.decisions)} it, not the document"
        Xml.SubElement(case, "system-out").text = _xml(f"{result.status}: {why}")


def _why(result: Result) -> str:
    if result.difference:
        return f"{failure_meaning(result)}: {result.difference.where}"
    return result.reason or result.status


def _xml(text: str) -> str:
    """Removes characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def _wrong(report: Report) -> list[Result]:
    return [result for result in report.results if STATUSES[result.status]]


def as_annotations(report: Report) -> str:
    """Renders annotations of a GitHub workflow: one at the vector of each failing case; then the counts."""
    return "\n".join(_annotations(report)) + "\n"


def _annotations(report: Report) -> Iterator[str]:
    groups = group_failures(report)
    examples = {group.example: place for place, group in enumerate(groups)}
    wrong = sorted(_wrong(report), key=lambda result: examples.get(result.id, len(groups)))  # one case of each group comes first
    for result in wrong:
        yield _command("error", explain(result, result.title, report.arguments), title=_title(result), **_place(report, result))
    for problem in report.problems:
        place = _listed(problem, report.arguments.get("known-failing"))
        yield _command("error", problem, title="list of expected failures", **place)
    if report.partial:
        yield _command("error", f"{report.because}; {not_run_text(report)}", title="the report is partial")
    if len(wrong) > SHOWN:
        yield _command("notice", f"{len(wrong)} cases failed; a workflow shows the first {SHOWN}, its log has all of them")
    yield f"{count_text(report.selected, 'case')}: {counts_text(report)}{' PARTIAL' * report.partial}"


def _title(result: Result) -> str:
    meaning = failure_meaning(result)
    return f"{result.id}: {meaning}" if meaning else f"{result.id}: {result.status}"


def _place(report: Report, result: Result) -> dict[str, str]:
    """
    The file of an annotation, if it is in this repository: the entry of the list of expected failures that the case contradicts,
    else the file of `--annotate`, else the vector, else the tested program.

    A workflow shows annotations only at files of its own repository.
    """
    arguments = report.arguments
    listed = _listed(result.reason or "", arguments.get("known-failing"))
    if listed or arguments.get("annotate"):
        return listed or _at(*_file_and_line(arguments["annotate"]))
    named, implementation = arguments.get("vectors"), arguments.get("impl")
    if isinstance(named, str) and result.file:
        return _at(Path(named) if Path(named).is_file() else Path(named, result.file), str(result.line or 1))
    words = _words(implementation) if isinstance(implementation, str) else []
    return next((_at(Path(word), "1") for word in words if _is_ours(Path(word))), {})


def _listed(text: str, named: str | None) -> dict[str, str]:
    """The entry of the list of expected failures that a text names as `file:line`; nothing if it names none."""
    file = locations.path_text(Path(named)) if named else ""
    found = re.search(rf"(?<!\S){re.escape(file)}:(\d+)", text) if file else None
    return _at(Path(file), found[1]) if found else {}


def _file_and_line(text: str) -> tuple[Path, str]:
    """
    The file and the line of `--annotate`.

    >>> _file_and_line("src/codec.py"), _file_and_line("src/codec.py:12")
    ((PosixPath('src/codec.py'), '1'), (PosixPath('src/codec.py'), '12'))
    """
    file, colon, line = text.rpartition(":")
    return (Path(file), line) if colon and line.isdigit() else (Path(text), "1")


def _at(file: Path, line: str) -> dict[str, str]:
    """The members of an annotation at this place. GitHub wants paths from the top of the repository, where it checked it out."""
    top = Path(os.environ.get(_CHECKOUT) or Path.cwd()).resolve()
    resolved = file.resolve()
    return {"file": str(resolved.relative_to(top)) if resolved.is_relative_to(top) else str(file), "line": line}


def _words(implementation: str) -> list[str]:
    """The words of a command, any of which may be a file."""
    try:
        return shlex.split(implementation)
    except ValueError:
        return []


def _is_ours(file: Path) -> bool:
    """Whether a file is in this repository, or below the working directory."""
    top = Path(os.environ.get(_CHECKOUT) or Path.cwd()).resolve()
    return file.is_file() and file.resolve().is_relative_to(top)


def _command(kind: str, text: str, **properties: str) -> str:
    order = ("file", "line", "title")
    members = ",".join(f"{name}={properties[name].translate(_PROPERTY)}" for name in order if name in properties)
    return f"::{kind}{' ' if members else ''}{members}::{text.rstrip().translate(_DATA)}"


#: `--format` -> its renderer.
FORMATS: Final[Mapping[str, Callable[[Report, Titles], str]]] = {
    "text": as_text,
    "json": lambda report, _: as_json(report),
    "jsonl": lambda report, _: as_json_lines(report),
    "junit": as_junit,
    "md": as_markdown,
    "html": as_html,
    "github": lambda report, _: as_annotations(report),
}


def renderer(form: str, *, every: bool, brief: bool = False) -> Callable[[Report, Titles], str]:
    """
    Returns the renderer of a format.

    With `every` it shows every failure in full, where the format has less by default; a brief text has failures and counts only.
    """
    most = None if every else MOST_OF_A_GROUP
    cut = {"text": partial(as_text, most=most, brief=brief), "md": partial(as_markdown, most=most)}
    return cut.get(form, FORMATS[form])
