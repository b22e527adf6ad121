"""
The clause matrix: which clause is held by what.

A row for each clause and decision; columns for the code that cites it, the vectors that demand it, the properties that watch
over it, the models that cover it and the proofs about it. A row that says "Not testable, because …" may be empty; any other
without code or without a vector is a hole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from peerproof.conformance.clauses.catalogue import Clauses, in_order
from peerproof.conformance.vectors.suite import Vector


@dataclass(frozen=True)
class Row:
    """What holds one clause."""

    clause: str
    level: str
    code: tuple[str, ...]  #: objects of the specification
    vectors: tuple[str, ...]  #: ids
    properties: tuple[str, ...]
    models: tuple[str, ...]
    proofs: tuple[str, ...]
    untestable: str | None  #: the reason

    @property
    def holes(self) -> tuple[str, ...]:
        """What is missing, unexplained."""
        if self.untestable:
            return ()
        return tuple(name for name, found in (("code", self.code), ("vector", self.vectors)) if not found)


def matrix(clauses: Clauses, vectors: Iterable[Vector]) -> list[Row]:
    """The rows of a protocol, by kinds and numbers. A vector made from a model holds no clause: it repeats the code."""
    by_clause: dict[str, list[str]] = {}
    for vector in vectors:
        for clause in vector.clauses if vector.protocol == clauses.protocol and vector.layer != "model" else ():
            by_clause.setdefault(clause, []).append(vector.id)
    return [
        Row(
            clause=clause.id,
            level=str(clause.level),
            code=tuple(dict.fromkeys(citation.within for citation in clauses.code.get(clause.id, ()))),
            vectors=tuple(by_clause.get(clause.id, ())),
            properties=tuple(clauses.properties.get(clause.id, ())),
            models=tuple(clauses.models.get(clause.id, ())),
            proofs=tuple(clauses.proofs.get(clause.id, ())),
            untestable=clause.untestable,
        )
        for clause in sorted(clauses.with_level, key=lambda clause: in_order(clause.id))
    ]


def as_text(rows: Sequence[Row]) -> str:
    """The matrix for a terminal, the holes after it."""
    cells = [("clause", "level", "vectors", "code", "properties", "models", "proofs"), *map(_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(6)]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in cells]
    return "\n".join([*lines, "", *summary(rows)])


def _cells(row: Row) -> tuple[str, ...]:
    first, *others = row.code or ("-",)
    return (
        row.clause,
        row.level,
        str(len(row.vectors)) if row.vectors or not row.untestable else "-",
        first + (f" +{len(others)}" if others else ""),
        ", ".join(row.properties) or "-",
        ", ".join(row.models) or "-",
        ", ".join(row.proofs) or "-",
    )


def summary(rows: Sequence[Row]) -> list[str]:
    """How many clauses there are, which are holes, and which say why they are none."""
    lines = [f"hole: {row.clause} has no {' and no '.join(row.holes)}" for row in rows if row.holes]
    lines += [f"not testable: {row.clause}, because {row.untestable}" for row in rows if row.untestable]
    with_vectors = sum(bool(row.vectors) for row in rows)
    holes = sum(bool(row.holes) for row in rows)
    return [*lines, f"{len(rows)} clauses, {with_vectors} with vectors, {holes} {'hole' if holes == 1 else 'holes'}"]


def as_markdown(rows: Sequence[Row]) -> str:
    """The matrix as a table for the documentation, everything by name."""
    lines = ["| clause | level | code | vectors | properties | models | proofs |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        vectors = "<br>".join(f"`{name.split('/', 1)[1]}`" for name in row.vectors)
        if row.untestable:
            vectors = f"{vectors} not testable, because {row.untestable}".strip()
        code = "<br>".join(f"`{name}`" for name in row.code)
        cells = (row.clause, row.level, code, vectors, *map(", ".join, (row.properties, row.models, row.proofs)))
        lines.append(
            f"| {' | '.join(cell or ('**hole**' if at in _NEEDED and row.holes else '–') for at, cell in enumerate(cells))} |"
        )
    return "\n".join([*lines, "", summary(rows)[-1]])


_NEEDED = (2, 3)  #: the columns code and vectors


def as_json(matrices: Mapping[str, Sequence[Row]]) -> str:
    """The matrices of protocols for programs."""
    rows = {protocol: [asdict(row) | {"holes": row.holes} for row in matrix] for protocol, matrix in matrices.items()}
    return json.dumps(rows, indent=2, ensure_ascii=False)
