"""
Checks of all vectors below a root, and marking of clauses as reviewed.

The suite's own vectors run on the specification: a vector that the specification does not pass cannot check other
implementations. They run with several seeds: a vector that depends on chance without saying so passes with some seeds only.
Vectors made from a model fix every choice, so one seed is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.authoring import basis_file, lint, reviewed
from peerproof.conformance.authoring.clause_report import ClauseNotFound
from peerproof.conformance.authoring.reading_experiment import Progress
from peerproof.conformance.clauses import catalogue
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
    Returns vector id -> why the specification does not pass it, run on the adapter that `reach` creates.

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
    case = f"{result.id} with seed {result.seed}" if result.seed else result.id
    if difference := result.difference:
        return f"{case}: {result.status}, {difference.where}: expected {difference.expected}, found {difference.actual}"
    return f"{case}: {result.status}, {result.reason or result.failure}"


@dataclass(frozen=True)
class SuiteCheck:
    """The errors and findings of the vectors below a root."""

    errors: tuple[VectorError, ...]  #: files that cannot be read as vectors
    findings: tuple[lint.Finding, ...]  #: rules that are broken
    vectors: int
    files: int

    @property
    def is_clean(self) -> bool:
        """Returns True if there are neither errors nor findings."""
        return not self.errors and not self.findings


def check_suite(
    root: Path | None = None,
    protocol: str | None = None,
    *,
    static: bool = False,
    readings: bool = False,
    implementation: str | None = None,
    on_progress: Progress = lambda *_: None,
) -> SuiteCheck:
    """
    Checks the vectors below a root or in a file (default: the suite's own), all or of one protocol, by the rules in `lint.RULES`.

    Unless it is `static`, each vector also runs on the implementation that stands for the specification (default: the reference),
    which takes minutes. With `readings` the other readings of the documents run too, which takes longer, and `on_progress` is
    called with the progress. Raises VectorError, and AdapterUnavailable if the implementation cannot be started.
    """
    root = root or locations.vectors_root(protocol)
    readable, errors = lint.read(root, protocol)
    found = lint.findings(readable)
    files, count = {source.document.file for source in readable}, sum(len(one.document.data["vectors"]) for one in readable)
    if not errors:
        suite = load(root)
        suite = replace(suite, vectors=tuple(vector for vector in suite.vectors if protocol in (None, vector.protocol)))
        found += basis_file.uncited(readable, root.resolve().parent.parent.parent if root.is_file() else root, suite)
        disputed = {} if static else objections(suite, lambda: create_adapter(implementation, suite.version))
        for name in basis_file.protocols_with_readings(suite):
            found += basis_file.stale(suite, name, on_progress) if readings else basis_file.outdated(suite, name)
        found = sorted({*found, *lint.behaviour(readable, disputed), *lint.of_tables(suite, disputed)})
        tables = [vector for vector in suite.vectors if vector.layer == LAYER]
        files, count = files | {vector.file for vector in tables}, count + len(tables)
    return SuiteCheck(tuple(errors), tuple(found), count, len(files))


def review_clauses(names: Collection[str]) -> list[str]:
    """
    Marks clauses as reviewed: their text has changed, and their vectors are right; `all` stands for every clause.

    Returns those that were not marked yet. Raises ClauseNotFound, VectorError, CannotWrite.
    """
    every = [catalogue.load(protocol) for protocol in catalogue.protocols()]
    known = {name for each in every for name in (*(one.id for one in each.with_level), *reviewed.load_reviewed(each.protocol))}
    if unknown := sorted({*names} - known - {"all"}):
        raise ClauseNotFound(unknown[0], sorted(known))
    return [name for each in every for name in reviewed.review(each, known if "all" in names else names)]
