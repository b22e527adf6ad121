"""One clause, or all of them, with everything that cites it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill, indent
from typing import TYPE_CHECKING

from peerproof.conformance.authoring.coverage import Row, matrix
from peerproof.conformance.authoring.reviewed import stale
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.clauses.catalogue import Clause, Clauses
from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.suite.schema import did_you_mean
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.conformance.vectors.suite import Suite, load

if TYPE_CHECKING:
    from peerproof.conformance.models.edge_coverage import EdgeCoverage  # it loads the models, which clauses do not need

WIDTH = 100


class ClauseNotFound(LookupError):
    """No protocol has such a clause; the message names one that comes close."""


@dataclass(frozen=True)
class ClauseCoverage:
    """The clause matrix of a protocol, and what its vectors take of the state graphs, if that was asked for."""

    protocol: str
    rows: Sequence[Row]
    edges: Sequence[EdgeCoverage] = ()

    @property
    def is_complete(self) -> bool:
        """Whether no clause is a hole, and each edge in which a node moves is taken by a vector."""
        return not any(row.holes for row in self.rows) and all(one.complete for one in self.edges)


def cover_clauses(protocol: str, suite: Suite) -> ClauseCoverage:
    """
    Returns which code, vectors, properties, models and proofs cite each clause of a protocol. Raises VectorError.

    >>> from peerproof.conformance.vectors.suite import load
    >>> cover_clauses("scuttlebutt", load()).is_complete
    True
    """
    return ClauseCoverage(protocol, matrix(catalogue.load(protocol), suite.vectors))


def explain_clause(name: str, suite: Suite | None = None) -> str:
    """
    Returns a clause's text and everything that cites it: code, vectors, properties, proofs, models and other clauses.

    The vectors are those of a suite, by default of the one with the protocol's own. Raises ClauseNotFound, VectorError.

    >>> explain_clause("B-14").splitlines()[0].startswith("B-14 (scuttlebutt: ")
    True
    """
    name = name.strip("[]").upper()
    every = [catalogue.load(protocol) for protocol in catalogue.protocols()]
    if found := [clauses for clauses in every if name in clauses.items]:
        return "\n\n".join(_explain_clause(clauses, name, suite or load(protocol=clauses.protocol)) for clauses in found)
    known = [clause for clauses in every for clause in clauses.items]
    raise ClauseNotFound(f"no clause {name!r}{did_you_mean(name, known)}; see peerproof coverage")


def _explain_clause(clauses: Clauses, name: str, suite: Suite) -> str:
    """A clause's text and what cites it."""
    clause = clauses.items[name]
    level = f", {clause.level}" if clause.level else ""
    code = [f"{where.within}  {path_text(where.file)}:{where.line}" for where in clauses.code.get(name, ())]
    citing = [
        vector
        for vector in suite.vectors
        if vector.protocol == clauses.protocol and (name in vector.clauses or name.lower() in vector.flags)
    ]
    vectors = [f"{vector.id}  {vector.title}" for vector in citing if vector.layer != LAYER]
    if made := len(citing) - len(vectors):
        edges = Counter(vector.body["model"]["config"] for vector in citing if vector.layer == LAYER)
        vectors.append(f"{made} made from state graphs: peerproof list -k 'layer:{LAYER} clause:{name}'")
        vectors.append(f"  edges of {', '.join(f'{config} ({count})' for config, count in sorted(edges.items()))}")
    beside = [
        f"{other.id}  {_start(other.text)}" for other in clauses.items.values() if name in catalogue.find_clause_ids(other.text)
    ]
    lists = (
        ("code", code),
        ("vectors", vectors),
        ("properties", clauses.properties.get(name, [])),
        ("proofs", clauses.proofs.get(name, [])),
        ("models", clauses.models.get(name, [])),
        ("cited by", beside),
    )
    return "\n".join(
        [
            f"{name} ({clauses.protocol}: {clause.section}{level})  {path_text(clauses.file)}:{clause.line}",
            "",
            indent(fill(clause.text, WIDTH - 2), "  "),
            *_stale(clauses, clause),
            *(f"\n{title}\n{indent(chr(10).join(lines), '  ')}" for title, lines in lists if lines),
        ]
    )


def _stale(clauses: Clauses, clause: Clause) -> list[str]:
    """What is to be done about its vectors."""
    if clause.id not in {one.clause.id for one in stale(clauses) if one.clause}:
        return []
    return [f"\nSTALE: it has changed since its vectors were looked at; if they are right: peerproof lint --reviewed {clause.id}"]


def _start(text: str) -> str:
    return text if len(text) <= WIDTH - 20 else f"{text[: WIDTH - 21]}…"
