"""
Reports as one HTML page: a matrix of implementations and clauses, a filter, and every failing case with its diagram.

The page needs no network and no second file, and its Content-Security-Policy forbids loading any; it allows only the page's
own script. It opens fast: the script renders only what is in view, and the details of failures are compressed in chunks, each
unpacked when a case of it is opened.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Template

from peerproof.conformance.clauses import catalogue
from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.report.failure_diagram import draw_failure
from peerproof.conformance.report.failure_groups import FailureGroup, command_of, group_failures
from peerproof.conformance.report.failure_text import MOST_ERRORS, failure_meaning, render_sides, to_paste, truncate_text
from peerproof.conformance.report.html.environment import make_environment
from peerproof.conformance.report.record import Report, implementation_name, labels
from peerproof.conformance.runner.result import STATUSES, Result, transport_lines
from peerproof.conformance.suite.strict_yaml import VectorError
from peerproof.conformance.vectors.suite import Suite

PER_CHUNK: Final = 50  #: cases whose details are compressed together
MOST_SHOWN: Final = 4_000  #: characters of one value that are shown; the record has the rest
MOST_GROUPS: Final = 50  #: of failures of one implementation
_ASKED_FOR: Final = ("passed", "failed", "differs", "skipped")  #: statuses
_LETTERS: Final = {status: chr(ord("a") + place) for place, status in enumerate(STATUSES)}
_ABSENT: Final = "."


@dataclass(frozen=True)
class ReportExtras:
    """Optional content of a page besides the reports."""

    mutants: Mapping[str, Any] | None = None  #: output of `peerproof model mutants --format json`
    edges: Mapping[str, Any] | None = None  #: output of `peerproof report edges`
    remarks: Sequence[str] = ()


def page(reports: Sequence[Report], titles: Mapping[str, str], extras: ReportExtras | None = None) -> str:
    """Renders the whole page; `titles` are those of the known vectors."""
    environment = make_environment(longest=2 * MOST_SHOWN)
    environment.globals |= {
        "failure_meaning": failure_meaning,
        "last_lines": _last_lines,
        "run_facts": _run_facts,
        "survivor_text": _survivor_text,
        "to_paste": to_paste,
        "render_sides": partial(render_sides, most=MOST_SHOWN),
    }
    data = PageData(reports, titles, environment.get_template("failure.html.j2"))
    differences = [(label, line) for label, report in data.reports_with_labels for line in transport_lines(report.results)]
    template = environment.get_template("report.html.j2")
    return template.render(data=data, extras=extras or ReportExtras(), transport_differences=differences)


def _last_lines(errors: str) -> str:
    return "\n".join(map(truncate_text, errors.splitlines()[-MOST_ERRORS:]))


def _run_facts(report: Report) -> Iterator[tuple[str, str]]:
    facts = {"seed": report.seed, **report.arguments, "url": report.implementation.get("url", "")}
    return ((name, value if isinstance(value, str) else json.dumps(value)) for name, value in facts.items() if value)


def _survivor_text(survivor: Any) -> str:
    if isinstance(survivor, Mapping):
        return "\n".join(f"{name}: {value}" if "\n" not in str(value) else str(value) for name, value in survivor.items())
    return str(survivor)


@dataclass
class PageData:
    """The cases of several reports in the form of the page's script."""

    reports: Sequence[Report]
    titles: Mapping[str, str]  #: vector -> title, if known
    failure: Template  #: renders one implementation's failure of a case
    labels: list[str] = field(init=False)
    details: list[str] = field(default_factory=list)  #: of failed cases, as HTML
    branches: dict[str, list[str]] = field(default_factory=dict)  #: case -> the branches that each implementation took
    plain: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = labels(self.reports)
        self._reasons: dict[str, int] = {}
        self._vectors: dict[str, int] = {}
        self._places: dict[str, int] = {}  # of each case
        self._rows: list[list[Any]] = []  # of each vector
        self._branches: list[list[Any]] = []
        cases = [self._case(place, results) for place, results in enumerate(self._side_by_side())]
        self._groups = [group_failures(report) for report in self.reports]
        self.plain = {
            "implementations": list(map(visible, self.labels)),
            "statuses": list(STATUSES),
            "wrong": list(STATUSES.values()),
            "vectors": self._rows,
            "cases": cases,
            "branches": self._branches,
            "groups": [[self._places[case] for case in group.cases] for groups in self._groups for group in groups[:MOST_GROUPS]],
            "reasons": list(map(visible, self._reasons)),
            "clauses": {protocol: _clauses(protocol) for protocol in self.protocols},
            "per_chunk": PER_CHUNK,
        }

    @property
    def met_statuses(self) -> list[str]:
        """The statuses that occur, and those that are always shown."""
        return [status for status in STATUSES if status in _ASKED_FOR or any(report.totals[status] for report in self.reports)]

    def count_cases(self, report: Report) -> list[int]:
        """The number of cases of a report, then the number with each shown status."""
        return [report.selected, *(report.totals[status] for status in self.met_statuses)]

    @property
    def reports_with_labels(self) -> list[tuple[str, Report]]:
        """The reports, each with its label."""
        return list(zip(self.labels, self.reports, strict=True))

    @property
    def groups(self) -> Iterator[tuple[str, list[tuple[FailureGroup, str]], int]]:
        """Yields for each failing implementation its label, its groups with commands for their examples, the number left out."""
        for (label, report), groups in zip(self.reports_with_labels, self._groups, strict=True):
            results = {result.id: result for result in report.results}
            shown = [(group, command_of(group, results, report)) for group in groups[:MOST_GROUPS]]
            if shown:
                yield label, shown, len(groups) - len(shown)

    @property
    def protocols(self) -> list[str]:
        """The protocols with a case."""
        return sorted({vector.partition("/")[0] for vector in self._vectors})

    @property
    def layers(self) -> list[str]:
        """The layers with a case."""
        return sorted({vector.split("/")[1] for vector in self._vectors})

    def chunks(self) -> Iterator[str]:
        """The details, packed: JSON lists of HTML, deflated, as base64."""
        for start in range(0, len(self.details), PER_CHUNK):
            part = json.dumps(self.details[start : start + PER_CHUNK], ensure_ascii=True)
            yield b64encode(zlib.compress(part.encode())).decode()

    def _side_by_side(self) -> Iterator[list[Result | None]]:
        by_id = [{result.id: result for result in report.results} for report in self.reports]
        for case in dict.fromkeys(case for results in by_id for case in results):
            yield [results.get(case) for results in by_id]

    def _case(self, at: int, results: Sequence[Result | None]) -> list[Any]:
        """Vector, rest of the id, a letter for each implementation, index of the details or -1, reasons."""
        some = next(filter(None, results))
        self._places[some.id] = at
        statuses = "".join(_LETTERS[result.status] if result else _ABSENT for result in results)
        shown = {number: result for number, result in enumerate(results) if result and (result.failure or result.story)}
        kept = -1
        if shown:
            kept = len(self.details)
            self.details.append("".join(self._detail(kept, number, result) for number, result in shown.items()))
        reasons = {
            number: self._reasons.setdefault(result.reason, len(self._reasons))
            for number, result in enumerate(results)
            if result and result.reason
        }
        place = self._vector(some, results)
        if taken := {number: list(result.branches) for number, result in enumerate(results) if result and result.branches}:
            self._branches.append([at, taken])
            self.branches[some.id] = [", ".join(taken.get(number, ())) for number in range(len(results))]
        return [place, some.id.removeprefix(some.vector), statuses, kept, *([reasons] if reasons else [])]

    def _vector(self, some: Result, results: Iterable[Result | None]) -> int:
        if some.vector not in self._vectors:
            self._vectors[some.vector] = len(self._rows)
            title = self.titles.get(some.vector) or next((result.title for result in results if result and result.title), "")
            self._rows.append([some.vector, visible(title), some.level, list(some.clauses)])
        return self._vectors[some.vector]

    def _detail(self, number: int, place: int, result: Result) -> str:
        return self.failure.render(
            label=self.labels[place],
            result=result,
            graph=draw_failure(result),
            name=f"graph-{number}-{place}",
            arguments=self.reports[place].arguments,
        )


def _clauses(protocol: str) -> list[list[str]]:
    """Id, level and text of each clause and decision; empty for a protocol without prose."""
    try:
        items = catalogue.load(protocol).items.values()
    except VectorError:
        return []
    return [[item.id, item.level or "", item.text] for item in items]


_SCORE: Final = ("mutants", "killed", "equivalent", "score", "survivors")


class BadExtra(ValueError):
    """A file cannot be shown beside reports; the message names it."""


def load_scores(path: Path) -> Mapping[str, Any]:
    """Loads the output of `peerproof model mutants --format json`. Raises BadExtra."""
    found = _protocols(path)
    for member in _SCORE:
        if any(member not in one for one in found["protocols"].values()):
            raise BadExtra(f"{path}: a protocol without {member!r}")
    return found


def load_edges(path: Path) -> Mapping[str, Any]:
    """Loads the output of `peerproof report edges`. Raises BadExtra."""
    found = _protocols(path)
    if "vectors" not in found:
        raise BadExtra(f"{path}: expected what peerproof report edges writes")
    return found


def _protocols(path: Path) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        list(found["protocols"].values())
    except OSError as error:
        raise BadExtra(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadExtra(f"{path}: expected an object with 'protocols'") from None
    return found


def render_page(
    reports: Sequence[Report], suite: Suite, scores: Mapping[str, Any] | None = None, edges: Mapping[str, Any] | None = None
) -> str:
    """
    Renders reports as one HTML page that needs no network; titles are those of the suite's vectors.

    The page names reports that were made with other vectors than the suite's.
    """
    remarks = [
        f"{implementation_name(report)} ran with other vectors than the suite's "
        f"({report.vectors['version']}, {suite.version}); titles are from the suite"
        for report in reports
        if report.vectors.get("digest") != suite.digest
    ]
    beside = ReportExtras(scores, edges, list(dict.fromkeys(remarks)))
    return page(reports, {vector.id: vector.title for vector in suite.vectors}, beside)
