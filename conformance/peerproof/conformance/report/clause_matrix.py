"""Implementations beside clauses: how many of the cases that cite a clause each of them passes, as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple

from peerproof.conformance.clauses import catalogue
from peerproof.conformance.clauses.catalogue import Clause
from peerproof.conformance.report.record import Report, labels
from peerproof.conformance.runner.result import STATUSES

#: What can be said of a clause and an implementation.
HELD, BROKEN, DIFFERS, UNJUDGED, NO_CASE = "held", "not held", "differs", "not judged", "no case"


@dataclass
class Cell:
    """The cases that cite a clause, of one implementation."""

    good: int = 0
    bad: int = 0  #: failures that are known among them
    differs: int = 0  #: only this decision demands what they do not do
    left: int = 0  #: skipped, or not to be told

    def count(self, status: str, *, decides: bool = False) -> None:
        """One more; whether the clause is what decides about it, if it differs."""
        if status == "differs" and decides:
            self.differs += 1
            return
        if STATUSES[status] or status == "known":
            self.bad += 1
        elif status in ("passed", "tolerated"):
            self.good += 1
        else:
            self.left += 1

    @property
    def verdict(self) -> str:
        """In two words."""
        return BROKEN if self.bad else DIFFERS if self.differs else HELD if self.good else UNJUDGED if self.left else NO_CASE

    def __str__(self) -> str:
        """Shorter, with numbers."""
        if self.bad:
            return f"✗ {self.bad} of {self.good + self.differs + self.bad}"
        if self.differs:
            return f"≠ {self.differs} of {self.good + self.differs}"
        return f"✓ {self.good}" if self.good else f"– {self.left} not judged" if self.left else "no case"


class Row(NamedTuple):
    """A clause."""

    clause: Clause
    cells: list[Cell]  #: of each implementation


@dataclass(frozen=True)
class Matrix:
    """All clauses and decisions of one protocol, beside the implementations of which something was asked."""

    protocol: str
    labels: Sequence[str]  #: of the implementations
    partial: Sequence[str]  #: those of them whose reports are
    rows: Sequence[Row]  #: in the order of the prose

    def count_clauses(self) -> Iterator[tuple[str, list[int]]]:
        """How many clauses are held, and so on, by each implementation; nothing that is nowhere."""
        for verdict in (HELD, BROKEN, DIFFERS, UNJUDGED, NO_CASE):
            counts = [sum(row.cells[at].verdict == verdict for row in self.rows) for at in range(len(self.labels))]
            if any(counts):
                yield verdict, counts

    def select_rows(self, *, every: bool) -> list[Row]:
        """All rows, or those that somebody does not hold."""
        return [row for row in self.rows if every or any(cell.bad or cell.differs for cell in row.cells)]


def clause_matrices(reports: Sequence[Report]) -> list[Matrix]:
    """One for each protocol. Raises VectorError for prose that is garbled."""
    found: dict[str, dict[str, tuple[Report, dict[str, Cell]]]] = {}  # protocol -> implementation -> its cells by clause
    for label, report in zip(labels(reports), reports, strict=True):
        for result in report.results:
            named = found.setdefault(result.vector.partition("/")[0], {})
            _, cells = named.setdefault(label, (report, defaultdict(Cell)))
            for clause in result.clauses:
                cells[clause].count(result.status, decides=clause in result.decisions)
    return [
        Matrix(
            protocol,
            list(named),
            [label for label, (report, _) in named.items() if report.partial],
            [
                Row(clause, [cells.get(clause.id, Cell()) for _, cells in named.values()])
                for clause in catalogue.load(protocol).with_level
            ],
        )
        for protocol, named in sorted(found.items())
    ]


def as_text(found: Sequence[Matrix], *, every: bool = False) -> str:
    """For each protocol how many clauses are held, then those that somebody does not hold, or all."""
    parts = []
    for one in found:
        table = _table(one, every=every)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in table]
        parts.append("\n".join([*lines, *(f"the report of {label} is partial" for label in one.partial)]))
    return "\n\n".join(parts) + "\n"


def as_markdown(found: Sequence[Matrix], *, every: bool = False) -> str:
    """The same as tables."""
    parts = []
    for one in found:
        head, *rows = (f"| {' | '.join(row)} |" for row in _table(one, every=every))
        said = [f"\nThe report of {label} is partial." for label in one.partial]
        parts.append("\n".join([head, "| --- " * (1 + len(one.labels)) + "|", *rows, *said]))
    return "\n\n".join(parts) + "\n"


def as_json(found: Sequence[Matrix], *, every: bool = False) -> str:
    """One object; of each clause the three numbers of each implementation."""
    plain = {
        one.protocol: {
            "implementations": list(one.labels),
            "partial": list(one.partial),
            "counts": dict(one.count_clauses()),
            "clauses": {
                row.clause.id: {"level": row.clause.level, "cases": list(map(asdict, row.cells))}
                for row in one.select_rows(every=every)
            },
        }
        for one in found
    }
    return json.dumps({"protocols": plain}, ensure_ascii=True, indent=1) + "\n"


def _table(one: Matrix, *, every: bool) -> list[list[str]]:
    """Its head and its rows."""
    counted = ([f"clauses, {verdict}", *map(str, counts)] for verdict, counts in one.count_clauses())
    rows = ([f"{row.clause.id} {row.clause.level}", *map(str, row.cells)] for row in one.select_rows(every=every))
    return [[one.protocol, *one.labels], *counted, *rows]


FORMATS: Final = {"text": as_text, "md": as_markdown, "json": as_json}
