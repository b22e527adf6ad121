"""Reports as text, JUnit XML, Markdown, HTML, and annotations of a GitHub workflow."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as Xml

from peerproof.conformance.report.failure_groups import group_failures, markdown_table, render_groups
from peerproof.conformance.report.failure_text import brief_difference, demanding, explain
from peerproof.conformance.report.record import Report, as_json_lines
from peerproof.conformance.runner.result import STATUSES, Result, transport_lines
from peerproof.conformance.runner.trial import FAILURES
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.printable import count_text

#: Vector id -> title.
Titles = Mapping[str, str]

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ERRORS: Final = ("crashed", "hung", "flooded")  #: statuses that JUnit calls errors
SHOWN: Final = 10  #: the most annotations of one kind that a workflow shows
LACKS: Final = "the implementation does not offer"  #: the beginning of most reasons for skipping
MOST_GROUPS: Final = 5  #: of failures, in the summary of a run

#: Escapes in the data and properties of a workflow command.
_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def as_text(report: Report, titles: Titles) -> str:
    """Renders each failing case, then the summary."""
    blocks = [explain(result, titles.get(result.vector, ""), report.arguments) for result in _wrong(report)]
    return "\n".join([*blocks, *summary(report)]) + "\n"


def summary(report: Report) -> Iterator[str]:
    """The end of the text: the implementation, the vectors, and the counts of each status."""
    yield from _expected(report.results)
    differing = Counter((result.decisions, result.reason) for result in report.results if result.status == "differs")
    for (decisions, reason), count in differing.most_common():
        more = f"; {reason}" if reason else ""
        yield f"differs: {count_text(count, 'case')}: only {demanding(decisions)} it, not the document{more}"
    yield from _skipped(report.results)
    yield from (f"list: {problem}" for problem in report.problems)
    yield from transport_lines(report.results)
    if len(_wrong(report)) > 1:
        yield from render_groups(report, group_failures(report), MOST_GROUPS)
    yield f"{_who(report)}, vectors {report.vectors['version']}"
    if report.totals["differs"]:
        violations = "1 case violates" if report.violates == 1 else f"{report.violates:,} cases violate"
        yield f"{violations} the document, {report.totals['differs']:,} differ in what only a decision demands"
    vectors = count_text(len({result.vector for result in report.results}), "vector")
    yield f"{count_text(report.selected, 'case')}, {vectors}: {_counted(report)}"
    if report.partial:
        yield f"PARTIAL: {report.because}; {_not_run(report)}"


def _not_run(report: Report) -> str:
    return f"not run: {count_text(report.selected - len(report.results), 'case')}"


def _expected(results: Sequence[Result]) -> Iterator[str]:
    """Yields expected and tolerated failures, by reason; a single one has its difference."""
    groups: dict[tuple[str, str | None], list[Result]] = {}
    for result in results:
        if result.status in ("tolerated", "known"):
            groups.setdefault((result.status, result.reason), []).append(result)
    for (status, reason), group in groups.items():
        first = group[0]
        failure = f" ({first.failure})" if first.failure else ""
        if len(group) == 1:
            yield f"{status}: {first.id}{failure}: {reason}"
            yield from brief_difference(first)
        else:
            yield f"{status}: {count_text(len(group), 'case')}, such as {first.id}{failure}: {reason}"


def _skipped(results: Sequence[Result]) -> Iterator[str]:
    """Yields the reasons why cases were skipped, and how many cases of each layer were run."""
    left = [result for result in results if result.status == "skipped"]
    if not left:
        return
    while left:  # the most frequent missing capability, then the most frequent one of the remaining cases, and so on
        because, count = Counter(reason for result in left for reason in _reasons(result)).most_common(1)[0]
        alone = sum(_reasons(result) == [because] for result in left)
        more = f", {count - alone:,} of which lack something else too" if alone < count else ""
        yield f"skipped: {count_text(count, 'case')}: {because}{more}"
        left = [result for result in left if because not in _reasons(result)]
    layers = Counter(result.id.split("/")[1] for result in results)
    run = Counter(result.id.split("/")[1] for result in results if result.status != "skipped")
    loads = Counter(result.id.split("/")[1] for result in results if f"{LACKS} state.load" in _reasons(result))
    layer_texts = (
        f"{layer} {run[layer]:,} of {count:,}" + (f" ({loads[layer]:,} need state.load)" if loads[layer] else "")
        for layer, count in layers.items()
    )
    yield f"cases run by layer: {'; '.join(layer_texts)}"


def _reasons(result: Result) -> list[str]:
    """The missing capabilities of a skipped case, or another reason."""
    reason = result.reason or "no reason given"
    if not reason.startswith(LACKS):
        return [reason]
    return [f"{LACKS} {capability}" for capability in reason.removeprefix(LACKS).strip().split(", ")]


def as_json(report: Report) -> str:
    """Renders one object, with the groups of failures."""
    plain = report.plain()
    cases = plain.pop("cases")
    groups = [group.plain() for group in group_failures(report)]
    return json.dumps({**plain, "groups": groups, "cases": cases}, ensure_ascii=True, indent=1) + "\n"


def as_markdown(report: Report, titles: Titles) -> str:
    """Renders a table of counts, a table of the cases that did not pass, and the failures in full."""
    lines = [f"# {_who(report)}", "", f"Vectors {report.vectors['version']}, seed `{report.seed}`.", ""]
    if report.partial:
        lines += [f"**Partial:** {report.because}; {_not_run(report)}.", ""]
    totals = report.totals
    lines += [f"| {' | '.join(totals)} |", f"|{' ---: |' * len(totals)}", f"| {' | '.join(map(str, totals.values()))} |", ""]
    lines += [f"- {problem}" for problem in report.problems] + [""] * bool(report.problems)
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
    for result in _wrong(report):
        lines += ["```text", explain(result, titles.get(result.vector, ""), report.arguments).rstrip(), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def as_html(report: Report, titles: Titles) -> str:
    """Renders one self-contained page."""
    from peerproof.conformance.report.html.page import page  # loads jinja2, which only an HTML page needs

    return page([report], titles)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def as_junit(report: Report, titles: Titles) -> str:
    """Renders JUnit XML: crashes, timeouts and floods are errors, expected failures are skipped."""
    totals = report.totals
    suite = Xml.Element(
        "testsuite",
        name=_xml(_who(report)),
        tests=str(len(report.results) + report.partial + len(report.problems)),
        failures=str(totals["failed"] + totals["stale"] + len(report.problems)),
        errors=str(sum(totals[status] for status in _ERRORS) + report.partial),
        skipped=str(totals["skipped"] + totals["known"]),
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
        kind = "error" if result.status in _ERRORS else "failure"
        element = Xml.SubElement(case, kind, message=_xml(_why(result)), type=result.failure or result.status)
        element.text = _xml(explain(result, titles.get(result.vector, ""), report.arguments))
    elif result.status in ("skipped", "known"):
        Xml.SubElement(case, "skipped", message=_xml(f"{result.status}: {result.reason}"))
    elif result.status in ("tolerated", "differs"):
        why = result.reason or f"only {demanding(result.decisions)} it, not the document"
        Xml.SubElement(case, "system-out").text = _xml(f"{result.status}: {why}")


def _why(result: Result) -> str:
    if result.difference:
        return f"{FAILURES[result.failure or 'error']}: {result.difference.where}"
    return result.reason or result.status


def _xml(text: str) -> str:
    """Removes characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def _wrong(report: Report) -> list[Result]:
    return [result for result in report.results if STATUSES[result.status]]


def _who(report: Report) -> str:
    implementation = report.implementation
    language = f" ({implementation['language']})" if "language" in implementation else ""
    return f"{implementation['name']} {implementation['version']}{language}"


def _counted(report: Report) -> str:
    counted = [f"{count:,} {status}" for status, count in report.totals.items() if count and status != "selected"]
    return ", ".join(counted) or "none run"


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
        yield _command("error", problem, title="list of expected failures")
    if report.partial:
        yield _command("error", f"{report.because}; {_not_run(report)}", title="the report is partial")
    if len(wrong) > SHOWN:
        yield _command("notice", f"{len(wrong)} cases failed; a workflow shows the first {SHOWN}, its log has all of them")
    yield f"{count_text(report.selected, 'case')}: {_counted(report)}{' PARTIAL' * report.partial}"


def _title(result: Result) -> str:
    meaning = FAILURES.get(result.failure or "", "")
    return f"{result.id}: {meaning}" if meaning else f"{result.id}: {result.status}"


def _place(report: Report, result: Result) -> dict[str, str]:
    """
    The file of an annotation: the vector if it is in this repository, else the tested program if it is, else none.

    A workflow shows annotations only at files of its own repository.
    """
    named, implementation = report.arguments.get("vectors"), report.arguments.get("impl")
    if isinstance(named, str) and result.file:
        file = Path(named) if Path(named).is_file() else Path(named, result.file)
        return {"file": locations.path_text(file), "line": str(result.line or 1)}
    words = _words(implementation) if isinstance(implementation, str) else []
    return next(({"file": locations.path_text(Path(word)), "line": "1"} for word in words if _is_ours(Path(word))), {})


def _words(implementation: str) -> list[str]:
    """The words of a command, any of which may be a file."""
    try:
        return shlex.split(implementation)
    except ValueError:
        return []


def _is_ours(file: Path) -> bool:
    """Whether a file is below the working directory."""
    return file.is_file() and file.resolve().is_relative_to(Path.cwd())


def _command(kind: str, text: str, **properties: str) -> str:
    order = ("file", "line", "title")
    members = ",".join(f"{name}={properties[name].translate(_PROPERTY)}" for name in order if name in properties)
    return f"::{kind}{' ' if members else ''}{members}::{text.rstrip().translate(_DATA)}"


#: `--format` -> its renderer
FORMATS: Final[Mapping[str, Callable[[Report, Titles], str]]] = {
    "text": as_text,
    "json": lambda report, _: as_json(report),
    "jsonl": lambda report, _: as_json_lines(report),
    "junit": as_junit,
    "md": as_markdown,
    "html": as_html,
    "github": lambda report, _: as_annotations(report),
}
