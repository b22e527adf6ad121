"""
The report of a run. The report of record is JSON lines, and every other form is made from it or from what it holds:

    {"header": {"format": 1, "implementation": {…}, "vectors": {…}, "selected": 470, "seed": "0", "arguments": […]}}
    {"case": {"id": "…", "status": "passed", …}}          one for each case, as it finishes
    {"footer": {"totals": {…}, "partial": false, "problems": []}}

A report without a footer is partial: whoever wrote it did not come to the end. Every form says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from peerproof.conformance.result import STATUSES, Result, of_plain

FORMAT: Final = 1


class NoReport(ValueError):
    """Lines that are no report of a run."""


@dataclass
class Report:
    """What is known of a run so far."""

    implementation: Mapping[str, Any]
    vectors: Mapping[str, Any]  #: version, digest and count
    selected: int  #: cases
    seed: str
    arguments: Mapping[str, Any]  #: what leads to the same run again
    results: list[Result] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  #: of the list of known failures
    because: str | None = None  #: why it is partial

    @property
    def partial(self) -> bool:
        """Whether there are cases that were selected and not judged, or may be."""
        return self.because is not None

    @property
    def totals(self) -> dict[str, int]:
        """Cases by status."""
        counted = Counter(result.status for result in self.results)
        return {"selected": self.selected, **{status: counted[status] for status in _ORDER}}

    @property
    def wrong(self) -> bool:
        """Whether a case or an entry of the list makes the run fail."""
        return bool(self.problems) or any(STATUSES[result.status] for result in self.results)

    def header(self) -> str:
        """The first line."""
        shown = {
            "format": FORMAT,
            "implementation": self.implementation,
            "vectors": self.vectors,
            "selected": self.selected,
            "seed": self.seed,
            "arguments": self.arguments,
        }
        return _line({"header": shown})

    def footer(self) -> str:
        """The last line."""
        return _line({"footer": {"totals": self.totals, **self._end()}})

    def lines(self) -> Iterable[str]:
        """All lines, each with its end."""
        yield self.header()
        yield from map(case_line, self.results)
        yield self.footer()

    def plain(self) -> dict[str, Any]:
        """All of it as one object."""
        return {
            "implementation": self.implementation,
            "vectors": self.vectors,
            "totals": self.totals,
            **self._end(),
            "seed": self.seed,
            "arguments": self.arguments,
            "cases": [result.plain() for result in self.results],
        }

    def _end(self) -> dict[str, Any]:
        because = {"because": self.because} if self.because else {}
        return {"partial": self.partial, **because, "problems": self.problems}


_ORDER: Final = ("passed", "failed", "crashed", "hung", "known", "stale", "skipped", "undetermined", "tolerated")
assert set(_ORDER) == set(STATUSES)


def case_line(result: Result) -> str:
    """The line of one case."""
    return _line({"case": result.plain()})


def read(lines: Iterable[str]) -> Report:
    """The report that JSON lines hold; the last one may be cut off. Raises NoReport."""
    report: Report | None = None
    ended = cut = False
    for number, line in enumerate(lines, start=1):
        try:
            ((kind, content),) = json.loads(line).items()
        except (ValueError, AttributeError):
            if line.endswith("\n") or report is None:
                raise NoReport(f"line {number}: expected an object with header, case or footer") from None
            cut = True
            break
        if report is None:
            if kind != "header" or content.get("format") != FORMAT:
                raise NoReport(f"line {number}: expected a header of format {FORMAT}")
            report = Report(*(content[name] for name in ("implementation", "vectors", "selected", "seed", "arguments")))
        elif kind == "case":
            report.results.append(of_plain(content))
        elif kind == "footer":
            ended = True
            report.problems, report.because = content["problems"], content.get("because")
    if report is None:
        raise NoReport("it is empty")
    if cut or not ended:
        report.because = "the report has no footer: whoever wrote it did not come to the end"
    return report


def as_json(report: Report) -> str:
    """One object."""
    return json.dumps(report.plain(), ensure_ascii=True, indent=1) + "\n"


def as_json_lines(report: Report) -> str:
    """The report of record."""
    return "".join(report.lines())


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n"  # texts may hold what is no UTF-8
