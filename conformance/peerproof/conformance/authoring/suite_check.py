"""
Checking the vectors below a root as a whole, and marking clauses as reviewed.

The suite's own vectors are tried on the specification: a vector that it does not pass judges nobody. They are tried with several
seeds: what depends on chance, and does not say so, passes with some of them only. What is made from a model says everything about
chance; one will do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.authoring import basis_file, lint, reviewed
from peerproof.conformance.authoring.clause_report import ClauseNotFound
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.readings.experiment import Progress
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import Settings, run
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.strict_yaml import VectorError
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.conformance.vectors.suite import Suite, load

SEEDS = ("0", "1", "2")


def objections(suite: Suite, reach: Callable[[], Adapter], seeds: Iterable[str] = SEEDS) -> dict[str, str]:
    """
    Vector -> what the implementation that `reach` leads to, which is the specification, has against it.

    Raises AdapterUnavailable.
    """
    found: dict[str, str] = {}

    def report(result: Result) -> bool:
        if result.status != "passed":
            found.setdefault(result.vector, _objection(result))
        return result.status != "passed"

    vectors = suite.vectors
    for seed in seeds:
        adapter = reach()
        end = run(reach, adapter, adapter.start(), cases(suite, vectors), Settings(seed=seed), report)
        vectors = tuple(vector for vector in suite.vectors if vector.layer != LAYER)
        if end.is_interrupted:
            raise KeyboardInterrupt
        if end.because:
            raise AdapterUnavailable(end.because)
    return found


def _objection(result: Result) -> str:
    said = f"{result.id} with seed {result.seed}" if result.seed else result.id
    if difference := result.difference:
        return f"{said}: {result.status}, {difference.where}: expected {difference.expected}, found {difference.actual}"
    return f"{said}: {result.status}, {result.reason or result.failure}"


@dataclass(frozen=True)
class SuiteCheck:
    """What is wrong with the vectors below a root."""

    errors: tuple[VectorError, ...]  #: files that cannot be read as vectors
    findings: tuple[lint.Finding, ...]  #: rules that are broken
    vectors: int
    files: int

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.errors and not self.findings


def check_suite(
    root: Path | None = None,
    *,
    static: bool = False,
    readings: bool = False,
    implementation: str | None = None,
    on_progress: Progress = lambda *_: None,
) -> SuiteCheck:
    """
    Checks all vectors below a root (default: the suite's own) by the rules in `lint.RULES`.

    Unless it is `static`, each vector is run on the implementation that stands for the specification (default: the reference),
    which takes minutes. With `readings` the other readings of the documents are tried, too, which takes some more, and
    `on_progress` is told how far that is. Raises VectorError, and AdapterUnavailable if the implementation cannot be started.
    """
    readable, errors = lint.read(root or locations.vectors_root())
    found = [*lint.findings(readable), *basis_file.uncited(readable, root or locations.vectors_root())]
    files, count = {source.document.file for source in readable}, sum(len(one.document.data["vectors"]) for one in readable)
    if not errors:
        suite = load(root)
        disputed = {} if static else objections(suite, lambda: create_adapter(implementation, suite.version))
        for protocol in basis_file.protocols_with_readings(suite):
            found += basis_file.stale(suite, protocol, on_progress) if readings else basis_file.outdated(suite, protocol)
        found = sorted({*found, *lint.behaviour(readable, disputed), *lint.of_tables(suite, disputed)})
        tables = [vector for vector in suite.vectors if vector.layer == LAYER]
        files, count = files | {vector.file for vector in tables}, count + len(tables)
    return SuiteCheck(tuple(errors), tuple(found), count, len(files))


def review_clauses(names: Collection[str]) -> list[str]:
    """
    Marks clauses as reviewed: their text has changed, and their vectors are right; `all` stands for every clause.

    Returns those that were not marked so already. Raises ClauseNotFound, VectorError, CannotWrite.
    """
    every = [catalogue.load(protocol) for protocol in catalogue.protocols()]
    known = {name for each in every for name in (*(one.id for one in each.with_level), *reviewed.load_reviewed(each.protocol))}
    if unknown := sorted({*names} - known - {"all"}):
        raise ClauseNotFound(unknown[0], sorted(known))
    return [name for each in every for name in reviewed.review(each, known if "all" in names else names)]
