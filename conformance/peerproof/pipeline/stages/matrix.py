"""
The stage `matrix`: runs vectors on several implementations, or on many variants of one, and writes `vector_results`.

A unit is some cases on one implementation, run as `peerproof run` does: the same seed gives the same verdicts, regardless of the
division into units. The cases are in a file in the batch's folder; the implementations must be installed on every machine.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter, program
from peerproof.conformance.runner import runner
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.traces.events import canonical_json
from peerproof.conformance.vectors.suite import Suite
from peerproof.pipeline.spark.execution import Engine, Executed
from peerproof.pipeline.spark.work import Show, work
from peerproof.pipeline.storage.batches import Batch, Output, Plan, Success, Unit, atomic_write
from peerproof.pipeline.storage.tables import VECTOR_RESULTS
from peerproof.pipeline.storage.versions import code_digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Name of the reference in `--impl`.
REFERENCE: Final = "reference"

#: Prefix of the name of a mutant of the specification.
MUTANT: Final = "mutant:"

#: Cases of a unit: some seconds for most implementations.
CASES: Final = 500

#: The columns of a DataFrame of trials: an implementation, and a JSON list of ids of cases.
TRIALS_DDL: Final = "impl STRING, cases STRING"
TRIALS: Final = pa.schema([("impl", pa.string()), ("cases", pa.string())])

_SUITE: Final = "cases.pickle"


@dataclass(frozen=True, slots=True)
class Matrix:
    """The cases and implementations, and the options for running them."""

    suite: Suite
    cases: Sequence[Case]
    implementations: Sequence[str]  #: as in `--impl` of `peerproof run`, or `REFERENCE`, or `MUTANT` and a name
    reference: Sequence[str]  #: the command of the reference
    mutant: Sequence[str] = ()  #: the command of a mutant, without its name
    seed: str = "0"
    strict: bool = False
    patience: Timeouts = field(default_factory=Timeouts)

    def options(self) -> dict[str, Any]:
        """Returns the options that each unit needs."""
        patience = [self.patience.hello, self.patience.op, self.patience.bye]
        return {
            "version": self.suite.version,
            "seed": self.seed,
            "strict": self.strict,
            "patience": patience,
            "reference": list(self.reference),
            "mutant": list(self.mutant),
        }

    def plan(self) -> Plan:
        """Returns the plan of the batch. It has only the names of implementations; a changed one needs another place."""
        return Plan(
            "matrix",
            inputs=({"vectors": self.suite.version, "sha256": self.suite.digest},),
            arguments={
                "implementations": list(self.implementations),
                "cases": code_of(case.id for case in self.cases),
                "strict": self.strict,
                "patience": self.options()["patience"],
            },
            seeds=(self.seed,),
            versions={name: code_digest(f"peerproof.{name}") for name in ("conformance", "reference", "spec")},
        )

    def units(self) -> list[Unit]:
        """Returns units of cases in order, for one implementation after the other."""
        ids = [case.id for case in self.cases]
        pieces = [ids[start : start + CASES] for start in range(0, len(ids), CASES)]
        tasks = [{"impl": impl, "cases": piece, **self.options()} for impl in self.implementations for piece in pieces]
        return [Unit(number, task, float(len(task["cases"]))) for number, task in enumerate(tasks)]


def code_of(ids: Iterable[str]) -> str:
    """Returns a short name of a selection of cases."""
    return sha256("\n".join(ids).encode()).hexdigest()[:16]


def check(todo: Matrix) -> None:
    """Starts each implementation once, except mutants. Raises AdapterUnavailable, which names the one that fails."""
    for implementation in todo.implementations:
        if implementation.startswith(MUTANT):
            continue
        try:
            adapter = _reach_adapter(implementation, todo.options())
            adapter.start()
        except AdapterUnavailable as error:
            raise AdapterUnavailable(f"{implementation}: {error}", error.errors) from None
        adapter.stop()


def execute(engine: Engine, place: Path, todo: Matrix, show: Show | None = None) -> Executed:
    """Runs the unfinished units and commits the batch. Raises Refused, SparkUnusable, AdapterUnavailable."""
    with Batch.open(place, todo.plan()) as batch:
        if batch.is_committed:
            return Executed(Success.read(batch.folder), None)
        units = todo.units()
        left = {unit.name for unit in units} - batch.find_finished()
        file = batch.folder / _SUITE
        if left:
            keep(file, todo.cases)
        done = work(engine.spark if left else None, batch, units, partial(_try_unit, file), show)
        success = batch.commit(units, (VECTOR_RESULTS,), peak_mib=done.peak_mib)
        file.unlink(missing_ok=True)
        return Executed(success, done)


def keep(file: Path, cases: Sequence[Case]) -> None:
    """Writes cases to a file for the workers. It is a pickle, so readers must trust it like code."""
    with atomic_write(file) as unfinished:
        unfinished.write_bytes(pickle.dumps({case.id: case for case in cases}))


@lru_cache(1)
def _load_cases(file: Path, _changed: int) -> dict[str, Case]:
    cases: dict[str, Case] = pickle.loads(file.read_bytes())
    return cases


def _try_unit(file: Path, unit: Unit, output: Output) -> None:
    rows = run_cases(file, unit.task["impl"], unit.task["cases"], unit.task)
    output.write(VECTOR_RESULTS, VECTOR_RESULTS.batch(rows))


def run_cases(file: Path, implementation: str, ids: Sequence[str], options: Any) -> list[tuple[Any, ...]]:
    """
    Runs cases on one implementation. Returns rows of `vector_results`.

    Raises AdapterUnavailable; a mutant that cannot be loaded counts as crashed in every case instead.
    """
    known = _load_cases(file, file.stat().st_mtime_ns)
    try:
        results = _results(implementation, [known[name] for name in ids], options)
    except AdapterUnavailable:
        if not implementation.startswith(MUTANT):
            raise
        return [(options["version"], name, implementation, "crashed", None, None, 0) for name in ids]
    return [_row(options["version"], implementation, results[name]) for name in ids]


def _results(implementation: str, cases: Sequence[Case], options: Any) -> dict[str, Result]:
    results: dict[str, Result] = {}

    def take(result: Result) -> bool:
        results[result.id] = result
        return False

    first = _reach_adapter(implementation, options)
    hello = first.start()
    # The limit is high, so that no case is skipped because other cases of its unit crash the adapter.
    decisions = "strict" if implementation.startswith(MUTANT) else "report"  # any difference kills a mutant
    restarts = 10 * len(cases) + 20
    settings = runner.Settings(options["seed"], most_restarts=restarts, strict=options["strict"], decisions=decisions)
    end = runner.run(lambda: _reach_adapter(implementation, options), first, hello, cases, settings, take)
    if end.because is not None:
        raise AdapterUnavailable(f"{implementation}: {end.because}")
    return results


def _reach_adapter(implementation: str, options: Any) -> Adapter:
    patience = Timeouts(*options["patience"])
    if implementation == REFERENCE:
        return program(options["reference"], patience, options["version"])
    if implementation.startswith(MUTANT):
        return program([*options["mutant"], implementation.removeprefix(MUTANT)], patience, options["version"])
    return create_adapter(implementation, options["version"], patience)


def _row(version: str, implementation: str, result: Result) -> tuple[Any, ...]:
    difference = result.difference
    return (
        version,
        result.id,
        implementation,
        result.status,
        None if difference is None else canonical_json({"where": difference.where, "value": difference.expected}),
        None if difference is None else canonical_json({"where": difference.where, "value": difference.actual}),
        round((result.milliseconds or 0) * 1000),
    )


def matrix(trials: DataFrame, file: Path, options: Any) -> DataFrame:
    """Returns a DataFrame of `vector_results` from one with the columns of `TRIALS`; `file` was written by `keep`."""
    return trials.mapInArrow(trying(file, options), VECTOR_RESULTS.ddl)


def trying(file: Path, options: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Returns a generator from batches of trials to batches of `vector_results`."""

    def results(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in batch.to_pylist():
                yield VECTOR_RESULTS.batch(run_cases(file, row["impl"], json.loads(row["cases"]), options))

    return results
