"""A matrix of clauses and implementations, with how many of the cases of a clause pass, as text, Markdown or JSON."""

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

#: The verdicts on a clause and an implementation.
HELD, BROKEN, DIFFERS, UNJUDGED, NO_CASE = "held", "not held", "differs", "not judged", "no case"


@dataclass
class Cell:
    """The cases of one implementation that cite a clause."""

    good: int = 0
    bad: int = 0  #: includes expected failures
    differs: int = 0  #: failures against this decision only
    left: int = 0  #: skipped or undetermined

    def count(self, status: str, *, decides: bool = False) -> None:
        """Counts a case; `decides` says whether the clause is the decision that it differs from."""
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
        """The verdict in one or two words."""
        return BROKEN if self.bad else DIFFERS if self.differs else HELD if self.good else UNJUDGED if self.left else NO_CASE

    def __str__(self) -> str:
        """A short form with numbers."""
        if self.bad:
            return f"✗ {self.bad} of {self.good + self.differs + self.bad}"
        if self.differs:
            return f"≠ {self.differs} of {self.good + self.differs}"
        return f"✓ {self.good}" if self.good else f"– {self.left} not judged" if self.left else "no case"


class Row(NamedTuple):
    """A clause and its cells."""

    clause: Clause
    cells: list[Cell]  #: one for each implementation


@dataclass(frozen=True)
class Matrix:
    """All clauses and decisions of one protocol, and the implementations with cases of it."""

    protocol: str
    labels: Sequence[str]  #: the implementations
    partial: Sequence[str]  #: implementations with a partial report
    rows: Sequence[Row]  #: in the order of the prose

    def count_clauses(self) -> Iterator[tuple[str, list[int]]]:
        """Yields each verdict that occurs, and the number of clauses with it for each implementation."""
        for verdict in (HELD, BROKEN, DIFFERS, UNJUDGED, NO_CASE):
            counts = [sum(row.cells[at].verdict == verdict for row in self.rows) for at in range(len(self.labels))]
            if any(counts):
                yield verdict, counts

    def select_rows(self, *, every: bool) -> list[Row]:
        """Returns all rows, or only those that some implementation violates."""
        return [row for row in self.rows if every or any(cell.bad or cell.differs for cell in row.cells)]


def clause_matrices(reports: Sequence[Report]) -> list[Matrix]:
    """Returns one matrix for each protocol. Raises VectorError if its prose cannot be parsed."""
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
    """Renders, for each protocol, the number of clauses by verdict, then the violated clauses, or all."""
    parts = []
    for one in found:
        table = _table(one, every=every)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in table]
        parts.append("\n".join([*lines, *(f"the report of {label} is partial" for label in one.partial)]))
    return "\n\n".join(parts) + "\n"


def as_markdown(found: Sequence[Matrix], *, every: bool = False) -> str:
    """Renders the same as Markdown tables."""
    parts = []
    for one in found:
        head, *rows = (f"| {' | '.join(row)} |" for row in _table(one, every=every))
        remarks = [f"\nThe report of {label} is partial." for label in one.partial]
        parts.append("\n".join([head, "| --- " * (1 + len(one.labels)) + "|", *rows, *remarks]))
    return "\n\n".join(parts) + "\n"


def as_json(found: Sequence[Matrix], *, every: bool = False) -> str:
    """Renders one JSON object; each clause has the counts of each implementation."""
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
    """The head of the table and its rows."""
    counted = ([f"clauses, {verdict}", *map(str, counts)] for verdict, counts in one.count_clauses())
    rows = ([f"{row.clause.id} {row.clause.standing}", *map(str, row.cells)] for row in one.select_rows(every=every))
    return [[one.protocol, *one.labels], *counted, *rows]


FORMATS: Final = {"text": as_text, "md": as_markdown, "json": as_json}
