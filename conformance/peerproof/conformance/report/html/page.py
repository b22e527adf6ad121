"""
Reports as one HTML page: the verdict, the failures by first difference, a matrix of clauses, and every case behind a filter.

The page needs no network and no second file, and its Content-Security-Policy forbids loading any; it allows only the page's
own script. It opens fast: the script renders only what is in view, and the details of failures are compressed in chunks, each
unpacked when a case of it is opened. What the page shows, its filter and its open case are in the fragment of its address.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Template

from peerproof.conformance.clauses import catalogue
from peerproof.conformance.clauses.catalogue import Clause
from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.report.failure_diagram import draw_failure
from peerproof.conformance.report.failure_groups import FailureGroup, command_of, group_failures
from peerproof.conformance.report.failure_text import (
    MOST_ERRORS,
    explore_commands,
    failure_meaning,
    render_sides,
    settled_decisions,
    to_paste,
    truncate_text,
)
from peerproof.conformance.report.html.environment import make_environment, pack_text
from peerproof.conformance.report.record import Report, implementation_name, labels
from peerproof.conformance.runner.result import SILENT, STATUSES, VIOLATIONS, Result, transport_lines
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.suite.strict_yaml import VectorError
from peerproof.conformance.vectors.suite import Suite

PER_CHUNK: Final = 50  #: cases whose details are compressed together
MOST_SHOWN: Final = 4_000  #: characters of one value that are shown; the record has the rest
MOST_GROUPS: Final = 50  #: of failures of one implementation
MOST_TITLE: Final = 100  #: characters of a group's title in the filter
_LETTERS: Final = {status: chr(ord("a") + place) for place, status in enumerate(STATUSES)}
_ABSENT: Final = "."

#: Verdict on an implementation -> the class of its text; the worst one first.
VERDICTS: Final = {"violates": "bad", "differs": "differing", "passed": "good", "nothing checked": "differing"}


@dataclass(frozen=True)
class Explored:
    """Failing cases in the explorer: its page, and the number of the run of each case."""

    html: str
    script: str  #: the only one of the page
    runs: Mapping[tuple[int, str], int]  #: place of the report, and id of the case -> number of the run


@dataclass(frozen=True)
class ReportExtras:
    """Optional content of a page besides the reports."""

    mutants: Mapping[str, Any] | None = None  #: output of `peerproof model mutants --format json`
    edges: Mapping[str, Any] | None = None  #: output of `peerproof report edges`
    remarks: Sequence[str] = ()
    site: str = ""  #: address of the site that has the clauses, with a slash at its end; empty if there is none
    explored: Explored | None = None


def verdict_of(report: Report) -> str:
    """The verdict on an implementation, one of `VERDICTS`; what only a decision demands makes it differ, not violate."""
    if report.violates:
        return "violates"
    if report.totals["differs"]:
        return "differs"
    return "passed" if any(result.status not in SILENT for result in report.results) else "nothing checked"


def page(reports: Sequence[Report], titles: Mapping[str, str], extras: ReportExtras | None = None) -> str:
    """Renders the whole page; `titles` are those of the known vectors."""
    extras = extras or ReportExtras()
    environment = make_environment(scripts=("shared.js", "report.js"), longest=2 * MOST_SHOWN)
    environment.globals |= {
        "command_of": command_of,
        "count_text": count_text,
        "draw_failure": draw_failure,
        "explore_commands": explore_commands,
        "failure_meaning": failure_meaning,
        "last_lines": _last_lines,
        "run_facts": _run_facts,
        "survivor_text": _survivor_text,
        "to_paste": to_paste,
        "render_sides": partial(render_sides, most=MOST_SHOWN),
        "settled_decisions": settled_decisions,
        "verdict_classes": VERDICTS,
        "verdict_of": verdict_of,
    }
    runs = extras.explored.runs if extras.explored else {}
    data = PageData(reports, titles, environment.get_template("failure.html.j2"), extras.site, runs)
    differences = [(label, line) for label, report in data.reports_with_labels for line in transport_lines(report.results)]
    template = environment.get_template("report.html.j2")
    return template.render(data=data, extras=extras, explored=extras.explored, transport_differences=differences)


def _last_lines(errors: str) -> str:
    return "\n".join(map(truncate_text, errors.splitlines()[-MOST_ERRORS:]))


def _run_facts(report: Report) -> Iterator[tuple[str, str]]:
    about = report.implementation
    facts = {
        "began": report.date,
        "vectors": f"{report.vectors['version']}, digest {report.vectors.get('digest', 'unknown')}",
        "language": about.get("language", ""),
        "seed": report.seed,
        **report.arguments,
        "url": about.get("url", ""),
    }
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
    site: str = ""
    runs: Mapping[tuple[int, str], int] = field(default_factory=dict)  #: as in `Explored`
    labels: list[str] = field(init=False)
    details: list[str] = field(default_factory=list)  #: of failed cases, as HTML
    branches: dict[str, list[str]] = field(default_factory=dict)  #: case -> the branches that each implementation took
    plain: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = labels(self.reports)
        self._by_id = [{result.id: result for result in report.results} for report in self.reports]
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
            "groups": [[self._places[case] for case in group.cases] for group in self._shown_groups],
            "reasons": list(map(visible, self._reasons)),
            "clauses": {
                protocol: [[item.id, item.standing, item.text] for item in _items(protocol).values()]
                for protocol in self.protocols
            },
            "per_chunk": PER_CHUNK,
            "site": self.site,
        }

    @property
    def verdict(self) -> str:
        """The worst verdict."""
        found = set(map(verdict_of, self.reports))
        return next(verdict for verdict in VERDICTS if verdict in found)

    @property
    def headline(self) -> str:
        """The worst verdict, and on how many of several implementations it is."""
        if len(self.reports) == 1:
            return self.verdict
        count = sum(verdict_of(report) == self.verdict for report in self.reports)
        return f"{self.verdict}: {count} of {len(self.reports)} implementations"

    @property
    def meaning(self) -> str:
        """What the worst verdict means, in a sentence or two."""
        violates = sum(report.violates for report in self.reports)
        differs = sum(report.totals["differs"] for report in self.reports)
        known = sum(report.totals["known"] for report in self.reports)
        by_status = {status: sum(report.totals[status] for report in self.reports) for status in VIOLATIONS}
        kinds = [f"{count:,} {status}" for status, count in by_status.items() if count]
        which = f": {', '.join(kinds)}" if len(kinds) > 1 else ""
        first = {
            "violates": f"{count_text(violates, 'case')} contradict{'s' * (violates == 1)} the protocol's document{which}.",
            "differs": f"Nothing contradicts the protocol's document; {count_text(differs, 'case')} "
            f"differ{'s' * (differs == 1)} in what only a decision demands.",
            "passed": "Nothing that was checked contradicts the protocol.",
            "nothing checked": "No case was checked.",
        }[self.verdict]
        expected = f" {count_text(known, 'case')} failed as the list of expected failures says." if known else ""
        return first + expected

    @property
    def origins(self) -> list[str]:
        """Against which vectors the implementations were run, and since when; one line for each version of the vectors."""
        dates: dict[str, list[str]] = {}
        for report in self.reports:
            dates.setdefault(report.vectors["version"], []).extend([report.date] if report.date else [])
        return [f"Since {min(found, default='an unknown date')}, against vectors {version}" for version, found in dates.items()]

    @property
    def shown_statuses(self) -> list[str]:
        """The verdicts on cases that are always counted, and the other statuses that occur."""
        others = [status for status in STATUSES if status not in (*VIOLATIONS, "differs", "passed")]
        met = [status for status in others if any(report.totals[status] for report in self.reports)]
        return ["violates", "differs", "passed", *met, "cases"]

    def count_cases(self, report: Report) -> dict[str, int]:
        """The number of cases of a report with each verdict or status of `shown_statuses`."""
        counts = {**report.totals, "violates": report.violates, "cases": report.selected}
        return {name: counts[name] for name in self.shown_statuses}

    def has_page(self, clause: str, protocol: str) -> bool:
        """Whether the site shows this clause."""
        return bool(self.site) and any(clause == known for known, *_ in self.plain["clauses"].get(protocol, ()))

    @property
    def reports_with_labels(self) -> list[tuple[str, Report]]:
        """The reports, each with its label."""
        return list(zip(self.labels, self.reports, strict=True))

    @property
    def groups(self) -> Iterator[tuple[str, list[FailureGroup], int]]:
        """Yields for each failing implementation its label, its groups, the number of groups left out."""
        for label, groups in zip(self.labels, self._groups, strict=True):
            if groups:
                yield label, groups[:MOST_GROUPS], len(groups[MOST_GROUPS:])

    @property
    def _shown_groups(self) -> Iterator[FailureGroup]:
        return (group for _, shown, _ in self.groups for group in shown)

    @property
    def group_titles(self) -> Iterator[str]:
        """Yields the title of each group, for the filter."""
        for label, shown, _ in self.groups:
            who = f"{label}: " if len(self.labels) > 1 else ""
            yield from (f"{who}{len(group.cases):,} × {group.difference}"[:MOST_TITLE] for group in shown)

    def example(self, group: FailureGroup, label: str) -> tuple[Result, Report]:
        """The result of a group's simplest case, and its report."""
        report = self.reports[self.labels.index(label)]
        return self._by_id[self.labels.index(label)][group.example], report

    def title_of(self, result: Result) -> str:
        """The title of a result's vector, of the known vectors or of the record; empty if there is none."""
        return self.titles.get(result.vector) or result.title or ""

    def clauses_of(self, group: FailureGroup, example: Result) -> tuple[list[Clause], list[str]]:
        """
        The first clause of a group that its example cites and whose text is known, as a list of one or none; the group's others.

        The first clause is the one that the fewest passing cases cite, so that the difference most probably contradicts it.
        """
        items = _items(group.protocol)
        first = [items[clause] for clause in group.clauses if clause in example.clauses and clause in items][:1]
        return first, [clause for clause in group.clauses if clause not in {item.id for item in first}]

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
            yield pack_text(part)

    def _side_by_side(self) -> Iterator[list[Result | None]]:
        for case in dict.fromkeys(case for results in self._by_id for case in results):
            yield [results.get(case) for results in self._by_id]

    def _case(self, at: int, results: Sequence[Result | None]) -> list[Any]:
        """Vector, rest of the id, a letter for each implementation, index of the details or -1, reasons."""
        some = next(filter(None, results))
        self._places[some.id] = at
        statuses = "".join(_LETTERS[result.status] if result else _ABSENT for result in results)
        shown = {number: result for number, result in enumerate(results) if result and (result.failure or result.story)}
        kept = -1
        if shown:
            kept = len(self.details)
            parts = (self._detail(kept, number, result, is_first=number == min(shown)) for number, result in shown.items())
            self.details.append("".join(parts))
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
            title = next(filter(None, (self.title_of(result) for result in results if result)), "")
            self._rows.append([some.vector, visible(title), some.level, list(some.clauses)])
        return self._vectors[some.vector]

    def _detail(self, number: int, place: int, result: Result, *, is_first: bool) -> str:
        return self.failure.render(
            is_alone=len(self.labels) == 1,
            is_first=is_first,
            label=self.labels[place],
            result=result,
            graph=draw_failure(result),
            name=f"graph-{number}-{place}",
            arguments=self.reports[place].arguments,
            run=self.runs.get((place, result.id)),
        )

    def run_of(self, label: str, case: str) -> int | None:
        """The number of the run that shows a case of an implementation in the explorer; None if there is none."""
        return self.runs.get((self.labels.index(label), case))


@lru_cache
def _items(protocol: str) -> Mapping[str, Clause]:
    """The clauses and decisions by id; none for a protocol without prose."""
    try:
        return catalogue.load(protocol).items
    except VectorError:
        return {}


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
    reports: Sequence[Report],
    suite: Suite,
    scores: Mapping[str, Any] | None = None,
    edges: Mapping[str, Any] | None = None,
    site: str = "",
    explored: Explored | None = None,
) -> str:
    """
    Renders reports as one HTML page that needs no network; titles are those of the suite's vectors.

    Clauses are links to the site at this address, if one is given; cases in `explored` open in the explorer. The page names
    reports that were made with other vectors than the suite's.
    """
    remarks = [
        f"{implementation_name(report)} ran with other vectors than the suite's "
        f"({report.vectors['version']}, {suite.version}); titles are from the suite"
        for report in reports
        if report.vectors.get("digest") != suite.digest
    ]
    beside = ReportExtras(scores, edges, list(dict.fromkeys(remarks)), site, explored)
    return page(reports, {vector.id: vector.title for vector in suite.vectors}, beside)
