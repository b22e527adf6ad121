"""
What the page of reports is made from: the cases of all implementations side by side, in few bytes, and the details of failures.

Details are pictures and texts, which may be much; they are packed in chunks that the page unpacks when somebody opens a case.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from peerproof.conformance import clauses
from peerproof.conformance.failure_text import MOST_ERRORS, shortened_text, to_paste, value_text
from peerproof.conformance.message_graph import shortened, visible
from peerproof.conformance.report import Report, named
from peerproof.conformance.report_picture import picture
from peerproof.conformance.result import STATUSES, Result
from peerproof.conformance.trial import FAILURES
from peerproof.conformance.yaml_subset import VectorError

#: The details of so many cases are packed together.
PER_CHUNK: Final = 50

#: More characters of one value are not shown, on this page as well; the record has them.
MOST_SHOWN: Final = 4_000

_LETTERS: Final = {status: chr(ord("a") + place) for place, status in enumerate(STATUSES)}
_ABSENT: Final = "."


@dataclass
class PageData:
    """The cases of several reports as the page's script takes them."""

    reports: Sequence[Report]
    titles: Mapping[str, str]  #: vector -> title, as far as it is known
    labels: list[str] = field(init=False)
    details: list[str] = field(default_factory=list)  #: of cases that failed, as HTML
    plain: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = labels(self.reports)
        self._reasons: dict[str, int] = {}
        self._vectors: dict[str, int] = {}
        self._told: list[list[Any]] = []  # of each vector
        self._branches: list[list[Any]] = []
        cases = [self._case(place, results) for place, results in enumerate(self._side_by_side())]
        self.plain = {
            "implementations": self.labels,
            "statuses": list(STATUSES),
            "wrong": list(STATUSES.values()),
            "vectors": self._told,
            "cases": cases,
            "branches": self._branches,
            "reasons": list(self._reasons),
            "clauses": {protocol: _clauses(protocol) for protocol in self.protocols},
            "per_chunk": PER_CHUNK,
        }

    @property
    def protocols(self) -> list[str]:
        """Those that have a case."""
        return sorted({vector.partition("/")[0] for vector in self._vectors})

    @property
    def layers(self) -> list[str]:
        """Those that have a case."""
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
        """Its vector, what its id has beside that, a letter for each implementation, the place of its details or -1, reasons."""
        some = next(filter(None, results))
        statuses = "".join(_LETTERS[result.status] if result else _ABSENT for result in results)
        told = {number: result for number, result in enumerate(results) if result and (result.failure or result.story)}
        kept = -1
        if told:
            kept = len(self.details)
            self.details.append("".join(self._detail(kept, number, result) for number, result in told.items()))
        reasons = {
            number: self._reasons.setdefault(result.reason, len(self._reasons))
            for number, result in enumerate(results)
            if result and result.reason
        }
        place = self._vector(some, results)
        if taken := {number: list(result.branches) for number, result in enumerate(results) if result and result.branches}:
            self._branches.append([at, taken])
        return [place, some.id.removeprefix(some.vector), statuses, kept, *([reasons] if reasons else [])]

    def _vector(self, some: Result, results: Iterable[Result | None]) -> int:
        """The place of its vector among the vectors."""
        if some.vector not in self._vectors:
            self._vectors[some.vector] = len(self._told)
            title = self.titles.get(some.vector) or next((result.title for result in results if result and result.title), "")
            self._told.append([some.vector, title, some.level, list(some.clauses)])
        return self._vectors[some.vector]

    def _detail(self, number: int, place: int, result: Result) -> str:
        """One implementation's failure of a case, as HTML."""
        label = self.labels[place]
        meaning = FAILURES.get(result.failure or "", "of no known class")
        heading = f"{label}: {result.status}" + (f" ({result.failure}: {meaning})" if result.failure else "")
        parts = [f'<h3 class="failure">{text(heading)}</h3>']
        if graph := picture(result):
            drawn = graph.svg(f"{result.id}, {label}: what happened, and what was expected", f"graph-{number}-{place}")
            parts.append(f'<div class="wide picture" tabindex="0" role="group" aria-label="Sequence diagram">{drawn}</div>')
            parts.append(f"<details><summary>The same as text</summary><pre>{text(graph.text())}</pre></details>")
        parts += _difference(result)
        if result.errors:
            last = "\n".join(map(shortened_text, result.errors.splitlines()[-MOST_ERRORS:]))
            parts.append(f"<details><summary>The last on its standard error</summary><pre>{text(last)}</pre></details>")
        for name, command in to_paste(result, self.reports[place].arguments):
            button = f'<button type="button" class="copy" aria-label="Copy the line: {text(name)}">copy</button>'
            parts.append(f'<div class="paste"><span>{text(name)}</span><code>{text(command)}</code>{button}</div>')
        return "".join(parts)


def text(value: object) -> str:
    """A text from anywhere, as HTML: what would not be seen is written out, what is too long is cut."""
    shown = visible(str(value))
    return escape(shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}… ({len(shown)} characters)")


def labels(reports: Sequence[Report]) -> list[str]:
    """A name for each implementation that no other one has."""
    names = [named(report) for report in reports]
    if len(set(names)) < len(names):
        names = [
            f"{name} ({report.arguments['impl']})" if names.count(name) > 1 and report.arguments.get("impl") else name
            for name, report in zip(names, reports, strict=True)
        ]
    return [f"{name} [{number}]" if names.count(name) > 1 else name for number, name in enumerate(names, start=1)]


def _difference(result: Result) -> Iterator[str]:
    difference = result.difference
    if difference is None:
        return
    yield f'<p class="difference">First difference: <code>{text(difference.where)}</code></p><dl>'
    for side, value, reading in (
        ("expected", difference.expected, difference.expected_read),
        ("actual", difference.actual, difference.actual_read),
    ):
        read = "" if reading is None else f"<br>= {text(shortened(reading))}"
        yield f"<dt>{side}</dt><dd><code>{text(value_text(value))}</code>{read}</dd>"
    yield "</dl>"


def _clauses(protocol: str) -> list[list[str]]:
    """Id, level and text of all that has a level in the prose; nothing of a protocol without prose."""
    try:
        items = clauses.load(protocol).items.values()
    except VectorError:
        return []
    return [[item.id, item.level or "", item.text] for item in items]
