"""
The report of a run. The report of record is JSON lines; every other format is made from it:

    {"header": {"format": 1, "implementation": {…}, "vectors": {…}, "selected": 470, "seed": "0", "arguments": […]}}
    {"case": {"id": "…", "status": "passed", …}}          one for each case, as it finishes
    {"footer": {"totals": {…}, "partial": false, "problems": []}}

A report without a footer is partial: its writer was stopped. Every format shows that. A file can hold several reports of
several implementations, one after the other.

Missing members of a case have their default: a passing case needs only id, status, vector, rev, level and clauses.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.runner.result import STATUSES, VIOLATIONS, Result, compare_transports, of_plain

FORMAT: Final = 1
_HEADER: Final[Mapping[str, type]] = {"implementation": dict, "vectors": dict, "selected": int, "seed": str, "arguments": dict}


class NoReport(ValueError):
    """The lines are not a report of a run."""


@dataclass
class Report:
    """The results of a run so far."""

    implementation: Mapping[str, Any]
    vectors: Mapping[str, Any]  #: version, digest and number
    selected: int  #: number of cases
    seed: str
    arguments: Mapping[str, Any]  #: the options that repeat the run
    results: list[Result] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  #: of the list of expected failures
    notes: list[str] = field(default_factory=list)  #: what explains many failures, and is none itself
    because: str | None = None  #: why it is partial
    date: str | None = None  #: the day on which it began, YYYY-MM-DD; unknown in a record of an earlier version

    @property
    def partial(self) -> bool:
        """Whether selected cases were not run, or may not have been run."""
        return self.because is not None

    @property
    def totals(self) -> dict[str, int]:
        """Cases by status."""
        counted = Counter(result.status for result in self.results)
        return {"selected": self.selected, **{status: counted[status] for status in STATUSES}}

    @property
    def violates(self) -> int:
        """The number of cases that violate the document's own words."""
        return sum(self.totals[status] for status in VIOLATIONS)

    @property
    def wrong(self) -> bool:
        """Whether a case or an entry of the list of expected failures makes the run fail."""
        return bool(self.problems) or any(STATUSES[result.status] for result in self.results)

    def header(self) -> str:
        """The first line."""
        return _line({"header": {"format": FORMAT} | {name: getattr(self, name) for name in _HEADER} | self._began()})

    def footer(self) -> str:
        """The last line."""
        return _line({"footer": {"totals": self.totals, "violates": self.violates, **self._end()}})

    def lines(self) -> Iterable[str]:
        """All lines, each with its end."""
        yield self.header()
        yield from map(case_line, self.results)
        yield self.footer()

    def plain(self) -> dict[str, Any]:
        """The whole report as one object."""
        return {
            "implementation": self.implementation,
            "vectors": self.vectors,
            "totals": self.totals,
            "violates": self.violates,
            **self._end(),
            "seed": self.seed,
            "arguments": self.arguments,
            **self._began(),
            **self._transports(),
            "cases": [result.plain() for result in self.results],
        }

    @property
    def is_over_sockets(self) -> bool:
        """Whether any case ran over a real socket."""
        return any("@" in result.id for result in self.results)

    def _transports(self) -> dict[str, Any]:
        if not self.is_over_sockets:
            return {}
        count, otherwise = compare_transports(self.results)
        return {"transports": {"compared": count, "otherwise": [each.plain() for each in otherwise]}}

    def _began(self) -> dict[str, Any]:
        return {"date": self.date} if self.date else {}

    def _end(self) -> dict[str, Any]:
        because = {"because": self.because} if self.because else {}
        notes = {"notes": self.notes} if self.notes else {}
        return {"partial": self.partial, **because, "problems": self.problems, **notes}


def case_line(result: Result) -> str:
    """The line of one case."""
    return _line({"case": result.plain()})


def load(path: Path) -> list[Report]:
    """Loads the reports of a file. Raises NoReport, which names the file."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            return read_all(file)
    except OSError as error:
        raise NoReport(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise NoReport(f"{path}: this is not UTF-8: {error.reason}") from None
    except NoReport as error:
        raise NoReport(f"{path}: {error}; expected what peerproof run --record FILE writes") from None


def load_one(path: Path) -> Report:
    """Loads a record that holds the report of one implementation. Raises NoReport."""
    reports = load(path)
    if len(reports) > 1:
        names = ", ".join(map(implementation_name, reports))
        raise NoReport(f"{path} holds the reports of {names}; expected that of one implementation")
    return reports[0]


def read(lines: Iterable[str]) -> Report:
    """Parses the one report in JSON lines; the last line may be cut off. Raises NoReport."""
    found = read_all(lines)
    if len(found) > 1:
        raise NoReport(f"there are {len(found)} reports, of {', '.join(implementation_name(report) for report in found)}")
    return found[0]


def read_all(lines: Iterable[str]) -> list[Report]:
    """
    Parses the reports in JSON lines, one after the other; the last line may be cut off. Raises NoReport.

    A report without a footer, or with a footer that counts other cases, is partial.
    """
    reading: _Reading | None = None
    found: list[Report] = []
    for number, line in enumerate(lines, start=1):
        try:
            ((kind, content),) = json.loads(line).items()
        except (ValueError, AttributeError, RecursionError):
            if line.endswith("\n") or reading is None:
                raise NoReport(f"line {number}: expected an object with header, case or footer") from None
            break  # the last line of a stopped writer
        try:
            if kind == "header":
                reading = _Reading(_parse_header(content))
                found.append(reading.report)
            elif reading is None:
                raise NoReport(f"expected a header of format {FORMAT}, found {kind!r}")  # noqa: TRY301  # gets its line below
            else:
                reading.take(kind, content)
        except NoReport as error:
            raise NoReport(f"line {number}: {error}") from None
    if reading is None:
        raise NoReport("it is empty")
    return found


def _parse_header(content: Any) -> Report:
    """Parses a header."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        shown = content.get("format") if isinstance(content, dict) else content
        raise NoReport(f"expected a header of format {FORMAT}, found {shown!r}: it is from another version of peerproof")
    for name, kind in _HEADER.items():
        if not isinstance(content.get(name), kind):
            raise NoReport(f"the header's {name!r} is {content.get(name)!r}")
    for name, member in (("implementation", "name"), ("vectors", "version")):
        if not isinstance(content[name].get(member), str):
            raise NoReport(f"the header's {name!r} has no {member!r}")
    date = content.get("date")
    if not isinstance(date, str | None):
        raise NoReport(f"the header's 'date' is {date!r}")
    report = Report(*(content[name] for name in _HEADER))
    report.because, report.date = _NO_FOOTER, date
    return report


_NO_FOOTER: Final = "the report has no footer: its writer was stopped"


class _Reading:
    """A report whose lines are being read."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._ids: set[str] = set()
        self._ended = False

    def take(self, kind: str, content: Any) -> None:
        """Takes the content of one line. Raises NoReport."""
        if self._ended:
            raise NoReport(f"after the footer comes a {kind}")
        if kind == "case":
            self._case(content)
        elif kind == "footer":
            self._footer(content)
        else:
            raise NoReport(f"expected header, case or footer, found {kind!r}")

    def _case(self, content: Any) -> None:
        try:
            result = of_plain(content)
        except KeyError as error:
            raise NoReport(f"a case without {error}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise NoReport(f"this is not a case: {error}") from None
        if result.status not in STATUSES:
            raise NoReport(f"{result.id} has the unknown status {result.status!r}")
        if not isinstance(result.id, str) or result.id.count("/") != 2:  # noqa: PLR2004  # protocol/layer/name
            raise NoReport(f"{result.id!r} is not the name of a case")
        if result.id in self._ids:
            raise NoReport(f"{result.id} occurs twice")
        self._ids.add(result.id)
        self.report.results.append(result)

    def _footer(self, content: Any) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("totals"), dict):
            raise NoReport("this is not a footer")
        report, self._ended = self.report, True
        report.problems, report.because = list(content.get("problems", ())), content.get("because")
        report.notes = list(content.get("notes", ()))
        counted = {status: count for status, count in report.totals.items() if count}
        expected = {status: count for status, count in content["totals"].items() if count}
        if expected != counted:
            report.because = f"lines are missing: the footer counts {_counts(expected)}, there are {_counts(counted)}"


def _counts(totals: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in totals.items()) or "nothing"


def implementation_name(report: Report) -> str:
    """The name of the implementation of a report."""
    return f"{report.implementation['name']} {report.implementation.get('version', '')}".rstrip()


def labels(reports: Sequence[Report]) -> list[str]:
    """Returns a unique name for each implementation."""
    names = [implementation_name(report) for report in reports]
    if len(set(names)) < len(names):
        names = [
            f"{name} ({report.arguments['impl']})" if names.count(name) > 1 and report.arguments.get("impl") else name
            for name, report in zip(names, reports, strict=True)
        ]
    return [f"{name} [{number}]" if names.count(name) > 1 else name for number, name in enumerate(names, start=1)]


def as_json_lines(report: Report) -> str:
    """Renders the report of record."""
    return "".join(report.lines())


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n"  # texts may hold lone surrogates
